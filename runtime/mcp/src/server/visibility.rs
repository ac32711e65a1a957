//! Which tools, resources, resource templates and prompts a caller can see.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mcpgen_runtime::context::Context;
use mcpgen_types::v2026_07_28::{Prompt, Resource, ResourceTemplate, Tool};

/// An item in a server's lists. [`ServerBuilder::visible_to`](super::ServerBuilder::visible_to) decides who can see it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Item<'a> {
    /// A tool.
    Tool(&'a Tool),
    /// A resource.
    Resource(&'a Resource),
    /// A resource template.
    ResourceTemplate(&'a ResourceTemplate),
    /// A prompt.
    Prompt(&'a Prompt),
}

impl<'a> Item<'a> {
    /// Returns the name of a tool or prompt, the URI of a resource, or the URI template of a resource template.
    #[must_use]
    pub fn key(self) -> &'a str {
        match self {
            Self::Tool(tool) => &tool.name,
            Self::Resource(resource) => &resource.uri,
            Self::ResourceTemplate(template) => &template.uri_template,
            Self::Prompt(prompt) => &prompt.name,
        }
    }
}

/// A call's HTTP headers contradict its arguments. An HTTP endpoint attaches this to the call's
/// [extensions](mcpgen_runtime::Context::extensions) instead of refusing the call, if
/// [`Server::reports_header_mismatches`](super::Server::reports_header_mismatches) is true. A refusal by the endpoint
/// would reveal hidden tools, because only existing tools have such headers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HeaderMismatch(pub String);

/// The function set with [`ServerBuilder::visible_to`](super::ServerBuilder::visible_to).
#[derive(Clone)]
pub(super) struct Visibility(Arc<IsVisible>);

type IsVisible = dyn Fn(&Context, Item<'_>) -> bool + Send + Sync;

impl Visibility {
    pub(super) fn new(is_visible: impl Fn(&Context, Item<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is_visible))
    }

    /// Shows only items that both filters show.
    pub(super) fn and(self, other: Self) -> Self {
        Self::new(move |context, item| (self.0)(context, item) && (other.0)(context, item))
    }

    fn shows(&self, context: &Context, item: Item<'_>) -> bool {
        // A panic must neither end the task that passes on changes nor reveal an item.
        catch_unwind(AssertUnwindSafe(|| (self.0)(context, item))).unwrap_or_else(|_| {
            tracing::error!("the function of `visible_to` panicked; the item is hidden");
            false
        })
    }
}

impl fmt::Debug for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visibility").finish_non_exhaustive()
    }
}

pub(super) trait Visible: Send + Sync {
    fn item(&self) -> Item<'_>;
}

/// A caller, and what decides which items it can see.
#[derive(Clone, Copy)]
pub(super) struct Viewer<'a> {
    /// Decides what the caller can see. `None` if everyone sees everything.
    visibility: Option<&'a Visibility>,
    context: &'a Context,
}

impl<'a> Viewer<'a> {
    pub(super) fn new(visibility: Option<&'a Visibility>, context: &'a Context) -> Self {
        Self { visibility, context }
    }

    pub(super) fn sees(&self, item: Item<'_>) -> bool {
        self.visibility.is_none_or(|visibility| visibility.shows(self.context, item))
    }
}

/// The items that a change is about. Callers who see none of them are not notified. Without items, everyone is.
#[derive(Clone, Default)]
pub(super) struct Affected(pub(super) Vec<Arc<dyn Visible>>);

impl Affected {
    pub(super) fn one(item: Arc<impl Visible + 'static>) -> Self {
        let item: Arc<dyn Visible> = item;
        Self(vec![item])
    }

    pub(super) fn concerns(&self, viewer: Viewer<'_>) -> bool {
        self.0.is_empty() || self.0.iter().any(|entry| viewer.sees(entry.item()))
    }
}
