//! Changes of a server, in every revision.

use std::fmt;
use std::sync::Arc;

use mcpgen_runtime::Closed;
use mcpgen_runtime::peer::{CallError, Peer};
use mcpgen_runtime::router::RequestService;
use mcpgen_types::v2026_07_28::SubscriptionFilter;
use mcpgen_types::{Json, JsonObject};

use super::handle::Client;
use super::subscribed::Subscribed;
use super::subscription::Subscription;
use crate::protocol::change::{Change, Filter, Pending};
use crate::protocol::change_listeners::ChangeListener;
use crate::protocol::peer::change_listeners;

impl<S: RequestService> Client<S> {
    /// Subscribes to changes, in every revision. In 2026-07-28 this sends `subscriptions/listen`. In legacy revisions, in which
    /// servers notify all clients of changed lists, it subscribes to each resource of the filter. If a session over HTTP is
    /// lost, the client subscribes again, and reports everything as changed. In 2026-07-28, use
    /// [`follow`](super::subscription::follow) to subscribe again on a new connection.
    ///
    /// ```
    /// # use mcpgen_sdk::{Client, Server};
    /// # use mcpgen_sdk::protocol::change::Change;
    /// use mcpgen_types::v2026_07_28::SubscriptionFilter;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let server = Server::builder("workshop", "1").tool_with_schema("saw", |_, _| async {}).build();
    /// # let client = server.in_process(Client::builder("visitor", "1.0.0")).await?;
    /// let filter = SubscriptionFilter::new().with_tools_list_changed(true);
    /// let mut changes = client.changes(filter).await?;
    /// # server.add_tool_with_schema("drill", |_, _| async {})?;
    /// if let Some(Change::Tools) = changes.next().await? {
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
            let subscription = Box::new(self.listen(filter).await?);
            return Ok(Changes { kind: Kind::Modern(subscription), peer: self.peer.clone(), is_ended: false });
        }
        let inbox = Arc::new(Inbox { filter: Filter::from(&filter), pending: Pending::default() });
        let receiver = Arc::clone(&inbox);
        let listener = change_listeners(&self.peer).add(move |method, params| receiver.receive(method, params));
        let subscribed = Subscribed::new(self.peer.clone(), Arc::clone(&self.subscribed));
        let mut changes = Legacy { inbox, _listener: listener, subscribed };
        for uri in filter.resource_subscriptions.iter().flatten() {
            self.subscribe(uri).await?;
            changes.subscribed.add(uri);
        }
        Ok(Changes { kind: Kind::Legacy(Box::new(changes)), peer: self.peer.clone(), is_ended: false })
    }
}

/// A client's subscription to changes, in any revision. Dropping it ends the subscription. Created by
/// [`Client::changes`].
#[derive(Debug)]
pub struct Changes {
    kind: Kind,
    peer: Peer,
    is_ended: bool,
}

#[derive(Debug)]
enum Kind {
    Legacy(Box<Legacy>),
    Modern(Box<Subscription>),
}

impl Changes {
    /// Returns the next change; `None` once the subscription has ended or the connection is closed. Repeated changes that
    /// are still pending are merged into one. This method is cancel safe.
    ///
    /// # Errors
    ///
    /// Returns an error, once, if the subscription or the connection fails, for example because the server's process
    /// exited.
    pub async fn next(&mut self) -> Result<Option<Change>, CallError> {
        if self.is_ended {
            return Ok(None);
        }
        let next = match &mut self.kind {
            Kind::Modern(subscription) => subscription.next().await,
            Kind::Legacy(changes) => changes.next(&self.peer).await.map(Some).ok_or(CallError::Closed(Closed)),
        };
        self.is_ended = !matches!(next, Ok(Some(_)));
        match next.map_err(|error| self.peer.explain(error)) {
            Err(CallError::Closed(_)) => Ok(None),
            next => next,
        }
    }
}

/// A subscription in a legacy revision.
struct Legacy {
    inbox: Arc<Inbox>,
    _listener: ChangeListener,
    subscribed: Subscribed,
}

impl Legacy {
    async fn next(&mut self, peer: &Peer) -> Option<Change> {
        tokio::select! {
            biased;
            change = self.inbox.pending.next() => Some(change),
            () = peer.receiving_ended() => self.inbox.pending.take(),
            () = peer.disconnected() => self.inbox.pending.take(),
        }
    }
}

impl fmt::Debug for Legacy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Legacy").field("subscribed", &self.subscribed).finish_non_exhaustive()
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
