//! Describes types in words.

use mcpgen_schema::json::Json;
use mcpgen_schema::normal::Length;
use mcpgen_schema::text::counted;

use crate::protocol::Protocol;
use crate::types::{AliasRule, Bounded, Limit, Member, Rest, Shape, Type, Value, Variant};

impl Protocol {
    /// Describes a type expression: `list of Tool`, `string or null`.
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
}

/// A type's shape, described in words.
#[derive(Clone, Debug)]
pub struct Outline<'s> {
    /// Introduces the parts, as in `one of`. Empty for an object's members or a single type.
    pub words: String,
    /// The parts, in order.
    pub parts: Vec<Part<'s>>,
    /// Further facts, such as limits.
    pub notes: Vec<String>,
}

/// A part of an outline.
#[derive(Clone, Copy, Debug)]
pub enum Part<'s> {
    /// A named member of an object.
    Member(&'s Member),
    /// A value of an enum.
    Value(&'s Json),
    /// A type, with the variant's name, which is empty outside unions.
    Type(&'s str, &'s Type),
    /// The type of all other members or items.
    Others(&'s Type),
}

impl Protocol {
    /// Describes a shape in words.
    pub fn outline<'s>(&self, shape: &'s Shape) -> Outline<'s> {
        let variants = |variants: &'s [Variant]| variants.iter().map(|it| Part::Type(&it.rust, &it.content)).collect();
        let values = |values: &'s [Value]| values.iter().map(|value| Part::Value(&value.json)).collect();
        let outline = |words: &str, parts: Vec<Part<'s>>| Outline { words: words.to_owned(), parts, notes: Vec::new() };
        match shape {
            Shape::Struct(body) => {
                let mut parts: Vec<Part<'_>> = body.members.iter().map(Part::Member).collect();
                let pattern = body.pattern.as_ref();
                let pattern = pattern.map(|it| format!("names like /{}/: {}", it.pattern, self.describe(&it.content)));
                let mut notes: Vec<String> = pattern.into_iter().collect();
                match &body.rest {
                    Rest::Open => {}
                    Rest::Typed(content) => parts.push(Part::Others(content)),
                    Rest::Closed => notes.push("no other members".to_owned()),
                }
                Outline { notes, ..outline("", parts) }
            }
            Shape::Union(union) if union.variants.is_empty() => outline("no variants", Vec::new()),
            Shape::Union(union) => outline("one of", variants(&union.variants)),
            Shape::Undecided(undecided) => {
                let name = |index: usize| self.describe(&undecided.alternatives[index].content);
                let (a, b) = (name(undecided.conflict.0), name(undecided.conflict.1));
                let mut notes = vec![format!("no guard separates {a} from {b}")];
                notes.extend(undecided.example.as_ref().map(|it| format!("both accept {it}")));
                Outline { notes, ..outline("any of", variants(&undecided.alternatives)) }
            }
            Shape::Tuple(tuple) => {
                let first = tuple.first.iter().map(|item| Part::Type("", &item.content));
                outline("an array of", first.chain(tuple.rest.iter().map(Part::Others)).collect())
            }
            Shape::Enum(known) => outline("one of", values(known)),
            Shape::OpenEnum(known) => outline("a string, such as", values(known)),
            Shape::Bounded(Bounded { inner, limit, checks }) => {
                let limit = limit.as_ref().map(|limit| match limit {
                    Limit::Bounds(limit) => limit.to_string(),
                    Limit::Length(limit) if matches!(inner, Type::List(_)) => length(limit, "items"),
                    Limit::Length(limit) => length(limit, "characters"),
                });
                let checks = (!checks.is_empty()).then(|| counted(checks.len() as u64, "checks"));
                let notes = limit.into_iter().chain(checks).collect();
                Outline { notes, ..outline("", vec![Part::Type("", inner)]) }
            }
            Shape::Alias(content, rule) => {
                let notes = match rule {
                    AliasRule::Absorbed(others) => vec![format!("accepts all values of {}", others.join(", "))],
                    AliasRule::Plain | AliasRule::AnyJson => Vec::new(),
                };
                Outline { notes, ..outline("", vec![Part::Type("", content)]) }
            }
            Shape::Newtype(content) => outline("", vec![Part::Type("", content)]),
            Shape::Core(core) => outline(&format!("mcpgen_types::{}", core.name()), Vec::new()),
            Shape::Never => outline("no values", Vec::new()),
        }
    }
}

fn length(limit: &Length, unit: &str) -> String {
    match (limit.min, limit.max) {
        (min, None) => format!("at least {}", counted(min, unit)),
        (0, Some(max)) => format!("at most {}", counted(max, unit)),
        (min, Some(max)) => format!("{min} to {}", counted(max, unit)),
    }
}
