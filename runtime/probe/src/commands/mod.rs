//! The commands. Each has a file.

mod call;
mod list;
mod ping;
mod prompt;
mod read;
mod shell;
mod snapshot;

use crate::cli::{Cli, Command};
use crate::failure::Failure;
use crate::watch;

pub(crate) async fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::List(args) => list::run(&args).await,
        Command::Call(args) => call::run(args).await,
        Command::Read(args) => read::run(&args).await,
        Command::Prompt(args) => prompt::run(&args).await,
        Command::Snapshot(args) => snapshot::run(&args).await,
        Command::Ping(args) => ping::run(&args).await,
        Command::Watch(args) => watch::run(&args).await,
        Command::Trace(args) => watch::trace(&args),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args),
    }
}
