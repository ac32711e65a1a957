//! The command line. `args` lists the commands, which have a file each. `answer` is the output of a command, and `root`
//! the option `--root`.

mod answer;
mod args;
mod bindings;
mod changelog;
mod completions;
mod diff;
mod docs;
mod explain;
mod generate;
mod import;
mod inspect;
mod man;
mod root;
mod schema_args;
mod validate;

pub use answer::Answer;
pub use args::Cli;

/// Escapes what a command prints for people, so that names of a schema control neither the terminal nor the log.
pub use crate::text::visible_lines;
