//! Tasks (revision 2025-11-25): a request whose response is a task. The peer fetches the request's result later.
//!
//! Both servers and clients can run tasks. The receiver of a request uses [`Tasks::on`], which runs handlers as tasks
//! and handles the `tasks/*` requests. The sender uses [`Peer::call_task`] and [`Peer::task_result`].

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, ready};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use mcpgen_types::codec::Decode;
use mcpgen_types::v2025_11_25::{
    CancelTaskRequest, CreateTaskResult, GetTaskPayloadRequest, GetTaskRequest, ListTasksRequest, Task, TaskMetadata,
    TaskStatus, TaskStatusNotification,
};
use mcpgen_types::{ErrorCode, ErrorObject, JsonObject, Notification, Params, RawJson, Request, TaskRequest};
use serde_json::json;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::jsonrpc::errors;
use crate::jsonrpc::json::{Picked, with_meta};
use crate::peer::{Call, Peer, RequestBuilder, TaskScope, member};
use crate::protocol::legacy::RELATED_TASK;
use crate::service::context::Context;
use crate::service::router::{Answer, AnyRequest, RequestHandler, Router};
use crate::util::expiring_map::ExpiringMap;
use crate::util::lock::Mutex;
use crate::util::random::random;

/// Whether a tool can run as a task. Corresponds to a tool's `execution.taskSupport`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskSupport {
    /// The tool cannot run as a task. This is the default.
    #[default]
    Forbidden,
    /// The tool can run as a task.
    Optional,
    /// The tool must run as a task.
    Required,
}

/// Limits on the number, lifetime and size of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLimits {
    /// The maximum number of running tasks. Defaults to 256.
    pub running: usize,
    /// The maximum number of running tasks of one owner. Defaults to 64.
    pub running_each: usize,
    /// How long a task is kept if the request has no `ttl`. Defaults to one hour.
    pub ttl: Duration,
    /// The maximum time a task is kept. A longer `ttl` is shortened to this. A task that is still running when it
    /// expires is stopped. Defaults to 24 hours.
    pub longest_ttl: Duration,
    /// How often the peer should poll a task. Defaults to one second.
    pub poll_interval: Duration,
    /// The maximum number of tasks on a page of `tasks/list`. Defaults to 100.
    pub page: usize,
    /// The maximum size of a task's result, in bytes. A task with a larger result fails. Defaults to 16 MiB.
    pub result_bytes: usize,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            running: 256,
            running_each: 64,
            ttl: Duration::from_secs(60 * 60),
            longest_ttl: Duration::from_secs(24 * 60 * 60),
            poll_interval: Duration::from_secs(1),
            page: 100,
            result_bytes: 16 << 20,
        }
    }
}

/// The result or error of the request that runs as a task.
pub type Outcome = Result<RawJson, ErrorObject>;

/// A stored task.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The task as the peer sees it.
    pub task: Task,
    /// The task's owner. See [`Tasks::owned_by`].
    pub owner: String,
    /// When the task expires.
    pub until: Timestamp,
    /// The outcome, or `None` until the task has ended.
    pub outcome: Option<Outcome>,
}

/// Stores tasks. The peer receives the errors that a store returns.
pub trait TaskStore: Send + Sync + 'static {
    /// Stores a new task. Its ID is not in the store yet.
    fn create(&self, entry: Entry) -> BoxFuture<'_, Result<(), ErrorObject>>;

    /// Returns a task, or `None` if it does not exist or has expired.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Entry>, ErrorObject>>;

    /// Updates a task atomically unless it has ended. Returns `false` if it has ended or does not exist.
    fn advance(&self, task: Task, outcome: Option<Outcome>) -> BoxFuture<'_, Result<bool, ErrorObject>>;

    /// Returns up to `most` tasks of an owner, ordered by ID. Starts after the ID `after` if one is given.
    fn list<'a>(
        &'a self,
        owner: &'a str,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, ErrorObject>>;
}

