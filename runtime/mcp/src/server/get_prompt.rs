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
use super::registry::Entry;
use super::state::{
    CompletionKey, CompletionOf, PromptArguments, PromptEntry, RequestContext, Server, ServerState, TemplateEntry,
};
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
    /// Returns an error for each completion whose prompt, template, argument or variable is not defined.
    pub(super) fn invalid_completions(&self) -> Vec<DefinitionError> {
        self.config.completions.keys().filter_map(|key| self.invalid_completion(key)).collect()
    }

    fn invalid_completion(&self, (of, argument): &CompletionKey) -> Option<DefinitionError> {
        let (kind, key, known): (_, _, Option<Vec<String>>) = match of {
            CompletionOf::Prompt(name) => {
                let arguments = self.prompts.get(name).map(|entry| entry.prompt.arguments.clone().unwrap_or_default());
                let names = arguments.map(|all| all.into_iter().map(|argument| argument.name).collect());
                (PromptEntry::KIND, name, names)
            }
            CompletionOf::Template(template) => {
                let entry = self.templates.get(template);
                let names = entry.map(|entry| entry.uri_template.names().map(str::to_owned).collect());
                (TemplateEntry::KIND, template, names)
            }
        };
        let similar = |name: &str, known: &[String]| did_you_mean(name, known.iter().map(String::as_str));
        let Some(known) = known else {
            let others: Vec<String> = match of {
                CompletionOf::Prompt(_) => self.prompts.all().iter().map(|entry| entry.key().to_owned()).collect(),
                CompletionOf::Template(_) => self.templates.all().iter().map(|entry| entry.key().to_owned()).collect(),
            };
            let did_you_mean = similar(key, &others);
            return Some(DefinitionError::UnknownCompletionTarget { kind, key: key.clone(), did_you_mean });
        };
        (!known.contains(argument)).then(|| DefinitionError::Completion {
            kind,
            key: key.clone(),
            argument: argument.clone(),
            did_you_mean: similar(argument, &known),
        })
    }
}

/// The maximum number of values in a response.
const MAX_VALUES: usize = 100;
