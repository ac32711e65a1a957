//! Traits of requests and notifications.

use crate::codec::{Cursor, Decode, DecodeInPlace, Document, Encode, Node, Unread};
use crate::{Error, ErrorKind, Json, Never, RequestId, ResponseMessage, Version};

/// A request with a certain method, in a certain version of its protocol.
pub trait Request: Decode + Encode {
    /// The method's name.
    const METHOD: &'static str;
    /// The version of the protocol that defines this request. For requests of MCP, see [`Revision::of`](crate::Revision::of).
    const VERSION: Version;
    /// The type of `params`; an `Option` if `params` may be absent.
    type Params: Params;
    /// The type of the result.
    type Result: Decode + Encode;

    /// Decodes the result of this request from its response. The caller must pair the two by ID, for example with
    /// [`Traffic`](crate::traffic::Traffic).
    ///
    /// If this is a [`TaskRequest`] that runs as a task, use [`decode_task_result`](TaskRequest::decode_task_result)
    /// instead.
    ///
    /// # Errors
    ///
    /// Returns an error if the result is invalid. The error names the method, as in `tools/list result`.
    fn decode_result(&self, response: &ResponseMessage) -> Result<Self::Result, Error>
    where
        Self: Sized,
    {
        response.decode::<Self>()
    }
}

/// A request that can run as a task. If its params contain `task`, it has another result.
pub trait TaskRequest: Request {
    /// The type of the result if the params contain `task`.
    type TaskResult: Decode + Encode;

    /// Decodes the result of this request if it runs as a task, that is, if its params contain `task` and the receiver
    /// has not ignored that.
    ///
    /// # Errors
    ///
    /// Returns an error if the result is invalid. The error names the method, as in `tools/call task result`.
    fn decode_task_result(&self, response: &ResponseMessage) -> Result<Self::TaskResult, Error>
    where
        Self: Sized,
    {
        response.decode_task::<Self>()
    }
}

/// A notification with a certain method, in a certain version of its protocol.
pub trait Notification: Decode + Encode {
    /// The method's name.
    const METHOD: &'static str;
    /// The version of the protocol that defines this notification. For notifications of MCP, see [`Revision::of`](crate::Revision::of).
    const VERSION: Version;
    /// The type of `params`; an `Option` if `params` may be absent.
    type Params: Params;
}

/// A type for `params`. Implemented for everything that implements [`Decode`] and [`Encode`].
///
/// `Option<P>` and `()` make `params` optional. With any other type, `params` is required. `null` is never valid.
pub trait Params: Decode + Encode {
    /// Decodes the `params` member, or its absence. Error paths start at `params`.
    ///
    /// # Errors
    ///
    /// Returns an error if the member is invalid, or absent although it is required.
    fn from_member(params: Option<&Json>) -> Result<Self, Error> {
        let decoded = match params {
            Some(raw) if raw.text() == "null" => Err(Document::default().root().mismatch("object")),
            Some(raw) => raw.decode(),
            // If the member is absent, it decodes like `null`.
            None => Self::decode(Document::default().root()).map_err(|_| Error::new(ErrorKind::Missing)),
        };
        decoded.map_err(|error| error.at_key("params"))
    }

    /// Returns the `params` member, or `None` if it should be left out.
    fn to_member(&self) -> Option<Node<'_>> {
        match self.encode() {
            Node::Null => None,
            node => Some(node),
        }
    }
}

impl<T: Decode + Encode> Params for T {}

/// All requests, or all notifications, of one direction.
pub trait MethodSet: DecodeInPlace + Encode {
    /// The names of the methods.
    const METHODS: &'static [&'static str];

    /// Whether every result of the protocol is an object. If so, responses with any other result are invalid.
    const RESULTS_ARE_OBJECTS: bool = true;

    /// Decodes a message whose method is `METHODS[index]` into this value, which must be blank.
    ///
    /// # Errors
    ///
    /// Returns an error if the message is not valid.
    fn read_method(&mut self, _index: usize, json: Cursor<'_>, unread: Unread) -> Result<(), Error> {
        self.read(json, unread)
    }

    /// Returns the method of the message.
    fn method(&self) -> &str;
}

/// The requests of one direction.
pub trait RequestSet: MethodSet {
    /// Sets the `id` field of the request, if its type has one.
    fn set_id(&mut self, _id: RequestId) {}

    /// Calls a visitor with the request type for a method, or returns `None` if the direction does not have the method.
    fn request_type<V: RequestTypeVisitor>(_method: &str, _visitor: V) -> Option<V::Output> {
        None
    }

    /// Checks the result in the response to this request. Returns the name of the result's type, such as
    /// `CallToolResult`, or `None` if the type is unknown.
    ///
    /// This works for requests of any method. To decode the result, match on the request and use
    /// [`Request::decode_result`]. If both the params and the result contain `task`, the type is
    /// [`TaskRequest::TaskResult`].
    ///
    /// # Errors
    ///
    /// Returns an error if the result is invalid. The error names the method, as in `tools/list result`.
    fn check_result(&self, response: &ResponseMessage) -> Result<Option<&'static str>, Error> {
        let is_task = || Json::from(self).pointer("/params/task").is_some();
        Self::request_type(self.method(), CheckResult { response, is_task }).transpose()
    }
}

/// A function that is generic over a request type. See [`RequestSet::request_type`].
pub trait RequestTypeVisitor: Sized {
    /// What the function returns.
    type Output;

    /// Called with the request type.
    fn visit<R: Request>(self) -> Self::Output;

    /// Called instead of [`visit`](Self::visit) if the request can run as a task. Calls `visit` by default.
    fn visit_task<R: TaskRequest>(self) -> Self::Output {
        self.visit::<R>()
    }
}

struct CheckResult<'a, F> {
    response: &'a ResponseMessage,
    is_task: F,
}

impl<F: FnOnce() -> bool> RequestTypeVisitor for CheckResult<'_, F> {
    type Output = Result<&'static str, Error>;

    fn visit<R: Request>(self) -> Self::Output {
        self.response.decode::<R>().map(|_| R::Result::NAME)
    }

    fn visit_task<R: TaskRequest>(self) -> Self::Output {
        // A receiver may ignore `task` and respond with a plain result.
        let has_task = self.response.result.get("task").is_some();
        match has_task && (self.is_task)() {
            true => self.response.decode_task::<R>().map(|_| R::TaskResult::NAME),
            false => self.response.decode::<R>().map(|_| R::Result::NAME),
        }
    }
}

/// The notifications of one direction.
pub trait NotificationSet: MethodSet {}

/// A direction without requests or notifications.
impl MethodSet for Never {
    const METHODS: &'static [&'static str] = &[];

    fn method(&self) -> &str {
        match *self {}
    }
}

impl RequestSet for Never {}

impl NotificationSet for Never {}
