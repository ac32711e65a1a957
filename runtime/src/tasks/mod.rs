//! Tasks (2025-11-25): a request that is answered at once with a task, whose result is fetched later.
//!
//! Either side may run tasks for the other. [`Tasks::on`] lets a handler be run as one, and answers what is asked of tasks;
//! [`Peer::call_task`] and [`Peer::task_result`] are for whoever has them run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
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
use crate::peer::{Call, Peer, TaskScope, member};
use crate::protocol::legacy::RELATED_TASK;
use crate::service::context::Context;
use crate::service::router::{Answer, AnyRequest, RequestHandler, Router};
use crate::util::lock::Mutex;
use crate::util::random::random;

/// Whether a tool may be run as a task: `execution.taskSupport`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskSupport {
    /// It may not.
    #[default]
    Forbidden,
    /// It may.
    Optional,
    /// It must.
    Required,
}

/// How many tasks there are, and how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLimits {
    /// How many tasks run at a time.
    pub running: usize,
    /// How many of them are one owner's.
    pub running_each: usize,
    /// How long a task is kept if whoever wants it does not say.
    pub ttl: Duration,
    /// How long a task is kept, whoever says what.
    pub longest_ttl: Duration,
    /// How often one should look at a task.
    pub poll_interval: Duration,
    /// How many tasks stand on a page of `tasks/list`.
    pub page: usize,
    /// How many bytes a result has that is kept.
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

/// What the request that a task stands for was answered with.
pub type Outcome = Result<RawJson, ErrorObject>;

/// A task as it is kept.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What others see of it.
    pub task: Task,
    /// Whose it is: see [`Tasks::owned_by`].
    pub owner: String,
    /// When it may be forgotten.
    pub until: Timestamp,
    /// There once it has ended.
    pub outcome: Option<Outcome>,
}

/// Where tasks are kept. What fails is an error for the other side.
pub trait TaskStore: Send + Sync + 'static {
    /// Keeps a task. Its id is new.
    fn create(&self, entry: Entry) -> BoxFuture<'_, Result<(), ErrorObject>>;

    /// A task, if it is there and not to be forgotten.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Entry>, ErrorObject>>;

    /// Moves a task on, in one step: one that has ended stays as it is. `false` if it does, or if there is none.
    fn advance(&self, task: Task, outcome: Option<Outcome>) -> BoxFuture<'_, Result<bool, ErrorObject>>;

    /// Someone's tasks in the order of their ids, beginning after one of them, and no more than so many.
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

/// Keeps tasks in this process, no more than so many, and no more than so many of one owner.
#[derive(Debug)]
pub struct InMemoryTaskStore {
    most: usize,
    most_each: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    entries: BTreeMap<String, Entry>,
    /// When they are to be forgotten.
    ends: BTreeSet<(Timestamp, String)>,
    owned: HashMap<String, usize>,
}

impl InMemoryTaskStore {
    /// Keeps so many, and so many of one owner.
    #[must_use]
    pub fn new(most: usize, most_each: usize) -> Self {
        Self { most, most_each, kept: Mutex::default() }
    }

    /// All that are not to be forgotten.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        let mut kept = self.kept.lock();
        let now = Timestamp::now();
        while kept.ends.first().is_some_and(|(end, _)| *end <= now) {
            let gone = kept.ends.pop_first().and_then(|(_, id)| kept.entries.remove(&id));
            if let Some(Entry { owner, .. }) = gone
                && let Some(owned) = kept.owned.get_mut(&owner)
            {
                *owned -= 1;
                if *owned == 0 {
                    kept.owned.remove(&owner);
                }
            }
        }
        kept
    }
}

impl Default for InMemoryTaskStore {
    fn default() -> Self {
        Self::new(10_000, 1_000)
    }
}

impl TaskStore for InMemoryTaskStore {
    fn create(&self, entry: Entry) -> BoxFuture<'_, Result<(), ErrorObject>> {
        let mut kept = self.kept();
        let owned = kept.owned.get(&entry.owner).copied().unwrap_or_default();
        if kept.entries.len() >= self.most || owned >= self.most_each {
            return ready(Err(errors::busy())).boxed();
        }
        kept.owned.insert(entry.owner.clone(), owned + 1);
        kept.ends.insert((entry.until, entry.task.task_id.clone()));
        kept.entries.insert(entry.task.task_id.clone(), entry);
        ready(Ok(())).boxed()
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Entry>, ErrorObject>> {
        ready(Ok(self.kept().entries.get(id).cloned())).boxed()
    }

