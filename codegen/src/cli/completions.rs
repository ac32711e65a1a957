//! `mcpgen completions`.

use clap::Args;
use clap_complete::Shell;

use super::answer::Answer;

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mcpgen completions bash > ~/.local/share/bash-completion/completions/mcpgen")]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    pub(super) fn run(self, cli: &mut clap::Command) -> Answer {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, cli, "mcpgen", &mut script);
        Answer { text: String::from_utf8_lossy(&script).into_owned(), ..Answer::default() }
    }
}
