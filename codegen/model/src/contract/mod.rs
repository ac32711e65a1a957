//! Reads what states a protocol. Each kind of contract has a reader, which returns a JSON schema and the messages.

mod envelopes;
mod keywords;
mod mapping;
mod meta_model;
mod open_rpc;

use std::collections::BTreeMap;

use mcpgen_schema::{Document, Error};

pub use mapping::Mapping;
pub(crate) use mapping::{Direction, MappedMessage};

/// What states a protocol: a document and, if it does not list the messages, a mapping that does.
#[derive(Clone, Debug)]
pub struct Contract {
    /// The document.
    pub document: Document,
    /// The messages that the document does not list.
    pub mapping: Option<Mapping>,
    /// New names of inline types, by their generated names.
    pub names: BTreeMap<String, String>,
}

impl From<Document> for Contract {
    fn from(document: Document) -> Self {
        Self { document, mapping: None, names: BTreeMap::new() }
    }
}

/// Reads one kind of contract.
struct Reader {
    /// Returns whether a document is such a contract.
    reads: fn(&Document) -> bool,
    /// Returns the schema with the types, and the messages that it does not contain.
    read: fn(Document) -> Result<(Document, Vec<Message>), Error>,
    /// The name of such contracts.
    name: &'static str,
}

/// The readers. Other documents are JSON schemas whose unions, such as `ClientRequest`, list the messages.
const READERS: [Reader; 3] = [open_rpc::READER, meta_model::READER, keywords::READER];

/// The kind of other documents.
pub(crate) const JSON_SCHEMA: &str = "JSON Schema";

/// A message of which the contract states the params and not the whole.
struct Message {
    /// The name of the definition that it becomes.
    name: String,
    /// The method.
    method: String,
    /// Its sender.
    direction: Direction,
    /// The definition of its params, and whether they are required.
    params: Option<(String, bool)>,
    /// The definition of the result. A notification has none.
    result: Option<String>,
    /// Its documentation.
    description: Option<String>,
}

impl Contract {
    /// Returns a contract whose document is a JSON schema with all messages as definitions, and the name of the kind of
    /// contract that it was.
    ///
    /// # Errors
    ///
    /// [`Error::Schema`] if the document is not a valid contract of its kind.
    pub(crate) fn read(self) -> Result<(Self, &'static str), Error> {
        let Some(reader) = READERS.iter().find(|reader| (reader.reads)(&self.document)) else {
            return Ok((self, JSON_SCHEMA));
        };
        let (document, messages) = (reader.read)(self.document)?;
        let (document, listed) = envelopes::with_envelopes(document, messages);
        let mapping = match self.mapping {
            Some(mapping) => Mapping { messages: listed.into_iter().chain(mapping.messages).collect(), ..mapping },
            None => Mapping { file: document.file.clone(), messages: listed },
        };
        Ok((Self { document, mapping: Some(mapping), ..self }, reader.name))
    }
}
