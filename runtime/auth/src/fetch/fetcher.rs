//! Sends requests within limits on size and time.

use std::fmt;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use url::Url;

use super::decode::json;
use super::error::{FetchError, shown};
use super::policy::NetworkPolicy;
use super::resolver::PolicyResolver;

/// Maximum size of a response in bytes.
const LONGEST: usize = 512 << 10;

/// How many redirects a GET request follows. POST requests follow none.
const MAX_REDIRECTS: usize = 3;

/// Requests metadata and tokens, within a [`NetworkPolicy`].
#[derive(Clone)]
pub struct Fetcher {
    client: reqwest::Client,
    policy: NetworkPolicy,
}

/// A response.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, which may contain secrets.
    pub body: SecretString,
}

impl Fetcher {
    /// Creates a fetcher. It uses no proxy, because a proxy would resolve names regardless of the policy.
    ///
    /// # Errors
    ///
    /// Returns an error if the system's certificates cannot be loaded.
    pub fn new(policy: NetworkPolicy) -> Result<Self, reqwest::Error> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Fails if another thread has just installed a provider.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let client = reqwest::Client::builder()
            .dns_resolver(PolicyResolver(policy))
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(10))
            .timeout(Duration::from_secs(20))
            .no_proxy()
            .build()?;
        Ok(Self { client, policy })
    }

    /// Creates a fetcher with your own client, for example with a proxy or other certificates.
    ///
    /// The client must not follow redirects. The policy applies to URLs, but not to the addresses that the client
    /// resolves names to.
    #[must_use]
    pub fn with_client(client: reqwest::Client, policy: NetworkPolicy) -> Self {
        Self { client, policy }
    }

    /// Checks whether the policy allows a URL.
    ///
    /// # Errors
    ///
    /// Returns an error if the policy does not allow the URL.
    pub fn check(&self, url: &Url) -> Result<(), FetchError> {
        self.policy.check(url).map_err(|source| FetchError::Refused { url: shown(url), source })
    }

    /// Requests a JSON document. Follows at most three redirects.
    ///
    /// # Errors
    ///
    /// Returns an error if the policy does not allow the URL, if the request fails, or if the response is not a JSON
    /// document of type `T`.
    pub async fn get<T: DeserializeOwned>(&self, url: &Url) -> Result<T, FetchError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let request = self.client.get(url.clone()).header(ACCEPT, "application/json");
            let reply = self.send(&url, request).await?;
            if reply.status.is_success() {
                return json(&url, &reply.body);
            }
            let location = reply.headers.get(LOCATION).filter(|_| reply.status.is_redirection());
            let next = location.and_then(|location| url.join(location.to_str().ok()?).ok());
            let Some(next) = next else { return Err(FetchError::Status { url: shown(&url), status: reply.status }) };
            url = next;
        }
        Err(FetchError::Status { url: shown(&url), status: StatusCode::LOOP_DETECTED })
    }

    /// Requests the URLs in order until there is a valid document. Otherwise returns the first invalid document's
    /// error, or `None` if there is no document.
    #[cfg(any(feature = "client", feature = "server"))]
    pub(crate) async fn get_first<T: DeserializeOwned>(&self, urls: Vec<Url>) -> Result<Option<T>, FetchError> {
        let mut invalid = None;
        for url in urls {
            match self.get(&url).await {
                Ok(document) => return Ok(Some(document)),
                Err(error) if error.is_absent() => tracing::debug!(%error, "no metadata"),
                Err(error @ (FetchError::Missing { .. } | FetchError::Member { .. })) => {
                    invalid.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        invalid.map_or(Ok(None), Err)
    }

    /// Posts a form.
    ///
    /// # Errors
    ///
    /// Returns an error if the policy does not allow the URL, or if the request fails.
    pub async fn post_form(&self, url: &Url, headers: HeaderMap, form: &SecretString) -> Result<Reply, FetchError> {
        self.post(url, headers, "application/x-www-form-urlencoded", form.expose_secret().to_owned()).await
    }

    /// Posts a JSON document.
    ///
    /// # Errors
    ///
    /// Returns an error if the policy does not allow the URL, or if the request fails.
    pub async fn post_json(&self, url: &Url, body: &serde_json::Value) -> Result<Reply, FetchError> {
        self.post(url, HeaderMap::new(), "application/json", body.to_string()).await
    }

    async fn post(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        content_type: &'static str,
        body: String,
    ) -> Result<Reply, FetchError> {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        self.send(url, self.client.post(url.clone()).headers(headers).body(body)).await
    }

    async fn send(&self, url: &Url, request: reqwest::RequestBuilder) -> Result<Reply, FetchError> {
        self.check(url)?;
        let failed = |source: reqwest::Error| FetchError::Http { url: shown(url), source: source.without_url() };
        let mut response = request.send().await.map_err(failed)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > LONGEST {
                return Err(FetchError::Body { url: shown(url) });
            }
            body.extend_from_slice(&chunk);
        }
        let body = String::from_utf8(body).map_err(|_| FetchError::Body { url: shown(url) })?.into();
        Ok(Reply { status: response.status(), headers: response.headers().clone(), body })
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").field("policy", &self.policy).finish_non_exhaustive()
    }
}
