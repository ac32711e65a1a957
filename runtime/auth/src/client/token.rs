//! Requests to the token endpoint.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::error::OAuthError;
use super::registered_client::ClientAuthentication;
use super::registration::{Identification, error_response};
use crate::dpop::{DPOP, DPOP_NONCE, DpopKey};
use crate::fetch::{Fetcher, Reply, scope, seconds, shown};
use crate::jose::JoseError;
use crate::util::{now, random_text};

/// Lifetime of client assertions in seconds.
const ASSERTION_LIFETIME: u64 = 60;

/// Nonces for DPoP proofs, by the origin of the server that provided them.
#[derive(Debug, Default)]
pub(super) struct Nonces(Mutex<HashMap<String, String>>);

impl Nonces {
    pub(super) fn get(&self, url: &Url) -> Option<String> {
        let nonces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nonces.get(&url.origin().ascii_serialization()).cloned()
    }

    /// Stores a response's nonce. Returns `false` if the response has no nonce.
    pub(super) fn read(&self, url: &Url, headers: &HeaderMap) -> bool {
        let Some(nonce) = headers.get(DPOP_NONCE).and_then(|nonce| nonce.to_str().ok()) else { return false };
        let mut nonces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nonces.insert(url.origin().ascii_serialization(), nonce.to_owned());
        true
    }
}

pub(super) struct TokenEndpoint<'a> {
    pub(super) fetcher: &'a Fetcher,
    pub(super) url: &'a Url,
    /// The audience of client assertions.
    pub(super) issuer: &'a str,
    pub(super) methods: Option<&'a [String]>,
    pub(super) client: &'a Identification,
    pub(super) dpop: Option<&'a DpopKey>,
    pub(super) nonces: &'a Nonces,
}

#[derive(Deserialize)]
pub(super) struct TokenResponse {
    #[serde(deserialize_with = "secret")]
    pub(super) access_token: SecretString,
    pub(super) token_type: String,
    #[serde(default, deserialize_with = "seconds")]
    pub(super) expires_in: Option<u64>,
    #[serde(default, deserialize_with = "optional_secret")]
    pub(super) refresh_token: Option<SecretString>,
    #[serde(default, deserialize_with = "scope")]
    pub(super) scope: Option<String>,
    #[serde(default)]
    pub(super) issued_token_type: Option<String>,
}

fn secret<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<SecretString, D::Error> {
    String::deserialize(deserializer).map(Into::into)
}

fn optional_secret<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<SecretString>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(Into::into))
}

impl TokenEndpoint<'_> {
    pub(super) async fn request(&self, params: &[(&str, &str)]) -> Result<TokenResponse, OAuthError> {
        let reply = self.send(params).await?;
        Ok(crate::fetch::json(self.url, &reply.body)?)
    }

    /// Revokes a token. `url` is then the revocation endpoint (RFC 7009). Revoking an unknown token is not an error.
    pub(super) async fn revoke(&self, token: &SecretString, kind: &str) -> Result<(), OAuthError> {
        self.send(&[("token", token.expose_secret()), ("token_type_hint", kind)]).await.map(drop)
    }

    /// If the server requires a nonce in the DPoP proof, repeats the request once with it.
    async fn send(&self, params: &[(&str, &str)]) -> Result<Reply, OAuthError> {
        let reply = self.send_once(params).await?;
        let has_nonce = self.nonces.read(self.url, &reply.headers) && self.dpop.is_some();
        match self.check(reply) {
            Err(OAuthError::Token(error)) if has_nonce && error.error == "use_dpop_nonce" => {
                let reply = self.send_once(params).await?;
                self.nonces.read(self.url, &reply.headers);
                self.check(reply)
            }
            result => result,
        }
    }

    async fn send_once(&self, params: &[(&str, &str)]) -> Result<Reply, OAuthError> {
        let (headers, form) = self.headers_and_form(params)?;
        Ok(self.fetcher.post_form(self.url, headers, &form).await?)
    }

    /// Fails if the response is an error. GitHub, among others, sends errors with a successful status.
    fn check(&self, reply: Reply) -> Result<Reply, OAuthError> {
        let status = reply.status;
        let is_temporary = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        match error_response(&reply.body).filter(|_| !is_temporary) {
            Some(error) => Err(OAuthError::Token(error)),
            None if status.is_success() => Ok(reply),
            None => Err(OAuthError::Endpoint { url: shown(self.url), status }),
        }
    }

    fn headers_and_form(&self, params: &[(&str, &str)]) -> Result<(HeaderMap, SecretString), OAuthError> {
        let (mut form, mut headers) = (Serializer::new(String::new()), HeaderMap::new());
        form.extend_pairs(params);
        self.authenticate(&mut form, &mut headers)?;
        if let Some(key) = self.dpop {
            let proof = key.proof("POST", self.url, self.nonces.get(self.url).as_deref(), None)?;
            headers.insert(DPOP, header(&proof)?);
        }
        Ok((headers, form.finish().into()))
    }

    fn authenticate(&self, form: &mut Serializer<'_, String>, headers: &mut HeaderMap) -> Result<(), OAuthError> {
        let id = self.client.id.as_str();
        match &self.client.authentication {
            ClientAuthentication::None => {
                form.append_pair("client_id", id);
            }
            ClientAuthentication::Secret(secret) if self.uses_post() => {
                form.append_pair("client_id", id).append_pair("client_secret", secret.expose_secret());
            }
            ClientAuthentication::Secret(secret) => {
                let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let pair = format!("{}:{}", encode(id), encode(secret.expose_secret()));
                headers.insert(AUTHORIZATION, header(&format!("Basic {}", STANDARD.encode(pair)))?);
            }
            ClientAuthentication::PrivateKeyJwt(key) => {
                let (iat, jti) = (now(), random_text()?);
                let claims = json!({
                    "iss": id, "sub": id, "aud": self.issuer, "jti": jti, "iat": iat, "exp": iat + ASSERTION_LIFETIME,
                });
                form.append_pair("client_id", id);
                form.append_pair("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
                form.append_pair("client_assertion", &key.sign(json!({ "typ": "JWT" }), &claims)?);
            }
        }
        Ok(())
    }

    /// Whether to send the secret in the form rather than in the `Authorization` header.
    fn uses_post(&self) -> bool {
        let is_supported =
            |method: &str| self.methods.is_some_and(|methods| methods.iter().any(|known| known == method));
        match self.client.method.as_deref() {
            Some(method) => method == "client_secret_post",
            None => is_supported("client_secret_post") && !is_supported("client_secret_basic"),
        }
    }
}

/// Creates a header value that is marked as sensitive.
pub(super) fn header(text: &str) -> Result<HeaderValue, OAuthError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| JoseError::Malformed("it cannot be sent in a header"))?;
    value.set_sensitive(true);
    Ok(value)
}
