//! Everything that crosses mcpgen's crates, and above all the proof that the generated types
//! accept what the schema accepts and lose nothing of it.
//!
//! [`check`] holds a decoder against an independent [judge](judge::Judge) over
//! [documents](instances::Instances) made from the schema alone. Neither knows the generator.

#![allow(deprecated, reason = "what is deprecated is held to its schema too")]

/// The README's examples are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

pub mod decisions;
pub mod fuzz;
pub mod inspected;
pub mod instances;
pub mod judge;
pub mod mutate;
pub mod registry;
pub mod sweep;

use instances::Instances;
use judge::{Judge, within_limits};
use serde_json::{Number, Value};
use std::any::Any;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::{AddAssign, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Holds a decoder of one definition against the judge, over `count` instances and as many near
/// misses: it must accept exactly what the judge accepts, and give it back equal.
///
/// A report names the seed, the kind and the index of its document: `Valid 12` is made again by
/// `Proof::of(revision).instances.with_seed(seed).valid(definition, 12)`.
///
/// # Panics
///
/// On the first disagreement, with all that is needed to look into it and to make it again.
pub fn check<F>(revision: &str, definition: &str, seed: u64, count: u64, decode_encode: F) -> Tally
where
    F: Fn(&Value) -> Result<Value, String>,
{
    Proof::of(revision).check(revision, definition, seed, count, decode_encode)
}

/// What [`check`] has seen, by the judge's verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Tally {
    /// Instances made to be valid, and valid.
    pub valid_accepted: u64,
    /// Instances made to be valid, though refused: mostly by a union's decision.
    pub valid_refused: u64,
    /// Near misses that are valid all the same: mostly by another member of a union.
    pub near_miss_accepted: u64,
    /// Near misses that are none.
    pub near_miss_refused: u64,
}

impl Tally {
    fn count(&mut self, kind: Kind, accepted: bool) {
        let counter = match (kind, accepted) {
            (Kind::Valid, true) => &mut self.valid_accepted,
            (Kind::Valid, false) => &mut self.valid_refused,
            (Kind::NearMiss, true) => &mut self.near_miss_accepted,
            (Kind::NearMiss, false) => &mut self.near_miss_refused,
        };
        *counter += 1;
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.valid_accepted += other.valid_accepted;
        self.valid_refused += other.valid_refused;
        self.near_miss_accepted += other.near_miss_accepted;
        self.near_miss_refused += other.near_miss_refused;
    }
}

/// Which kind of document a document was made to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// From [`Instances::valid`].
    Valid,
    /// From [`Instances::near_miss`].
    NearMiss,
}

/// A schema's judge and instances; those of a revision are made once per process.
pub struct Proof {
    /// Says what is valid.
    pub judge: Judge,
    /// Makes the documents, with seed 0.
    pub instances: Instances,
}

impl Proof {
    /// The proof of a released revision.
    ///
    /// # Panics
    ///
    /// If its schema cannot be read.
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

    /// The proof of any schema under these decisions.
    ///
    /// # Panics
    ///
    /// If a decision does not fit the schema, or no instances can be made after it.
    #[must_use]
    pub fn new(schema: &Value, decisions: &[decisions::Decision]) -> Proof {
        Proof { judge: Judge::with_decisions(schema, decisions), instances: Instances::new(schema, 0) }
    }

    /// As [`crate::check`], of a definition of this proof's schema; `origin` is what reports call the schema.
    ///
    /// # Panics
    ///
    /// On the first disagreement, with all that is needed to look into it and to make it again.
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

    /// As [`check`](Self::check), of the instances of these indices.
    ///
    /// # Errors
    ///
    /// The report of the first disagreement; `tally` has counted what came before.
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

    /// The documents that [`check`] goes through, in order.
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

    /// Whether the definition accepts the document, the limits included.
    #[must_use]
    pub fn accepts(&self, definition: &str, document: &Value) -> bool {
        within_limits(document) && self.judge.accepts(definition, document)
    }

