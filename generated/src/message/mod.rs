//! JSON-RPC messages. Their envelope is the same in every revision.

mod read;

use crate::codec::{self, Cursor, Decode, DecodeInPlace, Encode, Members, Node, Object, Unread};
use crate::{
    Error, ErrorId, ErrorKind, ErrorObject, Extra, Json, KnownMembers, Never, NotificationSet, Request, RequestId,
    RequestSet, TaskRequest,
};

use read::{Envelope, Kind};

/// One JSON-RPC message of a direction whose requests are `R` and whose notifications are `N`.
///
/// The members of a message determine its kind, in any order: a request has `id` and `method`, a notification has only
/// `method`, a response has `id` and `result`, and an error response has `error`.
///
/// Decoding rejects messages with members of two kinds, a null `id` outside of an error response, a `jsonrpc` that is
/// missing or not `"2.0"`, and methods that the direction does not have.
///
/// The type of a result depends on the request, so results are [`Json`]. If the request is known, give the type of its
/// result as `T`, which saves a copy:
///
#[cfg_attr(feature = "v2026_07_28", doc = "```")]
#[cfg_attr(not(feature = "v2026_07_28"), doc = "```ignore")]
/// use mcpgen_types::v2026_07_28::{EmptyResult, ServerNotification};
/// use mcpgen_types::{Message, Never};
///
/// let text = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}"#;
/// let message: Message<Never, ServerNotification, EmptyResult> = mcpgen_types::from_str(text)?;
/// assert!(matches!(message, Message::Response(response) if response.result.meta.is_none()));
/// # Ok::<(), mcpgen_types::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Message<R, N, T = Json> {
    /// A request, which requires a response.
    Request(RequestMessage<R>),
    /// A notification, which has no response.
    Notification(NotificationMessage<N>),
    /// A successful response to a request.
    Response(ResponseMessage<T>),
    /// An error response.
    Error(ErrorMessage),
}

/// A request and its ID.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestMessage<R> {
    id: RequestId,
    request: R,
}

impl<R: RequestSet> RequestMessage<R> {
    /// Creates a request message. If the request has an `id` field, it is set to `id` too.
    #[must_use]
    pub fn new(id: impl Into<RequestId>, request: impl Into<R>) -> Self {
        let (id, mut request) = (id.into(), request.into());
        request.set_id(id.clone());
        Self { id, request }
    }
}

impl<R> RequestMessage<R> {
    /// Returns the ID.
    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Returns the request.
    #[must_use]
    pub fn request(&self) -> &R {
        &self.request
    }

    /// Returns the ID and the request.
    #[must_use]
    pub fn into_parts(self) -> (RequestId, R) {
        (self.id, self.request)
    }
}

/// A notification.
#[derive(Clone, Debug, PartialEq)]
pub struct NotificationMessage<N> {
    notification: N,
}

impl<N> NotificationMessage<N> {
    /// Creates a notification message.
    #[must_use]
    pub fn new(notification: impl Into<N>) -> Self {
        Self { notification: notification.into() }
    }

    /// Returns the notification.
    #[must_use]
    pub fn notification(&self) -> &N {
        &self.notification
    }

    /// Returns the notification, consuming the message.
    #[must_use]
    pub fn into_inner(self) -> N {
        self.notification
    }
}

/// A successful response. The type of its result depends on the request.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseMessage<T = Json> {
    /// The ID of the request.
    pub id: RequestId,
    /// The result, a JSON object.
    pub result: T,
    /// Members that JSON-RPC does not define.
    pub extra: Extra<Self>,
}

impl<T> ResponseMessage<T> {
    /// Creates a response to the request `id`. A `&R` converts into a `Json` if `R` implements [`Encode`].
    #[must_use]
    pub fn new(id: impl Into<RequestId>, result: impl Into<T>) -> Self {
        Self { id: id.into(), result: result.into(), extra: Extra::default() }
    }
}

impl ResponseMessage {
    /// Encodes the message like [`to_vec`](crate::to_vec), reusing the memory of the result's text.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        if !self.extra.is_empty() {
            return crate::to_vec(&self);
        }
        let mut bytes = self.result.into_text().into_bytes();
        let length = bytes.len();
        bytes.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        codec::write(self.id.encode(), &mut bytes);
        bytes.extend_from_slice(br#","result":"#);
        let head = bytes.len() - length;
        bytes.rotate_right(head);
        bytes.push(b'}');
        bytes
    }

    /// Decodes the result of a request `Q`.
    ///
    /// # Errors
    ///
    /// Returns an error if the result is invalid. The error's type name is, for example, `tools/list result`.
    pub fn decode<Q: Request>(&self) -> Result<Q::Result, Error> {
        self.result.decode().map_err(|error| error.with_type_name(format!("{} result", Q::METHOD)))
    }

    /// Decodes the result of a request `Q` that ran as a task.
    ///
    /// # Errors
    ///
    /// Returns an error if the result is invalid. The error's type name is, for example, `tools/call task result`.
    pub fn decode_task<Q: TaskRequest>(&self) -> Result<Q::TaskResult, Error> {
        self.result.decode().map_err(|error| error.with_type_name(format!("{} task result", Q::METHOD)))
    }
}

/// An error response, to a request or to an invalid message.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorMessage {
    /// The ID of the request, if it is known.
    pub id: ErrorId,
    /// The error.
    pub error: ErrorObject,
    /// Members that JSON-RPC does not define.
    pub extra: Extra<Self>,
}

