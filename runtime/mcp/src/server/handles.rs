//! State that lives across tool calls: one tool returns a handle, and other tools take it as an argument.
//!
//! This replaces sessions, which modern revisions do not have.
//!
//! ```
//! use std::time::Duration;
//! use mcpgen_sdk::server::handles::Handles;
//!
//! let baskets: Handles<Vec<String>> = Handles::new("basket", Duration::from_secs(24 * 60 * 60), 10_000);
//! let handle = baskets.create("ann", Vec::new())?;
//! baskets.with("ann", &handle, |basket| basket.push("bread".to_owned()))?;
//! assert!(baskets.with("bob", &handle, |basket| basket.len()).is_err());
//! # Ok::<(), mcpgen_sdk::server::handles::HandleError>(())
//! ```

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::expiring_map::ExpiringMap;
use crate::random::random;

/// Values that tools store under handles.
///
/// A handle cannot be guessed, belongs to one owner, and expires when unused for its lifetime. State the lifetime in
/// the description of the tool that creates handles, so that the model knows about it.
#[derive(Debug)]
pub struct Handles<T> {
    kind: &'static str,
    lifetime: Duration,
    values: Mutex<Values<T>>,
}

type Values<T> = ExpiringMap<String, Arc<Mutex<T>>, Instant, String>;

/// Maximum lifetime of a handle: 30 years. Some platforms' clocks cannot represent much more.
const MAX_LIFETIME: Duration = Duration::from_secs(30 * 365 * 86_400);

