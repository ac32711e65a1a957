//! The resources to which a client has subscribed.

use std::collections::HashMap;
use std::sync::Arc;

use mcpgen_mcp::server::subscriptions::{MAX_RESOURCE_SUBSCRIPTIONS, MAX_SUBSCRIPTION_BYTES};
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_types::ErrorObject;
use parking_lot::{Mutex, MutexGuard};
use tokio::task::AbortHandle;

/// A subscription to a resource of a server. Dropping it ends the subscription.
#[derive(Debug)]
pub struct Watch(pub(super) AbortHandle);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The resources to which a client has subscribed, by the URI that it uses. `T` says what the URI stands for.
#[derive(Debug)]
pub struct ResourceSubscriptions<T>(Mutex<HashMap<String, Subscribed<T>>>);

/// A resource to which a client has subscribed.
#[derive(Debug)]
pub struct Subscribed<T> {
    /// The number of subscriptions that are kept or not dropped yet.
    count: usize,
    /// What the URI stands for.
    pub target: T,
    /// The subscription at the server. `None` while there is none, because the server is not available.
    pub watch: Option<Watch>,
}

/// A subscription to a resource, which ends when dropped.
#[derive(Debug)]
#[must_use = "dropping it ends the subscription"]
pub struct Subscription<T> {
    all: Arc<ResourceSubscriptions<T>>,
    /// `None` once the subscription is kept.
    uri: Option<String>,
}

impl<T> Subscription<T> {
    /// Sets what notifies the client of changes, unless it has unsubscribed meanwhile.
    pub fn set_watch(&self, watch: Watch) {
        let mut resources = self.all.lock();
        if let Some(subscribed) = self.uri.as_ref().and_then(|uri| resources.get_mut(uri)) {
            subscribed.watch = Some(watch);
        }
    }

    /// Keeps the subscription until [`ResourceSubscriptions::remove`] is called, as `resources/subscribe` requires.
    pub fn keep(mut self) {
        self.uri = None;
    }
}

impl<T> Drop for Subscription<T> {
    fn drop(&mut self) {
        let Some(uri) = &self.uri else { return };
        let mut resources = self.all.lock();
        if let Some(subscribed) = resources.get_mut(uri) {
            subscribed.count -= 1;
            if subscribed.count == 0 {
                resources.remove(uri);
            }
        }
    }
}

impl<T> Default for ResourceSubscriptions<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> ResourceSubscriptions<T> {
    /// Adds a subscription. If the resource is known but has no watch, `target` replaces its target.
    ///
    /// # Errors
    ///
    /// Fails if another resource would exceed the limits of a client.
    pub fn add(self: &Arc<Self>, uri: &str, target: T) -> Result<Subscription<T>, ErrorObject> {
        let mut resources = self.lock();
        let bytes: usize = resources.keys().map(String::len).sum();
        let is_full = resources.len() >= MAX_RESOURCE_SUBSCRIPTIONS || bytes + uri.len() > MAX_SUBSCRIPTION_BYTES;
        match resources.get_mut(uri) {
            Some(known) => {
                known.count += 1;
                if known.watch.is_none() {
                    known.target = target;
                }
            }
            None if is_full => {
                return Err(errors::limit_exceeded("too many resource subscriptions; unsubscribe from others first"));
            }
            None => drop(resources.insert(uri.to_owned(), Subscribed { count: 1, target, watch: None })),
        }
        drop(resources);
        Ok(Subscription { all: Arc::clone(self), uri: Some(uri.to_owned()) })
    }

    /// Ends all subscriptions to a resource.
    pub fn remove(&self, uri: &str) {
        self.lock().remove(uri);
    }

    /// Returns whether the client has subscribed to a resource, and is notified of its changes.
    pub fn contains(&self, uri: &str) -> bool {
        self.lock().get(uri).and_then(|it| it.watch.as_ref()).is_some_and(|watch| !watch.0.is_finished())
    }

    /// Locks the resources.
    pub fn lock(&self) -> MutexGuard<'_, HashMap<String, Subscribed<T>>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A legacy client that subscribes several times at once has one subscription, or none if all requests fail.
    #[tokio::test]
    async fn a_legacy_client_has_one_subscription() {
        for (results, unsubscribes, expected) in [
            (vec![true], false, true),
            (vec![true, true], false, true),
            (vec![true, true], true, false),
            (vec![true, false], false, true),
            (vec![false, true], false, true),
            (vec![false, false], false, false),
            (vec![true, false], true, false),
        ] {
            let subscriptions = Arc::<ResourceSubscriptions<()>>::default();
            let begun: Vec<_> = results.iter().map(|_| subscriptions.add("x:1", ()).expect("space")).collect();
            for (subscription, succeeds) in begun.into_iter().zip(&results) {
                if *succeeds {
                    subscription.set_watch(Watch(tokio::spawn(std::future::pending::<()>()).abort_handle()));
                    subscription.keep();
                }
            }
            if unsubscribes {
                subscriptions.remove("x:1");
            }
            let found = (subscriptions.contains("x:1"), subscriptions.lock().len());
            assert_eq!(found, (expected, usize::from(expected)), "{results:?} {unsubscribes}");
        }
    }

    #[test]
    fn has_limits() {
        let (subscriptions, long) = (Arc::default(), "x".repeat(MAX_SUBSCRIPTION_BYTES - 1));
        let add = |uri: &str| ResourceSubscriptions::add(&subscriptions, uri, ()).map(Subscription::keep);
        for (uri, is_added) in [(&*long, true), ("xy", false), ("y", true), (&*long, true), ("z", false)] {
            assert_eq!(add(uri).is_ok(), is_added, "{} bytes", uri.len());
        }
        subscriptions.remove(&long);
        for number in 1..MAX_RESOURCE_SUBSCRIPTIONS {
            add(&number.to_string()).expect("space");
        }
        assert!(add("z").is_err() && add("y").is_ok());
        subscriptions.remove("y");
        drop(subscriptions.add("z", ()));
        assert!(add("y").is_ok(), "a subscription that is dropped makes room");
    }
}