impl ErrorMessage {
    /// Creates an error response.
    #[must_use]
    pub fn new(id: impl Into<ErrorId>, error: ErrorObject) -> Self {
        Self { id: id.into(), error, extra: Extra::default() }
    }
}

impl<T> KnownMembers for ResponseMessage<T> {
    // With `method` or `error`, it would be another kind of message.
    const MEMBERS: &'static [&'static str] = &["jsonrpc", "id", "method", "result", "error"];
}

impl KnownMembers for ErrorMessage {
    const MEMBERS: &'static [&'static str] = ResponseMessage::<Json>::MEMBERS;
}

impl<R: RequestSet, N: NotificationSet, T: Decode> Decode for Message<R, N, T> {
    const NAME: &'static str = "message";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        codec::decode_in_place(json)
    }
}

impl<R, N, T> Message<R, N, T> {
    /// Creates the error for a message of another kind.
    #[cold]
    fn wrong_kind(&self, expected: &str) -> Error {
        let found = match self {
            Self::Request(_) => "a request",
            Self::Notification(_) => "a notification",
            Self::Response(_) => "a response",
            Self::Error(_) => "an error",
        };
        Error::new(ErrorKind::NoVariant { expected: expected.to_owned(), found: Some(found.to_owned()) })
    }
}

/// Implements the traits of one kind of message. Decoding rejects other kinds.
macro_rules! kinds {
    ($([$($of:ident: $set:ident)?] $type:ty: $kind:ident in $message:ty, $name:literal, $described:literal;)*) => {$(
        impl<$($of: $set)?> Decode for $type {
            const NAME: &'static str = $name;

            fn decode(json: Cursor<'_>) -> Result<Self, Error> {
                match <$message>::decode(json)? {
                    Message::$kind(message) => Ok(message),
                    other => Err(other.wrong_kind($described)),
                }
            }
        }

        impl<$($of: Encode)?> Encode for $type {
            fn encode(&self) -> Node<'_> {
                Node::Object(self)
            }
        }

        impl<R, N, T> From<$type> for Message<R, N, T> {
            fn from(message: $type) -> Self {
                Self::$kind(message)
            }
        }

        codec::generic_serde_impls! { [$($of: Encode)?] [$($of: $set)?] $type }
    )*};
}

kinds! {
    [R: RequestSet] RequestMessage<R>: Request in Message<R, Never>, "request", "a request";
    [N: NotificationSet] NotificationMessage<N>: Notification in Message<Never, N>, "notification", "a notification";
    [T: Decode] ResponseMessage<T>: Response in Message<Never, Never, T>, "response", "a response";
    [] ErrorMessage: Error in Message<Never, Never>, "error", "an error";
}

codec::generic_serde_impls! {
    [R: Encode, N: Encode, T: Encode] [R: RequestSet, N: NotificationSet, T: Decode] Message<R, N, T>
}

/// A batch is an array of messages, and the elements of arrays are decoded in place.
impl<R: RequestSet, N: NotificationSet, T: Decode> DecodeInPlace for Message<R, N, T> {
    fn blank(unread: Unread) -> Self {
        Self::Error(ErrorMessage::new(ErrorId::Absent, ErrorObject::blank(unread)))
    }

    fn read(&mut self, json: Cursor<'_>, unread: Unread) -> Result<(), Error> {
        let envelope = Envelope::read(json)?;
        match envelope.kind(R::METHODS, N::METHODS)? {
            Kind::Request(method) => {
                let message = RequestMessage { id: envelope.id()?, request: R::blank(unread) };
                codec::set(self, Self::Request(message));
                if let Self::Request(message) = self {
                    message.request.read_method(method, json.body(), unread)?;
                }
            }
            Kind::Notification(method) => {
                codec::set(self, Self::Notification(NotificationMessage { notification: N::blank(unread) }));
                if let Self::Notification(message) = self {
                    message.notification.read_method(method, json.body(), unread)?;
                }
            }
            Kind::Response => codec::set(self, Self::Response(envelope.response(R::RESULTS_ARE_OBJECTS)?)),
            Kind::Error => codec::set(self, Self::Error(envelope.error()?)),
        }
        Ok(())
    }
}

impl<R: Encode> Object for RequestMessage<R> {
    fn members(&self, out: &mut Members<'_>) {
        out.version();
        out.member("id", &self.id);
        out.body(self.request.encode());
    }
}

impl<N: Encode> Object for NotificationMessage<N> {
    fn members(&self, out: &mut Members<'_>) {
        out.version();
        out.body(self.notification.encode());
    }
}

impl<T: Encode> Object for ResponseMessage<T> {
    fn members(&self, out: &mut Members<'_>) {
        out.version();
        out.member("id", &self.id);
        out.member("result", &self.result);
        out.extra(&self.extra);
    }
}

impl Object for ErrorMessage {
    fn members(&self, out: &mut Members<'_>) {
        out.version();
        match &self.id {
            ErrorId::Absent => {}
            ErrorId::Null => out.node("id", Node::Null),
            ErrorId::Id(id) => out.member("id", id),
        }
        out.member("error", &self.error);
        out.extra(&self.extra);
    }
}

impl<R: Encode, N: Encode, T: Encode> Encode for Message<R, N, T> {
    fn encode(&self) -> Node<'_> {
        match self {
            Self::Request(message) => message.encode(),
            Self::Notification(message) => message.encode(),
            Self::Response(message) => message.encode(),
            Self::Error(message) => message.encode(),
        }
    }
}
