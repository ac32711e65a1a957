//! Tests that involve more than one of mcpgen's crates. The most important one is the proof: the generated types accept
//! exactly the documents that the schema accepts, and lose no data.
//!
//! [`check`] compares a decoder with an independent [judge](judge::Judge). The [documents](instances::Instances) are
//! made from the schema alone. Neither depends on the generator.

#![allow(deprecated, reason = "the tests include deprecated types")]
#![allow(missing_debug_implementations, reason = "no test prints these types")]

/// Compiles and runs the README's examples.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

pub mod decisions;
pub mod fuzz;
pub mod inspected;
pub mod instances;
pub mod judge;
pub mod mutate;
pub mod registry;
pub mod settings;
pub mod sweep;

use decisions::EXTENSIONS;
use instances::Instances;
use judge::{Judge, within_limits};
use mcpgen_model::Json;
use serde_json::{Number, Value, json};
use std::any::Any;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::{AddAssign, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Compares a decoder of one definition with the judge, on `count` instances and as many near misses. The decoder must
/// accept exactly the documents that the judge accepts, and encode them to equal documents.
///
/// A report names the seed, the kind and the index of its document. For example,
/// `Proof::of(revision).instances.with_seed(seed).valid(definition, 12)` returns the document `Valid 12`.
///
/// # Panics
///
/// Panics at the first disagreement, with a report that helps to understand and reproduce it.
pub fn check<F>(revision: &str, definition: &str, seed: u64, count: u64, decode_encode: F) -> Tally
where
    F: Fn(&Value) -> Result<Value, String>,
{
    Proof::of(revision).check(revision, definition, seed, count, decode_encode)
}

/// The numbers of documents that [`check`] has compared, by the verdict of the judge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Tally {
    /// Instances made to be valid that the judge accepts.
    pub valid_accepted: u64,
    /// Instances made to be valid that the judge rejects, mostly because a union's decision rejects them.
    pub valid_rejected: u64,
    /// Near misses that the judge accepts, mostly because another member of a union accepts them.
    pub near_miss_accepted: u64,
    /// Near misses that the judge rejects.
    pub near_miss_rejected: u64,
}

impl Tally {
    fn count(&mut self, kind: Kind, accepted: bool) {
        let counter = match (kind, accepted) {
            (Kind::Valid, true) => &mut self.valid_accepted,
            (Kind::Valid, false) => &mut self.valid_rejected,
            (Kind::NearMiss, true) => &mut self.near_miss_accepted,
            (Kind::NearMiss, false) => &mut self.near_miss_rejected,
        };
        *counter += 1;
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.valid_accepted += other.valid_accepted;
        self.valid_rejected += other.valid_rejected;
        self.near_miss_accepted += other.near_miss_accepted;
        self.near_miss_rejected += other.near_miss_rejected;
    }
}

/// Which function made a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// From [`Instances::valid`].
    Valid,
    /// From [`Instances::near_miss`].
    NearMiss,
}

/// The judge and the instances of a schema. Those of a revision are created once per process.
pub struct Proof {
    /// Decides which documents are valid.
    pub judge: Judge,
    /// Makes the documents, with seed 0.
    pub instances: Instances,
}

impl Proof {
    /// Returns the proof of a released revision or an extension.
    ///
    /// # Panics
    ///
    /// Panics if the schema cannot be read.
    #[must_use]
    pub fn of(revision: &str) -> Arc<Proof> {
        static PROOFS: Mutex<Option<HashMap<String, Arc<Proof>>>> = Mutex::new(None);
        let mut proofs = PROOFS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let proofs = proofs.get_or_insert_default();
        let make = || {
            let schema = judge::fixed_up(revision, &schema(revision));
            Arc::new(Proof::new(&schema, decisions::decisions(revision)))
        };
        Arc::clone(proofs.entry(revision.to_owned()).or_insert_with(make))
    }

    /// Creates the proof of any schema with these decisions.
    ///
    /// # Panics
    ///
    /// Panics if a decision does not match the schema, or if the schema has a keyword that instances do not support.
    #[must_use]
    pub fn new(schema: &Value, decisions: &[decisions::Decision]) -> Proof {
        Proof { judge: Judge::with_decisions(schema, decisions), instances: Instances::new(schema, 0) }
    }

    /// Like [`crate::check`], but for a definition of this proof's schema. Reports call the schema `origin`.
    ///
    /// # Panics
    ///
    /// Panics at the first disagreement, with a report that helps to understand and reproduce it.
    pub fn check<F>(&self, origin: &str, definition: &str, seed: u64, count: u64, decode_encode: F) -> Tally
    where
        F: Fn(&Value) -> Result<Value, String>,
    {
        let mut tally = Tally::default();
        match self.prove(origin, definition, seed, 0..count, &mut tally, decode_encode) {
            Ok(()) => tally,
            Err(report) => panic!("{report}"),
        }
    }

