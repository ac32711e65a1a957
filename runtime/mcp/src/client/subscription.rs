//! Client-side subscriptions to changes of a server (2026-07-28).

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mcpgen_runtime::peer::{Call, CallError, Peer};
use mcpgen_types::v2026_07_28::{
    SubscriptionFilter, SubscriptionsAcknowledgedNotification, SubscriptionsListenRequest,
};
use mcpgen_types::{Json, JsonObject, Notification, Request, RequestId, Revision};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::protocol::change::{Change, Filter, Pending};
use crate::protocol::conversion::Revisions;
use crate::protocol::{PeerExt, TYPES};

/// A client's subscription. Dropping it ends the subscription.
pub struct Subscription {
    acknowledged: SubscriptionFilter,
    inbox: Arc<Inbox>,
    call: Result<Call<Json>, Ended>,
}

/// How a subscription ended: `None` if the server ended it, otherwise the error.
type Ended = Option<CallError>;

#[derive(Debug)]
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
    /// Subscribes, and waits until the server acknowledges the subscription.
    ///
    /// Fails if the revision of the connection does not support subscriptions.
    pub(crate) async fn open(peer: &Peer, revision: Revision, filter: SubscriptionFilter) -> Result<Self, CallError> {
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
        let params = revisions.params(METHOD, &params).map_err(|error| CallError::NotAllowed(error.to_string()))?;
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
            limit = expired => Err(CallError::Timeout(limit)),
        }
    }

    /// Returns the subscription ID, which the notifications carry; `None` once the subscription has ended.
    pub fn id(&self) -> Option<&RequestId> {
        self.call.as_ref().ok().map(Call::id)
    }

    /// Returns the part of the requested filter that the server accepted.
    pub fn acknowledged(&self) -> &SubscriptionFilter {
        &self.acknowledged
    }

    /// Returns the next change; `None` once the server has ended the subscription. Repeated changes that are still
    /// pending are merged into one.
    ///
    /// # Errors
    ///
    /// Returns an error if the call fails, for example because the connection is closed. The error is returned once,
    /// and `None` from then on.
    pub async fn next(&mut self) -> Result<Option<Change>, CallError> {
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
        // Changes that arrived before the end are returned before it.
        match (self.inbox.pending.take(), &mut self.call) {
            (Some(change), _) => Ok(Some(change)),
            (None, Err(ended)) => ended.take().map_or(Ok(None), Err),
            (None, Ok(_)) => Ok(None),
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("call", &self.call).finish_non_exhaustive()
    }
}

/// A subscription that is renewed on a new connection whenever it ends. Created by [`follow`].
#[derive(Debug)]
pub struct Follower<C> {
    connect: C,
    filter: SubscriptionFilter,
    current: Option<Current>,
    /// The changes that may have been missed between two subscriptions.
    missed: Vec<Change>,
    /// Whether an earlier subscription existed.
    has_subscribed: bool,
    /// How long to wait before the next connection attempt.
    pause: Option<Duration>,
}

#[derive(Debug)]
struct Current {
    peer: Peer,
    subscription: Subscription,
    since: Instant,
}

/// Closes the connection, which serves only this subscription.
impl Drop for Current {
    fn drop(&mut self) {
        self.peer.disconnect();
    }
}

/// Returns the revision of a connection. A modern client has no peer info if it did not check a known revision.
fn revision(peer: &Peer) -> Revision {
    peer.peer_info().map_or(TYPES, |peer_info| peer_info.revision)
}

/// The pause before the second connection attempt, and the longest pause. The pause doubles with each attempt.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(30)];

/// Follows changes across connections. Calls `connect` for a new connection whenever the subscription ends, since
/// servers do not store subscriptions. Closes each connection when its subscription ends.
pub fn follow<C, F, E>(connect: C, filter: SubscriptionFilter) -> Follower<C>
where
    C: FnMut() -> F,
    F: Future<Output = Result<Peer, E>>,
    E: fmt::Display,
{
    Follower { connect, filter, current: None, missed: Vec::new(), has_subscribed: false, pause: None }
}

impl<C, F, E> Follower<C>
where
    C: FnMut() -> F,
    F: Future<Output = Result<Peer, E>>,
    E: fmt::Display,
{
    /// Returns the next change. After a reconnect, returns every change that the filter requests, since any of them may
    /// have been missed. This method is cancel safe.
    pub async fn next(&mut self) -> Change {
        loop {
            if let Some(change) = self.missed.pop() {
                return change;
            }
            let Some(current) = &mut self.current else {
                self.subscribe().await;
                continue;
            };
            match current.subscription.next().await {
                Ok(Some(change)) => return change,
                ended => {
                    tracing::info!(?ended, "the subscription ended");
                    if current.since.elapsed() > PAUSES[1] {
                        self.pause = None;
                    }
                    self.current = None;
                }
            }
        }
    }

    /// Subscribes. Retries until it succeeds, with a pause between attempts.
    async fn subscribe(&mut self) {
        loop {
            if let Some(pause) = self.pause {
                tokio::time::sleep(pause).await;
            }
            self.pause = Some(self.pause.map_or(PAUSES[0], |pause| (pause * 2).min(PAUSES[1])));
            let opened = match (self.connect)().await {
                Ok(peer) => match Subscription::open(&peer, revision(&peer), self.filter.clone()).await {
                    Ok(subscription) => {
                        self.current = Some(Current { peer, subscription, since: Instant::now() });
                        if std::mem::replace(&mut self.has_subscribed, true) {
                            self.missed = Change::all(&self.filter).collect();
                        }
                        return;
                    }
                    Err(error) => {
                        peer.disconnect();
                        error.to_string()
                    }
                },
                Err(error) => error.to_string(),
            };
            tracing::warn!(error = opened, pause = ?self.pause, "cannot subscribe; retrying");
        }
    }
}
