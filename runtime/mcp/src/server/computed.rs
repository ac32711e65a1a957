//! Lists that are computed for each request, and the functions that handle calls to their items.

use std::future::{Future, ready};
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt;
use mcpgen_runtime::context::Context;
use mcpgen_types::v2026_07_28::{Prompt, Resource, ResourceTemplate, Tool, ToolInputSchema};
use mcpgen_types::{ErrorObject, JsonObject};
use tower::BoxError;

use super::builder::ServerBuilder;
use super::into_tool_result::IntoToolResult;
use super::page::Page;
use super::prompt::IntoPrompt;
use super::registry::{Entry, Registry, decode_cursor, encode_cursor};
use super::state::{ComputedList, PromptArguments, RequestContext, Server, ToolEntry, ToolFallback};
use super::tool_error::error_response;

impl ServerBuilder {
    /// Adds tools that are computed for each request, such as a user's own. The function takes the request's context
    /// and the cursor of the page: `None`, or a [`Page::next_cursor`] that it returned earlier. Clients can send any
    /// cursor; fail with [`INVALID_PARAMS`](mcpgen_types::ErrorCode::INVALID_PARAMS) for an unknown one.
    ///
    /// Registered tools come first. The first computed page is sent together with the last registered tools, and
    /// [`page_size`] limits only the latter. A computed tool is left out if [`visible_to`](Self::visible_to) hides it,
    /// or if the caller sees a registered tool of the same name. The list's [`cache_hint`](Self::cache_hint) is
    /// private. When the list changes, call [`Server::changed`].
    ///
    /// To handle the calls, set [`tool_fallback`](Self::tool_fallback).
    ///
    /// [`page_size`]: Self::page_size
    ///
    /// ```
    /// use mcpgen_sdk::Server;
    /// use mcpgen_sdk::server::Page;
    /// use mcpgen_sdk::types::{Tool, ToolInputSchema};
    ///
    /// let server = Server::builder("devices", "1.0.0")
    ///     .tool_list(|context, _cursor| async move {
    ///         // Devices of the user, for example from a database.
    ///         let devices = context.principal().map(|_| "lamp");
    ///         let tools = devices.into_iter().map(|name| Tool::new(name, ToolInputSchema::new()));
    ///         Ok(Page::from(tools.collect::<Vec<_>>()))
    ///     })
    ///     .tool_fallback(|context, name, _arguments| async move {
    ///         context.context().principal().filter(|_| name == "lamp").map(|_| "switched")
    ///     })
    ///     .build();
    /// # let _ = server;
    /// ```
    pub fn tool_list<F, Fut>(self, list: F) -> Self
    where
        F: Fn(Context, Option<String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Page<Tool>, BoxError>> + Send + 'static,
    {
        self.setup(|setup| {
            setup.state.config.computed.tools = Some(computed(list));
            setup.state.tools.declare();
        })
    }

    /// Sets the function that handles calls to unregistered tools, such as those of a [`tool_list`](Self::tool_list).
    /// It takes the name and the arguments, and returns `None` if the caller has no such tool.
    ///
    /// The function must check that the caller may call the tool: only the name is known at this point, so
    /// [`visible_to`](Self::visible_to) is not consulted, arguments and results are not [validated](Self::validate),
    /// and arguments are not compared with headers.
    pub fn tool_fallback<F, Fut, T>(self, function: F) -> Self
    where
        F: Fn(RequestContext, String, JsonObject) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<T>> + Send + 'static,
        T: IntoToolResult,
    {
        let fallback = move |context, name, arguments| {
            let result = function(context, name, arguments);
            async move { Some(result.await?.into_tool_result()) }.boxed()
        };
        self.setup(|setup| {
            setup.state.config.computed.tool_fallback = Some(Arc::new(fallback));
            setup.state.tools.declare();
        })
    }

    /// Adds resources that are computed for each request, like [`tool_list`](Self::tool_list). To make them readable,
    /// add a [`resource_template`](Self::resource_template) that matches their URIs.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use mcpgen_sdk::Server;
    /// use mcpgen_sdk::server::Page;
    /// use mcpgen_sdk::types::{Resource, ResourceTemplate};
    /// use mcpgen_types::{ErrorCode, ErrorObject};
    ///
    /// let server = Server::builder("notes", "1.0.0")
    ///     .resource_list(|_context, cursor| async move {
    ///         let unknown = |_| ErrorObject::new(ErrorCode::INVALID_PARAMS, "unknown cursor");
    ///         let first: u32 = cursor.map_or(Ok(0), |cursor| cursor.parse()).map_err(unknown)?;
    ///         let uri = |number| format!("note:///{number}");
    ///         let notes = (first..).take(10).map(|number| Resource::new(uri(number), "note"));
    ///         let next = first.checked_add(10).filter(|next| *next < 1000);
    ///         Ok(Page { items: notes.collect(), next_cursor: next.map(|next| next.to_string()) })
    ///     })
    ///     .resource_template(ResourceTemplate::new("note:///{number}", "note"), |variables: BTreeMap<String, String>| async move {
    ///         let number: u32 = variables["number"].parse().ok()?;
    ///         (number < 1000).then(|| format!("This is note {number}."))
    ///     })
    ///     .build();
    /// # let _ = server;
    /// ```
    pub fn resource_list<F, Fut>(self, list: F) -> Self
    where
        F: Fn(Context, Option<String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Page<Resource>, BoxError>> + Send + 'static,
    {
        self.setup(|setup| {
            setup.state.config.computed.resources = Some(computed(list));
            setup.state.resources.declare();
        })
    }

    /// Adds resource templates that are computed for each request, like [`tool_list`](Self::tool_list). Resources are
    /// only read from registered templates, so add one that matches all URIs of the computed templates.
    pub fn resource_template_list<F, Fut>(self, list: F) -> Self
    where
        F: Fn(Context, Option<String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Page<ResourceTemplate>, BoxError>> + Send + 'static,
    {
        self.setup(|setup| {
            setup.state.config.computed.templates = Some(computed(list));
            setup.state.templates.declare();
        })
    }

    /// Adds prompts that are computed for each request, like [`tool_list`](Self::tool_list).
    /// [`prompt_fallback`](Self::prompt_fallback) returns their messages.
    pub fn prompt_list<F, Fut>(self, list: F) -> Self
    where
        F: Fn(Context, Option<String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Page<Prompt>, BoxError>> + Send + 'static,
    {
        self.setup(|setup| {
            setup.state.config.computed.prompts = Some(computed(list));
            setup.state.prompts.declare();
        })
    }

    /// Sets the function that returns the messages of unregistered prompts, such as those of a
    /// [`prompt_list`](Self::prompt_list). It takes the name and the arguments, and returns `None` if there is no such
    /// prompt. It must check that required arguments are present and that the caller may see the prompt. The arguments
    /// of such prompts are completed by [`completion`](Self::completion).
    pub fn prompt_fallback<F, Fut, T>(self, function: F) -> Self
    where
        F: Fn(RequestContext, String, PromptArguments) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<T>> + Send + 'static,
        T: IntoPrompt,
    {
        let fallback = move |context, name, arguments| {
            let result = function(context, name, arguments);
            async move { Some(result.await?.into_prompt()) }.boxed()
        };
        self.setup(|setup| {
            setup.state.config.computed.prompt_fallback = Some(Box::new(fallback));
            setup.state.prompts.declare();
        })
    }
}

fn computed<F, Fut, T>(list: F) -> ComputedList<T>
where
    F: Fn(Context, Option<String>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Page<T>, BoxError>> + Send + 'static,
{
    Box::new(move |context, cursor| list(context, cursor).boxed())
}

/// Returns a page of a list as the caller sees it: registered entries first, then computed ones.
pub(super) async fn page<T: Entry>(
    server: &Server,
    context: &Context,
    (registry, computed): (&Registry<T>, Option<&ComputedList<T::Listed>>),
    cursor: Option<String>,
) -> Result<Page<T::Listed>, ErrorObject> {
    // No kind begins with "computed", so a cursor belongs either to registered or to computed entries.
    let kind = format!("computed {}", T::KIND);
    let of_computed = cursor.as_deref().and_then(|cursor| decode_cursor(&kind, cursor).ok());
    let mut items = Vec::new();
    if computed.is_none() || of_computed.is_none() {
        let (entries, next) = registry.page(cursor.as_deref(), server.0.config.page_size, server.viewer(context))?;
        items.extend(entries.iter().map(|entry| entry.listed(context)));
        if next.is_some() || computed.is_none() {
            return Ok(Page { items, next_cursor: next });
        }
    }
    let Some(computed) = computed else { return Ok(items.into()) };
    let Page { items: found, next_cursor } =
        computed(context.clone(), of_computed).await.map_err(|error| error_response(error, context))?;
    let viewer = server.viewer(context);
    items.extend(found.into_iter().filter(|listed| {
        let item = T::item_of(listed);
        viewer.sees(item) && registry.find(item.key(), viewer).is_none()
    }));
    Ok(Page { items, next_cursor: next_cursor.map(|cursor| encode_cursor(&kind, &cursor)) })
}

impl ToolEntry {
    pub(super) fn computed(name: &str, fallback: &ToolFallback) -> Self {
        let fallback = Arc::clone(fallback);
        Self {
            tool: Tool::new(name, ToolInputSchema::new()),
            run: Box::new(move |entry, request_context, arguments| {
                let (server, context) = (request_context.server.clone(), request_context.context.clone());
                let object = match arguments.object() {
                    Ok(object) => object,
                    Err(error) => return Box::pin(ready(entry.encode(&context, Err(error.into())))),
                };
                let name = entry.tool.name.clone();
                let result = fallback(request_context.with_arguments(arguments), name, object);
                Box::pin(async move {
                    match result.await {
                        Some(result) => entry.encode(&context, result),
                        None => Err(server.unknown_tool(&context, &entry.tool.name)),
                    }
                })
            }),
            runner: None,
            argument_names: Vec::new(),
            headers: Vec::new(),
            schemas: OnceLock::new(),
        }
    }
}
