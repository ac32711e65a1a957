//! Revisions, capabilities and extensions of a router.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::router::{AnyNotification, AnyRequest, ResponseFuture, Router};
use mcpgen_types::{ErrorObject, Revision};

use super::extension::{CAPABILITY, Extension};
use super::info::{HandlerCapabilities, can};
use super::modern::CLIENT_CAPABILITIES;
use super::{ContextExt, PeerExt, Role};

/// Adds MCP's methods to [`Router`].
pub trait RouterExt {
    /// Returns the revisions for which a request handler was added, oldest first.
    #[must_use]
    fn revisions(&self) -> Vec<Revision>;

    /// Returns the capabilities that the handlers imply for a server or client.
    #[must_use]
    fn handled(&self, side: Role) -> HandlerCapabilities;

    /// Adds an extension's handlers.
    ///
    /// They run only if both sides declared the extension: this side in its
    /// [`ServerConfig`](super::config::ServerConfig) or [`LocalInfo`](super::info::LocalInfo), and the peer in the
    /// handshake or, in modern revisions, in the request. Other requests get an error, and other notifications are
    /// ignored.
    #[must_use]
    fn extension<E: Extension>(self, extension: &E) -> Self;
}

impl RouterExt for Router {
    fn revisions(&self) -> Vec<Revision> {
        let mut revisions: Vec<Revision> = self.versions().into_iter().map(Revision::of).collect();
        revisions.sort_unstable();
        revisions
    }

    fn handled(&self, side: Role) -> HandlerCapabilities {
        let handles = |revision: Revision, method: &str| self.handles(revision.version(), method);
        let revisions = if self.is_for_every_version() { Vec::new() } else { self.revisions() };
        HandlerCapabilities::new(side, revisions, handles)
    }

    fn extension<E: Extension>(self, extension: &E) -> Self {
        let handlers = extension.handlers(Router::new()).map_handlers(
            |handler| {
                Arc::new(move |request: AnyRequest| -> ResponseFuture {
                    match admit(&request.context, &request.method, E::IDENTIFIER) {
                        Ok(()) => handler(request),
                        Err(error) => Box::pin(std::future::ready(Err(error))),
                    }
                })
            },
            |handler| {
                Arc::new(move |message: AnyNotification| -> Pin<Box<dyn Future<Output = ()> + Send>> {
                    match is_known(&message.context, E::IDENTIFIER) {
                        true => handler(message),
                        false => Box::pin(std::future::ready(())),
                    }
                })
            },
        );
        self.with_handlers_of(&handlers)
    }
}

fn admit(context: &Context, method: &str, identifier: &'static str) -> Result<(), ErrorObject> {
    if !context.peer().revision_rules().has_declared(&[CAPABILITY, identifier]) {
        return Err(errors::method_not_found(method));
    }
    match require(context, identifier) {
        // Legacy revisions have no error for missing capabilities.
        Err(_) if context.revision().is_legacy() => Err(errors::method_not_found(method)),
        admitted => admitted,
    }
}

fn require(context: &Context, identifier: &'static str) -> Result<(), ErrorObject> {
    context.require(&[CAPABILITY, identifier])
}

fn is_known(context: &Context, identifier: &str) -> bool {
    let path = [CAPABILITY, identifier];
    let peer = context.peer();
    let protocol = peer.revision_rules();
    if !protocol.has_declared(&path) {
        return false;
    }
    match context.peer_info().cloned().or_else(|| protocol.peer_info()) {
        Some(peer_info) => peer_info.can(&path),
        // A modern client may repeat its capabilities in the notification's `_meta`. If it does not, the notification
        // itself shows that the client has the extension.
        None => match context.meta().get(CLIENT_CAPABILITIES).filter(|declared| declared.is_object()) {
            Some(declared) => can(declared, &path),
            None => true,
        },
    }
}
