//! The model of a protocol: its types, methods and unions as plain data, built from a schema.
//!
//! ```
//! # fn main() -> Result<(), mcpgen_schema::Error> {
//! let schema = br#"{"$defs": {"Port": {"type": "integer", "maximum": 65535}}}"#;
//! let document = mcpgen_schema::Document::parse("ports.json", schema)?;
//! let protocol = mcpgen_model::model(document, "draft", false)?;
//! assert!(protocol.find("Port").is_some());
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//! Contract -> fixups -> Normalised -> build -> Protocol -> inspect, validate, and the emitters of mcpgen
//!                                                   \-> conversions(all Protocols) -> Conversions
//! ```
//!
//! A [`Protocol`] contains the types ([`TypeDef`]), unions with their decisions ([`Decision`]), methods with their
//! direction ([`Request`], [`Notification`]), and our documentation ([`Docs`]).

#![warn(clippy::print_stdout)]

pub mod text;

// Hand-written knowledge about official schemas: corrections and repeated definitions.
pub mod fixups;
mod inline;
// Contracts: the documents that define a protocol.
mod contract;
// A server's lists: tools, resources and prompts.
pub mod snapshot;

// The model itself.
pub mod conservation;
mod constructors;
mod decision;
mod describe;
mod direction;
mod documentation;
mod extension;
mod inhabited;
mod messages;
pub mod method_facts;
mod protocol;
pub mod revision;
mod types;

mod build;
pub mod conversions;
pub mod docs;
pub mod inspect;
pub mod validate;

pub use build::{areas, build, extend, model};
pub use constructors::named_members;
pub use contract::{Contract, JSON_SCHEMA, Mapping};
pub use decision::{Condition, Decision, Guard};
pub use describe::{Outline, Part};
pub use direction::{MessageKind, MessageSet, Side};
pub use docs::DocBook;
pub use documentation::{DocEntry, DocTarget, Docs};
pub use extension::{Extends, Extension, extension_path};
pub use fixups::Applied;
pub use inline::{InlineSchemas, NAMES};
pub use mcpgen_schema::check::{Check, MemberChecks, Unevaluated};
pub use mcpgen_schema::normal::{Bound, Bounds, Length};
pub use mcpgen_schema::{Json, JsonTypes};
pub use messages::{ErrorCode, Message, Notification, Params, Request, Tag};
pub use protocol::Protocol;
pub use revision::{Era, Revision, Rule, Status, check_name, schema_path};
pub use types::{
    AliasRule, Bounded, Content, CoreType, Item, Limit, Member, Origin, PatternMembers, Rest, Shape, Struct, Tuple,
    Type, TypeDef, TypeId, Types, Undecided, Union, Value, Variant,
};
