//! Reasons why a message must not be sent.

use mcpgen_types::Revision;

use super::conversion::ConversionError;
use super::role::Role;

/// Why MCP does not allow a message to be sent. [`CallError::downcast_ref`] finds this in [`CallError::NotAllowed`].
///
/// [`CallError::NotAllowed`]: mcpgen_runtime::CallError::NotAllowed
/// [`CallError::downcast_ref`]: mcpgen_runtime::CallError::downcast_ref
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotAllowed {
    /// One side has not declared the capability that the message needs.
    #[error("{method}: the {role} has not declared the `{capability}` capability")]
    Capability {
        /// The method of the message.
        method: String,
        /// The side that has to declare the capability.
        role: Role,
        /// The path of the capability, such as `elicitation.url`.
        capability: String,
    },
    /// The other side sends such requests instead of handling them.
    #[error("{method}: a {role} does not handle this request")]
    Direction {
        /// The method of the request.
        method: String,
        /// The role of the other side.
        role: Role,
    },
    /// The message's type belongs to a revision other than the connection's.
    #[error("{method}: the type belongs to revision {of}, but the connection uses {used}")]
    OtherRevision {
        /// The method of the message.
        method: String,
        /// The revision of the type.
        of: Revision,
        /// The revision of the connection.
        used: Revision,
    },
    /// The connection's revision does not have the message.
    #[error("{method}: {role}s do not send it in revision {revision}{remedy}")]
    Revision {
        /// The method of the message.
        method: String,
        /// The role of this side.
        role: Role,
        /// The revision of the connection.
        revision: Revision,
        /// What to do instead. Empty if there is no alternative.
        remedy: &'static str,
    },
    /// The connection's revision cannot express the message.
    #[error(transparent)]
    Conversion(#[from] ConversionError),
    /// The handshake is not complete.
    #[error("{method}: the connection is not initialized yet")]
    NotInitialized {
        /// The method of the message.
        method: String,
    },
    /// The client has not requested log messages.
    #[error("notifications/message: the client did not set a log level in the request")]
    NoLogLevel,
    /// The notification must only be sent to subscribers.
    #[error("{method}: only sent to subscribers; use `Subscriptions`")]
    OnlyToSubscribers {
        /// The method of the notification.
        method: String,
    },
    /// The task on whose behalf the message is sent has ended.
    #[error("the task that sends this message has ended")]
    TaskEnded,
}