    /// Like [`check`](Self::check), but for the instances with these indices. Adds the compared documents to `tally`.
    ///
    /// # Errors
    ///
    /// Returns the report of the first disagreement. `tally` then counts the documents before it.
    pub fn prove<F>(
        &self,
        origin: &str,
        definition: &str,
        seed: u64,
        indices: Range<u64>,
        tally: &mut Tally,
        decode_encode: F,
    ) -> Result<(), String>
    where
        F: Fn(&Value) -> Result<Value, String>,
    {
        for (index, kind, document) in self.documents_at(definition, seed, indices) {
            match self.try_one(definition, &document, &decode_encode) {
                Ok(verdict) => tally.count(kind, verdict),
                Err(reason) => {
                    let origin = format!("{origin} {definition}, seed {seed}, {kind:?} {index}");
                    return Err(self.report(&origin, definition, &document, &reason, &decode_encode));
                }
            }
        }
        Ok(())
    }

    /// Returns the documents that [`check`] compares, in order.
    pub fn documents(&self, definition: &str, seed: u64, count: u64) -> impl Iterator<Item = (u64, Kind, Value)> {
        self.documents_at(definition, seed, 0..count)
    }

    fn documents_at(
        &self,
        definition: &str,
        seed: u64,
        indices: Range<u64>,
    ) -> impl Iterator<Item = (u64, Kind, Value)> {
        let instances = self.instances.with_seed(seed);
        let definition = definition.to_owned();
        indices.flat_map(move |index| {
            let valid = (index, Kind::Valid, instances.valid(&definition, index));
            let near_miss = instances.near_miss(&definition, index);
            let near_miss = near_miss.map(|(document, _)| (index, Kind::NearMiss, document));
            [Some(valid), near_miss].into_iter().flatten()
        })
    }

    /// Returns whether the document is within the limits and the definition accepts it.
    #[must_use]
    pub fn accepts(&self, definition: &str, document: &Value) -> bool {
        within_limits(document) && self.judge.accepts(definition, document)
    }

    /// Compares the decoder's verdict on a document with the judge's. Returns the verdict if they agree.
    ///
    /// # Errors
    ///
    /// Returns how the verdicts differ.
    fn try_one<F>(&self, definition: &str, document: &Value, decode_encode: &F) -> Result<bool, String>
    where
        F: Fn(&Value) -> Result<Value, String>,
    {
        let decoded = catch_unwind(AssertUnwindSafe(|| decode_encode(document)))
            .map_err(|panic| format!("{PANICS}: {}", panic_text(panic.as_ref())))?;
        match (self.accepts(definition, document), decoded) {
            (true, Ok(encoded)) if json_equal(document, &encoded) => Ok(true),
            (true, Ok(encoded)) => Err(format!("{DIFFERENT}:\n{}", shortened(&encoded.to_string(), 4000))),
            (true, Err(error)) => Err(format!("the judge accepts, the type rejects: {error}")),
            (false, Ok(_)) if !within_limits(document) => {
                Err(format!("the type accepts a depth of {}", judge::depth(document)))
            }
            (false, Ok(_)) => {
                Err(format!("the type accepts, the judge rejects:\n{}", self.judge.objections(definition, document)))
            }
            (false, Err(_)) => Ok(false),
        }
    }

    fn report<F>(&self, origin: &str, definition: &str, document: &Value, reason: &str, decode_encode: &F) -> String
    where
        F: Fn(&Value) -> Result<Value, String>,
    {
        // Does not shrink panics, because each attempt would print another panic.
        let panics = reason.starts_with(PANICS);
        let same_reason = |smaller: &Value| {
            let same = |other: &String| same_disagreement(reason, other);
            let verdict = || self.try_one(definition, smaller, decode_encode);
            !panics && verdict().is_err_and(|other| same(&other))
        };
        let smallest = shrunk(document, same_reason);
        let mut text = format!("disagreement at {origin}\n{reason}\n");
        let whole = shortened(&document.to_string(), 4000);
        if smallest != *document {
            let smallest = shortened(&smallest.to_string(), 4000);
            let _ = writeln!(text, "shrunk: {smallest}");
        }
        let _ = write!(text, "document: {whole}");
        text
    }
}

const PANICS: &str = "the type panics";
const DIFFERENT: &str = "both accept, but the type encodes a different document";

/// Returns whether two disagreements have the same reason. The encoded documents may differ.
fn same_disagreement(reason: &str, other: &str) -> bool {
    reason == other || reason.starts_with(DIFFERENT) && other.starts_with(DIFFERENT)
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("?")
}

/// Returns the text. If it is longer than `most` bytes, returns its beginning and its length.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}... ({} bytes)", &text[..end], text.len())
}

/// Returns a smaller document for which `holds` is still true. Removes one member or item at a time.
pub fn shrunk(document: &Value, holds: impl Fn(&Value) -> bool) -> Value {
    let mut smallest = document.clone();
    let mut turns = 4000;
    let mut at = 0;
    while let Some(smaller) = without(&smallest, at) {
        if turns == 0 {
            break;
        }
        turns -= 1;
        match holds(&smaller) {
            true => smallest = smaller,
            false => at += 1,
        }
    }
    smallest
}

