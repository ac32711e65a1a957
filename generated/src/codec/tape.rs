//! Values that are decoded later, as the sequence of their tokens.
//!
//! Reading a document once and playing its tokens back costs less than reading it twice, and less than a tree: all
//! short strings stand in one piece of memory. Long ones have their own, which is moved to whoever plays the tape for
//! the last time.

use std::borrow::Cow;
use std::{slice, vec};

use crate::{Error, Number};

use super::{ArrayAccess, Decode, Event, Node, ObjectAccess, Slot, write};

/// One JSON value. Keys that stand twice are kept, and so is the order.
#[derive(Clone, Debug)]
pub(crate) struct Tape {
    tokens: Vec<Token>,
    /// All keys and short strings, one after the other.
    text: String,
    /// All long strings.
    long: Vec<String>,
}

/// From how many bytes on a string is long. It gets memory of its own in the end anyway; a short one, such as a tag, may not.
const LONG: usize = 64;

#[derive(Clone, Copy, Debug)]
enum Token {
    Null,
    Bool(bool),
    Number(Number),
    /// A short string, or the key of the value that follows; its length in bytes.
    Text(usize),
    /// The next long string.
    Long,
    Array,
    Object,
    /// Of the array or the object.
    End,
}

impl Tape {
    /// Gives the value to `slot`, as its reader would have done.
    pub(crate) fn replay(&self, slot: &mut dyn Slot) -> Result<(), Error> {
        self.player().give(slot)
    }

    /// The same, for the last time: long strings are moved.
    pub(crate) fn give(self, slot: &mut dyn Slot) -> Result<(), Error> {
        let long = Long::Owned(self.long.into_iter());
        Player { tokens: self.tokens.iter(), text: &self.text, long }.give(slot)
    }

    /// Writes the value as JSON text.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        self.player().write(out);
    }

    /// The JSON type in a word.
    pub(crate) fn type_name(&self) -> &'static str {
        match self.tokens.first() {
            None | Some(Token::Null | Token::End) => "null",
            Some(Token::Bool(_)) => "boolean",
            Some(Token::Number(_)) => "number",
            Some(Token::Text(_) | Token::Long) => "string",
            Some(Token::Array) => "array",
            Some(Token::Object) => "object",
        }
    }

    fn record(&mut self, event: Event<'_>) -> Result<(), Error> {
        let token = match event {
            Event::Null => Token::Null,
            Event::Bool(value) => Token::Bool(value),
            Event::Unsigned(integer) => Token::Number(integer.into()),
            Event::Signed(integer) => Token::Number(integer.into()),
            Event::Float(_) => Token::Number(event.number()?),
            Event::Str(text) if text.len() < LONG => self.note(text),
            Event::String(text) if text.len() < LONG => self.note(&text),
            Event::Str(text) => self.keep(text.to_owned()),
            Event::String(text) => self.keep(text),
            Event::Array(array) => {
                self.tokens.push(Token::Array);
                Event::Array(array).array(self)?;
                Token::End
            }
            Event::Object(object) => {
                self.tokens.push(Token::Object);
                self.record_members(object)?;
                Token::End
            }
        };
        self.tokens.push(token);
        Ok(())
    }

    fn record_members(&mut self, object: &mut dyn ObjectAccess) -> Result<(), Error> {
        loop {
            let begin = self.text.len();
            let more = object.key(&mut |key| {
                let token = self.note(&key);
                self.tokens.push(token);
            })?;
            if !more {
                return Ok(());
            }
            let end = self.text.len();
            if let Err(error) = object.value(self) {
                return Err(error.at_key(self.text[begin..end].to_owned()));
            }
        }
    }

    fn note(&mut self, text: &str) -> Token {
        self.text.push_str(text);
        Token::Text(text.len())
    }

    fn keep(&mut self, text: String) -> Token {
        self.long.push(text);
        Token::Long
    }

    fn player(&self) -> Player<'_> {
        Player { tokens: self.tokens.iter(), text: &self.text, long: Long::Borrowed(self.long.iter()) }
    }
}

impl Slot for Tape {
    fn put(&mut self, event: Event<'_>) -> Result<(), Error> {
        self.record(event)
    }
}

