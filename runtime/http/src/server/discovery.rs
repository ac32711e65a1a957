//! Server cards and catalogs, with which clients discover servers.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, CACHE_CONTROL,
    CONTENT_TYPE,
};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use mcpgen_types::Json;
use mcpgen_types::ext::server_card::ServerCard;
use serde_json::json;
use tower::Service;

use super::body::{Body, empty, json as json_response};

/// The media type of server cards.
const CARD: &str = "application/mcp-server-card+json";

/// Serves a server card or catalog with GET, to clients of every origin.
///
/// A card's recommended path is that of the endpoint followed by `/server-card`. A catalog's path is [`CATALOG_PATH`].
///
/// ```
/// use mcpgen_sdk::prelude::*;
/// use mcpgen_sdk::http::server::{CATALOG_PATH, Discovery};
/// use mcpgen_sdk::http::server::Listing;
///
/// let server = Server::builder("weather", "1.4.0").build();
/// let listing = Listing::new("com.example/weather", "Forecasts for every place.").remote("https://example.com/mcp");
/// let card = server.card(&listing)?;
/// let app: axum::Router = axum::Router::new()
///     .route_service("/mcp/server-card", Discovery::card(&card))
///     .route_service(CATALOG_PATH, Discovery::catalog([(&card, "https://example.com/mcp/server-card")]));
/// # Ok::<(), mcpgen_types::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Discovery {
    media_type: &'static str,
    document: Bytes,
}

/// The path of a domain's catalog.
pub const CATALOG_PATH: &str = "/.well-known/mcp/catalog.json";

impl Discovery {
    /// Serves a card.
    #[must_use]
    pub fn card(card: &ServerCard) -> Self {
        Self { media_type: CARD, document: mcpgen_types::to_vec(card).into() }
    }

    /// Serves a domain's catalog, which lists cards with their URLs.
    #[must_use]
    pub fn catalog<'c>(cards: impl IntoIterator<Item = (&'c ServerCard, &'c str)>) -> Self {
        let entries = cards.into_iter().map(|(card, url)| {
            let name = card.name.get();
            let title = card.title.as_ref().map_or(name, |title| title.get());
            json!({ "identifier": identifier(name), "displayName": title, "type": CARD, "url": url })
        });
        let entries: Vec<_> = entries.collect();
        let catalog = Json::from(&json!({ "specVersion": "draft", "entries": entries }));
        Self { media_type: "application/json", document: catalog.text().to_owned().into() }
    }

    fn respond(&self, method: &Method) -> Response<Body> {
        let mut response = match *method {
            Method::GET | Method::HEAD => json_response(StatusCode::OK, self.document.clone()),
            Method::OPTIONS => empty(StatusCode::NO_CONTENT),
            _ => empty(StatusCode::METHOD_NOT_ALLOWED),
        };
        let headers = response.headers_mut();
        for (name, value) in [
            (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
            (ACCESS_CONTROL_ALLOW_METHODS, "GET"),
            (ACCESS_CONTROL_ALLOW_HEADERS, "Accept, Content-Type"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if response.status() == StatusCode::OK {
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.media_type));
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
        } else {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, OPTIONS"));
        }
        response
    }
}

/// Returns a server's identifier in a catalog: `urn:air:example.com:weather` for `com.example/weather`.
fn identifier(name: &str) -> String {
    let (namespace, name) = name.split_once('/').unwrap_or((name, ""));
    let domain: Vec<&str> = namespace.rsplit('.').collect();
    format!("urn:air:{}:{name}", domain.join("."))
}

impl<B> Service<Request<B>> for Discovery {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ready(Ok(self.respond(request.method())))
    }
}
