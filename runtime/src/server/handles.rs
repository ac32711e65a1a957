//! State between calls of tools. One tool returns a handle, and other tools take it as an argument.
//!
//! Use handles instead of sessions, which modern revisions do not have.
//!
//! ```
//! use std::time::Duration;
//! use mcpgen_runtime::server::handles::Handles;
//!
//! let baskets: Handles<Vec<String>> = Handles::new("basket", Duration::from_secs(24 * 60 * 60), 10_000);
//! let handle = baskets.create("ann", Vec::new())?;
//! baskets.with("ann", &handle, |basket| basket.push("bread".to_owned()))?;
//! assert!(baskets.with("bob", &handle, |basket| basket.len()).is_err());
//! # Ok::<(), mcpgen_runtime::server::handles::HandleError>(())
//! ```

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::util::lock::Mutex;
use crate::util::random::random;

/// Values that are stored under handles.
///
/// A handle cannot be guessed, belongs to one owner, and expires when it was not used for its lifetime. State the
/// lifetime in the description of the tool that creates handles, where the model can read it.
#[derive(Debug)]
pub struct Handles<T> {
    what: &'static str,
    lifetime: Duration,
    most: usize,
    most_each: usize,
    things: Mutex<HashMap<String, Thing<T>>>,
}

#[derive(Debug)]
struct Thing<T> {
    owner: String,
    /// `None` if the handle does not expire.
    until: Option<Instant>,
    value: Arc<Mutex<T>>,
}

/// The reason why a handle cannot be created or used. If a tool returns it, the message tells the model what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandleError {
    /// The handle has expired, does not exist, or belongs to another owner. The error does not reveal which.
    #[error("unknown or expired {0} {1:?}; create a new one")]
    Unknown(&'static str, String),
    /// The maximum number of handles exists, in total or for this owner.
    #[error("too many {0} handles; try again later")]
    Full(&'static str),
    /// The system's random number generator failed.
    #[error("the system's random number generator failed")]
    NoRandomness,
}

impl<T> Handles<T> {
    /// Creates an empty store for at most `most` values. Each value is kept for `lifetime` after its last use. `what`
    /// names the kind of value: it is the prefix of the handles and appears in error messages.
    #[must_use]
    pub fn new(what: &'static str, lifetime: Duration, most: usize) -> Self {
        Self { what, lifetime, most, most_each: most, things: Mutex::default() }
    }

    /// Sets the maximum number of values per owner. The default is the total maximum.
    #[must_use]
    pub fn of_each(mut self, most: usize) -> Self {
        self.most_each = most;
        self
    }

    /// Stores a value and returns its handle. `owner` is the name of an authenticated user. Without authentication,
    /// pass the empty string; then every client that has the handle can use it.
    ///
    /// # Errors
    ///
    /// [`Full`](HandleError::Full) if the maximum number of values is reached, in total or for the owner.
    /// [`NoRandomness`](HandleError::NoRandomness) if the system's random number generator fails.
    pub fn create(&self, owner: &str, value: T) -> Result<String, HandleError> {
        let random = random::<16>().map_err(|_| HandleError::NoRandomness)?;
        let mut things = self.things();
        let owned = things.values().filter(|thing| thing.owner == owner).count();
        if things.len() >= self.most || owned >= self.most_each {
            return Err(HandleError::Full(self.what));
        }
        let handle: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let handle = format!("{}_{handle}", self.what);
        let value = Arc::new(Mutex::new(value));
        let thing = Thing { owner: owner.to_owned(), until: self.until(), value };
        things.insert(handle.clone(), thing);
        Ok(handle)
    }

    /// Calls a function with the value of a handle, and renews the handle's lifetime. The value is locked meanwhile:
    /// other calls with the same handle block the thread until the function returns. The function must not use the same
    /// handle again, because that would deadlock.
    ///
    /// # Errors
    ///
    /// [`Unknown`](HandleError::Unknown) if the handle has expired, does not exist, or belongs to another owner.
    pub fn with<U>(&self, owner: &str, handle: &str, work: impl FnOnce(&mut T) -> U) -> Result<U, HandleError> {
        let value = {
            let mut things = self.things();
            let thing = things.get_mut(handle).filter(|thing| thing.owner == owner);
            let thing = thing.ok_or_else(|| self.unknown(handle))?;
            thing.until = self.until();
            Arc::clone(&thing.value)
        };
        let mut value = value.lock();
        Ok(work(&mut value))
    }

    /// Removes a handle and its value. Returns `false` if the handle does not exist or belongs to another owner.
    pub fn remove(&self, owner: &str, handle: &str) -> bool {
        let mut things = self.things();
        let is_theirs = things.get(handle).is_some_and(|thing| thing.owner == owner);
        let removed = if is_theirs { things.remove(handle) } else { None };
        drop(things);
        removed.is_some()
    }

    fn until(&self) -> Option<Instant> {
        Instant::now().checked_add(self.lifetime)
    }

    fn unknown(&self, handle: &str) -> HandleError {
        HandleError::Unknown(self.what, handle.chars().take(64).collect())
    }

    /// Removes expired values, and locks the others.
    fn things(&self) -> MutexGuard<'_, HashMap<String, Thing<T>>> {
        let now = Instant::now();
        let lock = || self.things.lock();
        let mut things = lock();
        let gone: Vec<Thing<T>> = things
            .extract_if(|_, thing| thing.until.is_some_and(|until| until <= now))
            .map(|(_, thing)| thing)
            .collect();
        if gone.is_empty() {
            return things;
        }
        // Dropping values may take time, so it is done without the lock.
        drop(things);
        drop(gone);
        lock()
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
        let handles = Handles::new("basket", Duration::MAX, 10).of_each(2);
        let (a, b) = (handles.create("ann", 1).expect("a handle"), handles.create("ann", 2).expect("a handle"));
        assert_eq!(handles.create("ann", 3), Err(HandleError::Full("basket")));
        handles.create("bob", 3).expect("a handle");
        let both = handles.with("ann", &a, |a| handles.with("ann", &b, |b| *a + *b));
        assert_eq!(both, Ok(Ok(3)));
    }
}
