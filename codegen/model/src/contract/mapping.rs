//! The mapping file, such as `protocol.toml`: lists the messages of a protocol whose schema does not.
//!
//! ```toml
//! [[request]]
//! definition = "InitializeRequest"        # the type of the message, or of its params
//! method = "initialize"                   # default: the constant member `method` or `command` of the definition
//! params = "InitializeRequestArguments"   # default: its member `params` or `arguments`
//! result = "Capabilities"                 # default: from the definition `InitializeResult` or `InitializeResponse`
//! direction = "client-to-server"          # or "server-to-client", "both"; default: unknown
//!
//! [[notification]]
//! definition = "StoppedEvent"
//! direction = "server-to-client"
//! ```

use std::path::Path;

use mcpgen_schema::{Document, Error, Problem};
use serde::Deserialize;

use crate::direction::Side;

/// The contents of a mapping file.
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    /// The file, as the caller named it.
    pub file: String,
    /// The requests and notifications, in file order.
    pub messages: Vec<MappedMessage>,
}

/// A request or notification.
#[derive(Clone, Debug)]
pub struct MappedMessage {
    /// Whether this is a request.
    pub is_request: bool,
    /// The entry in the file.
    pub entry: Entry,
}

/// An entry in the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The definition of the message, or of its params.
    pub definition: String,
    /// The method. Defaults to the constant member `method` or `command` of the definition.
    pub method: Option<String>,
    /// The definition of the params. Defaults to the member `params` or `arguments`.
    pub params: Option<String>,
    /// The definition of the result. Defaults to the definition named like the request.
    pub result: Option<String>,
    /// Who sends the message, if that is known.
    pub direction: Option<Direction>,
}

/// Who sends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The client sends it.
    ClientToServer,
    /// The server sends it.
    ServerToClient,
    /// Either side may send it.
    Both,
}

impl Direction {
    pub(crate) fn senders(self) -> &'static [Side] {
        match self {
            Direction::ClientToServer => &[Side::Client],
            Direction::ServerToClient => &[Side::Server],
            Direction::Both => &[Side::Client, Side::Server],
        }
    }
}

impl Mapping {
    /// Reads a mapping file.
    ///
    /// # Errors
    /// Returns [`Error::Io`], or [`Error::Schema`] if the file is not a mapping.
    pub fn read(path: &Path) -> Result<Mapping, Error> {
        let text = std::fs::read_to_string(path).map_err(Error::io("reading", path))?;
        Mapping::parse(path.display().to_string(), &text)
    }

    /// Parses a mapping. Error messages call it `file`.
    ///
    /// # Errors
    /// Returns [`Error::Schema`] if the text is not a mapping.
    pub fn parse(file: impl Into<String>, text: &str) -> Result<Mapping, Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Tables {
            #[serde(default)]
            request: Vec<Entry>,
            #[serde(default)]
            notification: Vec<Entry>,
        }
        let file = file.into();
        let tables: Tables = toml::from_str(text).map_err(|error| {
            let remedy = "write tables [[request]] and [[notification]] with `definition`, `method`, `params`, \
                          `result` and `direction`";
            Error::Schema(vec![problem(&file, "", "", error.to_string(), remedy)])
        })?;
        let requests = tables.request.into_iter().map(|entry| MappedMessage { is_request: true, entry });
        let notifications = tables.notification.into_iter().map(|entry| MappedMessage { is_request: false, entry });
        let mapping = Mapping { file, messages: requests.chain(notifications).collect() };
        let results = mapping.messages.iter().filter(|it| !it.is_request && it.entry.result.is_some());
        let problems: Vec<Problem> = results
            .map(|it| mapping.problem(&it.entry, "result", "a notification has no result", "remove `result`"))
            .collect();
        if problems.is_empty() { Ok(mapping) } else { Err(Error::Schema(problems)) }
    }

    /// Adds the messages that the contract itself lists. If the mapping has an entry for the same definition, the entry
    /// wins, but if it states no direction or result, it gets those of the contract.
    pub(super) fn with_listed(mut self, listed: Vec<MappedMessage>) -> Self {
        let mut added = Vec::new();
        for message in listed {
            let same = |it: &&mut MappedMessage| {
                it.is_request == message.is_request && it.entry.definition == message.entry.definition
            };
            match self.messages.iter_mut().find(same) {
                Some(MappedMessage { entry, .. }) => {
                    entry.direction = entry.direction.or(message.entry.direction);
                    entry.result = entry.result.take().or(message.entry.result);
                }
                None => added.push(message),
            }
        }
        self.messages.splice(0..0, added);
        self
    }

    /// Returns the definitions of the messages or their params.
    pub fn definitions(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().map(|message| message.entry.definition.as_str())
    }

    /// Returns the messages that could belong to a document. A JSON schema lists its definitions, so others are
    /// dropped; other contracts define messages differently, so all are kept.
    #[must_use]
    pub fn of_definitions(&self, document: &Document) -> Mapping {
        let definitions = document.definitions();
        let is_defined =
            |message: &&MappedMessage| definitions.is_empty() || definitions.contains_key(&message.entry.definition);
        Mapping { file: self.file.clone(), messages: self.messages.iter().filter(is_defined).cloned().collect() }
    }

    /// Returns the file name without its folder.
    pub fn file_name(&self) -> &str {
        self.file.rsplit(['/', '\\']).next().unwrap_or_default()
    }

    /// Creates a problem about an entry.
    pub fn problem(&self, entry: &Entry, key: &str, why: impl Into<String>, remedy: &str) -> Problem {
        problem(&self.file, &entry.definition, key, why.into(), remedy)
    }
}

fn problem(file: &str, definition: &str, key: &str, why: String, remedy: &str) -> Problem {
    Problem { definition: definition.to_owned(), keyword: key.to_owned(), ..Problem::new(file, "", why, remedy) }
}
