//! Compares the annotations of two schemas: what models read, and what programs may check although no schema requires it.

use indexmap::IndexMap;
use mcpgen_schema::json::Json;
use mcpgen_schema::json::pointer::escape;

use crate::excerpt::excerpts;

/// A difference between the annotations of two schemas.
#[derive(Clone, Debug)]
pub(super) struct Annotation {
    pub(super) kind: AnnotationKind,
    pub(super) keyword: String,
    /// The path of the value in names, below that of the root.
    pub(super) path: String,
    /// JSON pointer of the schema, below the root.
    pub(super) pointer: String,
    pub(super) old: Option<Json>,
    pub(super) new: Option<Json>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnnotationKind {
    /// Models read it.
    Text,
    /// Programs may check it.
    Format,
    /// It applies if a member is absent.
    Default,
}

/// Keywords with text or examples, which models read.
const TEXTS: [&str; 6] = ["title", "description", "$comment", "example", "examples", "enumDescriptions"];
/// Keywords that programs may check.
const FORMATS: [&str; 6] = ["format", "contentEncoding", "contentMediaType", "contentSchema", "readOnly", "writeOnly"];

/// Keywords with a schema or an array of schemas.
const SCHEMAS: [&str; 15] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "propertyNames",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
    "prefixItems",
    "anyOf",
    "oneOf",
    "allOf",
];
/// Keywords with an object of schemas.
const NAMED_SCHEMAS: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Describes the change of a text that models read. Reviewers look for instructions in it.
pub(super) fn text_change(old: Option<&Json>, new: Option<&Json>) -> String {
    match (old, new) {
        (Some(Json::String(old)), Some(Json::String(new))) => {
            let (old, new) = excerpts(old, new);
            format!("changed from \"{old}\" to \"{new}\"")
        }
        (None, Some(Json::String(new))) => format!("is new: \"{}\"", excerpts("", new).1),
        (None, _) => "is new".to_owned(),
        (_, None) => "was removed".to_owned(),
        _ => "changed".to_owned(),
    }
}

/// Finds the places that both schemas have, and compares their annotations.
pub(super) fn compare(old: &Json, new: &Json) -> Vec<Annotation> {
    let mut found = Vec::new();
    schemas((old, new), "", "", &mut found);
    found
}

fn schemas((old, new): (&Json, &Json), path: &str, pointer: &str, found: &mut Vec<Annotation>) {
    let (Json::Object(was), Json::Object(is)) = (old, new) else { return };
    for (keyword, kind) in keywords(was, is) {
        let (before, after) = (was.get(&keyword), is.get(&keyword));
        if before != after {
            let (old, new) = (before.cloned(), after.cloned());
            let (path, pointer) = (path.to_owned(), pointer.to_owned());
            found.push(Annotation { kind, keyword, path, pointer, old, new });
        }
    }
    for (keyword, before) in was {
        let Some(after) = is.get(keyword) else { continue };
        let down = format!("{pointer}/{}", escape(keyword));
        if NAMED_SCHEMAS.contains(&keyword.as_str()) {
            let (Json::Object(before), Json::Object(after)) = (before, after) else { continue };
            for (name, before) in before {
                if let Some(after) = after.get(name) {
                    let path = match keyword.as_str() {
                        "$defs" | "definitions" => format!("#{name}"),
                        _ => format!("{path}.{name}"),
                    };
                    schemas((before, after), &path, &format!("{down}/{}", escape(name)), found);
                }
            }
        } else if SCHEMAS.contains(&keyword.as_str()) {
            let path = match keyword.as_str() {
                "items" | "prefixItems" | "contains" => format!("{path}[]"),
                "additionalProperties" => format!("{path}.*"),
                _ => path.to_owned(),
            };
            match (before, after) {
                (Json::Array(before), Json::Array(after)) => {
                    for (at, pair) in before.iter().zip(after).enumerate() {
                        schemas(pair, &path, &format!("{down}/{at}"), found);
                    }
                }
                (before, after) => schemas((before, after), &path, &down, found),
            }
        }
    }
}

/// Returns the annotations that either schema has.
fn keywords(old: &IndexMap<String, Json>, new: &IndexMap<String, Json>) -> Vec<(String, AnnotationKind)> {
    let mut names: Vec<&String> = new.keys().collect();
    names.extend(old.keys().filter(|name| !new.contains_key(*name)));
    names.into_iter().filter_map(|name| Some((name.clone(), kind(name)?))).collect()
}

fn kind(keyword: &str) -> Option<AnnotationKind> {
    match keyword {
        "default" => Some(AnnotationKind::Default),
        it if TEXTS.contains(&it) || it.starts_with("x-") => Some(AnnotationKind::Text),
        it if FORMATS.contains(&it) => Some(AnnotationKind::Format),
        _ => None,
    }
}

/// Returns a schema without annotations, except defaults.
pub(super) fn assertions(schema: &Json) -> Json {
    let Json::Object(members) = schema else { return schema.clone() };
    let mut kept = IndexMap::new();
    for (keyword, value) in members {
        if matches!(kind(keyword), Some(AnnotationKind::Text | AnnotationKind::Format)) {
            continue;
        }
        let value = if NAMED_SCHEMAS.contains(&keyword.as_str()) {
            match value {
                Json::Object(named) => {
                    Json::Object(named.iter().map(|(name, it)| (name.clone(), assertions(it))).collect())
                }
                other => other.clone(),
            }
        } else if SCHEMAS.contains(&keyword.as_str()) {
            match value {
                Json::Array(items) => Json::Array(items.iter().map(assertions).collect()),
                other => assertions(other),
            }
        } else {
            value.clone()
        };
        kept.insert(keyword.clone(), value);
    }
    Json::Object(kept)
}

/// Returns all texts that models read in a schema, sorted.
pub(super) fn texts(schema: &Json) -> Vec<String> {
    let mut found = Vec::new();
    collect(schema, &mut found);
    found.sort_unstable();
    found
}

fn collect(schema: &Json, found: &mut Vec<String>) {
    let Json::Object(members) = schema else { return };
    for (keyword, value) in members {
        if kind(keyword).is_some_and(|kind| kind != AnnotationKind::Default) {
            found.push(format!("{keyword} {}", value.key()));
        } else if NAMED_SCHEMAS.contains(&keyword.as_str()) {
            value.as_object().into_iter().flatten().for_each(|(_, schema)| collect(schema, found));
        } else if SCHEMAS.contains(&keyword.as_str()) {
            match value {
                Json::Array(items) => items.iter().for_each(|item| collect(item, found)),
                other => collect(other, found),
            }
        }
    }
}
