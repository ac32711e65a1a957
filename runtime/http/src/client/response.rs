//! Reads a successful HTTP response: a message or an event stream.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use http::HeaderValue;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use mcpgen_runtime::jsonrpc::envelope::Envelope;
use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_runtime::transport::Inbound;
use mcpgen_types::codec::Cursor;
use tokio_util::codec::FramedRead;
use tokio_util::io::StreamReader;

use super::error::{HttpError, QUOTED, beginning};
use super::events::{Event, Events};

pub(super) enum ResponseBody {
    Nothing,
    Json(Vec<u8>),
    Events(EventStream),
}

/// An event stream, and what is needed to resume it.
pub(super) struct EventStream {
    events: futures_util::stream::BoxStream<'static, std::io::Result<Event>>,
    /// ID of the last event.
    pub(super) last: Option<String>,
    /// The server's last `retry`: how long to wait before reconnecting.
    pub(super) retry: Option<Duration>,
    /// The start of the last non-empty data, for error messages.
    pub(super) last_data: Option<String>,
}

impl EventStream {
    pub(super) fn of(response: reqwest::Response, longest: usize) -> Self {
        let bytes = response.bytes_stream().map_err(std::io::Error::other);
        let events = FramedRead::new(StreamReader::new(bytes), Events::new(longest));
        Self { events: events.boxed(), last: None, retry: None, last_data: None }
    }

    /// Returns `None` if the stream has ended or failed.
    pub(super) async fn next(&mut self) -> Option<Inbound> {
        loop {
            let event = match self.next_event().await? {
                Ok(event) => event,
                Err(error) => {
                    tracing::debug!(%error, "an event stream failed");
                    return None;
                }
            };
            self.last = event.id.clone().or(self.last.take());
            self.retry = event.retry.or(self.retry);
            if !event.data.is_empty() {
                self.last_data = Some(beginning(&event.data));
            }
            if event.is_message() {
                return Some(Inbound::new(event.data));
            }
        }
    }

    /// Returns `None` if the stream has ended. Nothing follows an error.
    pub(super) async fn next_event(&mut self) -> Option<std::io::Result<Event>> {
        self.events.next().await
    }
}

impl ResponseBody {
    /// Reads a JSON body, or returns the event stream. Status 202 or 204 means that there is no message.
    ///
    /// # Errors
    ///
    /// Fails if the content type is neither JSON nor an event stream, if the body is compressed, or if a JSON body is
    /// longer than `longest` bytes or cannot be read.
    pub(super) async fn of(response: reqwest::Response, longest: usize) -> Result<Self, HttpError> {
        if matches!(response.status().as_u16(), 202 | 204) {
            return Ok(Self::Nothing);
        }
        let kind = content_type(&response);
        if matches!(kind.as_str(), "application/json" | "text/event-stream")
            && let Some(encoding) = response.headers().get(CONTENT_ENCODING).filter(|encoding| *encoding != "identity")
        {
            let why = format!("it has the encoding {encoding:?}, which the client does not accept");
            let body = beginning(&read_beginning(response, QUOTED).await);
            return Err(HttpError::NotTheResponse { why, body });
        }
        match kind.as_str() {
            "application/json" => read_body(response, longest).await.map(Self::Json),
            "text/event-stream" => Ok(Self::Events(EventStream::of(response, longest))),
            _ => Err(HttpError::ContentType(kind)),
        }
    }
}

/// Returns the content type without parameters, in lower case. Empty if the header is missing.
pub(super) fn content_type(response: &reqwest::Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Reads the body. Fails if it is longer than `longest` bytes.
pub(super) async fn read_body(mut response: reqwest::Response, longest: usize) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > longest {
            return Err(std::io::Error::other(format!("message is larger than {longest} bytes")).into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Reads up to `longest` bytes, or as much as arrives before the body fails.
pub(super) async fn read_beginning(mut response: reqwest::Response, longest: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < longest
        && let Ok(Some(chunk)) = response.chunk().await
    {
        body.extend_from_slice(&chunk[..chunk.len().min(longest - body.len())]);
    }
    body
}

/// Converts an unsuccessful response to [`HttpError::Status`] with its body.
pub(super) async fn check_status(response: reqwest::Response) -> Result<reqwest::Response, HttpError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body = read_beginning(response, 64 << 10).await;
    Err(HttpError::Status { status, body: String::from_utf8_lossy(&body).into_owned() })
}

/// Reads the negotiated revision from the response to `initialize`.
pub(super) fn negotiated_version(message: &mut Inbound) -> Option<HeaderValue> {
    read_result(message, |result| {
        let [version] = Picked::values(result, &["protocolVersion"]);
        HeaderValue::from_str(&version?.as_str()?).ok()
    })
}

/// Reads the result if the message is a successful response.
pub(super) fn read_result<R>(message: &mut Inbound, read: impl FnOnce(Cursor<'_>) -> Option<R>) -> Option<R> {
    let document = message.document().ok()?;
    document.check_depth().ok()?;
    match Envelope::read(document) {
        Ok(Envelope::Response { result, .. }) => read(result),
        _ => None,
    }
}
