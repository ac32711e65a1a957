//! The command line. `args` lists the commands, each in its own file. `answer` is what a command prints, and `root` the
//! option `--root`.

mod answer;
mod args;
mod bindings;
mod changelog;
mod completions;
mod contains;
mod diff;
mod docs;
mod explain;
mod generate;
mod import;
mod inspect;
mod ledger;
mod man;
mod root;
mod schema_args;
mod site;
mod validate;

pub(crate) use args::Cli;
