//! Handles `prompts/get` and `completion/complete`.

use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::util::did_you_mean;
use mcpgen_types::v2026_07_28::{
    CompleteRequestParams, CompleteResult, CompleteResultCompletion, CompleteResultCompletionValues,
    GetPromptRequestParams, GetPromptResult, PromptOrResourceTemplateReference,
};
use mcpgen_types::{ErrorCode, ErrorObject, Json, JsonObject};

use super::error::DefinitionError;
use super::state::{CompletionKey, CompletionOf, PromptArguments, RequestContext, Server, ServerState};
use super::tool_error::ResultOrInput;

pub(super) async fn get_prompt(
    server: Server,
    context: Context,
    params: GetPromptRequestParams,
) -> Result<ResultOrInput<GetPromptResult>, ErrorObject> {
    let Some(entry) = server.0.prompts.get(&params.name) else {
        let shown: String = params.name.chars().take(128).collect();
        let hint = server.0.prompts.did_you_mean(&params.name);
        return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("unknown prompt {shown:?}{hint}")));
    };
    let arguments: PromptArguments = params.arguments.unwrap_or_default().into_iter().collect();
    let mut required = entry.prompt.arguments.iter().flatten().filter(|argument| argument.required == Some(true));
    if let Some(missing) = required.find(|argument| !arguments.contains_key(&argument.name)) {
        let why = format!("params.arguments.{}: missing required argument", missing.name);
        return Err(errors::invalid_params_in_words(&why));
    }
    let named: JsonObject = arguments.iter().map(|(name, value)| (name, Json::from(value))).collect();
    let context = RequestContext::new(server.clone(), context).with_arguments(named.into());
    match entry.get(context, arguments).await {
        Ok(result) => Ok(ResultOrInput::Result(result)),
        Err(error) => error.into_response(),
    }
}

pub(super) async fn complete(
    server: Server,
    context: Context,
    params: CompleteRequestParams,
) -> Result<CompleteResult, ErrorObject> {
    let config = &server.0.config;
    let of = match &params.r#ref {
        PromptOrResourceTemplateReference::PromptReference(prompt) => CompletionOf::Prompt(prompt.name.clone()),
        PromptOrResourceTemplateReference::ResourceTemplateReference(template) => {
            CompletionOf::Template(template.uri.clone())
        }
    };
    let complete = config.completions.get(&(of, params.argument.name.clone())).or(config.completion.as_ref());
    // An argument without completions is not an error.
    let mut values = match complete {
        Some(complete) => complete(context, params).await,
        None => Vec::new(),
    };
    let total = values.len();
    values.truncate(MAX_VALUES);
    let values = CompleteResultCompletionValues::try_from(values).map_err(|_| errors::internal())?;
    let mut completion = CompleteResultCompletion::new(values);
    completion.total = i64::try_from(total).ok();
    completion.has_more = Some(total > MAX_VALUES);
    Ok(CompleteResult::new(completion))
}

impl ServerState {
    /// Returns an error for each completion whose prompt or template is defined and lacks the argument or variable.
    pub(super) fn invalid_completions(&self) -> Vec<DefinitionError> {
        let invalid = |(of, argument): &CompletionKey| {
            let (kind, key, known) = match of {
                CompletionOf::Prompt(name) => {
                    let arguments = self.prompts.get(name)?.prompt.arguments.clone().unwrap_or_default();
                    ("prompt", name, arguments.into_iter().map(|argument| argument.name).collect())
                }
                CompletionOf::Template(template) => {
                    let entry = self.templates.get(template)?;
                    ("resource template", template, entry.uri_template.names().map(str::to_owned).collect())
                }
            };
            let known: Vec<String> = known;
            (!known.contains(argument)).then(|| DefinitionError::Completion {
                kind,
                key: key.clone(),
                argument: argument.clone(),
                did_you_mean: did_you_mean(argument, known.iter().map(String::as_str)),
            })
        };
        self.config.completions.keys().filter_map(invalid).collect()
    }
}

/// The maximum number of values in a response.
const MAX_VALUES: usize = 100;
