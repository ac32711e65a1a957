//! State shared by all requests of a connection.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use mcpgen_types::{ErrorId, ErrorMessage, ErrorObject, RequestId};
use parking_lot::{Mutex, MutexGuard};

use super::limits::Limits;
use super::response::rejection;
use crate::context::{Context, Parts};
use crate::jsonrpc::errors;
use crate::observer::{Observed, Outcome};
use crate::peer::Peer;
use crate::protocol::{Admission, Received, Rules};
use crate::router::AnyRequest;
use crate::transport::{Extensions, Outbound, Route};

pub(super) struct ConnectionState {
    pub(super) rules: Rules,
    pub(super) limits: Limits,
    pub(super) peer: Peer,
    /// The memory of running requests, in bytes.
    pub(super) memory: Arc<AtomicUsize>,
    /// Incoming requests without a response yet.
    open_requests: Mutex<OpenRequests>,
}

/// The hash function is fast and randomly seeded. [`Limits`] bounds the number of open requests, so collisions stay
/// cheap.
pub(super) type OpenRequests = HashMap<RequestId, Context, foldhash::quality::RandomState>;

impl ConnectionState {
    pub(super) fn new(limits: Limits, peer: Peer) -> Self {
        let rules = peer.erased_protocol().rules();
        Self { rules, limits, peer, memory: Arc::default(), open_requests: Mutex::default() }
    }

    pub(super) fn is_long_lived(&self, method: &str) -> bool {
        self.rules.long_lived.contains(&method)
    }

    pub(super) fn open_requests(&self) -> MutexGuard<'_, OpenRequests> {
        self.open_requests.lock()
    }

    /// Asks the protocol what to do with a request. Reports it to the observer if it gets a response without a handler.
    pub(super) fn admit(
        &self,
        request: &Received<'_>,
        method: Cow<'static, str>,
        extensions: Option<&Arc<Extensions>>,
    ) -> Result<Admission<Context>, ErrorObject> {
        let mut parts = Some(Parts {
            id: request.id.cloned(),
            method,
            connection: self.peer.connection(),
            extensions: extensions.cloned(),
            memory: Some(Arc::clone(&self.memory)),
        });
        let admission = match (self.peer.erased_protocol().admit(request, &mut parts), request.open) {
            (Ok(Admission::NewSession { result, ends }), Some(open)) if ends(open) => {
                Ok(Admission::NewSession { result, ends })
            }
            (Ok(_), Some(_)) => Err(errors::invalid_request("a request with this ID is still pending")),
            (admission, _) => admission,
        };
        let outcome = match &admission {
            Err(error) => Outcome::Error(error),
            Ok(Admission::Respond(result) | Admission::NewSession { result, .. }) => Outcome::Result(result),
            Ok(Admission::Handle(..) | Admission::Drop(_)) => return admission,
        };
        Observed::received(self.peer.observer(), request, None).end(outcome);
        admission
    }

    /// Removes a request that has ended. A request of a new session that reuses the ID stays.
    pub(super) fn close_request(&self, id: &RequestId, ended: &Context) {
        let mut open = self.open_requests();
        if let Some(context) = open.remove(id).filter(|context| !context.is_same(ended)) {
            open.insert(id.clone(), context);
        }
    }

    pub(super) fn invalid_message(&self, id: ErrorId, error: ErrorObject) -> Outbound {
        let ErrorId::Id(id) = id else {
            let error = ErrorMessage::new(self.peer.erased_protocol().unknown_id(), error);
            return Outbound::new(Route::Connection, mcpgen_types::to_vec(&error));
        };
        rejection(id, error)
    }

    /// Removes a request that does not reach a handler, and returns its error response.
    pub(super) fn reject(&self, request: &AnyRequest, error: ErrorObject) -> Option<Outbound> {
        let id = request.context.id().cloned()?;
        self.open_requests().remove(&id);
        Some(rejection(id, error))
    }
}
