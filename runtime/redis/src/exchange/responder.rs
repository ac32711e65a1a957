//! Handles requests that other replicas forward.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use http::{Method, Uri};
use mcpgen_sdk::replicas::{Answer, ForwardedRequest, ForwardedResponse, Frames, StoreError};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::message::{Head, Headers, RequestHead};
use super::sender::Sender;
use super::{CONFIRMATION, MAX_FRAME, WINDOW};
use crate::error::{Unavailable, corrupt};

/// The requesting replica, and its ID for the exchange.
type ExchangeId = (String, u64);

pub(super) struct Responder {
    answer: Mutex<Option<Arc<Answer>>>,
    running: Mutex<HashMap<ExchangeId, Arc<Running>>>,
    max: usize,
}

struct Running {
    stop: CancellationToken,
    /// How many frames may be sent now.
    window: Semaphore,
    consumed: AtomicU64,
    sent: AtomicU64,
}

impl Responder {
    pub(super) fn new(max: usize) -> Self {
        Self { answer: Mutex::default(), running: Mutex::default(), max }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ExchangeId, Arc<Running>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_answer(&self, answer: Answer) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(answer));
    }

    pub(super) fn receive(self: &Arc<Self>, sender: &Sender, head: Head, body: Bytes) -> Result<(), StoreError> {
        match head {
            Head::Request(head) => self.start(sender, head, body)?,
            Head::Consumed { from, id, frames } => {
                if let Some(running) = self.lock().get(&(from, id)) {
                    let before = running.consumed.fetch_max(frames, Ordering::SeqCst);
                    let more = usize::try_from(frames.saturating_sub(before)).unwrap_or(WINDOW);
                    running.window.add_permits(more.min(WINDOW));
                }
            }
            Head::Cancel { from, id } => {
                if let Some(running) = self.lock().remove(&(from, id)) {
                    running.stop.cancel();
                }
            }
            Head::Probe { from, ids } => {
                let (mut sent, mut gone) = (Vec::new(), Vec::new());
                let running = self.lock();
                for id in ids {
                    match running.get(&(from.clone(), id)) {
                        Some(running) => sent.push((id, running.sent.load(Ordering::SeqCst))),
                        None => gone.push(id),
                    }
                }
                drop(running);
                sender.send_later(&from, Head::State { sent, gone });
            }
            _ => {}
        }
        Ok(())
    }

    fn start(self: &Arc<Self>, sender: &Sender, head: RequestHead, body: Bytes) -> Result<(), StoreError> {
        let exchange = (head.from.clone(), head.id);
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut all = self.lock();
        let Some(answer) = answer.filter(|_| all.len() < self.max) else {
            drop(all);
            sender.send_later(&head.from, Head::Refused { id: head.id });
            return Ok(());
        };
        let request = decode(head, body)?;
        let running = Arc::new(Running {
            stop: CancellationToken::new(),
            window: Semaphore::new(WINDOW),
            consumed: AtomicU64::new(0),
            sent: AtomicU64::new(0),
        });
        all.insert(exchange.clone(), Arc::clone(&running));
        drop(all);
        let guard = Registered { responder: Arc::clone(self), exchange };
        let sender = sender.clone();
        tokio::spawn(async move {
            let stop = running.stop.clone();
            let work = respond(&sender, &guard.exchange, &running, &answer, request);
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                result = work => if let Err(error) = result {
                    tracing::debug!(%error, "cannot send a response to another replica");
                }
            }
        });
        Ok(())
    }

    /// The replicas that wait for responses.
    pub(super) fn replicas(&self) -> BTreeSet<String> {
        self.lock().keys().map(|(replica, _)| replica.clone()).collect()
    }

    /// Ends the exchanges with one replica, or all.
    pub(super) fn stop(&self, replica: Option<&str>) {
        self.lock().retain(|(from, _), running| {
            let stops = replica.is_none_or(|replica| replica == from);
            if stops {
                running.stop.cancel();
            }
            !stops
        });
    }
}

/// Removes the exchange when its task ends.
struct Registered {
    responder: Arc<Responder>,
    exchange: ExchangeId,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.responder.lock().remove(&self.exchange);
    }
}

fn decode(head: RequestHead, body: Bytes) -> Result<ForwardedRequest, StoreError> {
    let method = Method::from_bytes(head.method.as_bytes()).map_err(corrupt)?;
    let mut request = ForwardedRequest::new(method, Uri::try_from(head.uri).map_err(corrupt)?);
    request.headers = head.headers.decode()?;
    request.body = body;
    request.owner = head.owner;
    request.principal = head.principal;
    Ok(request)
}

async fn respond(
    sender: &Sender,
    (requester, id): &ExchangeId,
    running: &Running,
    answer: &Answer,
    request: ForwardedRequest,
) -> Result<(), StoreError> {
    let id = *id;
    let mut response = answer(request);
    let ForwardedResponse { status, headers, frames, .. } = match timeout(CONFIRMATION, &mut response).await {
        Ok(response) => response,
        Err(_) => {
            send(sender, requester, &Head::Accepted { id }, &[]).await?;
            response.await
        }
    };
    let (whole, frames) = match read_available(frames).await {
        Available::Whole(body) => (Some(body), stream::empty().boxed()),
        Available::Part(frames) => (None, frames),
    };
    let (status, headers, is_whole) = (status.as_u16(), Headers::from(&headers), whole.is_some());
    send(sender, requester, &Head::Response { id, status, headers, is_whole }, &whole.unwrap_or_default()).await?;
    if is_whole {
        return Ok(());
    }
    let complete = send_frames(sender, requester, id, running, frames).await?;
    let frames = running.sent.load(Ordering::SeqCst);
    send(sender, requester, &Head::End { id, frames, failed: !complete }, &[]).await
}

/// How much of a response's body is available.
enum Available {
    Whole(Vec<u8>),
    /// All frames, including those that were available.
    Part(Frames),
}

/// Reads the frames available now, up to the size of one frame.
async fn read_available(mut frames: Frames) -> Available {
    let (mut available, mut bytes) = (Vec::new(), 0);
    while bytes <= MAX_FRAME {
        match frames.next().now_or_never() {
            None => break,
            Some(None) => {
                return match available.iter().all(Result::is_ok) {
                    true => Available::Whole(available.into_iter().flatten().collect::<Vec<Bytes>>().concat()),
                    false => Available::Part(stream::iter(available).boxed()),
                };
            }
            Some(Some(frame)) => {
                bytes += frame.as_ref().map_or(0, Bytes::len);
                available.push(frame);
            }
        }
    }
    Available::Part(stream::iter(available).chain(frames).boxed())
}

/// Sends all frames. Returns whether they end without an error.
async fn send_frames(
    sender: &Sender,
    requester: &str,
    id: u64,
    running: &Running,
    mut frames: Frames,
) -> Result<bool, StoreError> {
    while let Some(frame) = frames.next().await {
        let Ok(frame) = frame else { return Ok(false) };
        for part in frame.chunks(MAX_FRAME) {
            // The semaphore is never closed.
            if let Ok(permit) = running.window.acquire().await {
                permit.forget();
            }
            let number = running.sent.load(Ordering::SeqCst);
            send(sender, requester, &Head::Frame { id, number }, part).await?;
            running.sent.store(number + 1, Ordering::SeqCst);
        }
    }
    Ok(true)
}

async fn send(sender: &Sender, replica: &str, head: &Head, body: &[u8]) -> Result<(), StoreError> {
    match sender.send(replica, head, body).await? {
        true => Ok(()),
        false => Err(Unavailable::ReplicaGone.into()),
    }
}
