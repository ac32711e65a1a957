//! Resource templates and the functions that read their resources.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_runtime::context::Context;
use mcpgen_types::v2026_07_28::ResourceTemplate;
use tower::BoxError;
use uri_template_ex::UriTemplate;

use super::error::DefinitionError;
use super::into_contents::{Contents, IntoContents};
use super::registry::Entry;
use super::state::{RequestContext, TemplateEntry, Variables};
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
        if let Some(reason) = unsupported(&template.uri_template) {
            return Err(invalid(reason.into()));
        }
        let uri_template = UriTemplate::new(&template.uri_template).map_err(|error| invalid(error.into()))?;
        let read = move |context, variables, uri: String, mime_type: Option<String>| {
            let contents = read(context, variables);
            async move { contents.await.into_contents(&uri, mime_type.as_deref()) }.boxed()
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Self { template, number, uri_template, read: Box::new(read) })
    }

    /// Returns the percent-decoded variables of a URI. Returns `None` if the URI does not match the template.
    pub(super) fn variables(&self, uri: &str) -> Option<Variables> {
        let captures = self.uri_template.captures(uri)?;
        let value = |name: &str| -> Option<String> {
            let value = captures.name(name)?.value().ok()?.into_owned();
            // Percent-encoding must not smuggle further segments into `{name}`.
            let is_segment = self.template.uri_template.contains(&format!("{{{name}}}"));
            let is_one = !value.is_empty() && value != "." && value != ".." && !value.contains(['/', '\\', '\0']);
            (!is_segment || is_one).then_some(value)
        };
        self.uri_template.var_names().map(|name| Some((name.to_owned(), value(name)?))).collect()
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

/// Returns why a template is not supported. The values of all its variables must be recoverable from a URI.
fn unsupported(template: &str) -> Option<&'static str> {
    let (mut rest, mut names) = (template, Vec::new());
    while let Some(at) = rest.find(['{', '}']) {
        let follows_variable = at == 0 && !names.is_empty();
        let Some((inside, after)) = rest[at..].strip_prefix('{').and_then(|inside| inside.split_once('}')) else {
            return Some("unmatched brace");
        };
        let name = inside.strip_prefix(['+', '#']).unwrap_or(inside);
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Some("unsupported expression; use {name}, {+name} or {#name}");
        }
        if names.contains(&name) {
            return Some("a variable occurs twice; use each name once");
        }
        // `#` separates a fragment from the variable before it.
        if follows_variable && !inside.starts_with('#') {
            return Some("two variables without text between them; separate them, for example with a slash");
        }
        names.push(name);
        rest = after;
    }
    None
}
