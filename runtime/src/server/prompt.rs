//! Prompts and their functions.

use std::collections::BTreeMap;
use std::future::Future;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_types::v2026_07_28::{GetPromptResult, Prompt, PromptMessage, Role, TextContent};

use super::context::RequestContext;
use super::registry::Entry;
use super::tool_error::ToolError;
use crate::protocol::change::Change;
use crate::service::context::Context;

/// A prompt and its function.
pub(super) struct PromptEntry {
    pub(super) prompt: Prompt,
    get: Box<dyn Fn(RequestContext, Arguments) -> GetPromptFuture + Send + Sync>,
}

/// The arguments of a prompt, by name.
pub(super) type Arguments = BTreeMap<String, String>;
type GetPromptFuture = BoxFuture<'static, Result<GetPromptResult, ToolError>>;

impl PromptEntry {
    pub(super) fn new<F, Fut, T>(prompt: Prompt, function: F) -> Self
    where
        F: Fn(RequestContext, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoPrompt,
    {
        let get = move |context, arguments| {
            let result = function(context, arguments);
            async move { result.await.into_prompt() }.boxed()
        };
        Self { prompt, get: Box::new(get) }
    }

    pub(super) fn get(&self, context: RequestContext, arguments: Arguments) -> GetPromptFuture {
        (self.get)(context, arguments)
    }
}

impl Entry for PromptEntry {
    const KIND: &'static str = "prompt";
    const CHANGE: Change = Change::Prompts;
    type Listed = Prompt;

    fn key(&self) -> &str {
        &self.prompt.name
    }

    fn listed(&self, _: &Context) -> Prompt {
        self.prompt.clone()
    }
}

/// A type that a prompt can return: text, which becomes a message of the user, a list of messages, or a result.
#[diagnostic::on_unimplemented(
    message = "a prompt cannot return `{Self}`",
    label = "the function of this prompt returns `{Self}`",
    note = "return text, `Vec<PromptMessage>`, `GetPromptResult`, or a `Result` of one of these"
)]
pub trait IntoPrompt {
    /// Converts into the result of the request.
    ///
    /// # Errors
    ///
    /// Returns an error if the prompt failed, or if it requires input from the client.
    fn into_prompt(self) -> Result<GetPromptResult, ToolError>;
}

impl IntoPrompt for GetPromptResult {
    fn into_prompt(self) -> Result<GetPromptResult, ToolError> {
        Ok(self)
    }
}

impl IntoPrompt for Vec<PromptMessage> {
    fn into_prompt(self) -> Result<GetPromptResult, ToolError> {
        Ok(GetPromptResult::new(self))
    }
}

impl IntoPrompt for String {
    fn into_prompt(self) -> Result<GetPromptResult, ToolError> {
        vec![PromptMessage::new(TextContent::new(self), Role::User)].into_prompt()
    }
}

impl IntoPrompt for &str {
    fn into_prompt(self) -> Result<GetPromptResult, ToolError> {
        self.to_owned().into_prompt()
    }
}

impl<T: IntoPrompt, E: Into<ToolError>> IntoPrompt for Result<T, E> {
    fn into_prompt(self) -> Result<GetPromptResult, ToolError> {
        self.map_err(Into::into)?.into_prompt()
    }
}
