//! The context of tools, prompts and resources, with requests for input from the client.

use std::any::Any;
use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
#[cfg(feature = "tasks")]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use mcpgen_runtime::context::Context;
#[cfg(feature = "tasks")]
use mcpgen_types::Json;
use mcpgen_types::Request;
#[cfg(feature = "tasks")]
use mcpgen_types::v2026_07_28::InputRequests;
use mcpgen_types::v2026_07_28::{
    CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult, ElicitRequest, ElicitRequestParams,
    ElicitResult, ElicitResultAction, InputRequest, ListRootsRequest, ListRootsResult,
};
use parking_lot::Mutex;

use super::form::check_answer;
use super::rounds::Rounds;
use super::tool_error::ToolError;
use crate::protocol::conversion::Revisions;
#[cfg(feature = "tasks")]
use crate::protocol::input_requests::InputByKey;
use crate::protocol::input_requests::method_and_params;
use crate::protocol::{ContextExt, TYPES};
#[cfg(feature = "tasks")]
use crate::tasks::TaskInput;

/// The context of a call to a tool, prompt or resource. Dereferences to [`Context`], and can request input from the
/// client.
///
/// In legacy revisions and in tasks, the function waits for the response of the client. In other calls of
/// 2026-07-28, the function returns early with the error of [`elicit`](Self::elicit), [`sample`](Self::sample) or
/// [`roots`](Self::roots); use `?`. Once the client has the input, it sends the request again, and the function runs
/// again from the beginning. Input from earlier rounds is then available immediately. So ask for input before you do
/// anything that must happen only once.
#[derive(Clone, Debug)]
pub struct RequestContext {
    context: Context,
    /// The state of the server, which `Server` converts back to a handle.
    pub(super) server: ServerState,
    /// `None` in legacy revisions.
    rounds: Option<Arc<Rounds>>,
    #[cfg(feature = "tasks")]
    task: TaskState,
    /// The keys of the questions that this run of the function has asked. Created by the first question, because most
    /// calls ask none.
    asked: OnceLock<Arc<Mutex<HashSet<String>>>>,
}

/// The state of the server, in a type that does not depend on the entries of the server.
#[derive(Clone)]
pub(super) struct ServerState(pub(super) Arc<dyn Any + Send + Sync>);

impl fmt::Debug for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerState")
    }
}

/// Whether a call runs as a task (2026-07-28).
#[cfg(feature = "tasks")]
#[derive(Clone, Debug)]
enum TaskState {
    /// The call does not become a task, or the task works differently (2025-11-25).
    None,
    /// The call becomes a task when the function sets the flag.
    Deferred(Arc<AtomicBool>),
    /// The call runs as a task. The object has the input from before the task, by key.
    Running(TaskInput, Arc<InputByKey>),
}

impl RequestContext {
    pub(super) fn new(server: ServerState, context: Context) -> Self {
        Self {
            context,
            server,
            rounds: None,
            #[cfg(feature = "tasks")]
            task: TaskState::None,
            asked: OnceLock::new(),
        }
    }

    /// Creates the context of a call that requests input in its result (2026-07-28).
    pub(super) fn in_rounds(server: ServerState, context: Context, rounds: Rounds) -> Self {
        Self { rounds: Some(Arc::new(rounds)), ..Self::new(server, context) }
    }

    /// Creates the context of a call that runs as a task (2026-07-28).
    #[cfg(feature = "tasks")]
    pub(super) fn in_task(
        server: ServerState,
        context: Context,
        task_input: TaskInput,
        earlier: Arc<InputByKey>,
    ) -> Self {
        Self { task: TaskState::Running(task_input, earlier), ..Self::new(server, context) }
    }

    /// Lets the call become a task when its function asks for it.
    #[cfg(feature = "tasks")]
    pub(super) fn with_deferred_task(self) -> Self {
        Self { task: TaskState::Deferred(Arc::default()), ..self }
    }

    /// Returns the input that the client has sent so far, by key, if the function has asked for a task.
    #[cfg(feature = "tasks")]
    pub(super) fn input_before_task(&self) -> Option<InputByKey> {
        match &self.task {
            TaskState::Deferred(is_started) if is_started.load(Ordering::SeqCst) => {
                let input = self.rounds.as_ref().map(|rounds| rounds.responses()).unwrap_or_default();
                Some(input)
            }
            _ => None,
        }
    }

