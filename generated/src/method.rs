//! Traits of requests and notifications.

use crate::codec::{Cursor, Decode, Document, Encode, Node};
use crate::{Error, ErrorKind, Never, RawJson, RequestId, Revision};

/// A request with a specific method, in a specific revision.
pub trait Request: Decode + Encode {
    /// The method's name.
    const METHOD: &'static str;
    /// The revision that defines this request.
    const REVISION: Revision;
    /// The type of `params`; an `Option` if `params` may be absent.
    type Params: Params;
    /// The type of the result.
    type Result: Decode + Encode;
}

/// A request that may run as a task. If its params contain `task`, the result has another type.
pub trait TaskRequest: Request {
    /// The type of the result if the params contain `task`.
    type TaskResult: Decode + Encode;
}

/// A notification with a specific method, in a specific revision.
pub trait Notification: Decode + Encode {
    /// The method's name.
    const METHOD: &'static str;
    /// The revision that defines this notification.
    const REVISION: Revision;
    /// The type of `params`; an `Option` if `params` may be absent.
    type Params: Params;
}

/// A type of `params`. Implemented for all types that implement [`Decode`] and [`Encode`].
///
/// `Option<P>` and `()` may be absent. All other types are required. `null` is invalid for all of them.
pub trait Params: Decode + Encode {
    /// Decodes the member `params`, or the value for an absent member. The path of errors starts at `params`.
    ///
    /// # Errors
    ///
    /// Returns an error if the member is invalid, or if it is absent but required.
    fn from_member(params: Option<&RawJson>) -> Result<Self, Error> {
        let decoded = match params {
            Some(raw) if raw.text() == "null" => Err(Document::default().root().mismatch("object")),
            Some(raw) => raw.decode(),
            // An absent member decodes like `null`.
            None => Self::decode(Document::default().root()).map_err(|_| Error::new(ErrorKind::Missing)),
        };
        decoded.map_err(|error| error.at_key("params"))
    }

    /// Returns the member `params`, or `None` if it is absent.
    fn to_member(&self) -> Option<Node<'_>> {
        match self.encode() {
            Node::Null => None,
            node => Some(node),
        }
    }
}

impl<T: Decode + Encode> Params for T {}

/// The messages of one direction that have a method: its requests or its notifications.
pub trait MethodSet: Decode + Encode + Sized {
    /// The names of the methods.
    const METHODS: &'static [&'static str];

    /// Decodes a message whose method is `METHODS[index]`.
    fn of_method(index: usize, json: Cursor<'_>) -> Result<Self, Error>;

    /// Returns the method of the message.
    fn method(&self) -> &str;
}

/// The requests of one direction.
pub trait RequestSet: MethodSet {
    /// Sets the `id` field of the request, if its type has one.
    fn set_id(&mut self, _id: RequestId) {}
}

/// The notifications of one direction.
pub trait NotificationSet: MethodSet {}

/// A direction without requests or notifications.
impl MethodSet for Never {
    const METHODS: &'static [&'static str] = &[];

    fn of_method(_: usize, json: Cursor<'_>) -> Result<Self, Error> {
        Self::decode(json)
    }

    fn method(&self) -> &str {
        match *self {}
    }
}

impl RequestSet for Never {}

impl NotificationSet for Never {}
