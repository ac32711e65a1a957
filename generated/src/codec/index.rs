//! The index of a JSON text: position, kind and size of each value.
//!
//! ```text
//!            {"src":"a.png","sizes":["1x1"]}          the text
//!            0     6        14       23     31
//!
//!   scan     | start length kind                      the index: a flat list of tokens, 8 bytes each
//!            v
//!        0   |     0      8 object   <-- Cursor       entries of the object: 8, so the next value is at 0 + 8
//!        1   |     2      3 string                    "src"
//!        2   |     8      5 string                    "a.png"
//!        3   |    16      5 string                    "sizes"
//!        4   |    23      3 array                     entries of the array: 3
//!        5   |    25      3 string                    "1x1"
//!        6   |    30        end
//!        7   |    31        end
//!
//!   decode   Icon { src: "a.png", sizes: Some(["1x1"]), extra: {} }
//! ```
//!
//! A single function, the scanner, checks a text against JSON's grammar and records every value in the index. It is not
//! generic, and no other code parses JSON text. A [`Cursor`] is a reference to a document plus an entry number. Types
//! decode themselves from a cursor: [`Cursor::read_object`] finds an object's known members by name, and
//! [`Cursor::union`] looks up the values that select a variant. Skipping a value just adds its number of entries.
//! Strings are copied and unescaped only when a type decodes them, and the path of an error is computed only when
//! decoding fails.
//!
//! Values from serde_json and other serde formats are first recorded as a [`Document`], and then decoded the same way.
//! Encoding needs no index: a type returns a [`Node`] that refers to its fields.

use std::borrow::Cow;
use std::cell::Cell;

use crate::{Error, ErrorKind};

use super::cursor::unescaped;
use super::scan::{SyntaxError, scan};
use super::{Cursor, MAX_DEPTH};

/// An index entry: a value, a member's name, or the end of an array or object.
///
/// Entries are in the order of the text, and a name comes directly before its value. The elements and members of an
/// array or object are between its entry and its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    /// A byte offset in the text: of the first character of a string, and after the closing bracket for an end.
    start: u32,
    /// The lower three bits are the kind. The others are the length in bytes, or for an array or object the number of
    /// its entries, including its own and its end.
    kind_and_length: u32,
}

/// The end of an array or object is stored as `Null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null = 0,
    False = 1,
    True = 2,
    Number = 3,
    /// A string without escapes.
    Plain = 4,
    /// A string with escapes.
    Escaped = 5,
    Array = 6,
    Object = 7,
}

const KIND_BITS: u32 = 3;

/// Texts must be shorter than 512 MiB.
pub(super) const MAX_TEXT: usize = 1 << (u32::BITS - KIND_BITS);

impl Token {
    /// `start` and `length` must be less than [`MAX_TEXT`].
    pub(super) const fn new(kind: Kind, start: usize, length: usize) -> Self {
        Self { start: start as u32, kind_and_length: (length as u32) << KIND_BITS | kind as u32 }
    }

    pub(super) const fn start(self) -> usize {
        self.start as usize
    }

    pub(super) const fn kind(self) -> Kind {
        match self.kind_and_length & 7 {
            0 => Kind::Null,
            1 => Kind::False,
            2 => Kind::True,
            3 => Kind::Number,
            4 => Kind::Plain,
            5 => Kind::Escaped,
            6 => Kind::Array,
            _ => Kind::Object,
        }
    }

    /// Returns the length in bytes, or for an array or object the number of its entries.
    pub(super) const fn length(self) -> usize {
        (self.kind_and_length >> KIND_BITS) as usize
    }

    pub(super) const fn entries(self) -> usize {
        if self.kind_and_length & 7 >= Kind::Array as u32 { self.length() } else { 1 }
    }

    /// Estimates the memory of the decoded value, not counting its elements and members.
    #[inline(always)]
    pub(super) const fn decoded_bytes(self) -> u32 {
        let (kind, length) = (self.kind_and_length & 7, self.kind_and_length >> KIND_BITS);
        let is_text = kind >= Kind::Number as u32 && kind <= Kind::Escaped as u32;
        SLOT + if is_text { ALLOCATION + length } else { 0 }
    }
}

/// The size of a string or a [`Json`](crate::Json) in a vector. Larger elements have members, which are counted
/// separately.
const SLOT: u32 = size_of::<String>() as u32;
/// The bytes that an allocator adds to a short text.
const ALLOCATION: u32 = 32;

impl Kind {
    pub(super) const fn is_string(self) -> bool {
        matches!(self, Self::Plain | Self::Escaped)
    }
}