    /// Makes the call a task, if the tool is declared with
    /// [`deferred_task`](super::ToolInfo::deferred_task) and the client supports it (2026-07-28).
    ///
    /// The function returns early with the error; use `?`. It then runs again from the beginning, as a task. Input from
    /// the client is then available immediately, and this returns `Ok`. So start the task before you do anything that must
    /// happen only once. In all other calls, this does nothing.
    ///
    /// # Errors
    ///
    /// Fails if the call becomes a task. Return the error with `?`.
    #[cfg(feature = "tasks")]
    pub fn start_task(&self) -> Result<(), ToolError> {
        match &self.task {
            TaskState::Deferred(is_started) => {
                is_started.store(true, Ordering::SeqCst);
                Err(ToolError::failed("the call becomes a task"))
            }
            TaskState::None | TaskState::Running(..) => Ok(()),
        }
    }

    /// Asks the user for input. `key` identifies the question; each question of a function needs its own key.
    ///
    /// An accepted form has all required fields, and each field has the requested type, bounds and options.
    ///
    /// # Errors
    ///
    /// Fails if the client has not responded yet (2026-07-28), if it does not respond with a valid result, if the
    /// revision or the client does not support the request, if the request state is invalid, or if the function has asked
    /// another question with this key. Return the error with `?`.
    pub async fn elicit(&self, key: &str, params: impl Into<ElicitRequestParams>) -> Result<ElicitResult, ToolError> {
        let mut answers = self.elicit_all([(key.to_owned(), params.into())]).await?;
        answers.pop().ok_or_else(no_answer)
    }

    /// Asks the user several questions, each with its key; see [`elicit`](Self::elicit). In 2026-07-28 and in tasks, the
    /// client receives all of them at once. Returns the answers in the order of the questions.
    ///
    /// # Errors
    ///
    /// Fails like [`elicit`](Self::elicit).
    pub async fn elicit_all(
        &self,
        questions: impl IntoIterator<Item = (String, ElicitRequestParams)> + Send,
    ) -> Result<Vec<ElicitResult>, ToolError> {
        let questions: Vec<_> = questions.into_iter().collect();
        let requests = questions.iter().map(|(key, params)| (key.clone(), ElicitRequest::new(params.clone()).into()));
        let answers = self.ask_all::<ElicitRequest>(requests.collect()).await?;
        for ((key, params), answer) in questions.iter().zip(&answers) {
            check_answer(key, params, answer)?;
        }
        Ok(answers)
    }

    /// Asks the user for a value of type `T`. The form has a field for each field of `T`, which must be text, numbers,
    /// booleans, enums without data, or lists of such enums; optional fields are [`Option`]. Doc comments become the
    /// help texts of the fields. See [`elicit`](Self::elicit) for `key`.
    ///
    /// Returns `None` if the user declines or cancels.
    ///
    /// ```
    /// use mcpgen_sdk::Server;
    /// use mcpgen_sdk::server::{RequestContext, ToolError};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Confirm {
    ///     /// Deleted files cannot be restored.
    ///     confirmed: bool,
    /// }
    ///
    /// async fn delete(context: RequestContext, _: ()) -> Result<&'static str, ToolError> {
    ///     match context.elicit_as("confirm", "Delete all files?").await? {
    ///         Some(Confirm { confirmed: true }) => Ok("deleted"),
    ///         _ => Ok("nothing was deleted"),
    ///     }
    /// }
    ///
    /// let server = Server::builder("files", "1.0.0").tool("delete", delete).build();
    /// # let _ = server;
    /// ```
    ///
    /// # Errors
    ///
    /// Fails like [`elicit`](Self::elicit), and if `T` cannot be a form.
    pub async fn elicit_as<T>(&self, key: &str, message: impl Into<String> + Send) -> Result<Option<T>, ToolError>
    where
        T: serde::de::DeserializeOwned + schemars::JsonSchema,
    {
        let params = super::schema::form::<T>(message.into())?;
        let answer = self.elicit(key, params).await?;
        match answer.action {
            ElicitResultAction::Accept => {
                let content = answer.content.map(|content| mcpgen_types::to_value(&content)).transpose()?;
                let content = content.unwrap_or_else(|| serde_json::json!({}));
                let value = mcpgen_types::Json::from(&content).deserialize();
                value.map(Some).map_err(|error| ToolError::failed(format!("the client's answer to {key:?}: {error}")))
            }
            _ => Ok(None),
        }
    }

