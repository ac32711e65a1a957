//! Runs requests within the connection's limits, and sends their responses.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt, stream};
use mcpgen_types::RequestId;
use tokio::task::JoinSet;

use super::handler::handle;
use super::inline_poll::InlinePoll;
use super::queue::Queue;
use super::response::{batch_response, no_response, response};
use super::state::ConnectionState;
use crate::context::Context;
use crate::jsonrpc::errors;
use crate::peer::{Mark, Peer};
use crate::router::{AnyRequest, RequestService};
use crate::transport::{Memory, Outbound, TakenMemory};

pub(super) struct Executor<S> {
    service: S,
    shared: Arc<ConnectionState>,
    queue: Queue<Queued>,
    running: JoinSet<()>,
    /// Running requests whose method [is long-lived](crate::protocol::Rules::long_lived).
    long_lived: JoinSet<()>,
    inline: InlinePoll,
}

struct Queued {
    task: Task,
    /// Memory in bytes that the task holds while it runs.
    memory: usize,
    /// The notifications received before this message, which are handled first.
    received: Mark,
}

pub(super) enum Task {
    Request(AnyRequest),
    /// A batch: its requests, and the responses to messages that need no handler.
    Batch(Vec<AnyRequest>, Vec<Outbound>),
    /// A response that did not fit into the outbox.
    Response(Outbound),
}

impl<S: RequestService> Executor<S> {
    pub(super) fn new(service: S, shared: Arc<ConnectionState>) -> Self {
        Self {
            service,
            shared,
            queue: Queue::new(),
            running: JoinSet::new(),
            long_lived: JoinSet::new(),
            inline: InlinePoll::default(),
        }
    }

    /// Starts a task if the limits allow it. Otherwise queues it, or rejects it if the queue is full. `memory` is what
    /// the incoming message takes or, for [`Task::Response`], the length of the response.
    pub(super) async fn admit(&mut self, task: Task, memory: Memory) {
        let limits = &self.shared.limits;
        let is_long_lived = matches!(&task, Task::Request(request) if self.shared.is_long_lived(&request.method));
        if is_long_lived && self.long_lived.len() < limits.long_lived && self.has_memory(memory.total()) {
            self.long_lived.spawn(self.run(self.received(task, memory.total())));
            return;
        }
        if !is_long_lived && self.queue.is_empty() && self.has_room(memory.total()) {
            return self.start(self.received(task, memory.total())).await;
        }
        let room = limits.queued_request_bytes.saturating_sub(self.queue.size());
        if !is_long_lived && self.queue.len() < limits.queued_requests && memory.held <= room {
            let context = match &task {
                Task::Request(request) => Some(request.context.clone()),
                Task::Batch(..) | Task::Response(_) => None,
            };
            let position = self.queue.push(memory.held, self.received(task, memory.total()));
            if let Some(context) = context {
                context.set_queue_position(position);
            }
            return;
        }
        // Waiting here stops reading until the peer reads.
        if let Some(response) = self.reject(task) {
            let _ = self.shared.peer.send(response).await;
        }
    }

    fn received(&self, task: Task, memory: usize) -> Queued {
        Queued { task, memory, received: self.shared.peer.backlog().mark() }
    }

    fn reject(&self, task: Task) -> Option<Outbound> {
        let busy = |request: &AnyRequest| self.shared.reject(request, errors::busy());
        match task {
            Task::Request(request) => busy(&request),
            Task::Response(response) => Some(response),
            Task::Batch(requests, mut responses) => {
                responses.extend(requests.iter().filter_map(busy));
                Some(batch_response(&responses))
            }
        }
    }

    /// Removes a request that waits in the queue, and returns whether it was there. A batch stays.
    pub(super) fn remove_queued(&mut self, context: &Context) -> bool {
        self.queue.remove(context.queue_position()).is_some()
    }

    fn has_room(&self, memory: usize) -> bool {
        self.running.len() < self.shared.limits.in_flight.max(1) && self.has_memory(memory)
    }

    /// Returns whether the memory limit allows more. A task that exceeds it, such as a large response, may run alone.
    fn has_memory(&self, more: usize) -> bool {
        match self.shared.memory.load(Ordering::Relaxed) {
            0 => true,
            used => used.saturating_add(more) <= self.shared.limits.memory,
        }
    }

