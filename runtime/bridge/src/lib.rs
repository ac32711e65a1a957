//! A bridge between a client of any revision and a server of any other.
//!
//! ```no_run
//! use mcpgen_bridge::Bridge;
//! # use mcpgen_sdk::transport;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let (client_side, _) = transport::duplex();
//! # let (server_side, _) = transport::duplex();
//! // Connects to the server when the client sends its first request.
//! let bridge = Bridge::new();
//! bridge.run(client_side, |builder| builder.connect(server_side.0, server_side.1)).await?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The bridge is a server for the client and a client for the server. Each side negotiates its own revision. The bridge
//! converts params, results and notifications with the tables of `mcpgen_types::convert`. What the other revision does
//! not support is left out if it is optional, and logged with its path at level debug. Otherwise the request fails with
//! an error that names the path and the revision.
//!
//! Where the revisions differ in more than types, the bridge translates:
//!
//! * **Requests of the server** (sampling, elicitation, roots). A legacy server sends requests; a modern one asks for
//!   input in its results. For a legacy client of a modern server, the bridge sends requests and repeats the call with
//!   the responses. For a modern client of a legacy server, the bridge keeps the call open, returns an input request as
//!   its result, and continues when the client repeats the call. A legacy server does not name the call for which it
//!   needs input; the bridge uses the newest one.
//! * **Subscriptions**: `resources/subscribe` of legacy revisions and `subscriptions/listen` of modern ones.
//! * **Log levels**: `logging/setLevel` of legacy revisions and the level in each request of modern ones.
//! * **Error codes** for unknown resources.
//!
//! The server gets the name and the capabilities of the client, and the client those of the server.
//!
//! # Tasks
//!
//! A client and a server that both have the tasks of 2025-11-25, or both have the extension of 2026-07-28, use them as
//! if there were no bridge. Between different kinds, the bridge declares no tasks, and a call waits for its result.
//! If a tool runs only as a task, the bridge runs it as one, and waits for the result. A client of 2026-07-28
//! without the extension gets the error of a server of 2026-07-28 instead.
//!
//! # Several servers
//!
//! A gateway has one [`ServerLink`] for each server of a client, and one [`Downstream`] for the client. A link opens
//! the connection, a [`Relay`], and reopens it whenever it ends. The gateway itself decides which relay gets a
//! request. With [`Downstream::set_names_tasks`], task IDs name their server, so a gateway needs no state to find it.
//! The crate `mcpgen-gateway` is such a gateway.
//!
//! # Files
//!
//! `greeting` reads the client's first message, and `downstream` is the client. `relay` sends its requests to a server,
//! `calls` tracks the calls in flight, `inputs` sends the server's requests to the client, `changes` relays
//! notifications, and `subscriptions` holds the resources to which a client has subscribed. `tasks` relays tasks,
//! `task_ids` finds their IDs in messages, and `capabilities` declares them. `connect` connects a relay, `list` reads
//! the lists of its server, and `reason` says what a client may know about a failure. A `link` reconnects a relay, and
//! `catalog` holds what several servers list.

mod calls;
mod capabilities;
pub mod catalog;
mod changes;
mod connect;
mod downstream;
mod greeting;
mod inputs;
mod link;
mod list;
mod reason;
mod relay;
mod subscriptions;
mod task_ids;
mod tasks;

use std::future::Future;
use std::io;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use mcpgen_mcp::client::{Client, ClientBuilder};
use mcpgen_mcp::protocol::config::ServerConfig;
use mcpgen_mcp::protocol::info::{LocalInfo, PeerInfo};
use mcpgen_mcp::protocol::methods::may_run_as_task;
use mcpgen_mcp::protocol::{PeerExt, Role, RouterExt, TYPES};
use mcpgen_mcp::telemetry::connection;
use mcpgen_runtime::connection::{Connection, Limits};
use mcpgen_runtime::protocol::{Admission, Notice, Protocol, Received};
use mcpgen_runtime::router::Router;
use mcpgen_runtime::transport::{Inbound, Incoming, Outgoing};
use mcpgen_runtime::util::error_chain;
use mcpgen_types::v2026_07_28::CallToolRequest;
use mcpgen_types::{ErrorCode, ErrorObject, JsonObject, MethodSpec, Request};
use tokio::sync::watch;
use tower::BoxError;

use self::capabilities::{TASK_RESULT, without_task_extension};
use self::connect::builder;
pub use self::downstream::{Downstream, listen_params};
pub use self::greeting::Greeting;
pub use self::link::{Connector, LinkDown, LinkEvent, OnLinkEvent, ServerLink};
pub use self::reason::short_reason;
pub use self::relay::{OnChange, Relay, RelayOptions};
pub use self::subscriptions::{ResourceSubscriptions, Subscribed, Subscription, Watch};
pub use self::task_ids::server_of_task;
pub use self::tasks::{SeenResult, SubscribedTasks, list_tasks, replace_result};

/// A bridge between a client and a server of different revisions.
#[derive(Clone, Debug, Default)]
#[must_use = "it does nothing before `run` is called"]
pub struct Bridge {
    limits: Limits,
}

