//! A single request of revision 2026-07-28 and its response. No state outlives the HTTP response.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{Response, StatusCode};
use mcpgen_types::ErrorId;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::body::{self, Body};
use super::permit::Permit;
use crate::connection::{Connection, Inbound};
use crate::http::sse;
use crate::jsonrpc::errors;
use crate::peer::outbox::{Line, Outcome, Place};
use crate::service::router::RequestService;

/// A request in progress. Dropping it cancels the request, because the client has closed the response.
pub(super) struct Exchange {
    running: Pin<Box<dyn Future<Output = io::Result<()>> + Send>>,
    lines: mpsc::UnboundedReceiver<Line>,
    over: bool,
    permit: Permit,
}

impl Exchange {
    /// Starts handling a request. No other message arrives on its connection. `closing` ends it when the server shuts
    /// down.
    pub(super) fn begin<S: RequestService>(
        connection: Connection<S>,
        arrived: Inbound,
        closing: CancellationToken,
        permit: Permit,
    ) -> Self {
        let (out, lines) = mpsc::unbounded_channel();
        let closed = stream::once(closing.cancelled_owned()).filter_map(|()| std::future::ready(None));
        let arrived = stream::once(std::future::ready(Ok(arrived))).chain(closed);
        let running = connection.run_by(arrived, move |mut lines| async move {
            while let Some(Some(line)) = lines.recv().await {
                if out.send(line).is_err() {
                    break;
                }
            }
            Ok(())
        });
        Self { running: Box::pin(running), lines, over: false, permit }
    }

    async fn next(&mut self) -> Option<Line> {
        if !self.over {
            tokio::select! {
                biased;
                line = self.lines.recv() => return line,
                _ = &mut self.running => self.over = true,
            }
        }
        self.lines.recv().await
    }

    /// Responds with plain JSON if the response is the first message. Otherwise responds with an event stream whose
    /// last event is the response.
    pub(super) async fn respond(mut self, keep_alive: Duration) -> Response<Body> {
        let first = match self.said(keep_alive).await {
            Sent::Answer(outcome, answer) => {
                return body::json(status(outcome), body::holding(answer, self.permit));
            }
            Sent::Nothing => {
                return body::error(StatusCode::INTERNAL_SERVER_ERROR, ErrorId::Absent, errors::ended());
            }
            Sent::Message(message) => sse::event(None, &message),
            Sent::NotYet => sse::COMMENT,
        };
        body::events(stream::once(std::future::ready(first)).chain(self.events(keep_alive)))
    }

    /// Returns the remaining events, up to and including the response.
    fn events(self, keep_alive: Duration) -> impl Stream<Item = Bytes> + Send {
        stream::unfold(Some(self), move |this| async move {
            let mut this = this?;
            match this.said(keep_alive).await {
                Sent::Answer(_, answer) => Some((body::holding(sse::event(None, &answer), this.permit), None)),
                Sent::Message(message) => Some((sse::event(None, &message), Some(this))),
                Sent::NotYet => Some((sse::COMMENT, Some(this))),
                Sent::Nothing => None,
            }
        })
    }

    /// Waits for the next message, for at most `patience`.
    async fn said(&mut self, patience: Duration) -> Sent {
        let message = async {
            loop {
                let Some(Line { message, .. }) = self.next().await else { return Sent::Nothing };
                match message.place {
                    Place::Answer(_, outcome) => return Sent::Answer(outcome, message.bytes),
                    Place::Unanswered(_) => return Sent::Nothing,
                    // This revision cannot resume streams.
                    Place::Later(..) => {}
                    Place::Anywhere | Place::Within(_) => return Sent::Message(message.bytes.into()),
                }
            }
        };
        tokio::time::timeout(patience, message).await.unwrap_or(Sent::NotYet)
    }
}

enum Sent {
    Answer(Outcome, Vec<u8>),
    Message(Bytes),
    /// No message arrived in time.
    NotYet,
    /// The connection ended, or the request will not get a response.
    Nothing,
}

/// Returns the HTTP status for a response. Errors that concern only JSON-RPC have status 200.
fn status(outcome: Outcome) -> StatusCode {
    match outcome {
        Outcome::Failed(METHOD_NOT_FOUND) | Outcome::Refused(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Outcome::Refused(_)
        | Outcome::Failed(errors::HEADER_MISMATCH | errors::MISSING_CAPABILITY | errors::UNSUPPORTED_VERSION) => {
            StatusCode::BAD_REQUEST
        }
        Outcome::Result | Outcome::Failed(_) => StatusCode::OK,
    }
}

const METHOD_NOT_FOUND: i64 = mcpgen_types::ErrorCode::METHOD_NOT_FOUND.0;
