//! Sets what callers can see, and lists the requests whose results depend on that.

use mcpgen_runtime::context::Context;
use mcpgen_types::Request;
use mcpgen_types::v2026_07_28::{
    ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest, ReadResourceRequest,
};

use super::builder::ServerBuilder;
use super::state::Config;
use super::visibility::{Item, Visibility};

impl ServerBuilder {
    /// Sets which tools, resources, resource templates and prompts a caller can see. The function takes the context of
    /// the caller's message, and an item. By default, everyone sees everything. If several functions are set, an item
    /// must pass them all.
    ///
    /// In every revision:
    ///
    /// * Lists omit hidden items. Pages stay full, and no cursor names a hidden item.
    /// * For calls, reads, prompts and completions, hidden items do not exist. A hidden resource can still be read from
    ///   a template that matches its URI, if the caller sees the template.
    /// * When an item is added or removed, those who can see it are notified. When a resource changes, those who can
    ///   see it or a template that matches its URI are notified. If nothing matches the URI, the closest resource that
    ///   it is part of decides; if there is none, all subscribers are notified. Anyone may subscribe to a hidden
    ///   resource, as to one that does not exist.
    /// * Lists and `resources/read` get a private [`cache_hint`](Self::cache_hint).
    ///
    /// The function is called for every item of a list and for every subscriber of a change, so it must be fast. It
    /// must not use the server, because subscriptions may be locked. If it panics, the item is hidden.
    ///
    /// For notifications, the context is that of the message that subscribed, with its
    /// [`principal`](Context::principal), [`extensions`](Context::extensions) and
    /// [`peer_info`](crate::protocol::ContextExt::peer_info), but without params such as `_meta`. When a session of a
    /// legacy revision moves to another replica, only the principal moves along.
    ///
    /// Capabilities do not depend on the caller. Calling [`Server::changed`](super::Server::changed) with a list, and
    /// changes to lists on other replicas, name no item, so all subscribers are notified. To suppress those
    /// notifications, use [`change_filter`](Self::change_filter). An extension that serves items decides by itself who
    /// sees them.
    ///
    /// ```
    /// use mcpgen_sdk::Server;
    /// use mcpgen_sdk::server::Item;
    ///
    /// let server = Server::builder("files", "1.0.0")
    ///     .tool("search", || async { "found nothing" })
    ///     .tool("delete_all", || async { "deleted" })
    ///     .visible_to(|context, item| match item {
    ///         Item::Tool(tool) if tool.name == "delete_all" => {
    ///             context.principal().is_some_and(|user| user.name() == "admin")
    ///         }
    ///         _ => true,
    ///     })
    ///     .build();
    /// # let _ = server;
    /// ```
    pub fn visible_to(self, is_visible: impl Fn(&Context, Item<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.setup(|setup| {
            let visibility = &mut setup.state.config.visibility;
            let added = Visibility::new(is_visible);
            *visibility = Some(match visibility.take() {
                Some(before) => before.and(added),
                None => added,
            });
        })
    }
}

impl Config {
    pub(super) fn methods_by_caller(&self) -> Vec<&'static str> {
        let (depends, computed) = (self.visibility.is_some(), &self.computed);
        let methods = [
            (ListToolsRequest::METHOD, depends || computed.tools.is_some()),
            (ListResourcesRequest::METHOD, depends || computed.resources.is_some()),
            (ListResourceTemplatesRequest::METHOD, depends || computed.templates.is_some()),
            (ListPromptsRequest::METHOD, depends || computed.prompts.is_some()),
            (ReadResourceRequest::METHOD, depends),
        ];
        methods.into_iter().filter_map(|(method, depends)| depends.then_some(method)).collect()
    }
}
