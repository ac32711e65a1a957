//! Metadata of protected resources (RFC 9728) and authorization servers (RFC 8414, OpenID Connect Discovery).

use serde::{Deserialize, Serialize};
use url::Url;

use crate::fetch::{endpoint, scopes, strings};

/// Metadata of a protected resource, such as an MCP server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ProtectedResourceMetadata {
    /// The resource's identifier: the canonical URL of the MCP server.
    pub resource: String,
    /// The issuers whose access tokens the resource accepts.
    #[serde(default, deserialize_with = "strings", skip_serializing_if = "Vec::is_empty")]
    pub authorization_servers: Vec<String>,
    /// Scopes needed for basic use.
    #[serde(default, deserialize_with = "scopes", skip_serializing_if = "Option::is_none")]
    pub scopes_supported: Option<Vec<String>>,
    /// How clients send access tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer_methods_supported: Option<Vec<String>>,
    /// The resource's name for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// A page for developers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_documentation: Option<String>,
    /// Algorithms that the resource accepts in DPoP proofs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_signing_alg_values_supported: Option<Vec<String>>,
    /// Whether the resource accepts only access tokens bound to a DPoP key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_bound_access_tokens_required: Option<bool>,
}

/// The parts of an authorization server's metadata that clients and resource servers use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct AuthorizationServerMetadata {
    /// The issuer.
    pub issuer: String,
    /// Where users authorize clients.
    #[serde(default, deserialize_with = "endpoint")]
    pub authorization_endpoint: Option<Url>,
    /// Where clients obtain tokens.
    #[serde(default, deserialize_with = "endpoint")]
    pub token_endpoint: Option<Url>,
    /// Where clients register.
    #[serde(default, deserialize_with = "endpoint")]
    pub registration_endpoint: Option<Url>,
    /// Where the public keys that verify access tokens are published.
    #[serde(default, deserialize_with = "endpoint")]
    pub jwks_uri: Option<Url>,
    /// Where clients revoke tokens.
    #[serde(default, deserialize_with = "endpoint")]
    pub revocation_endpoint: Option<Url>,
    /// Where resource servers introspect access tokens.
    #[serde(default, deserialize_with = "endpoint")]
    pub introspection_endpoint: Option<Url>,
    /// The supported scopes.
    #[serde(default, deserialize_with = "scopes")]
    pub scopes_supported: Option<Vec<String>>,
    /// How clients authenticate at the token endpoint. If absent, `client_secret_basic`.
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// The supported PKCE methods. If absent, the server does not support PKCE.
    pub code_challenge_methods_supported: Option<Vec<String>>,
    /// Whether the URL of a client ID metadata document can serve as a client ID.
    pub client_id_metadata_document_supported: Option<bool>,
    /// Whether authorization responses contain `iss` (RFC 9207).
    pub authorization_response_iss_parameter_supported: Option<bool>,
}

/// An issuer's URL has the scheme `https` or `http`, a host, and neither query nor fragment.
#[cfg(any(feature = "client", feature = "server"))]
pub(crate) fn issuer_url(issuer: &str) -> Option<Url> {
    let url: Url = issuer.parse().ok()?;
    let is_issuer = matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.fragment().is_none();
    is_issuer.then_some(url)
}

/// Returns the URLs of a resource's metadata in the order in which clients try them: for its path, then for its host.
#[must_use]
pub fn protected_resource_urls(resource: &Url) -> Vec<Url> {
    let at = |path: &str| with_path(resource, &format!("/.well-known/oauth-protected-resource{path}"));
    match resource.path().trim_end_matches('/') {
        "" => vec![at("")],
        path => vec![at(path), at("")],
    }
}

/// Returns the URLs of an authorization server's metadata in the order in which clients try them.
#[must_use]
pub fn authorization_server_urls(issuer: &Url) -> Vec<Url> {
    let at = |path: &str| with_path(issuer, path);
    match issuer.path().trim_end_matches('/') {
        "" => vec![at("/.well-known/oauth-authorization-server"), at("/.well-known/openid-configuration")],
        path => vec![
            at(&format!("/.well-known/oauth-authorization-server{path}")),
            at(&format!("/.well-known/openid-configuration{path}")),
            at(&format!("{path}/.well-known/openid-configuration")),
        ],
    }
}

/// Replaces the path and removes the query.
pub(crate) fn with_path(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_well_known_urls_in_order() {
        let urls = |list: Vec<Url>| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let url = |text: &str| text.parse::<Url>().expect("a URL");
        assert_eq!(
            urls(protected_resource_urls(&url("https://a.example/b/mcp?c=d"))),
            [
                "https://a.example/.well-known/oauth-protected-resource/b/mcp",
                "https://a.example/.well-known/oauth-protected-resource",
            ]
        );
        assert_eq!(
            urls(protected_resource_urls(&url("https://a.example/"))),
            ["https://a.example/.well-known/oauth-protected-resource"]
        );
        assert_eq!(
            urls(authorization_server_urls(&url("https://a.example/t"))),
            [
                "https://a.example/.well-known/oauth-authorization-server/t",
                "https://a.example/.well-known/openid-configuration/t",
                "https://a.example/t/.well-known/openid-configuration",
            ]
        );
        assert_eq!(urls(authorization_server_urls(&url("https://a.example"))).len(), 2);
    }
}
