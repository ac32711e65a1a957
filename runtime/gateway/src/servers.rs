//! The servers of a configuration, and which of their items callers see.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcpgen_bridge::catalog::{Entry, Kind, Memory};
use mcpgen_cluster::InMemoryRateLimiter;
use mcpgen_sdk::replicas::{RateLimiter, Replicas};
use mcpgen_types::JsonObject;

use crate::call_log::CallLog;
use crate::config::{Config, ConfigError, ServerConfig, WhenChanged};
use crate::connect::{Processes, Upstream};
use crate::metrics::Metrics;
use crate::pins::Pins;
use crate::policy::{Scopes, Subject};

/// The default budget of [`Config::memory`].
const MEMORY: usize = 256 << 20;
const MINUTE: Duration = Duration::from_secs(60);

/// What several replicas of a gateway share.
#[derive(Clone)]
pub struct Stores {
    /// The sessions of legacy clients.
    pub replicas: Replicas,
    /// Creates a limiter that allows a number of calls per minute.
    pub limiter: Arc<dyn Fn(u32) -> Arc<dyn RateLimiter> + Send + Sync>,
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stores").field("replicas", &self.replicas).finish_non_exhaustive()
    }
}

/// A configuration and everything derived from it. All clients share this.
pub(crate) struct Servers {
    pub(crate) config: Config,
    /// The names of the servers, sorted.
    pub(crate) names: Vec<String>,
    pub(crate) upstreams: Vec<Arc<Upstream>>,
    pub(crate) pins: Option<Arc<Pins>>,
    pub(crate) log: Option<CallLog>,
    pub(crate) limiter: Option<Arc<dyn RateLimiter>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) processes: Processes,
    pub(crate) memory: Arc<Memory>,
}

impl Servers {
    /// Creates the servers of a configuration. What has not changed is taken over from `before`.
    pub(crate) fn new(
        config: Config,
        folder: &Path,
        stores: Option<&Stores>,
        before: Option<&Self>,
    ) -> Result<Arc<Self>, ConfigError> {
        let upstream = |(name, server): (&String, &ServerConfig)| {
            let mut known = before.into_iter().flat_map(|before| &before.upstreams);
            let is_same = |known: &&Arc<Upstream>| *known.name == **name && known.is_connected_by(server);
            known.find(is_same).cloned().unwrap_or_else(|| Arc::new(Upstream::new(name, server.clone())))
        };
        let per_minute = config.calls.per_minute;
        let limiter = |calls| match stores {
            Some(stores) => (stores.limiter)(calls),
            None => Arc::new(InMemoryRateLimiter::new(calls, MINUTE)),
        };
        Ok(Arc::new(Self {
            names: config.servers.keys().cloned().collect(),
            upstreams: config.servers.iter().map(upstream).collect(),
            pins: config.pins.as_ref().map(|pins| Pins::read(pins, folder).map(Arc::new)).transpose()?,
            log: CallLog::open(&config.calls, folder)?,
            limiter: match before.filter(|before| before.config.calls.per_minute == per_minute) {
                Some(before) => before.limiter.clone(),
                None => per_minute.map(limiter),
            },
            metrics: before.map(|before| Arc::clone(&before.metrics)).unwrap_or_default(),
            processes: before.map(|before| before.processes.clone()).unwrap_or_default(),
            memory: match before {
                Some(before) => Arc::clone(&before.memory),
                None => Memory::new(config.memory.unwrap_or(MEMORY)),
            },
            config,
        }))
    }

    /// Returns what happens to tools that differ from their pins.
    pub(crate) fn when_changed(&self) -> Option<WhenChanged> {
        self.pins.as_ref().map(|pins| pins.when_changed)
    }

    /// Returns whether a caller may see an item, assuming that its server is available.
    pub(crate) fn permits(&self, kind: Kind, entry: &Entry, scopes: &Scopes) -> bool {
        let is_hidden = entry.finding.is_some() && self.when_changed() == Some(WhenChanged::Hide);
        !is_hidden && self.permits_key(kind, (entry.server, &entry.key), entry.item(), scopes)
    }

    /// Returns whether a caller may see a resource, even one that its server does not list.
    pub(crate) fn permits_uri(&self, resource: (usize, &str), scopes: &Scopes) -> bool {
        self.permits_key(Kind::Resource, resource, &JsonObject::new(), scopes)
    }

    /// `key` is the name or URI that the server uses. The rules for all servers are matched against it and against the
    /// form with a prefix, because the form that clients see depends on what other servers list.
    fn permits_key(&self, kind: Kind, (server, key): (usize, &str), item: &JsonObject, scopes: &Scopes) -> bool {
        let subject = if kind == Kind::Resource { Subject::uri } else { Subject::name };
        let (all, one) = (&self.config, &self.config.servers[&self.names[server]]);
        let (of_all, of_server) = match kind {
            Kind::Tool => (&all.tools, &one.tools),
            Kind::Prompt => (&all.prompts, &one.prompts),
            Kind::Resource | Kind::Template => (&all.resources, &one.resources),
        };
        let with_prefix = kind.with_prefix(&self.names[server], key);
        let names = [subject(&with_prefix), subject(key)];
        // A rule that allows `b__read` must not allow an item of `a` that calls itself `b__read`.
        let is_foreign = kind.split_prefix(&self.names, key).is_some_and(|(other, _)| other != server);
        let allowed = if is_foreign { &names[..1] } else { &names };
        of_all.allow(allowed)
            && of_all.permit(&names, item, scopes)
            && of_server.allow(&names[1..])
            && of_server.permit(&names[1..], item, scopes)
    }
}
