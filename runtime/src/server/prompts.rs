//! Prompts, and completion of arguments.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_types::v2026_07_28::{
    CacheScope, CompleteRequest, CompleteRequestParams, CompleteResult, CompleteResultCompletion,
    CompleteResultCompletionValues, GetPromptRequest, GetPromptRequestParams, GetPromptResult, ListPromptsRequest,
    ListPromptsResult, Prompt, PromptMessage, Role, TextContent,
};
use mcpgen_types::{ErrorCode, ErrorObject, JsonObject, RawJson};

use super::{Asks, Call, DefinitionError, Server, ToolError};
use crate::jsonrpc::errors;
use crate::protocol::change::Change;
use crate::server::pagination::page;
use crate::service::context::Context;
use crate::service::router::Router;

/// A prompt and its function.
pub(super) struct Entry {
    prompt: Prompt,
    get: Get,
}

type Arguments = BTreeMap<String, String>;
type Get = Box<dyn Fn(Call, Arguments) -> BoxFuture<'static, Result<GetPromptResult, ToolError>> + Send + Sync>;

/// The function set with [`Server::completion`].
pub(super) type Completer =
    Arc<dyn Fn(Context, CompleteRequestParams) -> BoxFuture<'static, Vec<String>> + Send + Sync>;

/// The error type of prompts. Like a [`ToolError`], but every failure becomes an error response.
pub type PromptError = ToolError;

/// A type that a prompt can return: text, which becomes a message of the user, a list of messages, or a result.
pub trait IntoPrompt {
    /// Converts into the result of the request.
    ///
    /// # Errors
    ///
    /// The prompt failed, or asks for input.
    fn into_prompt(self) -> Result<GetPromptResult, PromptError>;
}

impl IntoPrompt for GetPromptResult {
    fn into_prompt(self) -> Result<GetPromptResult, PromptError> {
        Ok(self)
    }
}

impl IntoPrompt for Vec<PromptMessage> {
    fn into_prompt(self) -> Result<GetPromptResult, PromptError> {
        Ok(GetPromptResult::new(self))
    }
}

impl IntoPrompt for String {
    fn into_prompt(self) -> Result<GetPromptResult, PromptError> {
        vec![PromptMessage::new(TextContent::new(self), Role::User)].into_prompt()
    }
}

impl IntoPrompt for &str {
    fn into_prompt(self) -> Result<GetPromptResult, PromptError> {
        self.to_owned().into_prompt()
    }
}

impl<T: IntoPrompt, E: Into<PromptError>> IntoPrompt for Result<T, E> {
    fn into_prompt(self) -> Result<GetPromptResult, PromptError> {
        self.map_err(Into::into)?.into_prompt()
    }
}

