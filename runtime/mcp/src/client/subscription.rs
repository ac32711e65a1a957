//! A client's subscription to changes (2026-07-28).

use std::sync::Arc;

use mcpgen_runtime::peer::{Call, CallError, Peer};
use mcpgen_types::v2026_07_28::{
    SubscriptionFilter, SubscriptionsAcknowledgedNotification, SubscriptionsListenRequest,
};
use mcpgen_types::{Json, JsonObject, Notification, Request, Revision};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;

use crate::protocol::change::{Change, Filter, Pending};
use crate::protocol::conversion::Revisions;
use crate::protocol::{NotAllowed, TYPES};

pub(super) struct Subscription {
    acknowledged: SubscriptionFilter,
    inbox: Arc<Inbox>,
    call: Result<Call<Json>, Ended>,
}

/// Why a subscription ended: `None` if the server ended it, otherwise the error.
type Ended = Option<CallError>;

struct Inbox {
    filter: Filter,
    acknowledged: Mutex<Option<SubscriptionFilter>>,
    ready: Notify,
    pending: Pending,
}

impl Inbox {
    fn receive(&self, method: &str, params: Option<&Json>) {
        let params: JsonObject = params.and_then(|params| params.decode().ok()).unwrap_or_default();
        if method == SubscriptionsAcknowledgedNotification::METHOD {
            let filter = params.get("notifications").and_then(|filter| filter.decode().ok()).unwrap_or_default();
            *self.acknowledged.lock() = Some(filter);
            self.ready.notify_one();
            return;
        }
        match Change::of(method, &params).filter(|change| self.filter.matches(change)) {
            Some(change) => self.pending.add(change, &self.filter),
            None => tracing::warn!(method, "ignoring a notification without a matching subscription"),
        }
    }
}

impl Subscription {
    /// Subscribes, and waits until the server acknowledges the subscription. Fails if the revision has no
    /// subscriptions.
    pub(super) async fn open(peer: &Peer, revision: Revision, filter: SubscriptionFilter) -> Result<Self, CallError> {
        const METHOD: &str = SubscriptionsListenRequest::METHOD;
        let params = json!({ "notifications": mcpgen_types::to_value(&filter).unwrap_or_default() });
        let inbox = Arc::new(Inbox {
            filter: Filter::from(&filter),
            acknowledged: Mutex::default(),
            ready: Notify::new(),
            pending: Pending::default(),
        });
        let receiver = Arc::clone(&inbox);
        let revisions = Revisions { from: TYPES, to: revision };
        let params =
            revisions.params(METHOD, &params).map_err(|error| CallError::NotAllowed(NotAllowed::from(error).into()))?;
        let request = peer.raw_request(METHOD, Some(params));
        let timeout = request.shortest_timeout();
        let mut call = request
            .idle_timeout(None)
            .timeout(None)
            .on_notification(Box::new(move |method, params| receiver.receive(method, params)))
            .send();
        let expired = async {
            match timeout {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
            timeout.unwrap_or_default()
        };
        tokio::select! {
            biased;
            () = inbox.ready.notified() => {
                let acknowledged = inbox.acknowledged.lock().take();
                Ok(Self { acknowledged: acknowledged.unwrap_or_default(), inbox, call: Ok(call) })
            }
            ended = &mut call => match ended {
                Ok(_) => Err(CallError::SubscriptionEnded),
                Err(error) => Err(error),
            },
            limit = expired => Err(CallError::Timeout { request: METHOD.to_owned(), limit }),
        }
    }

    pub(super) fn acknowledged(&self) -> &SubscriptionFilter {
        &self.acknowledged
    }

    /// Returns the next change, or `None` once the server has ended the subscription. Equal changes that pile up are
    /// merged into one.
    ///
    /// # Errors
    ///
    /// Fails if the call fails, for example because the connection is closed. The error is returned once, and `None`
    /// from then on.
    pub(super) async fn next(&mut self) -> Result<Option<Change>, CallError> {
        if let Ok(call) = &mut self.call {
            let ended = tokio::select! {
                biased;
                change = self.inbox.pending.next() => return Ok(Some(change)),
                ended = call => ended,
            };
            self.call = Err(match ended {
                Ok(_) | Err(CallError::SubscriptionEnded) => None,
                Err(error) => Some(error),
            });
        }
        // First return the changes that arrived before the end.
        match (self.inbox.pending.take(), &mut self.call) {
            (Some(change), _) => Ok(Some(change)),
            (None, Err(ended)) => ended.take().map_or(Ok(None), Err),
            (None, Ok(_)) => Ok(None),
        }
    }
}
