//! What a handler knows besides its params.

use std::sync::Arc;

use mcpgen_types::{JsonObject, ProgressToken, RawJson, RequestId, Revision, Value};
use serde_json::json;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::era::{Always, Level};
use crate::outbox::Outbox;
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
    /// What was reported last; `None` once the answer is on its way, or nobody waits for one. Held while a report is
    /// sent, so that reports keep their order and none comes after the answer.
    progress: Mutex<Option<f64>>,
}

impl Context {
    pub(crate) fn new(id: Option<RequestId>, revision: Revision, peer: Peer, meta: JsonObject) -> Self {
        Self(Arc::new(Inner {
            id,
            revision,
            peer,
            cancelled: CancellationToken::new(),
            meta,
            progress: Mutex::new(Some(f64::NEG_INFINITY)),
        }))
    }

    /// The context of no connection, for trying handlers and layers by themselves. Its peer is gone.
    #[must_use]
    pub fn detached(revision: Revision) -> Self {
        let peer = Peer::new(Outbox::new(1).0, Arc::new(Always(revision)), None, None);
        peer.disconnect();
        Self::new(None, revision, peer, JsonObject::new())
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

    /// Waits until the request is over: answered, taken back, or its sender gone. The handler's own future is dropped when
    /// the request is taken back; this is for what it has spawned.
    pub async fn over(&self) {
        self.0.cancelled.cancelled().await;
    }

    /// Whether the request is over: answered, taken back, or its sender gone.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.cancelled.is_cancelled()
    }

    pub(crate) fn token(&self) -> &CancellationToken {
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
        let mut last = self.0.progress.lock().await;
        // What is not finite is no number of JSON's.
        match *last {
            Some(before) if progress.is_finite() && progress > before => *last = Some(progress),
            _ => return,
        }
        let token = mcpgen_types::to_value(&token).unwrap_or_default();
        let mut params = json!({ "progressToken": token, "progress": progress });
        if let Some(total) = total.filter(|total| total.is_finite()) {
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

    /// No more reports; the last one is sent.
    pub(crate) async fn finish(&self) {
        *self.0.progress.lock().await = None;
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
