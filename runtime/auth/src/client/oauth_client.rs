//! The OAuth client for one MCP server.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use mcpgen_sdk::http::client::{Authorize, AuthorizeRequest, Challenge};
use secrecy::ExposeSecret;
use tokio::time::Instant;
use tower::BoxError;
use url::Url;

use super::credentials::Credentials;
use super::discovery::{Discovered, discover};
use super::error::OAuthError;
use super::grant::Grant;
use super::options::OAuthOptions;
use super::token::{Nonces, header};
use crate::challenge::AuthChallenge;
use crate::dpop::DPOP;
use crate::fetch::{Fetcher, NetworkPolicy};
use crate::metadata::issuer_url;
use crate::store::{EntryKind, StoreKey};
use crate::util::sha256;

/// If the server responds with 401 this soon after a login, the client does not log in again.
const GIVE_UP: Duration = Duration::from_secs(60);

/// Gets access tokens for one MCP server, and authorizes requests with them.
///
/// Without stored credentials, nothing happens until the server responds with 401. Then the client finds the
/// authorization server and obtains a token, and the request is sent again. Tokens are refreshed before they expire,
/// and more scopes are requested after a 403 with `insufficient_scope`. Concurrent requests wait for the same token.
pub struct OAuthClient {
    server_url: Url,
    pub(super) options: OAuthOptions,
    pub(super) fetcher: Fetcher,
    pub(super) nonces: Nonces,
    /// Nonces of the MCP server, which may share its origin with a token endpoint.
    server_nonces: Nonces,
    state: Mutex<State>,
    /// Held while new credentials are requested, so that no token is refreshed twice.
    renewing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
pub(super) struct State {
    is_loaded: bool,
    /// Hash of the text last read from the store or written to it.
    stored: Option<String>,
    pub(super) credentials: Option<Arc<Credentials>>,
    /// When the credentials were granted. `None` once the server has accepted them.
    pub(super) granted: Option<Instant>,
    /// How many times each set of scopes was requested after a 403.
    step_ups: BTreeMap<BTreeSet<String>, u32>,
}

impl OAuthClient {
    /// Creates a client for the MCP server at this URL.
    ///
    /// # Errors
    ///
    /// Fails if the URL is invalid, if the HTTP client cannot be created, or like [`with_fetcher`](Self::with_fetcher).
    pub fn new(server_url: &str, options: OAuthOptions) -> Result<Self, OAuthError> {
        let server_url: Url = server_url.parse().map_err(|_| OAuthError::Url(server_url.to_owned()))?;
        let policy = options.network_policy.unwrap_or_else(|| NetworkPolicy::for_server(&server_url));
        Self::with_fetcher(server_url, options, Fetcher::new(policy)?)
    }

    /// Creates a client that sends its requests with this fetcher.
    ///
    /// # Errors
    ///
    /// Fails if the options contain an invalid client metadata URL or issuer, or if the grant is [`Grant::JwtBearer`]
    /// and the client has no issuer.
    pub fn with_fetcher(server_url: Url, options: OAuthOptions, fetcher: Fetcher) -> Result<Self, OAuthError> {
        if let Some(url) = &options.client_metadata_url {
            let is_valid = |url: &Url| url.scheme() == "https" && url.path() != "/";
            url.parse().ok().filter(is_valid).ok_or_else(|| OAuthError::ClientMetadataUrl(url.clone()))?;
        }
        let issuer = options.client.as_ref().and_then(|client| client.issuer.as_deref());
        if let Some(issuer) = issuer.filter(|issuer| issuer_url(issuer).is_none()) {
            return Err(OAuthError::Issuer(issuer.to_owned()));
        }
        if matches!(options.grant, Grant::JwtBearer(_)) && issuer.is_none() {
            return Err(OAuthError::NoIssuer);
        }
        Ok(Self {
            server_url,
            options,
            fetcher,
            nonces: Nonces::default(),
            server_nonces: Nonces::default(),
            state: Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
        })
    }

