//! Stage 2: applies fixups, and brings both dialects into one normal form without `allOf`.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use crate::error::{Error, Problem};
use crate::graph;
use crate::json::Json;
use crate::schema::algebra::{Algebra, Unresolved, replace_never};
use crate::schema::document::Document;
use crate::schema::fixups::{self, Applied};
use crate::schema::lower::Lower;
use crate::schema::normal::{Kind, Schema};

/// A document in normal form.
#[derive(Clone, Debug)]
pub struct Normalised {
    /// The name of the document in messages.
    pub file: String,
    /// SHA-256 of the file, in hex.
    pub sha256: String,
    /// The definitions by name, in the order of the file.
    pub definitions: IndexMap<String, Schema>,
    /// The results of the fixups.
    pub fixups: Vec<Applied>,
    /// The definitions as JSON without prose, after fixups. References are written for `$defs`. The `JsonSchema` impls
    /// return them.
    pub facts: IndexMap<String, Json>,
}

/// Brings a document into normal form.
///
/// # Errors [`Error::Schema`] with all problems of the schema.
pub fn normalise(mut document: Document, revision: &str, released: bool) -> Result<Normalised, Error> {
    let fixups = fixups::apply(&mut document, revision, released)?;
    let json = document.definitions();
    let mut lower = Lower {
        file: &document.file,
        dialect: document.dialect,
        definitions: json,
        problems: Vec::new(),
        one_ofs: Vec::new(),
    };
    let lowered: IndexMap<String, Schema> =
        json.iter().map(|(name, json)| (name.clone(), lower.definition(name, json))).collect();
    let (mut problems, one_ofs) = (lower.problems, lower.one_ofs);
    let problem = |definition: &str, pointer: &str, keyword: &str, why: &str, remedy: &str| Problem {
        file: document.file.clone(),
        definition: definition.to_owned(),
        pointer: pointer.to_owned(),
        keyword: keyword.to_owned(),
        why: why.to_owned(),
        remedy: remedy.to_owned(),
    };

    for name in circular(&lowered) {
        let why = "the definition refers to itself without an array or an object between, so it has no meaning";
        problems.push(problem(&name, &document.pointer(&name), "$ref", why, "break the cycle"));
    }
    if !problems.is_empty() {
        return Err(Error::Schema(problems));
    }

    let algebra = Algebra::new(&lowered);
    let mut definitions = IndexMap::new();
    for (name, schema) in &lowered {
        match algebra.resolve(schema) {
            Ok(schema) => drop(definitions.insert(name.clone(), schema)),
            Err(Unresolved::Recursive) => {
                let why = "the intersection of recursive or deeply nested definitions cannot be computed";
                problems.push(problem(name, &schema.note.pointer, "allOf", why, "write the members without `allOf`"));
            }
            Err(Unresolved::TooLarge) => {
                let why = "the intersection is too large";
                problems.push(problem(name, &schema.note.pointer, "allOf", why, "write the members without `allOf`"));
            }
        }
    }
    for one_of in one_ofs {
        let pairs = one_of
            .subschemas
            .iter()
            .enumerate()
            .flat_map(|(i, a)| one_of.subschemas[i + 1..].iter().map(move |b| (a, b)));
        for (a, b) in pairs.filter(|(a, b)| !algebra.disjoint(a, b)).take(1) {
            let why = match algebra.example_of_both(a, b) {
                Some(example) => {
                    format!("two subschemas may not exclude each other; both may accept {example}")
                }
                None => "two subschemas may not exclude each other".to_owned(),
            };
            let remedy = "write `anyOf`, which mcpgen decides by tag, key or JSON type";
            problems.push(problem(&one_of.definition, &one_of.pointer, "oneOf", &why, remedy));
        }
    }
    if !problems.is_empty() {
        return Err(Error::Schema(problems));
    }
    propagate_never(&mut definitions);
    let facts = json.iter().map(|(name, json)| (name.clone(), facts(json, document.dialect.container()))).collect();
    Ok(Normalised { file: document.file.clone(), sha256: document.sha256.clone(), definitions, fixups, facts })
}

/// The rounds in which [`propagate_never`] goes over all definitions. It changes direction each time, so that a chain of
/// definitions takes two.
const MAX_ROUNDS: usize = 64;

