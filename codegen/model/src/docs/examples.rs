//! JSON examples of types. They are written by hand, or composed from sample values for their members.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use mcpgen_schema::Error;
use mcpgen_schema::json::Json;

use crate::docs::book::{DocBook, FOLDER};
use crate::validate::Validator;
use crate::{Bounded, Content, CoreType, Limit, Member, Protocol, Shape, Struct, Type, TypeId};

/// The maximum length of a line in characters. More would not fit on a typical rustdoc page.
const WIDTH: usize = 92;

const LINES: usize = 5;

/// The number of optional members that an example shows.
const OPTIONAL: usize = 3;

/// The maximum length of an optional member if the required ones already take several lines.
const SHORT: usize = 40;

/// Stands for a string without a sample.
const TEXT: &str = "…";

/// Stands for the revision's name in samples and examples.
const REVISION: &str = "{revision}";

impl DocBook {
    /// Adds a JSON example to every object type with members.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if a hand-written example is valid in none of the revisions that have its type.
    pub fn with_json<P: AsMut<[Protocol]>>(&self, mut protocols: P) -> Result<P, Error> {
        let (mut valid, mut invalid) = (BTreeSet::new(), BTreeMap::new());
        for protocol in protocols.as_mut() {
            let own = self.of(protocol);
            let samples = [own, Some(self)].into_iter().flatten().map(|book| &book.samples).collect();
            let examples = Examples { protocol, samples, validator: Validator::new(protocol) };
            let mut found = Vec::new();
            for (id, def) in protocol.types.iter().enumerate().filter(|(id, _)| !protocol.is_shared(*id)) {
                let written = own.and_then(|book| book.types.get(&def.name)?.json.as_ref());
                let written = written.and_then(|text| match examples.written(id, text) {
                    Ok(text) => {
                        valid.insert(def.name.clone());
                        Some(text)
                    }
                    Err(why) => {
                        invalid.insert(def.name.clone(), why);
                        None
                    }
                });
                let composed = || match &def.shape {
                    Shape::Struct(body) => examples.composed(id, body),
                    _ => None,
                };
                found.extend(written.or_else(composed).map(|text| (def.name.clone(), text)));
            }
            protocol.docs.json.extend(found);
        }
        match invalid.into_iter().find(|(name, _)| !valid.contains(name)) {
            Some((name, why)) => Err(Error::Usage(format!("{FOLDER}: the JSON example of {name} is not valid: {why}"))),
            None => Ok(protocols),
        }
    }

    /// Returns the entries for an extension, or those that all revisions share.
    pub(super) fn of(&self, protocol: &Protocol) -> Option<&DocBook> {
        match &protocol.extends {
            Some(_) => self.extensions.get(&protocol.revision),
            None => Some(self),
        }
    }
}

struct Examples<'p> {
    protocol: &'p Protocol,
    samples: Vec<&'p BTreeMap<String, Json>>,
    validator: Validator<'p>,
}

#[derive(Clone, Copy)]
struct Place<'p> {
    owner: &'p str,
    member: &'p str,
}

impl<'p> Examples<'p> {
    /// Returns a hand-written example, or why it is not valid.
    fn written(&self, id: TypeId, text: &str) -> Result<String, String> {
        let text = text.trim().replace(REVISION, self.revision());
        let json = Json::parse(&text).map_err(|error| error.to_string())?;
        self.validator.content(&Type::Named(id), &json).map_err(|error| error.to_string())?;
        Ok(text)
    }

    /// Composes an example from the required members, and optional ones as long as they fit on a line. If the required
    /// ones take several lines, a short optional one may still be added.
    fn composed(&self, id: TypeId, body: &'p Struct) -> Option<String> {
        let required: Vec<&Member> = body.members.iter().filter(|member| member.required).collect();
        let mut best = self.extended(id, body, required.clone(), false)?;
        if is_empty(&best) {
            best = self.extended(id, body, required, true)?;
        }
        let is_valid = self.validator.content(&Type::Named(id), &best).is_ok();
        lines(&best).filter(|_| is_valid && !is_empty(&best))
    }

    /// Adds optional members. Empty objects say little, so they need `allow_empty`.
    fn extended(&self, id: TypeId, body: &'p Struct, mut members: Vec<&'p Member>, allow_empty: bool) -> Option<Json> {
        let mut best = self.object(id, &members, &mut vec![id])?;
        let required = line(&best).chars().count();
        let (space, mut count) = if required <= WIDTH { (WIDTH, OPTIONAL) } else { (required + SHORT, 1) };
        for member in body.members.iter().filter(|member| is_shown(member)) {
            members.push(member);
            // Members keep the order of their declaration.
            members.sort_by_key(|member| body.members.iter().position(|other| other.wire == member.wire));
            let object = self.object(id, &members, &mut vec![id]).filter(|object| {
                let value = object.as_object().and_then(|all| all.get(&member.wire));
                let says_little = |value: &Json| line(value).contains(TEXT) || is_empty(value) && !allow_empty;
                line(object).chars().count() <= space && !value.is_some_and(says_little)
            });
            match object {
                Some(object) if count > 0 => (best, count) = (object, count - 1),
                _ => members.retain(|known| known.wire != member.wire),
            }
        }
        Some(best)
    }

