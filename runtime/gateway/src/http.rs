//! Serves the gateway over HTTP.

use std::future::Future;
use std::io;
use std::net::TcpListener;

use axum::extract::Request;
use http::{StatusCode, Uri};
use mcpgen_auth::server::{JwtVerifier, ProtectedResource, ResourceOptions, ScopePolicy};
use mcpgen_sdk::http::server::{AllowedHosts, Endpoint, EndpointOptions, Health, listen};
use tower::{BoxError, Layer};

use crate::config::{Authorization, Http, check_listen};
use crate::gateway::Gateway;
use crate::sessions::Sessions;

/// The path of the endpoint.
pub const PATH: &str = "/mcp";

impl Gateway {
    /// Serves clients over HTTP at [`PATH`], with health checks at `/livez` and `/readyz`, until `shutdown` and the
    /// requests in flight have completed. `settings` are those of the configuration. Metrics have their own address.
    ///
    /// # Errors
    ///
    /// Fails if the settings of authorization are invalid, if other hosts could reach the listener without authorization, or if
    /// listening or accepting connections fails.
    pub async fn serve_http(
        &self,
        listener: TcpListener,
        settings: &Http,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), BoxError> {
        let servers = self.servers();
        let authorization = servers.config.authorization.as_ref();
        check_listen(listener.local_addr()?, authorization.is_some())?;
        let hosts = allowed_hosts(settings, authorization);
        let mut options = EndpointOptions::default()
            .with_allowed_hosts(hosts.clone())
            .with_sessions(settings.clients())
            // One principal must not use up all sessions.
            .with_sessions_per_owner(Sessions::per_principal(settings.clients()));
        options.replicas = self.stores().map(|stores| stores.replicas.clone());
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
        let gateway = self.clone();
        let metrics = axum::routing::get(move |request: Request| async move {
            match hosts.allow(&request.into_parts().0) {
                true => Ok(gateway.metrics()),
                false => Err((StatusCode::FORBIDDEN, "this host or origin is not allowed; see `http.allowed_hosts`")),
            }
        });
        let serve_metrics = async {
            let Some(address) = settings.metrics else { return std::future::pending().await };
            let app = axum::Router::new().route("/metrics", metrics);
            let listener = TcpListener::bind(address).map_err(|why| {
                io::Error::new(why.kind(), format!("cannot listen on http.metrics, {address}: {why}"))
            })?;
            listen(listener, app, &endpoint, std::future::pending()).await
        };
        tokio::select! {
            served = listen(listener, app, &endpoint, shutdown) => Ok(served?),
            failed = serve_metrics => Ok(failed?),
        }
    }
}

fn allowed_hosts(settings: &Http, authorization: Option<&Authorization>) -> AllowedHosts {
    let resource = authorization.and_then(|it| Some(it.resource.parse::<Uri>().ok()?.authority()?.to_string()));
    let metrics = settings.metrics.map(|address| address.to_string());
    let local = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).into_iter();
    AllowedHosts::these(local.chain(settings.allowed_hosts.iter().cloned()).chain(resource).chain(metrics))
}

fn protected_resource(authorization: &Authorization) -> Result<ProtectedResource, BoxError> {
    let Authorization { resource, issuer, scopes } = authorization;
    let mut options = ResourceOptions::new(resource, issuer);
    options.scopes = ScopePolicy::default().require(scopes);
    options.name = Some("mcpgen-gateway".to_owned());
    Ok(ProtectedResource::new(options, JwtVerifier::new(issuer, resource)?)?)
}
