//! A schema document before its keywords are interpreted.

use std::collections::HashMap;
use std::path::PathBuf;

use indexmap::IndexMap;

use crate::dialect::{CONTAINERS, Dialect, subschemas};
use crate::error::{Error, Problem};
use crate::json::Json;
use crate::json::pointer::escape;

/// The maximum size of a schema file, in bytes. MCP's own schemas are below 200 KB.
pub const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// A JSON schema document.
#[derive(Clone, Debug)]
pub struct Document {
    /// The name used in messages: the path as the caller gave it.
    pub file: String,
    /// SHA-256 of the bytes, in hexadecimal digits.
    pub sha256: String,
    /// The dialect the document is written in.
    pub dialect: Dialect,
    /// The whole document.
    pub root: Json,
    root_name: Option<String>,
    /// Further files that references lead to. Their contents are among the definitions.
    pub files: Vec<PathBuf>,
    /// The URIs of the added documents, by JSON pointer.
    pub(crate) added: HashMap<String, String>,
    /// Why a referenced document was not added, by its URI.
    pub(crate) refused: HashMap<String, String>,
    /// Keywords to accept as annotations, besides those that mcpgen knows.
    pub(crate) annotations: Vec<String>,
}

/// Options for reading a document.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The dialect to assume if `$schema` is absent or unknown. It is an error if a known `$schema` disagrees.
    pub dialect: Option<Dialect>,
    /// The name of the type at the root. Defaults to the file name without its extension.
    pub root_name: Option<String>,
    /// The folder against which relative references are resolved. Defaults to the folder of the file, if one is read.
    pub folder: Option<PathBuf>,
    /// A folder that stands in for remote schemas: the last segment of a reference's URI names the file.
    pub schema_folder: Option<PathBuf>,
    /// Keywords to accept as annotations: they do not affect which values are accepted.
    pub annotations: Vec<String>,
    /// Accepts a document as a schema even if no keyword at its root asserts anything.
    pub is_schema: bool,
}

impl Document {
    /// Creates a document from parsed JSON.
    ///
    /// # Errors
    /// Returns [`Error::Schema`] if the value is not a schema in a known dialect.
    pub fn of(file: String, root: Json, sha256: String, options: &ReadOptions) -> Result<Document, Error> {
        let dialect = dialect(&file, &root, options)?;
        if pointers_exceed(&root, MAX_POINTERS) {
            let why = format!("the JSON pointers of its schemas have more than {MAX_POINTERS} bytes in all");
            let remedy = "shorten the names that many schemas are nested below, or move these schemas to definitions";
            return Err(Error::Schema(vec![Problem::new(&file, "", why, remedy)]));
        }
        let (root_name, annotations) = (options.root_name.clone(), options.annotations.clone());
        Ok(Document {
            file,
            sha256,
            dialect,
            root,
            root_name,
            files: Vec::new(),
            added: HashMap::new(),
            refused: HashMap::new(),
            annotations,
        })
    }

    /// Returns the definitions by name, in file order.
    pub fn definitions(&self) -> &IndexMap<String, Json> {
        static NONE: std::sync::LazyLock<IndexMap<String, Json>> = std::sync::LazyLock::new(IndexMap::new);
        self.root.get(self.container()).and_then(Json::as_object).unwrap_or(&NONE)
    }

    /// Returns the keyword that holds the definitions: that of the dialect, or the other one if the document has only
    /// that.
    pub fn container(&self) -> &'static str {
        let own = self.dialect.container();
        let other = if own == "$defs" { "definitions" } else { "$defs" };
        if self.root.get(own).is_none() && self.root.get(other).is_some() { other } else { own }
    }

    /// Returns the name of the type at the root: the configured one, or the file name without its extension.
    pub fn root_name(&self) -> String {
        self.root_name.clone().unwrap_or_else(|| {
            let file = self.file.rsplit(['/', '\\']).next().unwrap_or_default();
            let stem = file.strip_suffix(".json").unwrap_or(file);
            let stem = stem.strip_suffix(".schema").unwrap_or(stem);
            if stem.is_empty() || stem == "-" { "Root".to_owned() } else { stem.to_owned() }
        })
    }

    /// Sets the name of the type at the root.
    pub fn set_root_name(&mut self, name: impl Into<String>) {
        self.root_name = Some(name.into());
    }

    /// Returns the JSON pointer of a definition.
    pub fn pointer(&self, definition: &str) -> String {
        format!("/{}/{}", self.container(), escape(definition))
    }
}

