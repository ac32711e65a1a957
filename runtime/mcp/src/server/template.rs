//! Resource templates and the functions that read their resources.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_runtime::context::Context;
use mcpgen_types::v2026_07_28::ResourceTemplate;
use tower::BoxError;

use super::error::DefinitionError;
use super::into_contents::{Contents, IntoContents};
use super::registry::Entry;
use super::state::{RequestContext, TemplateEntry, Variables};
use super::uri_template::UriTemplate;
use crate::protocol::change::Change;

impl TemplateEntry {
    pub(super) fn new<F, Fut, T>(template: ResourceTemplate, read: F) -> Result<Self, DefinitionError>
    where
        F: Fn(RequestContext, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoContents,
    {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let invalid = |source: BoxError| DefinitionError::Template {
            template: template.uri_template.clone(),
            source: source.into(),
        };
        let uri_template = UriTemplate::parse(&template.uri_template).map_err(|reason| invalid(reason.into()))?;
        let read = move |context, variables, uri: String, mime_type: Option<String>| {
            let contents = read(context, variables);
            async move { contents.await.into_contents(&uri, mime_type.as_deref()) }.boxed()
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
}
