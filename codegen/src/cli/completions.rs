//! `mcpgen completions`.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command, ValueEnum};
use clap_complete::Shell;
use mcpgen::Workspace;
use mcpgen_diff::Rule;
use mcpgen_schema::Error;

use super::answer::Answer;

/// Print completions for a shell
///
/// Completes commands and options. In bash, fish and zsh, it also completes the rules of `explain`, and the revisions
/// and extensions of the project that contains the current folder.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mcpgen completions bash > ~/.local/share/bash-completion/completions/mcpgen")]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, required_unless_present = "list")]
    shell: Option<Shell>,
    /// Print names of the project, one per line, for the scripts
    #[arg(long, value_enum, hide = true, conflicts_with = "shell")]
    list: Option<List>,
}

/// Names that depend on the project, so the scripts ask for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum List {
    /// The revisions.
    Revisions,
    // An argument that takes these names can also be a file.
    /// The revisions and the extensions.
    Names,
}

enum Values {
    /// These are known when the script is generated.
    Fixed(Vec<&'static str>),
    /// The script runs `mcpgen` in the project to list these.
    Listed(List),
}

impl CompletionsArgs {
    pub(super) fn run(self, cli: Command) -> Result<Answer, Error> {
        let text = match (self.shell, self.list) {
            (Some(shell), _) => script(shell, cli),
            (None, list) => names(list.unwrap_or(List::Names))?,
        };
        Ok(Answer { text, ..Answer::default() })
    }
}

/// Returns names from the project around the current folder. They need no shell quoting.
fn names(list: List) -> Result<String, Error> {
    let workspace = Workspace::open(None)?;
    let names: Vec<&str> = match list {
        List::Revisions => workspace.revisions.iter().map(|row| row.name.as_str()).collect(),
        List::Names => workspace.names().collect(),
    };
    Ok(names.into_iter().map(|name| format!("{name}\n")).collect())
}

impl List {
    /// Returns a marker that stands for the names in clap's script, and the command that prints them.
    fn texts(self) -> (&'static str, &'static str) {
        match self {
            List::Revisions => ("MCPGEN_REVISIONS", "mcpgen completions --list revisions 2>/dev/null"),
            List::Names => ("MCPGEN_NAMES", "mcpgen completions --list names 2>/dev/null"),
        }
    }
}

/// Returns the values that an argument can have, according to its value name. clap does not validate them, so that the
/// command itself can suggest close matches.
fn values(argument: &Arg) -> Option<Values> {
    let [name] = argument.get_value_names()? else { return None };
    match name.as_str() {
        "REV|FILE" | "NAME|FILE" | "OLD" | "NEW" => Some(Values::Listed(List::Names)),
        "REV" => Some(Values::Listed(List::Revisions)),
        "RULE" => Some(Values::Fixed(Rule::ALL.iter().map(|rule| rule.id()).collect())),
        _ => None,
    }
}

/// Returns the completion script for a shell.
///
/// clap can only complete fixed values. For names from the project, the script is generated with a marker as the only
/// value, which is then replaced by a command.
fn script(shell: Shell, cli: Command) -> String {
    let mut positionals = String::new();
    for command in cli.get_subcommands() {
        let values = command.get_positionals().filter_map(values);
        positionals.extend(values.map(|values| fish_positional(command.get_name(), &values)));
    }
    let mut cli = cli.mut_subcommands(|command| command.mut_args(with_values));
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli, "mcpgen", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    for list in [List::Revisions, List::Names] {
        let (marker, command) = list.texts();
        script = match shell {
            // The marker is always in double quotes. If no name matches, bash completes files (`-o default`).
            Shell::Bash => script.replace(marker, &format!("$({command})")),
            Shell::Fish => {
                let files = if list == List::Names { "-F" } else { "-f" };
                script.replace(&format!("-f -a \"{marker}\\t''\""), &format!("{files} -a \"({command})\""))
            }
            Shell::Zsh => {
                let function = format!("_{}", marker.to_lowercase());
                let script = script.replace(&format!("({marker})"), &function);
                script.replacen("\n_mcpgen() {", &format!("\n{}\n_mcpgen() {{", zsh_function(&function, list)), 1)
            }
            _ => script,
        };
    }
    if shell == Shell::Fish {
        script.push_str(&positionals);
    }
    script
}

fn with_values(argument: Arg) -> Arg {
    match values(&argument) {
        Some(Values::Fixed(names)) => argument.value_parser(PossibleValuesParser::new(names)),
        Some(Values::Listed(list)) => argument.value_parser(PossibleValuesParser::new([list.texts().0])),
        None => argument,
    }
}

fn zsh_function(name: &str, list: List) -> String {
    let (_, command) = list.texts();
    let (tag, files) = match list {
        List::Revisions => ("revisions:revision", ""),
        List::Names => ("names:name", " 'files:file:_files'"),
    };
    format!("{name}() {{\n    _alternative \"{tag}:($({command}))\"{files}\n}}\n")
}

/// Returns the fish line for a positional argument, because clap generates none.
fn fish_positional(command: &str, values: &Values) -> String {
    let (files, names) = match values {
        Values::Fixed(names) => ("-f ", names.join(" ")),
        Values::Listed(list) => (if *list == List::Names { "" } else { "-f " }, format!("({})", list.texts().1)),
    };
    format!("complete -c mcpgen -n \"__fish_mcpgen_using_subcommand {command}\" {files}-a \"{names}\"\n")
}
