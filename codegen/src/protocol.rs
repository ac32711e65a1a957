//! Stage 3: the protocol as a model: types, unions with their decisions, methods with their direction.
//!
//! Plain data. The emitters ([`crate::items`]), `inspect` and `diff` read it; nothing in it is Rust yet except names.

use indexmap::IndexMap;

use crate::decision::Decision;
use crate::fixups::Applied;
use crate::json::Json;
use crate::prose::Words;
use crate::schema::{Bounds, Length};

/// A revision of the protocol.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// The revision's name.
    pub revision: String,
    /// The schema file, as the caller named it.
    pub file: String,
    /// SHA-256 of the schema file, in hex.
    pub sha256: String,
    /// Whether a connection begins with `initialize`.
    pub era: Era,
    /// Every type: the schema's definitions in its order, then the types found inside them.
    pub types: Vec<TypeDef>,
    /// Every request, whoever sends it, in the order of the direction unions; then the embedded ones.
    pub requests: Vec<Request>,
    /// Every notification, in the order of the direction unions.
    pub notifications: Vec<Notification>,
    /// Error codes that the schema states.
    pub error_codes: Vec<ErrorCode>,
    /// What became of the fixups that were tried.
    pub fixups: Vec<Applied>,
    /// The definitions as JSON facts, for `JsonSchema` impls.
    pub facts: IndexMap<String, Json>,
    /// What is said of all this in our own words.
    pub words: Words,
}

/// How a session works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    /// `initialize` first, then state held for the connection.
    Legacy,
    /// Every request carries what it needs.
    Modern,
}

impl Era {
    /// The era as `revisions.toml` and `inspect` spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Era::Legacy => "legacy",
            Era::Modern => "modern",
        }
    }
}

/// Index into [`Protocol::types`].
pub type TypeId = usize;

/// A type that has a name.
#[derive(Clone, Debug)]
pub struct TypeDef {
    /// Its name in the schema, or the readable name of a type found inside a definition.
    pub name: String,
    /// Its name in Rust.
    pub rust: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The protocol area it belongs to: the file it is written to.
    pub area: String,
    /// What the schema says about it in prose.
    pub description: Option<String>,
    /// Whether the schema marks it as deprecated, or our entry says that the specification does.
    pub deprecated: bool,
    /// JSON pointer in the schema.
    pub pointer: String,
    /// What it is.
    pub shape: Shape,
}

/// Where a type comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A definition of the schema.
    Definition,
    /// Written inside a definition, and given a name; the pointers of all places where it stands.
    Inline(Vec<String>),
    /// A direction union that the schema leaves out.
    Absent,
}

/// What a named type is.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// An object with named members.
    Struct(Struct),
    /// One of several, decided.
    Union(Union),
    /// One of a few values.
    Enum(Vec<Value>),
    /// A value with a limit that Rust's type does not have.
    Bounded(Bounded),
    /// Another name for a type; with the rule that made it so.
    Alias(Type, AliasRule),
    /// An alias that contains itself, which Rust allows only as a type of its own.
    Newtype(Type),
    /// A type of the hand-written core.
    Core(&'static str),
    /// Nothing fits.
    Never,
}

/// Why a definition is only another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AliasRule {
    /// The definition is a plain type expression.
    Plain,
    /// The definition accepts every JSON value.
    AnyJson,
    /// A union of which one variant accepts all that the others accept. The names of the absorbed variants.
    Absorbed(Vec<String>),
}

/// An object with named members.
#[derive(Clone, Debug, PartialEq)]
pub struct Struct {
    /// The members, in the order of the schema.
    pub members: Vec<Member>,
    /// What becomes of members that are not named.
    pub rest: Rest,
}

/// What becomes of members that a struct does not name.
#[derive(Clone, Debug, PartialEq)]
pub enum Rest {
    /// Kept as JSON.
    Open,
    /// Kept, each of this type.
    Typed(Type),
    /// Refused.
    Closed,
}

