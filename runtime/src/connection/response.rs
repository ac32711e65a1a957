//! Encodes responses.

use mcpgen_types::{ErrorMessage, ErrorObject, Json, RequestId, ResponseMessage};

use crate::transport::{Outbound, Outcome, Route};

pub(super) fn batch_response(responses: &[Outbound]) -> Outbound {
    let first = responses.iter().find_map(|response| match &response.route {
        Route::Response(id, _) => Some(Route::Response(id.clone(), Outcome::Result)),
        _ => None,
    });
    let texts: Vec<&[u8]> = responses.iter().map(|response| response.bytes.as_slice()).collect();
    Outbound::new(first.unwrap_or(Route::Connection), [b"[", texts.join(&b',').as_slice(), b"]"].concat())
}

pub(super) fn response(id: RequestId, result: Result<Json, ErrorObject>) -> Outbound {
    let outcome = result.as_ref().map_or_else(|error| Outcome::Failed(error.code.0), |_| Outcome::Result);
    let route = Route::Response(id.clone(), outcome);
    let bytes = match result {
        Ok(result) => ResponseMessage::new(id, result).into_vec(),
        Err(error) => mcpgen_types::to_vec(&ErrorMessage::new(id, error)),
    };
    Outbound::new(route, bytes)
}

/// Creates the response to a request that is rejected before it reaches a handler.
pub(super) fn rejection(id: RequestId, error: ErrorObject) -> Outbound {
    let route = Route::Response(id.clone(), Outcome::Refused(error.code.0));
    Outbound::new(route, mcpgen_types::to_vec(&ErrorMessage::new(id, error)))
}

pub(super) fn no_response(id: &RequestId) -> Outbound {
    Outbound::new(Route::NoResponse(id.clone()), Vec::new())
}