    /// Both verdicts on one document: the common one, or how they differ.
    fn try_one<F>(&self, definition: &str, document: &Value, decode_encode: &F) -> Result<bool, String>
    where
        F: Fn(&Value) -> Result<Value, String>,
    {
        let ours = catch_unwind(AssertUnwindSafe(|| decode_encode(document)))
            .map_err(|panic| format!("{PANICS}: {}", panic_text(panic.as_ref())))?;
        match (self.accepts(definition, document), ours) {
            (true, Ok(encoded)) if json_equal(document, &encoded) => Ok(true),
            (true, Ok(encoded)) => Err(format!("{DIFFERENT}:\n{}", shortened(&encoded.to_string(), 4000))),
            (true, Err(error)) => Err(format!("the judge accepts, ours refuses: {error}")),
            (false, Ok(_)) if !within_limits(document) => {
                Err(format!("ours accepts a depth of {}", judge::depth(document)))
            }
            (false, Ok(_)) => {
                Err(format!("ours accepts, the judge refuses:\n{}", self.judge.objections(definition, document)))
            }
            (false, Err(_)) => Ok(false),
        }
    }

    fn report<F>(&self, origin: &str, definition: &str, document: &Value, reason: &str, decode_encode: &F) -> String
    where
        F: Fn(&Value) -> Result<Value, String>,
    {
        // Each panic prints itself, so those are not looked for again.
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

const PANICS: &str = "ours panics";
const DIFFERENT: &str = "both accept, but ours comes back different";

/// Whether two documents are judged differently for one reason; what comes back may vary.
fn same_disagreement(reason: &str, other: &str) -> bool {
    reason == other || reason.starts_with(DIFFERENT) && other.starts_with(DIFFERENT)
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("?")
}

/// The text, or its beginning and how much there is of it.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}... ({} bytes)", &text[..end], text.len())
}

/// A small document of which the predicate still holds: leaves out members and items as long as it does.
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

/// The document without its nth member or item, counted depth first; `None` if it has fewer.
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

/// Whether two documents are equal as JSON Schema sees it: numbers by their value, objects by
/// their members in whatever order.
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

/// Compares two numbers exactly, however they are written.
#[must_use]
pub fn compare(a: &Number, b: &Number) -> Ordering {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(a), None) => against_float(a, float(b)),
        (None, Some(b)) => against_float(b, float(a)).reverse(),
        (None, None) => float(a).total_cmp(&float(b)),
    }
}

/// The number as an integer, if it is one and not astronomically large.
fn whole(number: &Number) -> Option<i128> {
    let integer = number.as_i64().map(i128::from);
    let integer = integer.or_else(|| number.as_u64().map(i128::from));
    integer.or_else(|| {
        let float = float(number);
        // Up to 2^100 every whole double is an i128.
        let exact = float.fract() == 0.0 && float.abs() <= 2f64.powi(100);
        exact.then_some(float as i128)
    })
}

fn float(number: &Number) -> f64 {
    number.as_f64().expect("serde_json's numbers are finite")
}

/// An integer against a double that is a fraction or astronomically large.
fn against_float(integer: i128, float: f64) -> Ordering {
    if float.abs() > 2f64.powi(100) {
        return 0f64.total_cmp(&float);
    }
    // The fraction lies strictly between two integers.
    match integer <= float.floor() as i128 {
        true => Ordering::Less,
        false => Ordering::Greater,
    }
}

/// The schema of a released revision, as it is vendored, or from the directory that the
/// environment variable `MCPGEN_SCHEMAS` names.
///
/// # Panics
///
/// If it cannot be read.
#[must_use]
pub fn schema(revision: &str) -> Value {
    let vendored = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema");
    let folder = std::env::var_os("MCPGEN_SCHEMAS").map_or_else(vendored, PathBuf::from);
    let path = folder.join(revision).join("schema.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
