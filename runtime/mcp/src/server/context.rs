//! The context of tools, prompts and resources, with which they can ask the client for input.

use std::sync::{Arc, OnceLock};

use mcpgen_runtime::context::Context;
use mcpgen_types::v2026_07_28::{
    CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult, ElicitRequest, ElicitRequestParams,
    ElicitResult, ElicitResultAction, InputRequest, ListRootsRequest, ListRootsResult,
};
use mcpgen_types::{ErrorCode, ErrorObject, Json, JsonObject, Map, Request};
use tower::BoxError;

use super::arguments::Arguments;
use super::input_error::InputError;
use super::input_source::InputSource;
use super::questions::{Binding, Questions};
use super::state::{RequestContext, Server};
use crate::protocol::conversion::Revisions;
use crate::protocol::form::check_form;
use crate::protocol::input_requests::method_and_params;
use crate::protocol::{ContextExt, TYPES};

impl RequestContext {
    pub(super) fn new(server: Server, context: Context) -> Self {
        Self { context, server, arguments: Arguments::default(), questions: OnceLock::new(), extended: None }
    }

    pub(super) fn with_arguments(self, arguments: Arguments) -> Self {
        Self { arguments, ..self }
    }

    fn questions(&self) -> &Arc<Questions> {
        self.questions.get_or_init(|| Arc::new(Questions::new(self.arguments.text())))
    }

    /// Makes requests for input go through `source`. For extensions.
    #[must_use]
    pub fn with_input_source(mut self, source: impl InputSource) -> Self {
        self.extended.get_or_insert_default().input_source = Some(Arc::new(source));
        self
    }

