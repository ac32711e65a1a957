//! Forwards requests to other replicas.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, StatusCode};
use mcpgen_sdk::replicas::{ForwardedRequest, ForwardedResponse, Frames, StoreError};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::WINDOW;
use super::message::{Head, Headers, RequestHead};
use super::sender::Sender;
use crate::error::Unavailable;

#[derive(Default)]
pub(super) struct Requester {
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, Waiting>>,
}

struct Waiting {
    replica: String,
    /// Whether the request has arrived. Until then, the responder does not know the exchange.
    is_accepted: bool,
    frames: u64,
    /// If the exchange fails, this is dropped without sending `Part::End`.
    parts: mpsc::Sender<Part>,
}

enum Part {
    Accepted,
    Refused,
    Head(StatusCode, HeaderMap),
    Frame(Bytes),
    End { failed: bool },
}

impl Requester {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn forward(
        self: Arc<Self>,
        sender: Sender,
        replica: &str,
        request: ForwardedRequest,
    ) -> Result<ForwardedResponse, StoreError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        // Room for the window and all other parts.
        let (parts, receiver) = mpsc::channel(WINDOW + 4);
        self.lock().insert(id, Waiting { replica: replica.to_owned(), is_accepted: false, frames: 0, parts });
        let mut exchange = Exchange {
            requester: self,
            sender,
            replica: replica.to_owned(),
            id,
            parts: receiver,
            consumed: 0,
            reported: 0,
            has_ended: false,
        };
        let (status, headers) = match exchange.send(request).await? {
            Some(head) => head,
            None => exchange.head().await?,
        };
        Ok(ForwardedResponse::new(status, headers, exchange.frames()))
    }

    pub(super) fn receive(&self, head: Head, body: Bytes) -> Result<(), StoreError> {
        match head {
            Head::Accepted { id } => {
                if let Some(exchange) = self.lock().get_mut(&id) {
                    exchange.is_accepted = true;
                }
                self.pass(id, Part::Accepted);
            }
            Head::Refused { id } => self.pass(id, Part::Refused),
            Head::Response { id, status, headers, is_whole } => {
                let status = StatusCode::from_u16(status).map_err(crate::error::corrupt)?;
                if let Some(exchange) = self.lock().get_mut(&id) {
                    exchange.is_accepted = true;
                }
                self.pass(id, Part::Head(status, headers.decode()?));
                if is_whole {
                    if !body.is_empty() {
                        self.pass(id, Part::Frame(body));
                    }
                    self.pass(id, Part::End { failed: false });
                    self.lock().remove(&id);
                }
            }
            Head::Frame { id, number } => {
                let is_next = self.is_next(id, number, 1);
                if is_next {
                    self.pass(id, Part::Frame(body));
                }
            }
            Head::End { id, frames, failed } => {
                if self.is_next(id, frames, 0) {
                    self.pass(id, Part::End { failed });
                }
                self.lock().remove(&id);
            }
            Head::State { sent, gone } => {
                let mut waiting = self.lock();
                waiting.retain(|id, exchange| {
                    // Frames arrive before a message that counts them.
                    !gone.contains(id)
                        && !sent.iter().any(|(sent_id, frames)| sent_id == id && *frames > exchange.frames)
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether all earlier frames have arrived. If not, the exchange ends.
    fn is_next(&self, id: u64, number: u64, frames: u64) -> bool {
        let mut waiting = self.lock();
        let Some(exchange) = waiting.get_mut(&id) else { return false };
        if exchange.frames != number {
            waiting.remove(&id);
            return false;
        }
        exchange.frames += frames;
        true
    }

    fn pass(&self, id: u64, part: Part) {
        let mut waiting = self.lock();
        // Full only if the responder ignores the window.
        if waiting.get(&id).is_some_and(|exchange| exchange.parts.try_send(part).is_err()) {
            waiting.remove(&id);
        }
    }

    pub(super) fn replicas(&self) -> BTreeMap<String, Vec<u64>> {
        let mut replicas = BTreeMap::<_, Vec<_>>::new();
        for (id, exchange) in self.lock().iter().filter(|(_, exchange)| exchange.is_accepted) {
            replicas.entry(exchange.replica.clone()).or_default().push(*id);
        }
        replicas
    }

    /// Ends these exchanges with an error.
    pub(super) fn fail(&self, ids: &[u64]) {
        let mut waiting = self.lock();
        for id in ids {
            waiting.remove(id);
        }
    }

    pub(super) fn fail_all(&self) {
        self.lock().clear();
    }
}

/// A forwarded request. Dropping this cancels the request.
struct Exchange {
    requester: Arc<Requester>,
    sender: Sender,
    replica: String,
    id: u64,
    parts: mpsc::Receiver<Part>,
    consumed: u64,
    /// How many consumed frames the responder knows of.
    reported: u64,
    has_ended: bool,
}

impl Exchange {
    /// Sends the request, and waits until the responder accepts it or responds. Returns the head of the response, if it
    /// has arrived.
    async fn send(&mut self, request: ForwardedRequest) -> Result<Option<(StatusCode, HeaderMap)>, StoreError> {
        let head = Head::Request(RequestHead {
            from: self.sender.id().to_owned(),
            id: self.id,
            method: request.method.to_string(),
            uri: request.uri.to_string(),
            headers: Headers::from(&request.headers),
            owner: request.owner,
            principal: request.principal,
        });
        if !self.sender.send(&self.replica, &head, &request.body).await? {
            self.has_ended = true;
            return Err(StoreError::undelivered(Unavailable::ReplicaGone));
        }
        let limit = self.sender.timeout();
        match timeout(limit, self.parts.recv()).await {
            Ok(Some(Part::Accepted)) => Ok(None),
            Ok(Some(Part::Head(status, headers))) => Ok(Some((status, headers))),
            Ok(Some(Part::Refused)) => {
                self.has_ended = true;
                Err(StoreError::undelivered(Unavailable::Refused))
            }
            Ok(_) => Err(Unavailable::ReplicaGone.into()),
            Err(_) => Err(Unavailable::TimedOut(limit).into()),
        }
    }

    async fn head(&mut self) -> Result<(StatusCode, HeaderMap), StoreError> {
        match self.parts.recv().await {
            Some(Part::Head(status, headers)) => Ok((status, headers)),
            _ => Err(Unavailable::ReplicaGone.into()),
        }
    }

    fn frames(self) -> Frames {
        stream::unfold(self, |mut exchange| async move { Some((exchange.next().await?, exchange)) }).boxed()
    }

    async fn next(&mut self) -> Option<Result<Bytes, StoreError>> {
        if self.has_ended {
            return None;
        }
        match self.parts.recv().await {
            Some(Part::Frame(frame)) => {
                self.consumed += 1;
                if self.consumed - self.reported >= WINDOW as u64 / 2 {
                    self.reported = self.consumed;
                    let consumed =
                        Head::Consumed { from: self.sender.id().to_owned(), id: self.id, frames: self.consumed };
                    self.sender.send_later(&self.replica, consumed);
                }
                Some(Ok(frame))
            }
            Some(Part::End { failed }) => {
                self.has_ended = true;
                failed.then(|| Err(Unavailable::ResponseFailed.into()))
            }
            _ => {
                self.cancel();
                Some(Err(Unavailable::ReplicaGone.into()))
            }
        }
    }

    fn cancel(&mut self) {
        if !self.has_ended {
            self.has_ended = true;
            self.requester.fail(&[self.id]);
            let cancel = Head::Cancel { from: self.sender.id().to_owned(), id: self.id };
            self.sender.send_later(&self.replica, cancel);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.cancel();
        self.requester.fail(&[self.id]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether the exchange goes on or has ended without an error.
    fn receive(messages: impl IntoIterator<Item = Head>) -> bool {
        let requester = Requester::default();
        let (parts, mut receiver) = mpsc::channel(WINDOW + 4);
        requester.lock().insert(1, Waiting { replica: "b".to_owned(), is_accepted: false, frames: 0, parts });
        for head in messages {
            requester.receive(head, Bytes::new()).expect("a valid message");
        }
        let mut has_ended = false;
        while let Ok(part) = receiver.try_recv() {
            has_ended |= matches!(part, Part::End { failed: false });
        }
        has_ended || requester.lock().contains_key(&1)
    }

    #[test]
    fn lost_frames_end_an_exchange() {
        let frame = |number| Head::Frame { id: 1, number };
        let state = |frames, gone: &[u64]| Head::State { sent: vec![(1, frames)], gone: gone.to_vec() };
        let end = |frames| Head::End { id: 1, frames, failed: false };
        let gone = || Head::State { sent: Vec::new(), gone: vec![1] };
        let head = |is_whole| Head::Response { id: 1, status: 200, headers: (&HeaderMap::new()).into(), is_whole };
        for (name, messages, expected) in [
            ("in order", vec![frame(0), frame(1), state(2, &[]), state(1, &[7]), end(2)], true),
            ("a whole response", vec![head(true)], true),
            ("a response without frames", vec![head(false), gone()], false),
            ("another exchange", vec![Head::Frame { id: 2, number: 5 }, frame(0)], true),
            ("a lost frame", vec![frame(0), frame(2)], false),
            ("a lost first frame", vec![frame(1)], false),
            ("a repeated frame", vec![frame(0), frame(0)], false),
            ("a lost last frame", vec![frame(0), end(2)], false),
            ("a lost frame without another one", vec![frame(0), state(2, &[])], false),
            ("a lost end", vec![frame(0), gone()], false),
            ("an end before the state", vec![frame(0), end(1), gone()], true),
            ("more frames than the window", (0..WINDOW as u64 + 10).map(frame).collect(), false),
        ] {
            assert_eq!(receive(messages), expected, "{name}");
        }
    }
}
