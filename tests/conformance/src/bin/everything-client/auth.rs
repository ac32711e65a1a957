//! The OAuth client for the scenarios about authorization. The suite's authorization servers need no user, because they
//! redirect at once.

use std::sync::Arc;

use anyhow::Context;
use futures_util::future::BoxFuture;
use mcpgen_auth::client::{
    AuthorizationRequest, ClientAuthentication, Grant, IdentityProvider, OAuthClient, OAuthOptions, PendingLogin,
    RegisteredClient, UserAgent,
};
use mcpgen_auth::fetch::{Fetcher, NetworkPolicy};
use mcpgen_auth::jose::SigningKey;
use mcpgen_auth::metadata::{ProtectedResourceMetadata, protected_resource_urls};
use reqwest::Url;
use reqwest::header::LOCATION;
use secrecy::SecretString;
use serde::Deserialize;
use tower::BoxError;

/// The client ID metadata document that the suite knows.
const METADATA_URL: &str = "https://conformance-test.local/client-metadata.json";

/// The part of a scenario's context that is about authorization.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AuthContext {
    client_id: Option<String>,
    client_secret: Option<SecretString>,
    issuer: Option<String>,
    private_key_pem: Option<SecretString>,
    signing_algorithm: Option<String>,
    valid_jwt: Option<SecretString>,
    idp_client_id: Option<String>,
    idp_id_token: Option<SecretString>,
    idp_token_endpoint: Option<String>,
}

/// Returns the OAuth client for a scenario, or `None` if its server is not protected.
pub(crate) async fn oauth_client(
    scenario: &str,
    url: &str,
    context: &AuthContext,
) -> anyhow::Result<Option<OAuthClient>> {
    let Some(name) = scenario.strip_prefix("auth/") else { return Ok(None) };
    let mut options = OAuthOptions::new("everything-client", grant(name, context)?);
    options.client = registered_client(url, context).await?;
    options.client_metadata_url = Some(METADATA_URL.to_owned());
    options.dpop = name.starts_with("dpop");
    Ok(Some(OAuthClient::new(url, options)?))
}

fn grant(name: &str, context: &AuthContext) -> anyhow::Result<Grant> {
    Ok(match name {
        "client-credentials-jwt" | "client-credentials-basic" => Grant::ClientCredentials,
        "wif-jwt-bearer" => Grant::JwtBearer(Arc::new(context.valid_jwt.clone().context("no `valid_jwt`")?)),
        "enterprise-managed-authorization" => Grant::EnterpriseManaged(Arc::new(IdentityProvider {
            token_endpoint: context.idp_token_endpoint.clone().context("no `idp_token_endpoint`")?,
            client_id: context.idp_client_id.clone().context("no `idp_client_id`")?,
            authentication: ClientAuthentication::None,
            id_token: Arc::new(context.idp_id_token.clone().context("no `idp_id_token`")?),
        })),
        _ => Grant::AuthorizationCode(Arc::new(Redirect)),
    })
}

async fn registered_client(url: &str, context: &AuthContext) -> anyhow::Result<Option<RegisteredClient>> {
    use secrecy::ExposeSecret;
    let Some(id) = &context.client_id else { return Ok(None) };
    let client = match (&context.client_secret, &context.private_key_pem) {
        (Some(secret), _) => RegisteredClient::with_secret(issuer(url, context).await?, id, secret.clone()),
        (None, Some(pem)) => {
            let algorithm = context.signing_algorithm.as_deref().unwrap_or("ES256").parse()?;
            let key = SigningKey::from_pem(pem.expose_secret(), algorithm)?;
            RegisteredClient::with_key(issuer(url, context).await?, id, key)
        }
        (None, None) if context.valid_jwt.is_some() => {
            RegisteredClient::public(id).of_issuer(issuer(url, context).await?)
        }
        (None, None) => RegisteredClient::public(id),
    };
    Ok(Some(match &context.issuer {
        Some(issuer) => client.of_issuer(issuer),
        None => client,
    }))
}

/// Returns the issuer of the client's registration. Most contexts do not name it, so this trusts the server.
async fn issuer(url: &str, context: &AuthContext) -> anyhow::Result<String> {
    if let Some(issuer) = &context.issuer {
        return Ok(issuer.clone());
    }
    let url: Url = url.parse()?;
    let fetcher = Fetcher::new(NetworkPolicy::for_server(&url))?;
    for url in protected_resource_urls(&url) {
        if let Ok(metadata) = fetcher.get::<ProtectedResourceMetadata>(&url).await {
            return metadata.authorization_servers.into_iter().next().context("no `authorization_servers`");
        }
    }
    anyhow::bail!("the server has no protected resource metadata")
}

/// Requests the authorization URL and returns the URL of the redirect without following it.
#[derive(Clone)]
struct Redirect;

impl UserAgent for Redirect {
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn PendingLogin>, BoxError>> {
        Box::pin(std::future::ready(Ok(Box::new(self.clone()) as Box<dyn PendingLogin>)))
    }
}

impl PendingLogin for Redirect {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:3000/callback".to_owned()
    }

    fn log_in(self: Box<Self>, request: AuthorizationRequest) -> BoxFuture<'static, Result<Url, BoxError>> {
        Box::pin(async move {
            let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
            let response = client.get(request.url().clone()).send().await?;
            let location = response.headers().get(LOCATION).ok_or("the authorization endpoint did not redirect")?;
            Ok(location.to_str()?.parse()?)
        })
    }
}
