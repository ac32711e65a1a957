//! Exact, lossless Rust types for every revision of the Model Context Protocol.
//!
//! [`from_str`] and [`to_string`] (and the variants for bytes, readers and `serde_json` values) decode and encode. All
//! types also implement `serde::Serialize` and `serde::Deserialize`, for use inside other types. Decoding accepts only
//! valid values, keeps unknown members in [`Extra`], and reports the first problem as an [`Error`] with its path.
//!
//! Each revision is a module behind a feature of the same name, such as `v2026_07_28`. The module's page lists what a
//! client and a server send, grouped by area. `ClientRequest`, `ServerNotification` and similar enums list the methods
//! of one direction. `ClientMessage` and `ServerMessage` are the messages on the wire.
//!
//! Some definitions are aliases of types of std or serde_json (`type Cursor = String`). If serde_json's own functions
//! decode such an alias at the root, serde's rules apply. The functions of this crate decode it exactly, and so do all
//! types that contain it.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs)]

mod error;
mod extra;
mod id;
mod json;
mod message;
mod method;
mod method_spec;
mod never;
mod number;
mod result_type;
mod rpc;
mod version;

pub mod codec;
#[cfg(feature = "convert")]
mod conversions;
#[cfg(feature = "convert")]
pub mod convert;
pub mod map;
pub mod traffic;

#[doc(hidden)]
pub use codec::evaluate::words::counted;
pub use codec::text::{from_reader, from_slice, from_str, from_value, to_string, to_value, to_vec, to_writer};
pub use error::{Error, ErrorKind};
#[doc(hidden)]
pub use extra::KnownMembers;
pub use extra::{Extra, ExtraError};
pub use id::{ProgressToken, RequestId};
pub use json::{Json, JsonObject, JsonRef};
pub use map::Map;
pub use message::{ErrorMessage, Message, NotificationMessage, RequestMessage, ResponseMessage};
pub use method::{
    MethodSet, Notification, NotificationSet, Params, Request, RequestSet, RequestTypeVisitor, TaskRequest,
};
pub use method_spec::MethodSpec;
pub use never::Never;
pub use number::{NotFinite, Number};
pub use result_type::ResultType;
pub use rpc::{ErrorCode, ErrorId, ErrorObject};
pub use version::Version;

// The `Revision` enum and one module per revision, written by the generator.
include!("revisions.rs");

pub use serde_json::Value;

/// Re-exports for the macros of [`codec`].
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "schemars")]
    pub use schemars;
    pub use serde;
}

/// Runs the README's example as a doctest.
#[cfg(all(doctest, feature = "v2026_07_28"))]
#[doc = include_str!("../README.md")]
pub struct Readme;
