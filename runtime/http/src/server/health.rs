//! Health checks for load balancers and orchestrators.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::{ALLOW, CACHE_CONTROL};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use serde_json::json;
use tower::Service;

use super::body::{Body, empty, json as json_response};
use super::endpoint::Endpoint;
use super::state::EndpointState;

/// Answers an endpoint's health checks, with GET and HEAD.
///
/// A live check succeeds while the process can respond. A ready check fails with 503 once [`Endpoint::close`] is
/// called, so that a load balancer sends requests elsewhere while those in flight finish. Its body says how many
/// sessions there are, and whether the store shared by the [replicas](super::EndpointOptions::replicas) responds.
///
/// ```
/// use mcpgen_sdk::prelude::*;
/// use mcpgen_sdk::http::server::{EndpointOptions, Health};
///
/// let endpoint = Server::builder("weather", "1.4.0").build().http(EndpointOptions::default())?;
/// let app: axum::Router = axum::Router::new()
///     .route_service("/livez", Health::live(&endpoint))
///     .route_service("/readyz", Health::ready(&endpoint))
///     .route_service("/mcp", endpoint);
/// # Ok::<(), mcpgen_sdk::server::ServeError>(())
/// ```
///
/// A ready check succeeds even if the store is unavailable, because modern requests and the replica's own sessions do
/// not need it. To make it fail, use [`require_store`](Self::require_store).
#[derive(Clone)]
pub struct Health {
    shared: Arc<EndpointState>,
    check: Check,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Live,
    Ready { requires_store: bool },
}

const STORE_TIMEOUT: Duration = Duration::from_secs(1);

impl Health {
    /// Checks that the process responds.
    #[must_use]
    pub fn live<S>(endpoint: &Endpoint<S>) -> Self {
        Self { shared: Arc::clone(&endpoint.shared), check: Check::Live }
    }

    /// Checks that the endpoint accepts requests.
    #[must_use]
    pub fn ready<S>(endpoint: &Endpoint<S>) -> Self {
        Self { shared: Arc::clone(&endpoint.shared), check: Check::Ready { requires_store: false } }
    }

    /// Makes a ready check fail while the shared store is unavailable.
    #[must_use]
    pub fn require_store(mut self) -> Self {
        if self.check != Check::Live {
            self.check = Check::Ready { requires_store: true };
        }
        self
    }

    async fn respond(self, method: Method) -> Response<Body> {
        if method != Method::GET && method != Method::HEAD {
            let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let (status, body) = match self.check {
            Check::Live => (StatusCode::OK, json!({ "status": "live" })),
            Check::Ready { requires_store } => self.readiness(requires_store).await,
        };
        let mut response = json_response(status, mcpgen_types::to_vec(&body).into());
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }

    async fn readiness(&self, requires_store: bool) -> (StatusCode, serde_json::Value) {
        let mut body = json!({ "sessions": self.shared.sessions().len() });
        let store = match &self.shared.options.replicas {
            Some(replicas) => {
                let found = tokio::time::timeout(STORE_TIMEOUT, replicas.sessions.locate("health-check")).await;
                let is_available = found.is_ok_and(|found| found.is_ok());
                body["store"] = json!(if is_available { "available" } else { "unavailable" });
                is_available
            }
            None => true,
        };
        let is_closing = self.shared.closing.is_cancelled();
        let is_ready = !is_closing && (store || !requires_store);
        body["status"] = json!(match (is_ready, is_closing) {
            (true, _) => "ready",
            (false, true) => "closing",
            (false, false) => "the shared store is unavailable",
        });
        (if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, body)
    }
}

impl<B> Service<Request<B>> for Health {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.clone().respond(request.method().clone()).map(Ok).boxed()
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health").field("check", &self.check).finish_non_exhaustive()
    }
}
