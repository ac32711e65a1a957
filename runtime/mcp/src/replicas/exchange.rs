//! Forwards HTTP requests to the replica that runs their session.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use http::{HeaderMap, Method, StatusCode, Uri};

use super::error::StoreError;

/// Forwards HTTP requests between replicas.
///
/// Delivery is at most once: if a frame may be lost, the response's frames end with an error, and the client resumes
/// its stream.
pub trait ExchangeBus: Send + Sync + 'static {
    /// Sends a request to a replica, and waits for the head of its response.
    ///
    /// Dropping the returned future or the response's frames cancels the request at the other replica.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable, or if the other replica does not respond: it has died or is overloaded. The error
    /// [is undelivered](StoreError::is_undelivered) if the other replica has certainly not received the request, or has
    /// refused it: if it is not connected, or no function answers.
    fn forward<'a>(
        &'a self,
        replica: &'a str,
        request: ForwardedRequest,
    ) -> BoxFuture<'a, Result<ForwardedResponse, StoreError>>;

    /// Handles the requests that other replicas forward to this one, until the bus is dropped. A later call replaces
    /// the function. If the frames of a response are dropped before they end, the other replica has cancelled it.
    fn answer(&self, answer: Answer);
}

/// Handles a forwarded request.
pub type Answer = Box<dyn Fn(ForwardedRequest) -> BoxFuture<'static, ForwardedResponse> + Send + Sync>;

/// The body of a response, as the frames that the server has produced. An error ends it.
pub type Frames = BoxStream<'static, Result<Bytes, StoreError>>;

/// An HTTP request to forward.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ForwardedRequest {
    /// The HTTP method.
    pub method: Method,
    /// The URI.
    pub uri: Uri,
    /// The headers, without credentials: `Authorization`, `Proxy-Authorization`, `Cookie` and `DPoP`.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// The owner of the request; see `EndpointOptions::owner`.
    pub owner: Option<String>,
    /// The name of the request's [`Principal`](mcpgen_runtime::transport::Principal).
    pub principal: Option<String>,
}

impl ForwardedRequest {
    /// Creates a request without headers, body and owner.
    #[must_use]
    pub fn new(method: Method, uri: Uri) -> Self {
        Self { method, uri, headers: HeaderMap::new(), body: Bytes::new(), owner: None, principal: None }
    }
}

/// The response to a forwarded request.
#[non_exhaustive]
pub struct ForwardedResponse {
    /// The HTTP status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub frames: Frames,
}

impl ForwardedResponse {
    /// Creates a response.
    #[must_use]
    pub fn new(status: StatusCode, headers: HeaderMap, frames: Frames) -> Self {
        Self { status, headers, frames }
    }
}

impl std::fmt::Debug for ForwardedResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ForwardedResponse")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}
