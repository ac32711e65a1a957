//! The gateway, and changes to its configuration.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use mcpgen_sdk::jsonrpc::errors;
use mcpgen_sdk::protocol::config::ServerConfig as ProtocolConfig;
use mcpgen_sdk::protocol::info::LocalInfo;
use mcpgen_sdk::router::Router;
use parking_lot::Mutex;
use serde_json::json;

use crate::config::{Config, ConfigError, Http};
use crate::servers::{Servers, Stores};
use crate::sessions::Sessions;

/// The maximum number of clients on standard input and output. Each modern request names its client, so several can
/// share the connection.
const STDIO_CLIENTS: usize = 16;

/// A gateway. Clones share all state.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

struct Inner {
    ours: LocalInfo,
    stores: Option<Stores>,
    sessions: Arc<Sessions>,
    /// Held during a reload, so that only one runs at a time.
    reloading: Mutex<()>,
}

impl Gateway {
    /// Creates a gateway. Servers are connected when needed. Paths of the log and the pins are relative to `folder`.
    ///
    /// # Errors
    ///
    /// Fails if the configuration contradicts itself, the log of calls cannot be opened, or the pins cannot be read.
    pub fn new(config: Config, folder: &Path) -> Result<Self, ConfigError> {
        Self::with_stores(config, folder, None)
    }

    /// Creates a replica of a gateway. Any replica can receive a request over HTTP. It forwards those of a legacy
    /// session to the replica that holds the session's connections to the servers; if that replica ends, another one
    /// connects to the servers again. The call limit applies to all replicas together.
    ///
    /// # Errors
    ///
    /// Fails like [`new`](Self::new).
    pub fn with_stores(config: Config, folder: &Path, stores: Option<Stores>) -> Result<Self, ConfigError> {
        config.check()?;
        if stores.is_none() && config.http.as_ref().is_some_and(|http| http.redis.is_some()) {
            let why = "http.redis: this program does not support it; the command needs the feature `redis`".to_owned();
            return Err(ConfigError::Contradiction(why));
        }
        if stores.is_some() && config.has_scopes() {
            let why = "rules with `scopes` do not work with several replicas: a replica that gets a legacy request from \
                       another one does not know the caller's scopes";
            return Err(ConfigError::Contradiction(why.to_owned()));
        }
        let mut ours = LocalInfo::new("mcpgen-gateway", env!("CARGO_PKG_VERSION"))
            .capability("tools", json!({ "listChanged": true }))
            .capability("prompts", json!({ "listChanged": true }))
            .capability("resources", json!({ "listChanged": true, "subscribe": true }))
            .capability("completions", json!({}))
            .capability("logging", json!({}))
            // Only some tools run as tasks: each tool says whether it does.
            .capability("tasks", json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } }))
            .capability("extensions", json!({ "io.modelcontextprotocol/tasks": {} }));
        ours.instructions.clone_from(&config.instructions);
        let max = config.http.as_ref().map_or(STDIO_CLIENTS, Http::clients);
        let servers = Servers::new(config, folder, stores.as_ref(), None)?;
        let sessions = Sessions::new(ours.clone(), servers, max);
        Ok(Self(Arc::new(Inner { ours, stores, sessions, reloading: Mutex::default() })))
    }

    /// Changes the configuration. Calls in flight complete. Servers whose connection settings have not changed stay
    /// connected, others are connected again when needed, and clients are notified of changed lists. The pins and the
    /// log of calls are opened again. Call this in a tokio runtime.
    ///
    /// # Errors
    ///
    /// Fails, and changes nothing, like [`new`](Self::new), or if `[http]`, `[authorization]` or `memory` have changed:
    /// these need a restart. So do changed instructions, which are ignored.
    pub fn reload(&self, config: Config, folder: &Path) -> Result<(), ConfigError> {
        config.check()?;
        let _reloading = self.0.reloading.lock();
        let before = self.servers();
        let fixed = |config: &Config| (config.http.clone(), config.authorization.clone(), config.memory);
        if fixed(&config) != fixed(&before.config) {
            let why = "changes of [http], [authorization] and `memory` need a restart".to_owned();
            return Err(ConfigError::Contradiction(why));
        }
        let servers = Servers::new(config, folder, self.stores(), Some(&before))?;
        self.0.sessions.replace_servers(&servers);
        Ok(())
    }

    pub(crate) fn servers(&self) -> Arc<Servers> {
        self.0.sessions.servers()
    }

    pub(crate) fn stores(&self) -> Option<&Stores> {
        self.0.stores.as_ref()
    }

    /// Returns the number of clients that have connections to the servers.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.0.sessions.len()
    }

    /// Returns how many bytes of the budget [`Config::memory`] are in use.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.servers().memory.used()
    }

    /// Returns metrics in the text format of Prometheus: the number and duration of calls by server and outcome, the
    /// number of clients, and the size of the lists in bytes.
    #[must_use]
    pub fn metrics(&self) -> String {
        self.servers().metrics.text(&[
            ("mcpgen_gateway_clients", "Clients with connections to servers.", self.clients()),
            ("mcpgen_gateway_list_bytes", "Lists of servers that are held.", self.memory()),
        ])
    }

    pub(crate) fn end_sessions(&self) {
        self.0.sessions.clear();
    }

    /// Returns what the gateway declares to clients.
    #[must_use]
    pub fn protocol_config(&self) -> ProtocolConfig {
        let config = ProtocolConfig::from(self.0.ours.clone()).with_passes_log_level_on(true);
        config.with_result_types(vec!["task".to_owned()])
    }

    /// Returns the routes of the gateway, for a connection or an HTTP endpoint.
    #[must_use]
    pub fn router(&self) -> Router {
        let (requests, notifications) = (self.clone(), self.clone());
        Router::new()
            .fallback(move |request| {
                let gateway = requests.clone();
                async move {
                    let session = gateway.0.sessions.of(&request.context)?.ok_or_else(errors::internal)?;
                    session.request(request).await
                }
            })
            .notification_fallback(move |notification| {
                let gateway = notifications.clone();
                async move {
                    if let Ok(Some(session)) = gateway.0.sessions.of(&notification.context) {
                        session.notify(&notification).await;
                    }
                }
            })
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("servers", &self.servers().names).finish_non_exhaustive()
    }
}
