//! The model of a revision, as plain data: [`Protocol`] with its types, unions with their decisions, methods with their
//! direction, and documentation. Emitters, `inspect` and `diff` read it.
//!
//! `types` defines types and type expressions, `decision` the guards of unions, `messages` the methods, `direction`
//! their senders, `docs` our documentation, `revision` a vendored revision, and `extension` a vendored extension.
//! `describe` writes type expressions in words, `method_facts` computes facts about methods, and `conservation` checks
//! that no definition is lost.

pub(crate) mod conservation;
pub(crate) mod decision;
mod describe;
mod direction;
mod docs;
pub(crate) mod extension;
mod messages;
pub(crate) mod method_facts;
mod protocol;
pub(crate) mod revision;
mod types;

pub use crate::json::Json;
pub use crate::schema::check::{Check, Members, Unevaluated};
pub use crate::schema::fixups::Applied;
pub use crate::schema::json_types::JsonTypes;
pub use crate::schema::normal::{Bound, Bounds, Length};
pub use decision::{Condition, Decision, Guard};
pub use direction::{MessageKind, MessageSet, Side};
pub use docs::{DocEntry, DocTarget, Docs};
pub(crate) use extension::extension_path;
pub use extension::{Extends, Extension};
pub use messages::{ErrorCode, Notification, Params, Request, Tag};
pub use protocol::Protocol;
pub use revision::{Era, Revision, Rule, Status};
pub(crate) use revision::{check_name, schema_path};
pub use types::{
    AliasRule, Bounded, Content, Item, Limit, Member, Origin, PatternMembers, Rest, Shape, Struct, Tuple, Type,
    TypeDef, TypeId, Undecided, Union, Value, Variant,
};
