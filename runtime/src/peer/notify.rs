//! Notifications to the peer.

use mcpgen_types::{Json, Notification, Revision};
use serde::Serialize;

use super::error::CallError;
use super::handle::Peer;
use super::message::member;
use crate::jsonrpc::json;
use crate::telemetry::Outcome;

impl Peer {
    /// Sends a notification. Waits until the queue has room for it.
    ///
    /// # Errors
    ///
    /// Returns [`NotAllowed`](CallError::NotAllowed) if the notification is not allowed now, and
    /// [`Closed`](CallError::Closed) if the connection is closed.
    pub async fn notify<N: Notification>(&self, params: N::Params) -> Result<(), CallError> {
        self.notify_as(N::METHOD, Some(Revision::of(N::VERSION)), member(&params)).await
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

    async fn notify_as(&self, method: &str, revision: Option<Revision>, params: Option<Json>) -> Result<(), CallError> {
        let scope = self.scope.as_ref();
        self.protocol().may_send(scope, method, revision, params.as_ref()).map_err(CallError::NotAllowed)?;
        let operation = self.telemetry().send(self.described(None, method, params.as_ref()));
        let params = self.with_task_scope(operation.inject(params))?;
        let sent = self.notify_unchecked(method, params).await;
        operation.end(sent.as_ref().map_or_else(CallError::outcome, |()| Outcome::Done));
        sent
    }

    /// Like [`raw_notify`](Self::raw_notify), but does not check whether the notification is allowed.
    pub(crate) async fn notify_unchecked(&self, method: &str, params: Option<Json>) -> Result<(), CallError> {
        Ok(self.send(self.message(None, method, params.as_ref())).await?)
    }
}
