//! What each side declares about itself.

use std::sync::OnceLock;

use derive_setters::Setters;
use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_types::codec::Cursor;
use mcpgen_types::{Json, JsonObject, JsonRef, MethodSpec, Revision};

use super::log_level::Level;
use super::methods;
use super::role::Role;

/// What this side declares about itself, in the handshake or with each message.
#[derive(Clone, Debug, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct LocalInfo {
    /// The supported revisions, preferred first.
    pub revisions: Vec<Revision>,
    /// The declared capabilities, as JSON of a revision's `ServerCapabilities` or `ClientCapabilities`.
    pub capabilities: JsonObject,
    /// The name and version, as JSON of a revision's `Implementation`.
    pub implementation: JsonObject,
    /// A server's instructions on how to use it.
    pub instructions: Option<String>,
    /// The minimum level of log messages that a client wants, sent with each request. `None` means no log messages.
    /// Legacy revisions ignore this and use `logging/setLevel`.
    pub level: Option<Level>,
}

impl LocalInfo {
    /// Creates local info with all revisions and without capabilities.
    pub fn new(name: &str, version: &str) -> Self {
        let implementation = [("name", name), ("version", version)];
        Self {
            revisions: Revision::ALL.iter().rev().copied().collect(),
            capabilities: JsonObject::new(),
            implementation: implementation.map(|(key, value)| (key, value.into())).into(),
            instructions: None,
            level: None,
        }
    }

    /// Keeps only the revisions that `wanted` accepts.
    #[must_use]
    pub fn retain_revisions(mut self, wanted: impl Fn(Revision) -> bool) -> Self {
        self.revisions.retain(|revision| wanted(*revision));
        self
    }

    /// Adds a capability, such as `tools` with `{"listChanged": true}`.
    #[must_use]
    pub fn capability(mut self, capability: &str, details: impl Into<Json>) -> Self {
        self.capabilities.insert(capability, details);
        self
    }

    /// Returns the legacy or the modern revisions, preferred first.
    pub(crate) fn revisions_of_kind(&self, legacy: bool) -> impl Iterator<Item = Revision> {
        self.revisions.iter().copied().filter(move |revision| revision.is_legacy() == legacy)
    }
}

/// The capabilities that a router's handlers imply.
#[derive(Clone, Debug, Default)]
pub struct HandlerCapabilities {
    revisions: Vec<Revision>,
    /// The capabilities that handlers provide in each revision.
    capabilities: Vec<(Revision, Vec<&'static str>)>,
    /// The capabilities in the local info, and whether their values count as declared. Cached, because every request
    /// looks one up.
    named: OnceLock<Vec<(String, bool)>>,
}

impl HandlerCapabilities {
    /// Creates the capabilities of a server or client whose handlers cover these revisions. `handles` tells whether a
    /// method has a handler in a revision.
    pub(crate) fn new(role: Role, revisions: Vec<Revision>, handles: impl Fn(Revision, &str) -> bool) -> Self {
        let capabilities = Revision::ALL.iter().map(|&revision| {
            let mut names = Vec::new();
            let received = |spec: &&MethodSpec| spec.is_request && methods::is_received_by(spec, role);
            for spec in revision.methods().iter().filter(received) {
                if let [name, ..] = spec.capability
                    && !names.contains(name)
                    && handles(revision, spec.method)
                {
                    names.push(*name);
                }
            }
            (revision, names)
        });
        Self { revisions, capabilities: capabilities.collect(), named: OnceLock::new() }
    }

    /// Returns whether a revision is supported: it has a handler, or all handlers work in every revision.
    pub(crate) fn supports(&self, revision: Revision) -> bool {
        self.revisions.is_empty() || self.revisions.contains(&revision)
    }

