//! The error type. Messages name the place, and a remedy where there is one.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::text::visible;

/// What can go wrong in mcpgen.
///
/// [`Error::Json`] and [`Error::Schema`] are problems with the schema, [`Error::Usage`] with the call, and
/// [`Error::Io`] with the file system. [`Error::Defect`] is a bug in mcpgen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is not JSON, nests too deeply, or has an object with a duplicate key.
    #[error("{file}:{line}:{column}: invalid JSON: {why}")]
    Json {
        /// The file, as the caller named it.
        file: String,
        /// The 1-based line, or 0 if unknown.
        line: usize,
        /// The 1-based column, or 0 if unknown.
        column: usize,
        /// The parser's message.
        why: String,
    },
    /// mcpgen does not understand the schema. All independent problems are reported together.
    #[error("{}", list(.0))]
    Schema(Vec<Problem>),
    /// A file or folder could not be read or written.
    #[error("{action} {}", path.display())]
    Io {
        /// The operation, such as "reading".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The call is wrong. The text includes a remedy.
    #[error("{0}")]
    Usage(String),
    /// A bug in mcpgen, not in the schema.
    #[error("{0}; please report this with the schema")]
    Defect(String),
}

impl Error {
    /// Returns a closure for `map_err` that adds the operation, such as "reading", and the path.
    pub fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { action, path, source }
    }

    /// Turns "not found" into `None`.
    ///
    /// # Errors
    /// Returns [`Error::Io`] for any other error.
    pub fn unless_missing<T>(read: std::io::Result<T>, path: &Path) -> Result<Option<T>, Error> {
        match read {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some).map_err(Error::io("reading", path)),
        }
    }
}

/// A problem at one place in a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as the caller named it.
    pub file: String,
    /// The enclosing definition. Empty for the root of the document.
    pub definition: String,
    /// The JSON pointer of the place.
    pub pointer: String,
    /// The JSON Schema keyword. Empty if the problem concerns none.
    pub keyword: String,
    /// What is wrong.
    pub why: String,
    /// How the author of the schema can fix it.
    pub remedy: String,
}

impl Problem {
    /// Creates a problem without a definition or a keyword.
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

/// A malicious file can have millions of problems, so only this many are listed.
const SHOWN: usize = 50;

fn list(problems: &[Problem]) -> String {
    let mut text: Vec<String> = problems.iter().take(SHOWN).map(Problem::to_string).collect();
    if problems.len() > SHOWN {
        text.push(format!("… and {} more", problems.len() - SHOWN));
    }
    text.join("\n")
}
