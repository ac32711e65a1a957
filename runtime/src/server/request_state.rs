//! State that a server gives away and gets back unchanged, or not at all.
//!
//! What stands in `requestState` goes through the hands of the client, and comes back from whoever has got hold of it. A
//! [`RequestStateCodec`] makes it tamper-evident: it can be read, but only who has the key can make or change it. It is good for one
//! method and one subject (a tool's name, a resource's URI), for whom the server says, and for a while.
//!
//! ```
//! use std::time::Duration;
//! use mcpgen_runtime::Context;
//! use mcpgen_runtime::server::request_state::RequestStateCodec;
//! # use mcpgen_types::Revision;
//!
//! let seal = RequestStateCodec::new(b"thirty-two bytes that are secret", Duration::from_secs(300))?;
//! # let context = Context::detached(Revision::V2026_07_28);
//! // In the handler of the first round, and in that of the next one.
//! let dialog = seal.dialog::<u32>(&context, "alice")?;
//! assert_eq!(dialog.state, None);
//! let state = seal.seal(&dialog, &7)?;
//! # let _ = state;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use mcpgen_types::ErrorObject;
use serde::{Serialize, de::DeserializeOwned};
use sha2::Sha256;

use crate::jsonrpc::errors;
use crate::service::context::Context;
use crate::util::lock::Mutex;
use crate::util::random::random;

/// Makes state tamper-evident, with HMAC-SHA-256. Clones share what is used up.
#[derive(Clone)]
pub struct RequestStateCodec {
    /// Seals, and opens.
    key: Hmac<Sha256>,
    /// Only open.
    other_keys: Vec<Hmac<Sha256>>,
    lifetime: Duration,
    rounds: u16,
    spent: Option<Arc<dyn ReplayGuard>>,
}

/// Why there is no seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestStateError {
    /// The key could be guessed.
    #[error("a key of {0} bytes; at least {SHORTEST_KEY} are needed, and they must be random")]
    ShortKey(usize),
    /// The system has no random bytes.
    #[error("the system gives no random bytes")]
    NoRandomness,
}

/// How many bytes a key has at least.
pub const SHORTEST_KEY: usize = 32;

/// Why state is not taken, for the log: whoever sent it learns no more than that it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Refusal {
    #[error("it is none of ours, was changed, or was given to another request or to somebody else")]
    Forged,
    #[error("it has expired")]
    Expired,
    #[error("it was used already")]
    AlreadyUsed,
    #[error("it holds something else than what is expected")]
    Content,
}

/// The rounds of a request so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestState<T> {
    /// What was sealed in the last round; `None` in the first one.
    pub state: Option<T>,
    /// How many rounds there were before this one.
    pub round: u16,
    binding: Vec<u8>,
}

const NONCE: usize = 16;
const TAG: usize = 32;
/// The nonce, when it expires (in milliseconds since 1970), and the round.
const HEAD: usize = NONCE + 8 + 2;

impl RequestStateCodec {
    /// A seal that holds for so long, with a random key that all who serve the same requests share.
    ///
    /// It accepts a state any number of times until it expires. To accept each state once, give it a store that all these
    /// processes share: [`once`](Self::once).
    ///
    /// # Errors
    ///
    /// [`ShortKey`](RequestStateError::ShortKey)
    pub fn new(key: impl AsRef<[u8]>, lifetime: Duration) -> Result<Self, RequestStateError> {
        let key = key.as_ref();
        if key.len() < SHORTEST_KEY {
            return Err(RequestStateError::ShortKey(key.len()));
        }
        let key = Hmac::new_from_slice(key).map_err(|_| RequestStateError::ShortKey(key.len()))?;
        Ok(Self { key, other_keys: Vec::new(), lifetime, rounds: 16, spent: None })
    }

    /// A seal with a random key. No other process can open what it seals, nor can this one after a restart.
    ///
    /// It accepts each state once: it remembers the last [`MAX_USED_STATES`] used states in this process (about 5 MB), see
    /// [`InMemoryReplayGuard`].
    ///
    /// # Errors
    ///
    /// [`NoRandomness`](RequestStateError::NoRandomness)
    pub fn of_this_process(lifetime: Duration) -> Result<Self, RequestStateError> {
        Ok(Self::new(random::<SHORTEST_KEY>().map_err(|_| RequestStateError::NoRandomness)?, lifetime)?
            .once(InMemoryReplayGuard::new(MAX_USED_STATES)))
    }

    /// Opens with this key too: one that is going, or one that is coming.
    ///
    /// # Errors
    ///
    /// [`ShortKey`](RequestStateError::ShortKey)
    pub fn also_opening(mut self, key: impl AsRef<[u8]>) -> Result<Self, RequestStateError> {
        self.other_keys.push(Self::new(key, self.lifetime)?.key);
        Ok(self)
    }

    /// Ends a dialog after so many rounds. It is 16 otherwise.
    #[must_use]
    pub fn rounds(mut self, most: u16) -> Self {
        self.rounds = most;
        self
    }

    /// Accepts each state once, and remembers the used ones in a store. Processes that share the key must share the store:
    /// with [`InMemoryReplayGuard`] each of them accepts a state once.
    #[must_use]
    pub fn once(mut self, spent: impl ReplayGuard) -> Self {
        self.spent = Some(Arc::new(spent));
        self
    }

