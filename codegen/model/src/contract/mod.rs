//! Reads contracts, which define a protocol. Each kind of contract has a reader, which returns a JSON schema and the
//! messages.

mod envelopes;
mod keywords;
mod mapping;
mod meta_model;
mod open_rpc;
mod origins;
mod reader;

use std::collections::BTreeMap;

use mcpgen_schema::{Document, Error};

pub(crate) use mapping::MappedMessage;
pub use mapping::Mapping;
use reader::{Contents, Reader};

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
const READERS: [Reader; 3] = [open_rpc::OPEN_RPC, meta_model::META_MODEL, keywords::METHOD_KEYWORDS];

/// The name of all other contracts: JSON schemas in which the messages are definitions.
pub const JSON_SCHEMA: &str = "JSON Schema";

impl Contract {
    /// Calls `build` with a contract whose document is a JSON schema with all messages as definitions, and with the name
    /// of the kind of contract that it was. Problems refer to the contract as it was.
    pub(crate) fn read<T>(self, build: impl FnOnce(Self, &'static str) -> Result<T, Error>) -> Result<T, Error> {
        let Some(reader) = READERS.iter().find(|reader| (reader.reads)(&self.document)) else {
            return build(self, JSON_SCHEMA);
        };
        let file = self.document.file.clone();
        let mut contents = (reader.read)(self.document)?;
        let listed = envelopes::add(&mut contents)?;
        let Contents { schema: document, origins, .. } = contents;
        let mapping = match self.mapping {
            Some(mapping) => mapping.with_listed(listed),
            None => Mapping { file: file.clone(), messages: listed },
        };
        let contract = Self { document, mapping: Some(mapping), ..self };
        build(contract, reader.name).map_err(|error| origins.restore(&file, error))
    }
}
