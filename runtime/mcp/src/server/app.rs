//! Apps: HTML pages that hosts show next to tool results.

use mcpgen_runtime::context::Context;
use mcpgen_types::ext::apps::{
    McpUiClientCapabilities, McpUiResourceCsp, McpUiResourceMeta, McpUiResourcePermissions, McpUiToolMeta,
    McpUiToolVisibility,
};
use mcpgen_types::v2026_07_28::{Resource, TextOrBlobResourceContents, TextResourceContents};
use mcpgen_types::{Json, JsonObject};

use super::builder::ServerBuilder;
use super::tool::ToolInfo;
use crate::protocol::ContextExt;
use crate::protocol::extension::Extension;

/// The MIME type of apps.
pub const APP_MIME_TYPE: &str = "text/html;profile=mcp-app";

/// The `_meta` key for an app's settings.
const UI: &str = "ui";

/// The extension `io.modelcontextprotocol/ui`. [`ServerBuilder::app`] adds it to a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Apps;

impl Extension for Apps {
    const IDENTIFIER: &'static str = "io.modelcontextprotocol/ui";
    type Settings = McpUiClientCapabilities;

    fn settings(&self) -> McpUiClientCapabilities {
        McpUiClientCapabilities::new().with_mime_types([APP_MIME_TYPE.to_owned()])
    }
}

/// An app: an HTML page with a `ui://` URI. Hosts show it next to the results of tools that refer to the URI.
///
/// The host passes the call's arguments and result to the page, which can in turn call the server's tools. Write the
/// page with the npm package `@modelcontextprotocol/ext-apps`, or with the message types in
/// [`mcpgen_types::ext::apps`]. Hosts run it in a sandbox that blocks the network except for the origins in
/// [`csp`](Self::csp).
///
/// ```
/// use mcpgen_sdk::Server;
/// use mcpgen_sdk::server::{App, ToolInfo};
/// use mcpgen_sdk::types::{Tool, ToolInputSchema};
///
/// let time = ToolInfo::from(Tool::new("time", ToolInputSchema::new())).app("ui://clock/page.html");
/// let server = Server::builder("clock", "1.0.0")
///     .app(App::new("ui://clock/page.html", "clock", "<!doctype html><title>Clock</title>…"))
///     .tool(time, || async { "12:00" })
///     .build();
/// # let _ = server;
/// ```
#[derive(Clone, Debug)]
#[must_use = "add it to a server with `ServerBuilder::app`"]
pub struct App {
    resource: Resource,
    html: String,
    meta: McpUiResourceMeta,
}

impl App {
    /// Creates an app from the URI and the name of its resource, and the HTML of its page.
    pub fn new(uri: impl Into<String>, name: impl Into<String>, html: impl Into<String>) -> Self {
        let resource = Resource::new(uri, name).with_mime_type(APP_MIME_TYPE);
        Self { resource, html: html.into(), meta: McpUiResourceMeta::new() }
    }

    /// Sets the description of the app's resource.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.resource.description = Some(description.into());
        self
    }

    /// Sets the origins that the page may connect to and load from.
    pub fn csp(mut self, csp: McpUiResourceCsp) -> Self {
        self.meta.csp = Some(csp);
        self
    }

    /// Sets the browser features that the page needs.
    pub fn permissions(mut self, permissions: McpUiResourcePermissions) -> Self {
        self.meta.permissions = Some(permissions);
        self
    }

    /// Sets the origin of the page's sandbox. The format depends on the host.
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.meta.domain = Some(domain.into());
        self
    }

    /// Sets whether the page prefers a border and background.
    pub fn prefers_border(mut self, prefers: bool) -> Self {
        self.meta.prefers_border = Some(prefers);
        self
    }
}

impl<S: Clone + Send + Sync + 'static> ServerBuilder<S> {
    /// Adds an app, and declares the extension for apps.
    ///
    /// Hosts that do not support apps show only tool results, so tools should return text as well.
    pub fn app(self, app: App) -> Self {
        let App { mut resource, html, meta } = app;
        let meta = Json::from(&meta);
        let meta = (meta.text() != "{}").then(|| JsonObject::from([(UI, meta)]));
        resource.meta.clone_from(&meta);
        let uri = resource.uri.clone();
        self.extension(Apps).resource(resource, move || {
            let mut contents = TextResourceContents::new(uri.clone()).text(html.clone()).with_mime_type(APP_MIME_TYPE);
            contents.meta.clone_from(&meta);
            async { vec![TextOrBlobResourceContents::from(contents)] }
        })
    }
}

impl ToolInfo {
    /// Sets the `ui://` URI of the app that hosts show next to the tool's results.
    #[must_use]
    pub fn app(self, uri: impl Into<String>) -> Self {
        let uri = uri.into();
        self.ui(|meta| meta.resource_uri = Some(uri))
    }

    /// Sets who can call the tool: models, apps or, by default, both. If only apps can call it, hosts hide it from
    /// models; the server does not enforce this.
    #[must_use]
    pub fn visibility(self, visibility: impl Into<Vec<McpUiToolVisibility>>) -> Self {
        let visibility = visibility.into();
        self.ui(|meta| meta.visibility = Some(visibility))
    }

    fn ui(mut self, change: impl FnOnce(&mut McpUiToolMeta)) -> Self {
        let meta = self.meta();
        let mut ui = meta.get(UI).and_then(|ui| ui.decode().ok()).unwrap_or_default();
        change(&mut ui);
        meta.insert(UI, &ui);
        self
    }
}

impl Apps {
    /// Returns whether the request's client can show apps.
    #[must_use]
    pub fn are_shown_by(context: &Context) -> bool {
        let settings = context.extension::<Self>().ok().flatten();
        settings
            .and_then(|settings| settings.mime_types)
            .is_some_and(|types| types.iter().any(|it| it == APP_MIME_TYPE))
    }
}
