//! Documents before and after a change: what each definition requires, in both schemas.

use indexmap::IndexMap;
use mcpgen_model::conversions::Rules;
use mcpgen_model::{Bounds, Content, Limit, Origin, Protocol, Shape, Struct, Type};
use mcpgen_schema::json::Json;

/// The smallest documents of a definition in both schemas.
#[derive(Debug)]
pub struct Example {
    /// The names of all definitions that change in the same way. The documents are those of the first one.
    pub definitions: Vec<String>,
    /// The old document.
    pub before: Json,
    /// The new document.
    pub after: Json,
}

/// The maximum depth of nested objects in a document.
const DEPTH: usize = 4;

/// Returns examples of the definitions whose required members changed. New members have the values that the
/// conversion rules give them.
pub fn examples(old: &Protocol, new: &Protocol, rules: &Rules) -> Vec<Example> {
    let smallest_old = Smallest { protocol: old, rules: None };
    let smallest_new = Smallest { protocol: new, rules: Some(rules) };
    let mut examples: IndexMap<String, Example> = IndexMap::new();
    for def in new.types.iter().filter(|def| def.origin == Origin::Definition) {
        let twin = old.types.iter().find(|other| other.origin == Origin::Definition && other.name == def.name);
        let (Some(Shape::Struct(old)), Shape::Struct(new)) = (twin.map(|twin| &twin.shape), &def.shape) else {
            continue;
        };
        let is_added = |name: &&str| old.members.iter().all(|member| member.wire != *name || !member.required);
        let added: Vec<&str> = required(new).filter(is_added).collect();
        let is_removed =
            |name: &&str| new.members.iter().all(|member| member.wire != *name) && !rules.keeps(&def.name, name);
        let removed: Vec<&str> = required(old).filter(is_removed).collect();
        if added.is_empty() && removed.is_empty() {
            continue;
        }
        let (before, after) =
            (smallest_old.document(&def.name, old, DEPTH), smallest_new.document(&def.name, new, DEPTH));
        let values: Vec<String> = added.iter().filter_map(|name| after.get(name)).map(Json::to_string).collect();
        let same = examples.entry(format!("{added:?} {values:?} {removed:?}")).or_insert(Example {
            definitions: Vec::new(),
            before,
            after,
        });
        same.definitions.push(def.name.clone());
    }
    examples.into_values().collect()
}

fn required(object: &Struct) -> impl Iterator<Item = &str> {
    object.members.iter().filter(|member| member.required).map(|member| member.wire.as_str())
}

/// Builds the smallest documents of a protocol.
struct Smallest<'a> {
    protocol: &'a Protocol,
    /// The conversion rules, which give new members their values.
    rules: Option<&'a Rules>,
}

impl Smallest<'_> {
    /// Returns the smallest document of the object with this name.
    fn document(&self, name: &str, object: &Struct, depth: usize) -> Json {
        let members = object.members.iter().filter(|member| member.required).map(|member| {
            let set = self.rules.and_then(|rules| rules.new_value(name, &member.wire, &self.protocol.revision));
            let value = match set {
                // `{}` may lack members that its type requires.
                Some(value) if value != Json::Object(IndexMap::new()) => value,
                _ => self.content(&member.content, depth),
            };
            (member.wire.clone(), value)
        });
        Json::Object(members.collect())
    }

    fn content(&self, content: &Content, depth: usize) -> Json {
        match content {
            Content::Constant(constant) => constant.clone(),
            Content::Value(content) => self.value(content, depth),
        }
    }

    fn value(&self, content: &Type, depth: usize) -> Json {
        match content {
            Type::Any | Type::Object | Type::Map(_) => Json::Object(IndexMap::new()),
            Type::Never | Type::Null | Type::Nullable(_) => Json::Null,
            Type::Boolean => Json::Bool(false),
            Type::String => text(),
            Type::Signed | Type::Unsigned | Type::Number => Json::Number(0.into()),
            Type::List(_) => Json::Array(Vec::new()),
            Type::Named(id) => match self.protocol.types.get(*id) {
                Some(def) if depth > 0 => self.named(&def.name, &def.shape, depth - 1),
                _ => Json::Object(IndexMap::new()),
            },
        }
    }

    fn named(&self, name: &str, shape: &Shape, depth: usize) -> Json {
        let first = |variant: Option<&Type>| variant.map_or(Json::Null, |content| self.value(content, depth));
        match shape {
            Shape::Struct(object) => self.document(name, object, depth),
            Shape::Union(union) => first(union.variants.first().map(|variant| &variant.content)),
            Shape::Undecided(union) => first(union.alternatives.first().map(|variant| &variant.content)),
            Shape::Tuple(tuple) => Json::Array(tuple.first.iter().map(|it| self.value(&it.content, depth)).collect()),
            Shape::Enum(values) | Shape::OpenEnum(values) => {
                values.first().map_or_else(text, |value| value.json.clone())
            }
            Shape::Bounded(bounded) => match &bounded.limit {
                Some(Limit::Bounds(Bounds { min: Some(min), .. })) => Json::Number(min.value.clone()),
                _ => self.value(&bounded.inner, depth),
            },
            Shape::Alias(content, _) | Shape::Newtype(content) => self.value(content, depth),
            Shape::Core(_) | Shape::Never => text(),
        }
    }
}

fn text() -> Json {
    Json::String("…".to_owned())
}
