//! For how long results may be kept (2026-07-28).

use std::time::Duration;

use mcpgen_types::Request;
use mcpgen_types::v2026_07_28::{DiscoverRequest, ReadResourceRequest};

/// For how long, and for whom, a result may be kept by whoever receives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheHint {
    /// For how long it is fresh. Sent in whole milliseconds.
    pub fresh_for: Duration,
    /// Whether it is the same for everybody; otherwise it is only for whoever asked.
    pub public: bool,
}

impl CacheHint {
    /// As results have it: `ttlMs`.
    pub(crate) fn ttl_ms(self) -> u64 {
        // No more than every reader of JSON takes for an integer.
        u64::try_from(self.fresh_for.as_millis()).unwrap_or(u64::MAX).min(1 << 53)
    }

    /// As results have it: `cacheScope`.
    pub(crate) fn scope(self) -> &'static str {
        if self.public { "public" } else { "private" }
    }
}

/// The hints of a server, set once for each list and each resource. What has a hint here is sent with it, whatever its
/// handler says; what has none is sent as its handler says, or as stale at once.
#[derive(Clone, Debug, Default)]
pub struct CacheHints {
    lists: Vec<(&'static str, CacheHint)>,
    resources: Vec<(String, CacheHint)>,
}

impl CacheHints {
    /// A hint for all answers to a request: to `server/discover`, to a list, or to `resources/read`.
    #[must_use]
    pub fn of<R: Request>(mut self, hint: CacheHint) -> Self {
        self.lists.push((R::METHOD, hint));
        self
    }

    /// A hint for a resource, before that of all resources.
    #[must_use]
    pub fn of_resource(mut self, uri: impl Into<String>, hint: CacheHint) -> Self {
        self.resources.push((uri.into(), hint));
        self
    }

    pub(crate) fn hint(&self, method: &str, subject: Option<&str>) -> Option<CacheHint> {
        let resource = subject.filter(|_| method == ReadResourceRequest::METHOD);
        let of_resource = self.resources.iter().rev().find(|(uri, _)| Some(uri.as_str()) == resource);
        let of_method = || self.lists.iter().rev().find(|(known, _)| *known == method);
        of_resource.map(|(_, hint)| *hint).or_else(|| of_method().map(|(_, hint)| *hint))
    }
}

/// The requests whose results say for how long they may be kept.
pub(crate) const CACHEABLE: [&str; 6] = [
    DiscoverRequest::METHOD,
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    ReadResourceRequest::METHOD,
];