/// A JSON text with its index.
///
/// An index entry takes 8 bytes. A text has at most one entry per byte, as in `[[]]`; typical messages have one per six
/// to eight bytes. While reading, the index may reserve memory for up to twice as many entries.
#[derive(Clone, Debug, Default)]
pub struct Document<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) tokens: Vec<Token>,
    /// Whether the document was created from values. Then its text contains only numbers and the contents of strings.
    pub(super) is_recorded: bool,
    /// Whether there is white space between two values.
    pub(super) is_spaced: bool,
    /// The first array or object that is nested too deeply.
    pub(super) too_deep: Option<u32>,
    #[cfg(feature = "pattern")]
    pub(super) steps: super::pattern::Steps,
}

thread_local! {
    /// The memory of the last index, which the next one uses.
    static REUSED: Cell<Vec<Token>> = const { Cell::new(Vec::new()) };
}

/// The largest index whose memory is kept, in entries. It takes 128 KiB per thread.
const MAX_REUSED: usize = 1 << 14;

fn reused_tokens() -> Vec<Token> {
    REUSED.try_with(Cell::take).unwrap_or_default()
}

fn reuse_tokens(mut tokens: Vec<Token>) {
    if tokens.capacity() <= MAX_REUSED {
        tokens.clear();
        // This fails only while the thread is shutting down.
        let _ = REUSED.try_with(|reused| reused.set(tokens));
    }
}

/// A document that exists only during a call. The next one on the same thread reuses the memory of its index.
pub(crate) struct BriefDocument<'a>(Document<'a>);

impl<'a> BriefDocument<'a> {
    pub(crate) fn read(text: &'a str) -> Result<Self, Error> {
        let mut document = Self(Document { text: text.into(), tokens: reused_tokens(), ..Document::default() });
        document.0.scan()?;
        document.0.check_depth()?;
        Ok(document)
    }

    pub(crate) fn root(&self) -> Cursor<'_> {
        self.0.root()
    }
}

impl Drop for BriefDocument<'_> {
    fn drop(&mut self) {
        reuse_tokens(std::mem::take(&mut self.0.tokens));
    }
}

/// The place of a value within a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(pub(super) u32);

impl Place {
    /// The place of the root value.
    pub const ROOT: Self = Self(0);
}

impl<'a> Document<'a> {
    /// Checks that a text is one JSON value, and builds its index.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Json`] if the text is not JSON, or is 512 MiB or longer, and [`ErrorKind::Depth`] if arrays
    /// and objects are nested more than [`MAX_DEPTH`](super::MAX_DEPTH) levels deep.
    pub fn read(text: impl Into<Cow<'a, str>>) -> Result<Self, Error> {
        let document = Self::read_any_depth(text)?;
        document.check_depth()?;
        Ok(document)
    }

    /// Like [`read`](Self::read), but accepts texts that are nested too deeply. Arrays and objects beyond the limit
    /// become `null`. Call [`check_depth`](Self::check_depth) before decoding.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Json`] if the text is not JSON, or is 512 MiB or longer.
    pub fn read_any_depth(text: impl Into<Cow<'a, str>>) -> Result<Self, Error> {
        let mut document = Self { text: text.into(), ..Self::default() };
        document.scan()?;
        // The capacity was estimated from the beginning of the text, which may have had more values than the rest.
        if document.tokens.capacity() > 2 * document.tokens.len() + MAX_REUSED {
            document.tokens.shrink_to_fit();
        }
        // The size of the index must be bounded by that of the text. Tests rely on this assertion.
        debug_assert!(document.tokens.capacity() <= 2 * document.text.len() + 8);
        Ok(document)
    }

    // The scanner is inlined into this function, which is not inlined itself. This saves 4 % of the instructions.
    #[inline(never)]
    fn scan(&mut self) -> Result<(), Error> {
        match scan(&self.text, &mut self.tokens) {
            Ok(found) => {
                debug_assert!(self.tokens.len() <= self.text.len());
                self.is_spaced = found.is_spaced;
                self.too_deep = found.too_deep;
                Ok(())
            }
            Err(error) => Err(self.syntax_error(error)),
        }
    }

