//! The tools, resources, resource templates or prompts of a server.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::util::did_you_mean;
use mcpgen_types::ErrorObject;
use parking_lot::RwLock;

use super::error::DefinitionError;
use crate::protocol::change::Change;

/// An entry of a [`Registry`].
pub(super) trait Entry {
    /// The kind of entry, for error messages and cursors.
    const KIND: &'static str;
    /// The change that adding or removing an entry causes.
    const CHANGE: Change;

    /// The description of an entry in a list.
    type Listed;

    /// Returns the name or URI of the entry.
    fn key(&self) -> &str;

    /// Returns the description for a list.
    fn listed(&self, context: &Context) -> Self::Listed;
}

/// Entries, ordered by their keys.
#[derive(Debug)]
pub(super) struct Registry<T> {
    entries: RwLock<BTreeMap<String, Arc<T>>>,
    is_declared: AtomicBool,
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self { entries: RwLock::new(BTreeMap::new()), is_declared: AtomicBool::new(false) }
    }
}

impl<T: Entry> Registry<T> {
    /// Adds an entry.
    ///
    /// # Errors
    ///
    /// Fails if another entry has the same key.
    pub(super) fn insert(&self, entry: T) -> Result<(), DefinitionError> {
        let mut entries = self.entries.write();
        if entries.contains_key(entry.key()) {
            return Err(DefinitionError::Duplicate { kind: T::KIND, key: entry.key().to_owned() });
        }
        entries.insert(entry.key().to_owned(), Arc::new(entry));
        drop(entries);
        self.is_declared.store(true, Ordering::Release);
        Ok(())
    }

    /// Adds an entry, or replaces the one with the same key.
    pub(super) fn set(&self, entry: T) {
        let replaced = self.entries.write().insert(entry.key().to_owned(), Arc::new(entry));
        // Dropped after the lock is released, as in `remove`.
        drop(replaced);
        self.is_declared.store(true, Ordering::Release);
    }

    /// Removes an entry. Returns `false` if no entry has this key.
    pub(super) fn remove(&self, key: &str) -> bool {
        // The entry is dropped after the lock is released, because dropping a handler may run any code.
        let removed = self.entries.write().remove(key);
        removed.is_some()
    }

    pub(super) fn get(&self, key: &str) -> Option<Arc<T>> {
        self.entries.read().get(key).cloned()
    }

    /// Returns a suggestion for an unknown key, which is empty if no key is similar.
    pub(super) fn did_you_mean(&self, key: &str) -> String {
        did_you_mean(key, self.entries.read().keys().map(String::as_str))
    }

    /// Returns all entries, in order.
    pub(super) fn all(&self) -> Vec<Arc<T>> {
        self.entries.read().values().cloned().collect()
    }

    /// Returns up to `size` entries after a cursor, and the cursor of the next page. A cursor stays valid when entries
    /// are added or removed.
    ///
    /// # Errors
    ///
    /// Fails if the cursor was not created by this function.
    pub(super) fn page(&self, cursor: Option<&str>, size: usize) -> Result<(Vec<Arc<T>>, Option<String>), ErrorObject> {
        let after = cursor.map(|cursor| decode_cursor(T::KIND, cursor)).transpose()?;
        let start = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let entries = self.entries.read();
        let mut rest = entries.range::<str, _>((start, Bound::Unbounded));
        let page: Vec<Arc<T>> = rest.by_ref().take(size.max(1)).map(|(_, entry)| Arc::clone(entry)).collect();
        let next = rest.next().and(page.last()).map(|last| encode_cursor(T::KIND, last.key()));
        Ok((page, next))
    }

    /// Declares that the list is served, even if it has no entries yet.
    pub(super) fn declare(&self) {
        self.is_declared.store(true, Ordering::Release);
    }

    /// Returns whether an entry was ever added. A list that has become empty is still served.
    pub(super) fn is_declared(&self) -> bool {
        self.is_declared.load(Ordering::Acquire)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.read().len()
    }
}

/// Encodes the position after an entry of this kind.
#[must_use]
pub fn encode_cursor(kind: &str, key: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{kind}:{key}"))
}

/// Returns the key that [`encode_cursor`] has encoded.
///
/// # Errors
///
/// Fails if the cursor was not created by it, or for another kind.
pub fn decode_cursor(kind: &str, cursor: &str) -> Result<String, ErrorObject> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let key = text.as_deref().and_then(|text| text.strip_prefix(kind)?.strip_prefix(':'));
    let unknown = || {
        let reason = "params.cursor: not a cursor of this list; request the first page, without a cursor";
        errors::invalid_params_in_words(reason)
    };
    key.map(str::to_owned).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Item(String);

    impl Entry for Item {
        const KIND: &'static str = "item";
        const CHANGE: Change = Change::Tools;
        type Listed = String;

        fn key(&self) -> &str {
            &self.0
        }

        fn listed(&self, _: &Context) -> String {
            self.0.clone()
        }
    }

    fn registry(keys: impl IntoIterator<Item = &'static str>) -> Registry<Item> {
        let registry = Registry::default();
        for key in keys {
            registry.insert(Item(key.to_owned())).expect("a new key");
        }
        registry
    }

    fn keys(items: &[Arc<Item>]) -> Vec<&str> {
        items.iter().map(|item| item.0.as_str()).collect()
    }

    #[test]
    fn pages_cover_the_list_in_order() {
        let all = ["a", "b", "c", "d", "e"];
        let registry = registry(["d", "a", "e", "c", "b"]);
        for size in [0, 1, 2, 5, 100] {
            let (mut found, mut cursor) = (Vec::new(), None::<String>);
            loop {
                let (page, next) = registry.page(cursor.as_deref(), size).expect("a valid cursor");
                found.extend(page);
                let Some(next) = next else { break };
                cursor = Some(next);
            }
            assert_eq!(keys(&found), all, "in pages of {size}");
        }
    }

    #[test]
    fn cursors_stay_valid_when_entries_change() {
        let registry = registry(["a", "b", "d", "e"]);
        let (_, cursor) = registry.page(None, 2).expect("the first page");
        assert!(registry.remove("a") && registry.remove("b") && !registry.remove("b"));
        registry.insert(Item("c".to_owned())).expect("a new key");
        let (page, next) = registry.page(cursor.as_deref(), 10).expect("a valid cursor");
        assert_eq!((keys(&page), next), (vec!["c", "d", "e"], None));
    }

    #[test]
    fn rejects_cursors_of_other_lists() {
        for cursor in ["", "0", "3", "x", "dG9vbDph"] {
            assert!(registry(["a"]).page(Some(cursor), 5).is_err(), "{cursor:?}");
        }
    }
}
