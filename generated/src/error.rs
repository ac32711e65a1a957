//! What went wrong, and where.

use std::borrow::Cow;
use std::fmt;

use crate::codec::Cursor;

/// A JSON document that is not what a type asks for: which type, where in the document, what was
/// expected and what was found.
///
/// It is displayed as one sentence of bounded length, the root type first and the path second:
///
/// ```text
/// Tool: inputSchema.type: expected constant "object", found "array"
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    type_name: Cow<'static, str>,
    /// Innermost segment first.
    path: Vec<Segment>,
    kind: ErrorKind,
    position: Option<(usize, usize)>,
    /// The index of the value that the path starts from, until its own path is known.
    token: Option<u32>,
}

#[derive(Clone)]
enum Segment {
    Key(Cow<'static, str>),
    Index(usize),
}

/// What is wrong at an [`Error`]'s path.
///
/// `found` values are JSON text, shortened to about 60 characters; of an array or an object only
/// the word `array` or `object` is told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A required member is absent. The path ends in the name of the member.
    Missing,
    /// A member that the type knows stands twice in one object.
    Duplicate,
    /// A member that the type neither knows nor admits.
    Unexpected,
    /// A member that excludes another member of the same object.
    Conflict {
        /// The other member.
        with: &'static str,
    },
    /// The value has another JSON type.
    Type {
        /// The JSON type, or types, asked for, such as `string or null`.
        expected: Cow<'static, str>,
        /// The JSON type found, with the value if the type alone does not explain the error.
        found: String,
    },
    /// The value is not the constant.
    Constant {
        /// The constant as JSON text.
        expected: String,
        /// The value found.
        found: String,
    },
    /// The value is none of a closed list.
    Value {
        /// The list, each value as JSON text.
        expected: Vec<String>,
        /// The value found.
        found: String,
    },
    /// The number lies outside its bounds.
    Bound {
        /// The bound that does not hold, such as `at least 0`.
        expected: String,
        /// The number found.
        found: String,
    },
    /// The string or the array is too short or too long.
    Length {
        /// The limit that does not hold, such as `at most 64 characters`.
        expected: String,
        /// The length found, in the unit of the limit.
        found: u64,
    },
    /// No member of a union is responsible for the value.
    NoMember {
        /// What would have decided for a member, such as `one of "text", "image"`.
        expected: String,
        /// The value found; `None` if the member that decides is absent.
        found: Option<String>,
    },
    /// The direction of the message has no such method.
    UnknownMethod {
        /// The method found.
        method: String,
        /// Whether the message is a request (it has an `id`) or a notification.
        request: bool,
    },
    /// The schema of this value admits no value at all.
    Uninhabited,
    /// More than [`MAX_DEPTH`](crate::codec::MAX_DEPTH) arrays and objects inside one another.
    Depth,
    /// The text is not JSON, or the source of the data failed.
    Json {
        /// The parser's words.
        message: String,
    },
    /// A type that is not generated does not accept the value.
    Custom {
        /// The type's message.
        message: String,
    },
    /// The bytes could not be read or written.
    Io {
        /// The kind of failure.
        kind: std::io::ErrorKind,
        /// The words of the reader or the writer.
        message: String,
    },
}