impl<S: TaskStore + ?Sized> TaskStore for Arc<S> {
    fn create(&self, entry: Entry) -> BoxFuture<'_, Result<(), ErrorObject>> {
        (**self).create(entry)
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Entry>, ErrorObject>> {
        (**self).get(id)
    }

    fn advance(&self, task: Task, outcome: Option<Outcome>) -> BoxFuture<'_, Result<bool, ErrorObject>> {
        (**self).advance(task, outcome)
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, ErrorObject>> {
        (**self).list(owner, after, most)
    }
}

/// Stores a limited number of tasks in memory, in total and per owner. Defaults to 10,000 tasks and 1,000 per owner.
#[derive(Debug)]
pub struct InMemoryTaskStore(Mutex<ExpiringMap<String, Entry, Timestamp, String>>);

impl InMemoryTaskStore {
    /// Creates a store for at most `max` tasks, of which at most `max_per_owner` belong to one owner.
    #[must_use]
    pub fn new(max: usize, max_per_owner: usize) -> Self {
        Self(Mutex::new(ExpiringMap::new(max, max_per_owner)))
    }

    /// Removes expired tasks and locks the others.
    fn entries(&self) -> MutexGuard<'_, ExpiringMap<String, Entry, Timestamp, String>> {
        let mut entries = self.0.lock();
        drop(entries.remove_expired(Timestamp::now()));
        entries
    }
}

impl Default for InMemoryTaskStore {
    fn default() -> Self {
        Self::new(10_000, 1_000)
    }
}

impl TaskStore for InMemoryTaskStore {
    fn create(&self, entry: Entry) -> BoxFuture<'_, Result<(), ErrorObject>> {
        let (id, owner, until) = (entry.task.task_id.clone(), entry.owner.clone(), entry.until);
        let inserted = self.entries().insert(id, owner, until, entry);
        let full = "too many tasks are stored; wait until some expire, or ask for a shorter `ttl`";
        ready(inserted.map_err(|_| errors::limit_exceeded(full))).boxed()
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Entry>, ErrorObject>> {
        ready(Ok(self.entries().get(id).map(|(_, entry)| entry.clone()))).boxed()
    }

    fn advance(&self, task: Task, outcome: Option<Outcome>) -> BoxFuture<'_, Result<bool, ErrorObject>> {
        let mut entries = self.entries();
        let open = entries.get_mut(&task.task_id).filter(|entry| !has_ended(entry.task.status));
        let is_advanced = open.map(|entry| (entry.task, entry.outcome) = (task, outcome)).is_some();
        ready(Ok(is_advanced)).boxed()
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, ErrorObject>> {
        let entries = self.entries();
        let owned = entries.after(after).filter(|(known, _)| *known == owner);
        let page = owned.take(most).map(|(_, entry)| entry.task.clone()).collect();
        ready(Ok(page)).boxed()
    }
}

/// Converts the `ttl` of a request.
fn ttl(millis: i64) -> Result<Duration, ErrorObject> {
    let millis = u64::try_from(millis).map_err(|_| {
        let reason = format!("params.task.ttl: expected 0 or more milliseconds, found {millis}");
        errors::invalid_params_in_words(&reason)
    })?;
    Ok(Duration::from_millis(millis))
}

/// Returns whether a task with this status has ended. Such a task does not change any more.
#[must_use]
pub fn has_ended(status: TaskStatus) -> bool {
    matches!(status, TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled)
}

/// Runs requests as tasks. Clones share their tasks.
#[derive(Clone)]
pub struct Tasks(Arc<Shared>);

struct Shared {
    store: Box<dyn TaskStore>,
    limits: TaskLimits,
    owner: Box<dyn Fn(&Context) -> String + Send + Sync>,
    /// The tasks that run in this process, by ID.
    running: Mutex<HashMap<String, Running>>,
}

/// A task that runs in this process.
struct Running {
    owner: String,
    stop: CancellationToken,
    /// Closes when the task has ended.
    ended: watch::Receiver<()>,
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new(InMemoryTaskStore::default(), TaskLimits::default())
    }
}

