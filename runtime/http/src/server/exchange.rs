//! A single request of 2026-07-28 and its response. Nothing outlives the HTTP response.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{Response, StatusCode};
use mcpgen_mcp::protocol;
use mcpgen_runtime::connection;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::transport::{Outbound, Outcome, Route};
use mcpgen_types::ErrorId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::body::{self, Body};
use super::permit::Permit;
use super::sse;

/// A request in progress. Dropping it, which happens when the client closes the response, cancels the request.
pub(super) struct Exchange {
    running: connection::Exchange,
    /// Cancelled when the server shuts down.
    closing: CancellationToken,
    /// When to abandon the request during shutdown.
    end: Option<Instant>,
    drain_timeout: Duration,
    permit: Permit,
}

impl Exchange {
    pub(super) fn new(
        running: connection::Exchange,
        closing: CancellationToken,
        drain_timeout: Duration,
        permit: Permit,
    ) -> Self {
        Self { running, closing, end: None, drain_timeout, permit }
    }

    async fn next(&mut self) -> Option<Outbound> {
        loop {
            let closing = async {
                match self.end {
                    None => self.closing.cancelled().await,
                    Some(end) => tokio::time::sleep_until(end).await,
                }
            };
            tokio::select! {
                biased;
                message = self.running.next() => return message,
                () = closing => {}
            }
            match self.end {
                None => {
                    self.running.end_receiving();
                    self.end = Some(Instant::now() + self.drain_timeout);
                }
                Some(_) => {
                    self.running.abandon();
                    return self.running.next().await;
                }
            }
        }
    }

    /// Responds with plain JSON if the response is the first message, and otherwise with an event stream that ends with
    /// the response.
    pub(super) async fn respond(mut self, keep_alive: Duration) -> Response<Body> {
        let first = match self.next_event(keep_alive).await {
            ResponseEvent::Response(outcome, response) => {
                return body::json(status(outcome), body::holding(response, self.permit));
            }
            ResponseEvent::End => {
                return body::error(StatusCode::INTERNAL_SERVER_ERROR, ErrorId::Absent, errors::ended());
            }
            ResponseEvent::Message(message) => sse::event(None, &message),
            ResponseEvent::KeepAlive => sse::COMMENT,
        };
        body::events(stream::once(std::future::ready(first)).chain(self.events(keep_alive)))
    }

    /// Returns the remaining events, up to the response.
    fn events(self, keep_alive: Duration) -> impl Stream<Item = Bytes> + Send {
        stream::unfold(Some(self), move |this| async move {
            let mut this = this?;
            match this.next_event(keep_alive).await {
                ResponseEvent::Response(_, response) => {
                    Some((body::holding(sse::event(None, &response), this.permit), None))
                }
                ResponseEvent::Message(message) => Some((sse::event(None, &message), Some(this))),
                ResponseEvent::KeepAlive => Some((sse::COMMENT, Some(this))),
                ResponseEvent::End => None,
            }
        })
    }

    /// Returns the next event, or [`ResponseEvent::KeepAlive`] if there is none within `timeout`.
    async fn next_event(&mut self, timeout: Duration) -> ResponseEvent {
        let message = async {
            loop {
                let Some(message) = self.next().await else { return ResponseEvent::End };
                match message.route {
                    Route::Response(_, outcome) => {
                        self.permit.memory.add(message.bytes.len());
                        return ResponseEvent::Response(outcome, message.bytes);
                    }
                    Route::NoResponse(_) => return ResponseEvent::End,
                    // This revision cannot resume streams.
                    Route::Reconnect(..) => {}
                    Route::Connection | Route::Request(_) => return ResponseEvent::Message(message.bytes.into()),
                }
            }
        };
        tokio::time::timeout(timeout, message).await.unwrap_or(ResponseEvent::KeepAlive)
    }
}

enum ResponseEvent {
    Response(Outcome, Vec<u8>),
    Message(Bytes),
    /// No message arrived in time.
    KeepAlive,
    /// The connection ended, or the request gets no response.
    End,
}

/// Returns the HTTP status of a response. Errors that concern only JSON-RPC have status 200.
fn status(outcome: Outcome) -> StatusCode {
    match outcome {
        Outcome::Failed(METHOD_NOT_FOUND) | Outcome::Refused(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Outcome::Refused(_)
        | Outcome::Failed(
            protocol::errors::HEADER_MISMATCH
            | protocol::errors::MISSING_CAPABILITY
            | protocol::errors::UNSUPPORTED_VERSION,
        ) => StatusCode::BAD_REQUEST,
        Outcome::Result | Outcome::Failed(_) => StatusCode::OK,
    }
}

const METHOD_NOT_FOUND: i64 = mcpgen_types::ErrorCode::METHOD_NOT_FOUND.0;
