//! Sends a request, and delivers its response or the reason why it gets none.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use mcpgen_mcp::protocol::header_params::{self, Header};
use mcpgen_runtime::jsonrpc::envelope::{Envelope, scan};
use mcpgen_runtime::transport::{Inbound, ReceiveError, Undelivered};
use mcpgen_types::codec::Cursor;
use mcpgen_types::{ErrorId, RequestId};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::answer::{Answer, with_id};
use super::error::{HttpError, QUOTED, beginning};
use super::message::{OutgoingMessage, Progress};
use super::queue::QueuedMessage;
use super::response::{ResponseBody, check_status, negotiated_version, read_beginning, read_result};
use super::state::{PendingRequest, Restarts, SessionHeaders, TransportState};
use crate::headers::SESSION;

/// How long a cancellation waits for the response headers of its request.
const RECEIPT: Duration = Duration::from_secs(1);

/// UTF-8's byte order mark, which JSON must not begin with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How many bytes to read of a body without a message.
const IGNORED_BODY: usize = 64 << 10;

impl TransportState {
    pub(super) fn send_request(self: &Arc<Self>, id: RequestId, outgoing: OutgoingMessage) {
        let cancelled = self.closing.child_token();
        let (cancel, cancellation) = oneshot::channel();
        let cancel = outgoing.version.is_none().then_some(cancel);
        self.state().pending.insert(id.clone(), PendingRequest { cancelled: cancelled.clone(), cancel });
        let this = Arc::clone(self);
        tokio::spawn(async move {
            this.run_request(&id, Arc::new(outgoing), cancelled, cancellation).await;
            this.state().pending.remove(&id);
        });
    }

    async fn run_request(
        self: &Arc<Self>,
        id: &RequestId,
        outgoing: Arc<OutgoingMessage>,
        cancelled: CancellationToken,
        cancellation: oneshot::Receiver<Option<QueuedMessage>>,
    ) {
        let mut request = Box::pin(self.request(id, Arc::clone(&outgoing)));
        let cancellation = tokio::select! {
            biased;
            Ok(cancellation) = cancellation => cancellation,
            () = cancelled.cancelled() => return,
            sent = &mut request => {
                if let Err(error) = sent {
                    self.fail(id, error).await;
                }
                return;
            }
        };
        // The server would ignore a cancellation that arrives before its request, and a request that was not sent needs
        // none.
        let mut progress = outgoing.progress.subscribe();
        if *progress.borrow() == Progress::Queued {
            return;
        }
        tokio::select! {
            () = cancelled.cancelled() => {}
            _ = &mut request => return,
            _ = tokio::time::timeout(RECEIPT, progress.wait_for(|progress| *progress == Progress::Received)) => {}
        }
        drop(request);
        if let Some(cancellation) = cancellation {
            Arc::clone(self).send_queued(cancellation).await;
        }
    }

    /// Sends a request, and delivers its response and the messages before it.
    async fn request(self: &Arc<Self>, id: &RequestId, outgoing: Arc<OutgoingMessage>) -> Result<(), HttpError> {
        // Waiting in `take` would hold back responses and cancellations when all permits are in use.
        let _room = match outgoing.method.as_deref() {
            Some("subscriptions/listen") => None,
            _ => self.request_permits.acquire().await.ok(),
        };
        if self.is_sse {
            let (response, _) = self.post(&outgoing).await?;
            // Reading the body makes the connection reusable.
            read_beginning(response, IGNORED_BODY).await;
            return Ok(());
        }
        let begins = outgoing.method.as_deref() == Some("initialize");
        let sets_level = outgoing.method.as_deref() == Some("logging/setLevel");
        let lists = outgoing.method.as_deref() == Some("tools/list") && outgoing.version.is_some();
        let (response, session) = match begins {
            true => {
                let response =
                    check_status(self.send(Method::POST, Some(&outgoing), &SessionHeaders::default()).await?).await?;
                let session = response.headers().get(SESSION).cloned();
                (response, session)
            }
            false => self.post(&outgoing).await?,
        };
        let arrived = |message: &mut Inbound| {
            let mut state = self.state();
            if begins {
                let session_headers = SessionHeaders { session: session.clone(), version: negotiated_version(message) };
                (state.session_headers, state.initialize) = (session_headers, Some(Arc::clone(&outgoing)));
            } else if state.session_headers.session == session {
                state.restarts = Restarts::default();
                if sets_level && read_result(message, |_| Some(())).is_some() {
                    state.set_level = Some(Arc::clone(&outgoing));
                }
            }
            drop(state);
            if lists {
                self.update_tool_headers(message);
            }
        };
        match ResponseBody::of(response, self.options.max_message_bytes).await? {
            ResponseBody::Nothing => Err(HttpError::NoResponse { last_event: None }),
            ResponseBody::Json(body) => {
                let first = body[..body.len().min(QUOTED)].to_vec();
                let why =
                    if body.starts_with(BYTE_ORDER_MARK) { Some("it begins with a byte order mark") } else { None };
                let mut message = Inbound::new(body);
                let why = match Answer::of(&mut message, id) {
                    Answer::Response => {
                        arrived(&mut message);
                        self.deliver(message).await;
                        return Ok(());
                    }
                    Answer::ErrorWithoutId(error) => {
                        self.deliver(with_id(error, id)).await;
                        return Ok(());
                    }
                    Answer::Message(why) => {
                        self.deliver(message).await;
                        why.to_owned()
                    }
                    Answer::Unusable(reason) => why.map_or(reason, str::to_owned),
                };
                Err(HttpError::NotTheResponse { why, body: beginning(&first) })
            }
            ResponseBody::Events(events) => {
                let is_response = |message: &mut Inbound| match Answer::of(message, id) {
                    Answer::Response => {
                        arrived(message);
                        true
                    }
                    Answer::ErrorWithoutId(error) => {
                        *message = with_id(error, id);
                        true
                    }
                    _ => false,
                };
                let is_resumable = outgoing.version.is_none() && !begins;
                self.follow_stream(events, is_response, is_resumable.then(|| session.clone())).await
            }
        }
    }

