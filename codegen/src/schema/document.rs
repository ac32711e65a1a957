//! Stage 1: reads a schema file. Nothing is interpreted yet.

use std::path::Path;

use indexmap::IndexMap;
use sha2::{Digest, Sha256};

use crate::error::{Error, Problem};
use crate::json::Json;
use crate::json::pointer::escape;
use crate::text::hex;

/// The maximum size of a schema file. The official ones have less than 200 KB.
pub(crate) const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// A JSON schema document: its text's digest, its dialect and its definitions.
#[derive(Clone, Debug)]
pub struct Document {
    /// The name of the document in messages: the path as the caller gave it.
    pub file: String,
    /// SHA-256 of the bytes, in hex.
    pub sha256: String,
    /// The dialect of JSON Schema.
    pub dialect: Dialect,
    /// The whole document.
    pub root: Json,
}

/// The JSON Schema dialects of official MCP schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// draft-07: `definitions`; keywords next to `$ref` are ignored.
    Draft07,
    /// 2020-12: `$defs`; keywords next to `$ref` apply.
    Draft202012,
}

impl Dialect {
    /// Returns the keyword that contains the definitions.
    pub fn container(self) -> &'static str {
        match self {
            Dialect::Draft07 => "definitions",
            Dialect::Draft202012 => "$defs",
        }
    }
}

impl Document {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Json`], or [`Error::Schema`] if it is too large or not a schema of a known dialect.
    pub fn read(path: &Path) -> Result<Document, Error> {
        let file = path.display().to_string();
        let size = std::fs::metadata(path).map_err(Error::io("reading", path))?.len();
        if size > MAX_BYTES {
            return Err(too_large(&file, size));
        }
        Document::parse(file, &std::fs::read(path).map_err(Error::io("reading", path))?)
    }

    /// Reads bytes. Messages refer to them as `file`.
    ///
    /// # Errors
    /// [`Error::Json`], or [`Error::Schema`] if it is too large or not a schema of a known dialect.
    pub fn parse(file: impl Into<String>, bytes: &[u8]) -> Result<Document, Error> {
        let file = file.into();
        if bytes.len() as u64 > MAX_BYTES {
            return Err(too_large(&file, bytes.len() as u64));
        }
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let root: Json = serde_json::from_slice(text).map_err(|error| Error::Json {
            file: file.clone(),
            line: error.line(),
            column: error.column(),
            why: error.to_string(),
        })?;
        let dialect = dialect(&file, &root)?;
        Ok(Document { file, sha256: hex(&Sha256::digest(bytes)), dialect, root })
    }

    /// Returns the definitions by name, in the order of the file.
    pub fn definitions(&self) -> &IndexMap<String, Json> {
        static NONE: std::sync::LazyLock<IndexMap<String, Json>> = std::sync::LazyLock::new(IndexMap::new);
        self.root.get(self.dialect.container()).and_then(Json::as_object).unwrap_or(&NONE)
    }

    /// Returns the JSON pointer of a definition.
    pub fn pointer(&self, definition: &str) -> String {
        format!("/{}/{}", self.dialect.container(), escape(definition))
    }
}

/// The keywords that are allowed at the root of a document.
const ROOT_KEYWORDS: &[&str] = &["$schema", "$id", "$comment", "title", "description", "definitions", "$defs"];

fn dialect(file: &str, root: &Json) -> Result<Dialect, Error> {
    let problem = |pointer: &str, keyword: &str, why: String, remedy: &str| Problem {
        file: file.to_owned(),
        definition: String::new(),
        pointer: pointer.to_owned(),
        keyword: keyword.to_owned(),
        why,
        remedy: remedy.to_owned(),
    };
    let Json::Object(members) = root else {
        let why = format!("a schema document is an object, this is {}", root.type_name());
        return Err(Error::Schema(vec![problem("", "", why, "use the schema.json of an MCP revision")]));
    };
    let mut problems = Vec::new();
    for key in members.keys().filter(|key| !ROOT_KEYWORDS.contains(&key.as_str())) {
        problems.push(problem(
            &format!("/{}", escape(key)),
            key,
            "mcpgen does not implement this keyword at the root of a document".into(),
            "move it into a definition",
        ));
    }
    let dialect =
        match (members.get("$schema").map(|uri| uri.as_str().unwrap_or_default()), members.contains_key("$defs")) {
            (Some(uri), _) if uri.contains("draft-07/schema") => Dialect::Draft07,
            (Some(uri), _) if uri.contains("draft/2020-12/schema") => Dialect::Draft202012,
            (Some(uri), _) => {
                problems.push(problem(
                    "/$schema",
                    "$schema",
                    format!("{uri:?} is not a dialect that mcpgen reads"),
                    "use JSON Schema draft-07 or 2020-12",
                ));
                Dialect::Draft202012
            }
            (None, true) => Dialect::Draft202012,
            (None, false) => Dialect::Draft07,
        };
    let (container, other) = match dialect {
        Dialect::Draft07 => ("definitions", "$defs"),
        Dialect::Draft202012 => ("$defs", "definitions"),
    };
    if members.contains_key(other) {
        problems.push(problem(
            &format!("/{other}"),
            other,
            format!("in the dialect of this document, definitions are in `{container}`"),
            "move the definitions to the keyword of the dialect",
        ));
    }
    match members.get(container) {
        Some(Json::Object(definitions)) if !definitions.is_empty() => {}
        Some(Json::Object(_)) | None => problems.push(problem(
            "",
            container,
            "the document defines no types".into(),
            "use the schema.json of an MCP revision",
        )),
        Some(other) => problems.push(problem(
            &format!("/{container}"),
            container,
            format!("expected an object of definitions, found {}", other.type_name()),
            "make it an object of schemas by name",
        )),
    }
    if problems.is_empty() { Ok(dialect) } else { Err(Error::Schema(problems)) }
}

fn too_large(file: &str, size: u64) -> Error {
    Error::Schema(vec![Problem {
        file: file.to_owned(),
        definition: String::new(),
        pointer: String::new(),
        keyword: String::new(),
        why: format!("the file has {size} bytes, more than the limit of {MAX_BYTES}"),
        remedy: "check the path; official schemas have less than 200 KB".into(),
    }])
}
