//! Makes documents from a schema alone.
//!
//! [`Instances::valid`] makes documents that the schema should accept, including unusual ones. [`Instances::near_miss`]
//! breaks such a document in one place. There is no guarantee: only the [judge](crate::judge) decides whether a
//! document is valid. The seed, the definition and an index determine a document, so that it can be made again.

mod build;
mod pattern;
mod values;
mod violate;

use crate::judge::{definitions_keyword, escaped, subschemas};
use build::{Builder, Part};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

pub use violate::Violation;

/// The keywords that instances try to satisfy. [`Instances::new`] panics for other keywords, except annotations.
pub const KEYWORDS: &[&str] = &[
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "definitions",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "then",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
];

/// The keywords that a near miss can violate, in addition to `additionalProperties` if it is `false`.
pub const ASSERTIONS: &[&str] = &[
    "const",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "required",
    "type",
];

/// Keywords that do not restrict documents.
const ANNOTATIONS: &[&str] = &[
    "$comment",
    "$id",
    "_enum",
    "contentEncoding",
    "contentMediaType",
    "default",
    "deprecated",
    "description",
    "examples",
    "format",
    "readOnly",
    "title",
    "writeOnly",
];

/// Makes documents for the definitions of one schema.
#[derive(Clone)]
pub struct Instances {
    source: Arc<Source>,
    seed: u64,
}

/// A schema with data that is often looked up.
struct Source {
    schema: Value,
    /// All member names in the schema. The most useful unknown members are those whose names are known elsewhere.
    names: Vec<String>,
    /// Names that unknown members must not have.
    reserved: BTreeSet<String>,
    /// The JSON pointer of each schema, by its address in memory.
    pointers: HashMap<usize, String>,
}

impl Source {
    fn new(schema: Value, names: Vec<String>, reserved: BTreeSet<String>) -> Arc<Source> {
        let mut source = Arc::new(Source { schema, names, reserved, pointers: HashMap::new() });
        let located = |pointer: String| Some((address(source.schema.pointer(&pointer)?), pointer));
        let pointers = subschemas(&source.schema).into_iter().filter_map(located).collect();
        Arc::get_mut(&mut source).expect("no other reference exists yet").pointers = pointers;
        source
    }

    fn pointer_of(&self, schema: &Value) -> String {
        self.pointers.get(&address(schema)).cloned().unwrap_or_default()
    }
}

fn address(schema: &Value) -> usize {
    std::ptr::from_ref(schema).addr()
}

/// A document, and the schemas that it was made from.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The document.
    pub value: Value,
    /// The JSON pointers of all schemas that contributed to the document.
    pub visited: Vec<String>,
}

impl Instances {
    /// Creates the instances of a schema, whose fixups are already applied.
    ///
    /// # Panics
    ///
    /// Panics if the schema has a keyword that restricts documents and is not in [`KEYWORDS`].
    #[must_use]
    pub fn new(schema: &Value, seed: u64) -> Instances {
        if let Some((pointer, keyword)) = unsupported(schema) {
            panic!("instances do not support {keyword:?} at {pointer}");
        }
        let names = member_names(schema).into_iter().collect();
        Instances { source: Source::new(with_plain_references(schema), names, BTreeSet::new()), seed }
    }

    /// Returns instances whose unknown members, at any depth, never have these names.
    #[must_use]
    pub fn reserving(&self, names: BTreeSet<String>) -> Instances {
        Instances { source: Source::new(self.source.schema.clone(), Vec::new(), names), seed: self.seed }
    }

