//! What a server answers with: a message, or events.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use http::header::CONTENT_TYPE;
use tokio_util::codec::FramedRead;
use tokio_util::io::StreamReader;

use super::HttpError;
use crate::http::sse::{Event, Events};

/// A response that was not refused.
pub(super) enum Reply {
    Nothing,
    Message(Vec<u8>),
    Events(EventStream),
}

/// Events as they come, and where they are gone on with.
pub(super) struct EventStream {
    events: futures_util::stream::BoxStream<'static, std::io::Result<Event>>,
    /// The id of the last event.
    pub(super) last: Option<String>,
    /// How long to wait before coming back.
    pub(super) retry: Option<Duration>,
}

impl EventStream {
    fn of(response: reqwest::Response, longest: usize) -> Self {
        let bytes = response.bytes_stream().map_err(std::io::Error::other);
        let events = FramedRead::new(StreamReader::new(bytes), Events::new(longest));
        Self { events: events.boxed(), last: None, retry: None }
    }

    /// The next message; `None` if the stream has ended, however that came.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let event = match self.events.next().await? {
                Ok(event) => event,
                Err(error) => {
                    tracing::debug!(%error, "a stream broke off");
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
    /// What a response that is a success brings.
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

/// A body that is no longer than this.
pub(super) async fn whole(mut response: reqwest::Response, longest: usize) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > longest {
            return Err(std::io::Error::other(format!("a message of more than {longest} bytes")).into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
