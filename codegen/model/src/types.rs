//! The types of a revision.

use std::ops::Deref;

use mcpgen_schema::check::Check;
use mcpgen_schema::json::Json;
use mcpgen_schema::normal::{Bounds, Length};

use crate::decision::Decision;
use crate::direction::MessageSet;

/// Index into [`Protocol::types`](crate::Protocol::types).
pub type TypeId = usize;

/// The types of a revision: the definitions in the order of the schema, then the inline types.
#[derive(Clone, Debug)]
pub struct Types(Vec<TypeDef>);

/// A named type.
#[derive(Clone, Debug)]
pub struct TypeDef {
    /// Its name in the schema. For inline types, the name in Rust.
    pub name: String,
    /// Its name in Rust.
    pub rust: String,
    /// Its origin.
    pub origin: Origin,
    /// The description in the schema.
    pub description: Option<String>,
    /// Whether the schema or our documentation marks it as deprecated.
    pub deprecated: bool,
    /// JSON pointer in the schema.
    pub pointer: String,
    /// Its shape.
    pub shape: Shape,
}

/// The origin of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A definition of the schema.
    Definition,
    /// An inline type, with the pointers of all its occurrences.
    Inline(Vec<String>),
    /// A message set that the schema does not define.
    Absent,
}

/// The shape of a named type.
#[derive(Clone, Debug, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Shape {
    /// An object with named members.
    Struct(Struct),
    /// A union with its decision.
    Union(Union),
    /// An array whose first items each have a type.
    Tuple(Tuple),
    /// An enumeration of values.
    Enum(Vec<Value>),
    /// A string with known values. Other strings are accepted.
    #[strum(serialize = "open enum")]
    OpenEnum(Vec<Value>),
    /// A value with limits or checks that its Rust type does not have.
    Bounded(Bounded),
    /// A union that no guard decides.
    Undecided(Undecided),
    /// An alias, with the rule that made it one.
    Alias(Type, AliasRule),
    /// A recursive alias, which Rust allows only as a newtype.
    Newtype(Type),
    /// A type of the hand-written core.
    Core(CoreType),
    /// A type without values.
    Never,
}

/// A type of the hand-written core that a definition becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
pub enum CoreType {
    /// The id of a request: a string or an integer.
    RequestId,
    /// A token of the sender: a string or an integer.
    ProgressToken,
    /// The kind of a result: a string.
    ResultType,
}

impl CoreType {
    /// Returns its name in Rust.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The reason why a definition is an alias.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AliasRule {
    /// The definition is a plain type expression.
    Plain,
    /// The definition accepts every JSON value.
    AnyJson,
    /// The definition is a union with a variant that accepts everything that the others accept. Contains the names of
    /// the others.
    Absorbed(Vec<String>),
}

/// An object with named members.
#[derive(Clone, Debug, PartialEq)]
pub struct Struct {
    /// The members, in the order of our documentation, or else of the schema.
    pub members: Vec<Member>,
    /// The other members whose names match a pattern.
    pub pattern: Option<PatternMembers>,
    /// How other members are treated.
    pub rest: Rest,
}

impl Struct {
    /// Returns the member with this name on the wire.
    #[must_use]
    pub fn member(&self, wire: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.wire == wire)
    }

    /// Returns whether the object is itself a JSON Schema, of which only a few keywords are restricted. Its Rust type keeps
    /// it as JSON text.
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
        // An object with the constant `type` alone may be something else.
        is_open && (has("$schema") || has("type") && has("properties")) && self.members.iter().all(is_keyword)
    }
}

/// Members whose names match a regular expression.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternMembers {
    /// The ECMA-262 regular expression.
    pub pattern: String,
    /// The Rust name of the field, not escaped.
    pub rust: String,
    /// The type of the members.
    pub content: Type,
}

/// An array whose first items each have a type. The first items are required.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuple {
    /// The first items.
    pub first: Vec<Item>,
    /// The type of the items after the first ones, if the array can have more.
    pub rest: Option<Type>,
}

/// An item of a tuple.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its type.
    pub content: Type,
    /// Whether the value is in a box.
    pub boxed: bool,
}

/// How members that a struct does not name are treated.
#[derive(Clone, Debug, PartialEq)]
pub enum Rest {
    /// Other members are kept as JSON.
    Open,
    /// Other members are kept as values of this type.
    Typed(Type),
    /// Other members are rejected.
    Closed,
}

/// A named member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name on the wire.
    pub wire: String,
    /// Its Rust name, not escaped.
    pub rust: String,
    /// Whether it must be present.
    pub required: bool,
    /// Its content.
    pub content: Content,
    /// The description in the schema.
    pub description: Option<String>,
    /// Whether the schema or our documentation marks it as deprecated.
    pub deprecated: bool,
    /// The `default` annotation.
    pub default: Option<Json>,
    /// Whether the value is in a box.
    pub boxed: bool,
}