    /// Starts the next queued task within the limits, or waits until a running one ends. Cancel safe.
    pub(super) async fn advance(&mut self) {
        if let Some(memory) = self.queue.first().map(|queued| queued.memory)
            && self.has_room(memory)
        {
            // Tasks may complete at their first poll, so nothing else in this loop is sure to yield.
            tokio::task::coop::consume_budget().await;
            if let Some(queued) = self.queue.pop() {
                self.start(queued).await;
            }
            return;
        }
        let ended = tokio::select! {
            Some(ended) = self.running.join_next() => ended,
            Some(ended) = self.long_lived.join_next() => ended,
            else => std::future::pending().await,
        };
        if let Err(error) = ended {
            tracing::error!(%error, "a response was lost: its task failed");
        }
    }

    /// Spawns the task only if it does not complete at its first poll.
    async fn start(&mut self, queued: Queued) {
        let mut queued = Some(queued);
        poll_fn(|cx| {
            if let Some(queued) = queued.take() {
                self.poll_or_spawn(queued, cx);
            }
            Poll::Ready(())
        })
        .await;
    }

    fn poll_or_spawn(&mut self, queued: Queued, cx: &mut TaskContext<'_>) {
        let work = self.run(queued);
        if self.shared.limits.spawn_handlers || self.inline.spawns_next() {
            self.running.spawn(work);
            return;
        }
        if let Some(pending) = self.inline.poll(work, cx) {
            self.running.spawn(pending);
        }
    }

    /// Creates a future that waits for earlier notifications, runs the task and sends the response.
    fn run(&self, Queued { task, memory, received }: Queued) -> impl Future<Output = ()> + Send + use<S> {
        let (service, shared) = (self.service.clone(), Arc::clone(&self.shared));
        let memory = TakenMemory::new(&self.shared.memory, memory);
        async move {
            let _memory = memory;
            let limit = shared.limits.notification_wait;
            if !matches!(task, Task::Response(_))
                && let Some(earlier) = shared.peer.wait_for_notifications(received, limit)
            {
                match &task {
                    Task::Request(request) => tokio::select! {
                        () = earlier => {}
                        () = request.context.cancelled() => {}
                    },
                    _ => earlier.await,
                }
            }
            match task {
                Task::Request(request) => {
                    let context = request.context.clone();
                    let response = handle(service, &shared, &context, request).await;
                    send(&shared.peer, response, context.id()).await;
                    context.response_sent();
                }
                // If the peer has disconnected, nobody misses the response.
                Task::Response(response) => drop(shared.peer.send(response).await),
                Task::Batch(requests, mut responses) => {
                    let contexts: Vec<Context> = requests.iter().map(|request| request.context.clone()).collect();
                    let limit = shared.limits.in_flight.max(1);
                    let handled = requests.into_iter().zip(&contexts);
                    let handled =
                        handled.map(|(request, context)| handle(service.clone(), &shared, context, request).boxed());
                    let handled = stream::iter(handled.collect::<Vec<_>>()).buffer_unordered(limit);
                    responses.extend(handled.filter_map(std::future::ready).collect::<Vec<_>>().await);
                    let response = (!responses.is_empty()).then(|| batch_response(&responses));
                    send(&shared.peer, response, contexts.first().and_then(Context::id)).await;
                    contexts.iter().for_each(Context::response_sent);
                }
            }
        }
    }

    pub(super) async fn drain(&mut self, limit: Duration) {
        let finished = tokio::time::timeout(limit, async {
            while !(self.queue.is_empty() && self.running.is_empty() && self.long_lived.is_empty()) {
                self.advance().await;
            }
        });
        if finished.await.is_err() {
            tracing::warn!(requests = self.shared.open_requests().len(), "abandoning unfinished requests");
        }
    }

    /// Cancels all unfinished requests and sends an error response to as many as the outbox has room for.
    pub(super) async fn abandon(&mut self) {
        let unfinished: Vec<RequestId> = self.shared.open_requests().keys().cloned().collect();
        self.queue.clear();
        self.running.shutdown().await;
        self.long_lived.shutdown().await;
        for id in unfinished {
            let _ = self.shared.peer.try_send(response(id, Err(errors::ended())));
        }
    }
}

/// Sends the response, or tells the transport that the request gets none.
async fn send(peer: &Peer, response: Option<Outbound>, id: Option<&RequestId>) {
    match (response, id) {
        // Errors mean that the peer has disconnected. If the outbox has room, `try_send` saves moving the message into
        // a future.
        (Some(response), _) => {
            if let Err(response) = peer.try_send(response) {
                let _ = peer.send(response).await;
            }
        }
        (None, Some(id)) => peer.send_now(no_response(id)),
        (None, None) => {}
    }
}
