//! The commands and their options.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use mcpgen_types::Revision;

/// Call and watch servers of the Model Context Protocol
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "\
Example:
  mcpgen-probe list -- npx -y @modelcontextprotocol/server-everything

Exit codes: 0 success, 1 the server or the tool reports an error, 2 wrong usage, 3 no connection or no response,
128 + N ended by signal N."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(ListArgs),
    Call(CallArgs),
    Read(ReadArgs),
    Prompt(PromptArgs),
    Snapshot(SnapshotArgs),
    Ping(PingArgs),
    Watch(WatchArgs),
    Trace(TraceArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// The server, and how to connect to it.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The URL of a server over Streamable HTTP, or over HTTP+SSE if it supports nothing newer
    #[arg(value_name = "URL", required_unless_present = "command", value_parser = url)]
    pub(crate) url: Option<String>,
    /// The command that starts a server over standard input and output
    #[arg(value_name = "COMMAND", last = true, conflicts_with = "url")]
    pub(crate) command: Vec<String>,
    /// A header of each HTTP request, such as `Authorization: Bearer TOKEN`; can be repeated
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) headers: Vec<(http::HeaderName, http::HeaderValue)>,
    /// Print the address of a login page if the server requires a login. The tokens are stored for later
    #[cfg(feature = "login")]
    #[arg(long)]
    pub(crate) login: bool,
}

/// How long to wait, and which revision to use.
#[derive(Debug, Args)]
pub(crate) struct Connection {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Use this revision, and fail if the server does not support it [default: negotiated]
    #[arg(long, value_name = "REVISION")]
    pub(crate) revision: Option<Revision>,
    /// How long to wait for the whole command [default: 60; 360 with --login, because the user has to log in]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
}

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// For programs: the server's JSON
    Json,
}

/// A kind of list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Tools
    Tools,
    /// Resources
    Resources,
    /// Resource templates
    Templates,
    /// Prompts
    Prompts,
}

/// List the tools, resources, resource templates and prompts of a server
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen-probe list https://example.com/mcp
  mcpgen-probe list --only tools --format json -- npx -y @modelcontextprotocol/server-everything")]
