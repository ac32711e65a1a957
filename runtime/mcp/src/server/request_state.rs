//! Protects the `requestState` of multi-round requests against tampering.
//!
//! A server sends `requestState` to the client, which returns it in the next round. On the way, the client or someone
//! else may modify the state or replay it. A [`RequestStateCodec`] signs it: anyone can read the state, but only
//! holders of the key can create or modify it. A state is valid until it expires, for one method, one target (a tool's
//! name or a resource's URI) and one user.
//!
//! ```
//! use std::time::Duration;
//! use mcpgen_sdk::server::request_state::RequestStateCodec;
//! # use mcpgen_sdk::{Context, protocol::ContextExt};
//! # use mcpgen_types::Revision;
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let codec = RequestStateCodec::new(b"thirty-two bytes that are secret", Duration::from_secs(300))?;
//! # let context = Context::detached(Revision::LATEST);
//! // The same code handles the first round and the next ones.
//! let rounds = codec.decode::<u32>(&context, "alice").await?;
//! assert_eq!(rounds.state, None);
//! let state = codec.encode(&rounds, &7)?;
//! # let _ = state;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::future::ready;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hmac::{Hmac, KeyInit, Mac};
use mcpgen_types::{ErrorObject, counted};
use serde::{Serialize, de::DeserializeOwned};
use sha2::Sha256;

use crate::expiring_map::ExpiringMap;
use crate::protocol::ContextExt;
use crate::random::random;

pub use crate::replicas::ReplayGuard;
use crate::replicas::StoreError;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use parking_lot::Mutex;

/// Signs request state with HMAC-SHA-256 and verifies it. Clones share the record of used states.
#[derive(Clone)]
pub struct RequestStateCodec {
    /// Shared, so that a change of keys reaches all clones.
    keys: Arc<RwLock<Keys>>,
    lifetime: Duration,
    rounds: u16,
    replay_guard: Option<Arc<dyn ReplayGuard>>,
}

#[derive(Clone)]
struct Keys {
    /// The key that signs and verifies states.
    signing: Hmac<Sha256>,
    /// Keys that only verify states.
    others: Vec<Hmac<Sha256>>,
}

/// Why a [`RequestStateCodec`] cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestStateError {
    /// The key is shorter than [`SHORTEST_KEY`] bytes.
    #[error("the key has {}; use at least {SHORTEST_KEY} random bytes", counted(*.0 as u64, "bytes"))]
    ShortKey(usize),
    /// The system's random number generator failed.
    #[error("the system's random number generator failed")]
    NoRandomness(#[source] getrandom::Error),
}

/// Minimum length of a key in bytes.
pub const SHORTEST_KEY: usize = 32;

/// Why a state is rejected. Logged, but not sent to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Refusal {
    #[error("it was not signed with a known key, was modified, or belongs to another request or user")]
    Forged,
    #[error("it has expired")]
    Expired,
    #[error("it was already used, or the record of its use was lost")]
    AlreadyUsed,
    #[error("it cannot be decoded as the expected type")]
    Content,
}

/// Where a multi-round request stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestState<T> {
    /// The previous round's state. `None` in the first round.
    pub state: Option<T>,
    /// How many rounds came before this one.
    pub round: u16,
    binding: Vec<u8>,
}

/// A state with a valid signature.
struct Verified {
    nonce: [u8; NONCE],
    /// The expiry, in milliseconds since 1970.
    until: u64,
    round: u16,
    payload: Vec<u8>,
}

const NONCE: usize = 16;
const TAG: usize = 32;
/// The length of nonce, expiry (in milliseconds since 1970) and round, in bytes.
const HEAD: usize = NONCE + 8 + 2;

impl RequestStateCodec {
    /// Creates a codec whose states expire after `lifetime`. The key must be random, and shared by all processes that
    /// serve the same requests.
    ///
    /// A state is accepted any number of times until it expires. To accept each state only once, add a store that these
    /// processes share: [`with_replay_guard`](Self::with_replay_guard).
    ///
    /// # Errors
    ///
    /// [`ShortKey`](RequestStateError::ShortKey) if the key is shorter than [`SHORTEST_KEY`] bytes.
    pub fn new(key: impl AsRef<[u8]>, lifetime: Duration) -> Result<Self, RequestStateError> {
        let keys = Keys { signing: hmac_key(key.as_ref())?, others: Vec::new() };
        Ok(Self { keys: Arc::new(RwLock::new(keys)), lifetime, rounds: 16, replay_guard: None })
    }

    /// Creates a codec with a random key. No other process accepts its states, nor does this one after a restart.
    ///
    /// Each state is accepted once. The codec remembers the last [`MAX_USED_STATES`] used states in this process (about
    /// 9 MB); see [`InMemoryReplayGuard`].
    ///
    /// # Errors
    ///
    /// [`NoRandomness`](RequestStateError::NoRandomness) if the system's random number generator fails.
    pub fn of_this_process(lifetime: Duration) -> Result<Self, RequestStateError> {
        let codec = Self::new(random::<SHORTEST_KEY>().map_err(RequestStateError::NoRandomness)?, lifetime)?;
        Ok(Self { replay_guard: Some(Arc::new(InMemoryReplayGuard::new(MAX_USED_STATES))), ..codec })
    }

