//! Connects to a server over HTTP.

use std::future::Future;
use std::sync::Arc;

use http::StatusCode;
use mcpgen_runtime::peer::CallError;
use mcpgen_runtime::{debug_as_message, util::error_chain};
use mcpgen_types::Json;
use serde_json::json;
use tokio::sync::watch;
use tower::BoxError;

use super::builder::ClientBuilder;
use super::handle::Client;
use super::handshake::HandshakeError;
use crate::http::client::{ClientOptions, HttpError, OpenError, open};
#[cfg(feature = "http-sse")]
use crate::http::client::{OpenSseError, open_sse};
use crate::protocol::peer::changed;

debug_as_message!(ConnectError);

impl ClientBuilder {
    /// Connects to a server over HTTP. For a server that is slow to respond at first, such as one that is started by
    /// the first request, raise [`discover_timeout`](super::handshake::ConnectOptions::discover_timeout). It is extended
    /// by [`login_timeout`](crate::http::client::Authorize::login_timeout).
    ///
    /// A silent server is not sent `initialize` unless
    /// [`silence_is_legacy`](super::handshake::ConnectOptions::silence_is_legacy) is set to `true`, because legacy
    /// servers respond to `server/discover` over HTTP.
    ///
    /// A server that responds with status 400, 404 or 405 and without a JSON-RPC error may support only HTTP+SSE, the
    /// transport of revision 2024-11-05. With the feature `http-sse`, the client then connects like
    /// `connect_http_sse`. Without it, the error names the feature. See the section on backwards compatibility of the
    /// page `2025-11-25/basic/transports` of the specification.
    ///
    /// # Errors
    ///
    /// Fails if the URL is invalid, or if the server rejects the handshake, does not respond, or supports no revision
    /// that this client supports.
    pub async fn connect_http(mut self, url: &str, options: ClientOptions) -> Result<Client, ConnectError> {
        self.options.silence_is_legacy.get_or_insert(false);
        if let Some(authorization) = &options.authorization {
            let discover_timeout = &mut self.options.discover_timeout;
            *discover_timeout = discover_timeout.saturating_add(authorization.login_timeout());
        }
        let (renewed, renewals) = watch::channel(());
        let on_new_session = options.on_new_session.clone();
        let observed = Arc::new(move || {
            renewed.send_replace(());
            if let Some(on_new_session) = &on_new_session {
                on_new_session();
            }
        });
        let (incoming, outgoing) = open(url, ClientOptions { on_new_session: Some(observed), ..options.clone() })?;
        match self.connect_again(incoming, outgoing).await {
            Err(error) if lacks_streamable_http(&error) => self.fall_back(url, options, error).await,
            Err(error) => Err(error.into()),
            Ok(client) => {
                if client.revision().is_legacy() {
                    tokio::spawn(restore_sessions(&client, renewals));
                }
                Ok(client)
            }
        }
    }

    /// Connects to a server over HTTP+SSE, the transport of revision 2024-11-05. Use it instead of
    /// [`connect_http`](Self::connect_http) to save the requests of Streamable HTTP, or if the server responds to them
    /// with another status than 400, 404 and 405.
    ///
    /// The client sends `initialize`, also if it supports modern revisions. If the event stream ends, the connection
    /// ends, and calls fail with [`CallError::ConnectionFailed`]. See [`open_sse`] for the options.
    ///
    /// ```no_run
    /// use mcpgen_sdk::Client;
    /// use mcpgen_sdk::http::client::ClientOptions;
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let url = "https://example.com/sse";
    /// let client = Client::builder("visitor", "1.0.0").connect_http_sse(url, ClientOptions::default()).await?;
    /// println!("{:?}", client.tools().await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the event stream cannot be opened, if the server rejects the handshake or does not respond, or if the
    /// client and the server have no legacy revision in common.
    #[cfg(feature = "http-sse")]
    pub async fn connect_http_sse(mut self, url: &str, options: ClientOptions) -> Result<Client, ConnectError> {
        let local_info = &mut self.options.local_info;
        local_info.revisions.retain(|revision| revision.is_legacy());
        if local_info.revisions.is_empty() {
            return Err(ConnectError::NoLegacyRevision);
        }
        let (incoming, outgoing) = open_sse(url, options).await?;
        Ok(self.connect_again(incoming, outgoing).await?)
    }