/// The reason why a bridge failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// The bridge could not connect to the server.
    #[error("cannot connect to the server")]
    Connect(#[source] BoxError),
    /// Reading from the client or writing to it failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The connection to the server failed, for example because its process exited.
    #[error("the connection to the server failed")]
    Server(#[source] io::Error),
}

impl Bridge {
    /// Creates a bridge.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the limits of both connections.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Serves one client until it closes the connection, or the server does.
    ///
    /// Calls `connect` when the client has sent its first request, with a builder that has the client's name and
    /// capabilities. Connect it with [`ClientBuilder::connect`], `ConnectHttp::connect_http` or
    /// [`ClientBuilder::connect_command`].
    ///
    /// # Errors
    ///
    /// Fails if `connect` fails, if reading from the client or writing to it fails, or if the connection to the server
    /// fails.
    pub async fn run<C, F, E>(self, client: (impl Incoming, impl Outgoing), connect: C) -> Result<(), BridgeError>
    where
        C: FnOnce(ClientBuilder) -> F,
        F: Future<Output = Result<Client, E>>,
        E: Into<BoxError>,
    {
        let (incoming, outgoing) = client;
        let mut incoming = Box::pin(incoming);
        let Some((greeting, first)) = Greeting::read(&mut incoming).await? else { return Ok(()) };
        let (slot, connected) = watch::channel(None);
        let builder = builder(&greeting, &connected).limits(self.limits.clone());
        let server = match connect(builder).await {
            Ok(server) => server,
            Err(error) => {
                let error = BridgeError::Connect(error.into());
                refuse(&error, first, outgoing, self.limits).await;
                return Err(error);
            }
        };
        let ended = server.clone();
        let config = config(&server, &greeting);
        let downstream = Downstream::new(&config, greeting);
        let relay = Arc::new(Relay::new(server, Arc::clone(&downstream), RelayOptions::default()));
        let router = relay.router();
        // A result can be a task.
        let protocol = ServerConfig::from(config)
            .with_result_types(vec![TASK_RESULT.to_owned()])
            .protocol(&router.handled(Role::Server));
        // The connection to the server has declared this client's capabilities, so they cannot change.
        let protocol = protocol.pass_log_level_on().initialize_once();
        let connection = connection(router.clone(), router, Arc::new(protocol), self.limits);
        let client = connection.peer().clone();
        downstream.connected(client.clone());
        // Messages of the server wait until here. The router of the server's connection must not keep the relay alive,
        // because the relay holds that connection.
        slot.send_replace(Some(Arc::downgrade(&relay)));
        relay.start().await;
        let messages = stream::iter(first.into_iter().map(Ok)).chain(incoming);
        let result = tokio::select! {
            result = connection.run(messages, outgoing) => result,
            () = async {
                // The client has no other server.
                ended.closed().await;
                client.disconnect();
                std::future::pending().await
            } => Ok(()),
        };
        let closed = ended.close().await;
        result?;
        closed.map_err(BridgeError::Server)
    }
}

/// Responds to the client's requests with the reason why the bridge has no server.
async fn refuse(why: &BridgeError, requests: Vec<Inbound>, outgoing: impl Outgoing, limits: Limits) {
    let refusal = Refusal(ErrorObject::new(ErrorCode::INTERNAL_ERROR, error_chain(why)));
    let requests = stream::iter(requests.into_iter().map(Ok));
    if let Err(error) = Connection::new(Router::new(), refusal).limits(limits).run(requests, outgoing).await {
        tracing::debug!(%error, "the client did not read why the bridge has no server");
    }
}

/// A protocol without methods: every request fails with this error.
struct Refusal(ErrorObject);

impl Protocol for Refusal {
    type Scope = ();

    fn admit(&self, _: &Received<'_>) -> Result<Admission<()>, ErrorObject> {
        Err(self.0.clone())
    }

    fn classify(&self, _: &Received<'_>) -> Option<Notice<()>> {
        None
    }
}

/// Returns what the bridge declares to the client: what the server has declared.
fn config(server: &Client, greeting: &Greeting) -> LocalInfo {
    let peer_info = server.peer().peer_info();
    let mut local_info = LocalInfo::new("bridge", env!("CARGO_PKG_VERSION"));
    let Some(PeerInfo { revision, capabilities, implementation, instructions, .. }) = peer_info.as_deref() else {
        return local_info;
    };
    local_info.capabilities = capabilities.clone();
    // Declare tasks only if both sides have the same kind.
    if revision.is_legacy() || greeting.is_legacy {
        local_info.capabilities = without_task_extension(local_info.capabilities);
    }
    if !greeting.is_legacy || !may_run_as_task(*revision, CallToolRequest::METHOD) {
        local_info.capabilities.remove("tasks");
    }
    // For some methods, this revision requires no capability, although others do.
    let is_free = |spec: &&MethodSpec| spec.is_request && spec.sent_by_client && spec.capability.is_empty();
    for free in revision.methods().iter().filter(is_free) {
        if let Some([capability, ..]) = TYPES.method(free.method).map(|spec| spec.capability) {
            local_info.capabilities.insert_if_absent(capability, JsonObject::new());
        }
    }
    if !implementation.is_empty() {
        local_info.implementation.clone_from(implementation);
    }
    local_info.instructions.clone_from(instructions);
    local_info
}
