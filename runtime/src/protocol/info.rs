//! What the two sides say of themselves.

use mcpgen_types::{JsonObject, Revision, Value};
use serde_json::json;

use crate::protocol::{Level, Role};

/// What one side says of itself, whenever it is to be said.
#[derive(Clone, Debug)]
pub struct LocalInfo {
    /// The revisions that it speaks, best first.
    pub revisions: Vec<Revision>,
    /// What it is able to do: the JSON of a revision's `ServerCapabilities` or `ClientCapabilities`.
    pub capabilities: JsonObject,
    /// Its name and version: the JSON of a revision's `Implementation`.
    pub implementation: JsonObject,
    /// How a server wants to be used.
    pub instructions: Option<String>,
    /// The events that a client wants to hear of, said with each of its requests; none if this is `None`. The older
    /// revisions have a request of its own for it, `logging/setLevel`.
    pub level: Option<Level>,
}

impl LocalInfo {
    /// Someone who speaks all revisions and is able to do nothing yet.
    pub fn new(name: &str, version: &str) -> Self {
        let implementation = [("name", name), ("version", version)];
        Self {
            revisions: Revision::ALL.iter().rev().copied().collect(),
            capabilities: JsonObject::new(),
            implementation: implementation
                .map(|(key, value)| (key.to_owned(), Value::from(value)))
                .into_iter()
                .collect(),
            instructions: None,
            level: None,
        }
    }

    /// Leaves the revisions of which this holds.
    #[must_use]
    pub fn retain_revisions(mut self, wanted: impl Fn(Revision) -> bool) -> Self {
        self.revisions.retain(|revision| wanted(*revision));
        self
    }

    /// Adds a capability, such as `tools` with `{"listChanged": true}`.
    #[must_use]
    pub fn capability(mut self, capability: &str, details: Value) -> Self {
        self.capabilities.insert(capability.to_owned(), details);
        self
    }

    /// The revisions that begin with `initialize`, or those that do not; best first.
    pub(crate) fn revisions_of_kind(&self, legacy: bool) -> impl Iterator<Item = Revision> {
        self.revisions.iter().copied().filter(move |revision| revision.is_legacy() == legacy)
    }
}

/// The capabilities that follow from the methods that a router handles.
#[derive(Clone, Debug, Default)]
pub struct HandlerCapabilities {
    revisions: Vec<Revision>,
    /// With the revision of the handler; `None` for handlers of all revisions.
    capabilities: Vec<(Option<Revision>, &'static str)>,
}

impl HandlerCapabilities {
    /// Those of a server or a client with handlers of these revisions. `revisions_of` returns the revisions of a method's
    /// handlers.
    pub(crate) fn new<R>(side: Role, revisions: Vec<Revision>, revisions_of: impl Fn(&'static str) -> R) -> Self
    where
        R: Iterator<Item = Option<Revision>>,
    {
        let table = match side {
            Role::Server => SERVED,
            Role::Client => ASKED,
        };
        let capabilities = table
            .iter()
            .flat_map(|(method, capability)| revisions_of(method).map(|revision| (revision, *capability)))
            .collect();
        Self { revisions, capabilities }
    }

    /// Whether a revision has a handler, or all handlers are of all revisions.
    pub(crate) fn speaks(&self, revision: Revision) -> bool {
        self.revisions.is_empty() || self.revisions.contains(&revision)
    }

    /// Whether a capability is declared in a revision.
    pub(crate) fn can(&self, ours: &LocalInfo, spoken: Revision, path: &[&str]) -> bool {
        match path {
            ["tasks", ..] if !spoken.is_legacy() => false,
            [only] if !ours.capabilities.contains_key(*only) => self.of(spoken).any(|capability| capability == *only),
            _ => can(&ours.capabilities, path),
        }
    }

    fn of(&self, spoken: Revision) -> impl Iterator<Item = &'static str> {
        let of = move |(revision, _): &&(Option<Revision>, _)| revision.is_none_or(|revision| revision == spoken);
        self.capabilities.iter().filter(of).map(|(_, capability)| *capability)
    }

    /// What is declared in a revision: what was said, which stays as it is, and what is handled.
    pub(crate) fn capabilities(&self, ours: &LocalInfo, spoken: Revision) -> JsonObject {
        let mut capabilities = ours.capabilities.clone();
        for capability in self.of(spoken) {
            capabilities.entry(capability).or_insert_with(|| json!({}));
        }
        if !spoken.is_legacy() {
            // These are an extension now.
            capabilities.remove("tasks");
        }
        capabilities
    }
}

/// What a server that handles a method is able to do.
const SERVED: &[(&str, &str)] = &[
    ("tools/list", "tools"),
    ("tools/call", "tools"),
    ("resources/list", "resources"),
    ("resources/read", "resources"),
    ("resources/templates/list", "resources"),
    ("prompts/list", "prompts"),
    ("prompts/get", "prompts"),
    ("completion/complete", "completions"),
];

/// What a client that handles a method is able to do.
const ASKED: &[(&str, &str)] =
    &[("roots/list", "roots"), ("sampling/createMessage", "sampling"), ("elicitation/create", "elicitation")];

/// What the other side has said of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerInfo {
    /// The revision that was agreed on, or that a request is of.
    pub revision: Revision,
    /// What it is able to do.
    pub capabilities: JsonObject,
    /// Its name, its version, and whatever else it says; empty if it says nothing.
    pub implementation: JsonObject,
    /// How a server wants to be used.
    pub instructions: Option<String>,
}

impl PeerInfo {
    /// Whether a capability is there, such as `["resources", "subscribe"]`. `false` is no capability.
    #[must_use]
    pub fn can(&self, path: &[&str]) -> bool {
        can(&self.capabilities, path)
    }
}

pub(crate) fn can(capabilities: &JsonObject, path: &[&str]) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    let found = rest.iter().try_fold(capabilities.get(*first), |value, name| Some(value?.get(*name))).flatten();
    found.is_some_and(|value| !value.is_null() && *value != false)
}

/// What a request to the other side takes beyond its method, and is not declared by it.
pub(crate) fn lacking(method: &str, params: &JsonObject, declared: &JsonObject) -> Option<&'static [&'static str]> {
    let has = |name: &str| params.contains_key(name);
    let mode = params.get("mode").and_then(Value::as_str).unwrap_or("form");
    // Whoever names no mode of elicitation has the one that there was first.
    let names_modes = can(declared, &["elicitation", "form"]) || can(declared, &["elicitation", "url"]);
    let needs: [(bool, &'static [&'static str]); 3] = [
        (method == "sampling/createMessage" && (has("tools") || has("toolChoice")), &["sampling", "tools"]),
        (method == "elicitation/create" && mode == "url", &["elicitation", "url"]),
        (method == "elicitation/create" && mode == "form" && names_modes, &["elicitation", "form"]),
    ];
    needs.into_iter().find(|(needed, path)| *needed && !can(declared, path)).map(|(_, path)| path)
}
