//! Finds an MCP server's authorization server (RFC 9728, RFC 8414).

use url::Url;

use super::error::OAuthError;
use crate::challenge::AuthChallenge;
use crate::fetch::{FetchError, Fetcher};
use crate::metadata::{
    AuthorizationServerMetadata, ProtectedResourceMetadata, authorization_server_urls, protected_resource_urls,
    with_path,
};

#[derive(Clone, Debug)]
pub(super) struct Discovered {
    /// The identifier of the resource to request tokens for.
    pub(super) resource: String,
    /// The scopes that the resource's metadata lists.
    pub(super) scopes: Option<Vec<String>>,
    /// The server's validated metadata.
    pub(super) server: AuthorizationServerMetadata,
    /// Whether the server has no metadata, as revision 2025-03-26 allows.
    pub(super) has_no_metadata: bool,
}

/// Finds the authorization server. `preferred` is the issuer to choose if the resource names several.
pub(super) async fn discover(
    fetcher: &Fetcher,
    server_url: &Url,
    challenge: Option<&AuthChallenge>,
    preferred: Option<&str>,
    legacy: bool,
) -> Result<Discovered, OAuthError> {
    let Some(resource) = resource_metadata(fetcher, server_url, challenge).await? else {
        return match legacy {
            true => discover_legacy(fetcher, server_url).await,
            false => Err(OAuthError::NoMetadata(server_url.to_string())),
        };
    };
    check_resource(&resource.resource, server_url)?;
    let servers = &resource.authorization_servers;
    let preferred = servers.iter().find(|issuer| Some(issuer.as_str()) == preferred);
    let Some(issuer) = preferred.or(servers.first()) else {
        return Err(OAuthError::MissingMember { issuer: resource.resource.clone(), member: "authorization_servers" });
    };
    let server = authorization_server(fetcher, issuer).await?;
    let server = server.ok_or_else(|| OAuthError::NoMetadata(issuer.clone()))?;
    Ok(Discovered { resource: resource.resource, scopes: resource.scopes_supported, server, has_no_metadata: false })
}

/// Requests the protected resource metadata from the URL in the challenge or, failing that, from the well-known URLs.
async fn resource_metadata(
    fetcher: &Fetcher,
    server_url: &Url,
    challenge: Option<&AuthChallenge>,
) -> Result<Option<ProtectedResourceMetadata>, OAuthError> {
    if let Some(url) = challenge.and_then(|challenge| challenge.get("resource_metadata")) {
        let url: Url = url.parse().map_err(|_| OAuthError::Url(url.to_owned()))?;
        return Ok(Some(fetcher.get(&url).await?));
    }
    match fetcher.get_first(protected_resource_urls(server_url)).await {
        // Servers without metadata may respond with a JSON error and a successful status.
        Err(FetchError::Missing { .. }) => Ok(None),
        metadata => Ok(metadata?),
    }
}

/// Checks that the metadata is about this server: the resource must be the server's URL or a prefix of it.
fn check_resource(resource: &str, server_url: &Url) -> Result<(), OAuthError> {
    let mismatch = || OAuthError::ResourceMismatch { found: resource.to_owned(), expected: server_url.to_string() };
    let parsed: Url = resource.parse().map_err(|_| mismatch())?;
    let (prefix, path) = (parsed.path().trim_end_matches('/'), server_url.path());
    let contains_path = path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_plain = parsed.fragment().is_none() && (parsed.query().is_none() || parsed.query() == server_url.query());
    match parsed.origin() == server_url.origin() && contains_path && is_plain {
        true => Ok(()),
        false => Err(mismatch()),
    }
}

/// Requests an issuer's metadata, and checks that it names this issuer.
pub(super) async fn authorization_server(
    fetcher: &Fetcher,
    issuer: &str,
) -> Result<Option<AuthorizationServerMetadata>, OAuthError> {
    let url: Url = issuer.parse().map_err(|_| OAuthError::Url(issuer.to_owned()))?;
    let metadata: Option<AuthorizationServerMetadata> = fetcher.get_first(authorization_server_urls(&url)).await?;
    match metadata {
        Some(metadata) if metadata.issuer != issuer => {
            Err(OAuthError::IssuerMismatch { found: metadata.issuer, expected: issuer.to_owned() })
        }
        metadata => Ok(metadata),
    }
}

/// Looks for the authorization server where 2025-03-26 puts it: at the server's origin, with default paths if there is
/// no metadata.
async fn discover_legacy(fetcher: &Fetcher, server_url: &Url) -> Result<Discovered, OAuthError> {
    let origin = server_url.origin().ascii_serialization();
    let resource = canonical(server_url);
    if let Some(server) = authorization_server(fetcher, &origin).await? {
        return Ok(Discovered { resource, scopes: None, server, has_no_metadata: false });
    }
    let at = |path| Some(with_path(server_url, path));
    let server = AuthorizationServerMetadata {
        issuer: origin,
        authorization_endpoint: at("/authorize"),
        token_endpoint: at("/token"),
        registration_endpoint: at("/register"),
        ..AuthorizationServerMetadata::default()
    };
    Ok(Discovered { resource, scopes: None, server, has_no_metadata: true })
}

/// A server's URL without a fragment, and without the slash of an empty path.
pub(super) fn canonical(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    let is_bare = url.path() == "/" && url.query().is_none();
    let text = url.to_string();
    if is_bare { text.trim_end_matches('/').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_resources_that_contain_the_server() {
        let table = [
            ("https://a.example/mcp", "https://a.example/mcp", true),
            ("https://a.example", "https://a.example/mcp", true),
            ("https://a.example/", "https://a.example/mcp", true),
            ("https://A.EXAMPLE/mcp", "https://a.example/mcp", true),
            ("https://a.example/mcp/", "https://a.example/mcp", true),
            ("https://a.example/mc", "https://a.example/mcp", false),
            ("https://a.example/mcp/other", "https://a.example/mcp", false),
            ("https://a.example:8443/mcp", "https://a.example/mcp", false),
            ("http://a.example/mcp", "https://a.example/mcp", false),
            ("https://evil.example/mcp", "https://a.example/mcp", false),
            ("https://a.example/mcp#a", "https://a.example/mcp", false),
            ("https://a.example/mcp?tenant=b", "https://a.example/mcp", false),
            ("not a URL", "https://a.example/mcp", false),
        ];
        for (resource, server, expected) in table {
            let server = server.parse().expect("a URL");
            assert_eq!(check_resource(resource, &server).is_ok(), expected, "{resource}");
        }
    }

    #[test]
    fn formats_canonical_urls() {
        for (url, expected) in
            [("https://A.example/", "https://a.example"), ("https://a.example/mcp#b", "https://a.example/mcp")]
        {
            assert_eq!(canonical(&url.parse().expect("a URL")), expected);
        }
    }
}