/// Returns the document without its nth member or item, or `None` if it has fewer. A container is counted before its
/// members and items.
fn without(document: &Value, nth: usize) -> Option<Value> {
    let mut document = document.clone();
    let mut left = nth;
    remove_nth(&mut document, &mut left).then_some(document)
}

fn remove_nth(value: &mut Value, left: &mut usize) -> bool {
    match value {
        Value::Object(members) => {
            if *left < members.len() {
                let name = members.keys().nth(*left).cloned();
                return name.is_some_and(|name| members.remove(&name).is_some());
            }
            *left -= members.len();
            members.values_mut().any(|member| remove_nth(member, left))
        }
        Value::Array(items) => {
            if *left < items.len() {
                items.remove(*left);
                return true;
            }
            *left -= items.len();
            items.iter_mut().any(|item| remove_nth(item, left))
        }
        _ => false,
    }
}

/// Returns whether two documents are equal as defined by JSON Schema: numbers by value, and objects by their members in
/// any order.
#[must_use]
pub fn json_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b).is_eq(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| json_equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            let equal = |(name, a)| b.get(name).is_some_and(|b| json_equal(a, b));
            a.len() == b.len() && a.iter().all(equal)
        }
        (a, b) => a == b,
    }
}

/// Compares the values of two numbers exactly, however they are written.
#[must_use]
pub fn compare(a: &Number, b: &Number) -> Ordering {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(a), None) => against_float(a, float(b)),
        (None, Some(b)) => against_float(b, float(a)).reverse(),
        (None, None) => float(a).total_cmp(&float(b)),
    }
}

/// Returns the number as an integer, or `None` if it is a fraction or a double beyond ±2^100.
fn whole(number: &Number) -> Option<i128> {
    let integer = number.as_i64().map(i128::from);
    let integer = integer.or_else(|| number.as_u64().map(i128::from));
    integer.or_else(|| {
        let float = float(number);
        // Every integral double up to 2^100 fits an i128.
        let exact = float.fract() == 0.0 && float.abs() <= 2f64.powi(100);
        exact.then_some(float as i128)
    })
}

fn float(number: &Number) -> f64 {
    number.as_f64().expect("numbers in serde_json are finite")
}

fn against_float(integer: i128, float: f64) -> Ordering {
    if float.abs() > 2f64.powi(100) {
        return 0f64.total_cmp(&float);
    }
    // A fraction lies strictly between two integers.
    match integer <= float.floor() as i128 {
        true => Ordering::Less,
        false => Ordering::Greater,
    }
}

/// Reads the schema of a released revision or an extension from the vendored files, or from the folder in the
/// environment variable `MCPGEN_SCHEMAS`. Definitions inside definitions move to the root. A root that is a type
/// becomes a definition.
///
/// # Panics
///
/// Panics if the schema cannot be read.
#[must_use]
pub fn schema(revision: &str) -> Value {
    let vendored = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema");
    let folder = std::env::var_os("MCPGEN_SCHEMAS").map_or_else(vendored, PathBuf::from);
    let folder = if EXTENSIONS.contains(&revision) { folder.join("extensions") } else { folder };
    let path = folder.join(revision).join("schema.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut schema: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let keyword = judge::definitions_keyword(&schema);
    let root = schema.as_object_mut().and_then(|schema| schema.remove("$ref"));
    if let Some(Value::Object(definitions)) = schema.get_mut(keyword) {
        // The generator names definitions in the order of the file.
        let ordered = Json::parse(&text).expect("the text is JSON");
        let names = ordered.get(keyword).and_then(Json::as_object).expect("definitions").keys();
        hoist(definitions, names, keyword);
        if let Some(target) = root {
            definitions.insert(capitalized(revision), json!({ "$ref": target }));
        }
    }
    schema
}

/// Returns the name with a capital first letter. A root that is a type has such a name.
fn capitalized(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

/// Moves definitions inside definitions to the root, where references in exported schemas expect them. If several
/// definitions contain the same one, the later ones become `OUTER.INNER`, as the generator names them.
///
/// # Panics
///
/// Panics if two different definitions have the same name.
fn hoist<'n>(
    definitions: &mut serde_json::Map<String, Value>,
    names: impl IntoIterator<Item = &'n String>,
    keyword: &str,
) {
    let mut inner = serde_json::Map::new();
    for outer in names {
        let definition = definitions.get_mut(outer).and_then(Value::as_object_mut);
        let Some(Value::Object(nested)) = definition.and_then(|definition| definition.remove(keyword)) else {
            continue;
        };
        for (name, nested) in nested {
            match inner.get(&name) {
                None => drop(inner.insert(name, nested)),
                Some(known) => {
                    assert_eq!(known, &nested, "two definitions have the name {name}");
                    inner.insert(format!("{outer}.{name}"), nested);
                }
            }
        }
    }
    for (name, nested) in inner {
        let known = definitions.insert(name.clone(), nested);
        assert!(known.is_none(), "two definitions have the name {name}");
    }
}