    /// Deletes the credentials, from the store as well, and revokes the tokens if the authorization server supports
    /// that (RFC 7009). The next 401 starts a new login.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read or written, or if the tokens could not be revoked. The credentials are deleted
    /// from memory in any case.
    pub async fn log_out(&self) -> Result<(), OAuthError> {
        let _renewing = self.renewing.lock().await;
        let loaded = self.load().await;
        let credentials =
            std::mem::replace(&mut *self.state(), State { is_loaded: true, ..State::default() }).credentials;
        self.options.store.remove(&self.store_key()).await?;
        loaded?;
        match credentials {
            Some(credentials) => self.revoke(&credentials).await,
            None => Ok(()),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn store_key(&self) -> StoreKey {
        StoreKey { kind: EntryKind::Credentials, server: self.server_url.to_string(), user: self.options.user.clone() }
    }

    async fn headers(&self, request: AuthorizeRequest<'_>) -> Result<Option<HeaderMap>, OAuthError> {
        let credentials = match request.refused {
            None => self.current().await?,
            Some(challenge) => self.respond(request.url, challenge).await?,
        };
        let Some(credentials) = credentials else { return Ok(None) };
        // Whatever URL the transport requests, only its own server receives a token.
        if request.url.origin() != self.server_url.origin() {
            return Ok(None);
        }
        let mut headers = HeaderMap::from_iter([(AUTHORIZATION, credentials.authorization()?)]);
        if let Some(key) = &credentials.dpop {
            let (nonce, token) = (self.server_nonces.get(request.url), &credentials.access_token);
            let proof = key.proof(request.method.as_str(), request.url, nonce.as_deref(), Some(token))?;
            headers.insert(DPOP, header(&proof)?);
        }
        Ok(Some(headers))
    }

    /// Returns credentials for a first attempt. Loads stored ones, and refreshes those about to expire.
    async fn current(&self) -> Result<Option<Arc<Credentials>>, OAuthError> {
        let (credentials, is_loaded) = {
            let state = self.state();
            (state.credentials.clone(), state.is_loaded)
        };
        if is_loaded && !credentials.as_ref().is_some_and(|credentials| credentials.expires_soon()) {
            return Ok(credentials);
        }
        let _renewing = self.renewing.lock().await;
        self.load().await?;
        let credentials = self.state().credentials.clone();
        match credentials {
            Some(expiring) if expiring.expires_soon() => match self.refresh(&expiring).await {
                Ok(Some(renewed)) => Ok(Some(renewed)),
                // Once the token has expired, the server responds with 401, and the login starts again.
                Ok(None) => Ok(Some(expiring)),
                Err(error) if !expiring.has_expired() => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "the access token is not refreshed yet");
                    Ok(Some(expiring))
                }
                Err(error) => Err(error),
            },
            credentials => Ok(credentials),
        }
    }

    /// Loads the credentials from the store, because another process may have renewed them.
    pub(super) async fn load(&self) -> Result<(), OAuthError> {
        let text = self.options.store.load(&self.store_key()).await?;
        let mut state = self.state();
        state.is_loaded = true;
        let hash = text.as_ref().map(|text| sha256(text.expose_secret()));
        // If the store has not changed, the credentials in memory are at least as new, and newer if the store is
        // read-only.
        if hash == state.stored {
            return Ok(());
        }
        state.stored = hash;
        let stored = text.as_ref().and_then(Credentials::from_text);
        if let Some(stored) = stored.filter(|stored| stored.dpop.is_some() == self.options.dpop) {
            (state.credentials, state.granted) = (Some(Arc::new(stored)), None);
        }
        Ok(())
    }