    /// Connects over HTTP+SSE after the handshake over Streamable HTTP failed.
    #[cfg(feature = "http-sse")]
    async fn fall_back(
        self,
        url: &str,
        options: ClientOptions,
        streamable: HandshakeError,
    ) -> Result<Client, ConnectError> {
        tracing::debug!(error = error_chain(&streamable), "no Streamable HTTP; trying HTTP+SSE");
        match Box::pin(self.connect_http_sse(url, options)).await {
            Err(ConnectError::OpenSse(error)) => {
                Err(ConnectError::NoStreamableHttp { streamable, sse: Some(error.into()) })
            }
            connected => connected,
        }
    }

    /// Fails, because HTTP+SSE needs a feature.
    #[cfg(not(feature = "http-sse"))]
    #[allow(clippy::unused_async, reason = "it awaits with the feature `http-sse`")]
    async fn fall_back(
        self,
        _url: &str,
        _options: ClientOptions,
        streamable: HandshakeError,
    ) -> Result<Client, ConnectError> {
        Err(ConnectError::NoStreamableHttp { streamable, sse: None })
    }
}

/// Sends to each new session what the server has lost with the one before: the log level, and the subscriptions to
/// resources. Then reports a change of everything, because changes may have been missed. Ends with the connection.
fn restore_sessions(client: &Client, mut renewals: watch::Receiver<()>) -> impl Future<Output = ()> + use<> {
    let peer = client.peer.of_connection();
    let (subscribed, log_level) = (Arc::clone(&client.subscribed), Arc::clone(&client.log_level));
    async move {
        loop {
            tokio::select! {
                renewed = renewals.changed() => if renewed.is_err() { return },
                () = peer.disconnected() => return,
            }
            let level = log_level.lock().map(|level| ("logging/setLevel", json!({ "level": level.as_str() })));
            let uris: Vec<Json> = subscribed.lock().keys().map(|uri| Json::from(&json!({ "uri": uri }))).collect();
            let subscriptions = uris.iter().map(|params| ("resources/subscribe", params.clone()));
            for (method, params) in
                level.map(|(method, params)| (method, Json::from(&params))).into_iter().chain(subscriptions)
            {
                if let Err(error) = peer.raw_request(method, Some(params)).await {
                    tracing::warn!(%error, method, "the new session has less state than the session that was lost");
                }
            }
            for list in ["tools", "prompts", "resources"] {
                changed(&peer, &format!("notifications/{list}/list_changed"), None);
            }
            for params in &uris {
                changed(&peer, "notifications/resources/updated", Some(params));
            }
        }
    }
}

/// Returns whether the server responded to `initialize` as one that supports only HTTP+SSE may respond.
///
/// An error that contains a JSON-RPC response is a [`CallError::ErrorResponse`] instead, and comes from a server that
/// supports Streamable HTTP.
fn lacks_streamable_http(error: &HandshakeError) -> bool {
    let HandshakeError::Call(CallError::Undelivered(why)) = error else { return false };
    let Some(HttpError::Status { status, .. }) = why.error.downcast_ref() else { return false };
    matches!(*status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED)
}

/// The reason why a client could not connect to a server over HTTP.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The transport could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The handshake failed.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// The server responded to the handshake over Streamable HTTP with status 400, 404 or 405, and HTTP+SSE was not
    /// possible, either. The message contains both reasons.
    #[error("{}; {}", error_chain(streamable), no_sse(sse.as_ref()))]
    NoStreamableHttp {
        /// The error of the handshake over Streamable HTTP.
        streamable: HandshakeError,
        /// Why no connection over HTTP+SSE could be opened. `None` without the feature `http-sse`.
        sse: Option<BoxError>,
    },
    /// The connection over HTTP+SSE could not be opened.
    #[cfg(feature = "http-sse")]
    #[error(transparent)]
    OpenSse(#[from] OpenSseError),
    /// The client supports no legacy revision, and servers that use HTTP+SSE support no other.
    #[cfg(feature = "http-sse")]
    #[error("HTTP+SSE requires a legacy revision, and this client supports none; add one to `LocalInfo::revisions`")]
    NoLegacyRevision,
}

/// Describes why HTTP+SSE was not possible.
fn no_sse(sse: Option<&BoxError>) -> String {
    match sse {
        Some(error) => format!("and no connection over HTTP+SSE: {}; check the URL", error_chain(error.as_ref())),
        None => {
            "check the URL, or enable the feature `http-sse` of mcpgen-runtime if the server supports only HTTP+SSE"
                .to_owned()
        }
    }
}
