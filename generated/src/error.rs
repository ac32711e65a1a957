//! Decoding errors.

use std::borrow::Cow;
use std::fmt;

use crate::codec::Cursor;
use crate::codec::evaluate::words::{json_text, key_text, one_of, path_text, too_many_checks};

/// Why a JSON document could not be decoded: the type, the path, what was expected and what was found.
///
/// `Display` writes one sentence of bounded length, starting with the root type and the path:
///
/// ```text
/// Tool: inputSchema.type: expected constant "object", found "array"
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    type_name: Cow<'static, str>,
    /// The innermost segment comes first.
    path: Vec<Segment>,
    kind: ErrorKind,
    position: Option<(usize, usize)>,
    /// The index entry of the invalid value, until its path is known.
    token: Option<u32>,
}

#[derive(Clone)]
pub(crate) enum Segment {
    Key(Cow<'static, str>),
    Index(usize),
}

/// What is wrong with a document.
///
/// `found` values are JSON text, shortened to about 60 characters. Arrays and objects appear only as the word `array`
/// or `object`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A required member is absent. The path ends in its name.
    Missing,
    /// A known member occurs twice in one object.
    Duplicate,
    /// A member is unknown, and the type does not allow additional members.
    Unexpected,
    /// A member cannot be combined with another member of the same object.
    Conflict {
        /// The other member.
        with: &'static str,
    },
    /// The value has the wrong JSON type.
    Type {
        /// The expected JSON type or types, such as `string or null`.
        expected: Cow<'static, str>,
        /// The JSON type found, with the value if the type alone does not explain the error.
        found: String,
    },
    /// The value differs from the required constant.
    Constant {
        /// The constant as JSON text.
        expected: String,
        /// The value found.
        found: String,
    },
    /// The value is not in the list of allowed values.
    Value {
        /// The allowed values, each as JSON text.
        expected: Vec<String>,
        /// The value found.
        found: String,
    },
    /// The number is out of bounds.
    Bound {
        /// The violated bound, such as `at least 0`.
        expected: String,
        /// The number found.
        found: String,
    },
    /// The string or array is too short or too long.
    Length {
        /// The violated limit, such as `at most 64 characters`.
        expected: String,
        /// The actual length, in the unit of the limit.
        found: u64,
    },
    /// The value violates an assertion that its Rust type cannot express, such as `pattern` or `not`.
    Assertion {
        /// What was expected and what was found, in words.
        message: String,
    },
    /// Matching a regular expression took too many steps, so the value may or may not be valid. All patterns of a
    /// document share one million steps, plus 100 per byte. Visiting one state of a pattern at one character takes a
    /// step.
    PatternTooExpensive {
        /// The regular expression.
        pattern: &'static str,
    },
    /// Too many nested checks apply, such as `not` inside `not`, so the value may or may not be valid.
    TooManyChecks,
    /// The value matches no variant of a union.
    NoVariant {
        /// What selects a variant, such as `one of "text", "image"`.
        expected: String,
        /// The value found, or `None` if the discriminating member is absent.
        found: Option<String>,
    },
    /// The client or server that sent the message has no such method.
    UnknownMethod {
        /// The method found.
        method: String,
        /// Whether the message is a request (it has an `id`) or a notification.
        request: bool,
    },
    /// The schema allows no value here.
    Uninhabited,
    /// Arrays and objects are nested more than [`MAX_DEPTH`](crate::codec::MAX_DEPTH) levels deep.
    Depth,
    /// The text is not valid JSON, or is 512 MiB or longer.
    Json {
        /// The parser's message.
        message: String,
    },
    /// A type that is not generated rejected the value.
    Custom {
        /// The type's message.
        message: String,
    },
    /// Reading or writing the bytes failed.
    Io {
        /// The kind of I/O error.
        kind: std::io::ErrorKind,
        /// The reader's or writer's message.
        message: String,
    },
}

