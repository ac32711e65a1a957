//! Clients: connecting to a server, and calling it.

mod builder;
pub mod cache;
#[cfg(feature = "stdio")]
mod command;
pub mod handshake;
pub mod lenient;
mod methods;
pub mod mrtr;
pub mod subscription;

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;

use mcpgen_types::Revision;
use mcpgen_types::v2026_07_28::{RequestMetaObject, SubscriptionFilter};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use builder::ClientBuilder;
#[cfg(feature = "http-client")]
pub use builder::ConnectError;
#[cfg(feature = "stdio")]
pub use command::CommandError;
use methods::{Kept, OnRepair, Reader};
pub use methods::{PageLimits, Pages};

use crate::client::handshake::{ConnectOptions, HandshakeError, Start, negotiate};
use crate::client::lenient::DecodePolicy;
use crate::client::mrtr::{MultiRoundTrip, Rounds};
use crate::client::subscription::Subscription;
use crate::connection::{Connection, Limits};
use crate::peer::{CallError, Peer};
use crate::protocol::Role;
use crate::protocol::dual::DualProtocol;
use crate::protocol::modern::own_meta;
use crate::service::router::{RequestService, Router};
use crate::transport::{Incoming, Outgoing};

/// A client that is connected to a server.
///
/// Dropping the client ends the connection in the background, like [`close`](Self::close): queued messages are still
/// written, an HTTP session is ended, and the pipes of a child process are closed. Clones of the [`peer`](Self::peer)
/// and the client's subscriptions are disconnected. To keep the connection open, use [`into_peer`](Self::into_peer).
pub struct Client<S = Router> {
    /// The server.
    pub peer: Peer,
    /// The limits of multi-round requests.
    pub rounds: Rounds,
    /// The limits of reading a list.
    pub page_limits: PageLimits,
    /// The task that runs the connection; `None` once the client was closed or converted into a peer.
    connection: Option<JoinHandle<io::Result<()>>>,
    /// Cancelled when the connection has ended.
    ended: CancellationToken,
    revision: Revision,
    meta: RequestMetaObject,
    requests: S,
    /// How the client's methods decode results: see [`ClientBuilder::lenient`].
    policy: DecodePolicy,
    on_repair: OnRepair,
    kept: Arc<Kept>,
}

impl<S> fmt::Debug for Client<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("peer", &self.peer).field("revision", &self.revision).finish_non_exhaustive()
    }
}

impl<S: RequestService> Client<S> {
    /// Returns the revision of the connection. Store it for the next connection to the same server:
    /// [`ConnectOptions::known`].
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the metadata that every request of revision 2026-07-28 carries, for the params of typed calls. Members
    /// that a call leaves out are added when it is sent.
    pub fn meta(&self) -> RequestMetaObject {
        self.meta.clone()
    }

    /// Sends a request that may take multiple rounds. The client's handlers handle the input requests in each result,
    /// and the client sends the request again with their results until the server returns the final result.
    ///
    /// To control each round, use [`Peer::call`], and [`mrtr::again`] for the params of the next round.
    ///
    /// # Errors
    ///
    /// - [`Input`](CallError::Input) if the server asks for input that the client has not declared, or a handler fails.
    /// - [`Invalid`](CallError::Invalid) if the request exceeds the limits in [`rounds`](Self::rounds).
    /// - Any other [`CallError`] if a call fails.
    pub async fn complete<R: MultiRoundTrip>(&self, params: R::Params) -> Result<R::Complete, CallError> {
        mrtr::complete::<R>(&self.peer, self.requests.clone(), self.rounds, params).await
    }

    /// Ends the connection and waits until it has ended. Queued messages are still written, and pending calls fail.
    ///
    /// # Errors
    ///
    /// Reading or writing failed, during this call or before it.
    pub async fn close(mut self) -> io::Result<()> {
        self.peer.disconnect();
        match self.connection.take() {
            Some(connection) => connection.await.map_err(io::Error::other)?,
            None => Ok(()),
        }
    }

    /// Waits until the server or [`Peer::disconnect`] ends the connection. Call [`close`](Self::close) afterwards to
    /// get the reason.
    ///
    /// ```
    /// # use mcpgen_runtime::{Client, Server, serve, transport};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let (here, there) = transport::duplex();
    /// # let serving = tokio::spawn(serve(Server::builder("server", "1").build(), there));
    /// # let client = Client::builder("visitor", "1.0.0").connect(here.0, here.1).await?;
    /// # serving.abort();
    /// client.closed().await;
    /// match client.close().await {
    ///     Ok(()) => println!("the server has closed the connection"),
    ///     Err(error) => println!("the connection broke: {error}"),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn closed(&self) {
        self.ended.cancelled().await;
    }

    /// Converts the client into its peer, for example for [`follow`](crate::client::subscription::follow). The
    /// connection stays open until the server ends it or [`Peer::disconnect`] is called. Dropping the peer does not end
    /// it.
    #[must_use = "only the peer can end the connection"]
    pub fn into_peer(mut self) -> Peer {
        self.connection.take();
        self.peer.clone()
    }

    /// Subscribes to changes (2026-07-28).
    ///
    /// # Errors
    ///
    /// The call fails.
    pub async fn listen(&self, filter: SubscriptionFilter) -> Result<Subscription, CallError> {
        Subscription::open(&self.peer, filter).await
    }
}

impl<S> Drop for Client<S> {
    fn drop(&mut self) {
        if self.connection.is_some() {
            self.peer.disconnect();
        }
    }
}

/// Connects to a server over a transport, in the best revision that both the client and the server support.
///
/// `requests` handles the server's requests: a router, or a router wrapped in layers of middleware. `handlers` is the
/// router, which also handles notifications. The client declares the capabilities that follow from its handlers, in
/// addition to those in its local info.
///
/// # Errors
///
/// The server rejects the handshake, does not respond, or supports no revision that the client supports. The connection
/// is closed then.
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

/// How a connection starts, and a future that its task awaits after the connection has ended.
pub(crate) struct Lifecycle<F> {
    pub(crate) start: Start,
    pub(crate) after: F,
}

/// Like [`connect`], but with a lifecycle.
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
    let reading = options.reading.clone();
    let protocol = Arc::new(DualProtocol::new(Role::Client, options.ours.clone(), handled.clone(), |modern| {
        modern.reading(reading)
    }));
    let connection = Connection::new(requests.clone(), handlers, protocol.clone(), limits);
    let peer = connection.peer().clone();
    let kept = Arc::<Kept>::default();
    let changed = Arc::clone(&kept);
    peer.on_list_changed(move |method| changed.list_changed(method));
    let ended = CancellationToken::new();
    let at_end = ended.clone().drop_guard();
    let mut running = Running(Some(tokio::spawn(async move {
        let _at_end = at_end;
        let ended = connection.run(incoming, outgoing).await;
        after.await;
        ended
    })));
    let revision = negotiate(&peer, &protocol, &options, start).await?;
    let meta = own_meta(&options.ours, &handled, revision).map_err(HandshakeError::LocalInfo)?;
    let Reader { policy, on_repair } = Reader::default();
    Ok(Client {
        peer,
        rounds: Rounds::default(),
        page_limits: PageLimits::default(),
        connection: running.0.take(),
        ended,
        revision,
        meta,
        requests,
        policy,
        on_repair,
        kept,
    })
}

/// The task of a connection during the handshake. Dropping it aborts the task, unless the handshake has succeeded.
struct Running(Option<JoinHandle<io::Result<()>>>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.abort();
        }
    }
}
