//! Serves an application on a network.

use std::future::{Future, Ready, ready};
use std::io;
use std::net::TcpListener;
use std::pin::{Pin, pin};
use std::time::Duration;

use axum_server::Handle;
use axum_server::accept::Accept;
use mcpgen_runtime::router::RequestService;
use tokio::net::TcpStream;
use tokio_io_timeout::TimeoutStream;

use super::endpoint::Endpoint;

/// Timeout for receiving the headers of a request, and for idle HTTP/1.1 connections.
const HEADERS: Duration = Duration::from_secs(30);
/// Timeout for a write to a client that does not read.
const WRITE: Duration = Duration::from_secs(30);
/// How long connections may stay open after the endpoint has closed.
const GRACE: Duration = Duration::from_secs(5);

/// Serves an application with an endpoint until `shutdown` completes and the requests in flight have completed.
/// Connections have `TCP_NODELAY`, and clients that do not finish their headers or do not read their responses are
/// disconnected after 30 seconds. The shutdown takes at most
/// [`Limits::drain_timeout`](mcpgen_runtime::Limits::drain_timeout) plus six seconds.
///
/// ```no_run
/// use mcpgen_sdk::http::server::{EndpointOptions, listen};
/// use mcpgen_sdk::prelude::*;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let endpoint = Server::builder("greeter", "1.0.0").build().http(EndpointOptions::default())?;
/// let app = axum::Router::new().route_service("/mcp", endpoint.clone());
/// let listener = std::net::TcpListener::bind("127.0.0.1:3000")?;
/// let shutdown = async { tokio::signal::ctrl_c().await.unwrap_or(()) };
/// listen(listener, app, &endpoint, shutdown).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Fails if the listener cannot be used, or if accepting connections fails.
pub async fn listen<S: RequestService + Sync>(
    listener: TcpListener,
    app: axum::Router,
    endpoint: &Endpoint<S>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let handle = Handle::new();
    let server = axum_server::from_tcp(listener)?.acceptor(NoDelay).handle(handle.clone());
    let mut server = server.first_request_timeout(HEADERS);
    server.http_builder().http1().header_read_timeout(HEADERS);
    server
        .http_builder()
        .http2()
        .max_concurrent_streams(100)
        .max_header_list_size(16 << 10)
        .keep_alive_interval(Some(Duration::from_secs(30)))
        .keep_alive_timeout(Duration::from_secs(10));
    let mut serving = pin!(server.serve(app.into_make_service()));
    tokio::select! {
        ended = &mut serving => return ended,
        () = shutdown => {}
    }
    tokio::select! {
        ended = &mut serving => return ended,
        () = endpoint.close() => handle.graceful_shutdown(Some(GRACE)),
    }
    serving.await
}

/// Accepts connections with `TCP_NODELAY` and a write timeout, as [`listen`] does. To serve HTTPS, wrap it in
/// `axum_server::tls_rustls::RustlsAcceptor::new(config).acceptor(NoDelay)`.
#[derive(Clone, Copy, Debug)]
pub struct NoDelay;

impl<S> Accept<TcpStream, S> for NoDelay {
    type Stream = Pin<Box<TimeoutStream<TcpStream>>>;
    type Service = S;
    type Future = Ready<io::Result<(Self::Stream, S)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        ready(stream.set_nodelay(true).map(|()| {
            let mut stream = TimeoutStream::new(stream);
            stream.set_write_timeout(Some(WRITE));
            (Box::pin(stream), service)
        }))
    }
}