impl Server {
    /// Adds a prompt. The function takes the arguments by name, and returns the prompt's messages.
    ///
    /// The function is called only if all required arguments are present. An invalid definition is an error when the
    /// server starts; see [`config`](Self::config).
    ///
    /// ```
    /// use mcpgen_runtime::Server;
    /// use mcpgen_types::v2026_07_28::{Prompt, PromptArgument};
    ///
    /// let review = Prompt::new("review").with_arguments([PromptArgument::new("language").with_required(true)]);
    /// let server = Server::new("reviewer", "1.0.0").prompt(review, |_call, arguments| async move {
    ///     format!("Review this {} code.", arguments["language"])
    /// });
    /// # let _ = server;
    /// ```
    #[must_use]
    pub fn prompt<F, Fut, T>(self, prompt: Prompt, function: F) -> Self
    where
        F: Fn(Call, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoPrompt,
    {
        let added = self.add_prompt(prompt, function);
        self.noted(added)
    }

    /// Like [`prompt`](Self::prompt), but for a server that may already be serving. Subscribers are notified.
    ///
    /// # Errors
    ///
    /// Another prompt has the same name.
    pub fn add_prompt<F, Fut, T>(&self, prompt: Prompt, function: F) -> Result<(), DefinitionError>
    where
        F: Fn(Call, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoPrompt,
    {
        let entry = Entry {
            prompt,
            get: Box::new(move |call, arguments| {
                let filled = function(call, arguments);
                async move { filled.await.into_prompt() }.boxed()
            }),
        };
        let mut things = self.0.things.write();
        if things.prompts.iter().any(|known| known.prompt.name == entry.prompt.name) {
            return Err(DefinitionError::Twice { what: "prompt", name: entry.prompt.name });
        }
        things.prompts.push(Arc::new(entry));
        things.kinds.prompts = true;
        drop(things);
        self.changed(&Change::Prompts);
        Ok(())
    }

    /// Removes a prompt and notifies subscribers. Returns `false` if no prompt has this name.
    pub fn remove_prompt(&self, name: &str) -> bool {
        let mut things = self.0.things.write();
        let before = things.prompts.len();
        things.prompts.retain(|entry| entry.prompt.name != name);
        let removed = things.prompts.len() < before;
        drop(things);
        if removed {
            self.changed(&Change::Prompts);
        }
        removed
    }

    /// Sets the function that completes arguments of prompts and variables of resource templates. It returns all
    /// matching values, best first. The response contains the first 100 of them and their total number.
    #[must_use]
    pub fn completion<F, Fut>(self, complete: F) -> Self
    where
        F: Fn(Context, CompleteRequestParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<String>> + Send + 'static,
    {
        let mut things = self.0.things.write();
        things.completion = Some(Arc::new(move |context, params| complete(context, params).boxed()));
        things.kinds.completions = true;
        drop(things);
        self
    }

    async fn get_prompt(
        self,
        context: Context,
        params: GetPromptRequestParams,
    ) -> Result<Asks<GetPromptResult>, ErrorObject> {
        let entry = self.things().prompts.iter().find(|entry| entry.prompt.name == params.name).cloned();
        let Some(entry) = entry else {
            let shown: String = params.name.chars().take(128).collect();
            return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("unknown prompt {shown:?}")));
        };
        let arguments: Arguments = params.arguments.unwrap_or_default().into_iter().collect();
        let mut required = entry.prompt.arguments.iter().flatten().filter(|argument| argument.required == Some(true));
        if let Some(missing) = required.find(|argument| !arguments.contains_key(&argument.name)) {
            let why = format!("params.arguments.{}: missing required argument", missing.name);
            return Err(errors::invalid_params_in_words(&why));
        }
        let said = || {
            let said: JsonObject =
                arguments.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
            mcpgen_types::to_string(&said)
        };
        let call = self.call(context, said);
        match (entry.get)(call, arguments).await {
            Ok(result) => Ok(Asks::Result(result)),
            Err(error) => error.into_answer(),
        }
    }
}

pub(super) fn routes(server: &Server, router: Router) -> Router {
    let router = server.answering::<ListPromptsRequest, _, _, _>(router, |server: Server, _, params| async move {
        let things = server.things();
        let (entries, next) = page(&things.prompts, params.cursor.as_deref(), things.page)?;
        let prompts: Vec<Prompt> = entries.iter().map(|entry| entry.prompt.clone()).collect();
        let mut result = ListPromptsResult::new(CacheScope::Private, prompts, 0);
        result.next_cursor = next;
        Ok(RawJson::from(&result))
    });
    let router = server.answering::<GetPromptRequest, _, _, _>(router, |server: Server, context, params| {
        server.get_prompt(context, params)
    });
    server.answering::<CompleteRequest, _, _, _>(router, |server: Server, context, params| async move {
        let completer = server.things().completion.clone();
        let Some(complete) = completer else { return Err(errors::method_not_found(context.method())) };
        let mut values = complete(context, params).await;
        let total = values.len();
        values.truncate(MOST_VALUES);
        let values = CompleteResultCompletionValues::try_from(values).map_err(|_| errors::internal())?;
        let mut completion = CompleteResultCompletion::new(values);
        completion.total = i64::try_from(total).ok();
        completion.has_more = Some(total > MOST_VALUES);
        Ok(RawJson::from(&CompleteResult::new(completion)))
    })
}

/// The maximum number of values in a response.
const MOST_VALUES: usize = 100;
