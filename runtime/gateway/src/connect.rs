//! Connects to the servers of the configuration.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use directories::ProjectDirs;
use http::{HeaderName, HeaderValue};
use mcpgen_auth::client::{Grant, Loopback, OAuthClient, OAuthOptions, RegisteredClient};
use mcpgen_auth::store::FileStore;
use mcpgen_bridge::catalog::{Items, Kind, Memory};
use mcpgen_sdk::http::client::{Authorize, ClientOptions, ConnectHttp};
use mcpgen_sdk::{CallError, Client, ClientBuilder};
use mcpgen_types::{JsonObject, Revision};
use parking_lot::Mutex;
use tokio::process::Command;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tower::BoxError;

use crate::call_log::shortened;
use crate::config::{OAuth, ServerConfig};

/// How long connecting may take by default. Package managers such as npx may download the server first.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest line of a server in the log, in bytes.
const MAX_LINE: usize = 4096;
/// How long a user has to log in.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(300);

/// A server of the configuration. A reload keeps it if its connection settings have not changed.
pub(crate) struct Upstream {
    pub(crate) name: Arc<str>,
    config: ServerConfig,
    /// The last list of each kind, which clients with equal lists share.
    lists: Mutex<[Weak<Items>; 4]>,
    /// The revision of the last connection.
    revision: Mutex<Option<Revision>>,
    /// Gets access tokens, for all clients.
    authorization: Mutex<Option<Arc<dyn Authorize>>>,
    /// Whether a user has been asked to log in.
    asks_for_login: Arc<AtomicBool>,
}

/// The tasks that end the processes of servers.
pub(crate) type Processes = TaskTracker;

impl Upstream {
    pub(crate) fn new(name: &str, config: ServerConfig) -> Self {
        let (lists, revision, authorization) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { name: name.into(), config, lists, revision, authorization, asks_for_login: Arc::default() }
    }

    /// Returns whether `config` has the same connection settings.
    pub(crate) fn is_connected_by(&self, config: &ServerConfig) -> bool {
        self.config.connection() == config.connection()
    }

    /// Stores a list, or returns the copy that another client already holds. Returns `None` if it exceeds the budget.
    pub(crate) fn share(&self, kind: Kind, items: Vec<JsonObject>, memory: &Arc<Memory>) -> Option<Arc<Items>> {
        let mut lists = self.lists.lock();
        let list = &mut lists[kind as usize];
        if let Some(known) = list.upgrade().filter(|known| known.items == items) {
            return Some(known);
        }
        let items = Items::new(items, memory)?;
        *list = Arc::downgrade(&items);
        Some(items)
    }

    /// Connects a client.
    pub(crate) async fn connect(&self, client: ClientBuilder, processes: &Processes) -> Result<Client, BoxError> {
        let limit = self.config.connect_timeout.map_or(CONNECT_TIMEOUT, Duration::from_secs);
        let known = *self.revision.lock();
        let client = client.options(|options| options.known_revision = known);
        let mut connecting = pin!(self.connect_with(client, processes));
        let connected = match timeout(limit, &mut connecting).await {
            Err(_) if self.asks_for_login.load(Ordering::Relaxed) => timeout(LOGIN_TIMEOUT, connecting).await,
            connected => connected,
        };
        let late = CallError::Timeout { request: "connecting".to_owned(), limit };
        let connected = connected.unwrap_or_else(|_| Err(late.into()));
        // Forgotten after a failure, because an upgraded server may have another revision.
        *self.revision.lock() = connected.as_ref().ok().map(Client::revision);
        connected
    }

    async fn connect_with(&self, client: ClientBuilder, processes: &Processes) -> Result<Client, BoxError> {
        let ServerConfig { command, args, env, cwd, url, headers, .. } = &self.config;
        if let Some(url) = url {
            let mut options = ClientOptions::default();
            for (name, value) in headers {
                let mut value = HeaderValue::from_str(&value.value()?)?;
                value.set_sensitive(true);
                options.headers.insert(HeaderName::from_bytes(name.as_bytes())?, value);
            }
            options.authorization = self.authorization(url)?;
            return Ok(client.connect_http(url, options).await?);
        }
        let mut process = Command::new(command.as_deref().ok_or("neither `command` nor `url`")?);
        process.args(args);
        for (name, value) in env {
            process.env(name, value.value()?);
        }
        if let Some(folder) = cwd {
            process.current_dir(folder);
        }
        let name = Arc::clone(&self.name);
        let client = client.process_tracker(processes.clone()).on_stderr(move |line| {
            tracing::info!(target: "mcpgen_gateway::stderr", "[{name}] {}", shortened(line, MAX_LINE));
        });
        Ok(client.connect_command(process).await?)
    }

    /// Returns the source of access tokens, if the configuration has one.
    fn authorization(&self, url: &str) -> Result<Option<Arc<dyn Authorize>>, BoxError> {
        let Some(oauth) = &self.config.oauth else { return Ok(None) };
        let mut shared = self.authorization.lock();
        if shared.is_none() {
            *shared = Some(authorization(&self.name, url, oauth, &self.asks_for_login)?);
        }
        Ok(shared.clone())
    }
}

fn authorization(
    server: &str,
    url: &str,
    oauth: &OAuth,
    asks_for_login: &Arc<AtomicBool>,
) -> Result<Arc<dyn Authorize>, BoxError> {
    const NAME: &str = "mcpgen-gateway";
    let OAuth { client_id, client_secret, issuer, scopes } = oauth;
    let client = client_id.as_ref().map(|id| match (client_secret, issuer) {
        (Some(secret), Some(issuer)) => Ok(RegisteredClient::with_secret(issuer, id, secret.value()?)),
        (_, Some(issuer)) => Ok(RegisteredClient::public(id).of_issuer(issuer)),
        (_, None) => Ok::<_, BoxError>(RegisteredClient::public(id)),
    });
    let mut options = OAuthOptions::new(NAME, Grant::ClientCredentials);
    (options.client, options.scopes) = (client.transpose()?, scopes.clone());
    if client_secret.is_none() {
        let folder = ProjectDirs::from("", "", NAME).map(|folders| folders.data_local_dir().to_owned());
        let folder = folder.filter(|folder| std::fs::create_dir_all(folder).is_ok());
        let note = if folder.is_some() { "" } else { " (after each start: there is no home directory for tokens)" };
        if let Some(folder) = folder {
            options.store = Arc::new(FileStore::new(folder.join("credentials.json")));
        }
        let (server, asks_for_login) = (server.to_owned(), Arc::clone(asks_for_login));
        options.grant = Grant::AuthorizationCode(Arc::new(Loopback::new(move |url| {
            asks_for_login.store(true, Ordering::Relaxed);
            tracing::warn!("[{server}] open this page to log in{note}: {url}");
            Ok(())
        })));
    }
    Ok(Arc::new(OAuthClient::new(url, options)?))
}
