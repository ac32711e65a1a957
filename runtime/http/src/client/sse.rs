//! The client side of HTTP+SSE, the transport of revision 2024-11-05.

use std::io;
use std::sync::Arc;

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method};
use mcpgen_runtime::transport::{Inbound, Incoming, Outgoing, ReceiveError};
use tokio::sync::mpsc;

use super::driver::Driver;
use super::error::{HttpError, OpenSseError, beginning};
use super::options::ClientOptions;
use super::post::HttpRequest;
use super::response::{EventStream, check_status, content_type};
use super::state::TransportState;
use super::transport::{prepare, start};

/// Opens a connection over HTTP+SSE and returns its two halves.
///
/// Sends a GET request, and waits for the `endpoint` event on the event stream in the response. From then on the client
/// posts its messages to the URL in that event, and receives all messages on the stream. A stream that ends cannot be
/// resumed: the connection ends with an error.
///
/// Revision 2025-03-26 replaced this transport with Streamable HTTP. Servers that use it support only revisions with
/// `initialize`. See the page `2024-11-05/basic/transports` of the specification.
///
/// [`retry_delay`](ClientOptions::retry_delay) and [`on_new_session`](ClientOptions::on_new_session) have no effect
/// here, and [`max_retries`](ClientOptions::max_retries) only applies to messages.
///
/// # Errors
///
/// Fails if the URL is invalid, if the server cannot be reached or does not respond with an event stream, or if the
/// `endpoint` event does not arrive within [`ClientOptions::send_timeout`] or refers to another origin.
///
/// # Panics
///
/// Panics if called outside of a Tokio runtime.
pub async fn open_sse(url: &str, options: ClientOptions) -> Result<(impl Incoming, impl Outgoing), OpenSseError> {
    let (url, client) = prepare(url, &options)?;
    let (endpoint, events) = open_stream(&url, &client, &options).await?;
    let (incoming, arrived) = mpsc::channel(64);
    let (driver, notifications) = Driver::new(endpoint, client, options, true, incoming);
    driver.receive(events);
    Ok(start(driver, notifications, arrived))
}

/// Opens the event stream. Returns it with the URL to post messages to.
async fn open_stream(
    url: &reqwest::Url,
    client: &reqwest::Client,
    options: &ClientOptions,
) -> Result<(reqwest::Url, EventStream), OpenSseError> {
    let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("text/event-stream"))]);
    let timeout = Some(options.send_timeout);
    let request = HttpRequest { client, options, url, method: Method::GET, headers, outgoing: None, timeout };
    let response = check_status(request.send().await?).await?;
    let (status, content_type) = (response.status(), content_type(&response));
    if content_type != "text/event-stream" {
        return Err(HttpError::NotAnEventStream { status, content_type }.into());
    }
    // The URL after redirects.
    let stream_url = response.url().clone();
    let mut events = EventStream::of(response, options.max_message_bytes);
    let endpoint = tokio::time::timeout(options.send_timeout, endpoint(&mut events)).await;
    let endpoint = endpoint.map_err(|_| OpenSseError::Timeout(options.send_timeout))??;
    Ok((resolve(&stream_url, &endpoint)?, events))
}

async fn endpoint(events: &mut EventStream) -> Result<String, OpenSseError> {
    loop {
        let event = events.next_event().await.transpose().map_err(|error| OpenSseError::Ended(Some(error)))?;
        let event = event.ok_or(OpenSseError::Ended(None))?;
        if event.kind == "endpoint" {
            return Ok(String::from_utf8_lossy(&event.data).into_owned());
        }
        tracing::debug!(event = event.kind, "ignoring an event before `endpoint`");
    }
}

/// Resolves the URL in an `endpoint` event against that of the stream.
///
/// # Errors
///
/// Fails if it is not a URL, or has another origin than the stream.
fn resolve(stream_url: &reqwest::Url, endpoint: &str) -> Result<reqwest::Url, OpenSseError> {
    let resolved = stream_url
        .join(endpoint)
        .map_err(|error| OpenSseError::Endpoint { endpoint: beginning(endpoint.as_bytes()), source: error.into() })?;
    match resolved.origin() == stream_url.origin() {
        true => Ok(resolved),
        false => Err(OpenSseError::Origin {
            endpoint: beginning(endpoint.as_bytes()),
            origin: stream_url.origin().ascii_serialization(),
        }),
    }
}

impl TransportState {
    /// Delivers messages until the stream ends, which ends the connection with an error, or the connection closes.
    pub(super) async fn receive_events(self: Arc<Self>, mut events: EventStream) {
        let lost = loop {
            let event = tokio::select! {
                () = self.closing.cancelled() => return,
                event = events.next_event() => event,
            };
            match event {
                Some(Ok(event)) if event.is_message() => self.deliver(Inbound::new(event.data)).await,
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    break io::Error::new(error.kind(), format!("the event stream failed: {error}; connect again"));
                }
                None => break io::Error::new(io::ErrorKind::UnexpectedEof, "the event stream ended; connect again"),
            }
        };
        // Fails if the connection has closed.
        let _ = self.incoming.send(Err(ReceiveError::Io(lost))).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_endpoints_of_the_same_origin() {
        let table = [
            ("/messages?session=1", Ok("http://example.com/messages?session=1")),
            ("messages", Ok("http://example.com/a/messages")),
            ("?session=1", Ok("http://example.com/a/sse?session=1")),
            ("http://example.com:80/m", Ok("http://example.com/m")),
            ("//example.com/m", Ok("http://example.com/m")),
            ("https://example.com/m", Err("origin")),
            ("http://example.com:81/m", Err("origin")),
            ("http://sub.example.com/m", Err("origin")),
            ("//example.org/m", Err("origin")),
            ("\\\\example.org/m", Err("origin")),
            ("file:///m", Err("origin")),
            ("data:,m", Err("origin")),
            ("http://", Err("URL")),
            ("//[/", Err("URL")),
        ];
        let stream_url = reqwest::Url::parse("http://example.com/a/sse").expect("a URL");
        for (endpoint, expected) in table {
            let found = match resolve(&stream_url, endpoint) {
                Ok(url) => Ok(url.to_string()),
                Err(OpenSseError::Origin { .. }) => Err("origin"),
                Err(OpenSseError::Endpoint { .. }) => Err("URL"),
                Err(error) => panic!("{endpoint}: {error}"),
            };
            assert_eq!(found, expected.map(str::to_owned), "{endpoint}");
        }
    }
}