pub(crate) struct ListArgs {
    /// Only these lists, separated by commas
    #[arg(long, value_name = "KIND", value_enum, value_delimiter = ',')]
    pub(crate) only: Vec<Kind>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Call a tool
///
/// The tool's input schema decides the type of the value of --arg: a string is the text as it is, a number, a boolean, an
/// array or an object is JSON. Without a type, the value is JSON if it can be read as JSON, and otherwise a string.
///
/// With --answer, the command answers the server's questions. It fails if a required field has no answer.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen-probe call get-sum --arg a=1 --arg b=2 -- npx -y @modelcontextprotocol/server-everything
  mcpgen-probe call search --json '{\"query\": \"mcp\"}' https://example.com/mcp
  mcpgen-probe call remove --arg id=7 --answer delete=true https://example.com/mcp")]
pub(crate) struct CallArgs {
    /// The name of the tool
    #[arg(value_name = "TOOL")]
    pub(crate) tool: String,
    /// An argument; can be repeated
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) arguments: Vec<(String, String)>,
    /// All arguments as a JSON object, or `-` for standard input
    #[arg(long, value_name = "OBJECT", conflicts_with = "arguments")]
    pub(crate) json: Option<String>,
    /// The value for a field of a form that the server sends to ask the user; can be repeated
    #[arg(long = "answer", value_name = "FIELD=VALUE", value_parser = pair)]
    pub(crate) answers: Vec<(String, String)>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Read a resource
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen-probe read demo://resource/static/document/features.md -- npx -y @modelcontextprotocol/server-everything
  mcpgen-probe read file:///logo.png --output logo.png https://example.com/mcp")]
pub(crate) struct ReadArgs {
    /// The URI of the resource
    #[arg(value_name = "URI")]
    pub(crate) uri: String,
    /// Write the first content to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Get a prompt
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mcpgen-probe prompt args-prompt --arg city=Paris -- npx -y @modelcontextprotocol/server-everything")]
pub(crate) struct PromptArgs {
    /// The name of the prompt
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: String,
    /// An argument; can be repeated
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) arguments: Vec<(String, String)>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Write all lists of a server, for `mcpgen diff --tools` and `mcpgen bindings`
///
/// Items are sorted by name, and members alphabetically, so that equal lists produce identical files. The sizes of
/// resources and the times of their last changes are left out.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen-probe snapshot https://example.com/mcp > tools.json
  mcpgen-probe snapshot --check tools.json -- npx -y @modelcontextprotocol/server-everything")]
pub(crate) struct SnapshotArgs {
    /// Write the snapshot to this file [default: standard output]
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub(crate) output: Option<PathBuf>,
    /// Compare with this snapshot; the exit code is 1 if it differs
    #[arg(long, value_name = "FILE")]
    pub(crate) check: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Connect to a server and check that it responds
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mcpgen-probe ping https://example.com/mcp --header 'Authorization: Bearer TOKEN'")]
pub(crate) struct PingArgs {
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Relay messages between a client and a server, and describe each on standard error
///
/// Put it in place of the server in the configuration of a client: it reads the client's messages from standard input,
/// and writes the server's to standard output, unchanged. Messages that do not match the schema of the connection's
/// revision are shown in red, and the exit code is then 1, as it is if the server exits with an error. What the server writes
/// to standard error is passed on.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen-probe watch -- npx -y @modelcontextprotocol/server-everything
  mcpgen-probe watch --log messages.txt https://example.com/mcp")]
pub(crate) struct WatchArgs {
    /// Write the descriptions to this file [default: standard error]
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Show the whole messages
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) target: Target,
}

/// Describe the messages of a captured log, and check each
///
/// Each line of the log contains a message as JSON. Other text may precede it, such as a time or what `watch --full`
/// prints. The message may also be a member of an object. Words such as `client`, `from server` or `server →` before a
/// message name its sender; without them, its method and the requests before it do. The exit code is 1 if a message does
/// not match the schema of its revision.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen-probe trace messages.jsonl
  mcpgen-probe trace --full - < mcp.log")]
pub(crate) struct TraceArgs {
    /// The log, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Show the whole messages
    #[arg(long)]
    pub(crate) full: bool,
}

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mcpgen-probe completions bash > ~/.local/share/bash-completion/completions/mcpgen-probe")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Print the manual page of mcpgen-probe, or of one of its commands
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mcpgen-probe man watch | man -l -")]
pub(crate) struct ManArgs {
    /// The command [default: mcpgen-probe]
    pub(crate) command: Option<String>,
}

fn header(text: &str) -> Result<(http::HeaderName, http::HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("expected NAME: VALUE")?;
    let name = name.trim().parse().map_err(|_| format!("{name:?} is not the name of a header"))?;
    // The value can be a secret, so messages do not repeat it.
    let mut value: http::HeaderValue = value.trim().parse().map_err(|_| "the value has invalid characters")?;
    value.set_sensitive(true);
    Ok((name, value))
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    if name.is_empty() { Err("the name is empty".to_owned()) } else { Ok((name.to_owned(), value.to_owned())) }
}

fn url(text: &str) -> Result<String, String> {
    match text {
        _ if text.starts_with("http://") || text.starts_with("https://") => Ok(text.to_owned()),
        _ if text.starts_with('{') => Err("pass the arguments of a tool with --json".to_owned()),
        _ => Err("expected a URL such as https://example.com/mcp; to start a server, write `-- COMMAND`".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn arguments_are_consistent_and_every_command_shows_an_example() {
        let mut cli = Cli::command();
        cli.build();
        cli.clone().debug_assert();
        for command in cli.get_subcommands_mut().filter(|command| command.get_name() != "help") {
            let help = command.render_long_help().to_string();
            assert!(help.contains(&format!("  mcpgen-probe {}", command.get_name())), "{help}");
        }
    }

    #[test]
    fn reads_headers_pairs_and_seconds() {
        let (name, value) = header("X-Key:  a b ").expect("a header");
        assert_eq!((name.as_str(), value.to_str().expect("ASCII"), value.is_sensitive()), ("x-key", "a b", true));
        assert_eq!(header("no colon"), Err("expected NAME: VALUE".to_owned()));
        assert_eq!(header("a b: c").expect_err("a space"), "\"a b\" is not the name of a header");
        assert_eq!(pair("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(pair("=b").is_err() && pair("a").is_err());
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        assert!(seconds("-1").is_err() && seconds("x").is_err());
    }
}