    /// Also accepts states signed with this key. To rotate keys, add the old key or the next one.
    ///
    /// # Errors
    ///
    /// [`ShortKey`](RequestStateError::ShortKey) if the key is shorter than [`SHORTEST_KEY`] bytes.
    pub fn also_verify_with(mut self, key: impl AsRef<[u8]>) -> Result<Self, RequestStateError> {
        let mut keys = self.current_keys();
        keys.others.push(hmac_key(key.as_ref())?);
        // Existing clones keep their keys.
        self.keys = Arc::new(RwLock::new(keys));
        Ok(self)
    }

    /// Replaces the keys of this codec and all its clones: signs with `key`, and verifies with `others` as well. Use
    /// this to rotate keys while the server runs.
    ///
    /// # Errors
    ///
    /// [`ShortKey`](RequestStateError::ShortKey) if a key is shorter than [`SHORTEST_KEY`] bytes. The old keys then
    /// stay in use.
    pub fn replace_keys<K: AsRef<[u8]>>(
        &self,
        key: impl AsRef<[u8]>,
        others: impl IntoIterator<Item = K>,
    ) -> Result<(), RequestStateError> {
        let others: Result<_, _> = others.into_iter().map(|key| hmac_key(key.as_ref())).collect();
        let keys = Keys { signing: hmac_key(key.as_ref())?, others: others? };
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        Ok(())
    }

    /// Limits the number of rounds. Defaults to 16.
    #[must_use]
    pub fn rounds(mut self, most: u16) -> Self {
        self.rounds = most;
        self
    }

    /// Accepts each state once, and records used states in a store. Processes that share the key must share the store,
    /// too: with [`InMemoryReplayGuard`], each of them would accept a state once.
    #[must_use]
    pub fn with_replay_guard(mut self, replay_guard: impl ReplayGuard) -> Self {
        let replay_guard = crate::replicas::Measured::new(Arc::new(replay_guard));
        self.replay_guard = Some(Arc::new(replay_guard));
        self
    }

    /// Verifies and decodes a request's state. A request without state starts the first round.
    ///
    /// `who` identifies the user, for example by authenticated name. Append whatever else must not change between
    /// rounds, such as the call's arguments.
    ///
    /// # Errors
    ///
    /// Fails if the state is invalid, has expired, was already used, or belongs to another request or user, or if the
    /// replay guard's store is unavailable.
    pub async fn decode<T: DeserializeOwned>(
        &self,
        context: &Context,
        who: &str,
    ) -> Result<RequestState<T>, ErrorObject> {
        let binding = binding(context, who);
        let Some(state) = context.request_state() else { return Ok(RequestState { state: None, round: 0, binding }) };
        let verified = self.verify(&binding, state, SystemTime::now()).map_err(|refusal| refused(context, refusal))?;
        if let Some(guard) = &self.replay_guard
            && !guard.record(verified.nonce, UNIX_EPOCH + Duration::from_millis(verified.until)).await?
        {
            return Err(refused(context, Refusal::AlreadyUsed));
        }
        let Verified { round, payload, .. } = verified;
        let state = serde_json::from_slice(&payload).map_err(|_| refused(context, Refusal::Content))?;
        Ok(RequestState { state: Some(state), round, binding })
    }

    /// Encodes and signs the state for the next round.
    ///
    /// # Errors
    ///
    /// Fails if the request has reached the [maximum number of rounds](Self::rounds), if the state cannot be serialized
    /// as JSON, or if the system's random number generator fails.
    pub fn encode<T, S: Serialize + ?Sized>(
        &self,
        request_state: &RequestState<T>,
        state: &S,
    ) -> Result<String, ErrorObject> {
        if request_state.round >= self.rounds {
            return Err(errors::invalid_request(&format!("no result after {}", counted(self.rounds.into(), "rounds"))));
        }
        let payload = serde_json::to_vec(state).map_err(|error| errors::of(error.into()))?;
        let nonce = random::<NONCE>().map_err(|error| errors::of(error.into()))?;
        let until =
            millis(SystemTime::now()).saturating_add(u64::try_from(self.lifetime.as_millis()).unwrap_or(u64::MAX));
        let mut bytes = Vec::with_capacity(HEAD + payload.len() + TAG);
        bytes.extend_from_slice(&nonce);
        bytes.extend_from_slice(&until.to_be_bytes());
        bytes.extend_from_slice(&(request_state.round + 1).to_be_bytes());
        bytes.extend_from_slice(&payload);
        let tag = mac(&self.current_keys().signing, &request_state.binding, &bytes).finalize().into_bytes();
        bytes.extend_from_slice(&tag);
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    fn current_keys(&self) -> Keys {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn verify(&self, binding: &[u8], state: &str, now: SystemTime) -> Result<Verified, Refusal> {
        let bytes = URL_SAFE_NO_PAD.decode(state).map_err(|_| Refusal::Forged)?;
        let (body, tag) = bytes.split_last_chunk::<TAG>().ok_or(Refusal::Forged)?;
        let keys = self.current_keys();
        if !std::iter::once(&keys.signing)
            .chain(&keys.others)
            .any(|key| mac(key, binding, body).verify_slice(tag).is_ok())
        {
            return Err(Refusal::Forged);
        }
        let (nonce, rest) = body.split_first_chunk::<NONCE>().ok_or(Refusal::Forged)?;
        let (until, rest) = rest.split_first_chunk().ok_or(Refusal::Forged)?;
        let (round, payload) = rest.split_first_chunk().ok_or(Refusal::Forged)?;
        let until = u64::from_be_bytes(*until);
        if until <= millis(now) {
            return Err(Refusal::Expired);
        }
        Ok(Verified { nonce: *nonce, until, round: u16::from_be_bytes(*round), payload: payload.to_vec() })
    }
}

impl fmt::Debug for RequestStateCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestStateCodec")
            .field("lifetime", &self.lifetime)
            .field("rounds", &self.rounds)
            .finish_non_exhaustive()
    }
}

