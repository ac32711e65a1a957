//! Reads contracts: the documents that define a protocol. Each kind has a reader, which turns it into a JSON schema and
//! a list of messages.

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

/// The definition of a protocol: a document, plus a mapping if the document does not list the messages.
#[derive(Clone, Debug)]
pub struct Contract {
    /// A JSON schema or another kind of contract.
    pub document: Document,
    /// Messages that the document does not list.
    pub mapping: Option<Mapping>,
    /// New names for inline types, by their generated names.
    pub names: BTreeMap<String, String>,
}

impl From<Document> for Contract {
    fn from(document: Document) -> Self {
        Self { document, mapping: None, names: BTreeMap::new() }
    }
}

/// Readers for everything other than a JSON schema that defines its messages.
const READERS: [Reader; 3] = [open_rpc::OPEN_RPC, meta_model::META_MODEL, keywords::METHOD_KEYWORDS];

/// The kind of a contract that no reader recognises: a JSON schema that defines its messages.
pub const JSON_SCHEMA: &str = "JSON Schema";

impl Contract {
    /// Converts the document to a JSON schema that defines all messages. Calls `build` with it and the kind of
    /// contract. Problems still point to places in the original document.
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
