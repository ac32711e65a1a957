//! Subscriptions to a server's changes, in every revision.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt, TryStreamExt};
use mcpgen_runtime::peer::{CallError, Peer};
use mcpgen_runtime::router::RequestService;
use mcpgen_types::v2026_07_28::SubscriptionFilter;
use mcpgen_types::{ErrorCode, Json, JsonObject, Revision};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::handle::Client;
use super::subscribed::Subscribed;
use super::subscription::Subscription;
use crate::protocol::change::{Change, Filter, Pending};
use crate::protocol::change_listeners::ChangeListener;
use crate::protocol::peer::change_listeners;

impl<S: RequestService> Client<S> {
    /// Subscribes to changes, in every revision. In 2026-07-28 this sends `subscriptions/listen`. Servers of legacy
    /// revisions notify all clients of changed lists anyway, so there it only subscribes to each resource in the
    /// filter.
    ///
    /// If a subscription ends while the connection lasts, for example because an HTTP server was restarted, it is
    /// renewed. Everything in the filter is then reported as changed, because changes may have been missed.
    ///
    /// ```
    /// # use mcpgen_sdk::{Client, Server};
    /// # use mcpgen_sdk::protocol::change::Change;
    /// use mcpgen_sdk::types::SubscriptionFilter;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let server = Server::builder("workshop", "1").tool("saw", || async {}).build();
    /// # let client = server.in_process(Client::builder("visitor", "1.0.0")).await?;
    /// let filter = SubscriptionFilter::new().with_tools_list_changed(true);
    /// let mut changes = client.changes(filter).await?;
    /// # server.add_tool("drill", || async {})?;
    /// if let Some(Change::Tools) = changes.try_next().await? {
    ///     println!("{} tools", client.tools().await?.len());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if a call fails, or if the server does not support subscriptions to resources.
    pub async fn changes(&self, filter: SubscriptionFilter) -> Result<Changes, CallError> {
        if !self.revision().is_legacy() {
            let subscription = Subscription::open(&self.peer, self.revision, filter.clone()).await?;
            let acknowledged = subscription.acknowledged().clone();
            let renewed = Renewed::new(self.peer.clone(), self.revision, filter, subscription);
            let changes = stream::unfold(renewed, |mut renewed| async move { Some((renewed.next().await?, renewed)) });
            return Ok(Changes { acknowledged, changes: Mutex::new(changes.fuse().boxed()) });
        }
        let inbox = Arc::new(Inbox { filter: Filter::from(&filter), pending: Pending::default() });
        let receiver = Arc::clone(&inbox);
        let listener = change_listeners(&self.peer).add(move |method, params| receiver.receive(method, params));
        let subscribed = Subscribed::new(self.peer.clone(), Arc::clone(&self.subscribed));
        let mut legacy = Legacy { inbox, peer: self.peer.clone(), _listener: listener, subscribed };
        for uri in filter.resource_subscriptions.iter().flatten() {
            // Count the URI before the call, so that the end of another subscription does not unsubscribe it.
            legacy.subscribed.add(uri);
            self.raw_call("resources/subscribe", JsonObject::from([("uri", (&**uri).into())])).await?;
        }
        let changes = stream::unfold(Some(legacy), |legacy| async move {
            let mut legacy = legacy?;
            match legacy.next().await {
                Some(change) => Some((Ok(change), Some(legacy))),
                None => is_failure(legacy.peer.explain(CallError::Closed(mcpgen_runtime::Closed)))
                    .map(|error| (Err(error), None)),
            }
        });
        Ok(Changes { acknowledged: filter, changes: Mutex::new(changes.fuse().boxed()) })
    }
}

/// A client's subscription to changes, in any revision. It is a [`Stream`]; dropping it ends the subscription. Created
/// by [`Client::changes`].
pub struct Changes {
    acknowledged: SubscriptionFilter,
    /// Never locked: the mutex makes the type `Sync`, which the stream is not.
    changes: Mutex<BoxStream<'static, Result<Change, CallError>>>,
}

impl Changes {
    /// Returns the part of the filter that the server accepted, which is all of it in legacy revisions.
    pub fn acknowledged(&self) -> &SubscriptionFilter {
        &self.acknowledged
    }

    /// Returns the next change, or `None` once the connection is closed. Equal changes that pile up are merged into
    /// one. Cancel safe.
    ///
    /// # Errors
    ///
    /// Fails if the connection fails, for example because the server's process exited, or if the subscription cannot be
    /// renewed: the server rejects it, or 10 attempts in a row fail. Attempts are up to 20 seconds apart. The error is
    /// returned only once.
    pub async fn try_next(&mut self) -> Result<Option<Change>, CallError> {
        self.changes.get_mut().try_next().await
    }
}

