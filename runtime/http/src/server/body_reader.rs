//! Reads request bodies within a shared byte limit.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BufMut};
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::BoxError;

use super::options::EndpointOptions;
use super::quota::{Kind, Quota, Quotas};
use super::refusal::Refusal;

/// Buffer space shared by all request bodies that are being read.
pub(super) struct BodyReader {
    /// One permit per received byte.
    room: Arc<Semaphore>,
    /// A quarter of the space, reserved for the first [`SMALL`] bytes of each body, so that a few large bodies do not
    /// block small ones.
    small: Arc<Semaphore>,
    quotas: Arc<Quotas>,
    longest: usize,
    per_owner: usize,
    timeout: Duration,
}

/// How many bytes of a body may use the reserved quarter.
const SMALL: usize = 64 << 10;

/// Space that a body occupies, released on drop.
#[derive(Debug, Default)]
pub(super) struct BufferPermits {
    room: Vec<OwnedSemaphorePermit>,
    bytes: usize,
    quota: Option<Quota>,
}

impl BodyReader {
    pub(super) fn new(options: &EndpointOptions, quotas: &Arc<Quotas>) -> Self {
        let longest = options.body.min(u32::MAX as usize);
        let room = options.body_buffer.clamp(longest.max(1), Semaphore::MAX_PERMITS);
        Self {
            room: Arc::new(Semaphore::new((room - room / 4).max(longest))),
            small: Arc::new(Semaphore::new(room / 4)),
            quotas: Arc::clone(quotas),
            longest,
            per_owner: longest.max(room / 4),
            timeout: options.body_timeout,
        }
    }

    /// Reads a body. Reserves space as bytes arrive, so that a stalled body occupies only what it has sent. Never waits
    /// for space: a body beyond a limit is refused, so that bodies cannot block each other.
    pub(super) async fn read<B>(
        &self,
        parts: &Parts,
        owner: Option<&Arc<str>>,
        body: B,
    ) -> Result<(Vec<u8>, BufferPermits), Refusal>
    where
        B: http_body::Body<Error: Into<BoxError>>,
    {
        let announced = parts.headers.get(CONTENT_LENGTH).and_then(length).unwrap_or(0);
        if announced.max(body.size_hint().lower()) > self.longest as u64 {
            return Err(self.too_large());
        }
        let read = async {
            let mut body = pin!(body);
            let (mut message, mut buffer) = (Vec::new(), BufferPermits::default());
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| {
                    Refusal::bad(format!("failed to read the request body: {}", Into::<BoxError>::into(error)))
                })?;
                let Ok(data) = frame.into_data() else { continue };
                if data.remaining() > self.longest - message.len() {
                    return Err(self.too_large());
                }
                self.reserve(&mut buffer, owner, data.remaining())?;
                message.put(data);
            }
            Ok((message, buffer))
        };
        tokio::time::timeout(self.timeout, read).await.unwrap_or_else(|_| {
            let why = format!("the request body took longer than {:?} to arrive", self.timeout);
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, why))
        })
    }

    fn reserve(&self, buffer: &mut BufferPermits, owner: Option<&Arc<str>>, bytes: usize) -> Result<(), Refusal> {
        if let Some(owner) = owner {
            let granted = match &mut buffer.quota {
                Some(quota) => quota.grow(bytes, self.per_owner),
                None => {
                    buffer.quota = self.quotas.take(owner, Kind::BodyBytes, bytes, self.per_owner);
                    buffer.quota.is_some()
                }
            };
            if !granted {
                return Err(Refusal::busy(
                    "this owner's request bodies exceed its share of `EndpointOptions::body_buffer`",
                ));
            }
        }
        let room = u32::try_from(bytes).ok().and_then(|permits| {
            let small =
                (buffer.bytes + bytes <= SMALL).then(|| Arc::clone(&self.small).try_acquire_many_owned(permits).ok());
            small.flatten().or_else(|| Arc::clone(&self.room).try_acquire_many_owned(permits).ok())
        });
        let room =
            room.ok_or_else(|| Refusal::busy("the request bodies being read exceed `EndpointOptions::body_buffer`"))?;
        buffer.bytes += bytes;
        match buffer.room.iter_mut().find(|held| Arc::ptr_eq(held.semaphore(), room.semaphore())) {
            Some(held) => held.merge(room),
            None => buffer.room.push(room),
        }
        Ok(())
    }

    fn too_large(&self) -> Refusal {
        let why = format!("the request body is larger than {} bytes", self.longest);
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why)
    }
}

fn length(value: &HeaderValue) -> Option<u64> {
    value.to_str().ok()?.trim().parse().ok()
}
