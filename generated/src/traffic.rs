//! Pairs responses with their requests, for example to read recorded traffic.
//!
//! A response repeats the ID of its request, but contains neither the method nor the type of the result. [`Traffic`] reads
//! the messages of a connection in order, and returns each response together with its request.
//! [`Request::decode_result`](crate::Request::decode_result) then decodes the result, or
//! [`RequestSet::check_result`](crate::RequestSet::check_result) checks it for any request.
//!
//! ```
//! # #[cfg(feature = "v2026_07_28")]
//! # fn main() -> Result<(), mcpgen_types::Error> {
//! use mcpgen_types::Request;
//! use mcpgen_types::traffic::{Event, Traffic};
//! use mcpgen_types::v2026_07_28::{ClientMessage, ClientRequest, ServerMessage};
//!
//! # let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"}}"#;
//! let sent = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add",META}}"#;
//! # let sent = &sent.replace("META", meta);
//! let received = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text"}]}}"#;
//!
//! let mut traffic = Traffic::new();
//! traffic.client(mcpgen_types::from_str::<ClientMessage>(sent)?);
//! let Event::Response { request, response } = traffic.server(mcpgen_types::from_str::<ServerMessage>(received)?) else {
//!     panic!("not a response");
//! };
//! let ClientRequest::CallTool(call) = request.request() else { panic!("not a tool call") };
//! assert_eq!(call.params.name, "add");
//! let error = call.decode_result(&response).unwrap_err();
//! assert_eq!(error.to_string(), "tools/call result: content[0].text: missing required member");
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "v2026_07_28"))]
//! # fn main() {}
//! ```

use std::collections::{HashMap, VecDeque};

use crate::{ErrorId, ErrorMessage, Message, NotificationMessage, RequestId, RequestMessage, ResponseMessage};

/// The traffic of one connection. `C` are the client's requests, and `S` the server's.
///
/// Pass each message once, in the order they were sent, and the messages of a batch one by one. If a request is invalid
/// and cannot be passed, its response will be unpaired.
#[derive(Clone, Debug)]
pub struct Traffic<C, S> {
    client: PendingRequests<RequestMessage<C>>,
    server: PendingRequests<RequestMessage<S>>,
}

impl<C, S> Default for Traffic<C, S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C, S> Traffic<C, S> {
    /// Creates a value that has read no messages yet.
    #[must_use]
    pub fn new() -> Self {
        Self { client: PendingRequests::new(), server: PendingRequests::new() }
    }

    /// Reads a message from the client.
    pub fn client<N>(&mut self, message: Message<C, N>) -> Event<'_, C, N, S> {
        read(&mut self.client, &mut self.server, message)
    }

    /// Reads a message from the server.
    pub fn server<N>(&mut self, message: Message<S, N>) -> Event<'_, S, N, C> {
        read(&mut self.server, &mut self.client, message)
    }

    /// Returns the client's requests without a response so far, in order. Cancelled requests are included, because
    /// their response may still arrive.
    pub fn pending_client_requests(&self) -> impl Iterator<Item = &RequestMessage<C>> {
        self.client.iter().map(|(_, request)| request)
    }

    /// Returns the server's requests without a response so far, in order. Cancelled requests are included, because
    /// their response may still arrive.
    pub fn pending_server_requests(&self) -> impl Iterator<Item = &RequestMessage<S>> {
        self.server.iter().map(|(_, request)| request)
    }
}

/// Reads a message. `sent` are its sender's requests, and `received` those of the peer.
fn read<'a, R, N, P>(
    sent: &'a mut PendingRequests<RequestMessage<R>>,
    received: &mut PendingRequests<RequestMessage<P>>,
    message: Message<R, N>,
) -> Event<'a, R, N, P> {
    match message {
        Message::Request(request) => {
            let (message, is_duplicate) = sent.insert_and_get(request.id().clone(), request);
            Event::Request { message, is_duplicate }
        }
        Message::Notification(notification) => Event::Notification(notification),
        Message::Response(response) => match received.take(&response.id) {
            Some(request) => Event::Response { request, response },
            None => Event::UnpairedResponse(response),
        },
        Message::Error(error) => {
            let request = match &error.id {
                ErrorId::Id(id) => received.take(id),
                ErrorId::Null | ErrorId::Absent => None,
            };
            match request {
                Some(request) => Event::Error { request, error },
                None => Event::UnpairedError(error),
            }
        }
    }
}

/// A message, with the request it belongs to. `R` and `N` are the sender's requests and notifications, and `P` the
/// peer's requests.
#[derive(Debug)]
pub enum Event<'a, R, N, P> {
    /// A request.
    Request {
        /// The request.
        message: &'a RequestMessage<R>,
        /// Whether an earlier request with the same ID is still waiting for its response, which JSON-RPC does not
        /// allow. The next response with this ID is paired with the earlier request.
        is_duplicate: bool,
    },
    /// A notification.
    Notification(NotificationMessage<N>),
    /// A response with its request.
    Response {
        /// The request.
        request: RequestMessage<P>,
        /// The response.
        response: ResponseMessage,
    },
    /// An error response with its request.
    Error {
        /// The request.
        request: RequestMessage<P>,
        /// The error response.
        error: ErrorMessage,
    },
    /// A response without a request: no request was read with this ID, or the request already has a response.
    UnpairedResponse(ResponseMessage),
    /// An error response without a request: its ID is missing, no request was read with this ID, or the request already
    /// has a response.
    UnpairedError(ErrorMessage),
}

/// One sender's requests that have no response yet, by ID.
///
/// `T` can be anything that helps to read the response. If message types are unknown, the method may be enough.
#[derive(Clone, Debug)]
pub struct PendingRequests<T> {
    /// The requests for each ID with their numbers, oldest first.
    requests: HashMap<RequestId, VecDeque<(u64, T)>>,
    len: usize,
    next: u64,
}

impl<T> Default for PendingRequests<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> PendingRequests<T> {
    /// Creates an empty collection.
    #[must_use]
    pub fn new() -> Self {
        Self { requests: HashMap::new(), len: 0, next: 0 }
    }

    /// Adds a request. Returns `false` if another request with this ID is still waiting for its response. Both are
    /// kept.
    pub fn insert(&mut self, id: RequestId, request: T) -> bool {
        !self.insert_and_get(id, request).1
    }

    /// Like [`Self::insert`], but returns the request, and whether another one has this ID.
    fn insert_and_get(&mut self, id: RequestId, request: T) -> (&T, bool) {
        let number = self.next;
        self.next += 1;
        self.len += 1;
        let requests = self.requests.entry(id).or_default();
        requests.push_back((number, request));
        let last = requests.len() - 1;
        (&requests[last].1, last > 0)
    }

    /// Removes and returns the request that a response with this ID belongs to, which is the oldest one.
    pub fn take(&mut self, id: &RequestId) -> Option<T> {
        let requests = self.requests.get_mut(id)?;
        let (_, request) = requests.pop_front()?;
        if requests.is_empty() {
            self.requests.remove(id);
        }
        self.len -= 1;
        Some(request)
    }

    /// Returns the number of requests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no requests.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the requests with their IDs, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&RequestId, &T)> {
        let numbered = self.requests.iter().flat_map(|(id, requests)| requests.iter().map(move |it| (id, it)));
        let mut numbered: Vec<_> = numbered.collect();
        numbered.sort_unstable_by_key(|(_, (number, _))| *number);
        numbered.into_iter().map(|(id, (_, request))| (id, request))
    }
}
