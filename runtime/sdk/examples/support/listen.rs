//! Serves an endpoint over HTTP with `TCP_NODELAY`, timeouts for slow clients, and a shutdown that always completes.

use std::future::{Future, Ready, ready};
use std::io;
use std::net::TcpListener;
use std::pin::{Pin, pin};
use std::time::Duration;

use axum_server::Handle;
use axum_server::accept::Accept;
use mcpgen_sdk::http::server::Endpoint;
use tokio::net::TcpStream;
use tokio_io_timeout::TimeoutStream;

/// Timeout for a request's headers, and for idle HTTP/1.1 connections.
const HEADERS: Duration = Duration::from_secs(30);
/// Timeout for writing to a client that does not read.
const WRITE: Duration = Duration::from_secs(30);
/// How long connections may stay open once the endpoint has closed.
const GRACE: Duration = Duration::from_secs(5);

/// Serves `endpoint` at `/mcp` until `shutdown` completes and requests in flight have finished.
pub(crate) async fn listen(
    listener: TcpListener,
    endpoint: Endpoint,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let handle = Handle::new();
    let app = axum::Router::new().route_service("/mcp", endpoint.clone());
    let server = axum_server::from_tcp(listener)?.acceptor(Acceptor).handle(handle.clone());
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

/// Accepts connections with `TCP_NODELAY` and a write timeout. To serve HTTPS, wrap it in
/// `axum_server::tls_rustls::RustlsAcceptor::new(config).acceptor(Acceptor)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acceptor;

impl<S> Accept<TcpStream, S> for Acceptor {
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
