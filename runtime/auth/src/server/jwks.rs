//! The public keys of an issuer, cached.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use super::verifier::TokenError;
use crate::fetch::{FetchError, Fetcher};
use crate::jose::{Algorithm, Jwk, JwkSet};
use crate::metadata::{AuthorizationServerMetadata, authorization_server_urls};

/// How long keys are cached.
const LIFETIME: Duration = Duration::from_secs(600);

/// The minimum time between two requests. Limits the requests that clients cause with unknown key IDs.
const MIN_INTERVAL: Duration = Duration::from_secs(30);

/// The maximum number of keys that are tried for a token without a key ID.
const MAX_TRIED: usize = 8;

/// The source of the keys.
#[derive(Clone, Debug)]
pub(super) enum KeySource {
    /// These keys, which do not change.
    Fixed(Arc<JwkSet>),
    /// The key set at this URL.
    Url(Url),
    /// The key set in the metadata of the issuer.
    Issuer(String),
}

/// The public keys of an issuer.
#[derive(Debug)]
pub(super) struct KeyCache {
    source: KeySource,
    fetcher: Fetcher,
    state: Mutex<State>,
    /// Held while keys are requested.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    keys: Option<Arc<JwkSet>>,
    fetched: Option<Instant>,
    tried: Option<Instant>,
}

impl KeyCache {
    pub(super) fn new(source: KeySource, fetcher: Fetcher) -> Self {
        Self { source, fetcher, state: Mutex::default(), fetching: tokio::sync::Mutex::default() }
    }

    /// Returns the keys that may have signed a token. Requests the keys if the cached ones are old or do not have this
    /// key ID.
    pub(super) async fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Result<Vec<Jwk>, TokenError> {
        if let KeySource::Fixed(keys) = &self.source {
            return Ok(select(keys, kid, algorithm));
        }
        if let Some(found) = self.cached(kid, algorithm) {
            return Ok(found);
        }
        let _fetching = self.fetching.lock().await;
        if let Some(found) = self.cached(kid, algorithm) {
            return Ok(found);
        }
        let (keys, may_fetch) = {
            let state = self.state();
            (state.keys.clone(), state.tried.is_none_or(|tried| tried.elapsed() >= MIN_INTERVAL))
        };
        let keys = match (may_fetch, keys) {
            (true, old) => match self.fetch().await {
                Ok(keys) => keys,
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "the issuer's keys are not available");
                    old.ok_or_else(|| TokenError::Unavailable(error.into()))?
                }
            },
            (false, Some(old)) => old,
            (false, None) => return Err(TokenError::Unavailable("the issuer's keys were not available".into())),
        };
        Ok(select(&keys, kid, algorithm))
    }

    /// Returns keys from the cache if it is fresh and has suitable keys.
    fn cached(&self, kid: Option<&str>, algorithm: Algorithm) -> Option<Vec<Jwk>> {
        let state = self.state();
        let is_fresh = state.fetched.is_some_and(|fetched| fetched.elapsed() < LIFETIME);
        let found = select(state.keys.as_ref().filter(|_| is_fresh)?, kid, algorithm);
        (!found.is_empty()).then_some(found)
    }

    async fn fetch(&self) -> Result<Arc<JwkSet>, FetchError> {
        self.state().tried = Some(Instant::now());
        let keys: Arc<JwkSet> = Arc::new(self.fetcher.get(&self.url().await?).await?);
        let mut state = self.state();
        (state.keys, state.fetched) = (Some(Arc::clone(&keys)), Some(Instant::now()));
        Ok(keys)
    }

    /// Returns the URL of the key set. Requests the issuer's metadata if necessary.
    async fn url(&self) -> Result<Url, FetchError> {
        let issuer = match &self.source {
            KeySource::Url(url) => return Ok(url.clone()),
            KeySource::Issuer(issuer) => issuer.as_str(),
            KeySource::Fixed(_) => "",
        };
        let invalid = |why: &str| FetchError::Json { url: issuer.to_owned(), why: why.to_owned() };
        let parsed: Url = issuer.parse().map_err(|_| invalid("the issuer is not a URL"))?;
        let metadata =
            self.fetcher.get_first::<AuthorizationServerMetadata>(authorization_server_urls(&parsed)).await?;
        match metadata {
            None => Err(invalid("there is no metadata")),
            Some(metadata) if metadata.issuer != issuer => Err(invalid("`issuer` is another issuer")),
            Some(metadata) => metadata.jwks_uri.ok_or_else(|| invalid("`jwks_uri` is missing")),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the key with this ID. Returns all keys for the algorithm if there is no ID.
fn select(keys: &JwkSet, kid: Option<&str>, algorithm: Algorithm) -> Vec<Jwk> {
    let suitable = keys.keys.iter().filter(|key| key.supports(algorithm));
    suitable.filter(|key| kid.is_none() || key.kid() == kid).take(MAX_TRIED).cloned().collect()
}