impl Decode for Tape {
    const NAME: &'static str = "JSON value";

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        // As much as most results are.
        let mut tape = Self { tokens: Vec::with_capacity(32), text: String::with_capacity(256), long: Vec::new() };
        tape.record(event)?;
        Ok(tape)
    }
}

/// What is left of a tape that is played.
struct Player<'t> {
    tokens: slice::Iter<'t, Token>,
    text: &'t str,
    long: Long<'t>,
}

enum Long<'t> {
    Borrowed(slice::Iter<'t, String>),
    Owned(vec::IntoIter<String>),
}

impl<'t> Player<'t> {
    /// The next token; after the last one, ends.
    fn pull(&mut self) -> Token {
        self.tokens.next().copied().unwrap_or(Token::End)
    }

    /// Whether an array or an object goes on.
    fn goes_on(&self) -> bool {
        !matches!(self.tokens.as_slice().first(), None | Some(Token::End))
    }

    fn read(&mut self, length: usize) -> &'t str {
        let (text, rest) = self.text.split_at(length);
        self.text = rest;
        text
    }

    /// The next long string as it can be had.
    fn read_long(&mut self) -> Cow<'t, str> {
        match &mut self.long {
            Long::Borrowed(long) => Cow::Borrowed(long.next().map_or("", String::as_str)),
            Long::Owned(long) => Cow::Owned(long.next().unwrap_or_default()),
        }
    }

    fn give(&mut self, slot: &mut dyn Slot) -> Result<(), Error> {
        match self.pull() {
            Token::Null | Token::End => slot.put(Event::Null),
            Token::Bool(value) => slot.put(Event::Bool(value)),
            Token::Number(number) => slot.put(number.event()),
            Token::Text(length) => slot.put(Event::Str(self.read(length))),
            Token::Long => match self.read_long() {
                Cow::Borrowed(text) => slot.put(Event::Str(text)),
                Cow::Owned(text) => slot.put(Event::String(text)),
            },
            Token::Array => slot.put(Event::Array(self)),
            Token::Object => slot.put(Event::Object(self)),
        }
    }

    /// The key that comes next; `None` at the end of the object, which is passed.
    fn next_key(&mut self) -> Option<&'t str> {
        match self.pull() {
            Token::Text(length) => Some(self.read(length)),
            _ => None,
        }
    }
}

impl ArrayAccess for Player<'_> {
    fn next(&mut self, slot: &mut dyn Slot) -> Result<bool, Error> {
        if self.goes_on() {
            return self.give(slot).map(|()| true);
        }
        self.pull();
        Ok(false)
    }
}

impl ObjectAccess for Player<'_> {
    fn key(&mut self, matcher: &mut dyn FnMut(Cow<'_, str>)) -> Result<bool, Error> {
        Ok(self.next_key().map(|key| matcher(Cow::Borrowed(key))).is_some())
    }

    fn value(&mut self, slot: &mut dyn Slot) -> Result<(), Error> {
        self.give(slot)
    }
}

impl Player<'_> {
    /// Writes the value that comes next as JSON text.
    fn write(&mut self, out: &mut Vec<u8>) {
        match self.pull() {
            Token::Null | Token::End => write(Node::Null, out),
            Token::Bool(value) => write(Node::Bool(value), out),
            Token::Number(number) => write(number.node(), out),
            Token::Text(length) => write(Node::Str(self.read(length)), out),
            Token::Long => write(Node::Str(&self.read_long()), out),
            Token::Array => {
                out.push(b'[');
                while self.goes_on() {
                    self.write(out);
                    out.push(b',');
                }
                self.pull();
                close(b']', out);
            }
            Token::Object => {
                out.push(b'{');
                while let Some(key) = self.next_key() {
                    write(Node::Str(key), out);
                    out.push(b':');
                    self.write(out);
                    out.push(b',');
                }
                close(b'}', out);
            }
        }
    }
}

/// In the place of the comma after the last value, if there was one.
fn close(mark: u8, out: &mut Vec<u8>) {
    match out.last_mut() {
        Some(last) if *last == b',' => *last = mark,
        _ => out.push(mark),
    }
}
