//! The configuration: a TOML file, and `mcpServers` files of desktop clients.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use mcpgen_bridge::catalog::Prefix;
use mcpgen_sdk::util::did_you_mean;
use serde::Deserialize;

use crate::policy::{Annotations, Rules};

/// The configuration of a gateway. [`Config::read`] reads it from a file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Config {
    /// Instructions for models that use the gateway.
    pub instructions: Option<String>,
    /// Which names and URIs get the name of their server as a prefix.
    #[serde(with = "PrefixName")]
    pub prefix: Prefix,
    /// The number of items on a page of a list. Default: 250.
    pub page_size: Option<usize>,
    /// The maximum size of all server lists that the gateway holds, in bytes. Clients with equal lists share them. A
    /// list that does not fit is not available. Default: 256 MiB.
    pub memory: Option<usize>,
    /// `mcpServers` files of desktop clients, whose servers are added. Relative to the configuration file.
    pub import: Vec<PathBuf>,
    /// Serves over HTTP. Without it, the gateway serves standard input and output.
    pub http: Option<Http>,
    /// Requires access tokens over HTTP.
    pub authorization: Option<Authorization>,
    /// The log of calls, and the limit of their rate.
    pub calls: Calls,
    /// Compares tools with pins.
    pub pins: Option<Pinning>,
    /// Which tools of all servers clients see, by the names that the gateway lists.
    pub tools: Rules,
    /// Which prompts of all servers clients see, by the names that the gateway lists.
    pub prompts: Rules,
    /// Which resources and resource templates of all servers clients see, by the URIs that the gateway lists.
    pub resources: Rules,
    /// The servers, by name.
    pub servers: BTreeMap<String, ServerConfig>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", remote = "Prefix")]
enum PrefixName {
    Clash,
    Always,
}

/// Settings for serving over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Http {
    /// The address to listen on. Without authorization, it must be a loopback address.
    pub listen: SocketAddr,
    /// Names of this host in requests, in addition to `localhost`, `127.0.0.1`, `[::1]`, and that of the resource.
    #[serde(default)]
    pub allowed_hosts: Vec<String>,
    /// The address at which [`Gateway::metrics`](crate::Gateway::metrics) are served, without authorization, at `/metrics`.
    pub metrics: Option<SocketAddr>,
    /// The URL of Redis, for several replicas of the gateway. The command needs the feature `redis`. A program that embeds the
    /// gateway passes [`Stores`](crate::Stores) instead.
    pub redis: Option<Setting>,
    /// The prefix of the replicas' keys on Redis. Gateways with different configurations need different prefixes.
    /// Default: `mcpgen-gateway`.
    pub redis_prefix: Option<String>,
    /// The maximum number of legacy sessions and modern clients, each with its own connections to the servers. With
    /// authorization, a principal can have a quarter of them. Default: 256.
    pub clients: Option<usize>,
}

impl Http {
    pub(crate) fn clients(&self) -> usize {
        self.clients.unwrap_or(256).max(1)
    }

    /// Creates settings with the address to listen on.
    #[must_use]
    pub fn new(listen: SocketAddr) -> Self {
        let (allowed_hosts, clients) = (Vec::new(), None);
        Self { listen, allowed_hosts, metrics: None, redis: None, redis_prefix: None, clients }
    }
}

/// Access tokens that clients must send.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Authorization {
    /// The URL at which clients reach the gateway, which is the audience of access tokens.
    pub resource: String,
    /// The issuer of access tokens.
    pub issuer: String,
    /// The scopes that every request needs.
    #[serde(default)]
    pub scopes: Vec<String>,
}

/// The log of calls, and the limit of their rate.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Calls {
    /// The file to which each call is appended as a line of JSON.
    pub log: Option<PathBuf>,
    /// Whether to log the arguments of calls.
    pub arguments: bool,
    /// Patterns of argument names whose values are left out of the log, in addition to common names of secrets.
    pub redact: Vec<String>,
    /// The maximum number of calls, reads, prompts and completions of each principal in a minute or, without
    /// authorization, of all clients together. Default: no limit.
    pub per_minute: Option<u32>,
}

/// Pins: the servers' tools as they were when someone reviewed them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Pinning {
    /// The file with the pins, which `mcpgen-gateway pin` writes.
    pub file: PathBuf,
    /// What happens to a tool that has changed.
    #[serde(default)]
    pub when_changed: WhenChanged,
}