    /// Attaches an extension's value. Replaces an attached value of the same type.
    #[must_use]
    pub fn attach<T: Clone + Send + Sync + 'static>(mut self, value: T) -> Self {
        self.extended.get_or_insert_default().attached.insert(value);
        self
    }

    /// Returns the value of this type that an extension [attached](Self::attach).
    #[must_use]
    pub fn attached<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.extended.as_ref()?.attached.get()
    }

    /// Returns the input received so far, by key (2026-07-28).
    #[must_use]
    pub fn received_input(&self) -> Map<String, Json> {
        self.questions.get().map(|questions| questions.responses()).unwrap_or_default()
    }

    /// Returns the request's context: its ID, peer and principal, and whether it is cancelled.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the server that handles the request, for example to add tools or to notify clients of a change.
    ///
    /// Call this in the functions of tools, prompts and resources. A function that owned a clone of its server would
    /// keep the server alive forever.
    ///
    /// ```
    /// use mcpgen_sdk::Server;
    /// use mcpgen_sdk::server::RequestContext;
    ///
    /// let server = Server::builder("workshop", "1.0.0")
    ///     .tool("unlock", |context: RequestContext| async move {
    ///         context.server().add_tool("drill", || async { "done" })
    ///     })
    ///     .build();
    /// # let _ = server;
    /// ```
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Asks the user for input. `key` identifies the question and must be unique within the function.
    ///
    /// The answers in an accepted form are checked: required fields must be present, and values must match the types,
    /// bounds and options.
    ///
    /// # Errors
    ///
    /// Fails if the client has not responded yet (2026-07-28), if its response is invalid, if the revision or the
    /// client does not support the request, if the request state is invalid, or if the function already used the key.
    /// Return the error with `?`.
    pub async fn elicit(&self, key: &str, params: impl Into<ElicitRequestParams>) -> Result<ElicitResult, InputError> {
        let mut answers = self.elicit_all([(key.to_owned(), params.into())]).await?;
        answers.pop().ok_or_else(|| no_answer(key))
    }

    /// Asks the user several questions, each with a key as in [`elicit`](Self::elicit). In 2026-07-28 and in tasks, the
    /// client receives them all at once. Returns the answers in the order of the questions.
    ///
    /// # Errors
    ///
    /// Fails like [`elicit`](Self::elicit).
    pub async fn elicit_all(
        &self,
        questions: impl IntoIterator<Item = (String, ElicitRequestParams)> + Send,
    ) -> Result<Vec<ElicitResult>, InputError> {
        let questions: Vec<_> = questions.into_iter().collect();
        let requests = questions.iter().map(|(key, params)| (key.clone(), ElicitRequest::new(params.clone()).into()));
        let answers = self.ask_all::<ElicitRequest>(requests.collect()).await?;
        for ((key, params), answer) in questions.iter().zip(&answers) {
            check_answer(key, params, answer)?;
        }
        Ok(answers)
    }

    /// Asks the user for a value of type `T`. The form has a field for each field of `T`: text, numbers, booleans,
    /// enums without data, or lists of such enums, optional if it is an [`Option`]. Doc comments become help texts. For
    /// `key`, see [`elicit`](Self::elicit).
    ///
    /// Returns `None` if the user declines or cancels.
    ///
    /// ```
    /// use mcpgen_sdk::Server;
    /// use mcpgen_sdk::server::{RequestContext, ToolResult};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Confirm {
    ///     /// Deleted files cannot be restored.
    ///     confirmed: bool,
    /// }
    ///
    /// async fn delete(context: RequestContext) -> ToolResult<&'static str> {
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
    /// Fails like [`elicit`](Self::elicit), and if `T` cannot be turned into a form.
    pub async fn elicit_as<T>(&self, key: &str, message: impl Into<String> + Send) -> Result<Option<T>, InputError>
    where
        T: serde::de::DeserializeOwned + schemars::JsonSchema,
    {
        let params = super::schema::form::<T>(message.into())?;
        let answer = self.elicit(key, params).await?;
        match answer.action {
            ElicitResultAction::Accept => {
                let content =
                    answer.content.map_or_else(|| Json::from(&JsonObject::new()), |content| Json::from(&content));
                content.deserialize().map(Some).map_err(|error| invalid_answer(key, error))
            }
            _ => Ok(None),
        }
    }

    /// Asks the client to sample its model. For `key`, see [`elicit`](Self::elicit).
    ///
    /// # Errors
    ///
    /// Fails like [`elicit`](Self::elicit).
    pub async fn sample(
        &self,
        key: &str,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, InputError> {
        self.ask::<CreateMessageRequest>(key, CreateMessageRequest::new(params)).await
    }

    /// Asks for the client's roots: the directories and files that it exposes to the server. For `key`, see
    /// [`elicit`](Self::elicit).
    ///
    /// # Errors
    ///
    /// Fails like [`elicit`](Self::elicit).
    pub async fn roots(&self, key: &str) -> Result<ListRootsResult, InputError> {
        self.ask::<ListRootsRequest>(key, ListRootsRequest::new()).await
    }

    async fn ask<R: Request + Into<InputRequest>>(&self, key: &str, request: R) -> Result<R::Result, InputError> {
        let mut results = self.ask_all::<R>(vec![(key.to_owned(), request.into())]).await?;
        results.pop().ok_or_else(|| no_answer(key))
    }

    /// Returns the inputs in the order of the requests.
    async fn ask_all<R: Request>(&self, requests: Vec<(String, InputRequest)>) -> Result<Vec<R::Result>, InputError> {
        for (key, _) in &requests {
            // In 2026-07-28, the answer to the first question would also answer the second.
            if !self.questions().add(key) {
                return Err(InputError::DuplicateKey(key.clone()));
            }
        }
        if let Some(source) = self.extended.as_ref().and_then(|extended| extended.input_source.as_ref()) {
            return self.ask_source::<R>(&**source, requests).await;
        }
        if !self.context.revision().is_legacy() {
            return self.ask_next::<R>(requests).await;
        }
        let mut results = Vec::new();
        for (key, request) in &requests {
            results.push(self.ask_now::<R>(key, request).await?);
        }
        Ok(results)
    }

    /// Asks an extension's source, and waits for the responses (2026-07-28).
    async fn ask_source<R: Request>(
        &self,
        source: &dyn InputSource,
        requests: Vec<(String, InputRequest)>,
    ) -> Result<Vec<R::Result>, InputError> {
        let keys: Vec<String> = requests.iter().map(|(key, _)| key.clone()).collect();
        let responses = source.request(requests.into_iter().collect()).await?;
        let decode = |key: &String| {
            let response = responses.get(key).ok_or_else(|| no_answer(key))?;
            Ok(crate::protocol::context::decode_input::<R>(&self.context, key, response)?)
        };
        keys.iter().map(decode).collect()
    }

    /// Asks the client, and waits for the response (legacy revisions).
    async fn ask_now<R: Request>(&self, key: &str, request: &InputRequest) -> Result<R::Result, InputError> {
        let (method, params) = method_and_params(request);
        let revisions = Revisions { from: TYPES, to: self.context.revision() };
        let params = params.map(|params| revisions.params(&method, &params)).transpose()?;
        // A user may take long to answer. `Limits::call_timeout` still applies.
        let response = self.context.peer().raw_request(&method, params).idle_timeout(None).await?;
        revisions.reversed().check_result(&method, &response).map_err(|error| invalid_answer(key, error))?;
        let response = revisions.reversed().result(&method, &response)?;
        response.decode().map_err(|error| invalid_answer(key, error.with_type_name(format!("{method} result"))))
    }

    /// Returns the inputs if the client has sent them. Otherwise fails with an error that requests them (2026-07-28).
    async fn ask_next<R: Request>(&self, requests: Vec<(String, InputRequest)>) -> Result<Vec<R::Result>, InputError> {
        let Some(Ok(codec)) = &self.server.0.config.request_state else {
            let why = "the server cannot keep request state";
            return Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, why).into());
        };
        let caller = self.server.caller(&self.context);
        self.questions().ask::<R>(Binding { codec, caller: &caller }, &self.context, requests).await
    }
}

fn invalid_answer(key: &str, source: impl Into<BoxError>) -> InputError {
    InputError::Answer { key: key.to_owned(), source: source.into() }
}

/// Creates the error for a missing answer. A response without one normally fails earlier, when it is decoded.
fn no_answer(key: &str) -> InputError {
    invalid_answer(key, "the client sent no input")
}

/// Clones share the function's questions.
impl Clone for RequestContext {
    fn clone(&self) -> Self {
        Self {
            context: self.context.clone(),
            server: self.server.clone(),
            arguments: Arguments::default(),
            questions: Arc::clone(self.questions()).into(),
            extended: self.extended.clone(),
        }
    }
}

impl AsRef<Context> for RequestContext {
    fn as_ref(&self) -> &Context {
        &self.context
    }
}

impl ContextExt for RequestContext {}

/// Checks the answer to an elicitation, so that a tool can rely on the fields that it asked for. An answer without
/// values, such as "decline", is valid.
fn check_answer(key: &str, params: &ElicitRequestParams, answer: &ElicitResult) -> Result<(), InputError> {
    match params {
        ElicitRequestParams::ElicitRequestFormParams(form) if answer.action == ElicitResultAction::Accept => {
            check_form(form, answer).map_err(|why| invalid_answer(key, why))
        }
        _ => Ok(()),
    }
}