impl Stream for Changes {
    type Item = Result<Change, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.changes.get_mut().poll_next_unpin(context)
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("acknowledged", &self.acknowledged).finish_non_exhaustive()
    }
}

/// Returns the error, or `None` if the connection was closed in an orderly way.
fn is_failure(error: CallError) -> Option<CallError> {
    Some(error).filter(|error| !matches!(error, CallError::Closed(_)))
}

/// A subscription in a modern revision, renewed as long as the connection lasts.
struct Renewed {
    peer: Peer,
    revision: Revision,
    filter: SubscriptionFilter,
    state: State,
    /// The number of failed attempts since the last subscription.
    failures: u32,
    /// How many times the pause has doubled.
    doublings: u32,
}

enum State {
    Subscribed(Box<Subscription>, Instant),
    /// Changes that may have been missed while there was no subscription.
    Missed(Vec<Change>, Box<Subscription>),
    Lost,
    Ended,
}

/// The first and the longest pause before renewing a subscription. The pause doubles with each attempt.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(20)];
const MAX_FAILURES: u32 = 10;

impl Renewed {
    fn new(peer: Peer, revision: Revision, filter: SubscriptionFilter, subscription: Subscription) -> Self {
        let state = State::Subscribed(Box::new(subscription), Instant::now());
        Self { peer, revision, filter, state, failures: 0, doublings: 0 }
    }

    async fn next(&mut self) -> Option<Result<Change, CallError>> {
        loop {
            match &mut self.state {
                State::Subscribed(subscription, since) => match subscription.next().await {
                    Ok(Some(change)) => return Some(Ok(change)),
                    ended => {
                        // Back off from a server that ends each subscription at once.
                        if since.elapsed() > PAUSES[1] {
                            self.doublings = 0;
                        }
                        self.state = State::Lost;
                        if let Err(error) = ended
                            && self.is_final(&error)
                        {
                            return self.end(error);
                        }
                    }
                },
                State::Missed(missed, _) if !missed.is_empty() => return missed.pop().map(Ok),
                State::Missed(..) => {
                    let State::Missed(_, subscription) = std::mem::replace(&mut self.state, State::Lost) else {
                        continue;
                    };
                    self.state = State::Subscribed(subscription, Instant::now());
                }
                State::Lost => {
                    let pause = PAUSES[0].saturating_mul(1 << self.doublings.min(16)).min(PAUSES[1]);
                    self.doublings += 1;
                    tokio::select! {
                        () = self.peer.disconnected() => return self.end(CallError::Closed(mcpgen_runtime::Closed)),
                        () = tokio::time::sleep(pause) => {}
                    }
                    match Subscription::open(&self.peer, self.revision, self.filter.clone()).await {
                        Ok(subscription) => {
                            self.failures = 0;
                            let missed = Change::all(subscription.acknowledged()).collect();
                            self.state = State::Missed(missed, Box::new(subscription));
                        }
                        Err(error) if self.failures + 1 == MAX_FAILURES || self.is_final(&error) => {
                            return self.end(error);
                        }
                        Err(error) => {
                            self.failures += 1;
                            tracing::warn!(%error, self.failures, "cannot renew a subscription; retrying");
                        }
                    }
                }
                State::Ended => return None,
            }
        }
    }

    /// Returns whether another attempt on this connection would fail, too.
    fn is_final(&self, error: &CallError) -> bool {
        match error {
            CallError::ErrorResponse(error) => {
                [ErrorCode::METHOD_NOT_FOUND, ErrorCode::INVALID_PARAMS, ErrorCode::INVALID_REQUEST]
                    .contains(&error.code)
            }
            CallError::NotAllowed(_) | CallError::Invalid(_) => true,
            _ => self.peer.is_closed() || matches!(error, CallError::Closed(_) | CallError::ConnectionFailed(_)),
        }
    }

    fn end(&mut self, error: CallError) -> Option<Result<Change, CallError>> {
        self.state = State::Ended;
        is_failure(self.peer.explain(error)).map(Err)
    }
}

struct Legacy {
    inbox: Arc<Inbox>,
    peer: Peer,
    _listener: ChangeListener,
    subscribed: Subscribed,
}

impl Legacy {
    async fn next(&mut self) -> Option<Change> {
        tokio::select! {
            biased;
            change = self.inbox.pending.next() => Some(change),
            () = self.peer.receiving_ended() => self.inbox.pending.take(),
            () = self.peer.disconnected() => self.inbox.pending.take(),
        }
    }
}

struct Inbox {
    filter: Filter,
    pending: Pending,
}

impl Inbox {
    fn receive(&self, method: &str, params: Option<&Json>) {
        let params: JsonObject = params.and_then(|params| params.decode().ok()).unwrap_or_default();
        if let Some(change) = Change::of(method, &params).filter(|change| self.filter.matches(change)) {
            self.pending.add(change, &self.filter);
        }
    }
}
