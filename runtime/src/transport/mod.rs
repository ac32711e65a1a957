//! Transports: streams of incoming messages and sinks for outgoing ones.
//!
//! A transport is a stream of [`Inbound`] messages and a sink for [`Outbound`] ones. All transports in this workspace,
//! Streamable HTTP included, are built from these two and nothing else.
//!
//! # Writing a transport
//!
//! This one runs over a pair of channels. Each message carries its sender's address, which handlers read with
//! [`Context::extensions`](crate::Context::extensions).
//!
//! ```
//! use std::{io, net::SocketAddr};
//!
//! use futures_util::stream;
//! use mcpgen_runtime::transport::{self, Inbound, Outbound, Route};
//! use mcpgen_runtime::{Connection, Router};
//! use mcpgen_types::{Json, RequestId};
//! use tokio::sync::mpsc;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let (to_server, received) = mpsc::channel::<(SocketAddr, Vec<u8>)>(16);
//! let incoming = stream::unfold(received, |mut received| async move {
//!     let (address, bytes) = received.recv().await?;
//!     let mut message = Inbound::new(bytes);
//!     message.extensions.insert(address);
//!     Some((Ok(message), received))
//! });
//!
//! let (sent, mut from_server) = mpsc::unbounded_channel::<Outbound>();
//! // A queued message counts toward `Limits::outbox_bytes` until it is dropped, so this queue needs no limit.
//! let outgoing = transport::sink(move |message| sent.send(message).map_err(|_| io::ErrorKind::BrokenPipe.into()));
//!
//! # use mcpgen_runtime::protocol::{Admission, Notice, Protocol, Received};
//! # struct Plain;
//! # impl Protocol for Plain {
//! #     type Scope = ();
//! #     fn admit(&self, _: &Received<'_>) -> Result<Admission<()>, mcpgen_types::ErrorObject> {
//! #         Ok(Admission::Handle(mcpgen_types::Version::new("1"), ()))
//! #     }
//! #     fn classify(&self, _: &Received<'_>) -> Option<Notice<()>> {
//! #         None
//! #     }
//! # }
//! let router = Router::new().fallback(|_| async { Ok(Json::from("pong")) });
//! tokio::spawn(Connection::new(router, Plain).run(incoming, outgoing));
//!
//! let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
//! to_server.send(("127.0.0.1:4000".parse()?, ping.into())).await?;
//! let response = from_server.recv().await.ok_or("the connection is closed")?;
//! assert!(matches!(response.route, Route::Response(RequestId::Integer(1), _)));
//! assert_eq!(response.bytes, br#"{"jsonrpc":"2.0","id":1,"result":"pong"}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Some transports know more about a message than its bytes:
//!
//! * Report a message that is too long as [`ReceiveError::TooLong`], so that its request gets an error response.
//! * If requests are sent separately, and one can fail alone, report [`ReceiveError::Undelivered`].
//! * If each request has its own stream, declare [`has_request_streams`](Outgoing::has_request_streams) and choose the
//!   stream by [`Outbound::route`].
//! * If you need the method or params of a message, declare [`needs_metadata`](Outgoing::needs_metadata) and read
//!   [`Outbound::metadata`] rather than the bytes.

pub mod content_length;
mod framed_sink;
mod inbound;
pub mod lines;
mod memory;
mod message_memory;
mod outbound;
mod principal;
mod scan;
mod seam;
mod sink;
#[cfg(feature = "stdio")]
pub mod stdio;

pub use inbound::{Extensions, Inbound};
pub use memory::duplex;
pub(crate) use message_memory::TakenMemory;
pub use message_memory::{DecodedMemory, FreeForm, Memory, MessageBudget, TransportBudget, TransportMemory};
pub use outbound::{Metadata, Outbound, OutboxPermit, Outcome, QueueGauge, Route};
pub use principal::Principal;
pub use seam::{Incoming, Outgoing, ReceiveError, Skipped, Undelivered};
pub use sink::{FnSink, sink};
