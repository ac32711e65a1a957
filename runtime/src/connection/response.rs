//! Creates responses.

use mcpgen_types::{ErrorId, ErrorMessage, ErrorObject, RawJson, RequestId, ResponseMessage};

use crate::peer::outbox::{Message, Outcome, Place};

/// Joins responses into one batch.
pub(super) fn batch_response(responses: &[Message]) -> Message {
    let first = responses.iter().find_map(|response| match &response.place {
        Place::Answer(id, _) => Some(Place::Answer(id.clone(), Outcome::Result)),
        _ => None,
    });
    let texts: Vec<&[u8]> = responses.iter().map(|response| response.bytes.as_slice()).collect();
    Message { place: first.unwrap_or(Place::Anywhere), bytes: [b"[", texts.join(&b',').as_slice(), b"]"].concat() }
}

/// Creates the response to a request that was handled.
pub(super) fn response(id: RequestId, result: Result<RawJson, ErrorObject>) -> Message {
    let outcome = result.as_ref().map_or_else(|error| Outcome::Failed(error.code.0), |_| Outcome::Result);
    let place = Place::Answer(id.clone(), outcome);
    let bytes = match result {
        Ok(result) => ResponseMessage::new(id, result).into_vec(),
        Err(error) => mcpgen_types::to_vec(&ErrorMessage::new(id, error)),
    };
    Message { place, bytes }
}

/// Creates the error response to a request that is rejected before it reaches a handler.
pub(super) fn rejection(id: RequestId, error: ErrorObject) -> Message {
    let place = Place::Answer(id.clone(), Outcome::Refused(error.code.0));
    Message { place, bytes: mcpgen_types::to_vec(&ErrorMessage::new(id, error)) }
}

/// Creates the error response to an invalid message, whose ID may be unknown.
pub(super) fn invalid_message_response(id: ErrorId, error: ErrorObject) -> Message {
    match id {
        ErrorId::Id(id) => rejection(id, error),
        id => Message { place: Place::Anywhere, bytes: mcpgen_types::to_vec(&ErrorMessage::new(id, error)) },
    }
}

/// Creates the message that informs the transport: a request will get no response.
pub(super) fn no_response(id: &RequestId) -> Message {
    Message { place: Place::Unanswered(id.clone()), bytes: Vec::new() }
}
