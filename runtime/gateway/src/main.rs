//! The command `mcpgen-gateway`.

mod shell;

use std::io::{IsTerminal, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
#[cfg(feature = "redis")]
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt as _};
use mcpgen_gateway::{CheckedServer, Config, ConfigError, Gateway, Http, OAuth, PATH, ServerConfig, Stores};
use mcpgen_schema::text::{visible, visible_lines};
#[cfg(feature = "redis")]
use mcpgen_sdk::replicas::{RateLimiter, Replicas};
use mcpgen_sdk::transport::{lines, stdio};
use mcpgen_sdk::util::error_chain;
use tracing_subscriber::EnvFilter;

/// A gateway for the Model Context Protocol, which connects any client to any servers.
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
    /// Serves the servers of a configuration as one. On SIGHUP, reads the configuration again.
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

#[derive(Args, Clone)]
struct File {
    /// The configuration: a TOML file, or the JSON file of a desktop client.
    #[arg(long, short, value_name = "FILE")]
    config: PathBuf,
}

#[derive(Args, Clone)]
struct Serve {
    #[command(flatten)]
    file: File,
    /// Serves over HTTP at this address, such as 127.0.0.1:8931, instead of standard input and output.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
}

#[derive(Args)]
struct BridgeTarget {
    /// The URL of the server.
    #[arg(required_unless_present = "command")]
    url: Option<String>,
    /// Serves over HTTP at this address, such as 127.0.0.1:8931, instead of standard input and output.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The program of the server, and its arguments.
    #[arg(last = true, conflicts_with = "url")]
    command: Vec<String>,
}