/// What happens to a tool that differs from its pin, or has none. Changes that cannot affect a caller, such as a new
/// title, are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenChanged {
    /// The difference is logged.
    #[default]
    Warn,
    /// The tool is also hidden from clients.
    Hide,
    /// Clients see the tool, but calls fail with an error that describes the difference.
    Refuse,
}

/// How to reach a server, and what clients see of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The program of a server that the gateway starts.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, in addition to that of the gateway.
    pub env: BTreeMap<String, Setting>,
    /// Its working directory. Relative to the configuration file.
    pub cwd: Option<PathBuf>,
    /// The URL of a server over HTTP.
    pub url: Option<String>,
    /// Headers for each HTTP request.
    pub headers: BTreeMap<String, Setting>,
    /// Obtains access tokens for the URL.
    pub oauth: Option<OAuth>,
    /// The seconds that connecting may take. Default: 60.
    pub connect_timeout: Option<u64>,
    /// Which of its tools clients see, by its own names.
    pub tools: Rules,
    /// Which of its prompts clients see, by its own names.
    pub prompts: Rules,
    /// Which of its resources and resource templates clients see, by the URIs that the server lists.
    pub resources: Rules,
}

/// How the gateway obtains access tokens for a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OAuth {
    /// The ID of the gateway at the issuer. Without it, a user logs in, at a URL that the gateway prints.
    pub client_id: Option<String>,
    /// The secret of the gateway at the issuer.
    pub client_secret: Option<Setting>,
    /// The issuer that receives the secret.
    pub issuer: Option<String>,
    /// The scopes to request.
    pub scopes: Option<Vec<String>>,
}

/// A value, or where to read it. [`Config::read`] refuses values in a TOML file that are named like secrets.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields, expecting = "expected a text, { env = \"VARIABLE\" } or { file = \"PATH\" }")]
pub enum Setting {
    /// The value itself.
    Plain(String),
    /// In an environment variable.
    Env {
        /// The variable.
        env: String,
        /// What precedes the value, such as `Bearer `.
        #[serde(default)]
        before: String,
    },
    /// In a file, without the line break at its end.
    File {
        /// The path. [`Config::read`] makes it relative to the configuration file.
        file: PathBuf,
        /// What precedes the value, such as `Bearer `.
        #[serde(default)]
        before: String,
    },
}

/// The reason why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// The path.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file is not a valid configuration.
    #[error("{}: {why}", path.display())]
    Invalid {
        /// The path.
        path: PathBuf,
        /// The place and the reason.
        why: String,
    },
    /// A value contradicts another.
    #[error("{0}")]
    Contradiction(String),
    /// The environment has no such variable.
    #[error("the environment has no variable `{0}`")]
    NoVariable(String),
}

impl Setting {
    /// Returns the value.
    ///
    /// # Errors
    ///
    /// Fails if the variable is not set, or the file cannot be read.
    pub fn value(&self) -> Result<String, ConfigError> {
        match self {
            Self::Plain(value) => Ok(value.clone()),
            Self::Env { env: name, before } => {
                env::var(name).map(|value| before.clone() + &value).map_err(|_| ConfigError::NoVariable(name.clone()))
            }
            Self::File { file, before } => {
                let read = fs::read_to_string(file);
                let text = read.map_err(|source| ConfigError::Open { path: file.clone(), source })?;
                Ok(before.clone() + text.strip_suffix('\n').map_or(&*text, |text| text.trim_end_matches('\r')))
            }
        }
    }

    /// Makes a path relative to the folder of the configuration.
    fn resolve(&mut self, folder: &Path) {
        if let Self::File { file, .. } = self {
            *file = folder.join(&*file);
        }
    }
}

