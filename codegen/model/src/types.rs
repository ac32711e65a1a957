//! The types of a revision.

use std::ops::Deref;

use mcpgen_schema::check::Check;
use mcpgen_schema::json::Json;
use mcpgen_schema::normal::{Bounds, Length};

use crate::decision::Decision;
use crate::direction::MessageSet;

/// Index into [`Protocol::types`](crate::Protocol::types).
pub type TypeId = usize;

/// All types: definitions in schema order, then inline types.
#[derive(Clone, Debug)]
pub struct Types(Vec<TypeDef>);

/// A named type of the protocol.
#[derive(Clone, Debug)]
pub struct TypeDef {
    /// The name in the schema. An inline type has only a Rust name, repeated here.
    pub name: String,
    /// The Rust name.
    pub rust: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The schema's description.
    pub description: Option<String>,
    /// Whether the schema or our documentation marks it as deprecated.
    pub deprecated: bool,
    /// Its JSON pointer in the schema.
    pub pointer: String,
    /// Its structure.
    pub shape: Shape,
}

/// Where a type comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A definition in the schema.
    Definition,
    /// An inline schema, with the pointers of all occurrences.
    Inline(Vec<String>),
    /// A message set that the schema does not define.
    Absent,
}

/// The structure of a named type.
#[derive(Clone, Debug, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Shape {
    /// An object with named members.
    Struct(Struct),
    /// A union with its decision.
    Union(Union),
    /// An array with a type for each leading item.
    Tuple(Tuple),
    /// A fixed set of values.
    Enum(Vec<Value>),
    /// A string with known values. Other strings are valid too.
    #[strum(serialize = "open enum")]
    OpenEnum(Vec<Value>),
    /// A value with limits or checks that its Rust type cannot express.
    Bounded(Bounded),
    /// A union that no guard can decide.
    Undecided(Undecided),
    /// An alias, and why it is one.
    Alias(Type, AliasRule),
    /// A recursive alias, which has to be a newtype in Rust.
    Newtype(Type),
    /// A type from the hand-written core.
    Core(CoreType),
    /// A type that has no values.
    Never,
}

/// A hand-written core type that replaces a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
pub enum CoreType {
    /// A request's `id`: a string or an integer.
    RequestId,
    /// A progress token: a string or an integer.
    ProgressToken,
    /// The kind of a result: a string.
    ResultType,
}

impl CoreType {
    /// Returns the Rust name.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Why a definition is an alias.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AliasRule {
    /// It is a plain type expression.
    Plain,
    /// It accepts every JSON value.
    AnyJson,
    /// It is a union in which one variant accepts everything the others accept. The list names the other variants.
    Absorbed(Vec<String>),
}

/// An object with named members.
#[derive(Clone, Debug, PartialEq)]
pub struct Struct {
    /// The members, in the order of our documentation or, failing that, of the schema.
    pub members: Vec<Member>,
    /// Further members whose names match a pattern.
    pub pattern: Option<PatternMembers>,
    /// What happens to all other members.
    pub rest: Rest,
}

impl Struct {
    /// Returns the member with this name in JSON.
    #[must_use]
    pub fn member(&self, wire: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.wire == wire)
    }

    /// Returns whether the object is a JSON schema itself, with restrictions on a few keywords only. Its Rust type
    /// keeps it as JSON text.
    #[must_use]
    pub fn is_json_schema(&self) -> bool {
        let is_keyword = |member: &Member| match (member.wire.as_str(), &member.content) {
            ("type", Content::Constant(Json::String(kind))) => member.required && kind == "object",
            ("$schema", Content::Value(Type::String)) => !member.required,
            ("properties", Content::Value(Type::Map(of))) => {
                !member.required && matches!(**of, Type::Any | Type::Object)
            }
            ("properties", Content::Value(Type::Object)) => !member.required,
            ("required", Content::Value(Type::List(of))) => !member.required && **of == Type::String,
            _ => false,
        };
        let has = |keyword: &str| self.member(keyword).is_some();
        let is_open = self.rest == Rest::Open && self.pattern.is_none();
        // An object with only a constant `type` may be something else.
        is_open && (has("$schema") || has("type") && has("properties")) && self.members.iter().all(is_keyword)
    }
}

/// Members whose names match a regular expression.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternMembers {
    /// An ECMA-262 regular expression.
    pub pattern: String,
    /// The Rust name of the field, unescaped.
    pub rust: String,
    /// The type of the members.
    pub content: Type,
}

/// An array with a type for each leading item. All of these are required.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuple {
    /// The leading items.
    pub first: Vec<Item>,
    /// The type of further items, if there may be any.
    pub rest: Option<Type>,
}

/// A leading item of a tuple.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its type.
    pub content: Type,
    /// Whether the Rust type is boxed.
    pub boxed: bool,
}

