//! Cache hints for results (2026-07-28).

use std::time::Duration;

use mcpgen_types::Request;
use mcpgen_types::v2026_07_28::ReadResourceRequest;

/// How long a client or proxy may cache a result, and whether other clients may get the cached copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheHint {
    /// How long the result stays fresh. Sent as whole milliseconds, at most 2^53. Defaults to zero.
    pub fresh_for: Duration,
    /// Whether the result is the same for all clients. If false, the default, only the client that requested it may use
    /// it.
    pub public: bool,
}

impl CacheHint {
    pub(crate) fn ttl_ms(self) -> u64 {
        // Clients that store numbers as doubles represent every integer up to 2^53 exactly.
        u64::try_from(self.fresh_for.as_millis()).unwrap_or(u64::MAX).min(1 << 53)
    }

    pub(crate) fn scope(self) -> &'static str {
        if self.public { "public" } else { "private" }
    }
}

/// A server's cache hints, per list and per resource.
///
/// They override hints in a handler's result. A result without a hint is sent as private and immediately stale.
#[derive(Clone, Debug, Default)]
pub struct CacheHints {
    lists: Vec<(&'static str, CacheHint)>,
    resources: Vec<(String, CacheHint)>,
}

impl CacheHints {
    /// Sets the hint for all results of a request: `server/discover`, a list request, `resources/read`, or a request of
    /// an extension whose results can be cached.
    #[must_use]
    pub fn of<R: Request>(mut self, hint: CacheHint) -> Self {
        self.lists.push((R::METHOD, hint));
        self
    }

    /// Sets the hint for one resource. It overrides the hint for `resources/read`.
    #[must_use]
    pub fn of_resource(mut self, uri: impl Into<String>, hint: CacheHint) -> Self {
        self.resources.push((uri.into(), hint));
        self
    }

    /// Makes the hints for these methods private, because their results depend on the caller.
    pub(crate) fn make_private(&mut self, methods: &[&str]) {
        let of_methods = self.lists.iter_mut().filter(|(method, _)| methods.contains(method)).map(|(_, hint)| hint);
        let reads = methods.contains(&ReadResourceRequest::METHOD);
        let of_resources = self.resources.iter_mut().filter(|_| reads).map(|(_, hint)| hint);
        of_methods.chain(of_resources).for_each(|hint| hint.public = false);
    }

    pub(crate) fn hint(&self, method: &str, subject: Option<&str>) -> Option<CacheHint> {
        let resource = subject.filter(|_| method == ReadResourceRequest::METHOD);
        let of_resource = self.resources.iter().rev().find(|(uri, _)| Some(uri.as_str()) == resource);
        let of_method = || self.lists.iter().rev().find(|(known, _)| *known == method);
        of_resource.map(|(_, hint)| *hint).or_else(|| of_method().map(|(_, hint)| *hint))
    }
}
