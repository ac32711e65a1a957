//! The client: a handle to its connection.

use std::fmt;
use std::io;
use std::sync::Arc;

use mcpgen_types::codec::Decode;
use mcpgen_types::v2026_07_28::{RequestMetaObject, SubscriptionFilter};
use mcpgen_types::{JsonObject, RawJson, Revision};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::decoder::ResultDecoder;
use super::limits::{PageLimits, RoundLimits};
use super::mrtr::{self, MultiRoundTrip};
use super::subscription::Subscription;
use super::tool_cache::ToolCache;
use crate::peer::{CallError, Peer};
use crate::service::router::{RequestService, Router};

/// A client that is connected to a server.
///
/// Dropping the client ends the connection in the background, like [`close`](Self::close): queued messages are still
/// written, an HTTP session is ended, and the pipes of a child process are closed. Clones of the [`peer`](Self::peer)
/// and the client's subscriptions are disconnected. To keep the connection open, use [`into_peer`](Self::into_peer).
pub struct Client<S = Router> {
    /// The server.
    pub peer: Peer,
    /// The limits of multi-round requests.
    pub round_limits: RoundLimits,
    /// The limits of reading a list.
    pub page_limits: PageLimits,
    /// The task that runs the connection; `None` once the client was closed or converted into a peer.
    pub(super) connection: Option<JoinHandle<io::Result<()>>>,
    /// Cancelled when the connection has ended.
    pub(super) ended: CancellationToken,
    pub(super) revision: Revision,
    pub(super) meta: RequestMetaObject,
    pub(super) requests: S,
    pub(super) decoder: ResultDecoder,
    pub(super) tool_cache: Arc<ToolCache>,
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
    /// - [`Invalid`](CallError::Invalid) if the request exceeds the limits in [`round_limits`](Self::round_limits).
    /// - Any other [`CallError`] if a call fails.
    pub async fn complete<R: MultiRoundTrip>(&self, params: R::Params) -> Result<R::Complete, CallError> {
        mrtr::complete::<R>(&self.peer, self.requests.clone(), self.round_limits, params).await
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

    /// Sends a request and returns its result.
    pub(super) async fn raw_call(&self, method: &str, params: JsonObject) -> Result<RawJson, CallError> {
        self.peer.raw_request(method, Some(RawJson::from(&params))).await
    }

    /// Decodes a result of the connection's revision as a type of the newest one.
    pub(super) fn decode<T: Decode>(&self, method: &str, result: &RawJson) -> Result<T, CallError> {
        self.decoder.decode(self.revision, method, result)
    }
}

impl<S> Drop for Client<S> {
    fn drop(&mut self) {
        if self.connection.is_some() {
            self.peer.disconnect();
        }
    }
}
