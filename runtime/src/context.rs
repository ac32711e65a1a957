//! What a handler knows besides its params.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mcpgen_types::{JsonObject, ProgressToken, RawJson, RequestId, Revision, Value};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::era::Level;
use crate::peer::Peer;

/// What a handler knows besides its params. Clones are of the same message.
#[derive(Clone, Debug)]
pub struct Context(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: Option<RequestId>,
    revision: Revision,
    peer: Peer,
    cancelled: CancellationToken,
    meta: JsonObject,
    progress: Mutex<f64>,
    /// The answer is on its way, or nobody waits for one.
    over: AtomicBool,
}

impl Context {
    pub(crate) fn new(id: Option<RequestId>, revision: Revision, peer: Peer, params: Option<&RawJson>) -> Self {
        Self(Arc::new(Inner {
            id,
            revision,
            peer,
            cancelled: CancellationToken::new(),
            meta: params.map(meta).unwrap_or_default(),
            progress: Mutex::new(f64::NEG_INFINITY),
            over: AtomicBool::new(false),
        }))
    }

    /// The request's id; `None` for a notification.
    #[must_use]
    pub fn id(&self) -> Option<&RequestId> {
        self.0.id.as_ref()
    }

    /// The revision that the other side speaks.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.0.revision
    }

    /// The other side.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.0.peer
    }

    /// Cancelled when the other side takes the request back, or is gone. The handler's future is dropped then; this is
    /// for what it has spawned.
    #[must_use]
    pub fn cancelled(&self) -> &CancellationToken {
        &self.0.cancelled
    }

    /// `_meta` of the params; empty if there is none.
    #[must_use]
    pub fn meta(&self) -> &JsonObject {
        &self.0.meta
    }

    /// The trace that the request is a part of, as W3C's Trace Context and Baggage have it.
    #[must_use]
    pub fn trace(&self) -> Trace<'_> {
        let member = |name: &str| self.0.meta.get(name).and_then(Value::as_str);
        Trace { parent: member("traceparent"), state: member("tracestate"), baggage: member("baggage") }
    }

    /// What reports of progress are known by; `None` if the other side asked for none.
    #[must_use]
    pub fn progress_token(&self) -> Option<ProgressToken> {
        mcpgen_types::from_value(self.0.meta.get("progressToken")?.clone()).ok()
    }

    /// Reports how far the request has come. Nothing is sent if the other side asked for no reports, if it would be no
    /// more than what was reported before, or after the answer.
    pub async fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(token) = self.progress_token() else { return };
        {
            let mut last = self.0.progress.lock().unwrap_or_else(PoisonError::into_inner);
            // Not a number is no more than anything.
            if self.0.over.load(Ordering::Acquire) || progress.partial_cmp(&last) != Some(std::cmp::Ordering::Greater) {
                return;
            }
            *last = progress;
        }
        let token = mcpgen_types::to_value(&token).unwrap_or_default();
        let mut params = json!({ "progressToken": token, "progress": progress });
        if let Some(total) = total {
            params["total"] = json!(total);
        }
        if let Some(message) = message {
            params["message"] = json!(message);
        }
        // Whoever is gone needs no reports.
        let _ = self.0.peer.raw_notify("notifications/progress", Some(RawJson::from(&params))).await;
    }

    /// Tells the other side of an event. Nothing is sent if it does not want to hear of this level, or if it cannot be.
    pub async fn log(&self, level: Level, logger: Option<&str>, data: impl Into<Value>) {
        if !self.0.peer.era().logs(level) {
            return;
        }
        let mut params = json!({ "level": level.as_str(), "data": data.into() });
        if let Some(logger) = logger {
            params["logger"] = json!(logger);
        }
        // Whoever is gone needs no news.
        let _ = self.0.peer.raw_notify("notifications/message", Some(RawJson::from(&params))).await;
    }

    /// No more reports.
    pub(crate) fn finish(&self) {
        self.0.over.store(true, Ordering::Release);
    }
}

/// The trace that a request is a part of. Nothing is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trace<'a> {
    /// `traceparent`
    pub parent: Option<&'a str>,
    /// `tracestate`
    pub state: Option<&'a str>,
    /// `baggage`
    pub baggage: Option<&'a str>,
}

/// `_meta` of some params, whatever else they hold.
fn meta(params: &RawJson) -> JsonObject {
    let members = params.decode::<JsonObject>().ok().and_then(|mut params| params.remove("_meta"));
    match members {
        Some(Value::Object(meta)) => meta,
        _ => JsonObject::new(),
    }
}