/// Why a handle cannot be created or used. If a tool returns this, the message tells the model what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandleError {
    /// The handle has expired, does not exist, or belongs to another owner. The error does not reveal which.
    #[error("unknown or expired {0} {1:?}; create a new one")]
    Unknown(&'static str, String),
    /// There are too many handles, in total or for this owner.
    #[error("too many {0} handles; try again later")]
    Full(&'static str),
    /// Another call is using the value, and this one must not wait because it already uses another value.
    #[error("{0} {1:?} is in use; try again later")]
    InUse(&'static str, String),
    /// The system's random number generator failed.
    #[error("the system's random number generator failed")]
    NoRandomness(#[source] getrandom::Error),
}

impl<T> Handles<T> {
    /// Creates an empty store for at most `max` values. Each is kept for `lifetime` after its last use. `kind` names
    /// what is stored: it prefixes the handles and appears in error messages.
    #[must_use]
    pub fn new(kind: &'static str, lifetime: Duration, max: usize) -> Self {
        Self { kind, lifetime: lifetime.min(MAX_LIFETIME), values: Mutex::new(ExpiringMap::new(max, max)) }
    }

    /// Limits the number of values per owner. Defaults to the total maximum.
    #[must_use]
    pub fn max_per_owner(self, max: usize) -> Self {
        self.values.lock().set_max_per_owner(max);
        self
    }

    /// Stores a value and returns its handle. `owner` is the name of an authenticated user. Without authentication,
    /// pass an empty string; the handle then works for every client that knows it.
    ///
    /// # Errors
    ///
    /// [`Full`](HandleError::Full) if there are too many values, in total or for the owner.
    /// [`NoRandomness`](HandleError::NoRandomness) if the system's random number generator fails.
    pub fn create(&self, owner: &str, value: T) -> Result<String, HandleError> {
        let random = random::<16>().map_err(HandleError::NoRandomness)?;
        let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let handle = format!("{}_{hex}", self.kind);
        let value = Arc::new(Mutex::new(value));
        let inserted = self.values().insert(handle.clone(), owner.to_owned(), self.until(), value);
        inserted.map(|()| handle).map_err(|_| HandleError::Full(self.kind))
    }

    /// Calls a function with a handle's value, and extends the handle's life.
    ///
    /// The value is locked during the call, so other calls with the same handle block their thread. Within the
    /// function, calls with other handles work, but never block.
    ///
    /// # Errors
    ///
    /// [`Unknown`](HandleError::Unknown) if the handle has expired, does not exist, or belongs to another owner.
    /// [`InUse`](HandleError::InUse) if this is called within the function of another call and the value is locked: a
    /// thread that holds a lock never waits for another, so calls cannot deadlock.
    pub fn with<U>(&self, owner: &str, handle: &str, work: impl FnOnce(&mut T) -> U) -> Result<U, HandleError> {
        let value = self.find(owner, handle)?;
        let nesting = Nesting::enter();
        let locked = if nesting.is_nested() { value.try_lock() } else { Some(value.lock()) };
        let mut value = locked.ok_or_else(|| HandleError::InUse(self.kind, shown(handle)))?;
        Ok(work(&mut value))
    }

    /// Removes a handle and its value. Returns `false` if the handle does not exist or belongs to another owner.
    pub fn remove(&self, owner: &str, handle: &str) -> bool {
        let mut values = self.values();
        let is_owned = values.get(handle).is_some_and(|(known, _)| known == owner);
        let removed = if is_owned { values.remove(handle) } else { None };
        drop(values);
        removed.is_some()
    }

    /// Finds a handle's value, and extends the handle's life.
    fn find(&self, owner: &str, handle: &str) -> Result<Arc<Mutex<T>>, HandleError> {
        let mut values = self.values();
        let value = values.get(handle).filter(|(known, _)| *known == owner).map(|(_, value)| Arc::clone(value));
        let value = value.ok_or_else(|| HandleError::Unknown(self.kind, shown(handle)))?;
        values.renew(handle, self.until());
        Ok(value)
    }

    fn until(&self) -> Instant {
        Instant::now() + self.lifetime
    }

    /// Locks the values, and removes expired ones.
    fn values(&self) -> MutexGuard<'_, Values<T>> {
        let mut values = self.values.lock();
        let expired = values.remove_expired(Instant::now());
        if expired.is_empty() {
            return values;
        }
        // Dropping values may take time, so do it without holding the lock.
        drop(values);
        drop(expired);
        self.values.lock()
    }
}

/// Shortens a handle for error messages.
fn shown(handle: &str) -> String {
    handle.chars().take(64).collect()
}

thread_local! {
    /// How many calls of [`Handles::with`] are running on this thread.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A running call of [`Handles::with`]. Dropping it ends the call, even after a panic.
struct Nesting;

impl Nesting {
    fn enter() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Self
    }

    fn is_nested(&self) -> bool {
        DEPTH.get() > 1
    }
}

impl Drop for Nesting {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn handles_expire_and_belong_to_one_owner() {
        let handles = Handles::new("basket", Duration::from_secs(10), 2);
        let (a, b) = (handles.create("ann", 1).expect("a handle"), handles.create("bob", 2).expect("a handle"));
        assert!(a != b && a.starts_with("basket_") && a.len() > 32);
        assert_eq!(handles.create("ann", 3), Err(HandleError::Full("basket")));
        assert_eq!(handles.with("ann", &a, |value| *value), Ok(1));
        for (who, handle) in [("bob", a.as_str()), ("ann", "basket_0"), ("ann", ""), ("", a.as_str())] {
            let error = handles.with(who, handle, |value| *value).expect_err("unknown, or another owner's");
            assert!(error.to_string().contains("create a new one"), "{error}");
        }
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(handles.with("ann", &a, |value| *value), Ok(1), "use renews the lifetime");
        tokio::time::advance(Duration::from_secs(6)).await;
        assert!(handles.with("bob", &b, |value| *value).is_err(), "expired");
        assert!(!handles.remove("bob", &a) && handles.remove("ann", &a) && !handles.remove("ann", &a));
        // Nested use, handles that never expire, and the maximum per owner.
        let handles = Handles::new("basket", Duration::MAX, 10).max_per_owner(2);
        let (a, b) = (handles.create("ann", 1).expect("a handle"), handles.create("ann", 2).expect("a handle"));
        assert_eq!(handles.create("ann", 3), Err(HandleError::Full("basket")));
        handles.create("bob", 3).expect("a handle");
        let both = handles.with("ann", &a, |a| handles.with("ann", &b, |b| *a + *b));
        assert_eq!(both, Ok(Ok(3)));
    }

    #[test]
    fn rejects_nested_use_of_the_same_handle() {
        let handles = Handles::new("basket", Duration::from_secs(10), 2);
        let handle = handles.create("ann", 1).expect("a handle");
        let nested = handles.with("ann", &handle, |_| handles.with("ann", &handle, |value| *value));
        assert_eq!(nested, Ok(Err(HandleError::InUse("basket", handle.clone()))));
        assert_eq!(handles.with("ann", &handle, |value| *value), Ok(1), "the handle can be used again");
    }
}
