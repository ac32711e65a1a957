//! The readers of contracts, and what they return.

use mcpgen_schema::{Document, Error, Problem};

use super::mapping::Direction;
use super::origins::Origins;

pub(super) struct Reader {
    pub(super) name: &'static str,
    pub(super) reads: fn(&Document) -> bool,
    pub(super) read: fn(Document) -> Result<Contents, Error>,
}

pub(super) struct Contents {
    pub(super) schema: Document,
    /// Messages that `schema` does not define.
    pub(super) messages: Vec<Message>,
    /// Errors that `schema` does not define.
    pub(super) errors: Vec<ErrorCode>,
    /// Where parts of `schema` come from, if their pointers differ from those in the contract.
    pub(super) origins: Origins,
}

pub(super) struct ErrorCode {
    pub(super) name: String,
    pub(super) code: i64,
    pub(super) description: Option<String>,
}

/// A message for which the contract defines only params and result.
pub(super) struct Message {
    pub(super) pointer: String,
    pub(super) name: String,
    pub(super) method: String,
    pub(super) direction: Direction,
    /// The definition, and whether params are required.
    pub(super) params: Option<(String, bool)>,
    /// The definition, or `None` for a notification.
    pub(super) result: Option<String>,
    pub(super) description: Option<String>,
}

pub(super) struct Problems {
    file: String,
    remedy: &'static str,
    found: Vec<Problem>,
}

impl Problems {
    pub(super) fn of(document: &Document, remedy: &'static str) -> Self {
        Self { file: document.file.clone(), remedy, found: Vec::new() }
    }

    pub(super) fn add(&mut self, pointer: &str, why: impl Into<String>) {
        self.add_with(pointer, why, self.remedy);
    }

    /// Adds a problem and returns `None`, because the part cannot be read.
    pub(super) fn refuse<T>(&mut self, pointer: &str, why: impl Into<String>) -> Option<T> {
        self.add(pointer, why);
        None
    }

    pub(super) fn add_with(&mut self, pointer: &str, why: impl Into<String>, remedy: &str) {
        self.found.push(Problem::new(&self.file, pointer, why, remedy));
    }

    pub(super) fn into_result(self) -> Result<(), Error> {
        if self.found.is_empty() { Ok(()) } else { Err(Error::Schema(self.found)) }
    }
}
