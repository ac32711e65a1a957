//! Relays between a client and a URL: over Streamable HTTP, or HTTP+SSE if the server supports nothing newer.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_util::stream::{self, BoxStream};
use futures_util::{Sink, SinkExt as _, StreamExt as _};
use http::StatusCode;
use mcpgen_sdk::http::client::{ClientOptions, HttpError, open, open_sse};
use mcpgen_sdk::transport::{Inbound, Incoming, Metadata, Outbound, Outgoing, ReceiveError};

use super::observer::{Observer, Side};
use super::relay::{observe, outbound, relay};
use crate::failure::{Failure, with_sources};

type Connection = (BoxStream<'static, Result<Inbound, ReceiveError>>, BoxedSink);

/// Relays between a client and the server at this URL until one of them disconnects.
///
/// The response to the first request decides which transport to use.
pub(super) async fn relay_to_url(
    observer: &Arc<Mutex<Observer>>,
    client: (impl Incoming, impl Outgoing),
    name: &str,
    url: &str,
    options: ClientOptions,
) -> Result<(), Failure> {
    let mut from_client = client.0.boxed();
    let server = open(url, options.clone()).map_err(|error| Failure::connect(name, &with_sources(&error)))?;
    let (mut from_server, mut to_server) = boxed(server);
    let first = match from_client.next().await {
        None => return Ok(()),
        Some(Ok(message)) => message.into_bytes().unwrap_or_default(),
        Some(error) => {
            let from_client = stream::iter([error]).chain(from_client);
            relay(observer, (from_client, client.1), (from_server, to_server)).await;
            return Ok(());
        }
    };
    observe(observer, |observer| observer.message(Side::Client, &first));
    if to_server.send(outbound(&to_server, first.clone())).await.is_ok()
        && Metadata::read(&first).is_some_and(|metadata| metadata.id.is_some())
        && let Some(response) = from_server.next().await
    {
        let sse = if lacks_streamable_http(&response) { open_sse(url, options).await.ok() } else { None };
        (from_server, to_server) = match sse {
            Some(server) => {
                observe(observer, |observer| observer.remark("the server supports only HTTP+SSE"));
                // There is no session to end.
                drop((from_server, to_server));
                let (from_server, mut to_server) = boxed(server);
                // If this fails, the stream from the server reports it.
                let _ = to_server.send(outbound(&to_server, first)).await;
                (from_server, to_server)
            }
            None => (stream::iter([response]).chain(from_server).boxed(), to_server),
        };
    }
    relay(observer, (from_client, client.1), (from_server, to_server)).await;
    Ok(())
}

/// Whether this may be the response of a server that supports only HTTP+SSE.
fn lacks_streamable_http(response: &Result<Inbound, ReceiveError>) -> bool {
    let Err(ReceiveError::Undelivered { why, .. }) = response else { return false };
    let Some(HttpError::Status { status, .. }) = why.error.downcast_ref() else { return false };
    matches!(*status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED)
}

fn boxed(server: (impl Incoming, impl Outgoing)) -> Connection {
    let needs_metadata = server.1.needs_metadata();
    (server.0.boxed(), BoxedSink { sink: Box::pin(server.1), needs_metadata })
}

/// The sink of either transport.
struct BoxedSink {
    sink: Pin<Box<dyn Sink<Outbound, Error = io::Error> + Send>>,
    needs_metadata: bool,
}

impl Sink<Outbound> for BoxedSink {
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sink.as_mut().poll_ready(context)
    }

    fn start_send(mut self: Pin<&mut Self>, message: Outbound) -> io::Result<()> {
        self.sink.as_mut().start_send(message)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sink.as_mut().poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sink.as_mut().poll_close(context)
    }
}

impl Outgoing for BoxedSink {
    fn needs_metadata(&self) -> bool {
        self.needs_metadata
    }
}