    /// Returns whether this side has the capability in a revision. `local_info` must be the same in all calls.
    pub(crate) fn can(&self, local_info: &LocalInfo, supported: Revision, path: &[&str]) -> bool {
        match path {
            ["tasks", ..] if !supported.is_legacy() => false,
            [only] => {
                let declared =
                    || local_info.capabilities.iter().map(|(name, value)| (name.into_owned(), can(value, &[])));
                let mut named = self.named.get_or_init(|| declared().collect()).iter();
                match named.find(|(name, _)| name == only) {
                    Some((_, is_declared)) => *is_declared,
                    None => self.of(supported).contains(only),
                }
            }
            _ => can(local_info.capabilities.as_ref(), path),
        }
    }

    fn of(&self, supported: Revision) -> &[&'static str] {
        let of_revision = self.capabilities.iter().find(|(revision, _)| *revision == supported);
        of_revision.map_or(&[], |(_, names)| names)
    }

    /// Returns the capabilities to declare in a revision: those of the local info, unchanged, plus those of the
    /// handlers.
    pub(crate) fn capabilities(&self, local_info: &LocalInfo, supported: Revision) -> JsonObject {
        let mut capabilities = local_info.capabilities.clone();
        for capability in self.of(supported) {
            capabilities.insert_if_absent(capability, JsonObject::new());
        }
        if !supported.is_legacy() {
            // In modern revisions tasks are an extension instead.
            capabilities.remove("tasks");
        }
        capabilities
    }
}

/// What the peer declared about itself.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PeerInfo {
    /// The negotiated revision, or the request's revision if the peer declares itself with each request.
    pub revision: Revision,
    /// The declared capabilities.
    pub capabilities: JsonObject,
    /// The peer's `Implementation`, such as name and version. Empty if it sent none.
    pub implementation: JsonObject,
    /// A server's instructions on how to use it.
    pub instructions: Option<String>,
}

impl PeerInfo {
    /// Returns whether the peer declared a capability, such as `["resources", "subscribe"]`. A value of `false` or
    /// `null` does not count.
    #[must_use]
    pub fn can(&self, path: &[&str]) -> bool {
        can(self.capabilities.as_ref(), path)
    }
}

/// Maximum length of a peer's capabilities, and of its implementation, in bytes of JSON.
pub const MAX_DECLARATION: usize = 64 << 10;

/// Checks the length of a peer's declarations before decoding them. The error names the member and the limit.
pub(super) fn check_declarations<const N: usize>(
    declaring: Cursor<'_>,
    names: &'static [&'static str; N],
) -> Result<(), String> {
    for (name, value) in names.iter().zip(Picked::values(declaring, names)) {
        let length = value.map_or(0, |value| value.text().len());
        if length > MAX_DECLARATION {
            return Err(format!("[{name:?}]: {length} bytes exceed {MAX_DECLARATION} (`MAX_DECLARATION`)"));
        }
    }
    Ok(())
}

/// Returns whether capabilities include this one, such as `["resources", "subscribe"]`. A value of `false` or `null`
/// does not count.
#[must_use]
pub fn can(capabilities: JsonRef<'_>, path: &[&str]) -> bool {
    let found = path.iter().try_fold(capabilities, |value, name| value.get(name));
    found.is_some_and(|value| !value.is_null() && value.as_bool() != Some(false))
}

/// Returns a capability that a request's params need beyond the method's own, and that the peer did not declare.
pub(crate) fn missing_for(method: &str, params: JsonRef<'_>, declared: JsonRef<'_>) -> Option<&'static [&'static str]> {
    let needed: &[&str] = match method {
        "sampling/createMessage" if params.get("tools").or(params.get("toolChoice")).is_some() => {
            &["sampling", "tools"]
        }
        "elicitation/create" => match params.get("mode").and_then(JsonRef::as_str).as_deref() {
            Some("url") => &["elicitation", "url"],
            // Forms are the only mode in the first revision with elicitation, so a client without modes supports them.
            None | Some("form") if can(declared, &["elicitation", "url"]) => &["elicitation", "form"],
            _ => return None,
        },
        _ => return None,
    };
    (!can(declared, needed)).then_some(needed)
}
