//! `mcpgen man`.

use clap::Args;
use mcpgen_schema::Error;

use super::answer::Answer;

/// Print the manual page of mcpgen, or of one of its commands
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen man | man -l -
  mcpgen man diff > mcpgen-diff.1")]
pub(super) struct ManArgs {
    /// The command [default: mcpgen]
    command: Option<String>,
}

impl ManArgs {
    pub(super) fn run(self, mut cli: clap::Command) -> Result<Answer, Error> {
        cli.build();
        let page = match &self.command {
            None => cli,
            Some(name) => {
                let known: Vec<String> = cli.get_subcommands().map(|command| command.get_name().to_owned()).collect();
                cli.find_subcommand(name).cloned().ok_or_else(|| {
                    Error::Usage(format!("there is no command `{name}`; use one of {}", known.join(", ")))
                })?
            }
        };
        let mut text = Vec::new();
        clap_mangen::Man::new(page).render(&mut text).map_err(Error::io("writing", "the manual page"))?;
        Ok(Answer { text: String::from_utf8_lossy(&text).into_owned(), ..Answer::default() })
    }
}
