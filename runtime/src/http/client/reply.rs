//! The body of a successful HTTP response: a message or an event stream.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use http::header::CONTENT_TYPE;
use tokio_util::codec::FramedRead;
use tokio_util::io::StreamReader;

use super::HttpError;
use crate::http::sse::{Event, Events};

/// A successful HTTP response.
pub(super) enum Reply {
    Nothing,
    Message(Vec<u8>),
    Events(EventStream),
}

/// An event stream, and what is needed to resume it.
pub(super) struct EventStream {
    events: futures_util::stream::BoxStream<'static, std::io::Result<Event>>,
    /// The ID of the last event.
    pub(super) last: Option<String>,
    /// The last `retry` from the server: how long to wait before reconnecting.
    pub(super) retry: Option<Duration>,
}

impl EventStream {
    fn of(response: reqwest::Response, longest: usize) -> Self {
        let bytes = response.bytes_stream().map_err(std::io::Error::other);
        let events = FramedRead::new(StreamReader::new(bytes), Events::new(longest));
        Self { events: events.boxed(), last: None, retry: None }
    }

    /// Waits for the next message. Returns `None` if the stream has ended or failed.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let event = match self.events.next().await? {
                Ok(event) => event,
                Err(error) => {
                    tracing::debug!(%error, "an event stream failed");
                    return None;
                }
            };
            self.last = event.id.or(self.last.take());
            self.retry = event.retry.or(self.retry);
            if !event.data.is_empty() && matches!(event.kind.as_str(), "" | "message") {
                return Some(event.data);
            }
        }
    }
}

impl Reply {
    /// Reads a successful response. The status 202 or 204 means that it has no message.
    ///
    /// # Errors
    ///
    /// Fails if the content type is neither JSON nor an event stream, or if a JSON body is longer than `longest` bytes
    /// or cannot be read.
    pub(super) async fn of(response: reqwest::Response, longest: usize) -> Result<Self, HttpError> {
        if matches!(response.status().as_u16(), 202 | 204) {
            return Ok(Self::Nothing);
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match kind.as_str() {
            "application/json" => whole(response, longest).await.map(Self::Message),
            "text/event-stream" => Ok(Self::Events(EventStream::of(response, longest))),
            _ => Err(HttpError::ContentType(kind)),
        }
    }
}

/// Reads a body of at most `longest` bytes.
pub(super) async fn whole(mut response: reqwest::Response, longest: usize) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > longest {
            return Err(std::io::Error::other(format!("message is larger than {longest} bytes")).into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
