//! The rules of a revision: when a message may be sent, and which revision it is of.

use std::sync::Arc;

use mcpgen_types::{ErrorObject, JsonObject, RawJson, Revision};

use super::info::PeerInfo;
use super::log_level::Level;

/// What a kind of revisions does with what arrives before any handler is asked, and with what is about to leave.
pub trait Protocol: Send + Sync + 'static {
    /// What becomes of a request.
    ///
    /// # Errors
    ///
    /// The request may not be made, or not yet.
    fn request(&self, asked: &IncomingRequest<'_>) -> Result<Admission, ErrorObject>;

    /// The revision that a notification is of; `None` if it means nothing now.
    fn notification(&self, method: &str, params: Option<&RawJson>) -> Option<Revision>;

    /// Whether several messages may come at once.
    fn batches(&self) -> bool {
        false
    }

    /// What an answer is sent as, after its handler has given it.
    ///
    /// # Errors
    ///
    /// What is answered is an error, or may not be answered.
    fn answer(&self, _request: &RequestInfo<'_>, answer: Result<RawJson, ErrorObject>) -> Result<RawJson, ErrorObject> {
        answer
    }

    /// Whether a request or a notification of this method may be sent now; `revision` is that of its type, if it has one,
    /// and `scope` are those of the request that it is sent on behalf of, if there is one.
    ///
    /// # Errors
    ///
    /// It may not: a sentence that says why.
    fn may_send(
        &self,
        _terms: Option<&RequestScope>,
        _method: &str,
        _revision: Option<Revision>,
        _params: Option<&RawJson>,
    ) -> Result<(), String> {
        Ok(())
    }

    /// The params that a request is sent with.
    ///
    /// # Errors
    ///
    /// They cannot be those of any request: a sentence that says why.
    fn params(&self, _method: &str, params: Option<RawJson>) -> Result<Option<RawJson>, String> {
        Ok(params)
    }

    /// Whether the other side is told when nobody waits for its answer any more.
    fn may_cancel(&self, _method: &str, _params: Option<&RawJson>) -> bool {
        true
    }

    /// What is made of the answer to a call. Called before anything that came after the answer is looked at.
    ///
    /// # Errors
    ///
    /// It is no answer of this era: a sentence that says why.
    fn answered(&self, _method: &str, result: RawJson) -> Result<RawJson, String> {
        Ok(result)
    }

    /// Whether the other side may ask for this by its answer to a request.
    ///
    /// # Errors
    ///
    /// It was not told that it may.
    fn may_be_asked(&self, method: &str, _params: Option<&JsonObject>) -> Result<(), ErrorObject> {
        Err(crate::jsonrpc::errors::method_not_found(method))
    }

    /// Whether this side has declared a capability.
    fn has_declared(&self, _capability: &[&str]) -> bool {
        false
    }

    /// What is known of the other side, whatever it asks.
    fn peer_info(&self) -> Option<Arc<PeerInfo>> {
        None
    }

    /// Whether whoever made a request wants to hear of events of this level.
    fn logs(&self, _terms: &RequestScope, _level: Level) -> bool {
        false
    }
}

/// A request that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct IncomingRequest<'a> {
    /// What is asked for.
    pub method: &'a str,
    /// Not decoded yet; `None` if absent.
    pub params: Option<&'a RawJson>,
    /// `_meta` of the params; empty if there is none. That of the request before, if it says the same.
    pub meta: &'a Arc<JsonObject>,
}

/// A request that was handled, for the rules of its result.
#[derive(Clone, Copy, Debug)]
pub struct RequestInfo<'a> {
    /// The method.
    pub method: &'a str,
    /// The name of a tool or a prompt, or the URI of a resource, that the request is about.
    pub subject: Option<&'a str>,
    /// `_meta` of the params; empty if there is none.
    pub meta: &'a JsonObject,
    /// What the request was made under.
    pub scope: &'a RequestScope,
}

/// What is done with a request.
#[derive(Clone, Debug)]
pub enum Admission {
    /// It is handled.
    Handle(RequestScope),
    /// It is answered at once, whatever else is running.
    Answer(RawJson),
    /// It is not answered at all, for this reason.
    Drop(&'static str),
}

/// What a request was made under.
#[derive(Clone, Debug)]
pub struct RequestScope {
    /// The revision that it is of.
    pub revision: Revision,
    /// Who has made it, as far as that is known.
    pub peer_info: Option<Arc<PeerInfo>>,
    /// From which level on whoever made it wants to hear of events, if that was said with it.
    pub level: Option<Level>,
}

impl RequestScope {
    /// Those of a revision, from someone unknown.
    #[must_use]
    pub fn of(revision: Revision) -> Self {
        Self { revision, peer_info: None, level: None }
    }
}

/// One revision from the first message to the last, without a handshake.
#[derive(Clone, Copy, Debug)]
pub struct FixedRevision(pub Revision);

impl Protocol for FixedRevision {
    fn request(&self, _: &IncomingRequest<'_>) -> Result<Admission, ErrorObject> {
        Ok(Admission::Handle(RequestScope::of(self.0)))
    }

    fn notification(&self, _: &str, _: Option<&RawJson>) -> Option<Revision> {
        Some(self.0)
    }

    fn batches(&self) -> bool {
        self.0 == Revision::V2025_03_26
    }
}