    fn advance(&self, task: Task, outcome: Option<Outcome>) -> BoxFuture<'_, Result<bool, ErrorObject>> {
        let mut kept = self.kept();
        let open = kept.entries.get_mut(&task.task_id).filter(|entry| !has_ended(entry.task.status));
        let advanced = open.map(|entry| (entry.task, entry.outcome) = (task, outcome)).is_some();
        ready(Ok(advanced)).boxed()
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, ErrorObject>> {
        let kept = self.kept();
        let later = kept.entries.iter().filter(|(id, _)| after.is_none_or(|after| id.as_str() > after));
        let owned = later.filter(|(_, entry)| entry.owner == owner).map(|(_, entry)| entry.task.clone());
        let page = owned.take(most).collect();
        ready(Ok(page)).boxed()
    }
}

/// Whether a task stays as it is.
#[must_use]
pub fn has_ended(status: TaskStatus) -> bool {
    matches!(status, TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled)
}

/// Runs requests as tasks. Clones are the same.
#[derive(Clone)]
pub struct Tasks(Arc<Shared>);

struct Shared {
    store: Box<dyn TaskStore>,
    limits: TaskLimits,
    owner: Box<dyn Fn(&Context) -> String + Send + Sync>,
    /// Those that run here.
    running: Mutex<HashMap<String, Running>>,
}

/// A task that runs here.
struct Running {
    owner: String,
    stop: CancellationToken,
    /// When it has ended.
    ended: watch::Receiver<()>,
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new(InMemoryTaskStore::default(), TaskLimits::default())
    }
}

impl Tasks {
    /// Tasks that are kept there, all of one owner: whoever may ask, sees them all. Make one for each connection, or see
    /// [`owned_by`](Self::owned_by), where there are several clients. A store that several share may be in an [`Arc`].
    pub fn new(store: impl TaskStore, limits: TaskLimits) -> Self {
        Self::owned_by(store, limits, |_| String::new())
    }

