//! Readers of contracts, and what they return.

use mcpgen_schema::{Document, Error, Problem};

use super::mapping::Direction;
use super::origins::Origins;

pub(super) struct Reader {
    pub(super) name: &'static str,
    pub(super) reads: fn(&Document) -> bool,
    /// Returns the schema with the types, and the messages that it does not contain.
    pub(super) read: fn(Document) -> Result<Contents, Error>,
}

pub(super) struct Contents {
    pub(super) schema: Document,
    /// The messages that it does not contain.
    pub(super) messages: Vec<Message>,
    /// The errors that it does not contain.
    pub(super) errors: Vec<ErrorCode>,
    /// Where its parts come from, if they are not where they were in the contract.
    pub(super) origins: Origins,
}

pub(super) struct ErrorCode {
    /// The name, such as `NotFound`.
    pub(super) name: String,
    pub(super) code: i64,
    pub(super) description: Option<String>,
}

/// A message for which the contract defines only the params and the result.
pub(super) struct Message {
    /// The JSON pointer of its definition in the contract.
    pub(super) pointer: String,
    /// The name of the definition that it becomes.
    pub(super) name: String,
    pub(super) method: String,
    pub(super) direction: Direction,
    /// The definition of its params, and whether they are required.
    pub(super) params: Option<(String, bool)>,
    /// The definition of the result. A notification has none.
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

    /// Adds a problem of a part that is not read.
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
