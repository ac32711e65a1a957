//! Gets a client ID: from a registered client, a client ID metadata document, or dynamic registration (RFC 7591).

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::discovery::Discovered;
use super::error::{ErrorResponse, OAuthError};
use super::options::OAuthOptions;
use super::registered_client::ClientAuthentication;
use crate::fetch::{Fetcher, is_local, seconds};
use crate::store::{EntryKind, StoreKey};

/// A client ID, and how to authenticate with it at the token endpoint.
#[derive(Clone, Debug)]
pub(super) struct Identification {
    pub(super) id: String,
    pub(super) authentication: ClientAuthentication,
    /// The registered method. `None` lets the client choose one that the metadata lists.
    pub(super) method: Option<String>,
}

impl Identification {
    pub(super) fn public(id: String) -> Self {
        Self { id, authentication: ClientAuthentication::None, method: None }
    }
}

/// Returns the client ID for an authorization server. Registers the client if necessary.
pub(super) async fn identify(
    fetcher: &Fetcher,
    options: &OAuthOptions,
    found: &Discovered,
    redirect_uri: &str,
) -> Result<Identification, OAuthError> {
    if let Some(registered) = registered(options, &found.server.issuer)? {
        return Ok(registered);
    }
    let documents = found.server.client_id_metadata_document_supported == Some(true);
    if let Some(url) = options.client_metadata_url.as_ref().filter(|_| documents) {
        return Ok(Identification::public(url.clone()));
    }
    let Some(endpoint) = &found.server.registration_endpoint else {
        return Err(OAuthError::NoRegistration(found.server.issuer.clone()));
    };
    let key = store_key(options, &found.server.issuer);
    let stored = load(options, &key).await?;
    if let Some(stored) = stored.filter(|stored| stored.fits(redirect_uri)) {
        return Ok(stored.into());
    }
    let text = register(fetcher, options, found, endpoint, redirect_uri).await?;
    let registered: Registered = crate::fetch::json(endpoint, &text)?;
    let registered = Registered { redirect_uri: redirect_uri.to_owned(), ..registered };
    options.store.save(&key, &registered.to_text()).await?;
    Ok(registered.into())
}

/// Returns the configured client.
///
/// Fails if it is registered with another authorization server.
pub(super) fn registered(options: &OAuthOptions, issuer: &str) -> Result<Option<Identification>, OAuthError> {
    let Some(client) = &options.client else { return Ok(None) };
    match &client.issuer {
        Some(configured) if configured != issuer => {
            Err(OAuthError::OtherIssuer { configured: configured.clone(), found: issuer.to_owned() })
        }
        _ => Ok(Some(Identification {
            id: client.id.clone(),
            authentication: client.authentication.clone(),
            method: None,
        })),
    }
}

pub(super) async fn stored(options: &OAuthOptions, issuer: &str) -> Result<Option<Identification>, OAuthError> {
    Ok(load(options, &store_key(options, issuer)).await?.map(Into::into))
}

async fn load(options: &OAuthOptions, key: &StoreKey) -> Result<Option<Registered>, OAuthError> {
    let stored = options.store.load(key).await?;
    Ok(stored.and_then(|text| serde_json::from_str(text.expose_secret()).ok()))
}

/// Removes a stored registration that the authorization server no longer accepts.
pub(super) async fn forget(options: &OAuthOptions, issuer: &str) -> Result<(), OAuthError> {
    Ok(options.store.remove(&store_key(options, issuer)).await?)
}

/// The key contains the issuer, so that no authorization server receives the client ID of another.
fn store_key(options: &OAuthOptions, issuer: &str) -> StoreKey {
    StoreKey { kind: EntryKind::Registration, server: issuer.to_owned(), user: options.user.clone() }
}

async fn register(
    fetcher: &Fetcher,
    options: &OAuthOptions,
    found: &Discovered,
    endpoint: &Url,
    redirect_uri: &str,
) -> Result<SecretString, OAuthError> {
    let is_native =
        redirect_uri.parse().is_ok_and(|url: Url| is_local(&url) || !matches!(url.scheme(), "http" | "https"));
    let mut metadata = json!({
        "client_name": options.client_name,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": preferred_method(found),
        "application_type": if is_native { "native" } else { "web" },
    });
    if options.dpop {
        metadata["dpop_bound_access_tokens"] = true.into();
    }
    let reply = fetcher.post_json(endpoint, &metadata).await?;
    if reply.status.is_success() {
        return Ok(reply.body);
    }
    let error = error_response(&reply.body).unwrap_or_else(|| ErrorResponse::new(reply.status.as_str(), None));
    Err(OAuthError::Registration { redirect_uri: redirect_uri.to_owned(), error })
}

