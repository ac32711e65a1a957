//! Handles `prompts/get` and `completion/complete`.

use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::util::did_you_mean;
use mcpgen_types::v2026_07_28::{
    CompleteRequestParams, CompleteRequestParamsArgument, CompleteResult, CompleteResultCompletion,
    CompleteResultCompletionValues, GetPromptRequestParams, GetPromptResult, PromptOrResourceTemplateReference,
};
use mcpgen_types::{ErrorCode, ErrorObject, Json, JsonObject};
use tower::BoxError;

use super::error::DefinitionError;
use super::registry::Entry;
use super::state::{
    CompletionKey, CompletionOf, Config, PromptArguments, PromptEntry, RequestContext, Server, ServerState,
    TemplateEntry,
};
use super::tool_error::{ResultOrInput, error_response, respond};
use super::visibility::Visible;

pub(super) async fn get_prompt(
    server: Server,
    context: Context,
    params: GetPromptRequestParams,
) -> Result<ResultOrInput<GetPromptResult>, ErrorObject> {
    let arguments: PromptArguments = params.arguments.unwrap_or_default().into_iter().collect();
    let named: JsonObject = arguments.iter().map(|(name, value)| (name, Json::from(value))).collect();
    let Some(entry) = server.0.prompts.find(&params.name, server.viewer(&context)) else {
        let request_context = RequestContext::new(server.clone(), context.clone()).with_arguments(named.into());
        let computed = match &server.0.config.computed.prompt_fallback {
            Some(fallback) => fallback(request_context, params.name.clone(), arguments).await,
            None => None,
        };
        return result_of(computed.ok_or_else(|| server.unknown_prompt(&context, &params.name))?, &context);
    };
    let mut required = entry.prompt.arguments.iter().flatten().filter(|argument| argument.required == Some(true));
    if let Some(missing) = required.find(|argument| !arguments.contains_key(&argument.name)) {
        let why = format!("params.arguments.{}: missing required argument", missing.name);
        return Err(errors::invalid_params_in_words(&why));
    }
    let request_context = RequestContext::new(server.clone(), context.clone()).with_arguments(named.into());
    result_of(entry.get(request_context, arguments).await, &context)
}

fn result_of(
    result: Result<GetPromptResult, BoxError>,
    context: &Context,
) -> Result<ResultOrInput<GetPromptResult>, ErrorObject> {
    match result {
        Ok(result) => Ok(ResultOrInput::Result(result)),
        Err(error) => respond(error, context),
    }
}

impl Server {
    fn unknown_prompt(&self, context: &Context, name: &str) -> ErrorObject {
        let shown: String = name.chars().take(128).collect();
        let hint = self.0.prompts.did_you_mean(name, self.viewer(context));
        ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("unknown prompt {shown:?}{hint}"))
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
    let allowed = Allowed::of(&server, &context, &of);
    let mut options = Vec::new();
    if let (true, CompletionOf::Prompt(name)) = (allowed.own, &of)
        && let Some(entry) = server.0.prompts.get(name)
    {
        options = completions_by_type(&entry, &params.argument)?;
    }
    let own = config.completions.get(&(of, params.argument.name.clone())).filter(|_| allowed.own);
    let general = config.completion.as_ref().filter(|_| allowed.general && options.is_empty());
    let complete = own.or(general);
    // Completing an argument that has no completions is not an error.
    let mut values = match complete {
        Some(complete) => {
            let failed = |error| error_response(error, &context);
            complete(context.clone(), params).await.map_err(failed)?
        }
        None => options,
    };
    let total = values.len();
    values.truncate(MAX_VALUES);
    let values = CompleteResultCompletionValues::try_from(values).map_err(|_| errors::internal())?;
    let mut completion = CompleteResultCompletion::new(values);
    completion.total = i64::try_from(total).ok();
    completion.has_more = Some(total > MAX_VALUES);
    Ok(CompleteResult::new(completion))
}

/// Returns the values that the argument's type allows and that start with the user's input. Fails if the prompt
/// declares its arguments and this is not one of them.
fn completions_by_type(
    entry: &PromptEntry,
    argument: &CompleteRequestParamsArgument,
) -> Result<Vec<String>, ErrorObject> {
    let names = || entry.prompt.arguments.iter().flatten().map(|known| known.name.as_str());
    if entry.prompt.arguments.is_some() && names().all(|known| known != argument.name) {
        let shown: String = argument.name.chars().take(128).collect();
        let hint = did_you_mean(&argument.name, names());
        let why = format!("params.argument.name: the prompt {:?} has no argument {shown:?}{hint}", entry.prompt.name);
        return Err(errors::invalid_params_in_words(&why));
    }
    let options = entry.types.options(&argument.name).into_iter();
    Ok(options.filter(|option| option.starts_with(&argument.value)).map(str::to_owned).collect())
}

/// Which completion functions may be called. What the caller cannot see is completed as if it did not exist.
struct Allowed {
    /// The argument's own function.
    own: bool,
    /// The server's function.
    general: bool,
}

impl Allowed {
    fn of(server: &Server, context: &Context, of: &CompletionOf) -> Self {
        let (viewer, Config { computed, visibility, .. }) = (server.viewer(context), &server.0.config);
        let (is_visible, may_be_computed) = match of {
            CompletionOf::Prompt(name) => (
                server.0.prompts.get(name).is_some_and(|entry| viewer.sees(entry.item())),
                computed.prompts.is_some() || computed.prompt_fallback.is_some(),
            ),
            CompletionOf::Template(template) => (
                server.0.templates.get(template).is_some_and(|entry| viewer.sees(entry.item())),
                computed.templates.is_some(),
            ),
        };
        Self { own: is_visible, general: is_visible || visibility.is_none() || may_be_computed }
    }
}

impl ServerState {
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
