//! Forwards HTTP requests to the replica that runs their session.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use http::{HeaderMap, Method, StatusCode, Uri};

use super::error::StoreError;

/// Forwards HTTP requests between replicas.
///
/// Delivery is at most once: if a frame may have been lost, the response ends with an error, and the client resumes its
/// stream.
pub trait ExchangeBus: Send + Sync + 'static {
    /// Sends a request to a replica, and waits for the head of the response.
    ///
    /// Dropping the future or the response's frames cancels the request on the other replica.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable, or if the other replica does not respond because it has died or is
    /// overloaded. The error [is undelivered](StoreError::is_undelivered) if the other replica certainly did not accept
    /// the request: it is not connected, or it has no function that answers requests.
    fn forward<'a>(
        &'a self,
        replica: &'a str,
        request: ForwardedRequest,
    ) -> BoxFuture<'a, Result<ForwardedResponse, StoreError>>;

    /// Sets the function that handles requests forwarded to this replica, until the bus is dropped. Replaces an earlier
    /// function. If the frames of a response are dropped before they end, the other replica has cancelled the request.
    fn answer(&self, answer: Answer);
}

/// Handles a forwarded request.
pub type Answer = Box<dyn Fn(ForwardedRequest) -> BoxFuture<'static, ForwardedResponse> + Send + Sync>;

/// A response body, in the frames that the server produced. The body ends after an error.
pub type Frames = BoxStream<'static, Result<Bytes, StoreError>>;

/// An HTTP request to forward.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ForwardedRequest {
    /// The HTTP method.
    pub method: Method,
    /// The URI.
    pub uri: Uri,
    /// The headers, without the credentials in `Authorization`, `Proxy-Authorization`, `Cookie` and `DPoP`.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// The request's owner; see `EndpointOptions::owner`.
    pub owner: Option<String>,
    /// The name of the request's [`Principal`](mcpgen_runtime::transport::Principal).
    pub principal: Option<String>,
}

impl ForwardedRequest {
    /// Creates a request without headers, body or owner.
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