fn refused(context: &Context, why: Refusal) -> ErrorObject {
    tracing::warn!(method = context.method(), %why, "rejected `requestState`");
    errors::invalid_params_in_words("params.requestState: invalid or expired; send the request again without it")
}

/// Returns the bytes that a state is bound to. Length prefixes keep different parts from producing the same bytes.
fn binding(context: &Context, who: &str) -> Vec<u8> {
    let subject = context.subject().unwrap_or_default();
    let mut binding = Vec::new();
    for part in [context.method(), subject, who] {
        binding.extend_from_slice(&(part.len() as u64).to_be_bytes());
        binding.extend_from_slice(part.as_bytes());
    }
    binding
}

fn hmac_key(key: &[u8]) -> Result<Hmac<Sha256>, RequestStateError> {
    let short = RequestStateError::ShortKey(key.len());
    if key.len() < SHORTEST_KEY {
        return Err(short);
    }
    Hmac::new_from_slice(key).map_err(|_| short)
}

fn mac(key: &Hmac<Sha256>, binding: &[u8], body: &[u8]) -> Hmac<Sha256> {
    let mut mac = key.clone();
    mac.update(b"mcpgen requestState 1\0");
    mac.update(binding);
    mac.update(body);
    mac
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// How many used states [`RequestStateCodec::of_this_process`] remembers.
pub const MAX_USED_STATES: usize = 100_000;

/// Records a limited number of used states in this process. Each takes about 90 bytes on 64-bit systems until it
/// expires.
///
/// At the limit, the guard forgets the states that expire first, and from then on rejects every state that expires no
/// later than a forgotten one. So no state is accepted twice, and new states still work; clients merely have less time
/// for the next round: at worst, only as long as it takes to use this many states.
#[derive(Debug)]
pub struct InMemoryReplayGuard {
    max: usize,
    used: Mutex<Used>,
}

#[derive(Debug)]
struct Used {
    /// The used states, by nonce. Expiry is in milliseconds since 1970.
    states: ExpiringMap<[u8; NONCE], (), u64>,
    /// The latest expiry of a forgotten state.
    forgotten: u64,
}

impl InMemoryReplayGuard {
    /// Creates a guard that remembers up to `max` used states.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { max, used: Mutex::new(Used { states: ExpiringMap::new(max, max), forgotten: 0 }) }
    }
}

impl ReplayGuard for InMemoryReplayGuard {
    fn record<'a>(&'a self, nonce: [u8; NONCE], until: SystemTime) -> BoxFuture<'a, Result<bool, StoreError>> {
        ready(Ok(self.record_now(nonce, until))).boxed()
    }
}

impl InMemoryReplayGuard {
    fn record_now(&self, nonce: [u8; NONCE], until: SystemTime) -> bool {
        let mut used = self.used.lock();
        let (until, now) = (millis(until), millis(SystemTime::now()));
        used.remove_expired(now);
        if self.max == 0 || until <= used.forgotten || used.states.get(&nonce).is_some() {
            return false;
        }
        if used.states.is_full() {
            let first = used.states.first_expiry().unwrap_or(until);
            used.forgotten = first.min(until);
            if until <= first {
                return true;
            }
            used.states.evict();
        }
        used.states.insert(nonce, (), until, ()).is_ok()
    }
}

impl Used {
    /// Removes expired states. They stay rejected, even if the clock is set back.
    fn remove_expired(&mut self, now: u64) {
        while let Some(until) = self.states.first_expiry().filter(|until| *until <= now) {
            self.states.evict();
            self.forgotten = self.forgotten.max(until);
        }
    }
}
