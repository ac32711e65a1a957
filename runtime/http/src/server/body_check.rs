//! Lets a layer in front of the endpoint check request bodies, which the endpoint reads.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use tower::BoxError;

/// A check that a layer applies to a request body, for example whether the token may call the named tool.
///
/// If the layer read the body itself, it would do so before the endpoint has checked the host, and outside the
/// endpoint's limits on memory and time. Instead, it [attaches](Self::attach) a check, which the endpoint calls with
/// the body before it handles the messages.
///
/// A service that ignores checks cannot read the body: only one that has [taken](Self::take) the check can. The layer
/// should also refuse a successful response whose request has not [passed](Self::has_passed).
#[derive(Clone)]
pub struct BodyCheck(Arc<Shared>);

struct Shared {
    check: Box<Check>,
    state: AtomicU8,
}

type Check = dyn Fn(&[u8]) -> Result<(), Box<Response<Bytes>>> + Send + Sync;

const ATTACHED: u8 = 0;
const TAKEN: u8 = 1;
const PASSED: u8 = 2;

impl BodyCheck {
    /// Creates a check for one request. `check` gets the whole body, and may return a response that refuses it.
    pub fn new(check: impl Fn(&[u8]) -> Result<(), Box<Response<Bytes>>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Shared { check: Box::new(check), state: AtomicU8::new(ATTACHED) }))
    }

    /// Attaches a check to a request. With `None`, any service can read the body.
    pub fn attach<B>(check: Option<Self>, request: Request<B>) -> Request<CheckedBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let (mut parts, body) = request.into_parts();
        if let Some(check) = &check {
            parts.extensions.insert(check.clone());
        }
        Request::from_parts(parts, CheckedBody { body: body.map_err(Into::into).boxed_unsync(), check })
    }

    /// Takes the check that a layer attached, if any. From then on the body can be read; call [`check`](Self::check)
    /// with all of it before you use any of it.
    #[must_use]
    pub fn take(parts: &mut Parts) -> Option<Self> {
        let check: Self = parts.extensions.remove()?;
        check.0.state.fetch_max(TAKEN, Ordering::SeqCst);
        Some(check)
    }

    /// Checks the whole body.
    ///
    /// # Errors
    ///
    /// Returns the response to send instead of handling the request.
    pub fn check(&self, body: &[u8]) -> Result<(), Box<Response<Bytes>>> {
        (self.0.check)(body)?;
        self.0.state.store(PASSED, Ordering::SeqCst);
        Ok(())
    }

    /// Returns whether the body has passed the check and may be used.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.state() == PASSED
    }

    fn state(&self) -> u8 {
        self.0.state.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for BodyCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyCheck").field("has_passed", &self.has_passed()).finish_non_exhaustive()
    }
}

/// A request body after [`BodyCheck::attach`].
#[derive(Debug)]
pub struct CheckedBody {
    body: UnsyncBoxBody<Bytes, BoxError>,
    check: Option<BodyCheck>,
}

impl Body for CheckedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.check.as_ref().is_some_and(|check| check.state() == ATTACHED) {
            let why = "the service reads the request body without the layer's check; call `BodyCheck::take` first";
            tracing::error!("{why}");
            return Poll::Ready(Some(Err(why.into())));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
