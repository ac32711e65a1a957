//! The client, a handle to its connection.

use std::sync::Arc;
use std::{fmt, io};

use mcpgen_runtime::peer::{CallError, DisconnectOnDrop, Peer};
use mcpgen_runtime::router::{RequestService, Router};
use mcpgen_types::codec::Decode;
use mcpgen_types::v2026_07_28::RequestMetaObject;
use mcpgen_types::{Json, JsonObject, Revision};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::decoder::ResultDecoder;
use super::limits::{PageLimits, RoundLimits};
use super::mrtr::{self, MultiRoundTrip};
use super::subscribed::{SessionState, SubscribedUris};
use super::task_results::TaskResults;
use super::tool_cache::ToolCache;
use crate::protocol::TYPES;
use crate::protocol::conversion::Revisions;
use crate::validation::Validator;

/// A client that is connected to a server. Clones are handles to the same connection.
///
/// Dropping the last clone ends the connection in the background, like [`close`](Self::close): queued messages are
/// still written, an HTTP session is ended, and a child process is stopped. Clones of the [`peer`](Self::peer) and the
/// client's subscriptions are disconnected. To keep the connection open without a client, use
/// [`into_peer`](Self::into_peer).
#[derive(Clone)]
pub struct Client<S = Router> {
    pub(super) peer: Peer,
    pub(super) round_limits: RoundLimits,
    pub(super) page_limits: PageLimits,
    pub(super) connection: Arc<DisconnectOnDrop>,
    /// The task that runs the connection. `None` once a clone was closed.
    pub(super) task: Arc<Mutex<Option<JoinHandle<io::Result<()>>>>>,
    pub(super) ended: CancellationToken,
    pub(super) revision: Revision,
    pub(super) meta: RequestMetaObject,
    pub(super) requests: S,
    pub(super) decoder: ResultDecoder,
    pub(super) validator: Option<Arc<dyn Validator>>,
    /// Awaits calls that run as tasks. `None` if calls cannot run as tasks.
    pub(super) task_results: Option<Arc<dyn TaskResults>>,
    pub(super) tool_cache: Arc<ToolCache>,
    /// Resources that [`changes`](Self::changes) has subscribed to, in legacy revisions.
    pub(super) subscribed: SubscribedUris,
}

impl<S> fmt::Debug for Client<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("peer", &self.peer).field("revision", &self.revision).finish_non_exhaustive()
    }
}

impl<S: RequestService> Client<S> {
    /// Returns the server, for messages that the client has no method for.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Limits requests that take multiple rounds.
    #[must_use]
    pub fn with_round_limits(mut self, limits: RoundLimits) -> Self {
        self.round_limits = limits;
        self
    }

    /// Limits how much of a list is read.
    #[must_use]
    pub fn with_page_limits(mut self, limits: PageLimits) -> Self {
        self.page_limits = limits;
        self
    }

    /// Returns the negotiated revision. Store it, and pass it as
    /// [`ConnectOptions::known_revision`](crate::client::handshake::ConnectOptions::known_revision) when you connect to
    /// the same server again.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the state to restore if the server loses the session, for transports that then begin a new one.
    #[must_use]
    pub fn session_state(&self) -> SessionState {
        SessionState::new(&self.peer, &self.subscribed)
    }

    /// Returns the metadata that every request of 2026-07-28 carries, for params of typed calls. Members that a call
    /// leaves out are added when it is sent.
    pub fn meta(&self) -> RequestMetaObject {
        self.meta.clone()
    }

    /// Sends a request that may take multiple rounds. As long as the server asks for input, the client's handlers
    /// provide it and the client sends the request again.
    ///
    /// To control each round yourself, use [`Peer::call`], and [`mrtr::next_params`] for the params of the next round.
    ///
    /// # Errors
    ///
    /// - [`InputNotProvided`](crate::protocol::input_requests::InputNotProvided) if the server asks for input that the
    ///   client has not declared, or the handler fails.
    /// - [`Invalid`](CallError::Invalid) if the request exceeds the limits in
    ///   [`with_round_limits`](Self::with_round_limits).
    /// - Any other [`CallError`] if a call fails.
    pub async fn complete<R: MultiRoundTrip>(&self, params: R::Params) -> Result<R::Complete, CallError> {
        let tasks = self.task_results.as_deref();
        mrtr::complete::<R>(&self.peer, self.revision, self.requests.clone(), self.round_limits, tasks, params).await
    }

    /// Ends the connection and waits until it has ended. Queued messages are still written, and pending calls fail.
    ///
    /// # Errors
    ///
    /// Fails if reading or writing failed, during this call or before. If several clones are closed, only one gets the
    /// error.
    pub async fn close(self) -> io::Result<()> {
        self.peer.disconnect();
        let task = self.task.lock().take();
        match task {
            Some(task) => task.await.map_err(io::Error::other)?,
            None => {
                self.ended.cancelled().await;
                Ok(())
            }
        }
    }

    /// Waits until the server or [`Peer::disconnect`] ends the connection. Call [`close`](Self::close) afterwards to
    /// learn why.
    ///
    /// ```
    /// # use mcpgen_sdk::{Client, Server, serve, transport};
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

    /// Converts the client into its peer. The connection stays open until all clones of the client and of this peer are
    /// dropped. Pending calls and subscriptions count as clones.
    #[must_use = "the connection ends when the peer is dropped"]
    pub fn into_peer(self) -> Peer {
        self.peer.keep_connected(self.connection)
    }

    /// Sends a request whose params have the newest types, and returns the result in the connection's revision.
    ///
    /// # Errors
    ///
    /// Fails if the connection's revision cannot express the params, or if the call fails.
    pub async fn raw_call(&self, method: &str, params: JsonObject) -> Result<Json, CallError> {
        let params = self.revisions().params(method, &self.with_meta(params));
        let params = params.map_err(|error| CallError::Invalid(error.into()))?;
        self.peer.raw_request(method, Some(params)).await.map_err(|error| self.peer.explain(error))
    }

    /// Adds request metadata to params that are converted to another modern revision. Without it, the conversion would
    /// add metadata with empty capabilities.
    pub(super) fn with_meta(&self, mut params: JsonObject) -> JsonObject {
        if self.revision != TYPES && !self.revision.is_legacy() {
            params.insert_if_absent("_meta", &self.meta);
        }
        params
    }

    /// Returns the conversion from the revision of the types to that of the connection.
    pub(super) fn revisions(&self) -> Revisions {
        Revisions { from: TYPES, to: self.revision }
    }

    /// Decodes a result of the connection's revision as one of the newest types.
    ///
    /// # Errors
    ///
    /// Fails if the result is not valid.
    pub fn decode<T: Decode>(&self, method: &str, result: &Json) -> Result<T, CallError> {
        self.decoder.decode(self.revision, method, result)
    }
}
