//! Brings every dialect into one normal form.

use std::collections::{BTreeSet, HashMap};

use indexmap::IndexMap;

use crate::algebra::{Algebra, Unresolved, replace_never};
use crate::check::{Check, Definitions};
use crate::containment::Scoped;
use crate::document::Document;
use crate::error::{Error, Problem};
use crate::graph;
use crate::json::Json;
use crate::json::pointer::escape;
use crate::lower::{Lower, Lowered, OneOf};
use crate::normal::{Kind, Schema};
use crate::references::References;

/// A normalised document.
#[derive(Clone, Debug)]
pub struct Normalised {
    /// The name used in messages.
    pub file: String,
    /// SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
    /// The normalised definitions by name, in file order.
    pub definitions: IndexMap<String, Schema>,
    /// The same definitions as checks.
    pub checks: Definitions,
    /// The same definitions as JSON without prose, with all references pointing to `$defs`. The generated `JsonSchema`
    /// impls return them.
    pub facts: IndexMap<String, Json>,
}

/// Normalises a document.
///
/// # Errors
/// Returns [`Error::Schema`] with all problems found.
pub fn normalise(document: Document) -> Result<Normalised, Error> {
    let references = References::of(&document);
    let located = &references.definitions;
    let All { mut lowered, checks, one_ofs } = lower(&document, &references)?;
    let problem = |definition: &str, pointer: &str, keyword: &str, why: &str, remedy: &str| Problem {
        definition: definition.to_owned(),
        keyword: keyword.to_owned(),
        ..Problem::new(&document.file, pointer, why, remedy)
    };
    let mut problems = Vec::new();
    settle_one_ofs(&mut lowered, &checks, one_ofs);

    let algebra = Algebra::new(&lowered, &checks);
    let mut definitions = IndexMap::new();
    for (name, schema) in &lowered {
        let why = match algebra.resolve(schema) {
            Ok(schema) => {
                definitions.insert(name.clone(), schema);
                continue;
            }
            Err(Unresolved::Recursive) => {
                "the intersection of recursive or deeply nested definitions cannot be computed"
            }
            Err(Unresolved::TooLarge) => "the intersection is too large",
        };
        problems.push(problem(name, &schema.note.pointer, "allOf", why, "write the members without `allOf`"));
    }
    if !problems.is_empty() {
        return Err(Error::Schema(problems));
    }
    propagate_never(&mut definitions);
    let container = document.container();
    let facts = Facts { container, references: Some(&references) };
    let facts = located.iter().map(|(name, it)| (name.clone(), facts.schema(it.json, &it.pointer))).collect();
    let (file, sha256) = (document.file.clone(), document.sha256.clone());
    Ok(Normalised { file, sha256, definitions, checks, facts })
}

/// The checks of a document.
#[derive(Clone, Debug)]
pub struct Checks {
    /// The check of the document itself.
    pub root: Check,
    /// The definitions that `root` refers to.
    pub definitions: Definitions,
}

impl<'a> From<&'a Checks> for Scoped<'a> {
    fn from(checks: &'a Checks) -> Self {
        Scoped { check: &checks.root, definitions: &checks.definitions }
    }
}

/// Reads only the checks of a document. Unlike [`normalise()`], this works for every `allOf`.
///
/// # Errors
/// Returns [`Error::Schema`] with all problems found.
pub fn checks(document: &Document) -> Result<Checks, Error> {
    let references = References::of(document);
    let root = references.definitions.iter().find(|(_, definition)| definition.pointer.is_empty());
    let root = root.map_or(Check::Anything, |(name, _)| Check::Definition(name.clone()));
    Ok(Checks { root, definitions: lower(document, &references)?.checks })
}

struct All {
    lowered: IndexMap<String, Schema>,
    checks: Definitions,
    one_ofs: Vec<OneOf>,
}

fn lower(document: &Document, references: &References<'_>) -> Result<All, Error> {
    let located = &references.definitions;
    let mut lower = Lower::new(document, references);
    let (mut lowered, mut checks) = (IndexMap::new(), Definitions::new());
    for (name, definition) in located {
        let Lowered { schema, check } = lower.definition(name, definition);
        lowered.insert(name.clone(), schema);
        checks.insert(name.clone(), check);
    }
    let Lower { mut problems, one_ofs, .. } = lower;
    // A nested definition is also lowered as a part of the definition around it, so its problems are found twice.
    let mut seen = BTreeSet::new();
    problems.retain(|it| seen.insert((it.pointer.clone(), it.keyword.clone(), it.why.clone())));
    for (name, why, remedy) in misplaced_references(&checks) {
        let problem = Problem::new(&document.file, &located[&name].pointer, why, remedy);
        problems.push(Problem { definition: name, keyword: "$ref".to_owned(), ..problem });
    }
    if problems.is_empty() { Ok(All { lowered, checks, one_ofs }) } else { Err(Error::Schema(problems)) }
}

