//! The wire envelope: one shape in every revision.

mod read;

use crate::codec::{
    self, Cursor, Decode, DecodeInPlace, Encode, Members, Node, Object, Unread, deserialize, serialize,
};
use crate::{
    Error, ErrorId, ErrorKind, ErrorObject, Extra, KnownMembers, Never, NotificationSet, RawJson, Request, RequestId,
    RequestSet, TaskRequest,
};

use read::{Envelope, Kind};

/// One JSON-RPC message of a direction whose requests are `R` and whose notifications are `N`.
///
/// Which one it is, the members that are there say: `id` and `method`, a request; `method` alone, a
/// notification; `id` and `result`, a response; `error`, an error. They may come in any order.
/// Refused are messages that are two of them, a null `id` anywhere but in an error, a `jsonrpc` that
/// is not there or not `"2.0"`, and a method that the direction does not have.
#[derive(Clone, Debug, PartialEq)]
pub enum Message<R, N> {
    /// Asks for a response.
    Request(RequestMessage<R>),
    /// Asks for nothing.
    Notification(NotificationMessage<N>),
    /// Answers a request.
    Response(ResponseMessage),
    /// Says why a request has no other answer.
    Error(ErrorMessage),
}

/// A request and its id.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestMessage<R> {
    id: RequestId,
    request: R,
}

impl<R: RequestSet> RequestMessage<R> {
    /// The request under an id, which replaces the request's own where its type has one.
    #[must_use]
    pub fn new(id: impl Into<RequestId>, request: impl Into<R>) -> Self {
        let (id, mut request) = (id.into(), request.into());
        request.set_id(id.clone());
        Self { id, request }
    }
}

impl<R> RequestMessage<R> {
    /// The id.
    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// The request.
    #[must_use]
    pub fn request(&self) -> &R {
        &self.request
    }

    /// The id and the request.
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
    /// The notification in its envelope.
    #[must_use]
    pub fn new(notification: impl Into<N>) -> Self {
        Self { notification: notification.into() }
    }

    /// The notification.
    #[must_use]
    pub fn notification(&self) -> &N {
        &self.notification
    }

    /// The notification.
    #[must_use]
    pub fn into_inner(self) -> N {
        self.notification
    }
}

/// The answer to a request. What it says depends on the request that it answers.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseMessage {
    /// The id of the request.
    pub id: RequestId,
    /// The result, not decoded yet: a JSON object.
    pub result: RawJson,
    /// Members that JSON-RPC does not name.
    pub extra: Extra<Self>,
}

impl ResponseMessage {
    /// The answer to the request `id`. A `&T` of any type that encodes is a `RawJson`.
    #[must_use]
    pub fn new(id: impl Into<RequestId>, result: impl Into<RawJson>) -> Self {
        Self { id: id.into(), result: result.into(), extra: Extra::default() }
    }

    /// Encodes the message as [`to_vec`](crate::to_vec) does, in the memory that the result's text has already.
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

    /// Decodes the result as that of a request `Q`.
    ///
    /// # Errors
    ///
    /// It is not a valid one. The error calls it, for example, `tools/list result`.
    pub fn decode<Q: Request>(&self) -> Result<Q::Result, Error> {
        self.result.decode().map_err(|error| error.with_type_name(format!("{} result", Q::METHOD)))
    }

    /// Decodes the result as that of a request `Q` which was run as a task.
    ///
    /// # Errors
    ///
    /// It is not a valid one. The error calls it, for example, `tools/call task result`.
    pub fn decode_task<Q: TaskRequest>(&self) -> Result<Q::TaskResult, Error> {
        self.result.decode().map_err(|error| error.with_type_name(format!("{} task result", Q::METHOD)))
    }
}

/// Why a request has no result, or why something that was sent is no message at all.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorMessage {
    /// The id of the request, as far as it is known.
    pub id: ErrorId,
    /// What went wrong.
    pub error: ErrorObject,
    /// Members that JSON-RPC does not name.
    pub extra: Extra<Self>,
}

impl ErrorMessage {
    /// The failure of a request.
    #[must_use]
    pub fn new(id: impl Into<ErrorId>, error: ErrorObject) -> Self {
        Self { id: id.into(), error, extra: Extra::default() }
    }
}

impl KnownMembers for ResponseMessage {
    // `method` and `error` would make another message of it.
    const MEMBERS: &'static [&'static str] = &["jsonrpc", "id", "method", "result", "error"];
}

impl KnownMembers for ErrorMessage {
    const MEMBERS: &'static [&'static str] = ResponseMessage::MEMBERS;
}

impl<R: RequestSet, N: NotificationSet> Decode for Message<R, N> {
    const NAME: &'static str = "message";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        let envelope = Envelope::read(json)?;
        Ok(match envelope.kind(R::METHODS, N::METHODS)? {
            Kind::Request(method) => {
                Self::Request(RequestMessage { id: envelope.id()?, request: R::of_method(method, json.body())? })
            }
            Kind::Notification(method) => {
                Self::Notification(NotificationMessage { notification: N::of_method(method, json.body())? })
            }
            Kind::Response => Self::Response(envelope.response()?),
            Kind::Error => Self::Error(envelope.error()?),
        })
    }
}

