//! `mcpgen completions` and `mcpgen man`: for shells and for readers.

use clap::{Args, CommandFactory, ValueEnum as _};
use clap_complete::Shell;
use mcpgen::Error;

use super::{Answer, Cli};

/// Print the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mcpgen completions bash > ~/.local/share/bash-completion/completions/mcpgen")]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(["bash", "elvish", "fish", "powershell", "zsh"]))]
    shell: String,
}

impl CompletionsArgs {
    pub(super) fn run(self) -> Answer {
        let mut script = Vec::new();
        if let Ok(shell) = Shell::from_str(&self.shell, true) {
            clap_complete::generate(shell, &mut Cli::command(), "mcpgen", &mut script);
        }
        Answer { text: String::from_utf8_lossy(&script).into_owned(), ..Answer::default() }
    }
}

/// Print the manual page of mcpgen, or of one of its commands
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen man | man -l -
  mcpgen man diff > mcpgen-diff.1")]
pub(super) struct ManArgs {
    /// The command
    command: Option<String>,
}

impl ManArgs {
    pub(super) fn run(self) -> Result<Answer, Error> {
        let mut cli = Cli::command();
        cli.build();
        let page = match &self.command {
            None => cli,
            Some(name) => {
                let known: Vec<String> = cli.get_subcommands().map(|command| command.get_name().to_owned()).collect();
                cli.find_subcommand(name)
                    .cloned()
                    .ok_or_else(|| Error::Usage(format!("there is no command `{name}`, only {}", known.join(", "))))?
            }
        };
        let mut text = Vec::new();
        clap_mangen::Man::new(page).render(&mut text).map_err(|source| Error::Io {
            action: "writing",
            path: "the manual page".into(),
            source,
        })?;
        Ok(Answer { text: String::from_utf8_lossy(&text).into_owned(), ..Answer::default() })
    }
}