impl Member {
    /// Returns its type, or `None` if it is a constant.
    #[must_use]
    pub fn value(&self) -> Option<&Type> {
        match &self.content {
            Content::Value(content) => Some(content),
            Content::Constant(_) => None,
        }
    }

    /// Returns its constant value, or `None` if it is not a constant.
    #[must_use]
    pub fn constant(&self) -> Option<&Json> {
        match &self.content {
            Content::Constant(value) => Some(value),
            Content::Value(_) => None,
        }
    }
}

/// The content of a member.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A constant. It is not a field.
    Constant(Json),
    /// A value of a type.
    Value(Type),
}

/// A union.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Union {
    /// The reachable variants, in the order of the schema.
    pub variants: Vec<Variant>,
    /// How a variant is chosen. Its variants are indices into `variants`.
    pub decision: Decision,
    /// The names of omitted variants that another variant contains, as (contained, containing).
    pub absorbed: Vec<(String, String)>,
    /// The message set, if the union is one.
    pub messages: Option<MessageSet>,
}

/// A variant of a union.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its Rust name.
    pub rust: String,
    /// Its content.
    pub content: Type,
    /// Whether the value is in a box.
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

/// A value with a limit or with checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounded {
    /// The type without the limit.
    pub inner: Type,
    /// The limit.
    pub limit: Option<Limit>,
    /// The assertions that the Rust type does not express.
    pub checks: Vec<Check>,
}

/// A union that no guard decides. The value is kept as JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Undecided {
    /// The alternatives. A value can be valid for several of them.
    pub alternatives: Vec<Variant>,
    /// The checks that the union's values pass.
    pub checks: Vec<Check>,
    /// Two alternatives that no guard separates, by their index.
    pub conflict: (usize, usize),
    /// A document that both accept, if one was found.
    pub example: Option<Json>,
}

/// A limit.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// Limits of a number.
    Bounds(Bounds),
    /// Limits of the number of code points of a string, or of items of an array.
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
    /// A 64-bit integer.
    Signed,
    /// A 64-bit integer that is not negative.
    Unsigned,
    /// A number.
    Number,
    /// Any object.
    Object,
    /// A list.
    List(Box<Type>),
    /// An object whose members all have the same type.
    Map(Box<Type>),
    /// The type, or `null`.
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
    /// Replaces each type. Their number and order stay, so references to them stay valid.
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

    /// Returns the struct of a type expression. It follows aliases and leaves out checks.
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

    /// Returns the types that a type refers to directly.
    pub fn uses(&self, id: TypeId) -> Vec<TypeId> {
        let mut used = Vec::new();
        self[id].shape.visit(&mut |content| content.visit(&mut |id| used.push(id)));
        used
    }

    /// Returns the other types that refer directly to each type.
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

    /// Returns whether the messages of each direction are known.
    pub fn has_message_sets(&self) -> bool {
        self.iter().any(TypeDef::is_message_set)
    }
}

impl TypeDef {
    /// Returns whether the type is the union of all messages of one kind that a side sends.
    pub fn is_message_set(&self) -> bool {
        self.message_set().is_some()
    }

    /// Returns the message set that the type is.
    pub fn message_set(&self) -> Option<MessageSet> {
        match &self.shape {
            Shape::Union(union) => union.messages,
            _ => None,
        }
    }
}

impl Shape {
    /// Returns the kind of the shape in one word.
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

    /// Returns the assertions that its Rust type does not express.
    pub fn checks(&self) -> &[Check] {
        match self {
            Shape::Bounded(Bounded { checks, .. }) | Shape::Undecided(Undecided { checks, .. }) => checks,
            _ => &[],
        }
    }

    /// Calls `seen` for every type expression of the shape.
    pub fn visit(&self, seen: &mut dyn FnMut(&Type)) {
        visit_contents!(self, seen, iter);
    }

    /// Calls `change` for every type expression of the shape.
    pub fn visit_mut(&mut self, change: &mut dyn FnMut(&mut Type)) {
        visit_contents!(self, change, iter_mut, mut);
    }
}

/// Calls a function for every type expression of a shape.
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
    /// Calls `seen` for every named type of the expression.
    pub fn visit(&self, seen: &mut dyn FnMut(TypeId)) {
        match self {
            Type::Named(id) => seen(*id),
            Type::List(inner) | Type::Map(inner) | Type::Nullable(inner) => inner.visit(seen),
            _ => {}
        }
    }

    /// Calls `change` for every named type of the expression.
    pub fn visit_mut(&mut self, change: &mut dyn FnMut(&mut TypeId)) {
        match self {
            Type::Named(id) => change(id),
            Type::List(inner) | Type::Map(inner) | Type::Nullable(inner) => inner.visit_mut(change),
            _ => {}
        }
    }

    /// Returns the named type in the expression, unless it is inside a list or map.
    pub fn by_value(&self) -> Option<TypeId> {
        match self {
            Type::Named(id) => Some(*id),
            Type::Nullable(inner) => inner.by_value(),
            _ => None,
        }
    }
}
