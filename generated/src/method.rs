//! Methods as types.

use crate::codec::{Cursor, Decode, Document, Encode, Node};
use crate::{Error, ErrorKind, Never, RawJson, RequestId, Revision};

/// A request of one method in one revision.
pub trait Request: Decode + Encode {
    /// The method's name.
    const METHOD: &'static str;
    /// The revision that this is the request of.
    const REVISION: Revision;
    /// The type of `params`; an `Option` if they may be absent.
    type Params: Params;
    /// The type of the result.
    type Result: Decode + Encode;
}

/// A request that may be run as a task: if the call carries `task`, its result is another.
pub trait TaskRequest: Request {
    /// The type of the result of a call that carries `task`.
    type TaskResult: Decode + Encode;
}

/// A notification of one method in one revision.
pub trait Notification: Decode + Encode {
    /// The method's name.
    const METHOD: &'static str;
    /// The revision that this is the notification of.
    const REVISION: Revision;
    /// The type of `params`; an `Option` if they may be absent.
    type Params: Params;
}

/// A type of `params`. There is nothing to implement: every type that is decoded and encoded can be
/// one. `Option<P>` (and `()`) may be absent; all others must be there, and none may be `null`.
pub trait Params: Decode + Encode {
    /// Decodes the member `params`, or its absence. The path of errors starts at `params`.
    ///
    /// # Errors
    ///
    /// The member is not valid, or absent without permission.
    fn from_member(params: Option<&RawJson>) -> Result<Self, Error> {
        let decoded = match params {
            Some(raw) if raw.is_null() => Err(Document::default().root().mismatch("object")),
            Some(raw) => raw.decode(),
            // `null` stands for an absent member.
            None => Self::decode(Document::default().root()).map_err(|_| Error::new(ErrorKind::Missing)),
        };
        decoded.map_err(|error| error.at_key("params"))
    }

    /// The member `params`, unless it is absent.
    fn to_member(&self) -> Option<Node<'_>> {
        match self.encode() {
            Node::Null => None,
            node => Some(node),
        }
    }
}

impl<T: Decode + Encode> Params for T {}

/// All requests of one direction.
pub trait RequestSet: Decode + Encode + Sized {
    /// The names of the methods.
    const METHODS: &'static [&'static str];

    /// Decodes a message with the method at this index of [`METHODS`](Self::METHODS).
    ///
    /// # Errors
    ///
    /// The message is not valid.
    fn of_method(index: usize, json: Cursor<'_>) -> Result<Self, Error>;

    /// The request's method.
    fn method(&self) -> &str;

    /// Sets the request's own `id`, if its type has one.
    fn set_id(&mut self, id: RequestId);
}

/// All notifications of one direction.
pub trait NotificationSet: Decode + Encode + Sized {
    /// The names of the methods.
    const METHODS: &'static [&'static str];

    /// Decodes a message with the method at this index of [`METHODS`](Self::METHODS).
    ///
    /// # Errors
    ///
    /// The message is not valid.
    fn of_method(index: usize, json: Cursor<'_>) -> Result<Self, Error>;

    /// The notification's method.
    fn method(&self) -> &str;
}

/// A direction without requests.
impl RequestSet for Never {
    const METHODS: &'static [&'static str] = &[];

    fn of_method(_: usize, json: Cursor<'_>) -> Result<Self, Error> {
        Self::decode(json)
    }

    fn method(&self) -> &str {
        match *self {}
    }

    fn set_id(&mut self, _: RequestId) {}
}

/// A direction without notifications.
impl NotificationSet for Never {
    const METHODS: &'static [&'static str] = &[];

    fn of_method(_: usize, json: Cursor<'_>) -> Result<Self, Error> {
        Self::decode(json)
    }

    fn method(&self) -> &str {
        match *self {}
    }
}
