//! Lists that are computed for each request, and the functions that handle calls of their items.

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
    /// Adds tools that are computed for each request, such as those of a user. The function takes the context of the
    /// request and the cursor of the page: `None`, or a [`Page::next_cursor`] that it has returned. Clients can send any
    /// cursor, so return an error with [`INVALID_PARAMS`](mcpgen_types::ErrorCode::INVALID_PARAMS) for an unknown one.
    ///
    /// The registered tools come first. The first computed page is sent with the last of them; [`page_size`] limits only
    /// the registered ones. A computed tool with the name of a registered one that the caller sees is left out, and so is
    /// one that [`visible_to`](Self::visible_to) hides. The list is sent with a private
    /// [`cache_hint`](Self::cache_hint). When it changes, call [`Server::changed`].
    ///
    /// Set [`tool_fallback`](Self::tool_fallback) to handle the calls.
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

    /// Sets the function that handles calls of tools which are not registered, such as those of a
    /// [`tool_list`](Self::tool_list). It takes the name and the arguments. `None` means that there is no such tool for
    /// the caller.
    ///
    /// The function checks itself whether the caller may call the tool: [`visible_to`](Self::visible_to) is not asked,
    /// because the tool is known only by its name. For the same reason, arguments and results are not
    /// [validated](Self::validate), and arguments are not compared with headers.
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

    /// Adds resources that are computed for each request, like [`tool_list`](Self::tool_list). To read them, add a
    /// [`resource_template`](Self::resource_template) that matches their URIs.
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

    /// Adds resource templates that are computed for each request, like [`tool_list`](Self::tool_list). Resources are read
    /// from registered templates only; add one that matches all URIs of the computed templates.
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

    /// Adds prompts that are computed for each request, like [`tool_list`](Self::tool_list). Set
    /// [`prompt_fallback`](Self::prompt_fallback) to return their messages.
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

    /// Sets the function that returns the messages of prompts which are not registered, such as those of a
    /// [`prompt_list`](Self::prompt_list). It takes the name and the arguments, and checks itself whether required
    /// arguments are present and whether the caller may see the prompt. `None` means that there is no such prompt.
    /// [`completion`](Self::completion) completes its arguments.
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

/// Returns a page of a list as the sender of the request sees it. The registered entries come first, and then the computed
/// items.
pub(super) async fn page<T: Entry>(
    server: &Server,
    context: &Context,
    (registry, computed): (&Registry<T>, Option<&ComputedList<T::Listed>>),
    cursor: Option<String>,
) -> Result<Page<T::Listed>, ErrorObject> {
    // No kind of entry begins with "computed", so a cursor is of one of both kinds.
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
    /// Creates a tool whose calls the fallback handles.
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
