//! Encodes outgoing requests and notifications.

use mcpgen_types::codec::{Encode, Literal, Members, Node, Object};
use mcpgen_types::{Json, RequestId};

/// Encodes a request, or a notification if `id` is `None`.
pub(super) fn encode(id: Option<&RequestId>, method: &str, params: Option<&Json>) -> Vec<u8> {
    mcpgen_types::to_vec(&RequestOrNotification { id, method, params })
}

struct RequestOrNotification<'a> {
    id: Option<&'a RequestId>,
    method: &'a str,
    params: Option<&'a Json>,
}

impl Encode for RequestOrNotification<'_> {
    fn encode(&self) -> Node<'_> {
        Node::Object(self)
    }
}

impl Object for RequestOrNotification<'_> {
    fn members(&self, out: &mut Members<'_>) {
        out.constant("jsonrpc", Literal::Str("2.0"));
        if let Some(id) = self.id {
            out.member("id", id);
        }
        out.member("method", self.method);
        if let Some(params) = self.params {
            out.member("params", params);
        }
    }
}