    /// Asks the client to sample its model. See [`elicit`](Self::elicit) for `key`.
    ///
    /// # Errors
    ///
    /// Fails like [`elicit`](Self::elicit).
    pub async fn sample(
        &self,
        key: &str,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, ToolError> {
        self.ask::<CreateMessageRequest>(key, CreateMessageRequest::new(params)).await
    }

    /// Asks for the client's roots: the directories and files that it exposes to the server. See
    /// [`elicit`](Self::elicit) for `key`.
    ///
    /// # Errors
    ///
    /// Fails like [`elicit`](Self::elicit).
    pub async fn roots(&self, key: &str) -> Result<ListRootsResult, ToolError> {
        self.ask::<ListRootsRequest>(key, ListRootsRequest::new()).await
    }

    async fn ask<R: Request + Into<InputRequest>>(&self, key: &str, request: R) -> Result<R::Result, ToolError> {
        let mut results = self.ask_all::<R>(vec![(key.to_owned(), request.into())]).await?;
        results.pop().ok_or_else(no_answer)
    }

    /// Requests inputs, and returns them in the order of the requests.
    async fn ask_all<R: Request>(&self, requests: Vec<(String, InputRequest)>) -> Result<Vec<R::Result>, ToolError> {
        for (key, _) in &requests {
            // In 2026-07-28, the answer to the first question would be that to the second, too.
            if !self.asked.get_or_init(Arc::default).lock().insert(key.clone()) {
                let why = format!(
                    "the key {key:?} is used for two questions; give each question of the function its own key"
                );
                return Err(ToolError::failed(why));
            }
        }
        #[cfg(feature = "tasks")]
        if let TaskState::Running(task_input, earlier) = &self.task {
            return self.ask_in_task::<R>(task_input, earlier, requests).await;
        }
        if !self.context.revision().is_legacy() {
            return self.ask_next::<R>(requests).await;
        }
        let mut results = Vec::new();
        for (_, request) in &requests {
            results.push(self.ask_now::<R>(request).await?);
        }
        Ok(results)
    }

    /// Requests inputs in the status of the task, and waits for the responses (2026-07-28). `earlier` has the input from
    /// before the task.
    #[cfg(feature = "tasks")]
    async fn ask_in_task<R: Request>(
        &self,
        task_input: &TaskInput,
        earlier: &InputByKey,
        requests: Vec<(String, InputRequest)>,
    ) -> Result<Vec<R::Result>, ToolError> {
        let keys: Vec<String> = requests.iter().map(|(key, _)| key.clone()).collect();
        let missing: InputRequests = requests.into_iter().filter(|(key, _)| !earlier.contains_key(key)).collect();
        let responses = match missing.is_empty() {
            true => InputByKey::new(),
            false => task_input.request(&missing).await?,
        };
        let decode = |key: &String| {
            let response = earlier.get(key).or_else(|| responses.get(key));
            Ok(crate::protocol::context::decode_input::<R>(&self.context, key, response.unwrap_or(&Json::null()))?)
        };
        keys.iter().map(decode).collect()
    }

    /// Sends a request to the client and waits for the response (legacy revisions).
    async fn ask_now<R: Request>(&self, request: &InputRequest) -> Result<R::Result, ToolError> {
        let (method, params) = method_and_params(request);
        let revisions = Revisions { from: TYPES, to: self.context.revision() };
        let params = params.map(|params| revisions.params(&method, &params)).transpose()?;
        // A user may take long to answer. `Limits::call_timeout` still applies.
        let response = self.context.peer().raw_request(&method, params).idle_timeout(None).await?;
        let response = revisions.reversed().result(&method, &response)?;
        response.decode().map_err(|error| error.with_type_name(format!("{method} result")).into())
    }

    /// Returns the inputs if the client has sent them, and otherwise requests them with an error (2026-07-28).
    async fn ask_next<R: Request>(&self, requests: Vec<(String, InputRequest)>) -> Result<Vec<R::Result>, ToolError> {
        let rounds = self.rounds.as_ref().ok_or_else(|| ToolError::failed("the server cannot keep request state"))?;
        rounds.ask::<R>(&self.context, requests).await
    }
}

/// A client that responds without the requested input is rejected earlier, when its response is decoded.
fn no_answer() -> ToolError {
    ToolError::failed("the client sent no input")
}

impl Deref for RequestContext {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}