/// How long the processes of servers may take to end.
const STOP: Duration = Duration::from_secs(11);
/// The same after a signal when serving standard input and output. A client that sends one kills this process soon
/// after, and the servers must not be left behind.
const STOP_AFTER_SIGNAL: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("warn,mcpgen_gateway=info,mcpgen_bridge=info"));
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
            eprintln!("error: {}", visible_lines(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    let (mut config, folder, is_bridge) = match &command {
        Command::Serve(serve) => (serve.read()?, serve.file.folder(), false),
        Command::Check(file) | Command::Pin(file) => (Config::read(&file.config)?, file.folder(), false),
        Command::Bridge(BridgeTarget { url, listen, command }) => {
            let mut server = match (url, command.split_first()) {
                (Some(url), _) => ServerConfig::of_url(url),
                (None, Some((program, arguments))) => ServerConfig::of_command(program, arguments),
                (None, None) => bail!("write a URL, or `-- COMMAND`"),
            };
            // Logs a user in, if the server asks for it.
            server.oauth = url.is_some().then(OAuth::default);
            let mut config = Config::default();
            config.servers.insert("server".to_owned(), server);
            (listen_at(config, *listen), Path::new(""), true)
        }
        Command::Completions { shell } => return print(&shell::completions(Cli::command(), *shell)),
        Command::Man { command } => return print(&shell::man(Cli::command(), command.as_deref())?),
    };
    config.check()?;
    #[cfg(feature = "otel")]
    let _exported = mcpgen_otel::export("mcpgen-gateway").map_err(|error| anyhow::anyhow!(error))?;
    // The messages of one client are handled fastest on one thread.
    let mut runtime = match config.http.is_some() {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = runtime.enable_all().build()?;
    // Without a handler, SIGHUP would end this process.
    let hangups = match &command {
        Command::Serve(serve) => Some((serve.clone(), runtime.block_on(async { hangups() })?)),
        _ => None,
    };
    let http = config.http.clone();
    let pins = match &command {
        Command::Pin(_) => Some(config.pins.take().context("write [pins] with the `file` to the configuration")?),
        _ => None,
    };
    let stores = runtime.block_on(stores(&config))?;
    let gateway = Gateway::with_stores(config, folder, stores)?;
    let serves_stdio = http.is_none() && matches!(command, Command::Serve(_) | Command::Bridge(_));
    let run = async {
        if let Some((serve, hangups)) = hangups {
            tokio::spawn(reload_on_signal(gateway.clone(), serve, hangups));
        }
        let done = match (&command, &http) {
            (Command::Check(_), _) => Ok(report(&gateway.check().await)),
            (Command::Pin(_), _) => {
                let path = folder.join(pins.map(|pins| pins.file).unwrap_or_default());
                let text = gateway.pin().await.map_err(|failed| anyhow::anyhow!(failed.join("\n")));
                text.and_then(|text| Ok(replace_file(&path, &(text + "\n")).map(|()| ExitCode::SUCCESS)?))
            }
            (_, Some(http)) => serve_http(&gateway, http, is_bridge).await.map(|()| ExitCode::SUCCESS),
            (_, None) => serve_stdio(&gateway, is_bridge).await.map(|()| ExitCode::SUCCESS),
        };
        let _ = tokio::time::timeout(STOP, gateway.close()).await;
        done
    };
    let code = runtime.block_on(async {
        tokio::select! {
            done = run => done,
            // Shutting down the runtime kills the servers that still run.
            () = signal(is_bridge).then(|()| tokio::time::sleep(STOP_AFTER_SIGNAL)), if serves_stdio => Ok(ExitCode::SUCCESS),
        }
    });
    // Does not wait for a thread that may still block on standard input.
    runtime.shutdown_background();
    code
}

/// Connects to Redis, if the configuration asks for it.
#[cfg(feature = "redis")]
async fn stores(config: &Config) -> anyhow::Result<Option<Stores>> {
    use mcpgen_redis::{RedisOptions, RedisStores};

    let Some(Http { redis: Some(url), redis_prefix, .. }) = &config.http else { return Ok(None) };
    let mut options = RedisOptions::new(url.value()?);
    // Other programs on the same Redis must not get the gateway's sessions.
    options.prefix = redis_prefix.clone().unwrap_or_else(|| "mcpgen-gateway".to_owned());
    let stores = RedisStores::connect(options).await.context("cannot use Redis")?;
    let replicas = Replicas::new(stores.clone());
    let limiter = move |calls| Arc::new(stores.rate_limiter(calls, Duration::from_secs(60))) as Arc<dyn RateLimiter>;
    Ok(Some(Stores { replicas, limiter: Arc::new(limiter) }))
}

#[cfg(not(feature = "redis"))]
async fn stores(_: &Config) -> anyhow::Result<Option<Stores>> {
    // With `http.redis`, `Gateway::with_stores` then fails.
    Ok(None)
}

/// Replaces a file atomically.
fn replace_file(path: &Path, text: &str) -> std::io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    std::fs::write(&new, text)?;
    std::fs::rename(&new, path)
}

fn print(text: &[u8]) -> anyhow::Result<ExitCode> {
    std::io::stdout().write_all(text)?;
    Ok(ExitCode::SUCCESS)
}

impl File {
    /// Returns the folder that paths in the configuration are relative to.
    fn folder(&self) -> &Path {
        self.config.parent().unwrap_or(Path::new(""))
    }
}

impl Serve {
    fn read(&self) -> Result<Config, ConfigError> {
        Ok(listen_at(Config::read(&self.file.config)?, self.listen))
    }
}

fn listen_at(mut config: Config, address: Option<SocketAddr>) -> Config {
    if let Some(address) = address {
        config.http.get_or_insert_with(|| Http::new(address)).listen = address;
    }
    config
}

/// Prints what each server offers. Fails if one is not available.
fn report(checked: &[CheckedServer]) -> ExitCode {
    for CheckedServer { name, outcome, .. } in checked {
        match outcome {
            Ok(offers) => println!("{name}: {}", visible(offers)),
            Err(why) => println!("{name}: error: {}", visible_lines(why)),
        }
    }
    match checked.iter().all(|server| server.outcome.is_ok()) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

async fn serve_http(gateway: &Gateway, http: &Http, is_bridge: bool) -> anyhow::Result<()> {
    let listener = TcpListener::bind(http.listen).with_context(|| format!("cannot listen on {}", http.listen))?;
    listener.set_nonblocking(true)?;
    tracing::info!("listening on http://{}{PATH}", listener.local_addr()?);
    let checking = gateway.clone();
    // Logs at the start which servers are available. Clients do not wait for this.
    let checked = tokio::spawn(async move {
        for CheckedServer { name, outcome, .. } in checking.check().await {
            match outcome {
                Ok(offers) => tracing::info!("[{name}] offers {offers}"),
                Err(why) => tracing::warn!("{why}"),
            }
        }
    });
    let served = gateway.serve_http(listener, http, signal(is_bridge)).await;
    checked.abort();
    served.map_err(|error| anyhow::anyhow!(error))
}

async fn serve_stdio(gateway: &Gateway, is_bridge: bool) -> anyhow::Result<()> {
    let transport = stdio::stdio(lines::DEFAULT_LINE_LIMIT)?;
    match is_bridge {
        true => Ok(gateway.bridge_client(transport, signal(true)).await?),
        false => Ok(gateway.serve_client(transport, signal(false)).await?),
    }
}

/// Returns the `SIGHUP`s that this process receives from now on.
fn hangups() -> std::io::Result<BoxStream<'static, ()>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        let mut signals = signal(SignalKind::hangup())?;
        Ok(stream::poll_fn(move |context| signals.poll_recv(context)).boxed())
    }
    #[cfg(not(unix))]
    Ok(stream::pending().boxed())
}

/// Reads the configuration again on each `SIGHUP`.
async fn reload_on_signal(gateway: Gateway, serve: Serve, mut hangups: BoxStream<'static, ()>) {
    while hangups.next().await.is_some() {
        match serve.read().and_then(|config| gateway.reload(config, serve.file.folder())) {
            Ok(()) => tracing::info!("read {} again", serve.file.config.display()),
            Err(error) => tracing::error!("the configuration stays as it is: {}", error_chain(&error)),
        }
    }
}

/// Waits for a signal that asks this process to end.
#[cfg(unix)]
async fn signal(ends_on_hangup: bool) {
    use tokio::signal::unix::{SignalKind, signal};

    let hangup = ends_on_hangup.then(SignalKind::hangup);
    let received = [SignalKind::interrupt(), SignalKind::terminate()].into_iter().chain(hangup).map(|kind| {
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
async fn signal(_: bool) {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
