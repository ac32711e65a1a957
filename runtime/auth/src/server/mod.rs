//! The server side of OAuth: an MCP server that accepts only requests with access tokens.
//!
//! ```no_run
//! use mcpgen_auth::server::{Identity, JwtVerifier, ProtectedResource, ResourceOptions, ScopePolicy};
//! use mcpgen_sdk::prelude::*;
//! use mcpgen_sdk::http::server::EndpointOptions;
//! use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
//! use tower::Layer;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let (url, issuer) = ("https://mcp.example.com/mcp", "https://login.example.com");
//! let mut options = ResourceOptions::new(url, issuer);
//! options.scopes = ScopePolicy::default().require(["mcp:read"]).for_tool("delete", ["mcp:write"]);
//! let resource = ProtectedResource::new(options, JwtVerifier::new(issuer, url)?)?;
//!
//! let greet = Tool::new("greet", ToolInputSchema::new());
//! let server = Server::builder("greeter", "1.0.0")
//!     .tool(greet, |context: Context| async move {
//!         let user = Identity::of(&context).map_or("nobody", |identity| &identity.subject);
//!         format!("hello, {user}")
//!     })
//!     .build();
//! let endpoint = resource.layer(server.http(EndpointOptions::default())?);
//! let mut app = axum::Router::new().route_service("/mcp", endpoint);
//! for path in resource.metadata_paths() {
//!     app = app.route_service(&path, resource.metadata_service());
//! }
//! axum::serve(tokio::net::TcpListener::bind("127.0.0.1:3000").await?, app).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Files
//!
//! * `resource` is the layer and the metadata, with the settings in `options` and `scopes`.
//! * `verifier` is the trait for token verifiers, implemented by `jwt`, which gets the issuer's keys from `jwks`, and
//!   by `introspection`. A verified token yields an `identity`.
//! * `dpop` checks proofs, and `nonce` their nonces. `operation` finds out what a request does. `refusal` creates error
//!   responses.

mod dpop;
mod identity;
mod introspection;
mod jwks;
mod jwt;
mod nonce;
mod operation;
mod options;
mod refusal;
mod resource;
mod scopes;
mod verifier;

pub use identity::Identity;
pub use introspection::IntrospectionVerifier;
pub use jwt::JwtVerifier;
pub use nonce::DpopNonces;
pub use options::{DpopPolicy, ResourceOptions};
pub use resource::{MetadataService, Protected, ProtectedResource, ResourceError};
pub use scopes::ScopePolicy;
pub use verifier::{TokenError, TokenVerifier, VerifierError};
