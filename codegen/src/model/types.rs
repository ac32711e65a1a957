//! The types of a revision.

use crate::json::Json;
use crate::model::decision::Decision;
use crate::model::direction::MessageSet;
use crate::schema::normal::{Bounds, Length};

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
    pub messages: Option<MessageSet>,
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
