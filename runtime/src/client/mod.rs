//! Opening a connection, and what a client does with it.

mod builder;
#[cfg(feature = "stdio")]
mod command;
mod ease;

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;

use mcpgen_types::Revision;
use mcpgen_types::v2026_07_28::{RequestMetaObject, SubscriptionFilter};
use tokio::task::JoinHandle;

pub use builder::ClientBuilder;
#[cfg(feature = "http-client")]
pub use builder::ConnectError;
#[cfg(feature = "stdio")]
pub use command::CommandError;
pub use ease::Pages;
use ease::{Kept, OnRepair, Reader};

use crate::connection::{Connection, Limits};
use crate::era::Side;
use crate::eras::Eras;
use crate::input::{self, Interactive, Rounds};
use crate::introduction::Handled;
use crate::lenient::DecodePolicy;
use crate::modern::own_meta;
use crate::negotiation::{HandshakeError, Opening, Start, negotiate};
use crate::outbox::Closed;
use crate::peer::{CallError, Peer};
use crate::router::{Requests, Router};
use crate::subscriptions::Subscription;
use crate::transport::{Incoming, Outgoing};

/// A client whose connection is ready, and the task that runs it. Dropping it does not end the connection, see
/// [`close`](Self::close).
pub struct Client<S = Router> {
    /// The server.
    pub peer: Peer,
    /// Ends when the connection does.
    pub connection: JoinHandle<io::Result<()>>,
    /// How long it goes on where a request takes several rounds.
    pub rounds: Rounds,
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

impl<S: Requests> Client<S> {
    /// The revision that is spoken. Keep it for the next connection to the same server: [`Opening::known`].
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
    /// [`Peer::call`] makes one round of it, and [`input::again`] the params of the next one.
    ///
    /// # Errors
    ///
    /// [`Input`](CallError::Input) if the server asks for something that this client has not declared, or that is refused
    /// here; [`Invalid`](CallError::Invalid) if there is no end of it; and all others that a call has.
    pub async fn complete<R: Interactive>(&self, params: R::Params) -> Result<R::Complete, CallError> {
        input::complete::<R>(&self.peer, self.requests.clone(), self.rounds, params).await
    }

    /// Ends the connection: what was sent is still written, calls that wait end with an error.
    ///
    /// # Errors
    ///
    /// Reading or writing failed.
    pub async fn close(self) -> io::Result<()> {
        self.peer.disconnect();
        self.connection.await.map_err(io::Error::other)?
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

/// Opens a connection as its client, in the best revision that both sides speak. `requests` answers what the server asks,
/// and is a router or a router in layers of middleware; `handlers` is the router, which also takes the notifications. The
/// client is able to do what is handled, besides what it says that it is.
///
/// # Errors
///
/// The server refuses, is silent, or speaks no revision that we speak. The connection is closed then.
pub async fn connect<S: Requests>(
    opening: impl Into<Opening>,
    requests: S,
    handlers: Router,
    incoming: impl Incoming,
    outgoing: impl Outgoing,
    limits: Limits,
) -> Result<Client<S>, HandshakeError> {
    let lifecycle = Lifecycle { start: Start::Streams, after: std::future::ready(()) };
    connect_with(opening.into(), lifecycle, requests, handlers, incoming, outgoing, limits).await
}

/// How a connection begins, and what its task waits for after the end.
pub(crate) struct Lifecycle<F> {
    pub(crate) start: Start,
    pub(crate) after: F,
}

/// As [`connect`], with a lifecycle.
pub(crate) async fn connect_with<S: Requests, F: Future<Output = ()> + Send + 'static>(
    opening: Opening,
    Lifecycle { start, after }: Lifecycle<F>,
    requests: S,
    handlers: Router,
    incoming: impl Incoming,
    outgoing: impl Outgoing,
    limits: Limits,
) -> Result<Client<S>, HandshakeError> {
    let handled = Handled::by(&handlers, Side::Client);
    let reading = opening.reading.clone();
    let era = Arc::new(Eras::new(Side::Client, opening.ours.clone(), &handlers, |modern| modern.reading(reading)));
    let connection = Connection::new(requests.clone(), handlers, era.clone(), limits);
    let peer = connection.peer().clone();
    let kept = Arc::<Kept>::default();
    let changed = Arc::clone(&kept);
    peer.on_list_changed(move |method| changed.list_changed(method));
    let mut running = Running(Some(tokio::spawn(async move {
        let ended = connection.run(incoming, outgoing).await;
        after.await;
        ended
    })));
    let revision = negotiate(&peer, &era, &opening, start).await?;
    let meta = own_meta(&opening.ours, &handled, revision).map_err(HandshakeError::Introduction)?;
    let connection = running.0.take().ok_or(CallError::Closed(Closed))?;
    let Reader { policy, on_repair } = Reader::default();
    let rounds = Rounds::default();
    Ok(Client { peer, connection, rounds, revision, meta, requests, policy, on_repair, kept })
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