    /// Tasks that are kept there, each for the one who has asked for it: whoever `owner` says that is, such as the name of
    /// an authenticated user, which a layer of middleware knows. To all others there is no such task. What a request says
    /// of its maker is no proof of who that is.
    pub fn owned_by(
        store: impl TaskStore,
        limits: TaskLimits,
        owner: impl Fn(&Context) -> String + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shared { store: Box::new(store), limits, owner: Box::new(owner), running: Mutex::default() }))
    }

    /// A router whose handler of a request may be run as a task too, where the capability for it is declared. `support`
    /// says of a tool's name whether that tool may; other requests have no names.
    ///
    /// The handler's context lasts as long as the task: what is sent with it says which task it belongs to, and a call to
    /// the other side lets the task wait for input.
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
                (Some(_), TaskSupport::Forbidden) => Some("may not be run as a task"),
                (None, TaskSupport::Required) if declared::<R>(&request.context) => Some("must be run as a task"),
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

    /// A router that answers what is asked of tasks.
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

    /// Answers with a task, and lets it run.
    async fn begin(
        self,
        context: Context,
        asked: TaskMetadata,
        run: impl FnOnce(Context) -> Answer + Send + 'static,
    ) -> Result<RawJson, ErrorObject> {
        let limits = &self.0.limits;
        let id = new_id()?;
        let owner = (self.0.owner)(&context);
        let (slot, stop) = self.slot(&id, &owner)?;
        let wanted = asked.ttl.map(|ttl| Duration::from_millis(u64::try_from(ttl).unwrap_or_default()));
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
        // By itself, so that it is done whole even if the request is taken back meanwhile.
        let work = async move {
            let stored = waiting.tasks.0.store.create(entry).await;
            let is_there = stored.is_ok();
            // Whoever has taken the request back does not know of it.
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

    /// Room for a task that runs here.
    fn slot(&self, id: &str, owner: &str) -> Result<(Slot, CancellationToken), ErrorObject> {
        let (stop, (ends, ended)) = (CancellationToken::new(), watch::channel(()));
        let mut running = self.running();
        let owned = running.values().filter(|running| running.owner == owner).count();
        if running.len() >= self.0.limits.running || owned >= self.0.limits.running_each {
            return Err(errors::busy());
        }
        running.insert(id.to_owned(), Running { owner: owner.to_owned(), stop: stop.clone(), ended });
        Ok((Slot { tasks: self.clone(), id: id.to_owned(), _ends: ends }, stop))
    }

    async fn find(&self, context: &Context, id: &str) -> Result<Entry, ErrorObject> {
        let owner = (self.0.owner)(context);
        let found = self.0.store.get(id).await?.filter(|entry| entry.owner == owner);
        found.ok_or_else(|| errors::invalid_params_in_words("params.taskId: there is no such task"))
    }

    /// Waits until a task has ended.
    async fn outcome(&self, context: &Context, id: &str) -> Result<RawJson, ErrorObject> {
        loop {
            let ended = self.running().get(id).map(|running| running.ended.clone());
            if let Some(outcome) = self.find(context, id).await?.outcome {
                let related = json!({ "taskId": id }).to_string();
                let result = with_meta(Some(outcome?), &[(RELATED_TASK, related)], true);
                return result.ok().flatten().ok_or_else(errors::internal);
            }
            match ended {
                // Nobody ever says anything there: it ends with the task.
                Some(mut ended) => drop(ended.changed().await),
                // It runs somewhere else.
                None => tokio::time::sleep(self.0.limits.poll_interval.max(SHORTEST_POLL)).await,
            }
        }
    }

    async fn cancel(&self, context: &Context, id: &str) -> Result<Task, ErrorObject> {
        let over = || errors::invalid_params_in_words("params.taskId: the task has ended already");
        let before = self.find(context, id).await?.task;
        if has_ended(before.status) {
            return Err(over());
        }
        // Whoever runs it has the last word, so that it is said once how it has ended.
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
            // A cursor is the id that it begins after, and such ids are ours.
            Some(cursor) if cursor.len() == ID && cursor.bytes().all(|byte| byte.is_ascii_hexdigit()) => Some(cursor),
            Some(_) => return Err(errors::invalid_params_in_words("params.cursor: not a cursor of this list")),
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

/// The room of a task that runs here. However it ends, there is room again.
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

/// What becomes of a task that runs here.
struct Waiting {
    tasks: Tasks,
    id: String,
    /// Who is told of it.
    told: Peer,
    /// How many calls to the other side it waits for.
    calls: AtomicUsize,
    over: AtomicBool,
    /// As it is kept. Held while that is changed and told, so that it is told in the order in which it happens.
    task: tokio::sync::Mutex<Task>,
}

/// How a task ends.
enum Ending {
    Outcome(Outcome),
    Cancelled,
    /// Before anybody knew of it.
    Unknown,
    /// Nobody can ask for it any more.
    Forgotten,
}

const CANCELLED: &str = "the task was cancelled";

fn cancelled() -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, CANCELLED)
}

fn now_as(task: Task, status: TaskStatus, message: Option<String>) -> Task {
    Task { status, status_message: message, last_updated_at: spelt(Timestamp::now()), ..task }
}

/// How long the notification of a task's status may wait for room. The task keeps its place meanwhile.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(5);

/// How often one looks at a task that runs somewhere else, at most.
const SHORTEST_POLL: Duration = Duration::from_millis(50);

impl Waiting {
    /// Runs the handler, once whoever wants the task knows of it.
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
        // Tasks that the handler has spawned report nothing more either.
        self.over.store(true, Ordering::SeqCst);
        if !matches!(ending, Ending::Outcome(_)) {
            inside.end();
        }
        inside.finish().await;
        inside.end();
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
                tracing::error!(bytes = result.text().len(), "a result that is too large to be kept");
                (TaskStatus::Failed, Some("the result is too large".to_owned()), Err(errors::internal()))
            }
            Ending::Outcome(Ok(result)) if is_error(&result) => (TaskStatus::Failed, None, Ok(result)),
            Ending::Outcome(Ok(result)) => (TaskStatus::Completed, None, Ok(result)),
            Ending::Outcome(Err(error)) => (TaskStatus::Failed, Some(error.message.clone()), Err(error)),
        };
        let mut task = self.task.lock().await;
        let ended = now_as(task.clone(), status, message);
        let (begun, mut pause) = (Instant::now(), SHORTEST_POLL);
        // What nobody keeps is lost: it is tried for as long as somebody may ask.
        while let Err(error) = self.tasks.0.store.advance(ended.clone(), Some(outcome.clone())).await {
            tracing::error!(%error, id = ended.task_id, "the end of a task cannot be kept");
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
        // A client that does not read, or is gone, can still ask.
        let told = self.told.raw_notify(TaskStatusNotification::METHOD, Some(RawJson::from(task)));
        let _ = tokio::time::timeout(NOTIFICATION_TIMEOUT, told).await;
    }
}