    /// Creates the error for a text that is not JSON. The path leads to the end of the incomplete index, and has at
    /// most [`MAX_DEPTH`] segments.
    #[cold]
    fn syntax_error(&self, found: SyntaxError) -> Error {
        struct Open {
            is_object: bool,
            entries: usize,
            name: Token,
        }
        let (mut open, mut depth) = (Vec::<Open>::new(), 0_usize);
        for token in &self.tokens {
            // Values that are nested too deeply also have length 0, but never follow a closing bracket.
            let is_empty = token.kind() == Kind::Null && token.length() == 0;
            if is_empty && self.text.get(..token.start()).is_some_and(|before| before.ends_with([']', '}'])) {
                depth -= 1;
                open.truncate(depth);
                continue;
            }
            if let Some(around) = depth.checked_sub(1).and_then(|index| open.get_mut(index)) {
                around.entries += 1;
                if around.is_object && around.entries % 2 == 1 {
                    around.name = *token;
                }
            }
            if matches!(token.kind(), Kind::Array | Kind::Object) {
                depth += 1;
                if depth <= MAX_DEPTH as usize {
                    open.push(Open { is_object: token.kind() == Kind::Object, entries: 0, name: *token });
                }
            }
        }
        let mut error = found.error(&self.text);
        let mut is_around = depth > open.len();
        for Open { is_object, entries, name } in open.into_iter().rev() {
            error = match (is_object, is_around) {
                (true, false) if entries % 2 == 0 => error,
                (true, _) => error.at_key(unescaped(self.slice(name))),
                (false, true) => error.at_index(entries - 1),
                (false, false) if found.is_of_value() => error.at_index(entries),
                (false, false) => error,
            };
            is_around = true;
        }
        error
    }

    /// Checks that arrays and objects are nested at most [`MAX_DEPTH`](super::MAX_DEPTH) levels deep.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Depth`] if they are not.
    pub fn check_depth(&self) -> Result<(), Error> {
        match self.too_deep {
            None => Ok(()),
            Some(token) => Err(Error::new(ErrorKind::Depth).at_token(token).located_from(self.root())),
        }
    }

    /// Returns a cursor to the root value.
    #[must_use]
    pub fn root(&self) -> Cursor<'_> {
        Cursor::new(self, 0)
    }

    /// Returns a cursor to the value at a place.
    #[must_use]
    pub fn at(&self, place: Place) -> Cursor<'_> {
        Cursor::new(self, place.0)
    }

    /// Returns how many bytes the document owns: its index, and its text unless that is borrowed.
    #[must_use]
    pub fn owned_bytes(&self) -> usize {
        let text = match &self.text {
            Cow::Borrowed(_) => 0,
            Cow::Owned(text) => text.capacity(),
        };
        text + self.tokens.capacity() * size_of::<Token>()
    }

    /// Returns the entries of a value, including its own.
    pub(super) fn tokens_at(&self, at: u32) -> &[Token] {
        let at = at as usize;
        self.tokens.get(at).and_then(|token| self.tokens.get(at..at + token.entries())).unwrap_or_default()
    }

    /// Returns the text of a value, and reuses the memory of the whole text for it. The memory shrinks if the value is
    /// much smaller than the text.
    pub(crate) fn into_text(self, place: Place) -> String {
        let range = self.at(place).range();
        let mut text = self.text.into_owned();
        if range.len() < text.len() {
            text.truncate(range.end);
            text.drain(..range.start);
            text.shrink_to(2 * text.len() + 1024);
        }
        text
    }

    /// Returns whether there is no white space between values, so that the text can be copied as it is.
    pub(crate) fn is_compact(&self) -> bool {
        !self.is_spaced && !self.is_recorded
    }

    #[inline(always)]
    pub(super) fn token(&self, at: u32) -> Token {
        match self.tokens.get(at as usize) {
            Some(token) => *token,
            // An empty document reads as `null`.
            None => Token::new(Kind::Null, 0, 0),
        }
    }

    /// Returns the bytes of a number, or of a string without its quotes. Unlike [`slice`](Self::slice), does not check
    /// that the range is on character boundaries.
    #[inline(always)]
    pub(super) fn bytes(&self, token: Token) -> &[u8] {
        self.text.as_bytes().get(token.start()..token.start() + token.length()).unwrap_or_default()
    }

    /// Returns the text of a number, or of a string without its quotes.
    #[inline(always)]
    pub(super) fn slice(&self, token: Token) -> &str {
        self.text.get(token.start()..token.start() + token.length()).unwrap_or_default()
    }
}

/// Returns the line, and the column in bytes, of the last byte before `end`. Both count from 1, as in serde_json.
#[cold]
pub(super) fn position(text: &str, end: usize) -> (usize, usize) {
    let before = text.as_bytes().get(..end).unwrap_or(text.as_bytes());
    let mut lines = before.split(|byte| *byte == b'\n');
    (lines.clone().count(), lines.next_back().map_or(0, <[u8]>::len))
}

const _: () = assert!((MAX_DEPTH as usize) < MAX_TEXT && size_of::<Token>() == 8);
