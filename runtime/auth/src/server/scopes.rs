//! Which scopes requests need.

use std::collections::{BTreeMap, BTreeSet};

use super::operation::Operation;

/// Which scopes requests need: some for every request, others for particular methods and tools.
///
/// ```
/// use mcpgen_auth::server::ScopePolicy;
///
/// let policy = ScopePolicy::default()
///     .require(["mcp:read"])
///     .for_method("tools/call", ["mcp:call"])
///     .for_tool("delete", ["mcp:write"])
///     .implies("mcp:admin", ["mcp:read", "mcp:call", "mcp:write"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScopePolicy {
    always: BTreeSet<String>,
    methods: BTreeMap<String, BTreeSet<String>>,
    tools: BTreeMap<String, BTreeSet<String>>,
    implied: BTreeMap<String, BTreeSet<String>>,
}

impl ScopePolicy {
    /// Requires these scopes for every request.
    #[must_use]
    pub fn require<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.always.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Requires additional scopes for a method.
    #[must_use]
    pub fn for_method<S: Into<String>>(mut self, method: &str, scopes: impl IntoIterator<Item = S>) -> Self {
        self.methods.entry(method.to_owned()).or_default().extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Requires additional scopes for calls to a tool.
    #[must_use]
    pub fn for_tool<S: Into<String>>(mut self, name: &str, scopes: impl IntoIterator<Item = S>) -> Self {
        self.tools.entry(name.to_owned()).or_default().extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Makes a scope imply others, so that a token with the broader scope suffices.
    #[must_use]
    pub fn implies<S: Into<String>>(mut self, broader: &str, narrower: impl IntoIterator<Item = S>) -> Self {
        self.implied.entry(broader.to_owned()).or_default().extend(narrower.into_iter().map(Into::into));
        self
    }

    pub(super) fn always(&self) -> &BTreeSet<String> {
        &self.always
    }

    /// Whether scopes depend on the operation, so that request bodies must be read.
    pub(super) fn depends_on_operation(&self) -> bool {
        !self.methods.is_empty() || !self.tools.is_empty()
    }

    pub(super) fn required(&self, operations: &[Operation]) -> BTreeSet<String> {
        let mut required = self.always.clone();
        for Operation { method, subject } in operations {
            required.extend(self.methods.get(method).into_iter().flatten().cloned());
            let tool = subject.as_ref().filter(|_| method == "tools/call");
            required.extend(tool.and_then(|tool| self.tools.get(tool)).into_iter().flatten().cloned());
        }
        required
    }

    /// Whether the granted scopes, and those that they imply, include all required ones.
    pub(super) fn is_sufficient(&self, granted: &BTreeSet<String>, required: &BTreeSet<String>) -> bool {
        let (mut all, mut open) = (granted.clone(), granted.iter().cloned().collect::<Vec<_>>());
        while let Some(scope) = open.pop() {
            for implied in self.implied.get(&scope).into_iter().flatten() {
                if all.insert(implied.clone()) {
                    open.push(implied.clone());
                }
            }
        }
        required.is_subset(&all)
    }
}
