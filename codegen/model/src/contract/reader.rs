//! What a reader of contracts is, and what it returns.

use mcpgen_schema::{Document, Error};
use serde_json::Number;

use super::mapping::Direction;

/// Reads one kind of contract.
pub(super) trait Reader: Sync {
    /// Returns the name of such contracts.
    fn name(&self) -> &'static str;

    /// Returns whether a document is such a contract.
    fn reads(&self, document: &Document) -> bool;

    /// Returns the schema with the types, and the messages that it does not contain.
    ///
    /// # Errors
    ///
    /// [`Error::Schema`] if the document is not valid.
    fn read(&self, document: Document) -> Result<Contents, Error>;
}

/// What a contract contains.
pub(super) struct Contents {
    /// A JSON schema with the types.
    pub(super) schema: Document,
    /// The messages that it does not contain.
    pub(super) messages: Vec<Message>,
    /// The errors that it does not contain.
    pub(super) errors: Vec<ErrorCode>,
}

/// An error that a response can have.
pub(super) struct ErrorCode {
    /// The name, such as `NotFound`.
    pub(super) name: String,
    /// The code.
    pub(super) code: Number,
    /// What it means.
    pub(super) description: Option<String>,
}

/// A message of which the contract states the params and not the whole.
pub(super) struct Message {
    /// The name of the definition that it becomes.
    pub(super) name: String,
    /// The method.
    pub(super) method: String,
    /// Its sender.
    pub(super) direction: Direction,
    /// The definition of its params, and whether they are required.
    pub(super) params: Option<(String, bool)>,
    /// The definition of the result. A notification has none.
    pub(super) result: Option<String>,
    /// Its documentation.
    pub(super) description: Option<String>,
}
