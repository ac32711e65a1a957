//! A server's tools, resources, resource templates or prompts.

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
use super::visibility::{Item, Viewer, Visible};
use crate::protocol::change::Change;

pub(super) trait Entry: Visible {
    /// The kind of entry, for error messages and cursors.
    const KIND: &'static str;
    /// The change that adding or removing an entry causes.
    const CHANGE: Change;

    /// How a list describes an entry.
    type Listed: Send + 'static;

    /// Returns the name or URI.
    fn key(&self) -> &str;

    fn listed(&self, context: &Context) -> Self::Listed;

    fn item_of(listed: &Self::Listed) -> Item<'_>;
}

/// Entries by name or URI.
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
    /// Adds an entry and returns it.
    ///
    /// # Errors
    ///
    /// Fails if there is an entry with the same key.
    pub(super) fn insert(&self, entry: T) -> Result<Arc<T>, DefinitionError> {
        let mut entries = self.entries.write();
        if entries.contains_key(entry.key()) {
            return Err(DefinitionError::Duplicate { kind: T::KIND, key: entry.key().to_owned() });
        }
        let entry = Arc::new(entry);
        entries.insert(entry.key().to_owned(), Arc::clone(&entry));
        drop(entries);
        self.is_declared.store(true, Ordering::Release);
        Ok(entry)
    }

    /// Adds an entry, or replaces the one with the same key.
    pub(super) fn set(&self, entry: T) {
        let replaced = self.entries.write().insert(entry.key().to_owned(), Arc::new(entry));
        // Drop it only after the lock is released; see `remove`.
        drop(replaced);
        self.is_declared.store(true, Ordering::Release);
    }

    /// Removes an entry and returns it. Do not hold the lock when you drop it, because dropping a handler may run any
    /// code.
    pub(super) fn remove(&self, key: &str) -> Option<Arc<T>> {
        self.entries.write().remove(key)
    }

    pub(super) fn get(&self, key: &str) -> Option<Arc<T>> {
        self.entries.read().get(key).cloned()
    }

    /// Returns an entry that the viewer can see.
    pub(super) fn find(&self, key: &str, viewer: Viewer<'_>) -> Option<Arc<T>> {
        self.get(key).filter(|entry| viewer.sees(entry.item()))
    }

    /// Suggests a similar key that the viewer can see. May be empty.
    pub(super) fn did_you_mean(&self, key: &str, viewer: Viewer<'_>) -> String {
        let visible: Vec<_> = self.all().into_iter().filter(|entry| viewer.sees(entry.item())).collect();
        did_you_mean(key, visible.iter().map(|entry| entry.key()))
    }

    pub(super) fn all(&self) -> Vec<Arc<T>> {
        self.entries.read().values().cloned().collect()
    }

    /// Returns the next page: up to `size` visible entries after a cursor, and the cursor of the page after it. A
    /// cursor survives additions and removals. It contains the key of an entry that the viewer can see.
    ///
    /// # Errors
    ///
    /// Fails if the cursor does not come from this function.
    pub(super) fn page(
        &self,
        cursor: Option<&str>,
        size: usize,
        viewer: Viewer<'_>,
    ) -> Result<(Vec<Arc<T>>, Option<String>), ErrorObject> {
        let mut after = cursor.map(|cursor| decode_cursor(T::KIND, cursor)).transpose()?;
        let size = size.max(1);
        // Look for one more entry, to know whether another page has anything visible.
        let wanted = size.saturating_add(1);
        let mut page = Vec::new();
        while page.len() < wanted {
            let next = self.after(after.as_deref(), wanted);
            let is_last = next.len() < wanted;
            after = next.last().map(|last| last.key().to_owned());
            page.extend(next.into_iter().filter(|entry| viewer.sees(entry.item())));
            if is_last {
                break;
            }
        }
        let has_more = page.len() > size;
        page.truncate(size);
        let next = page.last().filter(|_| has_more).map(|last| encode_cursor(T::KIND, last.key()));
        Ok((page, next))
    }

    /// Collects up to `most` entries after a key, so that the lock is not held while their visibility is checked.
    fn after(&self, key: Option<&str>, most: usize) -> Vec<Arc<T>> {
        let start = key.map_or(Bound::Unbounded, Bound::Excluded);
        let entries = self.entries.read();
        entries.range::<str, _>((start, Bound::Unbounded)).take(most).map(|(_, entry)| Arc::clone(entry)).collect()
    }

    /// Serves the list even if it is empty.
    pub(super) fn declare(&self) {
        self.is_declared.store(true, Ordering::Release);
    }

    /// Returns whether the list is served. It still is after its last entry is removed.
    pub(super) fn is_declared(&self) -> bool {
        self.is_declared.load(Ordering::Acquire)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.read().len()
    }
}

