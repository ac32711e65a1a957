//! The authenticated sender of a message.

use std::fmt;
use std::sync::Arc;

/// The name of the authenticated user or service that sent a message.
///
/// A transport or an authentication layer attaches it to the [extensions](super::Inbound::extensions) of a message, or
/// of the HTTP request. Handlers read it with [`Context::principal`](crate::Context::principal). By default, a
/// principal owns the sessions, tasks and request state that it creates, and has its own rate limit.
///
/// The name must be unique across all identity issuers that the server accepts. Never derive it from data that the
/// client can choose.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Principal(Arc<str>);

impl Principal {
    /// Creates a principal with this name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Principal").field(&self.0).finish()
    }
}

impl From<Principal> for Arc<str> {
    fn from(principal: Principal) -> Self {
        principal.0
    }
}