impl Tasks {
    /// Creates tasks that all have the same owner, so that every peer can see all of them.
    ///
    /// If there are several clients, create one `Tasks` for each connection or use [`owned_by`](Self::owned_by). To
    /// share a store, put it in an [`Arc`].
    pub fn new(store: impl TaskStore, limits: TaskLimits) -> Self {
        Self::owned_by(store, limits, |_| String::new())
    }

    /// Creates tasks that only their owners can see. For all others, a task does not exist.
    ///
    /// `owner` returns the owner of a request, for example the name of the authenticated user that a middleware layer
    /// has determined. Do not use data from the request itself, such as the peer info: any client can forge it.
    pub fn owned_by(
        store: impl TaskStore,
        limits: TaskLimits,
        owner: impl Fn(&Context) -> String + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shared { store: Box::new(store), limits, owner: Box::new(owner), running: Mutex::default() }))
    }

    /// Adds two things to a router: a handler that can also run as a task, and handlers for the `tasks/*` requests.
    ///
    /// Requests run as tasks only if this side has declared the capability for it; see [`capability`]. `support`
    /// returns whether a request can run as a task. Its argument is the request's [subject](Context::subject), such as
    /// the name of the tool, or `None` if the request has no subject.
    ///
    /// The handler's context lasts as long as the task. Messages sent through it carry the task's ID, and while a call
    /// to the peer is pending, the task's status is `input_required`.
    #[must_use]
    pub fn on<R: TaskRequest<Params: Send + 'static>>(
        &self,
        router: Router,
        support: impl Fn(Option<&str>) -> TaskSupport + Send + Sync + 'static,
        handler: impl RequestHandler<R>,
    ) -> Router {
        let (this, handler) = (self.clone(), Arc::new(handler));
        let handle = move |request: AnyRequest| -> Answer {
            let task = match asked_for(&request) {
                Ok(task) => task.filter(|_| declared::<R>(&request.context)),
                Err(error) => return Box::pin(ready(Err(error))),
            };
            let refused = match (&task, support(request.context.subject())) {
                (Some(_), TaskSupport::Forbidden) => Some("cannot run as a task; send the request without `task`"),
                (None, TaskSupport::Required) if declared::<R>(&request.context) => {
                    Some("must run as a task; add `task` to the params")
                }
                _ => None,
            };
            if let Some(why) = refused {
                let subject = request.context.subject().unwrap_or(R::METHOD);
                let error = ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("{subject:?} {why}"));
                return Box::pin(ready(Err(error)));
            }
            let params = match R::Params::from_member(request.params.as_ref()) {
                Ok(params) => params,
                Err(error) => return Box::pin(ready(Err(errors::invalid_params(&error)))),
            };
            let handler = Arc::clone(&handler);
            let run = move |context: Context| -> Answer {
                let answer = handler(context, params);
                Box::pin(async move { answer.await.map(|result| RawJson::from(&result)).map_err(Into::into) })
            };
            match task {
                None => run(request.context),
                Some(task) => {
                    let this = this.clone();
                    Box::pin(async move { this.begin(request.context, task, run).await })
                }
            }
        };
        self.answering(router.handle(Some(R::REVISION), R::METHOD, handle))
    }

    /// Adds handlers for the `tasks/*` requests.
    fn answering(&self, router: Router) -> Router {
        let this = self.clone();
        let get = move |context: Context, params: <GetTaskRequest as Request>::Params| {
            let this = this.clone();
            async move { Ok::<_, ErrorObject>(this.find(&context, &params.task_id).await?.task) }
        };
        let this = self.clone();
        let result = move |context: Context, params: <GetTaskPayloadRequest as Request>::Params| {
            let this = this.clone();
            async move { this.outcome(&context, &params.task_id).await }
        };
        let this = self.clone();
        let cancel = move |context: Context, params: <CancelTaskRequest as Request>::Params| {
            let this = this.clone();
            async move { this.cancel(&context, &params.task_id).await }
        };
        let this = self.clone();
        let list = move |context: Context, params: <ListTasksRequest as Request>::Params| {
            let this = this.clone();
            async move { this.list(&context, params.and_then(|params| params.cursor)).await }
        };
        router
            .handle(Some(GetTaskRequest::REVISION), GetTaskRequest::METHOD, typed::<GetTaskRequest, _, _, _>(get))
            .handle(
                Some(GetTaskPayloadRequest::REVISION),
                GetTaskPayloadRequest::METHOD,
                typed::<GetTaskPayloadRequest, _, _, _>(result),
            )
            .handle(
                Some(CancelTaskRequest::REVISION),
                CancelTaskRequest::METHOD,
                typed::<CancelTaskRequest, _, _, _>(cancel),
            )
            .handle(
                Some(ListTasksRequest::REVISION),
                ListTasksRequest::METHOD,
                typed::<ListTasksRequest, _, _, _>(list),
            )
    }

    /// Creates a task, starts it and returns it as the result.
    async fn begin(
        self,
        context: Context,
        asked: TaskMetadata,
        run: impl FnOnce(Context) -> Answer + Send + 'static,
    ) -> Result<RawJson, ErrorObject> {
        let limits = &self.0.limits;
        let wanted = asked.ttl.map(ttl).transpose()?;
        let id = new_id()?;
        let owner = (self.0.owner)(&context);
        let (slot, stop) = self.slot(&id, &owner)?;
        let ttl = wanted.unwrap_or(limits.ttl).min(limits.longest_ttl);
        let now = Timestamp::now();
        let mut task = Task::new(spelt(now), spelt(now), TaskStatus::Working, id.clone(), Some(millis(ttl)));
        task.poll_interval = Some(millis(limits.poll_interval));
        let until = now.checked_add(ttl).unwrap_or(Timestamp::MAX);
        let entry = Entry { task: task.clone(), owner, until, outcome: None };
        let waiting = Arc::new(Waiting {
            tasks: self.clone(),
            id: id.clone(),
            told: context.peer().clone(),
            calls: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            task: tokio::sync::Mutex::new(task.clone()),
        });
        let (created, creation) = oneshot::channel();
        let span = tracing::info_span!("task", method = context.method(), %id);
        // Spawned, so that it runs to its end even if the request is cancelled meanwhile.
        let work = async move {
            let stored = waiting.tasks.0.store.create(entry).await;
            let is_there = stored.is_ok();
            // If the request was cancelled, the peer does not know the task.
            let is_wanted = created.send(stored).is_ok();
            if is_there {
                let outcome = match is_wanted {
                    true => waiting.work(context, run, stop, ttl).await,
                    false => Ending::Unknown,
                };
                waiting.end(outcome, ttl).await;
            }
            drop(slot);
        };
        tokio::spawn(tracing::Instrument::instrument(work, span));
        creation.await.map_err(|_| errors::internal())??;
        Ok(RawJson::from(&CreateTaskResult::new(task)))
    }

    /// Reserves a slot for a running task.
    fn slot(&self, id: &str, owner: &str) -> Result<(Slot, CancellationToken), ErrorObject> {
        let (stop, (ends, ended)) = (CancellationToken::new(), watch::channel(()));
        let mut running = self.running();
        let owned = running.values().filter(|running| running.owner == owner).count();
        if running.len() >= self.0.limits.running || owned >= self.0.limits.running_each {
            return Err(errors::limit_exceeded("too many tasks are running; try again when one has ended"));
        }
        running.insert(id.to_owned(), Running { owner: owner.to_owned(), stop: stop.clone(), ended });
        Ok((Slot { tasks: self.clone(), id: id.to_owned(), _ends: ends }, stop))
    }

    async fn find(&self, context: &Context, id: &str) -> Result<Entry, ErrorObject> {
        let owner = (self.0.owner)(context);
        let found = self.0.store.get(id).await?.filter(|entry| entry.owner == owner);
        found.ok_or_else(|| errors::invalid_params_in_words("params.taskId: unknown or expired task"))
    }

    /// Waits until a task has ended and returns its outcome.
    async fn outcome(&self, context: &Context, id: &str) -> Result<RawJson, ErrorObject> {
        loop {
            let ended = self.running().get(id).map(|running| running.ended.clone());
            if let Some(outcome) = self.find(context, id).await?.outcome {
                let related = json!({ "taskId": id }).to_string();
                let result = with_meta(Some(outcome?), &[(RELATED_TASK, related)], true);
                return result.ok().flatten().ok_or_else(errors::internal);
            }
            match ended {
                // No value is ever sent: the channel closes when the task ends.
                Some(mut ended) => drop(ended.changed().await),
                // The task runs in another process.
                None => tokio::time::sleep(self.0.limits.poll_interval.max(SHORTEST_POLL)).await,
            }
        }
    }

    async fn cancel(&self, context: &Context, id: &str) -> Result<Task, ErrorObject> {
        let over = || errors::invalid_params_in_words("params.taskId: the task has already ended");
        let before = self.find(context, id).await?.task;
        if has_ended(before.status) {
            return Err(over());
        }
        // A task that runs here records its own end, so that its final status is sent only once.
        let running = self.running().get(id).map(|running| (running.stop.clone(), running.ended.clone()));
        match running {
            Some((stop, mut ended)) => {
                stop.cancel();
                let _ = ended.changed().await;
            }
            None => {
                let task = now_as(before, TaskStatus::Cancelled, Some(CANCELLED.to_owned()));
                self.0.store.advance(task, Some(Err(cancelled()))).await?;
            }
        }
        let task = self.find(context, id).await?.task;
        if task.status == TaskStatus::Cancelled { Ok(task) } else { Err(over()) }
    }

    async fn list(&self, context: &Context, cursor: Option<String>) -> Result<RawJson, ErrorObject> {
        let after = match cursor {
            // A cursor is the ID of the last task on the previous page, in the format of `new_id`.
            Some(cursor) if cursor.len() == ID && cursor.bytes().all(|byte| byte.is_ascii_hexdigit()) => Some(cursor),
            Some(_) => {
                let why = "params.cursor: invalid cursor; use the `nextCursor` of a previous page";
                return Err(errors::invalid_params_in_words(why));
            }
            None => None,
        };
        let page = self.0.limits.page.max(1);
        let mut tasks = self.0.store.list(&(self.0.owner)(context), after.as_deref(), page + 1).await?;
        let more = tasks.len() > page;
        tasks.truncate(page);
        let next = tasks.last().filter(|_| more).map(|task| task.task_id.clone());
        let mut result = mcpgen_types::v2025_11_25::ListTasksResult::new(tasks);
        result.next_cursor = next;
        Ok(RawJson::from(&result))
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Running>> {
        self.0.running.lock()
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks").field("running", &self.running().len()).finish_non_exhaustive()
    }
}

