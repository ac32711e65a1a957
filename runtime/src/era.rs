//! What a connection's revisions have in common: when a message may be sent, and which revision it is of.

use std::sync::Arc;

use mcpgen_types::{ErrorObject, JsonObject, RawJson, Revision};

/// What a kind of revisions does with what arrives before any handler is asked, and with what is about to leave.
pub trait Era: Send + Sync + 'static {
    /// The revision that a request is of, or its answer if that is known at once.
    ///
    /// # Errors
    ///
    /// The request may not be made, or not yet.
    fn request(&self, method: &str, params: Option<&RawJson>) -> Result<Admission, ErrorObject>;

    /// The revision that a notification is of; `None` if it means nothing now.
    fn notification(&self, method: &str, params: Option<&RawJson>) -> Option<Revision>;

    /// Whether several messages may come at once.
    fn batches(&self) -> bool {
        false
    }

    /// Whether a request or a notification of this method may be sent now; `revision` is that of its type, if it has one.
    ///
    /// # Errors
    ///
    /// It may not: a sentence that says why.
    fn may_send(&self, _method: &str, _revision: Option<Revision>, _params: Option<&RawJson>) -> Result<(), String> {
        Ok(())
    }

    /// Whether the other side is told when nobody waits for its answer any more.
    fn may_cancel(&self, _method: &str, _params: Option<&RawJson>) -> bool {
        true
    }

    /// A call was answered. Called before anything that came after the answer is looked at.
    fn answered(&self, _method: &str, _result: &RawJson) {}

    /// What is known of the other side.
    fn about(&self) -> Option<Arc<About>> {
        None
    }

    /// Whether the other side wants to hear of events of this level.
    fn logs(&self, _level: Level) -> bool {
        false
    }
}

/// What is done with a request.
#[derive(Clone, Debug)]
pub enum Admission {
    /// It is handled as one of this revision.
    Handle(Revision),
    /// It is answered at once, whatever else is running.
    Answer(RawJson),
}

/// What one side has said of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// The revision that was agreed on.
    pub revision: Revision,
    /// What it is able to do.
    pub capabilities: JsonObject,
    /// Its name, its version, and whatever else it says.
    pub implementation: JsonObject,
    /// How a server wants to be used.
    pub instructions: Option<String>,
}

impl About {
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

/// How grave an event is, as in syslog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are syslog's")]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl Level {
    const NAMES: [(Self, &'static str); 8] = [
        (Self::Debug, "debug"),
        (Self::Info, "info"),
        (Self::Notice, "notice"),
        (Self::Warning, "warning"),
        (Self::Error, "error"),
        (Self::Critical, "critical"),
        (Self::Alert, "alert"),
        (Self::Emergency, "emergency"),
    ];

    /// The level as messages spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize].1
    }

    /// The level that messages spell so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(level, _)| *level)
    }
}

/// One revision from the first message to the last, without a handshake.
#[derive(Clone, Copy, Debug)]
pub struct Always(pub Revision);

impl Era for Always {
    fn request(&self, _: &str, _: Option<&RawJson>) -> Result<Admission, ErrorObject> {
        Ok(Admission::Handle(self.0))
    }

    fn notification(&self, _: &str, _: Option<&RawJson>) -> Option<Revision> {
        Some(self.0)
    }

    fn batches(&self) -> bool {
        self.0 == Revision::V2025_03_26
    }
}
