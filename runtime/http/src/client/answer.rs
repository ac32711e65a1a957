//! Finds the response to a request among the messages that the server sends back.

use mcpgen_runtime::jsonrpc::envelope::{Envelope, Frame, Invalid};
use mcpgen_runtime::transport::Inbound;
use mcpgen_types::{ErrorId, ErrorMessage, ErrorObject, RequestId};

/// How a message relates to a request.
pub(super) enum Answer {
    /// The response, or a batch that contains it.
    Response,
    /// An error without an ID. Perhaps the server could not read the ID.
    ErrorWithoutId(ErrorObject),
    /// Another message, such as a notification. Says which kind.
    Message(&'static str),
    /// Not a message, or the response to another request. Contains the reason.
    Unusable(String),
}

impl Answer {
    /// Classifies a message that arrived for the request with this ID.
    pub(super) fn of(message: &mut Inbound, id: &RequestId) -> Self {
        match message.frame() {
            Ok(Frame::One(envelope)) => Self::of_envelope(Ok(envelope), id),
            Ok(Frame::Batch(messages)) => {
                let mut answers = messages.into_iter().map(|message| Self::of_envelope(message, id));
                match answers.any(|answer| matches!(answer, Self::Response)) {
                    true => Self::Response,
                    false => Self::Message("it is a batch without the response"),
                }
            }
            Err(invalid) => Self::of_envelope(Err(invalid), id),
        }
    }

    fn of_envelope(envelope: Result<Envelope<'_>, Invalid>, id: &RequestId) -> Self {
        match envelope {
            Ok(Envelope::Response { id: of, .. } | Envelope::Error { id: ErrorId::Id(of), .. }) => match of == *id {
                true => Self::Response,
                false => Self::Unusable(format!(
                    "its `id` is {of}, and that of the request is {id}",
                    of = shown(&of),
                    id = shown(id)
                )),
            },
            Ok(Envelope::Error { error, .. }) => Self::ErrorWithoutId(error),
            Ok(Envelope::Notification { .. }) => Self::Message("it is a notification"),
            Ok(Envelope::Request { .. }) => Self::Message("it is a request"),
            // The connection will report what is wrong with it.
            Err(invalid) if invalid.response_to.as_ref() == Some(id) => Self::Response,
            Err(invalid) => Self::Unusable(invalid.error.message),
        }
    }
}

/// Formats an ID as JSON, so that `1` and `"1"` differ.
fn shown(id: &RequestId) -> String {
    mcpgen_types::to_string(id)
}

/// Creates the response from an error without an ID.
pub(super) fn with_id(error: ErrorObject, id: &RequestId) -> Inbound {
    Inbound::new(mcpgen_types::to_vec(&ErrorMessage::new(id.clone(), error)))
}
