//! Handles `prompts/get` and `completion/complete`.

use mcpgen_types::v2026_07_28::{
    CompleteRequestParams, CompleteResult, CompleteResultCompletion, CompleteResultCompletionValues,
    GetPromptRequestParams, GetPromptResult, PromptOrResourceTemplateReference,
};
use mcpgen_types::{ErrorCode, ErrorObject, JsonObject};

use super::prompt::Arguments;
use super::state::{CompletionOf, Server};
use super::tool_error::ResultOrInput;
use crate::jsonrpc::errors;
use crate::service::context::Context;

impl Server {
    pub(super) async fn get_prompt(
        self,
        context: Context,
        params: GetPromptRequestParams,
    ) -> Result<ResultOrInput<GetPromptResult>, ErrorObject> {
        let Some(entry) = self.0.prompts.get(&params.name) else {
            let shown: String = params.name.chars().take(128).collect();
            let hint = self.0.prompts.did_you_mean(&params.name);
            return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("unknown prompt {shown:?}{hint}")));
        };
        let arguments: Arguments = params.arguments.unwrap_or_default().into_iter().collect();
        let mut required = entry.prompt.arguments.iter().flatten().filter(|argument| argument.required == Some(true));
        if let Some(missing) = required.find(|argument| !arguments.contains_key(&argument.name)) {
            let why = format!("params.arguments.{}: missing required argument", missing.name);
            return Err(errors::invalid_params_in_words(&why));
        }
        let text = || {
            let arguments = arguments.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
            mcpgen_types::to_string(&arguments.collect::<JsonObject>())
        };
        let context = self.request_context(context, text);
        match entry.get(context, arguments).await {
            Ok(result) => Ok(ResultOrInput::Result(result)),
            Err(error) => error.into_response(),
        }
    }

    pub(super) async fn complete(
        self,
        context: Context,
        params: CompleteRequestParams,
    ) -> Result<CompleteResult, ErrorObject> {
        let config = &self.0.config;
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
}

/// The maximum number of values in a response.
const MAX_VALUES: usize = 100;