/// The slot of a running task. Dropping it frees the slot.
struct Slot {
    tasks: Tasks,
    id: String,
    _ends: watch::Sender<()>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.tasks.running().remove(&self.id);
    }
}

/// The state of a task that runs in this process.
struct Waiting {
    tasks: Tasks,
    id: String,
    /// The peer that receives status notifications.
    told: Peer,
    /// The number of pending calls to the peer.
    calls: AtomicUsize,
    over: AtomicBool,
    /// The task as stored. Locked while a change is stored and sent, which keeps the notifications in order.
    task: tokio::sync::Mutex<Task>,
}

/// How a task ended.
enum Ending {
    Outcome(Outcome),
    Cancelled,
    /// The request was cancelled before the peer learned the task's ID.
    Unknown,
    /// The task has expired.
    Forgotten,
}

const CANCELLED: &str = "the task was cancelled";

fn cancelled() -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, CANCELLED)
}

fn now_as(task: Task, status: TaskStatus, message: Option<String>) -> Task {
    Task { status, status_message: message, last_updated_at: spelt(Timestamp::now()), ..task }
}

/// How long a status notification may wait for room in the outbox. The task occupies its slot meanwhile.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(5);

/// The minimum interval for polling a task that runs in another process, and for retrying to store the end of a task.
const SHORTEST_POLL: Duration = Duration::from_millis(50);

