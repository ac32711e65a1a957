//! What can go wrong, in words that name the place and the remedy.

use std::fmt;
use std::path::PathBuf;

/// Everything that the library can fail with.
///
/// The variants separate "your schema" ([`Error::Json`], [`Error::Schema`]) from "your call" and "your disk".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is not JSON, or not JSON that can be trusted (a key given twice, nesting beyond the limit).
    #[error("{file}:{line}:{column}: not readable as JSON: {why}")]
    Json {
        /// The file, as the caller named it.
        file: String,
        /// 1-based line, 0 if unknown.
        line: usize,
        /// 1-based column, 0 if unknown.
        column: usize,
        /// What the parser says.
        why: String,
    },
    /// The document is JSON but not a schema that mcpgen understands. All independent problems are reported together.
    #[error("{}", list(.0))]
    Schema(Vec<Problem>),
    /// A file or folder could not be read or written.
    #[error("{action} {}", path.display())]
    Io {
        /// What was being done: "reading", "writing", …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's word.
        source: std::io::Error,
    },
    /// The request itself cannot be carried out; the text says what to do instead.
    #[error("{0}")]
    Usage(String),
    /// The generator produced something that is not Rust: a defect of mcpgen, never of the schema.
    #[error("mcpgen produced invalid Rust for {item}: {why}; please report this with the schema")]
    Emit {
        /// The item or file that failed.
        item: String,
        /// The message of the Rust parser.
        why: String,
    },
    /// typify did not resolve a type expression: a defect of mcpgen or typify, never of the schema.
    #[error("mcpgen found no Rust type for {item}: {why}; please report this with the schema")]
    RustType {
        /// The type expression.
        item: String,
        /// What typify reported.
        why: String,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { action, path, source }
    }
}

/// One thing in a schema that mcpgen does not accept, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as the caller named it.
    pub file: String,
    /// The definition it lies in; empty for the root of the document.
    pub definition: String,
    /// JSON pointer into the document.
    pub pointer: String,
    /// The JSON Schema keyword at fault; empty where none is.
    pub keyword: String,
    /// Why it cannot be accepted.
    pub why: String,
    /// What the author can do about it.
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}: ", self.file, self.pointer)?;
        if !self.definition.is_empty() {
            write!(f, "definition `{}`: ", self.definition)?;
        }
        if !self.keyword.is_empty() {
            write!(f, "keyword `{}`: ", self.keyword)?;
        }
        write!(f, "{}", self.why)?;
        if !self.remedy.is_empty() {
            write!(f, "\n  help: {}", self.remedy)?;
        }
        Ok(())
    }
}

/// Problems shown in one run; a hostile file can have millions.
const SHOWN: usize = 50;

fn list(problems: &[Problem]) -> String {
    let mut text: Vec<String> = problems.iter().take(SHOWN).map(Problem::to_string).collect();
    if problems.len() > SHOWN {
        text.push(format!("… and {} more", problems.len() - SHOWN));
    }
    text.join("\n")
}
