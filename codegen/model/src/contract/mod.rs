//! Reads contracts, which define a protocol. Each kind of contract has a reader, which returns a JSON schema and the
//! messages.

mod envelopes;
mod keywords;
mod mapping;
mod meta_model;
mod open_rpc;
mod reader;

use std::collections::BTreeMap;

use mcpgen_schema::{Document, Error};

pub(crate) use mapping::MappedMessage;
pub use mapping::Mapping;
use reader::Reader;

/// The definition of a protocol: a document and, if it does not list the messages, a mapping that does.
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

/// The readers of contracts whose messages are not definitions.
const READERS: [&dyn Reader; 3] = [&open_rpc::OpenRpc, &meta_model::MetaModel, &keywords::MethodKeywords];

/// The name of all other contracts: JSON schemas in which the messages are definitions.
pub const JSON_SCHEMA: &str = "JSON Schema";

impl Contract {
    /// Returns a contract whose document is a JSON schema with all messages as definitions, and the name of the kind of
    /// contract that it was.
    ///
    /// # Errors
    ///
    /// [`Error::Schema`] if the document is not a valid contract of its kind.
    pub(crate) fn read(self) -> Result<(Self, &'static str), Error> {
        let Some(reader) = READERS.iter().find(|reader| reader.reads(&self.document)) else {
            return Ok((self, JSON_SCHEMA));
        };
        let (document, listed) = envelopes::with_envelopes(reader.read(self.document)?)?;
        let mapping = match self.mapping {
            Some(mapping) => Mapping { messages: listed.into_iter().chain(mapping.messages).collect(), ..mapping },
            None => Mapping { file: document.file.clone(), messages: listed },
        };
        Ok((Self { document, mapping: Some(mapping), ..self }, reader.name()))
    }
}