/// A named member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name on the wire.
    pub wire: String,
    /// Its plain Rust name (not yet escaped).
    pub rust: String,
    /// Whether it must be present.
    pub required: bool,
    /// What it holds.
    pub content: Content,
    /// What the schema says about it in prose.
    pub description: Option<String>,
    /// Whether the schema marks it as deprecated, or our entry says that the specification does.
    pub deprecated: bool,
    /// The `default` annotation.
    pub default: Option<Json>,
    /// Whether the value stands on a cycle of types and needs a box.
    pub boxed: bool,
}

/// What a member holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Always this value: not a field.
    Constant(Json),
    /// A value of a type.
    Value(Type),
}

/// A union.
#[derive(Clone, Debug, PartialEq)]
pub struct Union {
    /// The variants that can be reached, in the order of the schema.
    pub variants: Vec<Variant>,
    /// How one is chosen; variants are indices into `variants`.
    pub decision: Decision,
    /// Names of variants that are left out since another contains them: (the variant, the one that contains it).
    pub absorbed: Vec<(String, String)>,
    /// The direction whose messages these are, if this is one of the four direction unions.
    pub messages: Option<Messages>,
}

/// A variant of a union.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its Rust name.
    pub rust: String,
    /// What it holds.
    pub content: Type,
    /// Whether the value stands on a cycle of types and needs a box.
    pub boxed: bool,
}

/// A value of an enumeration.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The value on the wire.
    pub json: Json,
    /// Its Rust name.
    pub rust: String,
}

/// A value with a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounded {
    /// What is limited.
    pub inner: Type,
    /// How.
    pub limit: Limit,
}

/// A limit.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// Of a number.
    Bounds(Bounds),
    /// Of the code points of a string, or the items of an array.
    Length(Length),
}

/// A type expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Every JSON value.
    Any,
    /// No value.
    Never,
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A string.
    String,
    /// An integer of 64 bit.
    Signed,
    /// An integer of 64 bit that is not negative.
    Unsigned,
    /// A number.
    Number,
    /// Any object.
    Object,
    /// A list.
    List(Box<Type>),
    /// An object whose members are all of one type.
    Map(Box<Type>),
    /// The type, or `null`.
    Nullable(Box<Type>),
    /// A type that has a name.
    Named(TypeId),
}

/// One of the four sets of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Messages {
    /// Who sends them.
    pub sender: Side,
    /// Requests, or notifications.
    pub requests: bool,
}

impl Messages {
    /// All four.
    pub const ALL: [Messages; 4] = [
        Messages { sender: Side::Client, requests: true },
        Messages { sender: Side::Server, requests: true },
        Messages { sender: Side::Client, requests: false },
        Messages { sender: Side::Server, requests: false },
    ];

    /// The definition that lists them: `ClientRequest`, ….
    pub fn definition(self) -> &'static str {
        match (self.sender, self.requests) {
            (Side::Client, true) => "ClientRequest",
            (Side::Server, true) => "ServerRequest",
            (Side::Client, false) => "ClientNotification",
            (Side::Server, false) => "ServerNotification",
        }
    }
}

/// A side of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

impl Side {
    /// The side in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
        }
    }
}

/// A request and what answers it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The request's type.
    pub type_id: TypeId,
    /// Who sends it on the wire. Empty: it travels inside another message.
    pub senders: Vec<Side>,
    /// The type of `params`, if the schema names it.
    pub params: Option<Params>,
    /// What answers it.
    pub result: Type,
    /// What answers it if the call carried `task`.
    pub task_result: Option<Type>,
}

/// A notification.
#[derive(Clone, Debug)]
pub struct Notification {
    /// The method.
    pub method: String,
    /// The notification's type.
    pub type_id: TypeId,
    /// Who sends it.
    pub senders: Vec<Side>,
    /// The type of `params`, if the schema names it.
    pub params: Option<Params>,
}

/// The `params` of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Their type.
    pub content: Type,
    /// Whether they must be present.
    pub required: bool,
}

