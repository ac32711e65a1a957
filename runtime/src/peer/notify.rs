//! Notifications to the peer.

use mcpgen_types::{Json, Notification, Version};
use serde::Serialize;

use super::handle::Peer;
use crate::error::CallError;
use crate::jsonrpc::json;
use crate::observer::{Observed, Outcome};
use crate::protocol::Sending;

impl Peer {
    /// Sends a notification. Waits until the queue has room for it.
    ///
    /// # Errors
    ///
    /// Returns [`NotAllowed`](CallError::NotAllowed) if the notification is not allowed now, and
    /// [`Closed`](CallError::Closed) if the connection is closed.
    pub async fn notify<N: Notification>(&self, params: N::Params) -> Result<(), CallError> {
        self.notify_as(N::METHOD, Some(N::VERSION), json::member(&params)).await
    }

    /// Like [`notify`](Self::notify), but for a custom method. The params are a serde type.
    ///
    /// # Errors
    ///
    /// Fails like [`notify`](Self::notify), and with [`Invalid`](CallError::Invalid) if the params cannot be encoded as
    /// a JSON object, array or null.
    pub async fn custom_notify<P: Serialize>(&self, method: &str, params: &P) -> Result<(), CallError> {
        let params = json::params(params).map_err(|error| CallError::Invalid(error.into()))?;
        self.notify_as(method, None, params).await
    }

    /// Like [`notify`](Self::notify), but for any method, with params as raw JSON.
    ///
    /// # Errors
    ///
    /// Fails like [`notify`](Self::notify).
    pub async fn raw_notify(&self, method: &str, params: Option<Json>) -> Result<(), CallError> {
        self.notify_as(method, None, params).await
    }

    async fn notify_as(&self, method: &str, version: Option<Version>, params: Option<Json>) -> Result<(), CallError> {
        let mut sending = Sending {
            id: None,
            method,
            version,
            params,
            on_behalf_of: self.context.as_ref(),
            wants_progress: false,
            can_cancel: false,
        };
        self.erased_protocol().before_send(&mut sending)?;
        let operation = Observed::sending(self.observer(), &mut sending);
        let sent = self.notify_unchecked(method, sending.params).await;
        operation.end(sent.as_ref().map_or_else(Outcome::from, |()| Outcome::Done));
        sent
    }

    /// Like [`raw_notify`](Self::raw_notify), but does not check whether the notification is allowed.
    pub async fn notify_unchecked(&self, method: &str, params: Option<Json>) -> Result<(), CallError> {
        Ok(self.send(self.message(None, method, params.as_ref())).await?)
    }
}