impl Config {
    /// Reads a configuration: a TOML file, or the JSON file of a desktop client.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read, or is not valid. The error names the line. [`check`](Self::check) finds values
    /// that contradict each other.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let mut config = match path.extension().is_some_and(|extension| extension == "json") {
            true => Self { import: vec![path.to_owned()], ..Self::default() },
            false => parse(path, |text| toml::from_str::<Self>(text).map_err(|error| explain(&error.to_string())))?,
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        for (name, server) in &mut config.servers {
            server.cwd = server.cwd.take().map(|cwd| folder.join(cwd));
            for (setting, value) in server.settings().filter(|(name, _)| is_secret_name(name)) {
                check_secret(&format!("servers.{name}: `{setting}` looks like a secret"), value)?;
            }
            server.settings().for_each(|(_, value)| value.resolve(folder));
        }
        if let Some(url) = config.http.as_mut().and_then(|http| http.redis.as_mut()) {
            if matches!(url, Setting::Plain(url) if url.contains('@')) {
                check_secret("http.redis: the URL contains a password", url)?;
            }
            url.resolve(folder);
        }
        for file in std::mem::take(&mut config.import) {
            let file = if file == path { file } else { folder.join(file) };
            for (name, server) in read_desktop_file(&file)? {
                if config.servers.insert(name.clone(), server).is_some() {
                    return Err(contradiction(format!("several servers have the name `{name}`")));
                }
            }
        }
        Ok(config)
    }

    /// Returns whether any rules depend on the caller's scopes.
    pub(crate) fn has_scopes(&self) -> bool {
        let of_servers = self.servers.values().flat_map(|server| [&server.tools, &server.prompts, &server.resources]);
        of_servers.chain([&self.tools, &self.prompts, &self.resources]).any(|rules| !rules.scopes.is_empty())
    }

    /// Checks what the types cannot express.
    ///
    /// # Errors
    ///
    /// Fails if values contradict each other.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.servers.is_empty() {
            return Err(contradiction("there is no server; add one as [servers.NAME]".to_owned()));
        }
        for (name, server) in &self.servers {
            if !is_server_name(name) {
                return Err(contradiction(format!(
                    "servers.{name}: the name of a server begins with a letter and has letters, digits and single hyphens"
                )));
            }
            server.check().map_err(|why| contradiction(format!("servers.{name}: {why}")))?;
        }
        let of_servers = self.servers.values().flat_map(|server| [&server.prompts, &server.resources]);
        let mut others = of_servers.chain([&self.prompts, &self.resources]);
        if others.any(|rules| rules.annotations != Annotations::default()) {
            return Err(contradiction("only `tools` can have `annotations`".to_owned()));
        }
        if self.authorization.is_none() && self.has_scopes() {
            return Err(contradiction(
                "rules with `scopes` need [authorization]: without it, callers have none".to_owned(),
            ));
        }
        match &self.http {
            Some(http) => check_listen(http.listen, self.authorization.is_some()),
            None if self.authorization.is_some() => {
                Err(contradiction("[authorization] needs [http]: standard input carries no access tokens".to_owned()))
            }
            _ => Ok(()),
        }
    }
}

/// Fails if other hosts could reach an address without authorization.
pub(crate) fn check_listen(address: SocketAddr, has_authorization: bool) -> Result<(), ConfigError> {
    match has_authorization || address.ip().is_loopback() {
        true => Ok(()),
        false => Err(contradiction(format!(
            "http.listen: {address} is reachable from other hosts; add [authorization], or listen on 127.0.0.1"
        ))),
    }
}

fn contradiction(why: String) -> ConfigError {
    ConfigError::Contradiction(why)
}

impl ServerConfig {
    /// Creates the configuration of a server that the gateway starts.
    #[must_use]
    pub fn of_command(command: impl Into<String>, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { command: Some(command.into()), args, ..Self::default() }
    }

    /// Creates the configuration of a server over HTTP.
    #[must_use]
    pub fn of_url(url: impl Into<String>) -> Self {
        Self { url: Some(url.into()), ..Self::default() }
    }

    /// Returns the settings that connections depend on: all but the rules.
    pub(crate) fn connection(&self) -> Self {
        let none = Rules::default;
        Self { tools: none(), prompts: none(), resources: none(), ..self.clone() }
    }

    fn check(&self) -> Result<(), &'static str> {
        match (&self.command, &self.url) {
            (None, None) => Err("write `command` or `url`"),
            (Some(_), Some(_)) => Err("write `command` or `url`, not both"),
            (Some(_), None) if !self.headers.is_empty() || self.oauth.is_some() => {
                Err("`headers` and `oauth` need `url`; pass secrets to a command in `env`")
            }
            (None, Some(_)) if !self.args.is_empty() || !self.env.is_empty() || self.cwd.is_some() => {
                Err("`args`, `env` and `cwd` need `command`")
            }
            _ => match &self.oauth {
                Some(OAuth { client_id, client_secret, issuer, .. })
                    if client_secret.is_some() && (client_id.is_none() || issuer.is_none()) =>
                {
                    Err("`oauth.client_secret` needs `client_id`, and the `issuer` that receives it")
                }
                _ => Ok(()),
            },
        }
    }

    /// Returns the settings, by name.
    fn settings(&mut self) -> impl Iterator<Item = (&str, &mut Setting)> {
        let secret = self.oauth.as_mut().and_then(|oauth| Some(("oauth.client_secret", oauth.client_secret.as_mut()?)));
        self.env.iter_mut().chain(&mut self.headers).map(|(name, value)| (&**name, value)).chain(secret)
    }
}

