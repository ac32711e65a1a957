//! Documents made from a schema and from nothing else.
//!
//! [`Instances::valid`] makes documents that the schema accepts, as odd as the schema allows;
//! [`Instances::near_miss`] breaks one of them at one place. Both do their best and promise
//! nothing: whether a document is valid is for the [judge](crate::judge) to say. The seed, the
//! definition and an index identify a document, so that any of them can be made again.

mod build;
mod values;
mod violate;

use crate::judge::{definitions_keyword, escaped, subschemas};
use build::{Builder, Part};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

pub use violate::Violation;

/// The keywords that instances are made after. One that is not here is an error in [`Instances::new`].
pub const KEYWORDS: &[&str] = &[
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "definitions",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "oneOf",
    "properties",
    "required",
    "type",
];

/// The keywords that a near miss can violate, besides `additionalProperties` where that is `false`.
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

/// The keywords that assert nothing.
const ANNOTATIONS: &[&str] = &[
    "$comment",
    "$id",
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

/// A schema, and what is looked up in it all the time.
struct Source {
    schema: Value,
    /// Every member name in the schema: the best unknown members are known elsewhere.
    names: Vec<String>,
    /// Names that no unknown member may have.
    reserved: BTreeSet<String>,
    /// The JSON pointers of the schemas, by their address.
    pointers: HashMap<usize, String>,
}

impl Source {
    fn new(schema: Value, names: Vec<String>, reserved: BTreeSet<String>) -> Arc<Source> {
        let mut source = Arc::new(Source { schema, names, reserved, pointers: HashMap::new() });
        let located = |pointer: String| Some((address(source.schema.pointer(&pointer)?), pointer));
        let pointers = subschemas(&source.schema).into_iter().filter_map(located).collect();
        Arc::get_mut(&mut source).expect("nobody else holds it yet").pointers = pointers;
        source
    }

    fn pointer_of(&self, schema: &Value) -> String {
        self.pointers.get(&address(schema)).cloned().unwrap_or_default()
    }
}

fn address(schema: &Value) -> usize {
    std::ptr::from_ref(schema).addr()
}

/// A document, and the schemas that it was made after.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The document.
    pub value: Value,
    /// The JSON pointer of each schema that took part.
    pub visited: Vec<String>,
}

impl Instances {
    /// Documents of a schema (after its fixups).
    ///
    /// # Panics
    ///
    /// If the schema has a keyword that is not among [`KEYWORDS`] and asserts something.
    #[must_use]
    pub fn new(schema: &Value, seed: u64) -> Instances {
        if let Some((pointer, keyword)) = unsupported(schema) {
            panic!("no instances can be made after {keyword:?} at {pointer}");
        }
        let names = member_names(schema).into_iter().collect();
        Instances { source: Source::new(with_plain_references(schema), names, BTreeSet::new()), seed }
    }

    /// Documents whose unknown members have none of these names, wherever they stand.
    #[must_use]
    pub fn reserving(&self, names: BTreeSet<String>) -> Instances {
        Instances { source: Source::new(self.source.schema.clone(), Vec::new(), names), seed: self.seed }
    }

    /// Other documents of the same schema.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Instances {
        Instances { source: Arc::clone(&self.source), seed }
    }

    /// The names of the definitions.
    #[must_use]
    pub fn definitions(&self) -> Vec<&str> {
        let schema = &self.source.schema;
        let definitions = schema[definitions_keyword(schema)].as_object();
        definitions.map_or_else(Vec::new, |named| named.keys().map(String::as_str).collect())
    }

    /// A document that the definition should accept. Index 0 is the smallest, 1 has every member.
    #[must_use]
    pub fn valid(&self, definition: &str, index: u64) -> Value {
        let pointer = self.pointer(definition);
        self.builder(&[&pointer], index, false).document(self.parts(&[&pointer]))
    }

    /// A document that should be accepted at all of these JSON pointers into the schema.
    ///
    /// # Panics
    ///
    /// If the schema has nothing at one of them.
    #[must_use]
    pub fn sample(&self, pointers: &[&str], index: u64) -> Sample {
        let mut builder = self.builder(pointers, index, false);
        let value = builder.document(self.parts(pointers));
        let visited = builder.visited.iter().map(|schema| self.source.pointer_of(schema));
        Sample { value, visited: visited.collect() }
    }

    /// A document that the definition should refuse, for one reason; `None` if it refuses nothing.
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

/// A keyword of the schema that asserts something, and that instances are not made after; and where it is.
#[must_use]
pub fn unsupported(schema: &Value) -> Option<(String, String)> {
    let supported = |keyword: &str| KEYWORDS.contains(&keyword) || ANNOTATIONS.contains(&keyword);
    subschemas(schema).into_iter().find_map(|pointer| {
        let mut keywords = schema.pointer(&pointer)?.as_object()?.keys();
        let keyword = keywords.find(|keyword| !supported(keyword))?.clone();
        Some((pointer, keyword))
    })
}

/// Every name that the schema has for a member.
#[must_use]
pub fn member_names(schema: &Value) -> BTreeSet<String> {
    let all = subschemas(schema);
    let properties = all.iter().filter_map(|at| schema.pointer(at)?.get("properties")?.as_object());
    properties.flat_map(Map::keys).cloned().collect()
}

/// The schema with references that are JSON pointers, and in draft-07 without what stands beside them.
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
        // As many escapes as our schemas use.
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