    /// Returns instances of the same schema with another seed.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Instances {
        Instances { source: Arc::clone(&self.source), seed }
    }

    /// Returns the names of the definitions.
    #[must_use]
    pub fn definitions(&self) -> Vec<&str> {
        let schema = &self.source.schema;
        let definitions = schema[definitions_keyword(schema)].as_object();
        definitions.map_or_else(Vec::new, |named| named.keys().map(String::as_str).collect())
    }

    /// Makes a document that the definition should accept. Index 0 is the smallest, and index 1 has every member.
    #[must_use]
    pub fn valid(&self, definition: &str, index: u64) -> Value {
        let pointer = self.pointer(definition);
        self.builder(&[&pointer], index, false).document(self.parts(&[&pointer]))
    }

    /// Makes a document that all schemas at these JSON pointers should accept.
    ///
    /// # Panics
    ///
    /// Panics if the schema has nothing at one of the pointers.
    #[must_use]
    pub fn sample(&self, pointers: &[&str], index: u64) -> Sample {
        let mut builder = self.builder(pointers, index, false);
        let value = builder.document(self.parts(pointers));
        let visited = builder.visited.iter().map(|schema| self.source.pointer_of(schema));
        Sample { value, visited: visited.collect() }
    }

    /// Makes a document that the definition should reject for a single reason. Returns `None` if the definition rejects
    /// nothing.
    #[must_use]
    pub fn near_miss(&self, definition: &str, index: u64) -> Option<(Value, Violation)> {
        let pointer = self.pointer(definition);
        let mut builder = self.builder(&[&pointer], index, true);
        let mut value = builder.document(self.parts(&[&pointer]));
        let sites = std::mem::take(&mut builder.sites);
        let violation = violate::violate(&mut value, &sites, &builder)?;
        Some((value, violation))
    }

    fn builder(&self, pointers: &[&str], index: u64, breaks: bool) -> Builder<'_> {
        let words = pointers.iter().flat_map(|p| p.bytes().map(u64::from));
        let seed = words.chain([self.seed, index, u64::from(breaks)]).fold(0xcbf2_9ce4_8422_2325, mixed);
        Builder::new(&self.source, fastrand::Rng::with_seed(seed), index, breaks)
    }

    fn parts(&self, pointers: &[&str]) -> Vec<Part<'_>> {
        let parts = pointers.iter().map(|pointer| {
            let schema = self.source.schema.pointer(pointer);
            let schema = schema.unwrap_or_else(|| panic!("the schema has nothing at {pointer}"));
            Part::new(schema)
        });
        parts.collect()
    }

    fn pointer(&self, definition: &str) -> String {
        let keyword = definitions_keyword(&self.source.schema);
        format!("/{keyword}/{}", escaped(definition))
    }
}

/// Returns the JSON pointer of a schema with a keyword that instances do not support, and the keyword. Returns `None`
/// if they support the whole schema.
#[must_use]
pub fn unsupported(schema: &Value) -> Option<(String, String)> {
    let supported = |keyword: &str| KEYWORDS.contains(&keyword) || ANNOTATIONS.contains(&keyword);
    subschemas(schema).into_iter().find_map(|pointer| {
        let mut keywords = schema.pointer(&pointer)?.as_object()?.keys();
        let keyword = keywords.find(|keyword| !supported(keyword))?.clone();
        Some((pointer, keyword))
    })
}

/// Returns all member names in the schema.
#[must_use]
pub fn member_names(schema: &Value) -> BTreeSet<String> {
    let all = subschemas(schema);
    let properties = all.iter().filter_map(|at| schema.pointer(at)?.get("properties")?.as_object());
    properties.flat_map(Map::keys).cloned().collect()
}

/// Returns the schema with references as JSON pointers and, for draft-07, without the keywords beside references.
fn with_plain_references(schema: &Value) -> Value {
    let mut plain = schema.clone();
    for pointer in subschemas(schema) {
        let place = plain.pointer_mut(&pointer).and_then(Value::as_object_mut);
        let Some((keywords, target)) = place.and_then(|keywords| {
            let target = keywords.get("$ref")?.as_str()?.to_owned();
            Some((keywords, target))
        }) else {
            continue;
        };
        if definitions_keyword(schema) == "definitions" {
            keywords.clear();
        }
        // Our schemas use only these escapes.
        let target = [("%3C", "<"), ("%3E", ">"), ("%20", " "), ("%25", "%")]
            .iter()
            .fold(target, |target, (escaped, character)| target.replace(escaped, character));
        keywords.insert("$ref".to_owned(), target.into());
    }
    plain
}

fn mixed(state: u64, word: u64) -> u64 {
    let state = (state ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    state ^ (state >> 29)
}
