//! Serves the gateway over HTTP.

use std::future::{Future, Ready, ready};
use std::io;
use std::net::TcpListener;
use std::pin::{Pin, pin};
use std::time::Duration;

use axum_server::Handle;
use axum_server::accept::Accept;
use http::Uri;
use mcpgen_auth::server::{JwtVerifier, ProtectedResource, ResourceOptions, ScopePolicy};
use mcpgen_sdk::http::server::{AllowedHosts, Endpoint, EndpointOptions, Health};
use tokio::net::TcpStream;
use tokio_io_timeout::TimeoutStream;
use tower::{BoxError, Layer};

use crate::config::{Authorization, Http};
use crate::gateway::Gateway;

/// The path of the endpoint.
pub const PATH: &str = "/mcp";
/// Timeout for receiving the headers of a request, and for idle HTTP/1.1 connections.
const HEADERS: Duration = Duration::from_secs(30);
/// Timeout for a write to a client that does not read.
const WRITE: Duration = Duration::from_secs(30);
/// How long connections may stay open after the endpoint has closed.
const GRACE: Duration = Duration::from_secs(5);

impl Gateway {
    /// Serves clients over HTTP at [`PATH`], with the checks `/livez` and `/readyz`, until `shutdown` completes and the
    /// requests in flight have completed. `settings` are those of the configuration.
    ///
    /// # Errors
    ///
    /// Fails if the settings of authorization are invalid, or if accepting connections fails.
    pub async fn serve_http(
        &self,
        listener: TcpListener,
        settings: &Http,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), BoxError> {
        let authorization = self.config().authorization.as_ref();
        let options = EndpointOptions::default()
            .with_allowed_hosts(allowed_hosts(settings, authorization))
            .with_sessions(settings.clients());
        let router = self.router();
        let endpoint = Endpoint::new(self.protocol_config(), router.clone(), router, options);
        let health = axum::Router::new()
            .route_service("/livez", Health::live(&endpoint))
            .route_service("/readyz", Health::ready(&endpoint));
        let app = match authorization {
            None => health.route_service(PATH, endpoint.clone()),
            Some(authorization) => {
                let resource = protected_resource(authorization)?;
                let app = health.route_service(PATH, resource.layer(endpoint.clone()));
                let paths = resource.metadata_paths();
                paths.iter().fold(app, |app, path| app.route_service(path, resource.metadata_service()))
            }
        };
        let handle = Handle::new();
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
            ended = &mut serving => return Ok(ended?),
            () = shutdown => {}
        }
        tokio::select! {
            ended = &mut serving => return Ok(ended?),
            () = endpoint.close() => handle.graceful_shutdown(Some(GRACE)),
        }
        Ok(serving.await?)
    }
}

fn allowed_hosts(settings: &Http, authorization: Option<&Authorization>) -> AllowedHosts {
    let resource = authorization.and_then(|it| Some(it.resource.parse::<Uri>().ok()?.authority()?.to_string()));
    let named: Vec<String> = settings.allowed_hosts.iter().cloned().chain(resource).collect();
    match named.is_empty() {
        true => AllowedHosts::default(),
        false => {
            let local = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
            AllowedHosts::these(named.into_iter().chain(local))
        }
    }
}

fn protected_resource(authorization: &Authorization) -> Result<ProtectedResource, BoxError> {
    let Authorization { resource, issuer, scopes } = authorization;
    let mut options = ResourceOptions::new(resource, issuer);
    options.scopes = ScopePolicy::default().require(scopes);
    options.name = Some("mcpgen-gateway".to_owned());
    Ok(ProtectedResource::new(options, JwtVerifier::new(issuer, resource)?)?)
}

/// Accepts connections with `TCP_NODELAY` and a write timeout.
#[derive(Clone, Copy, Debug)]
struct Acceptor;

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