/// Refuses a secret that is written in the configuration itself.
fn check_secret(why: &str, value: &Setting) -> Result<(), ConfigError> {
    match value {
        Setting::Plain(_) => {
            Err(contradiction(format!("{why}; write {{ env = \"VARIABLE\" }} or {{ file = \"PATH\" }}")))
        }
        _ => Ok(()),
    }
}

/// Parts of the names of secrets, in lower case.
pub(crate) const SECRET_NAMES: [&str; 9] =
    ["password", "passwd", "secret", "token", "api_key", "api-key", "apikey", "authorization", "credential"];

/// Returns whether a setting or an argument with this name is likely a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// Returns whether a server with this name can lend it as a prefix to names and URI schemes.
fn is_server_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.split('-').all(|part| !part.is_empty() && part.chars().all(|it| it.is_ascii_alphanumeric()))
}

fn parse<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<T, ConfigError> {
    let text = fs::read_to_string(path).map_err(|source| ConfigError::Open { path: path.to_owned(), source })?;
    parse(&text).map_err(|why| ConfigError::Invalid { path: path.to_owned(), why })
}

/// Adds a suggestion to serde's message about an unknown key.
fn explain(message: &str) -> String {
    let message = message.trim_end();
    let names = |text: &str| -> Vec<String> { text.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let suggestion = message.split_once("unknown field").and_then(|(_, rest)| {
        let names = names(rest);
        let (unknown, known) = names.split_first()?;
        Some(did_you_mean(unknown, known.iter().map(String::as_str)))
    });
    message.to_owned() + &suggestion.unwrap_or_default()
}

/// A file of a desktop client. Other members, which are the client's own settings, are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DesktopFile {
    #[serde(alias = "servers")]
    mcp_servers: BTreeMap<String, DesktopServer>,
}

#[derive(Deserialize)]
struct DesktopServer {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
}

fn read_desktop_file(path: &Path) -> Result<Vec<(String, ServerConfig)>, ConfigError> {
    let file = parse(path, |text| serde_json::from_str::<DesktopFile>(text).map_err(|error| error.to_string()))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let servers = file.mcp_servers.into_iter().filter(|(_, server)| !server.disabled).map(|(name, server)| {
        let DesktopServer { command, args, env, cwd, url, headers, disabled: _ } = server;
        let text = |text: Option<String>| text.map(|text| expand(&text)).transpose();
        let settings = |values: BTreeMap<String, String>| {
            let expand = |(name, value): (String, String)| Ok((name, Setting::Plain(expand(&value)?)));
            values.into_iter().map(expand).collect::<Result<_, ConfigError>>()
        };
        let args = args.iter().map(|argument| expand(argument)).collect::<Result<_, _>>()?;
        let (command, url, cwd) = (text(command)?, text(url)?, text(cwd)?.map(|cwd| folder.join(cwd)));
        let (env, headers): (_, BTreeMap<_, _>) = (settings(env)?, settings(headers)?);
        // Desktop clients log a user in where a server asks for it.
        let oauth = (url.is_some() && headers.is_empty()).then(OAuth::default);
        let server = ServerConfig { command, args, env, cwd, url, headers, oauth, ..ServerConfig::default() };
        Ok((valid_name(&name), server))
    });
    let invalid = |why: ConfigError| ConfigError::Invalid { path: path.to_owned(), why: why.to_string() };
    servers.collect::<Result<_, _>>().map_err(invalid)
}

/// Replaces what the name of a server must not contain.
fn valid_name(name: &str) -> String {
    let parts = name.split(|it: char| !it.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let name = parts.collect::<Vec<_>>().join("-");
    if name.starts_with(|it: char| it.is_ascii_alphabetic()) { name } else { format!("server{name}") }
}

/// Replaces `${NAME}` and `${NAME:-DEFAULT}` with environment variables, as desktop clients do.
fn expand(text: &str) -> Result<String, ConfigError> {
    let (mut expanded, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((variable, after)) = after.split_once('}') else { break };
        let variable = variable.strip_prefix("env:").unwrap_or(variable);
        let (name, default) = variable.split_once(":-").map_or((variable, None), |(name, it)| (name, Some(it)));
        let value = env::var(name).ok().or_else(|| default.map(str::to_owned));
        expanded += before;
        expanded += &value.ok_or_else(|| ConfigError::NoVariable(name.to_owned()))?;
        rest = after;
    }
    Ok(expanded + rest)
}