impl Waiting {
    /// Runs the handler after the response with the task is in the outbox.
    async fn work(
        self: &Arc<Self>,
        context: Context,
        run: impl FnOnce(Context) -> Answer,
        stop: CancellationToken,
        ttl: Duration,
    ) -> Ending {
        let inside = context.on_task(Arc::clone(self) as Arc<dyn TaskScope>);
        let handed = inside.clone();
        let ran = async {
            let run = async {
                context.sent().await;
                run(handed).await
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => Ending::Cancelled,
                () = tokio::time::sleep(ttl) => Ending::Forgotten,
                outcome = run => Ending::Outcome(outcome),
            }
            // The handler is dropped here: it may hold what `finish` waits for, and it may panic.
        };
        let ending = AssertUnwindSafe(ran).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!("a handler panicked");
            match stop.is_cancelled() {
                true => Ending::Cancelled,
                false => Ending::Outcome(Err(errors::internal())),
            }
        });
        // From here on, futures that the handler has spawned cannot send messages for this task.
        self.over.store(true, Ordering::SeqCst);
        if !matches!(ending, Ending::Outcome(_)) {
            inside.cancel();
        }
        inside.finish().await;
        inside.cancel();
        ending
    }

    async fn end(&self, ending: Ending, ttl: Duration) {
        let is_known = !matches!(ending, Ending::Unknown);
        let (status, message, outcome) = match ending {
            Ending::Forgotten => return,
            Ending::Cancelled | Ending::Unknown => {
                (TaskStatus::Cancelled, Some(CANCELLED.to_owned()), Err(cancelled()))
            }
            Ending::Outcome(Ok(result)) if result.text().len() > self.tasks.0.limits.result_bytes => {
                tracing::error!(bytes = result.text().len(), "a task's result exceeds `TaskLimits::result_bytes`");
                (TaskStatus::Failed, Some("the result is too large".to_owned()), Err(errors::internal()))
            }
            Ending::Outcome(Ok(result)) if is_error(&result) => (TaskStatus::Failed, None, Ok(result)),
            Ending::Outcome(Ok(result)) => (TaskStatus::Completed, None, Ok(result)),
            Ending::Outcome(Err(error)) => (TaskStatus::Failed, Some(error.message.clone()), Err(error)),
        };
        let mut task = self.task.lock().await;
        let ended = now_as(task.clone(), status, message);
        let (begun, mut pause) = (Instant::now(), SHORTEST_POLL);
        // The outcome exists only here until it is stored, so retry until the task expires.
        while let Err(error) = self.tasks.0.store.advance(ended.clone(), Some(outcome.clone())).await {
            tracing::error!(%error, id = ended.task_id, "cannot store the outcome of a task");
            if begun.elapsed() > ttl {
                return;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
        *task = ended;
        if is_known {
            self.tell(&task).await;
        }
    }

    async fn tell(&self, task: &Task) {
        // A peer that misses the notification can still poll.
        let told = self.told.raw_notify(TaskStatusNotification::METHOD, Some(RawJson::from(task)));
        let _ = tokio::time::timeout(NOTIFICATION_TIMEOUT, told).await;
    }
}

impl TaskScope for Waiting {
    fn meta(&self) -> (&'static str, String) {
        (RELATED_TASK, json!({ "taskId": self.id }).to_string())
    }

    fn has_ended(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn call_started(&self) {
        self.calls.fetch_add(1, Ordering::SeqCst);
    }

    fn call_ended(&self) {
        self.calls.fetch_sub(1, Ordering::SeqCst);
    }

    fn update_status(self: Arc<Self>) -> BoxFuture<'static, ()> {
        async move {
            let mut task = self.task.lock().await;
            let status = match self.calls.load(Ordering::SeqCst) {
                0 => TaskStatus::Working,
                _ => TaskStatus::InputRequired,
            };
            if self.has_ended() || task.status == status || has_ended(task.status) {
                return;
            }
            let next = now_as(task.clone(), status, None);
            match self.tasks.0.store.advance(next.clone(), None).await {
                Ok(true) => {
                    *task = next;
                    self.tell(&task).await;
                }
                Ok(false) => {}
                Err(error) => tracing::error!(%error, id = next.task_id, "cannot store the status of a task"),
            }
        }
        .boxed()
    }
}

/// Returns whether a result is a tool's error, with `isError` set.
fn is_error(result: &RawJson) -> bool {
    let is_error = result.read(|result| {
        let [is_error] = Picked::values(result, &["isError"]);
        is_error.is_some_and(|is_error| is_error.text() == "true")
    });
    is_error.unwrap_or(false)
}

/// Decodes `task` of the params.
fn asked_for(request: &AnyRequest) -> Result<Option<TaskMetadata>, ErrorObject> {
    let Some(params) = &request.params else { return Ok(None) };
    let task = params.read(|params| {
        let [task] = Picked::values(params, &["task"]);
        task.map(|task| TaskMetadata::decode(task).map_err(|error| error.located_from(params))).transpose()
    });
    task.and_then(|task| task).map_err(|error| errors::invalid_params(&error.at_key("params")))
}

/// Returns whether this side has declared the capability to run requests of type `R` as tasks.
fn declared<R: Request>(context: &Context) -> bool {
    let mut path = vec!["tasks", "requests"];
    path.extend(R::METHOD.split('/'));
    context.peer().protocol().has_declared(&path)
}

/// Returns the `tasks` capability for a server or client that runs requests of these methods as tasks.
///
/// Set `list` to also declare `tasks/list`. Leave it unset if requests have no authenticated sender: clients could
/// list each other's tasks.
#[must_use]
pub fn capability(methods: &[&str], list: bool) -> serde_json::Value {
    let mut requests = json!({});
    for (area, name) in methods.iter().filter_map(|method| method.split_once('/')) {
        requests[area][name] = json!({});
    }
    let mut capability = json!({ "cancel": {}, "requests": requests });
    if list {
        capability["list"] = json!({});
    }
    capability
}

fn typed<R: Request, T, F, Fut>(handler: F) -> impl Fn(AnyRequest) -> Answer + Send + Sync + 'static
where
    T: mcpgen_types::codec::Encode + 'static,
    F: Fn(Context, R::Params) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, ErrorObject>> + Send + 'static,
{
    move |request| match R::Params::from_member(request.params.as_ref()) {
        Ok(params) => {
            let answer = handler(request.context, params);
            Box::pin(async move { answer.await.map(|result| RawJson::from(&result)) })
        }
        Err(error) => Box::pin(ready(Err(errors::invalid_params(&error)))),
    }
}

/// The number of characters of a task ID.
const ID: usize = 32;

/// Creates a task ID. It starts with the time, so that IDs sort by age, and ends with 80 random bits, so that it cannot
/// be guessed.
fn new_id() -> Result<String, ErrorObject> {
    let random = random::<10>().map_err(|error| errors::of(error.into()))?;
    let time = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default();
    let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{:012x}{random}", time & 0xffff_ffff_ffff))
}

fn spelt(time: Timestamp) -> String {
    format!("{time:.3}")
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl Peer {
    /// Sends a request that runs as a task and returns the task. Adds `task` to the params if they lack it.
    pub fn call_task<R: TaskRequest<TaskResult: 'static>>(&self, params: R::Params) -> Call<R::TaskResult> {
        let mut params: JsonObject = member(&params).and_then(|params| params.decode().ok()).unwrap_or_default();
        params.entry("task").or_insert_with(|| json!({}));
        self.request_as(R::METHOD, R::REVISION, Some(RawJson::from(&params))).send()
    }

    /// Creates a request that waits for a task and returns the result of the task's request. Set
    /// [`idle_timeout`](RequestBuilder::idle_timeout) to the time that the task may take.
    pub fn task_result<R: TaskRequest>(&self, id: &str) -> RequestBuilder<R::Result> {
        let params = RawJson::from(&json!({ "taskId": id }));
        self.request_as(GetTaskPayloadRequest::METHOD, R::REVISION, Some(params))
    }
}
