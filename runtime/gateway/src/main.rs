//! The command `mcpgen-gateway`.

mod shell;

use std::io::{IsTerminal, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use mcpgen_gateway::{CheckedServer, Config, Gateway, Http, PATH, ServerConfig};
use mcpgen_sdk::transport::{lines, stdio};
use tracing_subscriber::EnvFilter;

/// A gateway for the Model Context Protocol: any client to any servers.
///
/// Clients and servers can have different revisions of the protocol. Messages on standard error say what happens; set
/// RUST_LOG=debug for more.
#[derive(Parser)]
#[command(name = "mcpgen-gateway", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serves the servers of a configuration as one.
    Serve(Serve),
    /// Serves one server: a URL, or `-- COMMAND`.
    Bridge(BridgeTarget),
    /// Writes the tools of every server to the file of the pins.
    Pin(File),
    /// Checks a configuration, and connects once to every server.
    Check(File),
    /// Prints a script that completes commands and options in a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Prints the manual page, or that of a command.
    Man {
        /// The command.
        command: Option<String>,
    },
}

#[derive(Args)]
struct File {
    /// The configuration: a TOML file, or the JSON file of a desktop client.
    #[arg(long, short, value_name = "FILE")]
    config: PathBuf,
}

#[derive(Args)]
struct Serve {
    #[command(flatten)]
    file: File,
    #[command(flatten)]
    listen: Listen,
}

#[derive(Args)]
struct Listen {
    /// Serves over HTTP at this address, such as 127.0.0.1:8931, instead of standard input and output.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
}

#[derive(Args)]
struct BridgeTarget {
    /// The URL of the server.
    #[arg(required_unless_present = "command")]
    url: Option<String>,
    #[command(flatten)]
    listen: Listen,
    /// The program of the server, and its arguments.
    #[arg(last = true, conflicts_with = "url")]
    command: Vec<String>,
}

/// How long the processes of servers may take to end.
const STOP: Duration = Duration::from_secs(11);

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,mcpgen_gateway=info"));
    // Standard output belongs to the protocol.
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    let (mut config, folder, is_bridge) = match &command {
        Command::Serve(Serve { file, listen }) => {
            (listen.apply(Config::read(&file.config)?), folder(&file.config), false)
        }
        Command::Check(file) | Command::Pin(file) => (Config::read(&file.config)?, folder(&file.config), false),
        Command::Bridge(BridgeTarget { url, listen, command }) => {
            let server = match (url, command.split_first()) {
                (Some(url), _) => ServerConfig::of_url(url),
                (None, Some((program, arguments))) => ServerConfig::of_command(program, arguments),
                (None, None) => bail!("write a URL, or `-- COMMAND`"),
            };
            let mut config = Config::default();
            config.servers.insert("server".to_owned(), server);
            (listen.apply(config), Path::new(""), true)
        }
        Command::Completions { shell } => return print(&shell::completions(Cli::command(), *shell)),
        Command::Man { command } => return print(&shell::man(Cli::command(), command.as_deref())?),
    };
    config.check()?;
    // The messages of one client are handled fastest on one thread.
    let mut runtime = match config.http.is_some() {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = runtime.enable_all().build()?;
    let http = config.http.clone();
    let pins = match &command {
        Command::Pin(_) => Some(config.pins.take().context("write [pins] with the `file` to the configuration")?),
        _ => None,
    };
    let gateway = Gateway::new(config, folder)?;
    let code = runtime.block_on(async {
        let done = match (&command, &http) {
            (Command::Check(_), _) => Ok(report(&gateway.check().await)),
            (Command::Pin(_), _) => {
                let path = folder.join(pins.map(|pins| pins.file).unwrap_or_default());
                let text = gateway.pin().await.map_err(|failed| anyhow::anyhow!(failed.join("\n")));
                text.and_then(|text| Ok(std::fs::write(&path, text + "\n").map(|()| ExitCode::SUCCESS)?))
            }
            (_, Some(http)) => serve_http(&gateway, http).await.map(|()| ExitCode::SUCCESS),
            (_, None) => serve_stdio(&gateway, is_bridge).await.map(|()| ExitCode::SUCCESS),
        };
        let _ = tokio::time::timeout(STOP, gateway.close()).await;
        done
    });
    // A thread may still wait for standard input.
    runtime.shutdown_background();
    code
}

fn print(text: &[u8]) -> anyhow::Result<ExitCode> {
    std::io::stdout().write_all(text)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the folder at which relative paths of a configuration start.
fn folder(config: &Path) -> &Path {
    config.parent().unwrap_or(Path::new(""))
}

impl Listen {
    fn apply(&self, mut config: Config) -> Config {
        if let Some(address) = self.listen {
            match &mut config.http {
                Some(http) => http.listen = address,
                None => config.http = Some(Http::new(address)),
            }
        }
        config
    }
}

/// Prints what each server offers. Fails if one is not available.
fn report(checked: &[CheckedServer]) -> ExitCode {
    for CheckedServer { name, outcome, .. } in checked {
        match outcome {
            Ok(offers) => println!("{name}: {offers}"),
            Err(why) => println!("{name}: error: {why}"),
        }
    }
    match checked.iter().all(|server| server.outcome.is_ok()) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

async fn serve_http(gateway: &Gateway, http: &Http) -> anyhow::Result<()> {
    let listener = TcpListener::bind(http.listen).with_context(|| format!("cannot listen on {}", http.listen))?;
    listener.set_nonblocking(true)?;
    tracing::info!("listening on http://{}{PATH}", listener.local_addr()?);
    let checking = gateway.clone();
    // Says at the start which servers are available. Clients do not wait for it.
    let checked = tokio::spawn(async move {
        for CheckedServer { name, outcome, .. } in checking.check().await {
            match outcome {
                Ok(offers) => tracing::info!("[{name}] offers {offers}"),
                Err(why) => tracing::warn!("{why}"),
            }
        }
    });
    let served = gateway.serve_http(listener, http, signal()).await;
    checked.abort();
    served.map_err(|error| anyhow::anyhow!(error))
}

async fn serve_stdio(gateway: &Gateway, is_bridge: bool) -> anyhow::Result<()> {
    let transport = stdio::stdio(lines::DEFAULT_LINE_LIMIT)?;
    match is_bridge {
        true => Ok(gateway.bridge_client(transport, signal()).await?),
        false => Ok(gateway.serve_client(transport, signal()).await?),
    }
}

/// Waits for a signal that asks this process to end.
#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};

    let received = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(|kind| {
        Box::pin(async move {
            match signal(kind) {
                Ok(mut signals) => signals.recv().await,
                Err(_) => std::future::pending().await,
            }
        })
    });
    futures_util::future::select_all(received).await;
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
async fn signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
