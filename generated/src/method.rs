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
    /// Which of the envelope's members the request type of this method has; `None` if there is no
    /// such request.
    fn declares(method: &str) -> Option<Declares>;

    /// The request's method.
    fn method(&self) -> &str;

    /// Sets the request's own `id`, if its type has one.
    fn set_id(&mut self, id: RequestId);
}

/// All notifications of one direction.
pub trait NotificationSet: Decode + Encode + Sized {
    /// Which of the envelope's members the notification type of this method has; `None` if there is no
    /// such notification.
    fn declares(method: &str) -> Option<Declares>;

    /// The notification's method.
    fn method(&self) -> &str;
}

/// Which of the envelope's members a request's or a notification's own type has. It is given these
/// when it is decoded, and no others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declares {
    /// `jsonrpc`
    pub jsonrpc: bool,
    /// `id`
    pub id: bool,
}

/// A direction without requests.
impl RequestSet for Never {
    fn declares(_: &str) -> Option<Declares> {
        None
    }

    fn method(&self) -> &str {
        match *self {}
    }

    fn set_id(&mut self, _: RequestId) {}
}

/// A direction without notifications.
impl NotificationSet for Never {
    fn declares(_: &str) -> Option<Declares> {
        None
    }

    fn method(&self) -> &str {
        match *self {}
    }
}
