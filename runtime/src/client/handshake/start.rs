//! The ways in which a connection starts.

#[cfg(feature = "stdio")]
use super::error::HandshakeError;
#[cfg(feature = "stdio")]
use super::options::ConnectOptions;
#[cfg(feature = "stdio")]
use super::probe::{is_modern_rejection, supported};
#[cfg(feature = "stdio")]
use crate::peer::CallError;
#[cfg(feature = "stdio")]
use crate::protocol::legacy::InitializeError;

/// How a connection starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// On streams that cannot be reopened.
    Streams,
    /// With a process that can be restarted.
    #[cfg(feature = "stdio")]
    Command,
    /// With a process that was restarted, and is sent `initialize` first.
    #[cfg(feature = "stdio")]
    Restarted,
}

impl Start {
    #[cfg(feature = "stdio")]
    pub(super) fn is_restarted(self) -> bool {
        self == Self::Restarted
    }

    #[cfg(not(feature = "stdio"))]
    pub(super) fn is_restarted(self) -> bool {
        false
    }
}

#[cfg(feature = "stdio")]
impl ConnectOptions {
    /// Returns whether a server that failed with this error may accept `initialize` as its first message.
    pub(crate) fn suggests_restart(&self, error: &HandshakeError) -> bool {
        let is_legacy = match error {
            HandshakeError::Call(CallError::Closed(_) | CallError::Invalid(_))
            | HandshakeError::Initialize(InitializeError::Json(_) | InitializeError::Missing(_)) => true,
            HandshakeError::Timeout(_) | HandshakeError::InitializeTimeout(_) => self.treats_silence_as_legacy(),
            HandshakeError::Call(CallError::ErrorResponse(error)) => {
                supported(error).is_none() && !is_modern_rejection(error)
            }
            _ => false,
        };
        is_legacy
            && self.first_method() == "server/discover"
            && self.local_info.revisions_of_kind(true).next().is_some()
    }
}