impl TaskScope for Waiting {
    fn meta(&self) -> (&'static str, String) {
        (RELATED_TASK, json!({ "taskId": self.id }).to_string())
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn asks(&self, more: bool) {
        match more {
            true => self.calls.fetch_add(1, Ordering::SeqCst),
            false => self.calls.fetch_sub(1, Ordering::SeqCst),
        };
    }

    fn settle(self: Arc<Self>) -> BoxFuture<'static, ()> {
        async move {
            let mut task = self.task.lock().await;
            let status = match self.calls.load(Ordering::SeqCst) {
                0 => TaskStatus::Working,
                _ => TaskStatus::InputRequired,
            };
            if self.is_over() || task.status == status || has_ended(task.status) {
                return;
            }
            let next = now_as(task.clone(), status, None);
            match self.tasks.0.store.advance(next.clone(), None).await {
                Ok(true) => {
                    *task = next;
                    self.tell(&task).await;
                }
                Ok(false) => {}
                Err(error) => tracing::error!(%error, id = next.task_id, "the state of a task cannot be kept"),
            }
        }
        .boxed()
    }
}

/// Whether a tool says of its result that it is none.
fn is_error(result: &RawJson) -> bool {
    let is_error = result.read(|result| {
        let [is_error] = Picked::values(result, &["isError"]);
        is_error.is_some_and(|is_error| is_error.text() == "true")
    });
    is_error.unwrap_or(false)
}

/// The member `task` of some params.
fn asked_for(request: &AnyRequest) -> Result<Option<TaskMetadata>, ErrorObject> {
    let Some(params) = &request.params else { return Ok(None) };
    let task = params.read(|params| {
        let [task] = Picked::values(params, &["task"]);
        task.map(|task| TaskMetadata::decode(task).map_err(|error| error.located_from(params))).transpose()
    });
    task.and_then(|task| task).map_err(|error| errors::invalid_params(&error.at_key("params")))
}

/// Whether this side has said that requests of a type may be run as tasks.
fn declared<R: Request>(context: &Context) -> bool {
    let mut path = vec!["tasks", "requests"];
    path.extend(R::METHOD.split('/'));
    context.peer().protocol().has_declared(&path)
}

/// The capability `tasks`, for those who answer requests of these methods as tasks. Without `list` nobody can ask which
/// tasks there are, which is right where it is not known who asks.
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

/// How many characters an id has.
const ID: usize = 32;

/// Nobody can guess it, and the first digits are of the time, so that lists are in order.
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
    /// A request that is answered with a task: its params say so, whether they did or not.
    pub fn call_task<R: TaskRequest>(&self, params: R::Params) -> Call<R::TaskResult> {
        let mut params: JsonObject = member(&params).and_then(|params| params.decode().ok()).unwrap_or_default();
        params.entry("task").or_insert_with(|| json!({}));
        self.call_as(R::METHOD, R::REVISION, Some(RawJson::from(&params)))
    }

    /// What a task's request is answered with in the end, which is waited for. Give it the time that it takes:
    /// [`Call::idle_timeout`].
    pub fn task_result<R: TaskRequest>(&self, id: &str) -> Call<R::Result> {
        let params = RawJson::from(&json!({ "taskId": id }));
        self.call_as(GetTaskPayloadRequest::METHOD, R::REVISION, Some(params))
    }
}
