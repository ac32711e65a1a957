//! Prompts and their functions.

use std::collections::BTreeMap;
use std::future::Future;

use futures_util::FutureExt;
use mcpgen_runtime::context::Context;
use mcpgen_types::v2026_07_28::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role, TextContent};
use serde_json::{Map, Value};

use super::registry::Entry;
use super::state::{GetPromptFuture, PromptArguments, PromptEntry, RequestContext};
use super::tool_error::ToolError;
use crate::protocol::change::Change;

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

    /// Creates a prompt whose arguments are a Rust type.
    pub(super) fn typed<A, F, Fut, T>(mut prompt: Prompt, function: F) -> Self
    where
        A: serde::de::DeserializeOwned + schemars::JsonSchema + Send,
        F: Fn(RequestContext, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoPrompt,
    {
        let schema = super::schema::inline_schema_of::<A>();
        prompt.arguments = Some(arguments_of(&schema));
        let name = prompt.name.clone();
        let get = move |context, arguments: PromptArguments| {
            let decoded = mcpgen_types::Json::from(&typed_values(&schema, arguments)).deserialize::<A>();
            let result = decoded.map(|arguments| function(context, arguments)).map_err(|error| {
                let why = super::json_terms::in_json_terms(&error.to_string());
                mcpgen_runtime::jsonrpc::errors::invalid_params_in_words(&format!(
                    "invalid arguments for {name}: {why}"
                ))
            });
            async move { result?.await.into_prompt() }.boxed()
        };
        Self { prompt, get: Box::new(get) }
    }

    pub(super) fn get(&self, context: RequestContext, arguments: PromptArguments) -> GetPromptFuture {
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

/// Returns the arguments of a prompt from the schema of their type.
fn arguments_of(schema: &Map<String, Value>) -> Vec<PromptArgument> {
    let is_required = |name: &str| {
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        required.filter_map(Value::as_str).any(|required| required == name)
    };
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let arguments = properties.map(|(name, property)| {
        let mut argument = PromptArgument::new(name).with_required(is_required(name));
        argument.description = property.get("description").and_then(Value::as_str).map(str::to_owned);
        argument
    });
    arguments.collect()
}

/// Returns the arguments as JSON values of their types. Prompts have only arguments that are text.
fn typed_values(schema: &Map<String, Value>, arguments: PromptArguments) -> Map<String, Value> {
    let is_text = |name: &str| {
        let property = schema.get("properties").and_then(|properties| properties.get(name));
        let kinds = property.and_then(|property| property.get("type"));
        match kinds {
            Some(Value::String(kind)) => !matches!(kind.as_str(), "integer" | "number" | "boolean"),
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
            _ => true,
        }
    };
    let value = |name: &str, text: String| match is_text(name) {
        true => Value::String(text),
        false => mcpgen_types::from_str(&text).unwrap_or(Value::String(text)),
    };
    arguments.into_iter().map(|(name, text)| (name.clone(), value(&name, text))).collect()
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
        vec![PromptMessage::new(Role::User, TextContent::new(self))].into_prompt()
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
