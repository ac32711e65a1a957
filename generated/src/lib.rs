//! Exact, lossless Rust types for every revision of the Model Context Protocol.
//!
//! [`from_str`] and [`to_string`] (and their siblings for bytes, readers and `serde_json` values)
//! decode and encode; all types are `serde::Serialize` and `serde::Deserialize` as well, for use
//! inside other types. What decodes is valid, what is unknown is kept in [`Extra`], and what does not
//! decode is explained by one [`Error`].
//!
//! Each revision is a module behind a feature of its name, `v2026_07_28` for one; its first page is a map: area by area, what a
//! client sends and what a server sends. `ClientRequest`, `ServerNotification` and their like list the methods of a direction,
//! `ClientMessage` and `ServerMessage` are what travels on the wire.
//!
//! A definition that is only another name for a type of std or serde_json (`type Cursor = String`) has serde's rules when
//! serde_json's own functions decode it alone; through the functions here, and inside other types, it is exact too.

#![deny(missing_docs)]

mod error;
mod extra;
mod id;
mod message;
mod method;
mod never;
mod number;
mod raw;
mod result_type;
mod rpc;

pub mod codec;
pub mod map;

pub use codec::text::{from_reader, from_slice, from_str, from_value, to_string, to_value, to_vec, to_writer};
pub use error::{Error, ErrorKind};
pub use extra::{Extra, ExtraError, KnownMembers};
pub use id::{ProgressToken, RequestId};
pub use map::Map;
pub use message::{ErrorMessage, Message, NotificationMessage, RequestMessage, ResponseMessage};
pub use method::{Notification, NotificationSet, Params, Request, RequestSet, TaskRequest};
pub use never::Never;
pub use number::{NotFinite, Number};
pub use raw::RawJson;
pub use result_type::ResultType;
pub use rpc::{ErrorCode, ErrorId, ErrorObject};

// `Revision`, and one module per revision: written by the generator, for this very place.
include!("revisions.rs");

pub use serde_json::Value;

/// A JSON object of anything.
pub type JsonObject = serde_json::Map<String, Value>;

/// What the macros of [`codec`] name, wherever they expand.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "schemars")]
    pub use schemars;
    pub use serde;
}

/// The README's example is compiled and run.
#[cfg(all(doctest, feature = "v2026_07_28"))]
#[doc = include_str!("../README.md")]
pub struct Readme;
