//! Resource templates and the functions that read their resources.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_runtime::context::Context;
use mcpgen_types::v2026_07_28::ResourceTemplate;
use tower::BoxError;

use super::error::DefinitionError;
use super::extract::{ARGUMENTS, Args, Call, FromCall, HasRequestContext, Sealed, Uri};
use super::function::Handler;
use super::into_contents::{Contents, IntoContents};
use super::registry::Entry;
use super::state::{RequestContext, TemplateEntry, Variables};
use super::text_arguments::TextArguments;
use super::uri_template::UriTemplate;
use super::visibility::{Item, Visible};
use crate::protocol::change::Change;
use crate::protocol::{ContextExt, errors};

impl TemplateEntry {
    pub(super) fn new<M, S, H>(template: ResourceTemplate, handler: H, state: S) -> Result<Self, DefinitionError>
    where
        H: Handler<ReadTemplate, M, S, Output: IntoContents>,
        S: Send + Sync + 'static,
    {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let invalid = |source: BoxError| DefinitionError::Template {
            template: template.uri_template.clone(),
            source: source.into(),
        };
        let uri_template = UriTemplate::parse(&template.uri_template).map_err(|reason| invalid(reason.into()))?;
        let mut types = TextArguments::default();
        H::define(&mut types)?;
        if let Some(unknown) = types.required().find(|name| uri_template.names().all(|known| known != *name)) {
            return Err(invalid(format!("it has no variable {unknown:?}, which its handler requires").into()));
        }
        let read = move |request_context: RequestContext, variables, uri: String, mime_type: Option<String>| {
            let context = request_context.context.clone();
            let request_context = Some(request_context);
            let mut call = ReadTemplate { context, uri, variables, types: types.clone(), request_context };
            let contents = handler.call(&mut call, &state);
            let ReadTemplate { uri, .. } = call;
            async move { contents?.await.into_contents(&uri, mime_type.as_deref()) }.boxed()
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Self { template, number, uri_template, read: Box::new(read) })
    }

    pub(super) fn read(
        &self,
        context: RequestContext,
        variables: Variables,
        uri: &str,
    ) -> BoxFuture<'static, Contents> {
        (self.read)(context, variables, uri.to_owned(), self.template.mime_type.clone())
    }
}

impl Visible for TemplateEntry {
    fn item(&self) -> Item<'_> {
        Item::ResourceTemplate(&self.template)
    }
}

/// A request to read a resource whose URI matches a template.
#[derive(Debug)]
pub struct ReadTemplate {
    context: Context,
    uri: String,
    variables: Variables,
    types: TextArguments,
    request_context: Option<RequestContext>,
}

impl Sealed for ReadTemplate {}

impl Call for ReadTemplate {
    type Definition = TextArguments;

    fn context(&self) -> &Context {
        &self.context
    }
}

impl HasRequestContext for ReadTemplate {
    fn take_request_context(&mut self) -> Option<RequestContext> {
        self.request_context.take()
    }
}

impl<S> FromCall<ReadTemplate, S> for Uri {
    fn from_call(call: &mut ReadTemplate, _: &S) -> Result<Self, BoxError> {
        Ok(Self(call.uri.clone()))
    }
}

impl<S> FromCall<ReadTemplate, S> for BTreeMap<String, String> {
    const TAKES: u8 = ARGUMENTS;

    fn from_call(call: &mut ReadTemplate, _: &S) -> Result<Self, BoxError> {
        Ok(std::mem::take(&mut call.variables))
    }
}

/// If the variables do not match the type, the resource does not exist.
impl<S, A: serde::de::DeserializeOwned + schemars::JsonSchema> FromCall<ReadTemplate, S> for Args<A> {
    const TAKES: u8 = ARGUMENTS;

    fn define(types: &mut TextArguments) -> Result<(), DefinitionError> {
        *types = TextArguments::of::<A>();
        Ok(())
    }

    fn from_call(call: &mut ReadTemplate, _: &S) -> Result<Self, BoxError> {
        let decoded = call.types.decode(std::mem::take(&mut call.variables));
        let not_found = |_| errors::resource_not_found(call.context.revision(), &call.uri);
        Ok(Self(decoded.map_err(not_found)?))
    }
}

impl Entry for TemplateEntry {
    const KIND: &'static str = "resource template";
    const CHANGE: Change = Change::Resources;
    type Listed = ResourceTemplate;

    fn key(&self) -> &str {
        &self.template.uri_template
    }

    fn listed(&self, _: &Context) -> ResourceTemplate {
        self.template.clone()
    }

    fn item_of(listed: &ResourceTemplate) -> Item<'_> {
        Item::ResourceTemplate(listed)
    }
}
