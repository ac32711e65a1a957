//! `mcpgen-probe completions` and `mcpgen-probe man`.

use clap::builder::PossibleValuesParser;
use clap::{Arg, CommandFactory as _};
use mcpgen_types::Revision;

use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::failure::Failure;
use crate::output;

pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    let mut cli = Cli::command().mut_subcommands(|command| command.mut_args(with_revisions));
    clap_complete::generate(args.shell, &mut cli, "mcpgen-probe", &mut script);
    // clap's bash script uses both names for a command with a hyphen, so it would never complete options.
    output::print(&String::from_utf8_lossy(&script).replace("mcpgen__subcmd__probe", "mcpgen__probe"))
}

/// Offers the known revisions for `--revision`. Only for completions: the parser reports unknown revisions itself.
fn with_revisions(argument: Arg) -> Arg {
    match argument.get_id().as_str() {
        "revision" => {
            let revisions = Revision::ALL.iter().map(|revision| revision.as_str());
            argument.value_parser(PossibleValuesParser::new(revisions))
        }
        _ => argument,
    }
}

pub(crate) fn man(args: &ManArgs) -> Result<(), Failure> {
    let mut cli = Cli::command();
    cli.build();
    let page = match &args.command {
        None => cli,
        Some(name) => {
            let known: Vec<String> = cli.get_subcommands().map(|command| command.get_name().to_owned()).collect();
            cli.find_subcommand(name).cloned().ok_or_else(|| {
                Failure::Usage(format!("there is no command `{name}`; use one of {}", known.join(", ")))
            })?
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text).map_err(Failure::io("writing the manual page"))?;
    output::print(&String::from_utf8_lossy(&text))
}