/// Replaces the placeholder of each `oneOf` with its check, or drops it if the subschemas are disjoint.
fn settle_one_ofs(lowered: &mut IndexMap<String, Schema>, checks: &Definitions, one_ofs: Vec<OneOf>) {
    if one_ofs.is_empty() {
        return;
    }
    let algebra = Algebra::new(lowered, checks);
    let settled: HashMap<String, Option<Check>> = one_ofs
        .into_iter()
        .map(|OneOf { marker, subschemas, check }| {
            let is_disjoint = algebra.are_disjoint(&subschemas);
            (marker, (!is_disjoint).then_some(check))
        })
        .collect();
    for schema in lowered.values_mut() {
        *schema = schema.map_checks(&|check| match check {
            Check::Definition(marker) if settled.contains_key(marker) => settled[marker].clone(),
            _ => Some(check.clone()),
        });
    }
}

/// Each round reverses the order of the definitions, so a chain in file order, or in reverse, takes only two rounds.
const MAX_ROUNDS: usize = 64;

/// Turns definitions into [`Kind::Never`] if they require a value that cannot exist.
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

/// Later stages recurse through references that stay on the same value, so chains of them are limited.
const MAX_REFERENCES: usize = 64;

/// Returns the definitions whose references, without an array or object in between, lead back to themselves or form too
/// long a chain. Each comes with a reason and a remedy.
fn misplaced_references(checks: &Definitions) -> Vec<(String, String, &'static str)> {
    let edges: Vec<Vec<usize>> = checks
        .values()
        .map(|check| {
            let mut names = Vec::new();
            check.direct(&mut names);
            names.into_iter().filter_map(|name| checks.get_index_of(name)).collect()
        })
        .collect();
    let with = |is_refused: Vec<bool>, why: &str, remedy| -> Vec<_> {
        let refused = checks.keys().zip(is_refused).filter(|(_, is_refused)| *is_refused);
        refused.map(|(name, _)| (name.clone(), why.to_owned(), remedy)).collect()
    };
    let why = "the definition refers to itself without an array or an object in between, so it has no meaning";
    let circular = with(graph::cycles(&edges).iter().map(Option::is_some).collect(), why, "break the cycle");
    if !circular.is_empty() {
        return circular;
    }
    let why = format!("more than {MAX_REFERENCES} definitions refer to each other");
    // Only these are reported, because every longer chain leads through one of them.
    let is_first = graph::heights(&edges).iter().map(|height| *height == MAX_REFERENCES + 1).collect();
    with(is_first, &why, "refer to the last one directly")
}

struct Facts<'a> {
    /// The keyword that holds the definitions. In references, `$defs` replaces it.
    container: &'a str,
    /// If set, every reference becomes `#/$defs/NAME`, and nested definitions are dropped.
    references: Option<&'a References<'a>>,
}

impl Facts<'_> {
    fn schema(&self, schema: &Json, pointer: &str) -> Json {
        const PROSE: &[&str] = &["description", "$comment", "example", "examples", "title"];
        const MAPS: &[&str] =
            &["properties", "definitions", "$defs", "patternProperties", "dependentSchemas", "dependencies"];
        const DATA: &[&str] = &["const", "enum", "default", "required", "type"];
        const REFERENCES: &[&str] = &["$ref", "$dynamicRef", "$recursiveRef"];
        const LOCATIONS: &[&str] =
            &["$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "definitions", "$defs"];
        let Json::Object(members) = schema else { return schema.clone() };
        let mut kept = IndexMap::new();
        for (key, value) in members.iter().filter(|(key, _)| !PROSE.contains(&key.as_str())) {
            if self.references.is_some() && LOCATIONS.contains(&key.as_str()) {
                continue;
            }
            let below = |name: &str| format!("{pointer}/{}/{}", escape(key), escape(name));
            let value = match value {
                Json::Object(map) if MAPS.contains(&key.as_str()) => Json::Object(
                    map.iter().map(|(name, json)| (name.clone(), self.schema(json, &below(name)))).collect(),
                ),
                value if DATA.contains(&key.as_str()) => value.clone(),
                Json::Array(items) => {
                    let items = items.iter().enumerate();
                    Json::Array(items.map(|(index, item)| self.schema(item, &below(&index.to_string()))).collect())
                }
                Json::String(target) if REFERENCES.contains(&key.as_str()) => {
                    Json::String(self.reference(target, pointer, key))
                }
                other => self.schema(other, &format!("{pointer}/{}", escape(key))),
            };
            // Once it is resolved, a dynamic reference becomes a plain `$ref`.
            let key = match REFERENCES[1..].contains(&key.as_str()) && self.references.is_some() {
                true if members.contains_key("$ref") => "$dynamicRef",
                true => "$ref",
                false => key,
            };
            kept.insert(key.to_owned(), value);
        }
        Json::Object(kept)
    }

    fn reference(&self, target: &str, pointer: &str, keyword: &str) -> String {
        match self.references.and_then(|references| references.target(pointer, keyword)) {
            Some(Ok(name)) => format!("#/$defs/{}", escape(name)),
            _ => target.replacen(&format!("#/{}/", self.container), "#/$defs/", 1),
        }
    }
}

/// Returns the schema as JSON text without its prose, in file order.
pub fn facts_only(document: &Document) -> String {
    // With `$defs` as the container, references stay as they are.
    Facts { container: "$defs", references: None }.schema(&document.root, "").to_pretty()
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
