//! Alternative ways to ask the client for input, for extensions.

use std::fmt;

use futures_util::future::BoxFuture;
use mcpgen_types::v2026_07_28::InputRequests;
use mcpgen_types::{ErrorObject, Json, Map};

/// Asks the client for input while a function runs, rather than in the call's result. Extensions set it with
/// [`RequestContext::with_input_source`](super::RequestContext::with_input_source).
pub trait InputSource: fmt::Debug + Send + Sync + 'static {
    /// Requests input and waits for all responses. Returns them by the keys of the requests.
    ///
    /// # Errors
    ///
    /// Fails if the client does not support a request, or if no input can arrive any more.
    fn request(&self, requests: InputRequests) -> BoxFuture<'_, Result<Map<String, Json>, ErrorObject>>;
}
