//! The functions that complete arguments.

use futures_util::FutureExt;
use mcpgen_runtime::context::Context;
use mcpgen_types::v2026_07_28::CompleteRequestParams;
use tower::BoxError;

use super::extract::{ARGUMENTS, Call, FromCall, Sealed, taken};
use super::function::Handler;
use super::state::Completion;

pub(super) fn completion<M, S, H>(handler: H, state: S) -> Completion
where
    H: Handler<Complete, M, S, Output: IntoCompletion>,
    S: Send + Sync + 'static,
{
    Box::new(move |context, params| {
        let values = handler.call(&mut Complete { context, params: Some(params) }, &state);
        async move { values?.await.into_completion() }.boxed()
    })
}

/// A request to complete an argument of a prompt or a variable of a resource template.
#[derive(Debug)]
pub struct Complete {
    context: Context,
    params: Option<CompleteRequestParams>,
}

impl Sealed for Complete {}

impl Call for Complete {
    type Definition = ();

    fn context(&self) -> &Context {
        &self.context
    }
}

impl<S> FromCall<Complete, S> for CompleteRequestParams {
    const TAKES: u8 = ARGUMENTS;

    fn from_call(call: &mut Complete, _: &S) -> Result<Self, BoxError> {
        call.params.take().ok_or_else(taken)
    }
}

/// What a completion can return: all matching values, best first.
#[diagnostic::on_unimplemented(
    message = "a completion cannot return `{Self}`",
    label = "the function of this completion returns `{Self}`",
    note = "return `Vec<String>`",
    note = "to report failures, return a `Result` of one of these whose error is an error, text, `ErrorObject` or `BoxError`; \
            `ToolError` is for tools"
)]
pub trait IntoCompletion {
    /// Converts to the matching values.
    ///
    /// # Errors
    ///
    /// Returns an error if the completion failed.
    fn into_completion(self) -> Result<Vec<String>, BoxError>;
}

impl IntoCompletion for Vec<String> {
    fn into_completion(self) -> Result<Vec<String>, BoxError> {
        Ok(self)
    }
}

impl<E: Into<BoxError>> IntoCompletion for Result<Vec<String>, E> {
    fn into_completion(self) -> Result<Vec<String>, BoxError> {
        self.map_err(Into::into)
    }
}
