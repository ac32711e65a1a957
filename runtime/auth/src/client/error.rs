//! Authorization errors.

use http::StatusCode;
use tower::BoxError;

use crate::fetch::FetchError;
use crate::jose::JoseError;
use crate::store::StoreError;

/// Why no access token could be obtained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OAuthError {
    /// Metadata, a registration or a token could not be requested.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The protected resource metadata is for another resource.
    #[error(
        "the protected resource metadata is for `{found}` and not for `{expected}`; its `resource` must be the server's \
         URL or a part of its path"
    )]
    ResourceMismatch {
        /// The resource in the metadata.
        found: String,
        /// The URL of the MCP server.
        expected: String,
    },
    /// The authorization server's metadata belongs to another issuer.
    #[error("the metadata of the authorization server `{expected}` has the issuer `{found}`; they must be equal")]
    IssuerMismatch {
        /// The issuer in the metadata.
        found: String,
        /// The issuer that the resource names.
        expected: String,
    },
    /// No authorization server metadata was found.
    #[error("the authorization server `{0}` has no metadata at its well-known URLs")]
    NoMetadata(String),
    /// The metadata lacks a member that the grant needs.
    #[error("the metadata of the authorization server `{issuer}` has no `{member}`")]
    MissingMember {
        /// The issuer.
        issuer: String,
        /// The missing member.
        member: &'static str,
    },
    /// The authorization server does not support PKCE with S256.
    #[error("the authorization server `{0}` does not support PKCE with S256 (`code_challenge_methods_supported`)")]
    NoPkce(String),
    /// A URL in the settings, a challenge or the metadata is not valid.
    #[error("`{0}` is not a valid URL")]
    Url(String),
    /// The issuer of the configured client is not a URL.
    #[error(
        "the issuer of `OAuthOptions::client` is `{0}`; write the URL of the authorization server, such as \
         `https://login.example.com`"
    )]
    Issuer(String),
    /// The configured client is registered with another authorization server.
    #[error(
        "the configured client is registered with `{configured}`, but the server now uses `{found}`; configure a client \
         of that authorization server"
    )]
    OtherIssuer {
        /// The issuer of the configured client.
        configured: String,
        /// The issuer that the server uses.
        found: String,
    },
    /// The URL of the client ID metadata document cannot serve as a client ID.
    #[error("`OAuthOptions::client_metadata_url` is `{0}`; it must be an `https` URL with a path")]
    ClientMetadataUrl(String),
    /// The client has no client ID, and cannot register for one.
    #[error(
        "the authorization server `{0}` supports neither client ID metadata documents nor dynamic registration; register \
         a client and set `OAuthOptions::client`"
    )]
    NoRegistration(String),
    /// The authorization server refused to register the client.
    #[error(
        "the authorization server refused the registration of a client with redirect URI `{redirect_uri}`: {error}"
    )]
    Registration {
        /// The redirect URI to register.
        redirect_uri: String,
        /// The server's error.
        error: ErrorResponse,
    },
    /// The authorization response does not belong to this client's request. Its contents are not shown.
    #[error("the authorization response is not valid: {0}; it may be an attack, so log in again")]
    AuthorizationResponse(&'static str),
    /// The user or the authorization server refused the authorization.
    #[error("the authorization was refused: {0}")]
    Refused(ErrorResponse),
    /// The token endpoint refused the request.
    #[error("the token endpoint refused the request: {0}")]
    Token(ErrorResponse),
    /// The token or revocation endpoint failed: with a server error, or with another error status and no OAuth error.
    #[error("`{url}` responded with {status}")]
    Endpoint {
        /// The URL, without its query.
        url: String,
        /// The status.
        status: StatusCode,
    },
    /// The token endpoint's response is not valid.
    #[error("the response of the token endpoint is not valid: {0}")]
    TokenResponse(&'static str),
    /// The grant needs [`OAuthOptions::client`](super::OAuthOptions::client), which is not set.
    #[error("this grant needs a client ID; set `OAuthOptions::client`")]
    NoClient,
    /// The client of [`Grant::JwtBearer`](super::Grant::JwtBearer) has no issuer.
    #[error(
        "the issuer is not configured; set `OAuthOptions::client` with `RegisteredClient::of_issuer`, so that no other \
         authorization server receives the assertion"
    )]
    NoIssuer,
    /// The user agent failed.
    #[error("the user could not be asked to log in")]
    UserAgent(#[source] BoxError),
    /// No assertion could be obtained.
    #[error("the assertion is not available")]
    Assertion(#[source] BoxError),
    /// A key could not be used.
    #[error("the client's key cannot be used")]
    Key(#[from] JoseError),
    /// The credential store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The HTTP client could not be created.
    #[error("the HTTP client cannot be created")]
    Http(#[from] reqwest::Error),
}

/// The `error` and `error_description` of an OAuth error response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorResponse {
    /// The error code, such as `invalid_grant`.
    pub error: String,
    /// The description without control characters, at most 256 characters.
    pub description: Option<String>,
}

impl ErrorResponse {
    /// Removes control characters and shortens the texts.
    pub(super) fn new(error: &str, description: Option<&str>) -> Self {
        let printable = |text: &str, most| text.chars().filter(|char| !char.is_control()).take(most).collect();
        Self { error: printable(error, 64), description: description.map(|text| printable(text, 256)) }
    }
}

impl std::fmt::Display for ErrorResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.description {
            Some(description) => write!(f, "{}: {description}", self.error),
            None => f.write_str(&self.error),
        }
    }
}
