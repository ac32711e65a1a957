//! Requests for completions of an argument.

use std::collections::BTreeMap;
use std::fmt;
use std::future::IntoFuture;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_runtime::peer::CallError;
use mcpgen_runtime::router::RequestService;
use mcpgen_types::v2026_07_28::{
    CompleteRequest, CompleteRequestParamsArgument, CompleteRequestParamsContext, CompleteResult,
    CompleteResultCompletion, PromptOrResourceTemplateReference,
};
use mcpgen_types::{JsonObject, Request};

use super::handle::Client;

/// A request for completions, created by [`Client::complete_argument`]. Await it to send it.
#[must_use = "the request is not sent before it is awaited"]
pub struct ArgumentCompletion<'c, S> {
    client: &'c Client<S>,
    of: PromptOrResourceTemplateReference,
    argument: CompleteRequestParamsArgument,
    arguments: BTreeMap<String, String>,
}

impl<'c, S: RequestService> ArgumentCompletion<'c, S> {
    pub(super) fn new(
        client: &'c Client<S>,
        of: PromptOrResourceTemplateReference,
        argument: CompleteRequestParamsArgument,
    ) -> Self {
        Self { client, of, argument, arguments: BTreeMap::new() }
    }

    /// Tells the server the value of another argument, which completions may depend on (since 2025-06-18).
    pub fn argument(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.arguments.insert(name.into(), value.into());
        self
    }

    async fn send(self) -> Result<CompleteResultCompletion, CallError> {
        let mut params = JsonObject::from([("ref", (&self.of).into()), ("argument", (&self.argument).into())]);
        if !self.arguments.is_empty() {
            params.insert("context", &CompleteRequestParamsContext::new().with_arguments(self.arguments));
        }
        let result = self.client.raw_call(CompleteRequest::METHOD, params).await?;
        Ok(self.client.decode::<CompleteResult>(CompleteRequest::METHOD, &result)?.completion)
    }
}

impl<'c, S: RequestService + Sync> IntoFuture for ArgumentCompletion<'c, S> {
    type Output = Result<CompleteResultCompletion, CallError>;
    type IntoFuture = BoxFuture<'c, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.send().boxed()
    }
}

impl<S> fmt::Debug for ArgumentCompletion<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgumentCompletion").field("argument", &self.argument).finish_non_exhaustive()
    }
}
