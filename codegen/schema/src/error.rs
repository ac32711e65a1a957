//! Errors. Each message names the place and the remedy.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::text::visible;

/// An error of mcpgen.
///
/// [`Error::Json`] and [`Error::Schema`] are about the schema, [`Error::Usage`] is about the call, and [`Error::Io`]
/// about the file system. [`Error::Defect`] is a defect of mcpgen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is not JSON, has an object with a duplicate key, or is nested too deeply.
    #[error("{file}:{line}:{column}: invalid JSON: {why}")]
    Json {
        /// The file, as the caller named it.
        file: String,
        /// 1-based line, 0 if unknown.
        line: usize,
        /// 1-based column, 0 if unknown.
        column: usize,
        /// The message of the parser.
        why: String,
    },
    /// The document is not a schema that mcpgen understands. All independent problems are reported together.
    #[error("{}", list(.0))]
    Schema(Vec<Problem>),
    /// A file or folder could not be read or written.
    #[error("{action} {}", path.display())]
    Io {
        /// The operation: "reading", "writing", ….
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The call is wrong. The text includes the remedy.
    #[error("{0}")]
    Usage(String),
    /// A defect of mcpgen, not of the schema.
    #[error("{0}; please report this with the schema")]
    Defect(String),
}

impl Error {
    /// Returns a function that adds the operation, such as "reading", and the file to an error of the file system.
    pub fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { action, path, source }
    }

    /// Returns what was read from a file, or `None` if there is no such file.
    ///
    /// # Errors
    /// [`Error::Io`] if the file could not be read.
    pub fn unless_missing<T>(read: std::io::Result<T>, path: &Path) -> Result<Option<T>, Error> {
        match read {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some).map_err(Error::io("reading", path)),
        }
    }
}

/// A part of a schema that mcpgen does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as the caller named it.
    pub file: String,
    /// The definition that contains it. Empty for the root of the document.
    pub definition: String,
    /// JSON pointer into the document.
    pub pointer: String,
    /// The JSON Schema keyword, or an empty string if the problem is not about one.
    pub keyword: String,
    /// The reason.
    pub why: String,
    /// What the author of the schema can do.
    pub remedy: String,
}

impl Problem {
    /// Creates a problem that is neither about a definition nor about a keyword.
    pub fn new(
        file: impl Into<String>,
        pointer: impl Into<String>,
        why: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (file, pointer, why, remedy) = (file.into(), pointer.into(), why.into(), remedy.into());
        Problem { file, definition: String::new(), pointer, keyword: String::new(), why, remedy }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}: ", visible(&self.file), visible(&self.pointer))?;
        if !self.definition.is_empty() {
            write!(f, "definition `{}`: ", visible(&self.definition))?;
        }
        if !self.keyword.is_empty() {
            write!(f, "keyword `{}`: ", visible(&self.keyword))?;
        }
        write!(f, "{}", visible(&self.why))?;
        if !self.remedy.is_empty() {
            write!(f, "\n  help: {}", visible(&self.remedy))?;
        }
        Ok(())
    }
}

/// The number of problems that a message lists. A malicious file can have millions.
const SHOWN: usize = 50;

fn list(problems: &[Problem]) -> String {
    let mut text: Vec<String> = problems.iter().take(SHOWN).map(Problem::to_string).collect();
    if problems.len() > SHOWN {
        text.push(format!("… and {} more", problems.len() - SHOWN));
    }
    text.join("\n")
}
