//! Connects a client over a transport.

use std::future::Future;
use std::io;
use std::sync::Arc;

use mcpgen_runtime::connection::{Connection, Limits};
use mcpgen_runtime::router::{RequestService, Router};
use mcpgen_runtime::transport::{Incoming, Outgoing};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::decoder::ResultDecoder;
use super::handle::Client;
use super::handshake::{ConnectOptions, HandshakeError, Start, negotiate};
use super::limits::{PageLimits, RoundLimits};
use super::tool_cache::ToolCache;
use crate::protocol::dual::DualProtocol;
use crate::protocol::modern::request_meta_object;
use crate::protocol::{Mcp, Role, RouterExt};
use crate::telemetry;

/// Connects to a server over a transport, in the best revision that both sides support.
///
/// `requests` handles the server's requests: the router, or the router wrapped in middleware. `handlers` is the router
/// itself, which also handles notifications. The client declares the capabilities that its handlers imply, in addition
/// to those in its local info.
///
/// # Errors
///
/// Fails if the server rejects the handshake, does not respond, or supports no revision that the client supports. The
/// connection is then closed.
pub async fn connect<S: RequestService>(
    options: impl Into<ConnectOptions>,
    requests: S,
    handlers: Router,
    incoming: impl Incoming,
    outgoing: impl Outgoing,
    limits: Limits,
) -> Result<Client<S>, HandshakeError> {
    let lifecycle = Lifecycle { start: Start::Streams, after: std::future::ready(()) };
    connect_with(options.into(), lifecycle, requests, handlers, incoming, outgoing, limits).await
}

pub(crate) struct Lifecycle<F> {
    pub(crate) start: Start,
    pub(crate) after: F,
}

pub(crate) async fn connect_with<S: RequestService, F: Future<Output = ()> + Send + 'static>(
    options: ConnectOptions,
    Lifecycle { start, after }: Lifecycle<F>,
    requests: S,
    handlers: Router,
    incoming: impl Incoming,
    outgoing: impl Outgoing,
    limits: Limits,
) -> Result<Client<S>, HandshakeError> {
    let handled = handlers.handled(Role::Client);
    let reading = options.result_rules.clone();
    let protocol = Arc::new(DualProtocol::new(Role::Client, options.local_info.clone(), handled.clone(), |modern| {
        modern.result_rules(reading)
    }));
    let tool_cache = Arc::<ToolCache>::default();
    let listed = Arc::clone(&tool_cache);
    let mcp = Mcp::new(protocol.clone()).on_list_changed(move |method| listed.list_changed(method));
    let observer = telemetry::observer(protocol.clone());
    let connection = Connection::new(handlers, mcp).service(requests.clone()).limits(limits).observer(observer);
    let peer = connection.peer().clone();
    let ended = CancellationToken::new();
    let at_end = ended.clone().drop_guard();
    let mut running = Running(Some(tokio::spawn(async move {
        let _at_end = at_end;
        let ended = connection.run(incoming, outgoing).await;
        after.await;
        ended
    })));
    let revision = negotiate(&peer, &protocol, &options, start).await.map_err(|error| match error {
        // A process transport explains its failures itself.
        HandshakeError::Call(error) if start == Start::Streams => peer.explain(error).into(),
        error => error,
    })?;
    let meta = request_meta_object(&options.local_info, &handled, revision).map_err(HandshakeError::LocalInfo)?;
    Ok(Client {
        connection: peer.disconnect_on_drop(),
        peer,
        round_limits: RoundLimits::default(),
        page_limits: PageLimits::default(),
        task: Arc::new(Mutex::new(running.0.take())),
        ended,
        revision,
        meta,
        requests,
        decoder: ResultDecoder::default(),
        validator: None,
        task_results: None,
        tool_cache,
        subscribed: Arc::default(),
    })
}

/// The connection's task during the handshake. Dropping it aborts the task, unless the handshake has succeeded.
struct Running(Option<JoinHandle<io::Result<()>>>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.abort();
        }
    }
}
