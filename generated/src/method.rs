//! Methods as types.

use crate::codec::{Decode, Encode, Event, Node};
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
        match params {
            Some(raw) if raw.type_name() == "null" => Err(Event::Null.mismatch("object")),
            Some(raw) => raw.decode(),
            // What may be null, may be absent here.
            None => Self::decode(Event::Null).map_err(|_| Error::new(ErrorKind::Missing)),
        }
        .map_err(|error| error.at_key("params"))
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
    /// The methods, and which of the envelope's members their types have.
    const DECLARES: &'static [Declares];

    /// Decodes a message of the method at index `member` of [`DECLARES`](Self::DECLARES).
    ///
    /// # Errors
    ///
    /// The message is not valid.
    fn of_method(member: usize, event: Event<'_>) -> Result<Self, Error>;

    /// The request's method.
    fn method(&self) -> &str;

    /// Sets the request's own `id`, if its type has one.
    fn set_id(&mut self, id: RequestId);
}

/// All notifications of one direction.
pub trait NotificationSet: Decode + Encode + Sized {
    /// The methods, and which of the envelope's members their types have.
    const DECLARES: &'static [Declares];

    /// Decodes a message of the method at index `member` of [`DECLARES`](Self::DECLARES).
    ///
    /// # Errors
    ///
    /// The message is not valid.
    fn of_method(member: usize, event: Event<'_>) -> Result<Self, Error>;

    /// The notification's method.
    fn method(&self) -> &str;
}

/// A method, and which of the envelope's members the type of its requests or notifications has. It is
/// given these when it is decoded, and no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declares {
    /// The method on the wire.
    pub method: &'static str,
    /// `jsonrpc`
    pub jsonrpc: bool,
    /// `id`
    pub id: bool,
}

/// A direction without requests.
impl RequestSet for Never {
    const DECLARES: &'static [Declares] = &[];

    fn of_method(_: usize, event: Event<'_>) -> Result<Self, Error> {
        Self::decode(event)
    }

    fn method(&self) -> &str {
        match *self {}
    }

    fn set_id(&mut self, _: RequestId) {}
}

/// A direction without notifications.
impl NotificationSet for Never {
    const DECLARES: &'static [Declares] = &[];

    fn of_method(_: usize, event: Event<'_>) -> Result<Self, Error> {
        Self::decode(event)
    }

    fn method(&self) -> &str {
        match *self {}
    }
}