/// What happens to members that a struct does not name.
#[derive(Clone, Debug, PartialEq)]
pub enum Rest {
    /// They are kept as JSON.
    Open,
    /// They are kept as values of this type.
    Typed(Type),
    /// They are rejected.
    Closed,
}

/// A named member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The name in JSON.
    pub wire: String,
    /// The Rust name, unescaped.
    pub rust: String,
    /// Whether it is required.
    pub required: bool,
    /// Its type or constant.
    pub content: Content,
    /// The schema's description.
    pub description: Option<String>,
    /// Whether the schema or our documentation marks it as deprecated.
    pub deprecated: bool,
    /// The schema's `default`.
    pub default: Option<Json>,
    /// Whether the Rust type is boxed.
    pub boxed: bool,
}

impl Member {
    /// Returns the type, or `None` for a constant.
    #[must_use]
    pub fn value(&self) -> Option<&Type> {
        match &self.content {
            Content::Value(content) => Some(content),
            Content::Constant(_) => None,
        }
    }

    /// Returns the constant, if it is one.
    #[must_use]
    pub fn constant(&self) -> Option<&Json> {
        match &self.content {
            Content::Constant(value) => Some(value),
            Content::Value(_) => None,
        }
    }
}

/// What a member contains.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A constant. Structs have no field for it.
    Constant(Json),
    /// A value of this type.
    Value(Type),
}

/// A union and how it picks a variant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Union {
    /// The reachable variants, in schema order.
    pub variants: Vec<Variant>,
    /// How a variant is chosen.
    pub decision: Decision,
    /// Variants left out because another contains them, as (contained, containing).
    pub absorbed: Vec<(String, String)>,
    /// The message set, if this is one.
    pub messages: Option<MessageSet>,
}

/// A variant of a union.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The Rust name.
    pub rust: String,
    /// The type it holds.
    pub content: Type,
    /// Whether the Rust type is boxed.
    pub boxed: bool,
}

/// A value of an enum.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The value in JSON.
    pub json: Json,
    /// The Rust name.
    pub rust: String,
}

/// A value with limits or checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounded {
    /// The type without its limits and checks.
    pub inner: Type,
    /// The limit, if any.
    pub limit: Option<Limit>,
    /// Assertions that the Rust type cannot express.
    pub checks: Vec<Check>,
}

/// A union that no guard can decide. Values are kept as JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Undecided {
    /// The alternatives. A value may match several.
    pub alternatives: Vec<Variant>,
    /// Assertions that hold for the union as a whole.
    pub checks: Vec<Check>,
    /// The indexes of two alternatives that no guard can tell apart.
    pub conflict: (usize, usize),
    /// A document that both alternatives accept, if one was found.
    pub example: Option<Json>,
}

/// A limit on a number or a length.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// The range of a number.
    Bounds(Bounds),
    /// The range of a length: code points of a string, or items of an array.
    Length(Length),
}

/// A type expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Any JSON value.
    Any,
    /// No value at all.
    Never,
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A string.
    String,
    /// A 64-bit integer.
    Signed,
    /// A non-negative 64-bit integer.
    Unsigned,
    /// A number.
    Number,
    /// An object with any members.
    Object,
    /// A list.
    List(Box<Type>),
    /// An object whose members all have this type.
    Map(Box<Type>),
    /// This type, or `null`.
    Nullable(Box<Type>),
    /// A named type.
    Named(TypeId),
}

impl From<Vec<TypeDef>> for Types {
    fn from(types: Vec<TypeDef>) -> Self {
        Self(types)
    }
}

impl Deref for Types {
    type Target = [TypeDef];

    fn deref(&self) -> &[TypeDef] {
        &self.0
    }
}

impl Types {
    /// Replaces each type. Type IDs stay valid, because number and order do not change.
    pub(crate) fn map(self, mut replace: impl FnMut(TypeId, TypeDef) -> TypeDef) -> Self {
        Self(self.0.into_iter().enumerate().map(|(id, def)| replace(id, def)).collect())
    }

    /// Returns the type with this name.
    pub fn named(&self, name: &str) -> Option<TypeId> {
        self.iter().position(|def| def.name == name)
    }

    /// Follows aliases.
    pub fn follow<'a>(&'a self, mut content: &'a Type) -> &'a Type {
        for _ in 0..=self.len() {
            match content {
                Type::Named(id) => match &self[*id].shape {
                    Shape::Alias(target, _) => content = target,
                    _ => return content,
                },
                _ => return content,
            }
        }
        content
    }