    /// Learns from the result of `tools/list` which arguments are repeated in headers.
    fn update_tool_headers(&self, message: &mut Inbound) {
        let known = !self.state().tools.is_empty();
        let has_headers = |message: &mut Inbound| {
            message.document().is_ok_and(|document| document.root().text().contains("x-mcp-header"))
        };
        if !known && !has_headers(message) {
            return;
        }
        let Some(tools) = read_result(message, |result| Some(annotated_tools(result))) else { return };
        for (name, annotated) in tools {
            let mut state = self.state();
            match annotated.is_empty() {
                true => drop(state.tools.remove(&name)),
                false => drop(state.tools.insert(name, Arc::new(annotated))),
            }
        }
    }

    /// Delivers an error. If its body is a JSON-RPC error response, delivers that instead of the HTTP error.
    async fn fail(&self, id: &RequestId, error: HttpError) {
        let response = match &error {
            HttpError::Status { status, body } => error_response(*status, body, id),
            _ => None,
        };
        if let Some(response) = response {
            return self.deliver(response).await;
        }
        let reached = match &error {
            HttpError::Status { status, .. } => {
                let elsewhere = matches!(status.as_u16(), 401 | 403 | 407 | 408 | 421 | 429);
                status.is_client_error() && !elsewhere
            }
            HttpError::ContentType(_) | HttpError::NotTheResponse { .. } => true,
            _ => false,
        };
        let why = Undelivered::new(reached, error);
        let _ = self.incoming.send(Err(ReceiveError::Undelivered { id: id.clone(), why })).await;
    }
}

/// Returns the JSON-RPC error response in the body of an HTTP error. An error without an ID counts only with status 400
/// or 404; with others it may come from a proxy.
fn error_response(status: StatusCode, body: &str, id: &RequestId) -> Option<Inbound> {
    let of_message = matches!(status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND);
    let document = scan(body).ok()?;
    match Envelope::read(&document).ok()? {
        Envelope::Error { id: ErrorId::Id(of), .. } if of != *id => None,
        Envelope::Error { id: ErrorId::Null | ErrorId::Absent, .. } if !of_message => None,
        Envelope::Error { error, .. } => Some(with_id(error, id)),
        _ => None,
    }
}

/// Returns the name of each tool in a result of `tools/list`, and its arguments that are repeated in headers. A tool
/// with invalid annotations cannot be called, so it needs no headers.
fn annotated_tools(result: Cursor<'_>) -> Vec<(String, Vec<Header>)> {
    let tools = result.get("tools").and_then(|tools| tools.elements().ok()).into_iter().flatten();
    let annotated = tools.filter_map(|tool| {
        let headers = tool.get("inputSchema").and_then(|schema| header_params::headers(schema).ok());
        Some((tool.get("name")?.as_str()?.into_owned(), headers.unwrap_or_default()))
    });
    annotated.collect()
}
