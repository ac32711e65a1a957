//! Resources and the functions that read them.

use std::future::Future;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_runtime::context::Context;
use mcpgen_types::v2026_07_28::Resource;

use super::error::DefinitionError;
use super::into_contents::{Contents, IntoContents};
use super::registry::Entry;
use super::state::{RequestContext, ResourceEntry};
use crate::protocol::change::Change;

impl ResourceEntry {
    /// Creates an entry.
    ///
    /// # Errors
    ///
    /// Fails if the URI of the resource is not valid.
    pub(super) fn checked<F, Fut, T>(resource: Resource, read: F) -> Result<Self, DefinitionError>
    where
        F: Fn(RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoContents,
    {
        match is_uri(&resource.uri) {
            true => Ok(Self::new(resource, read)),
            false => Err(DefinitionError::Uri { name: resource.name, uri: resource.uri }),
        }
    }

    pub(super) fn new<F, Fut, T>(resource: Resource, read: F) -> Self
    where
        F: Fn(RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoContents,
    {
        let read = move |context, uri: String, mime_type: Option<String>| {
            let contents = read(context);
            async move { contents.await.into_contents(&uri, mime_type.as_deref()) }.boxed()
        };
        Self { resource, read: Box::new(read) }
    }

    pub(super) fn read(&self, context: RequestContext) -> BoxFuture<'static, Contents> {
        (self.read)(context, self.resource.uri.clone(), self.resource.mime_type.clone())
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
}

/// Returns whether a text is a URI: a scheme, and no characters that a URI escapes. Letters of other scripts are accepted.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme && !rest.contains(|char: char| char.is_whitespace() || char.is_control() || "<>\"{}|\\^`".contains(char))
}
