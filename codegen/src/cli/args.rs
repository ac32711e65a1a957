//! The commands.

use clap::{CommandFactory as _, Parser, Subcommand};
use mcpgen_schema::Error;

use super::answer::Answer;
use super::bindings::BindingsArgs;
use super::changelog::ChangelogArgs;
use super::completions::CompletionsArgs;
use super::contains::ContainsArgs;
use super::diff::DiffArgs;
use super::docs::DocsArgs;
use super::explain::ExplainArgs;
use super::generate::GenerateArgs;
use super::import::ImportArgs;
use super::inspect::InspectArgs;
use super::ledger::LedgerArgs;
use super::man::ManArgs;
use super::site::SiteArgs;
use super::validate::ValidateArgs;

/// Generate Rust types from the JSON schemas of the Model Context Protocol, and compare schemas
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "\
Example:
  mcpgen generate --check

Exit codes: 0 success, 1 differences, 2 invalid input or usage."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Generate(GenerateArgs),
    Bindings(BindingsArgs),
    Import(ImportArgs),
    Inspect(InspectArgs),
    Validate(ValidateArgs),
    Docs(DocsArgs),
    Diff(DiffArgs),
    Contains(ContainsArgs),
    Changelog(ChangelogArgs),
    Explain(ExplainArgs),
    Site(SiteArgs),
    Ledger(LedgerArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

impl Cli {
    pub(crate) fn run(self) -> Result<Answer, Error> {
        match self.command {
            Command::Generate(args) => args.run().map(Answer::visible),
            Command::Bindings(args) => args.run().map(Answer::visible),
            Command::Import(args) => args.run().map(Answer::visible),
            Command::Inspect(args) => args.run(),
            Command::Validate(args) => args.run().map(Answer::visible),
            Command::Docs(args) => args.run().map(Answer::visible),
            Command::Diff(args) => args.run(),
            Command::Contains(args) => args.run().map(Answer::visible),
            Command::Changelog(args) => args.run(),
            Command::Explain(args) => args.run(),
            Command::Site(args) => args.run().map(Answer::visible),
            Command::Ledger(args) => args.run(),
            Command::Completions(args) => args.run(Cli::command()),
            Command::Man(args) => args.run(Cli::command()),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn every_command_shows_an_example() {
        let mut cli = Cli::command();
        cli.build();
        for command in cli.get_subcommands_mut().filter(|command| command.get_name() != "help") {
            let help = command.render_long_help().to_string();
            assert!(help.contains(&format!("  mcpgen {}", command.get_name())), "{help}");
        }
    }

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