/// The first method that both client and authorization server support. Clients on the user's machine cannot keep a
/// secret, so `none` comes first.
fn preferred_method(found: &Discovered) -> &'static str {
    let supported = found.server.token_endpoint_auth_methods_supported.as_deref();
    let Some(supported) = supported else { return "client_secret_basic" };
    let ours = ["none", "client_secret_basic", "client_secret_post"];
    ours.into_iter().find(|method| supported.iter().any(|known| known == method)).unwrap_or("none")
}

pub(super) fn error_response(body: &SecretString) -> Option<ErrorResponse> {
    #[derive(Deserialize)]
    struct Body {
        error: String,
        #[serde(default)]
        error_description: Value,
    }
    let body: Body = serde_json::from_str(body.expose_secret()).ok()?;
    (!body.error.is_empty()).then(|| ErrorResponse::new(&body.error, body.error_description.as_str()))
}

/// A registration, in the format in which the authorization server sends it. The store uses the same format.
#[derive(Deserialize)]
struct Registered {
    client_id: String,
    #[serde(default)]
    client_secret: Option<String>,
    #[serde(default)]
    token_endpoint_auth_method: Option<String>,
    /// 0 or `None` means never.
    #[serde(default, deserialize_with = "seconds")]
    client_secret_expires_at: Option<u64>,
    #[serde(default)]
    redirect_uri: String,
}

impl Registered {
    /// Whether the registration is valid and covers the redirect URI. The port of a loopback URI may differ (RFC 8252).
    fn fits(&self, redirect_uri: &str) -> bool {
        let is_current = self.client_secret_expires_at.is_none_or(|at| at == 0 || at > crate::util::now());
        let without_port = |uri: &str| {
            let mut url: Url = uri.parse().ok()?;
            let is_loopback = is_local(&url) && url.scheme() == "http";
            (!is_loopback || url.set_port(None).is_ok()).then_some(url)
        };
        is_current && without_port(&self.redirect_uri) == without_port(redirect_uri)
    }

    fn to_text(&self) -> SecretString {
        let Self { client_id, client_secret, token_endpoint_auth_method, client_secret_expires_at, redirect_uri } =
            self;
        json!({
            "client_id": client_id,
            "client_secret": client_secret,
            "token_endpoint_auth_method": token_endpoint_auth_method,
            "client_secret_expires_at": client_secret_expires_at,
            "redirect_uri": redirect_uri,
        })
        .to_string()
        .into()
    }
}

impl From<Registered> for Identification {
    fn from(registered: Registered) -> Self {
        let secret = registered.client_secret.filter(|secret| !secret.is_empty());
        let secret = secret.filter(|_| registered.token_endpoint_auth_method.as_deref() != Some("none"));
        let authentication =
            secret.map_or(ClientAuthentication::None, |secret| ClientAuthentication::Secret(secret.into()));
        Self { id: registered.client_id, authentication, method: registered.token_endpoint_auth_method }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Grant, RegisteredClient};
    use crate::fetch::NetworkPolicy;
    use crate::metadata::AuthorizationServerMetadata;

    #[tokio::test]
    async fn prefers_registered_clients_and_then_metadata_documents() {
        const DOCUMENT: &str = "https://app.example/client.json";
        let client = || RegisteredClient::public("registered");
        let fetcher = Fetcher::new(NetworkPolicy::for_server(&"https://mcp.example".parse().expect("a URL")));
        let fetcher = fetcher.expect("an HTTP client");
        // The client, whether it has a document, and whether the authorization server supports documents.
        let table = [
            (Some(client()), true, true, Ok("registered")),
            (Some(client().of_issuer("https://auth.example")), true, true, Ok("registered")),
            (Some(client().of_issuer("https://other.example")), true, true, Err("https://other.example")),
            (None, true, true, Ok(DOCUMENT)),
            (None, true, false, Err("neither client ID metadata documents nor dynamic registration")),
            (None, false, true, Err("neither client ID metadata documents nor dynamic registration")),
        ];
        for (client, has_document, supports_documents, expected) in table {
            let mut options = OAuthOptions::new("test", Grant::ClientCredentials);
            options.client = client;
            options.client_metadata_url = has_document.then(|| DOCUMENT.to_owned());
            let server = AuthorizationServerMetadata {
                issuer: "https://auth.example".to_owned(),
                client_id_metadata_document_supported: Some(supports_documents),
                ..AuthorizationServerMetadata::default()
            };
            let found = Discovered { resource: String::new(), scopes: None, server, has_no_metadata: false };
            let found = identify(&fetcher, &options, &found, "http://127.0.0.1/").await;
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.id, expected),
                (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
                (found, expected) => panic!("{found:?} instead of {expected:?}"),
            }
        }
    }
}
