//! State between calls of tools: a handle that one tool gives away and another takes, since there are no sessions.
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

/// Things that stand behind handles. A handle cannot be guessed, belongs to whoever it was made for, and expires when it
/// was not used for a while. Say how long in the description of the tool that makes it, for the model reads it there.
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
    /// `None`: it does not expire.
    until: Option<Instant>,
    value: Arc<Mutex<T>>,
}

/// Why nothing stands behind a handle. As the error of a tool it tells the model what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandleError {
    /// It has expired, or never was: which of the two is nobody's business.
    #[error("there is no {0} {1:?}, or it has expired: make a new one")]
    Unknown(&'static str, String),
    /// There is no room.
    #[error("too many of {0} at a time: try again later")]
    Full(&'static str),
    /// The system has no random bytes.
    #[error("the system gives no random bytes")]
    NoRandomness,
}

impl<T> Handles<T> {
    /// Handles of things of this kind, kept for so long after they were last used, and no more than so many at a time.
    #[must_use]
    pub fn new(what: &'static str, lifetime: Duration, most: usize) -> Self {
        Self { what, lifetime, most, most_each: most, things: Mutex::default() }
    }

    /// Of which no more than so many belong to one owner.
    #[must_use]
    pub fn of_each(mut self, most: usize) -> Self {
        self.most_each = most;
        self
    }

    /// A handle for something, and for whoever it is made for: an authenticated user, or the empty string where there are
    /// none, and whoever has the handle may use it.
    ///
    /// # Errors
    ///
    /// [`Full`](HandleError::Full), [`NoRandomness`](HandleError::NoRandomness)
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

    /// Does something with what stands behind a handle. Others wait for it meanwhile, if it is the same one.
    ///
    /// # Errors
    ///
    /// [`Unknown`](HandleError::Unknown)
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

    /// Takes a handle away, and what stands behind it. `false` if it is none, or somebody else's.
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

    /// Those that have not expired.
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
        // What it takes to let them go may take time.
        drop(things);
        drop(gone);
        lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn handles_expire_and_belong_to_somebody() {
        let handles = Handles::new("basket", Duration::from_secs(10), 2);
        let (a, b) = (handles.create("ann", 1).expect("room"), handles.create("bob", 2).expect("room"));
        assert!(a != b && a.starts_with("basket_") && a.len() > 32);
        assert_eq!(handles.create("ann", 3), Err(HandleError::Full("basket")));
        assert_eq!(handles.with("ann", &a, |value| *value), Ok(1));
        for (who, handle) in [("bob", a.as_str()), ("ann", "basket_0"), ("ann", ""), ("", a.as_str())] {
            let error = handles.with(who, handle, |value| *value).expect_err("not theirs");
            assert!(error.to_string().contains("make a new one"), "{error}");
        }
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(handles.with("ann", &a, |value| *value), Ok(1), "used, and so kept");
        tokio::time::advance(Duration::from_secs(6)).await;
        assert!(handles.with("bob", &b, |value| *value).is_err(), "expired");
        assert!(!handles.remove("bob", &a) && handles.remove("ann", &a) && !handles.remove("ann", &a));
        // One inside the other, for ever, and no more than that for one of them.
        let handles = Handles::new("basket", Duration::MAX, 10).of_each(2);
        let (a, b) = (handles.create("ann", 1).expect("room"), handles.create("ann", 2).expect("room"));
        assert_eq!(handles.create("ann", 3), Err(HandleError::Full("basket")));
        handles.create("bob", 3).expect("room");
        let both = handles.with("ann", &a, |a| handles.with("ann", &b, |b| *a + *b));
        assert_eq!(both, Ok(Ok(3)));
    }
}
