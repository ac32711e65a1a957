//! Response bodies: single messages, event streams and errors.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use http_body::{Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_types::{ErrorId, ErrorMessage, ErrorObject, RequestId};

use super::refusal::Refusal;
use crate::headers::NO_BUFFERING;

/// The body of an endpoint's response.
#[derive(Debug)]
pub struct Body(UnsyncBoxBody<Bytes, Infallible>);

impl Body {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self(Full::new(bytes).boxed_unsync())
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.0).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

pub(super) fn json(status: StatusCode, message: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::whole(message));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Creates bytes that hold `guard` until the HTTP server has written or dropped them.
pub(super) fn holding<G: Send + 'static>(bytes: impl AsRef<[u8]> + Send + 'static, guard: G) -> Bytes {
    Bytes::from_owner(Holding { bytes, _guard: guard })
}

struct Holding<B, G> {
    bytes: B,
    _guard: G,
}

impl<B: AsRef<[u8]>, G> AsRef<[u8]> for Holding<B, G> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

pub(super) fn events(events: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let frames = events.map(|event| Ok(Frame::data(event)));
    let mut response = Response::new(Body(StreamBody::new(frames).boxed_unsync()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(NO_BUFFERING, HeaderValue::from_static("no"));
    response
}

pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::whole(Bytes::new()));
    *response.status_mut() = status;
    response
}

/// Maximum size in bytes of an error's ID, message and data, each of which may quote the request. Error responses that
/// the client does not read count toward no limit, so they must stay small.
const MAX_QUOTED: usize = 1024;

/// Creates an error response. Leaves out an ID that is unknown or longer than [`MAX_QUOTED`], truncates a longer
/// message, and drops longer data.
pub(super) fn error(status: StatusCode, id: ErrorId, mut error: ErrorObject) -> Response<Body> {
    let id = match id {
        ErrorId::Id(RequestId::String(id)) if id.len() > MAX_QUOTED => ErrorId::Absent,
        ErrorId::Null => ErrorId::Absent,
        id => id,
    };
    if error.message.len() > MAX_QUOTED {
        let end = (0..=MAX_QUOTED).rev().find(|end| error.message.is_char_boundary(*end)).unwrap_or(0);
        error.message.truncate(end);
        error.message.push('…');
    }
    error.data = error.data.filter(|data| mcpgen_types::to_vec(data).len() <= MAX_QUOTED);
    json(status, mcpgen_types::to_vec(&ErrorMessage::new(id, error)).into())
}

impl From<Refusal> for Response<Body> {
    fn from(refusal: Refusal) -> Self {
        let Refusal { status, why, header } = refusal;
        tracing::debug!(%status, why, "request refused");
        let mut response = error(status, ErrorId::Absent, errors::invalid_request(&why));
        response.headers_mut().extend(header);
        response
    }
}
