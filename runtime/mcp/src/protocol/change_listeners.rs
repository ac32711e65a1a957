//! Callbacks for change notifications outside of subscriptions (legacy revisions).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mcpgen_types::Json;
use parking_lot::Mutex;

type Callback = Arc<dyn Fn(&str, Option<&Json>) + Send + Sync>;

#[derive(Clone, Default)]
pub(crate) struct ChangeListeners(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    next_key: u64,
    callbacks: BTreeMap<u64, Callback>,
}

impl ChangeListeners {
    /// Adds a callback, which is called until the returned value is dropped.
    pub(crate) fn add(&self, callback: impl Fn(&str, Option<&Json>) + Send + Sync + 'static) -> ChangeListener {
        let mut state = self.0.lock();
        let key = state.next_key;
        state.next_key += 1;
        state.callbacks.insert(key, Arc::new(callback));
        ChangeListener { listeners: self.clone(), key }
    }

    pub(crate) fn call(&self, method: &str, params: Option<&Json>) {
        // Called without holding the lock, because a callback may drop a listener.
        let callbacks: Vec<Callback> = self.0.lock().callbacks.values().cloned().collect();
        for callback in callbacks {
            callback(method, params);
        }
    }
}

/// Removes its callback when dropped.
pub(crate) struct ChangeListener {
    listeners: ChangeListeners,
    key: u64,
}

impl Drop for ChangeListener {
    fn drop(&mut self) {
        let removed = self.listeners.0.lock().callbacks.remove(&self.key);
        drop(removed);
    }
}

impl fmt::Debug for ChangeListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeListener").finish_non_exhaustive()
    }
}
