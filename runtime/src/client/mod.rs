//! Opening a connection, and what a client does with it.

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

/// A client whose connection is ready.
///
/// Dropping it ends the connection in the background, as [`close`](Self::close) does: messages that were sent are still
/// written, an HTTP session is ended, and the pipes of a child process are closed. Clones of its [`peer`](Self::peer) and
/// its subscriptions are disconnected. [`into_peer`](Self::into_peer) keeps the connection open instead.
pub struct Client<S = Router> {
    /// The server.
    pub peer: Peer,
    /// How long it goes on where a request takes several rounds.
    pub rounds: Rounds,
    /// How much it reads of a list.
    pub page_limits: PageLimits,
    /// The task that runs the connection; `None` once the client has given it away.
    connection: Option<JoinHandle<io::Result<()>>>,
    /// Cancelled when that task has ended.
    ended: CancellationToken,
    revision: Revision,
    meta: RequestMetaObject,
    requests: S,
    /// How results are read where this reads them: see [`ClientBuilder::lenient`].
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
    /// The revision that is spoken. Keep it for the next connection to the same server: [`ConnectOptions::known`].
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// What every request of revision 2026-07-28 says of its maker, for the params of typed calls. A call that says less
    /// says the rest by itself.
    pub fn meta(&self) -> RequestMetaObject {
        self.meta.clone()
    }

    /// Makes a request that may take several rounds: whatever the server asks for is answered by what answers requests
    /// here, and the request is made again, until it is answered.
    ///
    /// [`Peer::call`] makes one round of it, and [`mrtr::again`] the params of the next one.
    ///
    /// # Errors
    ///
    /// [`Input`](CallError::Input) if the server asks for something that this client has not declared, or that is refused
    /// here; [`Invalid`](CallError::Invalid) if there is no end of it; and all others that a call has.
    pub async fn complete<R: MultiRoundTrip>(&self, params: R::Params) -> Result<R::Complete, CallError> {
        mrtr::complete::<R>(&self.peer, self.requests.clone(), self.rounds, params).await
    }

    /// Ends the connection and waits until it has ended: what was sent is still written, calls that wait end with an error.
    ///
    /// # Errors
    ///
    /// Reading or writing failed, now or before this call.
    pub async fn close(mut self) -> io::Result<()> {
        self.peer.disconnect();
        match self.connection.take() {
            Some(connection) => connection.await.map_err(io::Error::other)?,
            None => Ok(()),
        }
    }

    /// Waits until the connection has ended, by the server or by [`Peer::disconnect`]. [`close`](Self::close) returns the
    /// reason afterwards.
    ///
    /// ```
    /// # use mcpgen_runtime::{Client, Limits, Server, transport};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let (here, there) = transport::duplex();
    /// # let serving = tokio::spawn(async move { Server::new("server", "1").serve(there.0, there.1, Limits::default()).await });
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

    /// The server alone, for instance for [`follow`](crate::client::subscription::follow). The connection stays open until the
    /// server ends it or [`Peer::disconnect`] is called; dropping the peer does not end it.
    #[must_use = "only the peer can end the connection"]
    pub fn into_peer(mut self) -> Peer {
        self.connection.take();
        self.peer.clone()
    }

    /// Subscribes to changes (2026-07-28).
    ///
    /// # Errors
    ///
    /// Those of a call.
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

/// Opens a connection as its client, in the best revision that both sides speak. `requests` answers what the server asks,
/// and is a router or a router in layers of middleware; `handlers` is the router, which also takes the notifications. The
/// client is able to do what is handled, besides what it says that it is.
///
/// # Errors
///
/// The server refuses, is silent, or speaks no revision that we speak. The connection is closed then.
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

/// How a connection begins, and what its task waits for after the end.
pub(crate) struct Lifecycle<F> {
    pub(crate) start: Start,
    pub(crate) after: F,
}

/// As [`connect`], with a lifecycle.
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

/// A connection that ends with the handshake, unless that was a success.
struct Running(Option<JoinHandle<io::Result<()>>>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.abort();
        }
    }
}
