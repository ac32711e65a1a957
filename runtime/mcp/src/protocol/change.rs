//! Changes that clients can subscribe to.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Included, Unbounded};

use mcpgen_types::JsonObject;
use mcpgen_types::v2026_07_28::SubscriptionFilter;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

/// A change on the server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools has changed.
    Tools,
    /// The list of prompts has changed.
    Prompts,
    /// The list of resources has changed.
    Resources,
    /// The resource with this URI has changed.
    Resource(String),
    /// The task with this ID has changed (extension `io.modelcontextprotocol/tasks`). Only clients receive this;
    /// servers report changed tasks by other means.
    Task(String),
}

/// The filter member that lists task IDs.
pub const TASK_IDS: &str = "taskIds";
/// The notification that a task has changed.
pub const TASK_NOTIFICATION: &str = "notifications/tasks";

impl Change {
    /// Returns the method of the notification that reports the change.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Resource(_) => "notifications/resources/updated",
            Self::Task(_) => TASK_NOTIFICATION,
        }
    }

    /// Returns the change that a notification reports, or `None` if it reports no change.
    #[must_use]
    pub fn of(method: &str, params: &JsonObject) -> Option<Self> {
        let text = |name: &str| params.get(name).and_then(|text| Some(text.as_str()?.into_owned()));
        let lists = [Self::Tools, Self::Prompts, Self::Resources].into_iter();
        let items = [text("uri").map(Self::Resource), text("taskId").map(Self::Task)].into_iter().flatten();
        lists.chain(items).find(|change| change.method() == method)
    }

    /// Returns every change that a filter selects: changed lists, and one change per subscribed URI and task.
    pub fn all(filter: &SubscriptionFilter) -> impl Iterator<Item = Self> {
        let filter = Filter::from(filter);
        let changes: Vec<_> = filter.changes().collect();
        changes.into_iter().chain(filter.task_ids.into_iter().map(Self::Task))
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    /// The subscribed resources. A subscription to a resource covers its parts.
    pub(crate) uris: BTreeSet<String>,
    pub(crate) task_ids: BTreeSet<String>,
}

impl From<&SubscriptionFilter> for Filter {
    fn from(filter: &SubscriptionFilter) -> Self {
        let task_ids = filter.extra.get(TASK_IDS).into_iter().flat_map(|ids| ids.elements());
        Self {
            tools: filter.tools_list_changed == Some(true),
            prompts: filter.prompts_list_changed == Some(true),
            resources: filter.resources_list_changed == Some(true),
            uris: filter.resource_subscriptions.iter().flatten().cloned().collect(),
            task_ids: task_ids.filter_map(|id| Some(id.as_str()?.into_owned())).collect(),
        }
    }
}

impl Filter {
    pub(crate) fn matches(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Resource(uri) => self.covering(uri).is_some(),
            Change::Task(id) => self.task_ids.contains(id),
        }
    }

    /// Returns every change that the filter selects, except tasks: changed lists, and one change per subscribed URI.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Change> {
        let lists = [Change::Tools, Change::Prompts, Change::Resources].into_iter().filter(|list| self.matches(list));
        lists.chain(self.uris.iter().cloned().map(Change::Resource))
    }

    /// Returns the longest subscribed URI that covers this resource: the resource itself or one that it is part of.
    ///
    /// Such a URI is a prefix of `uri`. In sorted order, every prefix of `uri` is at or before it, and all entries
    /// between the two begin with that prefix. So a prefix of `uri` that sorts before an entry is also a prefix of what
    /// `uri` and the entry have in common. Each step moves to the last entry that is not after this common prefix.
    fn covering(&self, uri: &str) -> Option<&str> {
        let mut last = self.uris.range::<str, _>((Unbounded, Included(uri))).next_back()?;
        loop {
            if is_part(uri, last) {
                return Some(last);
            }
            let common = common_prefix(uri, last);
            let end = if common.len() == last.len() { Excluded(common) } else { Included(common) };
            last = self.uris.range::<str, _>((Unbounded, end)).next_back()?;
        }
    }
}

fn common_prefix<'a>(a: &'a str, b: &str) -> &'a str {
    let differs = a.char_indices().zip(b.chars()).find(|((_, a), b)| a != b);
    let end = differs.map_or(a.len().min(b.len()), |((at, _), _)| at);
    &a[..end]
}

/// Returns whether a resource is `whole` or a part of it. Subscribers of a resource are also notified about its parts.
#[must_use]
pub fn is_part(uri: &str, whole: &str) -> bool {
    let rest = uri.strip_prefix(whole);
    rest.is_some_and(|rest| rest.is_empty() || whole.ends_with('/') || rest.starts_with(['/', '#', '?']))
}

/// Changes that a subscriber has yet to be notified of, without duplicates.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    changes: Mutex<BTreeSet<Change>>,
    some: Notify,
}

/// Once this many changes are pending, changes to the parts of a resource are merged into one, because a resource may
/// have any number of parts.
const MOST_PARTS: usize = 1024;

impl Pending {
    /// Adds a change. Once [`MOST_PARTS`] changes are pending, a changed part is recorded as a change of the subscribed
    /// resource.
    pub(crate) fn add(&self, change: Change, filter: &Filter) {
        let mut changes = self.lock();
        let change = match change {
            Change::Resource(uri) if changes.len() >= MOST_PARTS => {
                Change::Resource(filter.covering(&uri).map_or(uri.clone(), str::to_owned))
            }
            change => change,
        };
        changes.insert(change);
        self.some.notify_one();
    }

    pub(crate) fn take(&self) -> Option<Change> {
        self.lock().pop_first()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Change>> {
        self.changes.lock()
    }

    /// Removes and returns the next change, waiting for one if necessary.
    pub(crate) async fn next(&self) -> Change {
        loop {
            if let Some(change) = self.take() {
                return change;
            }
            self.some.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_parts_by_uri_and_merges_their_changes() {
        for (uri, whole, expected) in [
            ("file:///a", "file:///a", true),
            ("file:///a/b", "file:///a", true),
            ("file:///a/b", "file:///a/", true),
            ("file:///a#b", "file:///a", true),
            ("file:///ab", "file:///a", false),
            ("file:///a", "file:///a/", false),
            ("file:///a", "file:///a/b", false),
        ] {
            assert_eq!(is_part(uri, whole), expected, "{uri} of {whole}");
        }
        let filter = Filter { uris: ["a/".to_owned()].into(), ..Filter::default() };
        let pending = Pending::default();
        for part in 0..3 * MOST_PARTS {
            pending.add(Change::Resource(format!("a/{part}")), &filter);
        }
        assert_eq!(pending.lock().len(), MOST_PARTS + 1);
        assert!(pending.lock().contains(&Change::Resource("a/".to_owned())));
    }

    #[test]
    fn finds_the_subscription_that_covers_a_resource() {
        let uris = ["", "é", "file:///", "file:///a", "file:///a/b/", "file:///a/bc", "file:///a/bé", "file:///ab"];
        let filter = Filter { uris: uris.map(str::to_owned).into(), ..Filter::default() };
        let mut changed: Vec<String> = uris.map(str::to_owned).into();
        for end in ["", "/", "#x", "?x", "/b", "/b/c", "/bc/d", "b", "é/x", "ê", "\u{10ffff}"] {
            changed.extend(uris.map(|uri| format!("{uri}{end}")));
        }
        for uri in changed {
            let longest = uris.into_iter().filter(|whole| is_part(&uri, whole)).max_by_key(|whole| whole.len());
            assert_eq!(filter.covering(&uri), longest, "{uri}");
        }
    }
}
