//! Refreshes and revokes tokens, at the endpoints stored with them.

use std::sync::Arc;

use http::StatusCode;
use secrecy::ExposeSecret;

use super::credentials::Credentials;
use super::discovery;
use super::error::OAuthError;
use super::oauth_client::OAuthClient;
use super::registration::{self, Identification};
use super::token::{TokenEndpoint, TokenResponse};

impl OAuthClient {
    /// Refreshes the tokens. Returns `None` if the user must log in again.
    pub(super) async fn refresh(&self, expiring: &Arc<Credentials>) -> Result<Option<Arc<Credentials>>, OAuthError> {
        let key = self.store_key();
        let lock = self.options.store.lock(&key).await;
        let _locked = lock.inspect_err(|error| {
            tracing::warn!(error = error as &dyn std::error::Error, "another client may refresh the same tokens");
        });
        // Another client may have refreshed the tokens.
        self.load().await?;
        let stored = self.state().credentials.clone().filter(|stored| stored.issuer == expiring.issuer);
        let expiring = match stored {
            Some(stored) if !stored.has_same_token(expiring) && !stored.expires_soon() => return Ok(Some(stored)),
            Some(stored) => stored,
            None => Arc::clone(expiring),
        };
        let Some(client) = self.known_client(&expiring).await? else { return Ok(None) };
        let mut credentials = Credentials::clone(&expiring);
        let mut response = self.request_refresh(&credentials, &client).await;
        if let Err(error) = &response
            && let Some(moved) = self.moved(&credentials, error).await
        {
            response = self.request_refresh(&moved, &client).await;
            credentials = moved;
        }
        match response {
            Ok(Some(response)) => Ok(Some(self.store(credentials.updated(response)?).await)),
            Ok(None) => Ok(None),
            Err(error) if is_refused(&error) => {
                tracing::info!(error = &error as &dyn std::error::Error, "the tokens cannot be refreshed");
                // Another process may have used the refresh token and stored the next one.
                self.load().await?;
                let current = self.state().credentials.clone();
                Ok(current.filter(|current| !current.has_same_token(&expiring)))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns `None` if there is no refresh token.
    async fn request_refresh(
        &self,
        credentials: &Credentials,
        client: &Identification,
    ) -> Result<Option<TokenResponse>, OAuthError> {
        let Some(refresh_token) = &credentials.refresh_token else { return Ok(None) };
        let params = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token.expose_secret()),
            ("resource", credentials.resource.as_str()),
        ];
        self.token_endpoint(credentials, client).request(&params).await.map(Some)
    }

    /// Revokes the tokens. Does nothing if the authorization server does not support revocation.
    pub(super) async fn revoke(&self, credentials: &Credentials) -> Result<(), OAuthError> {
        let Some(client) = self.known_client(credentials).await? else { return Ok(()) };
        match self.request_revocation(credentials, &client).await {
            Err(error) => match self.moved(credentials, &error).await {
                Some(moved) => self.request_revocation(&moved, &client).await,
                None => Err(error),
            },
            Ok(()) => Ok(()),
        }
    }

    async fn request_revocation(&self, credentials: &Credentials, client: &Identification) -> Result<(), OAuthError> {
        let Some(url) = &credentials.revocation_endpoint else { return Ok(()) };
        let endpoint = TokenEndpoint { url, ..self.token_endpoint(credentials, client) };
        // Servers that revoke a refresh token also revoke its access tokens, if they can.
        match &credentials.refresh_token {
            Some(token) => endpoint.revoke(token, "refresh_token").await,
            None => endpoint.revoke(&credentials.access_token, "access_token").await,
        }
    }

    /// After an endpoint has failed, requests the issuer's metadata again. Returns credentials with the new endpoints
    /// if these differ.
    async fn moved(&self, credentials: &Credentials, error: &OAuthError) -> Option<Credentials> {
        if !matches!(error, OAuthError::Endpoint { .. } | OAuthError::Fetch(_)) {
            return None;
        }
        let issuer = discovery::authorization_server(&self.fetcher, &credentials.issuer).await.ok()??;
        let moved = credentials.clone().with_endpoints(issuer);
        let is_same = moved.token_endpoint == credentials.token_endpoint
            && moved.revocation_endpoint == credentials.revocation_endpoint;
        (!is_same).then_some(moved)
    }

    fn token_endpoint<'a>(&'a self, issued: &'a Credentials, client: &'a Identification) -> TokenEndpoint<'a> {
        TokenEndpoint {
            fetcher: &self.fetcher,
            url: &issued.token_endpoint,
            issuer: &issued.issuer,
            methods: issued.methods.as_deref(),
            client,
            dpop: issued.dpop.as_deref(),
            nonces: &self.nonces,
        }
    }

    /// The client that the credentials were issued to, if it is still registered.
    async fn known_client(&self, credentials: &Credentials) -> Result<Option<Identification>, OAuthError> {
        let known = match registration::registered(&self.options, &credentials.issuer) {
            Ok(Some(configured)) => Some(configured),
            Ok(None) => registration::stored(&self.options, &credentials.issuer).await?,
            Err(_) => None,
        };
        let document = self.options.client_metadata_url.clone().map(Identification::public);
        Ok([known, document].into_iter().flatten().find(|client| client.id == credentials.client_id))
    }
}

/// Whether another attempt to refresh would fail, too.
fn is_refused(error: &OAuthError) -> bool {
    match error {
        OAuthError::Token(_) => true,
        OAuthError::Endpoint { status, .. } => !status.is_server_error() && *status != StatusCode::TOO_MANY_REQUESTS,
        _ => false,
    }
}