/// Encodes a cursor for the entries after this key.
#[must_use]
pub fn encode_cursor(kind: &str, key: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{kind}:{key}"))
}

/// Returns the key from a cursor of [`encode_cursor`].
///
/// # Errors
///
/// Fails for any other cursor, and for one of another kind.
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
    use mcpgen_types::Revision;
    use mcpgen_types::v2026_07_28::Prompt;

    use super::*;
    use crate::protocol::ContextExt;
    use crate::server::visibility::Visibility;

    #[derive(Debug)]
    struct Named(Prompt);

    impl Visible for Named {
        fn item(&self) -> Item<'_> {
            Item::Prompt(&self.0)
        }
    }

    impl Entry for Named {
        const KIND: &'static str = "item";
        const CHANGE: Change = Change::Tools;
        type Listed = Prompt;

        fn key(&self) -> &str {
            &self.0.name
        }

        fn listed(&self, _: &Context) -> Prompt {
            self.0.clone()
        }

        fn item_of(listed: &Prompt) -> Item<'_> {
            Item::Prompt(listed)
        }
    }

    fn registry(keys: impl IntoIterator<Item = &'static str>) -> Registry<Named> {
        let registry = Registry::default();
        for key in keys {
            registry.insert(Named(Prompt::new(key))).expect("a new key");
        }
        registry
    }

    fn keys(items: &[Arc<Named>]) -> Vec<&str> {
        items.iter().map(|item| item.key()).collect()
    }

    /// Returns a page of the items that a viewer with this visibility can see.
    fn page(
        registry: &Registry<Named>,
        visibility: Option<&Visibility>,
        cursor: Option<&str>,
        size: usize,
    ) -> Result<(Vec<Arc<Named>>, Option<String>), ErrorObject> {
        let context = Context::detached(Revision::LATEST);
        registry.page(cursor, size, Viewer::new(visibility, &context))
    }

    #[test]
    fn full_pages_cover_what_a_viewer_sees_in_order() {
        let all = ["a", "b", "c", "d", "e", "f"];
        let registry = registry(["d", "a", "f", "e", "c", "b"]);
        for (hidden, size) in ["", "a", "f", "bc", "ace", "abcde", "bcdef", "abcdef"]
            .into_iter()
            .flat_map(|hidden| [0, 1, 2, 5, 100, usize::MAX].map(|size| (hidden, size)))
        {
            let visibility = Visibility::new(move |_, item| match item {
                Item::Prompt(prompt) => !hidden.contains(&prompt.name),
                _ => false,
            });
            let seen: Vec<_> = all.into_iter().filter(|key| !hidden.contains(key)).collect();
            let (mut found, mut cursor) = (Vec::new(), None::<String>);
            loop {
                let (page, next) = page(&registry, Some(&visibility), cursor.as_deref(), size).expect("a valid cursor");
                let expected = size.max(1).min(seen.len() - found.len());
                assert_eq!(page.len(), expected, "a page of {size} without {hidden:?}");
                found.extend(page);
                let Some(next) = next else { break };
                let named = decode_cursor(Named::KIND, &next).expect("a cursor of the list");
                assert!(!hidden.contains(&named), "{named} is hidden");
                cursor = Some(next);
            }
            assert_eq!(keys(&found), seen, "in pages of {size} without {hidden:?}");
        }
    }

    #[test]
    fn cursors_stay_valid_when_entries_change() {
        let registry = registry(["a", "b", "d", "e"]);
        let (_, cursor) = page(&registry, None, None, 2).expect("the first page");
        assert_eq!(["a", "b", "b"].map(|key| registry.remove(key).is_some()), [true, true, false]);
        registry.insert(Named(Prompt::new("c"))).expect("a new key");
        let (page, next) = page(&registry, None, cursor.as_deref(), 10).expect("a valid cursor");
        assert_eq!((keys(&page), next), (vec!["c", "d", "e"], None));
    }

    #[test]
    fn rejects_cursors_of_other_lists() {
        for cursor in ["", "0", "3", "x", "dG9vbDph"] {
            assert!(page(&registry(["a"]), None, Some(cursor), 5).is_err(), "{cursor:?}");
        }
    }
}