/// An error code that the schema states.
#[derive(Clone, Debug)]
pub struct ErrorCode {
    /// The code.
    pub code: i64,
    /// The definition that states it.
    pub type_id: TypeId,
    /// The Rust name of the constant.
    pub rust: String,
}

impl Protocol {
    /// The type with this schema name.
    pub fn find(&self, name: &str) -> Option<&TypeDef> {
        self.types.iter().find(|def| def.name == name && !matches!(def.origin, Origin::Inline(_)))
    }

    /// What a type expression is once aliases are followed.
    pub fn follow<'a>(&'a self, mut content: &'a Type) -> &'a Type {
        for _ in 0..=self.types.len() {
            match content {
                Type::Named(id) => match &self.types[*id].shape {
                    Shape::Alias(target, _) => content = target,
                    _ => return content,
                },
                _ => return content,
            }
        }
        content
    }

    /// The struct that a type expression denotes, aliases followed.
    pub fn as_struct(&self, content: &Type) -> Option<&Struct> {
        match self.follow(content) {
            Type::Named(id) => match &self.types[*id].shape {
                Shape::Struct(body) => Some(body),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the schema defines batches: several messages in an array.
    pub fn has_batches(&self) -> bool {
        self.types.iter().any(|def| def.name == "JSONRPCBatchRequest")
    }

    /// A type expression in words: `list of Tool`, `string or null`.
    pub fn describe(&self, content: &Type) -> String {
        match content {
            Type::Any => "any JSON value".to_owned(),
            Type::Never => "nothing".to_owned(),
            Type::Null => "null".to_owned(),
            Type::Boolean => "boolean".to_owned(),
            Type::String => "string".to_owned(),
            Type::Signed => "integer".to_owned(),
            Type::Unsigned => "integer of at least 0".to_owned(),
            Type::Number => "number".to_owned(),
            Type::Object => "any object".to_owned(),
            Type::List(inner) => format!("list of {}", self.describe_inner(inner)),
            Type::Map(inner) => format!("map to {}", self.describe_inner(inner)),
            Type::Nullable(inner) => format!("{} or null", self.describe(inner)),
            Type::Named(id) => self.types[*id].name.clone(),
        }
    }

    fn describe_inner(&self, content: &Type) -> String {
        let words = self.describe(content);
        if matches!(content, Type::Nullable(_)) { format!("({words})") } else { words }
    }

    /// The types that a type names directly.
    pub fn uses(&self, id: TypeId) -> Vec<TypeId> {
        let mut used = Vec::new();
        self.types[id].shape.visit(&mut |content| content.visit(&mut |id| used.push(id)));
        used
    }
}

impl Shape {
    /// Every type expression of the shape.
    pub fn visit(&self, seen: &mut dyn FnMut(&Type)) {
        match self {
            Shape::Struct(body) => {
                for member in &body.members {
                    if let Content::Value(content) = &member.content {
                        seen(content);
                    }
                }
                if let Rest::Typed(content) = &body.rest {
                    seen(content);
                }
            }
            Shape::Union(union) => union.variants.iter().for_each(|variant| seen(&variant.content)),
            Shape::Bounded(Bounded { inner, .. }) => seen(inner),
            Shape::Alias(content, _) | Shape::Newtype(content) => seen(content),
            Shape::Enum(_) | Shape::Core(_) | Shape::Never => {}
        }
    }
}

impl Type {
    /// Every named type of the expression.
    pub fn visit(&self, seen: &mut dyn FnMut(TypeId)) {
        match self {
            Type::Named(id) => seen(*id),
            Type::List(inner) | Type::Map(inner) | Type::Nullable(inner) => inner.visit(seen),
            _ => {}
        }
    }

    /// The named type that the expression holds by value, without a list or map between.
    pub fn by_value(&self) -> Option<TypeId> {
        match self {
            Type::Named(id) => Some(*id),
            Type::Nullable(inner) => inner.by_value(),
            _ => None,
        }
    }
}
