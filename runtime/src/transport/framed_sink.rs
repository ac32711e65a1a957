//! A sink that writes messages in frames.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Sink;
use tokio::io::AsyncWrite;
use tokio_util::codec::{Encoder, FramedWrite};

use super::outbound::{Outbound, OutboxPermit};
use super::seam::Outgoing;

/// Writes messages with an encoder. Releases their shares of the outbox together when they are flushed, because each
/// release takes a lock.
pub(super) struct FramedSink<W, E> {
    frames: Pin<Box<FramedWrite<W, E>>>,
    permit: Option<OutboxPermit>,
}

impl<W: AsyncWrite, E> FramedSink<W, E> {
    pub(super) fn new(writer: W, encoder: E) -> Self {
        Self { frames: Box::pin(FramedWrite::new(writer, encoder)), permit: None }
    }
}

impl<W, E> Outgoing for FramedSink<W, E>
where
    W: AsyncWrite + Send + 'static,
    E: Encoder<Outbound, Error = io::Error> + Send + 'static,
{
}

impl<W: AsyncWrite, E: Encoder<Outbound, Error = io::Error>> Sink<Outbound> for FramedSink<W, E> {
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.frames.as_mut().poll_ready(context)
    }

    fn start_send(mut self: Pin<&mut Self>, mut message: Outbound) -> io::Result<()> {
        match (&mut self.permit, message.permit.take()) {
            (Some(permit), Some(other)) => permit.merge(other),
            (permit @ None, other) => *permit = other,
            (Some(_), None) => {}
        }
        self.frames.as_mut().start_send(message)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = self.frames.as_mut().poll_flush(context);
        if flushed.is_ready() {
            self.permit = None;
        }
        flushed
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.frames.as_mut().poll_close(context)
    }
}
