//! What MCP keeps about a message.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, LazyLock};

use mcpgen_runtime::context::Context;
use mcpgen_types::{ProgressToken, RequestId, Revision};

use super::params::ParamsView;
use super::task_scope::TaskScope;
use super::{RequestInfo, RequestScope};

/// What MCP keeps about a message.
pub struct Scope {
    pub(super) request: RequestScope,
    pub(super) params_view: ParamsView,
    /// The last reported progress, as the bits of an `f64`.
    pub(super) last_progress: AtomicU64,
    /// The task on whose behalf messages are sent.
    pub(super) task: Option<Arc<dyn TaskScope>>,
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("request", &self.request).finish_non_exhaustive()
    }
}

impl Scope {
    pub(super) fn new(request: RequestScope, params_view: ParamsView) -> Self {
        Self { request, params_view, last_progress: AtomicU64::new(f64::NEG_INFINITY.to_bits()), task: None }
    }

    pub(super) fn request(&self) -> &RequestScope {
        &self.request
    }

    pub(super) fn task(&self) -> Option<&Arc<dyn TaskScope>> {
        self.task.as_ref()
    }
}

/// Returns what MCP keeps about the message. Empty if the connection has another protocol.
pub(super) fn scope(context: &Context) -> &Scope {
    static EMPTY: LazyLock<Scope> =
        LazyLock::new(|| Scope::new(RequestScope::of(Revision::LATEST), ParamsView::default()));
    context.scope().unwrap_or(&EMPTY)
}

/// Returns what the rules need to finish the request's result.
pub(super) fn request_info(context: &Context) -> RequestInfo<'_> {
    let Scope { request, params_view, .. } = scope(context);
    let subject = params_view.subject.as_deref();
    RequestInfo { method: context.method(), subject, meta: &params_view.meta, scope: request }
}

/// Returns the part of the scope that the revision's rules created.
#[must_use]
pub fn request_scope(context: &Context) -> &RequestScope {
    &scope(context).request
}

/// Converts a progress token to a request ID. A request's progress token is its ID.
pub(super) fn request_id(token: ProgressToken) -> RequestId {
    match token {
        ProgressToken::Integer(id) => RequestId::Integer(id),
        ProgressToken::String(id) => RequestId::String(id),
    }
}
