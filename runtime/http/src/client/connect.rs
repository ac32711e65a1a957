//! Connects to a server over HTTP.

use std::future::Future;
use std::sync::Arc;

use http::StatusCode;
use mcpgen_mcp::client::SessionState;
use mcpgen_mcp::client::handshake::HandshakeError;
use mcpgen_mcp::{Client, ClientBuilder};
use mcpgen_runtime::peer::CallError;
use mcpgen_runtime::util::error_chain;
use tokio::sync::watch;

use super::{ClientOptions, HttpError, OpenError, OpenSseError, open, open_sse};

/// Connects clients over HTTP.
pub trait ConnectHttp: Sized {
    /// Connects to a server over HTTP.
    ///
    /// If the server is slow to respond at first, for example because the first request starts it, raise
    /// [`discover_timeout`](mcpgen_mcp::client::handshake::ConnectOptions::discover_timeout).
    /// [`login_timeout`](super::Authorize::login_timeout) is added to it.
    ///
    /// A silent server is not sent `initialize` unless
    /// [`silence_is_legacy`](mcpgen_mcp::client::handshake::ConnectOptions::silence_is_legacy) is `true`, because over
    /// HTTP legacy servers do respond to `server/discover`.
    ///
    /// Status 400, 404 or 405 without a JSON-RPC error may come from a server that supports only HTTP+SSE, the
    /// transport of revision 2024-11-05. The client then connects like [`connect_http_sse`](Self::connect_http_sse).
    /// See the section on backwards compatibility on the page `2025-11-25/basic/transports` of the specification.
    ///
    /// # Errors
    ///
    /// Fails if the URL is invalid, or if the server rejects the handshake, does not respond, or supports no revision
    /// that this client supports.
    fn connect_http(
        self,
        url: &str,
        options: ClientOptions,
    ) -> impl Future<Output = Result<Client, ConnectError>> + Send;

    /// Connects to a server over HTTP+SSE, the transport of revision 2024-11-05. Compared to
    /// [`connect_http`](Self::connect_http), this avoids requests that would fail, and also works if the server
    /// rejects Streamable HTTP with a status other than 400, 404 or 405.
    ///
    /// The client sends `initialize`, even if it supports modern revisions. If the event stream ends, the connection
    /// ends, and calls fail with [`CallError::ConnectionFailed`]. For the options, see [`open_sse`].
    ///
    /// ```no_run
    /// use mcpgen_sdk::prelude::*;
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
    fn connect_http_sse(
        self,
        url: &str,
        options: ClientOptions,
    ) -> impl Future<Output = Result<Client, ConnectError>> + Send;
}

impl ConnectHttp for ClientBuilder {
    async fn connect_http(mut self, url: &str, options: ClientOptions) -> Result<Client, ConnectError> {
        self = self.options(|connect| {
            connect.silence_is_legacy.get_or_insert(false);
            if let Some(authorization) = &options.authorization {
                connect.discover_timeout = connect.discover_timeout.saturating_add(authorization.login_timeout());
            }
        });
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
            Err(error) if lacks_streamable_http(&error) => fall_back(self, url, options, error).await,
            Err(error) => Err(error.into()),
            Ok(client) => {
                if client.revision().is_legacy() {
                    tokio::spawn(restore_sessions(client.session_state(), renewals));
                }
                Ok(client)
            }
        }
    }

    async fn connect_http_sse(mut self, url: &str, options: ClientOptions) -> Result<Client, ConnectError> {
        let mut has_revision = false;
        self = self.options(|connect| {
            connect.local_info.revisions.retain(|revision| revision.is_legacy());
            has_revision = !connect.local_info.revisions.is_empty();
        });
        if !has_revision {
            return Err(ConnectError::NoLegacyRevision);
        }
        let (incoming, outgoing) = open_sse(url, options).await?;
        Ok(self.connect_again(incoming, outgoing).await?)
    }
}

/// Tries HTTP+SSE after the handshake over Streamable HTTP has failed.
async fn fall_back(
    client: ClientBuilder,
    url: &str,
    options: ClientOptions,
    streamable: HandshakeError,
) -> Result<Client, ConnectError> {
    tracing::debug!(error = error_chain(&streamable), "no Streamable HTTP; trying HTTP+SSE");
    match Box::pin(client.connect_http_sse(url, options)).await {
        Err(ConnectError::OpenSse(error)) => Err(ConnectError::NoStreamableHttp { streamable, sse: error }),
        connected => connected,
    }
}

/// Restores the client's state in each new session, until the connection closes.
async fn restore_sessions(state: SessionState, mut renewals: watch::Receiver<()>) {
    loop {
        tokio::select! {
            renewed = renewals.changed() => if renewed.is_err() { return },
            () = state.disconnected() => return,
        }
        state.restore().await;
    }
}

/// Formats the reasons why neither transport works, which are often the same.
fn both_reasons(streamable: &str, sse: &str) -> String {
    match streamable == sse {
        true => format!("{streamable}, and the same over HTTP+SSE"),
        false => format!("{streamable}; and no connection over HTTP+SSE: {sse}"),
    }
}

/// Returns whether the server's response to `initialize` may come from a server that supports only HTTP+SSE.
///
/// An error with a JSON-RPC response is a [`CallError::ErrorResponse`] instead, and shows that the server supports
/// Streamable HTTP.
fn lacks_streamable_http(error: &HandshakeError) -> bool {
    let HandshakeError::Call(CallError::Undelivered(why)) = error else { return false };
    let Some(HttpError::Status { status, .. }) = why.error.downcast_ref() else { return false };
    matches!(*status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED)
}

/// Why a client could not connect to a server over HTTP.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The transport could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The handshake failed.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// Over Streamable HTTP, the handshake failed with status 400, 404 or 405, and HTTP+SSE failed as well. The message
    /// contains both reasons.
    #[error("{}; check the URL", both_reasons(&error_chain(streamable), &error_chain(sse)))]
    NoStreamableHttp {
        /// Why the handshake over Streamable HTTP failed.
        streamable: HandshakeError,
        /// Why no connection over HTTP+SSE could be opened.
        sse: OpenSseError,
    },
    /// The connection over HTTP+SSE could not be opened.
    #[error(transparent)]
    OpenSse(#[from] OpenSseError),
    /// The client supports no legacy revision, which HTTP+SSE requires.
    #[error("HTTP+SSE requires a legacy revision, and this client supports none; add one to `LocalInfo::revisions`")]
    NoLegacyRevision,
}