    fn object(&self, id: TypeId, members: &[&'p Member], within: &mut Vec<TypeId>) -> Option<Json> {
        let owner = self.protocol.types[id].name.as_str();
        let mut object = IndexMap::new();
        for member in members {
            let value = match &member.content {
                Content::Constant(value) => value.clone(),
                Content::Value(_) if member.required && has_scalar_default(member) => member.default.clone()?,
                Content::Value(content) => self.value(content, Place { owner, member: &member.wire }, within)?,
            };
            object.insert(member.wire.clone(), value);
        }
        Some(Json::Object(object))
    }

    /// Returns an example value. `within` lists the types around it, to stop recursion.
    fn value(&self, content: &'p Type, place: Place<'p>, within: &mut Vec<TypeId>) -> Option<Json> {
        if let Some(sample) = self.sample(place).filter(|sample| self.validator.content(content, sample).is_ok()) {
            return Some(sample);
        }
        Some(match content {
            Type::Any | Type::Object | Type::Map(_) => Json::Object(IndexMap::new()),
            Type::Null => Json::Null,
            Type::Boolean => Json::Bool(true),
            Type::Signed | Type::Unsigned | Type::Number => Json::Number(1.into()),
            Type::String => Json::String(TEXT.to_owned()),
            Type::List(inner) => Json::Array(vec![self.value(inner, place, within)?]),
            Type::Nullable(inner) => self.value(inner, place, within)?,
            Type::Never => return None,
            Type::Named(id) if within.contains(id) => return None,
            Type::Named(id) => {
                within.push(*id);
                let value = self.named(*id, place, within);
                within.pop();
                value?
            }
        })
    }

    fn named(&self, id: TypeId, place: Place<'p>, within: &mut Vec<TypeId>) -> Option<Json> {
        let is_valid = |json: &Json| self.validator.content(&Type::Named(id), json).is_ok();
        match &self.protocol.types[id].shape {
            Shape::Struct(body) if body.members.iter().any(|member| member.required) => {
                let required: Vec<&Member> = body.members.iter().filter(|member| member.required).collect();
                self.object(id, &required, within)
            }
            Shape::Struct(body) => {
                // One optional member says more than an empty object.
                let optional = body.members.iter().filter(|member| is_shown(member));
                let objects = optional.filter_map(|member| self.object(id, &[member], within));
                let objects: Vec<Json> = objects.filter(|object| !line(object).contains(TEXT)).collect();
                let is_full = |object: &&Json| object.as_object().is_some_and(|all| !all.values().all(is_empty));
                let best = objects.iter().find(is_full).or(objects.first()).cloned();
                best.or_else(|| self.object(id, &[], within))
            }
            Shape::Union(union) => union.variants.iter().find_map(|it| self.value(&it.content, place, within)),
            Shape::Undecided(undecided) => {
                undecided.alternatives.iter().filter_map(|it| self.value(&it.content, place, within)).find(is_valid)
            }
            Shape::Tuple(tuple) => {
                let items = tuple.first.iter().map(|item| self.value(&item.content, place, within));
                items.collect::<Option<Vec<_>>>().map(Json::Array)
            }
            Shape::Enum(values) | Shape::OpenEnum(values) => Some(values.first()?.json.clone()),
            Shape::Bounded(bounded) => self.bounded(bounded, place, within).into_iter().find(is_valid),
            Shape::Alias(content, _) | Shape::Newtype(content) => self.value(content, place, within),
            Shape::Core(CoreType::ResultType) => Some(Json::String("complete".to_owned())),
            Shape::Core(CoreType::RequestId | CoreType::ProgressToken) => Some(Json::Number(1.into())),
            Shape::Never => None,
        }
    }

    /// Returns candidates, of which one may be within the limits.
    fn bounded(&self, bounded: &'p Bounded, place: Place<'p>, within: &mut Vec<TypeId>) -> Vec<Json> {
        let limits = match &bounded.limit {
            Some(Limit::Bounds(bounds)) => [bounds.min.as_ref(), bounds.max.as_ref()],
            _ => [None, None],
        };
        let limits = limits.into_iter().flatten().map(|bound| Json::Number(bound.value.clone()));
        self.value(&bounded.inner, place, within).into_iter().chain(limits).collect()
    }

    fn sample(&self, Place { owner, member }: Place<'_>) -> Option<Json> {
        let of_owner = format!("{owner}.{member}");
        let sample = |key: &str| self.samples.iter().find_map(|samples| samples.get(key));
        Json::parse(&sample(&of_owner).or_else(|| sample(member))?.to_string().replace(REVISION, self.revision())).ok()
    }

    fn revision(&self) -> &'p str {
        self.protocol.extends.as_ref().map_or(&self.protocol.revision, |extends| &extends.revision)
    }
}

fn is_shown(member: &Member) -> bool {
    member.value().is_some() && !member.required && !member.deprecated && !member.wire.starts_with(['_', '$'])
}

fn has_scalar_default(member: &Member) -> bool {
    member.default.as_ref().is_some_and(|default| !matches!(default, Json::Array(_) | Json::Object(_)))
}

