//! Sources of the client's input, for extensions.

use std::fmt;

use futures_util::future::BoxFuture;
use mcpgen_types::v2026_07_28::InputRequests;
use mcpgen_types::{ErrorObject, Json, Map};

/// Requests input from the client while a function runs, instead of in the result of its call. Extensions set it with
/// [`RequestContext::with_input_source`](super::RequestContext::with_input_source).
pub trait InputSource: fmt::Debug + Send + Sync + 'static {
    /// Requests input, and waits for all responses. Returns them by the keys of the requests.
    ///
    /// # Errors
    ///
    /// Fails if the client does not support a request, or if the function can no longer get input.
    fn request(&self, requests: InputRequests) -> BoxFuture<'_, Result<Map<String, Json>, ErrorObject>>;
}