/// Marks definitions as [`Kind::Never`] if they require a value of one that is.
fn propagate_never(definitions: &mut IndexMap<String, Schema>) {
    let mut never: BTreeSet<String> =
        definitions.iter().filter(|(_, schema)| schema.kind == Kind::Never).map(|(name, _)| name.clone()).collect();
    if never.is_empty() {
        return;
    }
    let mut order: Vec<usize> = (0..definitions.len()).collect();
    for _ in 0..MAX_ROUNDS {
        let before = never.len();
        for &index in &order {
            let (name, schema) = (definitions.keys()[index].clone(), &mut definitions[index]);
            *schema = replace_never(schema, &never);
            if schema.kind == Kind::Never {
                never.insert(name);
            }
        }
        if never.len() == before {
            return;
        }
        order.reverse();
    }
}

/// Returns the definitions that contain themselves without an array or an object between.
fn circular(definitions: &IndexMap<String, Schema>) -> Vec<String> {
    fn direct<'s>(schema: &'s Schema, found: &mut Vec<&'s str>) {
        match &schema.kind {
            Kind::Ref(name) => found.push(name),
            Kind::Union(schemas) | Kind::All(schemas) => schemas.iter().for_each(|schema| direct(schema, found)),
            _ => {}
        }
    }
    let edges: Vec<Vec<usize>> = definitions
        .values()
        .map(|schema| {
            let mut names = Vec::new();
            direct(schema, &mut names);
            names.into_iter().filter_map(|name| definitions.get_index_of(name)).collect()
        })
        .collect();
    let on_a_circle = graph::cycles(&edges);
    definitions.keys().zip(on_a_circle).filter(|(_, cycle)| cycle.is_some()).map(|(name, _)| name.clone()).collect()
}

/// Returns a schema without its prose. References are written for `$defs`.
pub(crate) fn facts(schema: &Json, container: &str) -> Json {
    const PROSE: &[&str] = &["description", "$comment", "examples", "title"];
    const MAPS: &[&str] = &["properties", "definitions", "$defs"];
    const DATA: &[&str] = &["const", "enum", "default", "required", "type"];
    let Json::Object(members) = schema else { return schema.clone() };
    let mut kept = IndexMap::new();
    for (key, value) in members.iter().filter(|(key, _)| !PROSE.contains(&key.as_str())) {
        let value = match value {
            Json::Object(map) if MAPS.contains(&key.as_str()) => {
                Json::Object(map.iter().map(|(name, schema)| (name.clone(), facts(schema, container))).collect())
            }
            value if DATA.contains(&key.as_str()) => value.clone(),
            Json::Array(items) => Json::Array(items.iter().map(|item| facts(item, container)).collect()),
            Json::String(target) if key == "$ref" && container != "$defs" => {
                Json::String(target.replacen(&format!("#/{container}/"), "#/$defs/", 1))
            }
            other => facts(other, container),
        };
        kept.insert(key.clone(), value);
    }
    Json::Object(kept)
}

/// Returns the text of a schema without its prose, in the order of the file.
pub fn facts_only(document: &Document) -> String {
    // With this container, references do not change.
    facts(&document.root, "$defs").to_pretty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_prose() {
        let schema = r##"{
            "$schema": "http://json-schema.org/draft-07/schema#", "title": "T", "description": "D", "$comment": "C",
            "definitions": {
                "description": {"description": "prose", "type": "string", "format": "uri", "examples": ["e"]},
                "title": {
                    "properties": {
                        "title": {"$ref": "#/definitions/description", "title": "prose"},
                        "description": {"const": {"description": "data"}},
                        "examples": {"enum": [{"title": "data"}], "default": {"$comment": "data"}},
                        "$comment": {"anyOf": [{"title": "prose", "type": "null"}, true]}
                    },
                    "additionalProperties": {"description": "prose"}
                }
            }
        }"##;
        let document = Document::parse("t", schema.as_bytes()).expect("a schema");
        let kept = facts_only(&document);
        let expected = r##"{
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {
                "description": {"type": "string", "format": "uri"},
                "title": {
                    "properties": {
                        "title": {"$ref": "#/definitions/description"},
                        "description": {"const": {"description": "data"}},
                        "examples": {"enum": [{"title": "data"}], "default": {"$comment": "data"}},
                        "$comment": {"anyOf": [{"type": "null"}, true]}
                    },
                    "additionalProperties": {}
                }
            }
        }"##;
        let expected = Document::parse("t", expected.as_bytes()).expect("a schema");
        assert_eq!(kept, expected.root.to_pretty());
    }
}
