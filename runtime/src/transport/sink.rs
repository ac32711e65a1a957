//! A sink that passes outgoing messages to a function.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::{fmt, io};

use futures_util::Sink;

use super::outbound::Outbound;
use super::seam::Outgoing;

/// Creates a sink that passes each outgoing message to a function. The function must not block.
///
/// Use it for transports that queue messages or write them without waiting; for others, implement [`Outgoing`]. The
/// function's first error closes the connection.
pub fn sink<F: FnMut(Outbound) -> io::Result<()> + Send + Unpin + 'static>(send: F) -> FnSink<F> {
    FnSink { send, has_request_streams: false }
}

/// The sink that [`sink`] creates.
pub struct FnSink<F> {
    send: F,
    has_request_streams: bool,
}

impl<F> FnSink<F> {
    /// Declares that the transport has a stream per request. See [`Outgoing::has_request_streams`].
    #[must_use]
    pub fn with_request_streams(mut self) -> Self {
        self.has_request_streams = true;
        self
    }
}

impl<F: FnMut(Outbound) -> io::Result<()> + Send + Unpin + 'static> Outgoing for FnSink<F> {
    fn has_request_streams(&self) -> bool {
        self.has_request_streams
    }
}

impl<F: FnMut(Outbound) -> io::Result<()> + Unpin> Sink<Outbound> for FnSink<F> {
    type Error = io::Error;

    fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn start_send(mut self: Pin<&mut Self>, message: Outbound) -> io::Result<()> {
        (self.send)(message)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl<F> fmt::Debug for FnSink<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnSink").field("has_request_streams", &self.has_request_streams).finish_non_exhaustive()
    }
}