/// A small file can have huge pointers, for example if a long name encloses thousands of schemas.
const MAX_POINTERS: usize = 2 * MAX_BYTES as usize;

/// Returns whether the JSON pointers of all nested schemas add up to more than `limit` bytes.
pub fn pointers_exceed(schema: &Json, limit: usize) -> bool {
    let (mut stack, mut total) = (vec![(schema, 0)], 0);
    while let Some((schema, length)) = stack.pop() {
        for (suffix, inner) in subschemas(schema) {
            let length = length + suffix.len();
            total += length;
            stack.push((inner, length));
        }
        if total > limit {
            return true;
        }
    }
    false
}

/// Keywords that do not make the root of a document a type.
const ROOT_KEYWORDS: &[&str] = &["$schema", "$id", "id", "$comment", "title", "description", "definitions", "$defs"];

/// Returns whether the root is a type, rather than just a container for definitions.
pub(crate) fn is_type(root: &Json) -> bool {
    root.as_object().is_none_or(|members| members.keys().any(|key| !ROOT_KEYWORDS.contains(&key.as_str())))
}

/// Returns the dialect that `$schema` declares, if mcpgen reads it.
pub(crate) fn declared_dialect(members: &IndexMap<String, Json>) -> Option<Dialect> {
    Dialect::of_uri(members.get("$schema")?.as_str()?)
}

fn dialect(file: &str, root: &Json, options: &ReadOptions) -> Result<Dialect, Error> {
    let given = options.dialect;
    let problem = |pointer: &str, keyword: &str, why: String, remedy: &str| Problem {
        keyword: keyword.to_owned(),
        ..Problem::new(file, pointer, why, remedy)
    };
    const ANOTHER: &str = "use a JSON Schema, such as that of an MCP revision";
    let members = match root {
        Json::Object(members) => members,
        Json::Bool(_) => return Ok(given.unwrap_or(Dialect::Draft202012)),
        other => {
            let why = format!("expected a schema document (an object), found {}", other.type_name());
            return Err(Error::Schema(vec![problem("", "", why, ANOTHER)]));
        }
    };
    let mut problems = Vec::new();
    let declared = members.get("$schema").map(|uri| uri.as_str().unwrap_or_default());
    // This URI means "the latest version", without saying which one that is.
    let declared = declared.filter(|uri| uri.trim_end_matches('#') != "http://json-schema.org/schema");
    let dialect = match (declared, declared.and_then(Dialect::of_uri), given) {
        (_, Some(declared), Some(given)) if declared != given => {
            let why = format!("the document is written in {declared}, not in {given}");
            problems.push(problem("/$schema", "$schema", why, "leave out `--dialect`"));
            declared
        }
        (_, Some(declared), _) => declared,
        (_, None, Some(given)) => given,
        (Some(uri), None, None) => {
            let why = format!("{uri:?} is not a dialect that mcpgen reads");
            let remedy =
                "use JSON Schema draft-04, draft-06, draft-07, 2019-09 or 2020-12, or name one with `--dialect`";
            problems.push(problem("/$schema", "$schema", why, remedy));
            Dialect::Draft202012
        }
        (None, None, None) if members.contains_key("$defs") => Dialect::Draft202012,
        (None, None, None) => Dialect::Draft07,
    };
    let mut has_definitions = false;
    for container in CONTAINERS {
        match members.get(container) {
            Some(Json::Object(definitions)) => has_definitions |= !definitions.is_empty(),
            None => {}
            Some(other) => problems.push(problem(
                &format!("/{container}"),
                container,
                format!("expected an object of definitions, found {}", other.type_name()),
                "make it an object of schemas by name",
            )),
        }
    }
    if problems.is_empty() && !options.is_schema && !has_definitions && !is_type(root) {
        problems.push(problem("", dialect.container(), "the document defines no types".into(), ANOTHER));
    }
    if problems.is_empty() { Ok(dialect) } else { Err(Error::Schema(problems)) }
}