impl Error {
    /// An error at the root, of no type yet.
    #[must_use]
    #[cold]
    pub fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { type_name: Cow::Borrowed(""), path: Vec::new(), kind, position: None, token: None }))
    }

    /// What is wrong.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Where in the document, as a JSON Pointer (RFC 6901): `/tools/1/inputSchema`; empty at the root.
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

    /// The name of the type that was decoded, at the root of the path; empty if nobody has named it.
    #[must_use]
    pub fn type_name(&self) -> &str {
        &self.0.type_name
    }

    /// The line, from 1, if the document is text.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.0.position.map(|(line, _)| line)
    }

    /// The column in bytes, from 1, if the document is text. (0 is the end of the line before.)
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.0.position.map(|(_, column)| column)
    }

    /// Names the type, or the thing, at the root of the path anew.
    #[must_use]
    #[cold]
    pub fn with_type_name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.0.type_name = name.into();
        self
    }

    /// The same error seen from the object whose member `key` it is in.
    #[must_use]
    #[cold]
    pub fn at_key(mut self, key: impl Into<Cow<'static, str>>) -> Self {
        self.0.path.push(Segment::Key(key.into()));
        self
    }

    /// The same error seen from the array whose element `index` it is in.
    #[must_use]
    #[cold]
    pub fn at_index(mut self, index: usize) -> Self {
        self.0.path.push(Segment::Index(index));
        self
    }

    /// The absence of the required member `name`.
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

    /// The same error at a value of a document, unless it already knows its place.
    #[cold]
    pub(crate) fn at_token(mut self, token: u32) -> Self {
        if self.0.position.is_none() {
            self.0.token = self.0.token.or(Some(token));
        }
        self
    }

    /// The same error with its path and position, which start at `root`. Decoders report where an error is by a cursor;
    /// whoever calls them directly completes their errors with this.
    #[cold]
    #[must_use]
    pub fn located_from(mut self, root: Cursor<'_>) -> Self {
        let Some(token) = self.0.token.take() else { return self };
        let mut segments = Vec::new();
        let mut value = root;
        while let Some((segment, inner)) = value.step(token) {
            segments.push(match segment {
                Ok(key) => Segment::Key(key.into()),
                Err(index) => Segment::Index(index),
            });
            value = inner;
        }
        self.0.path.extend(segments.into_iter().rev());
        self.at_position(root.position_of(token))
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
            write_path(&self.0.path, f)?;
            f.write_str(": ")?;
        }
        self.0.kind.fmt(f)?;
        match (&self.0.kind, self.0.position) {
            (ErrorKind::Json { .. }, Some((line, column))) => {
                write!(f, " at line {line} column {column}")
            }
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
            Self::Conflict { with } => write!(f, "must not stand beside `{with}`"),
            Self::Type { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::Constant { expected, found } => {
                write!(f, "expected constant {expected}, found {found}")
            }
            Self::Value { expected, found } => {
                write!(f, "expected {}, found {found}", one_of(expected))
            }
            Self::Bound { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::Length { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::NoMember { expected, found: Some(found) } => write!(f, "expected {expected}, found {found}"),
            Self::NoMember { expected, found: None } => write!(f, "missing required member: expected {expected}"),
            Self::UnknownMethod { method, request } => {
                let what = if *request { "request" } else { "notification" };
                write!(f, "unknown {what} method {}", json_text(method))
            }
            Self::Uninhabited => f.write_str("no value is valid here"),
            Self::Depth => write!(f, "more than {} arrays and objects inside one another", crate::codec::MAX_DEPTH),
            Self::Json { message } | Self::Custom { message } | Self::Io { message, .. } => f.write_str(message),
        }
    }
}

/// `a` alone, or `one of a, b, c`.
pub(crate) fn one_of(values: &[String]) -> String {
    match values {
        [value] => value.clone(),
        _ => format!("one of {}", values.join(", ")),
    }
}

/// The JSON text of a string, shortened so that a message stays one line of reasonable length.
pub(crate) fn json_text(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        // The opening quote is one of them.
        if quoted.chars().count() > WIDTH {
            quoted.push('…');
            break;
        }
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// How many characters of a string, and how many at each end of a path, a message shows.
const WIDTH: usize = 60;
const PATH_END_WIDTH: usize = 150;

/// All segments; of a path too long for a message, those at its beginning and at its end.
fn write_path(path: &[Segment], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut segments: Vec<String> = path.iter().rev().map(Segment::text).collect();
    if let Some(first) = segments.first_mut().filter(|first| first.starts_with('.')) {
        first.remove(0);
    }
    let begin = fitting(segments.iter());
    let end = segments.len() - fitting(segments.iter().rev());
    if begin >= end {
        return f.write_str(&segments.concat());
    }
    write!(f, "{}…{}", segments[..begin].concat(), segments[end..].concat())
}

/// How many of the segments have space at one end of a path.
fn fitting<'a>(segments: impl Iterator<Item = &'a String>) -> usize {
    let widths = segments.scan(0, |width, segment| {
        *width += segment.chars().count();
        Some(*width)
    });
    widths.take_while(|width| *width <= PATH_END_WIDTH).count()
}

impl Segment {
    /// `.key`, or in brackets what is not so simple.
    fn text(&self) -> String {
        match self {
            Self::Index(index) => format!("[{index}]"),
            Self::Key(key) if is_word(key) => format!(".{key}"),
            Self::Key(key) => format!("[{}]", json_text(key)),
        }
    }
}

fn is_word(key: &str) -> bool {
    (1..=WIDTH).contains(&key.len()) && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'))
}