impl Error {
    /// Creates an error at the root, without a type name.
    #[must_use]
    #[cold]
    pub fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { type_name: Cow::Borrowed(""), path: Vec::new(), kind, position: None, token: None }))
    }

    /// Returns the kind of error.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the path in the document as a JSON Pointer (RFC 6901), such as `/tools/1/inputSchema`. Empty for the
    /// root.
    #[must_use]
    pub fn path(&self) -> String {
        let mut pointer = String::new();
        for segment in self.0.path.iter().rev() {
            pointer.push('/');
            match segment {
                Segment::Key(key) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
                Segment::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        pointer
    }

    /// Returns the name of the root type, or an empty string if it is not set.
    #[must_use]
    pub fn type_name(&self) -> &str {
        &self.0.type_name
    }

    /// Returns the line, counting from 1, if the document is text.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.0.position.map(|(line, _)| line)
    }

    /// Returns the column in bytes, counting from 1, if the document is text. Column 0 is the end of the previous line.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.0.position.map(|(_, column)| column)
    }

    /// Replaces the name of the root type.
    #[must_use]
    #[cold]
    pub fn with_type_name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.0.type_name = name.into();
        self
    }

    /// Prepends the member `key` to the path.
    #[must_use]
    #[cold]
    pub fn at_key(mut self, key: impl Into<Cow<'static, str>>) -> Self {
        self.0.path.push(Segment::Key(key.into()));
        self
    }

    /// Prepends the array index `index` to the path.
    #[must_use]
    #[cold]
    pub fn at_index(mut self, index: usize) -> Self {
        self.0.path.push(Segment::Index(index));
        self
    }

    /// Creates the error for a missing member.
    #[must_use]
    #[cold]
    pub fn missing(name: &'static str) -> Self {
        Self::new(ErrorKind::Missing).at_key(name)
    }

    #[cold]
    pub(crate) fn at_position(mut self, position: (usize, usize)) -> Self {
        self.0.position = Some(position);
        self
    }

    #[cold]
    pub(crate) fn without_position(mut self) -> Self {
        self.0.position = None;
        self
    }

    /// Records the invalid value, unless a token or position is already set.
    #[cold]
    pub(crate) fn at_token(mut self, token: u32) -> Self {
        if self.0.position.is_none() {
            self.0.token = self.0.token.or(Some(token));
        }
        self
    }

    /// Adds the path and the position to an error, relative to `root`. If you call [`Decode::decode`] directly, call
    /// this on its errors, because decoders only record the invalid value.
    ///
    /// [`Decode::decode`]: crate::codec::Decode::decode
    #[cold]
    #[must_use]
    pub fn located_from(mut self, root: Cursor<'_>) -> Self {
        let Some(token) = self.0.token.take() else { return self };
        let mut segments = Vec::new();
        let mut value = root;
        while let Some((segment, inner)) = value.step(token) {
            segments.push(segment);
            value = inner;
        }
        self.0.path.extend(segments.into_iter().rev());
        self.at_position(root.position_of(token))
    }

    #[cold]
    pub(crate) fn json(message: &str) -> Self {
        Self::new(ErrorKind::Json { message: message.to_owned() })
    }

    #[cold]
    pub(crate) fn io(error: &std::io::Error) -> Self {
        Self::new(ErrorKind::Io { kind: error.kind(), message: error.to_string() })
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.type_name.is_empty() {
            write!(f, "{}: ", self.0.type_name)?;
        }
        if !self.0.path.is_empty() {
            let segments = self.0.path.iter().rev().map(|segment| match segment {
                Segment::Index(index) => format!("[{index}]"),
                Segment::Key(key) => key_text(key),
            });
            write!(f, "{}: ", path_text(segments.collect()))?;
        }
        self.0.kind.fmt(f)?;
        match (&self.0.kind, self.0.position) {
            (ErrorKind::Json { .. }, Some((line, column))) => write!(f, " at line {line} column {column}"),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("type_name", &self.type_name())
            .field("path", &self.path())
            .field("kind", self.kind())
            .field("line", &self.line())
            .field("column", &self.column())
            .finish()
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("missing required member"),
            Self::Duplicate => f.write_str("member given twice"),
            Self::Unexpected => f.write_str("unexpected member"),
            Self::Conflict { with } => write!(f, "cannot be combined with `{with}`"),
            Self::Type { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::Constant { expected, found } => write!(f, "expected constant {expected}, found {found}"),
            Self::Value { expected, found } => write!(f, "expected {}, found {found}", one_of(expected)),
            Self::Bound { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::Length { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::NoVariant { expected, found: Some(found) } => write!(f, "expected {expected}, found {found}"),
            Self::NoVariant { expected, found: None } => write!(f, "missing required member: expected {expected}"),
            Self::UnknownMethod { method, request } => {
                let what = if *request { "request" } else { "notification" };
                write!(f, "unknown {what} method {}", json_text(method))
            }
            Self::Uninhabited => f.write_str("no value is valid here"),
            Self::Depth => write!(f, "nested more than {} levels deep", crate::codec::MAX_DEPTH),
            Self::PatternTooExpensive { pattern } => {
                let pattern = json_text(pattern);
                write!(
                    f,
                    "pattern too expensive: {pattern} takes too many steps; shorten the text, or simplify the pattern"
                )
            }
            Self::TooManyChecks => f.write_str(&too_many_checks()),
            Self::Assertion { message }
            | Self::Json { message }
            | Self::Custom { message }
            | Self::Io { message, .. } => f.write_str(message),
        }
    }
}
