//! What a reader of contracts is, and what it returns.

use mcpgen_schema::{Document, Error};

use super::mapping::Direction;

/// Reads one kind of contract.
pub(super) struct Reader {
    /// Returns whether a document is such a contract.
    pub(super) reads: fn(&Document) -> bool,
    /// Returns the schema with the types, and the messages that it does not contain.
    pub(super) read: fn(Document) -> Result<(Document, Vec<Message>), Error>,
    /// The name of such contracts.
    pub(super) name: &'static str,
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