    /// The dialog that a request goes on with, or the beginning of one. `who` is whoever it is with, such as the name of
    /// an authenticated user; add to it what else must be as it was, such as the arguments of a call.
    ///
    /// # Errors
    ///
    /// The request brings state that is not taken.
    pub fn dialog<T: DeserializeOwned>(&self, context: &Context, who: &str) -> Result<RequestState<T>, ErrorObject> {
        let binding = binding(context, who);
        let Some(state) = context.request_state() else { return Ok(RequestState { state: None, round: 0, binding }) };
        let opened = self.open(&binding, state, SystemTime::now());
        let (round, payload) = opened.map_err(|refusal| refused(context, refusal))?;
        let state = serde_json::from_slice(&payload).map_err(|_| refused(context, Refusal::Content))?;
        Ok(RequestState { state: Some(state), round, binding })
    }

    /// The state that the next round of a dialog begins with.
    ///
    /// # Errors
    ///
    /// There were enough rounds, or the state is not JSON.
    pub fn seal<T, S: Serialize + ?Sized>(&self, dialog: &RequestState<T>, state: &S) -> Result<String, ErrorObject> {
        if dialog.round >= self.rounds {
            return Err(errors::invalid_request(&format!("no answer after {} rounds", self.rounds)));
        }
        let payload = serde_json::to_vec(state).map_err(|error| errors::of(error.into()))?;
        let nonce = random::<NONCE>().map_err(|error| errors::of(error.into()))?;
        let until =
            millis(SystemTime::now()).saturating_add(u64::try_from(self.lifetime.as_millis()).unwrap_or(u64::MAX));
        let mut bytes = Vec::with_capacity(HEAD + payload.len() + TAG);
        bytes.extend_from_slice(&nonce);
        bytes.extend_from_slice(&until.to_be_bytes());
        bytes.extend_from_slice(&(dialog.round + 1).to_be_bytes());
        bytes.extend_from_slice(&payload);
        let tag = mac(&self.key, &dialog.binding, &bytes).finalize().into_bytes();
        bytes.extend_from_slice(&tag);
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    fn keys(&self) -> impl Iterator<Item = &Hmac<Sha256>> {
        std::iter::once(&self.key).chain(&self.other_keys)
    }

    fn open(&self, binding: &[u8], state: &str, now: SystemTime) -> Result<(u16, Vec<u8>), Refusal> {
        let bytes = URL_SAFE_NO_PAD.decode(state).map_err(|_| Refusal::Forged)?;
        let (body, tag) = bytes.split_last_chunk::<TAG>().ok_or(Refusal::Forged)?;
        if !self.keys().any(|key| mac(key, binding, body).verify_slice(tag).is_ok()) {
            return Err(Refusal::Forged);
        }
        let (nonce, rest) = body.split_first_chunk::<NONCE>().ok_or(Refusal::Forged)?;
        let (until, rest) = rest.split_first_chunk().ok_or(Refusal::Forged)?;
        let (round, payload) = rest.split_first_chunk().ok_or(Refusal::Forged)?;
        let until = u64::from_be_bytes(*until);
        if until <= millis(now) {
            return Err(Refusal::Expired);
        }
        if self.spent.as_ref().is_some_and(|spent| !spent.spend(*nonce, UNIX_EPOCH + Duration::from_millis(until))) {
            return Err(Refusal::AlreadyUsed);
        }
        Ok((u16::from_be_bytes(*round), payload.to_vec()))
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
    tracing::warn!(method = context.method(), %why, "state is not taken");
    errors::invalid_params_in_words("params.requestState: not taken; make the request again without it")
}

/// What a state is bound to. Lengths stand before their texts, so that none can pass for a part of another.
fn binding(context: &Context, who: &str) -> Vec<u8> {
    let subject = context.subject().unwrap_or_default();
    let mut binding = Vec::new();
    for part in [context.method(), subject, who] {
        binding.extend_from_slice(&(part.len() as u64).to_be_bytes());
        binding.extend_from_slice(part.as_bytes());
    }
    binding
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

/// What remembers which states were used.
pub trait ReplayGuard: Send + Sync + 'static {
    /// Marks a state as used, which must be remembered until then; `false` if it was used before, or if that cannot be
    /// remembered.
    fn spend(&self, nonce: [u8; NONCE], until: SystemTime) -> bool;
}

/// How many used states [`RequestStateCodec::of_this_process`] remembers.
pub const MAX_USED_STATES: usize = 100_000;

/// Remembers used states in this process, up to a number of them. Each takes about 50 bytes until it expires.
///
/// At that number it forgets the states that expire first, and from then on refuses every state that expires no later than
/// a forgotten one. So no state is accepted twice, and new states are still accepted. Only the time that a client has for
/// its answer gets shorter, down to the time in which this many states were used.
#[derive(Debug)]
pub struct InMemoryReplayGuard {
    max: usize,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    /// By expiry, in milliseconds since 1970.
    states: BTreeSet<(u64, [u8; NONCE])>,
    /// The latest expiry of a forgotten state.
    forgotten: u64,
}

impl InMemoryReplayGuard {
    /// Remembers up to `max` used states.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { max, used: Mutex::default() }
    }
}

impl ReplayGuard for InMemoryReplayGuard {
    fn spend(&self, nonce: [u8; NONCE], until: SystemTime) -> bool {
        let mut used = self.used.lock();
        let until = millis(until);
        if self.max == 0 || until <= used.forgotten || !used.states.insert((until, nonce)) {
            return false;
        }
        used.forget(self.max, millis(SystemTime::now()));
        true
    }
}

impl Used {
    /// Forgets expired states, and the oldest ones beyond `max`.
    fn forget(&mut self, max: usize, now: u64) {
        while let Some(&(until, _)) = self.states.first()
            && (until <= now || self.states.len() > max)
        {
            self.states.pop_first();
            self.forgotten = self.forgotten.max(until);
        }
    }
}
