//! The runtime of the Model Context Protocol over the generated types.
//!
//! So far it is the message envelope alone: reading a line into a [`Message`], telling what it is, and writing one.
//!
//! ```
//! use mcpgen_runtime::{Message, read, write};
//! use mcpgen_types::v2026_07_28::{ClientMessage, ClientRequest};
//!
//! let line = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
//!     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
//!     "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
//! let message: ClientMessage = read(line)?;
//! let Message::Request(request) = &message else { unreachable!("it has a method and an id") };
//! assert!(matches!(request.request(), ClientRequest::ListTools(_)));
//! assert!(!write(&message).contains(&b'\n'));
//! # Ok::<(), mcpgen_types::Error>(())
//! ```

pub mod connection;
pub mod context;
pub mod envelope;
pub mod era;
pub mod errors;
pub mod legacy;
mod outbox;
pub mod peer;
pub mod router;
pub mod transport;

pub use outbox::Closed;

pub use mcpgen_types::{
    Error, ErrorCode, ErrorId, ErrorMessage, ErrorObject, Message, NotificationMessage, NotificationSet, RawJson,
    Request, RequestId, RequestMessage, RequestSet, ResponseMessage,
};

/// Reads one message.
///
/// # Errors
/// The bytes are not a JSON-RPC message of the direction that `R` and `N` are the requests and notifications of; the
/// error says where and why.
pub fn read<R: RequestSet, N: NotificationSet>(bytes: &[u8]) -> Result<Message<R, N>, Error> {
    mcpgen_types::from_slice(bytes)
}

/// Writes one message, on one line and without its end.
pub fn write<R: RequestSet, N: NotificationSet>(message: &Message<R, N>) -> Vec<u8> {
    mcpgen_types::to_vec(message)
}
