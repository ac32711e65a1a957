//! Resources and the functions that read them.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_runtime::context::Context;
use mcpgen_types::v2026_07_28::Resource;
use tower::BoxError;

use super::error::DefinitionError;
use super::extract::{Call, FromCall, HasRequestContext, Sealed, Uri};
use super::function::Handler;
use super::into_contents::{Contents, IntoContents};
use super::registry::Entry;
use super::state::{RequestContext, ResourceEntry};
use super::visibility::{Item, Visible};
use crate::protocol::change::Change;

impl ResourceEntry {
    /// Creates an entry.
    ///
    /// # Errors
    ///
    /// Fails if the resource's URI is not valid.
    pub(super) fn checked<M, S, H>(resource: Resource, handler: H, state: S) -> Result<Self, DefinitionError>
    where
        H: Handler<ReadResource, M, S, Output: IntoContents>,
        S: Send + Sync + 'static,
    {
        match is_uri(&resource.uri) {
            true => Ok(Self::new(resource, handler, state)),
            false => Err(DefinitionError::Uri { name: resource.name, uri: resource.uri }),
        }
    }

    pub(super) fn new<M, S, H>(resource: Resource, handler: H, state: S) -> Self
    where
        H: Handler<ReadResource, M, S, Output: IntoContents>,
        S: Send + Sync + 'static,
    {
        let read = move |request_context: RequestContext, uri: String, mime_type: Option<String>| {
            let context = request_context.context.clone();
            let mut call = ReadResource { context, uri, request_context: Some(request_context) };
            let contents = handler.call(&mut call, &state);
            let ReadResource { uri, .. } = call;
            async move { contents?.await.into_contents(&uri, mime_type.as_deref()) }.boxed()
        };
        Self { resource, read: Box::new(read) }
    }

    pub(super) fn read(&self, context: RequestContext) -> BoxFuture<'static, Contents> {
        (self.read)(context, self.resource.uri.clone(), self.resource.mime_type.clone())
    }
}

impl Visible for ResourceEntry {
    fn item(&self) -> Item<'_> {
        Item::Resource(&self.resource)
    }
}

/// A request to read a resource.
#[derive(Debug)]
pub struct ReadResource {
    context: Context,
    uri: String,
    request_context: Option<RequestContext>,
}

impl Sealed for ReadResource {}

impl Call for ReadResource {
    type Definition = ();

    fn context(&self) -> &Context {
        &self.context
    }
}

impl HasRequestContext for ReadResource {
    fn take_request_context(&mut self) -> Option<RequestContext> {
        self.request_context.take()
    }
}

impl<S> FromCall<ReadResource, S> for Uri {
    fn from_call(call: &mut ReadResource, _: &S) -> Result<Self, BoxError> {
        Ok(Self(call.uri.clone()))
    }
}

impl Entry for ResourceEntry {
    const KIND: &'static str = "resource";
    const CHANGE: Change = Change::Resources;
    type Listed = Resource;

    fn key(&self) -> &str {
        &self.resource.uri
    }

    fn listed(&self, _: &Context) -> Resource {
        self.resource.clone()
    }

    fn item_of(listed: &Resource) -> Item<'_> {
        Item::Resource(listed)
    }
}

/// Returns whether text is a URI: a scheme followed by anything that URIs need not escape, including letters of other
/// scripts.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme && !rest.contains(|char: char| char.is_whitespace() || char.is_control() || "<>\"{}|\\^`".contains(char))
}
