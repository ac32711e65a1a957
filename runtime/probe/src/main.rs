//! The command `mcpgen-probe`: a command line client for servers of the Model Context Protocol.
//!
//! * `cli` defines commands and options. Each command has a file in `commands`.
//! * `target` connects to the server, with `login` for access tokens. `requests` sends requests as JSON.
//! * `arguments` reads a tool's arguments, `answers` answers the server's questions, and `differences` compares
//!   snapshots.
//! * `processes` ends servers' processes, even when a signal ends the command.
//! * `output` writes to the terminal. `failure` defines errors and their exit codes.
//! * `watch` relays messages between a client and a server, or reads them from a log, and describes each.

mod answers;
mod arguments;
mod cli;
mod commands;
mod differences;
mod failure;
#[cfg(feature = "login")]
mod login;
mod output;
mod processes;
mod requests;
mod target;
mod watch;

use std::process::ExitCode;

use clap::Parser as _;

use cli::Cli;
use failure::Failure;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::error(&format!("cannot start: {error}"));
            return ExitCode::from(failure::CONNECTION);
        }
    };
    let code = runtime.block_on(async {
        let done = tokio::select! {
            // Handle signals before a server is started.
            biased;
            signal = processes::signal() => Err(Failure::Signal(signal)),
            done = commands::run(cli) => done,
        };
        let code = match done {
            Ok(()) => 0,
            Err(failure) => {
                if !matches!(failure, Failure::Signal(_)) {
                    output::error(&failure.to_string());
                }
                failure.exit_code()
            }
        };
        processes::ended().await;
        code
    });
    // A thread may still be waiting for standard input.
    runtime.shutdown_background();
    ExitCode::from(code)
}
