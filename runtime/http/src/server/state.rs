//! State shared by all requests to an endpoint.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use http::StatusCode;
use http::request::Parts;
use mcpgen_mcp::protocol::methods;
use mcpgen_runtime::router::Router;
use mcpgen_runtime::transport::Inbound;
use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::body_reader::BodyReader;
use super::budget::{Budget, Charge};
use super::current_config::CurrentConfig;
use super::homes::Homes;
use super::options::EndpointOptions;
use super::permit::Limiter;
use super::refusal::Refusal;
use super::registry::Registry;
use super::session::{Session, SessionGuard};

pub(super) struct EndpointState {
    pub(super) handlers: Router,
    pub(super) config: CurrentConfig,
    pub(super) options: EndpointOptions,
    pub(super) keeps_sessions: bool,
    pub(super) speaks_modern: bool,
    pub(super) sessions: Mutex<Registry>,
    pub(super) bodies: BodyReader,
    pub(super) limiter: Limiter,
    pub(super) message_memory: Arc<Budget>,
    pub(super) session_memory: Arc<Budget>,
    pub(super) closing: CancellationToken,
    pub(super) tasks: TaskTracker,
    pub(super) homes: Homes,
    /// Sessions being located or restored, so that two requests do not restore the same one.
    pub(super) restoring: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    /// The service for forwarded requests. The stores refer to it weakly, because it may own them.
    pub(super) forwarded: OnceLock<Arc<dyn Any + Send + Sync>>,
}

/// The minimum that a message is charged, in bytes: roughly what its tasks take.
const MESSAGE_COST: usize = 16 << 10;

/// The head of an HTTP request, and its owner if it has one; see [`EndpointOptions::owner`].
pub(super) struct Caller {
    pub(super) parts: Parts,
    pub(super) owner: Option<Arc<str>>,
    /// Whether another replica forwarded the request.
    pub(super) is_forwarded: bool,
}

pub(super) enum Found {
    Here(SessionGuard),
    At(RemoteHome),
}

/// The replica that runs a session.
pub(super) struct RemoteHome {
    pub(super) session: String,
    pub(super) replica: Arc<str>,
    /// Whether `replica` comes from the cache, and so may no longer run the session.
    pub(super) is_remembered: bool,
}

impl EndpointState {
    pub(super) fn sessions(&self) -> MutexGuard<'_, Registry> {
        self.sessions.lock()
    }

    pub(super) fn check_open(&self) -> Result<(), Refusal> {
        match self.closing.is_cancelled() {
            true => Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down")),
            false => Ok(()),
        }
    }

    /// Parses a message, and charges the memory that handling it takes.
    pub(super) fn charge(&self, inbound: &mut Inbound, owner: Option<&Arc<str>>) -> Result<Arc<Charge>, Refusal> {
        // A body that is not JSON takes no memory, and is refused later.
        let _ = inbound.document();
        let memory = inbound.memory(&methods::free_form).total().max(MESSAGE_COST);
        let charge = self.message_memory.charge(owner, memory);
        charge.map(Arc::new).map_err(|exceeded| self.message_memory.refusal(exceeded))
    }

    /// Creates the charge of an HTTP request without a message.
    pub(super) fn no_message(&self, caller: &Caller) -> Arc<Charge> {
        Arc::new(self.message_memory.charge_existing(caller.owner.as_ref(), 0))
    }

    /// Finds a session of this process. It cannot be evicted until the guard is dropped.
    pub(super) fn session(&self, id: &str) -> Option<SessionGuard> {
        let sessions = self.sessions();
        let session = sessions.get(id).filter(|session| !session.has_ended())?;
        Some(SessionGuard::new(session))
    }
}

pub(super) struct RegistryGuard {
    pub(super) shared: Arc<EndpointState>,
    pub(super) session: Arc<Session>,
    /// Counts the session in the metrics.
    pub(super) _counted: Option<Box<dyn Any + Send + Sync>>,
}

impl Drop for RegistryGuard {
    fn drop(&mut self) {
        self.shared.sessions().remove(&self.session.id);
        self.shared.remove_ended(&self.session);
    }
}
