//! Runs the proof over every definition of every revision and extension. The chunks run in parallel, and an interrupted
//! run can be continued.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::{Deserialize, Serialize};

use crate::decisions::{EXTENSIONS, REVISIONS};
use crate::registry::{Entry, REGISTRY};
use crate::{Proof, Tally};

/// A range of instances of one definition.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Chunk {
    /// The revision.
    pub revision: String,
    /// The name of the definition in the schema.
    pub definition: String,
    /// The first index.
    pub start: u64,
    /// The index after the last one.
    pub end: u64,
}

/// What proving a chunk found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    /// The documents before the first disagreement.
    pub tally: Tally,
    /// The report of the first disagreement, which ends the chunk.
    pub disagreement: Option<String>,
}

/// Returns all chunks for this many instances per definition and kind. Each has at most `size` instances. Their order
/// mixes fast and slow definitions.
#[must_use]
pub fn chunks(instances: u64, size: u64) -> Vec<Chunk> {
    let ranges = (0..instances).step_by(usize::try_from(size.max(1)).unwrap_or(usize::MAX));
    let chunk = |start, entry: &Entry| Chunk {
        revision: entry.revision.to_owned(),
        definition: entry.definition.to_owned(),
        start,
        end: instances.min(start + size),
    };
    ranges.flat_map(|start| REGISTRY.iter().map(move |entry| chunk(start, entry))).collect()
}

/// Proves chunks on this many threads. Calls `done` after each chunk.
///
/// # Panics
///
/// Panics if the definition of a chunk does not exist, or if `done` panics.
pub fn sweep(chunks: &[Chunk], seed: u64, threads: usize, done: impl FnMut(&Chunk, &Outcome) + Send) -> Table {
    let (next, table) = (AtomicUsize::new(0), Mutex::new((Table::default(), done)));
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = prove(chunk, seed);
                    let mut guard = table.lock().expect("`done` did not panic");
                    guard.0.add(chunk, &outcome);
                    (guard.1)(chunk, &outcome);
                }
            });
        }
    });
    table.into_inner().expect("`done` did not panic").0
}

fn prove(chunk: &Chunk, seed: u64) -> Outcome {
    let Chunk { revision, definition, start, end } = chunk;
    let entry = Entry::find(revision, definition).unwrap_or_else(|| panic!("{revision} has no {definition}"));
    let range = *start..*end;
    let mut tally = Tally::default();
    let proof = Proof::of(revision);
    let proved = proof.prove(revision, definition, seed, range, &mut tally, |document| entry.recode(document));
    Outcome { tally, disagreement: proved.err() }
}

/// The totals of all chunks, with one row per revision and extension.
#[derive(Debug, Clone, Default)]
pub struct Table(BTreeMap<String, Row>);

#[derive(Debug, Clone, Default)]
struct Row {
    definitions: BTreeMap<String, u64>,
    tally: Tally,
    disagreements: u64,
}

impl Table {
    /// Adds a chunk.
    pub fn add(&mut self, chunk: &Chunk, outcome: &Outcome) {
        let row = self.0.entry(chunk.revision.clone()).or_default();
        *row.definitions.entry(chunk.definition.clone()).or_default() += chunk.end - chunk.start;
        row.tally += outcome.tally;
        row.disagreements += u64::from(outcome.disagreement.is_some());
    }

    /// Adds the totals of another table.
    pub fn merge(&mut self, other: &Table) {
        for (revision, other_row) in &other.0 {
            let row = self.0.entry(revision.clone()).or_default();
            for (definition, count) in &other_row.definitions {
                *row.definitions.entry(definition.clone()).or_default() += count;
            }
            row.tally += other_row.tally;
            row.disagreements += other_row.disagreements;
        }
    }

    /// Returns the number of chunks that ended in a disagreement.
    #[must_use]
    pub fn disagreements(&self) -> u64 {
        self.0.values().map(|row| row.disagreements).sum()
    }

    /// Returns whether every definition of every revision and extension was tested with at least this many instances.
    #[must_use]
    pub fn is_complete(&self, instances: u64) -> bool {
        let tried = |entry: &Entry| {
            self.0.get(entry.revision).and_then(|row| row.definitions.get(entry.definition)).copied().unwrap_or(0)
        };
        REGISTRY.iter().all(|entry| tried(entry) >= instances)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| revision | definitions | documents | accepted | rejected | disagreements |")?;
        writeln!(f, "|---|---:|---:|---:|---:|---:|")?;
        let mut total = Row::default();
        let mut count = 0;
        for revision in REVISIONS.into_iter().chain(EXTENSIONS) {
            let Some(row) = self.0.get(revision) else { continue };
            writeln!(f, "| {revision} | {} |{}", row.definitions.len(), row.figures())?;
            count += row.definitions.len();
            total.tally += row.tally;
            total.disagreements += row.disagreements;
        }
        writeln!(f, "| all | {count} |{}", total.figures())
    }
}

impl Row {
    fn figures(&self) -> String {
        let Tally { valid_accepted, valid_rejected, near_miss_accepted, near_miss_rejected } = self.tally;
        let (accepted, rejected) = (valid_accepted + near_miss_accepted, valid_rejected + near_miss_rejected);
        let mut text = String::new();
        for figure in [accepted + rejected, accepted, rejected, self.disagreements] {
            let _ = write!(text, " {} |", grouped(figure));
        }
        text
    }
}

/// Formats a number as in `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