fn is_empty(json: &Json) -> bool {
    json.as_object().is_some_and(IndexMap::is_empty)
}

fn line(json: &Json) -> String {
    let list = |[open, close]: [&str; 2], items: Vec<String>| format!("{open}{}{close}", items.join(", "));
    match json {
        Json::Array(items) => list(["[", "]"], items.iter().map(line).collect()),
        Json::Object(members) => {
            let members =
                members.iter().map(|(name, value)| format!("{}: {}", Json::String(name.clone()), line(value)));
            list(["{", "}"], members.collect())
        }
        scalar => scalar.to_string(),
    }
}

/// Breaks JSON into lines. Returns `None` if there are too many.
fn lines(json: &Json) -> Option<String> {
    let whole = line(json);
    let (mut lines, mut current) = (Vec::new(), String::new());
    for part in values(&whole) {
        if !current.is_empty() && current.chars().count() + part.trim_end().chars().count() > WIDTH {
            lines.push(current.trim_end().to_owned());
            current = "  ".to_owned();
        }
        current.push_str(part);
    }
    lines.push(current);
    (lines.len() <= LINES).then(|| lines.join("\n"))
}

/// Splits JSON after each comma outside a string.
fn values(json: &str) -> impl Iterator<Item = &str> {
    let (mut in_string, mut escaped, mut previous) = (false, false, ' ');
    json.split_inclusive(move |c: char| {
        let ends = c == ' ' && previous == ',' && !in_string;
        in_string ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        previous = c;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpgen_schema::Document;

    const SCHEMA: &[u8] = br##"{"$defs": {
        "Tool": {
            "type": "object",
            "properties": {
                "name": {"type": "string"}, "size": {"type": "integer", "minimum": 3}, "options": {"type": "object"},
                "note": {"type": "string"}, "kind": {"$ref": "#/$defs/Kind"}, "next": {"$ref": "#/$defs/Tool"}
            },
            "required": ["name", "size"]
        },
        "Kind": {"enum": ["a", "b"]},
        "Code": {"type": "object", "properties": {"code": {"type": "string", "pattern": "^x"}}, "required": ["code"]},
        "Open": {"type": "object", "properties": {"options": {"type": "object", "properties": {}}}}
    }}"##;

    fn example(name: &str, book: &str) -> Result<Option<String>, String> {
        let document = Document::parse("test.json", SCHEMA).expect("a schema");
        let protocol = crate::model(document, "draft", false).expect("a model");
        let book: DocBook = toml::from_str(book).expect("a book");
        let [protocol] = book.with_json([protocol]).map_err(|error| error.to_string())?;
        Ok(protocol.docs.json(name).map(str::to_owned))
    }

    #[test]
    fn composes_valid_examples() {
        for (name, book, expected) in [
            ("Tool", "", Some(r#"{"name": "…", "size": 3, "kind": "a"}"#)),
            (
                "Tool",
                "samples.name = 'x'\nsamples.note = 'y'",
                Some(r#"{"name": "x", "size": 3, "note": "y", "kind": "a"}"#),
            ),
            (
                "Tool",
                "samples.size = 1\nsamples.\"Tool.name\" = '{revision}'",
                Some(r#"{"name": "draft", "size": 3, "kind": "a"}"#),
            ),
            (
                "Tool",
                "samples.name = 'x'\nsamples.options.a = 1",
                Some(r#"{"name": "x", "size": 3, "options": {"a": 1}, "kind": "a"}"#),
            ),
            ("Open", "", Some(r#"{"options": {}}"#)),
            ("Kind", "", None),
            // A pattern without a sample value.
            ("Code", "", None),
            ("Code", "samples.code = 'xy'", Some(r#"{"code": "xy"}"#)),
            ("Code", "types.Code = { doc = '', json = '{\"code\": \"x1\"}' }", Some(r#"{"code": "x1"}"#)),
        ] {
            assert_eq!(example(name, book).as_ref().map(Option::as_deref), Ok(expected), "{name}: {book}");
        }
    }

    #[test]
    fn rejects_invalid_examples() {
        for (json, why) in [
            ("{\"code\": 1}", "the JSON example of Code is not valid: code: expected string, found number"),
            ("{\"code\": ", "the JSON example of Code is not valid: "),
        ] {
            let error = example("Code", &format!("types.Code = {{ doc = '', json = '{json}' }}")).expect_err("invalid");
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn breaks_lines_between_values() {
        let json = |count: usize| Json::Array(vec![Json::String("x".repeat(40)); count]);
        assert_eq!(lines(&json(2)).map(|text| text.lines().count()), Some(1));
        assert_eq!(lines(&json(3)).map(|text| text.lines().map(str::len).collect::<Vec<_>>()), Some(vec![88, 45]));
        assert_eq!(lines(&json(11)), None);
        let text = Json::Array(vec![Json::String("x, \" y".repeat(10)); 2]);
        assert_eq!(lines(&text).map(|text| text.lines().count()), Some(2));
        assert_eq!(lines(&text).and_then(|text| Json::parse(&text).ok()), Some(text));
    }
}
