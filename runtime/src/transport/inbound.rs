//! Incoming messages, which transports pass to a connection.

use std::sync::OnceLock;

pub use http::Extensions;
use mcpgen_types::codec::Document;

use super::message_memory::{FreeForm, Memory};
use crate::jsonrpc::envelope::{Frame, Invalid, not_text, scan};

/// An incoming message or batch, and the values that the transport attaches to it.
///
/// A transport creates it from the message's bytes. They are parsed only once, either by [`frame`](Self::frame) or
/// later by the connection.
///
/// The connection answers each request with one [`Outbound`](super::Outbound), whose route is
/// [`Response`](super::Route::Response) or [`NoResponse`](super::Route::NoResponse) with the request's ID. Messages
/// sent on behalf of the request come before it, with the same ID in their routes.
#[derive(Clone, Debug)]
pub struct Inbound {
    /// The encoded message. Empty once parsed.
    bytes: Vec<u8>,
    /// The parsed message. Boxed because messages are moved often, and most transports never parse them.
    parsed: Option<Box<Parsed>>,
    /// Values for handlers, which read them with [`Context::extensions`](crate::Context::extensions).
    pub extensions: Extensions,
}

#[derive(Clone, Debug)]
struct Parsed {
    document: Result<Document<'static>, Invalid>,
    memory: OnceLock<Memory>,
    size: usize,
    is_batch: bool,
}

impl Parsed {
    fn memory(&self, free_form: &dyn Fn(&str) -> FreeForm) -> Memory {
        let memory = || self.document.as_ref().map_or(Memory::default(), |document| Memory::of(document, free_form));
        *self.memory.get_or_init(memory)
    }
}

impl Inbound {
    /// Creates an incoming message from its bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, parsed: None, extensions: Extensions::new() }
    }

    /// Returns the size of the message in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.parsed.as_ref().map_or(self.bytes.len(), |parsed| parsed.size)
    }

    /// Returns the memory that the message takes. Before parsing, only its bytes count.
    #[must_use]
    pub fn memory(&self, free_form: &dyn Fn(&str) -> FreeForm) -> Memory {
        let parsed = self.parsed.as_ref().map(|parsed| parsed.memory(free_form));
        parsed.unwrap_or(Memory { held: self.bytes.capacity(), decoded: 0 })
    }

    /// Returns whether the message starts like a batch, with `[`.
    #[must_use]
    pub fn is_batch(&self) -> bool {
        self.parsed.as_ref().map_or_else(|| Frame::is_batch(&self.bytes), |parsed| parsed.is_batch)
    }

    /// Returns the bytes if they cannot be a message, such as a log line on the same stream, even if it is JSON.
    /// Returns `None` if they may be one, or are already parsed.
    #[must_use]
    pub fn stray(&self) -> Option<&[u8]> {
        let text = self.bytes.trim_ascii_start();
        let is_stray = || memchr::memmem::find(text, b"\"jsonrpc\"").is_none();
        (self.parsed.is_none() && !text.is_empty() && is_stray()).then_some(text)
    }

    /// Parses the message, if that has not happened yet, and classifies it.
    ///
    /// # Errors
    ///
    /// Fails if the message is not JSON-RPC. Still pass it on to the connection, which sends the error response.
    pub fn frame(&mut self) -> Result<Frame<'_>, Invalid> {
        Frame::read(self.document()?)
    }

    /// Returns the bytes of the message.
    ///
    /// # Errors
    ///
    /// Fails if the message has been parsed and is not JSON.
    pub fn into_bytes(self) -> Result<Vec<u8>, Invalid> {
        match self.parsed {
            None => Ok(self.bytes),
            Some(parsed) => parsed.document.map(|document| document.root().text().into_owned().into_bytes()),
        }
    }

    pub(crate) fn into_document(
        self,
        free_form: &dyn Fn(&str) -> FreeForm,
    ) -> Result<(Document<'static>, Memory), Invalid> {
        match self.parsed {
            None => parse(self.bytes).map(|document| {
                let memory = Memory::of(&document, free_form);
                (document, memory)
            }),
            Some(parsed) => {
                let memory = parsed.memory(free_form);
                parsed.document.map(|document| (document, memory))
            }
        }
    }

    /// Parses the message, if that has not happened yet.
    pub fn document(&mut self) -> Result<&Document<'static>, Invalid> {
        let (size, is_batch, bytes) = (self.size(), self.is_batch(), &mut self.bytes);
        let parse =
            || Box::new(Parsed { document: parse(std::mem::take(bytes)), memory: OnceLock::new(), size, is_batch });
        self.parsed.get_or_insert_with(parse).document.as_ref().map_err(Clone::clone)
    }
}

fn parse(bytes: Vec<u8>) -> Result<Document<'static>, Invalid> {
    String::from_utf8(bytes).map_err(|error| not_text(error.utf8_error())).and_then(scan)
}

impl From<Vec<u8>> for Inbound {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes)
    }
}