impl<R, N> Message<R, N> {
    /// The error of a receiver that takes one kind of message only.
    #[cold]
    fn refuse(&self, expected: &str) -> Error {
        let found = match self {
            Self::Request(_) => "a request",
            Self::Notification(_) => "a notification",
            Self::Response(_) => "a response",
            Self::Error(_) => "an error",
        };
        Error::new(ErrorKind::NoMember { expected: expected.to_owned(), found: Some(found.to_owned()) })
    }
}

impl<R: RequestSet> Decode for RequestMessage<R> {
    const NAME: &'static str = "request";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        match Message::<R, Never>::decode(json)? {
            Message::Request(message) => Ok(message),
            other => Err(other.refuse("a request")),
        }
    }
}

impl<N: NotificationSet> Decode for NotificationMessage<N> {
    const NAME: &'static str = "notification";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        match Message::<Never, N>::decode(json)? {
            Message::Notification(message) => Ok(message),
            other => Err(other.refuse("a notification")),
        }
    }
}

impl Decode for ResponseMessage {
    const NAME: &'static str = "response";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        match Message::<Never, Never>::decode(json)? {
            Message::Response(message) => Ok(message),
            other => Err(other.refuse("a response")),
        }
    }
}

impl Decode for ErrorMessage {
    const NAME: &'static str = "error";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        match Message::<Never, Never>::decode(json)? {
            Message::Error(message) => Ok(message),
            other => Err(other.refuse("an error")),
        }
    }
}

// Elements of arrays are decoded in place, and messages come in batches.

impl<R: RequestSet, N: NotificationSet> DecodeInPlace for Message<R, N> {
    fn blank(unread: Unread) -> Self {
        Self::Error(DecodeInPlace::blank(unread))
    }

    fn read(&mut self, json: Cursor<'_>, _: Unread) -> Result<(), Error> {
        *self = Self::decode(json)?;
        Ok(())
    }
}

impl DecodeInPlace for ResponseMessage {
    fn blank(unread: Unread) -> Self {
        Self::new(0, RawJson::blank(unread))
    }

    fn read(&mut self, json: Cursor<'_>, _: Unread) -> Result<(), Error> {
        *self = <Self as Decode>::decode(json)?;
        Ok(())
    }
}

impl DecodeInPlace for ErrorMessage {
    fn blank(unread: Unread) -> Self {
        Self::new(ErrorId::Absent, ErrorObject::blank(unread))
    }

    fn read(&mut self, json: Cursor<'_>, _: Unread) -> Result<(), Error> {
        *self = Self::decode(json)?;
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

impl Object for ResponseMessage {
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

impl<R: Encode, N: Encode> Encode for Message<R, N> {
    fn encode(&self) -> Node<'_> {
        match self {
            Self::Request(message) => message.encode(),
            Self::Notification(message) => message.encode(),
            Self::Response(message) => message.encode(),
            Self::Error(message) => message.encode(),
        }
    }
}

impl<R: Encode> Encode for RequestMessage<R> {
    fn encode(&self) -> Node<'_> {
        Node::Object(self)
    }
}

impl<N: Encode> Encode for NotificationMessage<N> {
    fn encode(&self) -> Node<'_> {
        Node::Object(self)
    }
}

impl Encode for ResponseMessage {
    fn encode(&self) -> Node<'_> {
        Node::Object(self)
    }
}

impl Encode for ErrorMessage {
    fn encode(&self) -> Node<'_> {
        Node::Object(self)
    }
}

impl<R, N> From<RequestMessage<R>> for Message<R, N> {
    fn from(message: RequestMessage<R>) -> Self {
        Self::Request(message)
    }
}

impl<R, N> From<NotificationMessage<N>> for Message<R, N> {
    fn from(message: NotificationMessage<N>) -> Self {
        Self::Notification(message)
    }
}

impl<R, N> From<ResponseMessage> for Message<R, N> {
    fn from(message: ResponseMessage) -> Self {
        Self::Response(message)
    }
}

impl<R, N> From<ErrorMessage> for Message<R, N> {
    fn from(message: ErrorMessage) -> Self {
        Self::Error(message)
    }
}

crate::codec::serde_impls!(ResponseMessage, ErrorMessage);

macro_rules! generic_serde_impls {
    ($($type:ident<$($of:ident: $set:ident),*>;)*) => {$(
        impl<$($of: Encode),*> serde::Serialize for $type<$($of),*> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serialize(self, serializer)
            }
        }
        impl<'de, $($of: $set),*> serde::Deserialize<'de> for $type<$($of),*> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserialize(deserializer)
            }
        }
    )*};
}

generic_serde_impls! {
    Message<R: RequestSet, N: NotificationSet>;
    RequestMessage<R: RequestSet>;
    NotificationMessage<N: NotificationSet>;
}
