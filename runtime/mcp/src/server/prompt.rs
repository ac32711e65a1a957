//! Prompts and their functions.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_types::v2026_07_28::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role, TextContent};
use serde_json::Value;
use tower::BoxError;

use super::error::DefinitionError;
use super::extract::{ARGUMENTS, Args, Call, FromCall, HasRequestContext, Sealed};
use super::function::Handler;
use super::json_terms::in_json_terms;
use super::registry::Entry;
use super::state::{GetPromptFuture, PromptArguments, PromptEntry, RequestContext};
use super::text_arguments::TextArguments;
use super::visibility::{Item, Visible};
use crate::protocol::change::Change;

impl PromptEntry {
    /// Creates an entry. The type of the function's arguments replaces `prompt.arguments`.
    pub(super) fn new<M, S, H>(prompt: Prompt, handler: H, state: S) -> Result<Self, DefinitionError>
    where
        H: Handler<GetPrompt, M, S, Output: IntoPrompt>,
        S: Send + Sync + 'static,
    {
        let mut definition = PromptDefinition { prompt, types: TextArguments::default() };
        H::define(&mut definition)?;
        let PromptDefinition { prompt, types } = definition;
        let name: Arc<str> = prompt.name.as_str().into();
        let types_of_calls = types.clone();
        let get = move |request_context: RequestContext, arguments| {
            let context = request_context.context.clone();
            let request_context = Some(request_context);
            let (name, types) = (Arc::clone(&name), types_of_calls.clone());
            let mut call = GetPrompt { context, name, arguments, types, request_context };
            let result = handler.call(&mut call, &state);
            async move { result?.await.into_prompt() }.boxed()
        };
        Ok(Self { prompt, types, get: Box::new(get) })
    }

    pub(super) fn get(&self, context: RequestContext, arguments: PromptArguments) -> GetPromptFuture {
        (self.get)(context, arguments)
    }
}

impl Visible for PromptEntry {
    fn item(&self) -> Item<'_> {
        Item::Prompt(&self.prompt)
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

    fn item_of(listed: &Prompt) -> Item<'_> {
        Item::Prompt(listed)
    }
}

/// A request for a prompt's messages.
#[derive(Debug)]
pub struct GetPrompt {
    context: Context,
    name: Arc<str>,
    arguments: PromptArguments,
    types: TextArguments,
    request_context: Option<RequestContext>,
}

/// A prompt and the types of its arguments.
#[derive(Debug)]
pub struct PromptDefinition {
    prompt: Prompt,
    types: TextArguments,
}

impl Sealed for GetPrompt {}

impl Call for GetPrompt {
    type Definition = PromptDefinition;

    fn context(&self) -> &Context {
        &self.context
    }
}

impl HasRequestContext for GetPrompt {
    fn take_request_context(&mut self) -> Option<RequestContext> {
        self.request_context.take()
    }
}

impl<S> FromCall<GetPrompt, S> for BTreeMap<String, String> {
    const TAKES: u8 = ARGUMENTS;

    fn from_call(call: &mut GetPrompt, _: &S) -> Result<Self, BoxError> {
        Ok(std::mem::take(&mut call.arguments))
    }
}

impl<S, A: serde::de::DeserializeOwned + schemars::JsonSchema> FromCall<GetPrompt, S> for Args<A> {
    const TAKES: u8 = ARGUMENTS;

    fn define(definition: &mut PromptDefinition) -> Result<(), DefinitionError> {
        definition.types = TextArguments::of::<A>();
        definition.prompt.arguments = Some(arguments_of(&definition.types));
        Ok(())
    }

    fn from_call(call: &mut GetPrompt, _: &S) -> Result<Self, BoxError> {
        let decoded = call.types.decode(std::mem::take(&mut call.arguments));
        let invalid = |error: mcpgen_types::Error| {
            let why = in_json_terms(&error.to_string());
            errors::invalid_params_in_words(&format!("invalid arguments for {}: {why}", call.name))
        };
        Ok(Self(decoded.map_err(invalid)?))
    }
}

fn arguments_of(types: &TextArguments) -> Vec<PromptArgument> {
    let is_required = |name: &str| types.required().any(|required| required == name);
    let arguments = types.properties().map(|(name, property)| {
        let mut argument = PromptArgument::new(name).with_required(is_required(name));
        argument.description = property.get("description").and_then(Value::as_str).map(str::to_owned);
        argument
    });
    arguments.collect()
}

/// What a prompt can return: text (which becomes a user message), a list of messages, or a result.
#[diagnostic::on_unimplemented(
    message = "a prompt cannot return `{Self}`",
    label = "the function of this prompt returns `{Self}`",
    note = "return text, `Vec<PromptMessage>` or `GetPromptResult`",
    note = "to report failures, return a `Result` of one of these whose error is an error, text, `ErrorObject` or `BoxError`; \
            `ToolError` is for tools"
)]
pub trait IntoPrompt {
    /// Converts to the request's result.
    ///
    /// # Errors
    ///
    /// Fails if the prompt failed, or if it needs input from the client.
    fn into_prompt(self) -> Result<GetPromptResult, BoxError>;
}

impl IntoPrompt for GetPromptResult {
    fn into_prompt(self) -> Result<GetPromptResult, BoxError> {
        Ok(self)
    }
}

impl IntoPrompt for Vec<PromptMessage> {
    fn into_prompt(self) -> Result<GetPromptResult, BoxError> {
        Ok(GetPromptResult::new(self))
    }
}

impl IntoPrompt for String {
    fn into_prompt(self) -> Result<GetPromptResult, BoxError> {
        vec![PromptMessage::new(Role::User, TextContent::new(self))].into_prompt()
    }
}

impl IntoPrompt for &str {
    fn into_prompt(self) -> Result<GetPromptResult, BoxError> {
        self.to_owned().into_prompt()
    }
}

impl<T: IntoPrompt, E: Into<BoxError>> IntoPrompt for Result<T, E> {
    fn into_prompt(self) -> Result<GetPromptResult, BoxError> {
        self.map_err(Into::into)?.into_prompt()
    }
}