    /// Obtains credentials after a request was refused. Returns `None` to give up.
    async fn respond(&self, url: &Url, refused: &Challenge) -> Result<Option<Arc<Credentials>>, OAuthError> {
        let has_nonce = self.server_nonces.read(url, &refused.headers);
        let challenges = AuthChallenge::parse(refused.www_authenticate());
        let of = |scheme: &str| challenges.iter().find(|challenge| challenge.scheme == scheme);
        let challenge = if self.options.dpop { of("dpop").or(of("bearer")) } else { of("bearer").or(of("dpop")) };
        let error = challenge.and_then(|challenge| challenge.get("error"));
        let credentials = self.state().credentials.clone();
        if error == Some("use_dpop_nonce") && credentials.as_ref().is_some_and(|known| known.dpop.is_some()) {
            // Without a new nonce, the server would refuse the next proof, too.
            return Ok(credentials.filter(|_| has_nonce));
        }
        if refused.status == StatusCode::FORBIDDEN && error != Some("insufficient_scope") {
            return Ok(None);
        }
        let _renewing = self.renewing.lock().await;
        self.load().await?;
        let credentials = self.state().credentials.clone();
        if let Some(renewed) = credentials.as_ref().filter(|known| !is_sent(known, refused.authorization.as_ref())) {
            return Ok(Some(Arc::clone(renewed)));
        }
        match refused.status {
            StatusCode::FORBIDDEN => {
                // The server accepted the token, or it would have responded with 401.
                self.state().granted = None;
                self.step_up(challenge).await
            }
            _ => self.renew(challenge, credentials).await,
        }
    }

    /// Replaces credentials that the server does not accept.
    async fn renew(
        &self,
        challenge: Option<&AuthChallenge>,
        refused: Option<Arc<Credentials>>,
    ) -> Result<Option<Arc<Credentials>>, OAuthError> {
        if refused.is_some() && self.state().granted.is_some_and(|granted| granted.elapsed() < GIVE_UP) {
            // The server refused a fresh token, so another login would not help.
            return Ok(None);
        }
        let preferred = self.options.client.as_ref().and_then(|client| client.issuer.as_deref());
        let preferred = preferred.or(refused.as_ref().map(|credentials| credentials.issuer.as_str()));
        let found = self.discover(challenge, preferred).await?;
        // Only the issuer may receive the refresh token.
        let refused = refused.filter(|refused| refused.issuer == found.server.issuer);
        if let Some(refused) = &refused
            && let Some(renewed) = self.refresh(refused).await?
        {
            return Ok(Some(renewed));
        }
        let mut scopes = self.initial_scopes(challenge, &found);
        scopes.extend(refused.iter().flat_map(|refused| refused.scopes.iter().cloned()));
        self.state().step_ups.clear();
        self.grant(&found, scopes).await.map(Some)
    }

    async fn step_up(&self, challenge: Option<&AuthChallenge>) -> Result<Option<Arc<Credentials>>, OAuthError> {
        let Some(required) = challenge.and_then(AuthChallenge::scopes) else { return Ok(None) };
        let mut scopes: BTreeSet<String> = required.into_iter().collect();
        let known = self.state().credentials.clone();
        scopes.extend(known.iter().flat_map(|credentials| credentials.scopes.iter().cloned()));
        {
            let mut state = self.state();
            let tries = state.step_ups.entry(scopes.clone()).or_default();
            if *tries >= self.options.max_step_ups {
                return Ok(None);
            }
            *tries += 1;
        }
        let found = self.discover(challenge, known.as_ref().map(|known| known.issuer.as_str())).await?;
        self.grant(&found, scopes).await.map(Some)
    }

    async fn discover(
        &self,
        challenge: Option<&AuthChallenge>,
        preferred: Option<&str>,
    ) -> Result<Discovered, OAuthError> {
        discover(&self.fetcher, &self.server_url, challenge, preferred, self.options.legacy_discovery).await
    }

    fn initial_scopes(&self, challenge: Option<&AuthChallenge>, found: &Discovered) -> BTreeSet<String> {
        let configured = self.options.scopes.clone();
        let scopes = configured.or_else(|| challenge.and_then(AuthChallenge::scopes)).or_else(|| found.scopes.clone());
        let mut scopes: BTreeSet<String> = scopes.unwrap_or_default().into_iter().collect();
        let is_offered = found.server.scopes_supported.iter().flatten().any(|scope| scope == "offline_access");
        let is_interactive = matches!(self.options.grant, Grant::AuthorizationCode(_));
        // If `offline_access` were the only scope, it would replace the authorization server's default scopes.
        if is_offered && is_interactive && !scopes.is_empty() {
            scopes.insert("offline_access".to_owned());
        }
        scopes
    }

