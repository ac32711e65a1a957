//! Caches an issuer's public keys.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use super::verifier::TokenError;
use crate::fetch::{FetchError, Fetcher};
use crate::jose::{Algorithm, Jwk, JwkSet};
use crate::metadata::{AuthorizationServerMetadata, authorization_server_urls};

const LIFETIME: Duration = Duration::from_secs(600);

/// Minimum time between two requests for keys, which clients can provoke with unknown key IDs.
const MIN_INTERVAL: Duration = Duration::from_secs(30);

/// How many keys to try for a token without a key ID.
const MAX_TRIED: usize = 8;

#[derive(Clone, Debug)]
pub(super) enum KeySource {
    /// These keys never change.
    Fixed(Arc<JwkSet>),
    Url(Url),
    /// The key set named in the issuer's metadata.
    Issuer(String),
}

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

    /// Returns the keys that may have signed a token. Requests them if the cached ones are old or lack this key ID.
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

    /// Returns the URL of the key set, from the issuer's metadata if necessary.
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
            Some(metadata) if metadata.issuer != issuer => Err(invalid("`issuer` names another issuer")),
            Some(metadata) => metadata.jwks_uri.ok_or_else(|| invalid("`jwks_uri` is missing")),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The key with this ID or, without an ID, all keys for the algorithm.
fn select(keys: &JwkSet, kid: Option<&str>, algorithm: Algorithm) -> Vec<Jwk> {
    let suitable = keys.keys.iter().filter(|key| key.supports(algorithm));
    suitable.filter(|key| kid.is_none() || key.kid() == kid).take(MAX_TRIED).cloned().collect()
}