    /// Returns the struct behind a type expression, looking through aliases and checks.
    pub fn as_struct(&self, content: &Type) -> Option<&Struct> {
        let shape = |content| match self.follow(content) {
            Type::Named(id) => Some(&self[*id].shape),
            _ => None,
        };
        let shape = match shape(content)? {
            Shape::Bounded(bounded) => shape(&bounded.inner)?,
            shape => shape,
        };
        if let Shape::Struct(body) = shape { Some(body) } else { None }
    }

    /// Returns the types that a type mentions directly.
    pub fn uses(&self, id: TypeId) -> Vec<TypeId> {
        let mut used = Vec::new();
        self[id].shape.visit(&mut |content| content.visit(&mut |id| used.push(id)));
        used
    }

    /// Returns, for each type, the other types that mention it directly.
    pub fn users(&self) -> Vec<Vec<TypeId>> {
        let mut users = vec![Vec::new(); self.len()];
        for user in 0..self.len() {
            for used in self.uses(user) {
                if used != user && users[used].last() != Some(&user) {
                    users[used].push(user);
                }
            }
        }
        users
    }

    /// Returns whether the schema says who sends which message.
    pub fn has_message_sets(&self) -> bool {
        self.iter().any(TypeDef::is_message_set)
    }
}

impl TypeDef {
    /// Returns whether the type is a message set.
    pub fn is_message_set(&self) -> bool {
        self.message_set().is_some()
    }

    /// Returns the message set, if the type is one.
    pub fn message_set(&self) -> Option<MessageSet> {
        match &self.shape {
            Shape::Union(union) => union.messages,
            _ => None,
        }
    }
}

impl Shape {
    /// Returns the kind of the shape, in one or two words.
    pub fn kind(&self) -> &'static str {
        self.into()
    }

    /// Returns the variants of a union, decided or not.
    pub fn variants(&self) -> &[Variant] {
        match self {
            Shape::Union(Union { variants, .. }) | Shape::Undecided(Undecided { alternatives: variants, .. }) => {
                variants
            }
            _ => &[],
        }
    }

    /// Returns the assertions that the Rust type cannot express.
    pub fn checks(&self) -> &[Check] {
        match self {
            Shape::Bounded(Bounded { checks, .. }) | Shape::Undecided(Undecided { checks, .. }) => checks,
            _ => &[],
        }
    }

    /// Calls `seen` for every type expression in the shape.
    pub fn visit(&self, seen: &mut dyn FnMut(&Type)) {
        visit_contents!(self, seen, iter);
    }

    /// Calls `change` for every type expression in the shape.
    pub fn visit_mut(&mut self, change: &mut dyn FnMut(&mut Type)) {
        visit_contents!(self, change, iter_mut, mut);
    }
}

macro_rules! visit_contents {
    ($shape:ident, $seen:ident, $iter:ident $(, $mut:ident)?) => {
        match $shape {
            Shape::Struct(Struct { members, pattern, rest }) => {
                for member in members.$iter() {
                    if let Content::Value(content) = &$($mut)? member.content {
                        $seen(content);
                    }
                }
                pattern.$iter().for_each(|pattern| $seen(&$($mut)? pattern.content));
                if let Rest::Typed(content) = rest {
                    $seen(content);
                }
            }
            Shape::Tuple(Tuple { first, rest }) => {
                first.$iter().for_each(|item| $seen(&$($mut)? item.content));
                rest.$iter().for_each($seen);
            }
            Shape::Union(Union { variants, .. }) | Shape::Undecided(Undecided { alternatives: variants, .. }) => {
                variants.$iter().for_each(|variant| $seen(&$($mut)? variant.content));
            }
            Shape::Bounded(Bounded { inner: content, .. }) | Shape::Alias(content, _) | Shape::Newtype(content) => {
                $seen(content);
            }
            Shape::Enum(_) | Shape::OpenEnum(_) | Shape::Core(_) | Shape::Never => {}
        }
    };
}
use visit_contents;

impl Type {
    /// Calls `seen` for every named type in the expression.
    pub fn visit(&self, seen: &mut dyn FnMut(TypeId)) {
        match self {
            Type::Named(id) => seen(*id),
            Type::List(inner) | Type::Map(inner) | Type::Nullable(inner) => inner.visit(seen),
            _ => {}
        }
    }

    /// Calls `change` for every named type in the expression.
    pub fn visit_mut(&mut self, change: &mut dyn FnMut(&mut TypeId)) {
        match self {
            Type::Named(id) => change(id),
            Type::List(inner) | Type::Map(inner) | Type::Nullable(inner) => inner.visit_mut(change),
            _ => {}
        }
    }

    /// Returns the named type that the expression holds by value, not through a list or map.
    pub fn by_value(&self) -> Option<TypeId> {
        match self {
            Type::Named(id) => Some(*id),
            Type::Nullable(inner) => inner.by_value(),
            _ => None,
        }
    }
}
