//! Obtains new credentials for each kind of grant.

use std::collections::BTreeSet;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;
use url::Url;

use super::authorization_code::{self, Authorized};
use super::credentials::Credentials;
use super::discovery::Discovered;
use super::error::OAuthError;
use super::grant::{Grant, IdentityProvider};
use super::oauth_client::OAuthClient;
use super::registration::{self, Identification, identify};
use super::token::TokenEndpoint;
use super::user_agent::UserAgent;
use crate::dpop::DpopKey;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

impl OAuthClient {
    pub(super) async fn grant(
        &self,
        found: &Discovered,
        scopes: BTreeSet<String>,
    ) -> Result<Arc<Credentials>, OAuthError> {
        let scope = scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        let scope = (!scope.is_empty()).then_some(scope.as_str());
        let mut params: Vec<(&str, &str)> = vec![("resource", &found.resource)];
        match &self.options.grant {
            Grant::AuthorizationCode(user_agent) => {
                let (client, authorized) = self.log_in(user_agent.as_ref(), found, scope).await?;
                params.extend([
                    ("grant_type", "authorization_code"),
                    ("code", authorized.code.expose_secret()),
                    ("code_verifier", authorized.verifier.expose_secret()),
                    ("redirect_uri", authorized.redirect_uri.as_str()),
                ]);
                self.request(found, &client, &params, scopes.clone()).await
            }
            Grant::ClientCredentials => {
                params.push(("grant_type", "client_credentials"));
                params.extend(scope.map(|scope| ("scope", scope)));
                self.request(found, &self.configured(found)?, &params, scopes.clone()).await
            }
            Grant::JwtBearer(source) => {
                let client = self.configured(found)?;
                let assertion = source.assertion(&found.server.issuer).await.map_err(OAuthError::Assertion)?;
                params.extend([("grant_type", JWT_BEARER), ("assertion", assertion.expose_secret())]);
                params.extend(scope.map(|scope| ("scope", scope)));
                self.request(found, &client, &params, scopes.clone()).await
            }
            Grant::EnterpriseManaged(provider) => {
                let client = self.configured(found)?;
                let assertion = self.exchange(provider, found, scope).await?;
                params.extend([("grant_type", JWT_BEARER), ("assertion", assertion.expose_secret())]);
                params.extend(scope.map(|scope| ("scope", scope)));
                self.request(found, &client, &params, scopes.clone()).await
            }
        }
    }

    fn configured(&self, found: &Discovered) -> Result<Identification, OAuthError> {
        registration::registered(&self.options, &found.server.issuer)?.ok_or(OAuthError::NoClient)
    }

    async fn log_in(
        &self,
        user_agent: &dyn UserAgent,
        found: &Discovered,
        scope: Option<&str>,
    ) -> Result<(Identification, Authorized), OAuthError> {
        let login = user_agent.prepare().await.map_err(OAuthError::UserAgent)?;
        let client = identify(&self.fetcher, &self.options, found, &login.redirect_uri()).await?;
        let authorized = authorization_code::authorize(&self.fetcher, found, &client.id, scope, login).await?;
        Ok((client, authorized))
    }

    /// Exchanges the user's ID token for an assertion that the authorization server accepts.
    async fn exchange(
        &self,
        provider: &IdentityProvider,
        found: &Discovered,
        scope: Option<&str>,
    ) -> Result<SecretString, OAuthError> {
        const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
        let url: Url = provider.token_endpoint.parse().map_err(|_| OAuthError::Url(provider.token_endpoint.clone()))?;
        let id_token = provider.id_token.assertion(provider.token_endpoint.as_str()).await;
        let id_token = id_token.map_err(OAuthError::Assertion)?;
        let client = Identification {
            id: provider.client_id.clone(),
            authentication: provider.authentication.clone(),
            method: None,
        };
        let endpoint = TokenEndpoint {
            fetcher: &self.fetcher,
            url: &url,
            issuer: &provider.token_endpoint,
            methods: None,
            client: &client,
            dpop: None,
            nonces: &self.nonces,
        };
        let mut params = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("requested_token_type", ID_JAG),
            ("audience", found.server.issuer.as_str()),
            ("resource", found.resource.as_str()),
            ("subject_token", id_token.expose_secret()),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
        ];
        params.extend(scope.map(|scope| ("scope", scope)));
        let response = endpoint.request(&params).await?;
        match response.issued_token_type.as_deref() {
            Some(ID_JAG) => Ok(response.access_token),
            _ => Err(OAuthError::TokenResponse("`issued_token_type` must be that of an ID-JAG")),
        }
    }

    async fn request(
        &self,
        found: &Discovered,
        client: &Identification,
        params: &[(&str, &str)],
        scopes: BTreeSet<String>,
    ) -> Result<Arc<Credentials>, OAuthError> {
        let server = &found.server;
        let url = server
            .token_endpoint
            .as_ref()
            .ok_or_else(|| OAuthError::MissingMember { issuer: server.issuer.clone(), member: "token_endpoint" })?;
        let dpop = if self.options.dpop { Some(Arc::new(DpopKey::generate()?)) } else { None };
        let methods = server.token_endpoint_auth_methods_supported.as_deref();
        let endpoint = TokenEndpoint {
            fetcher: &self.fetcher,
            url,
            issuer: &server.issuer,
            methods,
            client,
            dpop: dpop.as_deref(),
            nonces: &self.nonces,
        };
        let response = endpoint.request(params).await;
        if matches!(&response, Err(OAuthError::Token(error)) if error.error == "invalid_client") {
            registration::forget(&self.options, &server.issuer).await?;
        }
        let credentials = Credentials {
            issuer: server.issuer.clone(),
            token_endpoint: url.clone(),
            revocation_endpoint: server.revocation_endpoint.clone(),
            methods: methods.map(<[String]>::to_vec),
            client_id: client.id.clone(),
            resource: found.resource.clone(),
            access_token: String::new().into(),
            refresh_token: None,
            expires_at: None,
            scopes,
            dpop,
        };
        let credentials = self.store(credentials.updated(response?)?).await;
        self.state().granted = Some(Instant::now());
        Ok(credentials)
    }
}
