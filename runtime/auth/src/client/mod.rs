//! The client side of OAuth: gets access tokens for an MCP server.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use mcpgen_auth::client::{Grant, Loopback, OAuthClient, OAuthOptions};
//! use mcpgen_sdk::prelude::*;
//! use mcpgen_sdk::http::client::ClientOptions;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let url = "https://example.com/mcp";
//! let user_agent = Loopback::new(|url| Ok(println!("Open {url} to log in")));
//! let oauth = OAuthClient::new(url, OAuthOptions::new("Visitor", Grant::AuthorizationCode(Arc::new(user_agent))))?;
//! let options = ClientOptions::default().with_authorization(Arc::new(oauth));
//! let client = Client::builder("visitor", "1.0.0").connect_http(url, options).await?;
//! println!("{:?}", client.tools().await?);
//! # Ok(())
//! # }
//! ```
//!
//! # Files
//!
//! * `oauth_client` responds to the server's challenges, with the settings in `options` and `grant`. `grants` gets new
//!   credentials.
//! * `discovery` finds the authorization server, and `registration` gets a client ID, unless there is a
//!   `registered_client`.
//! * `authorization_code` sends the user to the authorization server, through a `user_agent`: `loopback` or `manual`.
//! * `token` sends token requests. The responses become `credentials`, which `refresh` refreshes and revokes.

mod authorization_code;
mod credentials;
mod discovery;
mod error;
mod grant;
mod grants;
mod loopback;
mod manual;
mod oauth_client;
mod options;
mod refresh;
mod registered_client;
mod registration;
mod token;
mod user_agent;

pub use error::{ErrorResponse, OAuthError};
pub use grant::{AssertionSource, Grant, IdentityProvider};
pub use loopback::Loopback;
pub use manual::Manual;
pub use oauth_client::OAuthClient;
pub use options::OAuthOptions;
pub use registered_client::{ClientAuthentication, RegisteredClient};
pub use user_agent::{AuthorizationRequest, PendingLogin, UserAgent};