    /// Makes these the current credentials, even if they cannot be stored.
    pub(super) async fn store(&self, credentials: Credentials) -> Arc<Credentials> {
        let text = credentials.to_text();
        let credentials = Arc::new(credentials);
        self.state().credentials = Some(Arc::clone(&credentials));
        match self.options.store.save(&self.store_key(), &text).await {
            Ok(()) => self.state().stored = Some(sha256(text.expose_secret())),
            Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "credentials are not stored"),
        }
        credentials
    }
}

/// Whether a request was sent with these credentials.
fn is_sent(credentials: &Credentials, sent: Option<&HeaderValue>) -> bool {
    credentials.authorization().is_ok_and(|header| Some(&header) == sent)
}

impl Authorize for OAuthClient {
    fn authorize<'a>(&'a self, request: AuthorizeRequest<'a>) -> BoxFuture<'a, Result<Option<HeaderMap>, BoxError>> {
        Box::pin(async move { self.headers(request).await.map_err(Into::into) })
    }

    fn login_timeout(&self) -> Duration {
        match &self.options.grant {
            Grant::AuthorizationCode(user_agent) => user_agent.timeout(),
            _ => Duration::ZERO,
        }
    }

    fn on_response(&self, url: &Url, headers: &HeaderMap) {
        self.server_nonces.read(url, headers);
        self.state().granted = None;
    }
}

impl fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthClient")
            .field("server_url", &crate::fetch::shown(&self.server_url))
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::AuthorizationServerMetadata;

    #[test]
    fn requests_the_scopes_of_the_challenge_or_else_of_the_metadata() {
        let list = |text: &str| text.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>();
        let interactive = || Grant::AuthorizationCode(Arc::new(crate::client::Loopback::new(|_| Ok(()))));
        // The scopes in the options, the challenge, the resource's metadata and the authorization server's metadata,
        // and the scopes to request.
        let table = [
            (None, None, None, None, ""),
            (None, None, Some("a b"), None, "a b"),
            (None, Some("c"), Some("a b"), None, "c"),
            (Some("d"), Some("c"), Some("a b"), None, "d"),
            (Some(""), Some("c"), Some("a b"), None, ""),
            (None, Some("c"), None, Some("offline_access e"), "c offline_access"),
            (None, None, None, Some("offline_access e"), ""),
        ];
        for (configured, challenged, resource, server, expected) in table {
            let mut options = OAuthOptions::new("test", interactive());
            options.scopes = configured.map(list);
            let client = OAuthClient::new("https://mcp.example/mcp", options).expect("a client");
            let header = challenged.map(|scopes| format!("Bearer scope=\"{scopes}\""));
            let headers: Vec<HeaderValue> = header.iter().map(|header| header.parse().expect("a header")).collect();
            let challenge = AuthChallenge::parse(&headers).into_iter().next();
            let server = AuthorizationServerMetadata {
                scopes_supported: server.map(list),
                ..AuthorizationServerMetadata::default()
            };
            let found =
                Discovered { resource: String::new(), scopes: resource.map(list), server, has_no_metadata: false };
            let scopes = client.initial_scopes(challenge.as_ref(), &found);
            assert_eq!(scopes.into_iter().collect::<Vec<_>>().join(" "), expected);
        }
    }

    #[test]
    fn metadata_documents_are_at_https_urls_with_a_path() {
        let accepts = |url: &str| {
            let mut options = OAuthOptions::new("test", Grant::ClientCredentials);
            options.client_metadata_url = Some(url.to_owned());
            OAuthClient::new("https://mcp.example/mcp", options).is_ok()
        };
        assert!(accepts("https://app.example/client.json"));
        for url in ["http://app.example/client.json", "https://app.example", "https://app.example/", "client.json"] {
            assert!(!accepts(url), "{url}");
        }
    }
}
