//! Builds a server.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcpgen_runtime::connection::Limits;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::router::{RequestService, Router};
use mcpgen_runtime::transport::Extensions;
use mcpgen_types::v2026_07_28::{Icon, Prompt, Resource, ResourceTemplate, ServerCapabilities};
use mcpgen_types::{Json, JsonObject, Request, Revision, Value};
use parking_lot::Mutex;
use tower::Layer;

use super::change_bus::BusConnection;
use super::completion::{Complete, IntoCompletion, completion};
use super::error::DefinitionError;
use super::function::Handler;
use super::into_contents::IntoContents;
use super::into_tool_result::IntoToolResult;
use super::prompt::{GetPrompt, IntoPrompt};
use super::registry::{Entry, Registry};
use super::request_state::RequestStateCodec;
use super::resource::ReadResource;
use super::state::{
    CompletionKey, CompletionOf, Computed, Config, PromptEntry, ResourceEntry, Server, ServerSetup, ServerState,
    TemplateEntry, ToolEntry,
};
use super::subscriptions::Subscriptions;
use super::template::ReadTemplate;
use super::tool::{CallTool, ToolInfo};
use crate::protocol::RouterExt;
use crate::protocol::cache_hints::{CacheHint, CacheHints};
use crate::protocol::change::Change;
use crate::protocol::extension::Extension;
use crate::protocol::info::LocalInfo;
use crate::replicas::{ChangeBus, Measured, RateLimiter, Replicas};
use crate::validation::Validator;

/// Builds a [`Server`] whose handlers can take the state `S`. Start with [`Server::builder`].
///
/// Invalid definitions are reported when the server starts; see [`serve`](super::serve()) and [`Server::config`].
#[must_use]
pub struct ServerBuilder<S = ()> {
    setup: ServerSetup,
    state: S,
}

impl Server {
    /// Creates a builder for a server that supports all revisions.
    pub fn builder(name: &str, version: &str) -> ServerBuilder {
        ServerBuilder::from(LocalInfo::new(name, version))
    }
}

impl From<LocalInfo> for ServerBuilder {
    /// Starts from local info. Tools, resources and prompts add their capabilities.
    fn from(info: LocalInfo) -> Self {
        let config = Config {
            info,
            cache_hints: CacheHints::default(),
            page_size: 100,
            empty_lists: false,
            limits: Limits::default(),
            completion: None,
            completions: BTreeMap::new(),
            request_state: None,
            identity: None,
            on_change: None,
            change_bus: None,
            change_filter: None,
            visibility: None,
            computed: Computed::default(),
            layers: Vec::new(),
            extensions: Vec::new(),
            routes: Vec::new(),
            result_types: Vec::new(),
            replicas: None,
            rate_limiter: None,
            validator: None,
            invalid: Vec::new(),
        };
        let state = ServerState {
            subscriptions: Subscriptions::of(&config.info),
            config,
            tools: Registry::default(),
            resources: Registry::default(),
            templates: Registry::default(),
            prompts: Registry::default(),
            extensions: Extensions::new(),
            listeners: Mutex::default(),
        };
        Self { setup: ServerSetup { state }, state: () }
    }
}

/// How long a client has for the next round of a request, unless the server sets a codec for request state.
const REQUEST_STATE_LIFETIME: Duration = Duration::from_secs(15 * 60);

impl<S> ServerBuilder<S> {
    /// Sets the state, such as a database, for the handlers that are added afterwards. They take it as
    /// [`State`](super::State), or as the `self` of a method. Each call gets a clone, so wrap large state in an
    /// [`Arc`].
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// use mcpgen_sdk::prelude::*;
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct AddNote {
    ///     text: String,
    /// }
    ///
    /// #[derive(Clone, Default)]
    /// struct Notes(Arc<Mutex<Vec<String>>>);
    ///
    /// impl Notes {
    ///     async fn add(self, Args(note): Args<AddNote>) -> Result<usize, &'static str> {
    ///         let mut notes = self.0.lock().map_err(|_| "the notes are damaged")?;
    ///         notes.push(note.text);
    ///         Ok(notes.len())
    ///     }
    /// }
    ///
    /// let server = Server::builder("notes", "1.0.0").state(Notes::default()).tool("add_note", Notes::add).build();
    /// # let _ = server;
    /// ```
    pub fn state<T: Clone + Send + Sync + 'static>(self, state: T) -> ServerBuilder<T> {
        ServerBuilder { setup: self.setup, state }
    }
}

/// The methods that add handlers. For the arguments that handlers can take, see [`FromCall`](super::FromCall).
impl<S: Clone + Send + Sync + 'static> ServerBuilder<S> {
    /// Adds a tool and its function.
    ///
    /// If the function takes [`Args<T>`](super::Args), `T` defines the tool's `inputSchema`, and its doc comment the
    /// description, unless `info` has them. Arguments that do not match `T` are reported to the model, and the function
    /// is not called. The function can return text, a number, content, [`Structured`](super::Structured) content, or a
    /// `Result` of any of these. For errors, see [`ToolError`](super::ToolError).
    ///
    /// ```
    /// use mcpgen_sdk::prelude::*;
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// /// Adds two integers.
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Add {
    ///     a: i64,
    ///     /// The number to add to `a`.
    ///     b: i64,
    /// }
    ///
    /// let server = Server::builder("calculator", "1.0.0")
    ///     .tool("add", |Args(Add { a, b })| async move { a.checked_add(b).ok_or("the sum is too large") })
    ///     .build();
    /// # let _ = server;
    /// ```
    ///
    /// To write the schema by hand, put it into a [`ToolInfo`], and take the arguments as a [`JsonObject`]. With
    /// [`validate`](Self::validate), arguments and structured results are checked against the schemas. After a few
    /// milliseconds, a check moves to a blocking thread, where it may take at most 2 seconds; after that, the call
    /// fails. A schema is rejected if it has more than 20,000 subschemas or 250 patterns, if more than 10,000
    /// subschemas apply to one value with references expanded, or if a pattern compiles to more than 1 MiB. References
    /// must stay within the schema.
    pub fn tool<M, H>(self, info: impl Into<ToolInfo>, handler: H) -> Self
    where
        H: Handler<CallTool, M, S, Output: IntoToolResult>,
    {
        let entry = ToolEntry::new(info.into(), handler, self.state.clone());
        self.insert_tool(entry)
    }

    /// Adds a resource and the function that reads it.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use mcpgen_sdk::Server;
    /// use mcpgen_sdk::types::{Resource, ResourceTemplate};
    ///
    /// let server = Server::builder("notes", "1.0.0")
    ///     .resource(Resource::new("file:///readme", "readme"), || async { "Read me." })
    ///     .resource_template(
    ///         ResourceTemplate::new("note:///{name}", "note"),
    ///         |variables: BTreeMap<String, String>| async move { (variables["name"] == "today").then_some("Buy bread.") },
    ///     )
    ///     .build();
    /// # let _ = server;
    /// ```
    pub fn resource<M, H>(self, resource: Resource, handler: H) -> Self
    where
        H: Handler<ReadResource, M, S, Output: IntoContents>,
    {
        let entry = ResourceEntry::checked(resource, handler, self.state.clone());
        self.insert(entry, |state| &state.resources)
    }

    /// Adds a resource template and the function that reads its resources. The function takes the variables by name, as
    /// a [`BTreeMap`], or as a type, with [`Args`](super::Args).
    ///
    /// The template is an RFC 6570 URI template with the expressions `{name}`, `{+path}` and `{#fragment}`. A resource
    /// with exactly the requested URI takes precedence over templates, and the first matching template over later ones.
    /// If the variables do not match the function's type, the resource does not exist.
    ///
    /// Variables are percent-decoded and come from the client. `{name}` matches one segment, such as `a+b` or `u@h`: it
    /// ends before `/`, `?` or `#`, is not empty, not `.` or `..`, and contains no encoded `/`, `\` or NUL. `{+path}`
    /// and `{#fragment}` can contain anything, so validate them before you use them as file paths.
    ///
    /// A URI with invalid percent-encoding, such as `%zz`, matches no template, and neither does one of more than 64
    /// KiB.
    pub fn resource_template<M, H>(self, template: ResourceTemplate, handler: H) -> Self
    where
        H: Handler<ReadTemplate, M, S, Output: IntoContents>,
    {
        let entry = TemplateEntry::new(template, handler, self.state.clone());
        self.insert(entry, |state| &state.templates)
    }

    /// Adds a prompt and the function that returns its messages.
    ///
    /// If the function takes [`Args<T>`](super::Args), `T` defines the prompt's arguments, in place of those in
    /// `prompt`: names, descriptions, and which are optional. `T` is a struct of text, numbers, booleans and enums
    /// without data. If a request's arguments do not match `T`, the client gets an error, and the function is not
    /// called.
    ///
    /// ```
    /// use mcpgen_sdk::prelude::*;
    /// use mcpgen_sdk::types::Prompt;
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Review {
    ///     /// The programming language.
    ///     language: String,
    ///     /// The maximum number of remarks.
    ///     most: Option<u32>,
    /// }
    ///
    /// let server = Server::builder("reviewer", "1.0.0")
    ///     .prompt(Prompt::new("review"), |Args(Review { language, most })| async move {
    ///         format!("Review this {language} code. Write at most {} remarks.", most.unwrap_or(10))
    ///     })
    ///     .build();
    /// # let _ = server;
    /// ```
    ///
    /// The function can instead take the arguments by name, as a [`BTreeMap`]. It is called only if all required
    /// arguments are present.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use mcpgen_sdk::Server;
    /// use mcpgen_sdk::types::{Prompt, PromptArgument};
    ///
    /// let review = Prompt::new("review").with_arguments([PromptArgument::new("language").with_required(true)]);
    /// let server = Server::builder("reviewer", "1.0.0")
    ///     .prompt(review, |arguments: BTreeMap<String, String>| async move {
    ///         format!("Review this {} code.", arguments["language"])
    ///     })
    ///     .build();
    /// # let _ = server;
    /// ```
    pub fn prompt<M, H>(self, prompt: Prompt, handler: H) -> Self
    where
        H: Handler<GetPrompt, M, S, Output: IntoPrompt>,
    {
        let entry = PromptEntry::new(prompt, handler, self.state.clone());
        self.insert(entry, |state| &state.prompts)
    }

    /// Sets the function that completes arguments of prompts and variables of resource templates. It takes
    /// [`CompleteRequestParams`](mcpgen_types::v2026_07_28::CompleteRequestParams), and returns all matching values,
    /// best first. The client gets the first 100, and how many there are in total.
    pub fn completion<M, H>(mut self, handler: H) -> Self
    where
        H: Handler<Complete, M, S, Output: IntoCompletion>,
    {
        self.setup.state.config.completion = Some(completion(handler, self.state.clone()));
        self
    }

    /// Sets the function that completes one argument of a prompt, instead of the general
    /// [`completion`](Self::completion).
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use mcpgen_sdk::Server;
    /// use mcpgen_sdk::types::{CompleteRequestParams, Prompt, PromptArgument};
    ///
    /// let review = Prompt::new("review").with_arguments([PromptArgument::new("language").with_required(true)]);
    /// let server = Server::builder("reviewer", "1.0.0")
    ///     .prompt(review, |arguments: BTreeMap<String, String>| async move {
    ///         format!("Review this {} code.", arguments["language"])
    ///     })
    ///     .prompt_completion("review", "language", |params: CompleteRequestParams| async move {
    ///         let languages = ["python", "ruby", "rust"].into_iter();
    ///         languages.filter(|it| it.starts_with(&params.argument.value)).map(str::to_owned).collect::<Vec<_>>()
    ///     })
    ///     .build();
    /// # let _ = server;
    /// ```
    ///
    /// The server does not start if it has no such prompt or argument.
    pub fn prompt_completion<M, H>(self, prompt: &str, argument: &str, handler: H) -> Self
    where
        H: Handler<Complete, M, S, Output: IntoCompletion>,
    {
        self.insert_completion((CompletionOf::Prompt(prompt.to_owned()), argument.to_owned()), handler)
    }

    /// Like [`prompt_completion`](Self::prompt_completion), for a variable of a resource template.
    pub fn template_completion<M, H>(self, uri_template: &str, variable: &str, handler: H) -> Self
    where
        H: Handler<Complete, M, S, Output: IntoCompletion>,
    {
        self.insert_completion((CompletionOf::Template(uri_template.to_owned()), variable.to_owned()), handler)
    }

    fn insert_completion<M, H>(mut self, key: CompletionKey, handler: H) -> Self
    where
        H: Handler<Complete, M, S, Output: IntoCompletion>,
    {
        let complete = completion(handler, self.state.clone());
        self.setup.state.config.completions.insert(key, complete);
        self
    }
}

impl<S> ServerBuilder<S> {
    /// Sets the supported revisions, preferred first. Defaults to all.
    pub fn revisions(mut self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.setup.state.config.info.revisions = revisions.into_iter().collect();
        self
    }

    /// Sets the instructions that tell models how to use the server.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.setup.state.config.info.instructions = Some(instructions.into());
        self
    }

    /// Sets the server's display name for people.
    pub fn title(self, title: impl Into<String>) -> Self {
        self.implementation("title", Value::String(title.into()))
    }

    /// Sets the URL of the server's home page or documentation.
    pub fn website(self, url: impl Into<String>) -> Self {
        self.implementation("websiteUrl", Value::String(url.into()))
    }

    /// Sets the server's icons for user interfaces.
    pub fn icons(self, icons: impl IntoIterator<Item = Icon>) -> Self {
        let icons = icons.into_iter().filter_map(|icon| mcpgen_types::to_value(&icon).ok()).collect();
        self.implementation("icons", icons)
    }

    fn implementation(mut self, member: &str, value: Value) -> Self {
        self.setup.state.config.info.implementation.insert(member, value);
        self
    }

    /// Declares capabilities in addition to those that tools, resources and prompts imply. Replaces declared
    /// capabilities of the same name.
    ///
    /// ```
    /// use mcpgen_sdk::Server;
    /// use mcpgen_sdk::types::{ServerCapabilities, ServerCapabilitiesTools};
    ///
    /// // A server whose list of tools never changes.
    /// let tools = ServerCapabilitiesTools::new().with_list_changed(false);
    /// let server = Server::builder("fixed", "1.0.0").capabilities(&ServerCapabilities::new().with_tools(tools)).build();
    /// # let _ = server;
    /// ```
    pub fn capabilities(mut self, capabilities: &ServerCapabilities) -> Self {
        if let Ok(capabilities) = JsonObject::try_from(Json::from(capabilities)) {
            self.setup.state.config.info.capabilities.extend(capabilities);
        }
        self
    }

    /// Declares the `logging` capability, in every revision. Without it,
    /// [`ContextExt::log`](crate::protocol::ContextExt::log) sends nothing, and `logging/setLevel` is an unknown
    /// method.
    ///
    /// Revision 2026-07-28 deprecates the capability: new servers should log to standard error or use OpenTelemetry.
    pub fn logging(self) -> Self {
        self.setup(|setup| setup.declare_capability("logging", JsonObject::new()))
    }

    /// Adds a protocol extension: declares it, and adds its handlers. See [`Extension`].
    pub fn extension(mut self, extension: impl Extension) -> Self {
        self.setup.declare(&extension);
        self.setup.state.config.extensions.push(Box::new(move |router| router.extension(&extension)));
        self
    }

    /// Sets the cache hint for the results of `R`: a list request, `resources/read`, `server/discover`, or a request of
    /// an extension whose results can be cached.
    pub fn cache_hint<R: Request>(mut self, hint: CacheHint) -> Self {
        let hints = &mut self.setup.state.config.cache_hints;
        *hints = std::mem::take(hints).of::<R>(hint);
        self
    }

    /// Lets an extension prepare the server.
    pub fn setup(mut self, prepare: impl FnOnce(&mut ServerSetup)) -> Self {
        prepare(&mut self.setup);
        self
    }

    /// Sets how many entries a list page has. Defaults to 100; at least 1.
    pub fn page_size(mut self, size: usize) -> Self {
        self.setup.state.config.page_size = size.max(1);
        self
    }

    /// Sets whether a request for a list that the server does not declare, because it has no such items, gets an empty
    /// list rather than an error. Defaults to `false`: such a request fails with "method not found".
    ///
    /// Set this for clients that request every list regardless of declared capabilities, and fail on an error.
    pub fn empty_lists(mut self, empty_lists: bool) -> Self {
        self.setup.state.config.empty_lists = empty_lists;
        self
    }

    /// Sets the limits of connections. HTTP endpoints have separate options.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.setup.state.config.limits = limits;
        self
    }

    /// Wraps all request handlers in a middleware layer, for example for authorization (see
    /// [`ContextExt::subject`](crate::protocol::ContextExt::subject)), timeouts or metrics. The last layer added is the
    /// outermost.
    ///
    /// A layer is applied once per connection or HTTP endpoint.
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<Router, Service: RequestService + Sync> + Send + Sync + 'static,
    {
        self.setup.state.config.layers.push(Box::new(move |router| router.layer(&layer)));
        self
    }

    /// Adds handlers for other requests and notifications, such as those of your own schema. They take precedence over
    /// the server's handlers for the same method and revision.
    ///
    /// ```
    /// use mcpgen_sdk::prelude::*;
    /// use serde_json::{Value, json};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let server = Server::builder("library", "1.0.0")
    ///     .handlers(|router| {
    ///         router.custom_request("acme/search", |_context, params: Value| async move {
    ///             Ok::<_, ErrorObject>(json!({ "found": params["text"] }))
    ///         })
    ///     })
    ///     .build();
    /// let client = server.in_process(Client::builder("visitor", "1.0.0")).await?;
    /// let found: Value = client.peer().custom_request("acme/search", &json!({ "text": "maps" }))?.await?;
    /// assert_eq!(found["found"], "maps");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn handlers(mut self, add: impl Fn(Router) -> Router + Send + Sync + 'static) -> Self {
        self.setup.state.config.extensions.push(Box::new(add));
        self
    }

    /// Sets the codec for the request state of multi-round requests.
    ///
    /// Defaults to [`RequestStateCodec::of_this_process`] with a lifetime of 15 minutes, which accepts each state once.
    /// Processes that serve the same requests must share a key, so use [`RequestStateCodec::new`]. Such a codec accepts
    /// a state any number of times until it expires, unless the processes share a store:
    /// [`RequestStateCodec::with_replay_guard`].
    pub fn request_state(mut self, codec: RequestStateCodec) -> Self {
        self.setup.state.config.request_state = Some(Ok(Arc::new(codec)));
        self
    }

    /// Sets a function that identifies the caller of a request, for example by the user name that a middleware layer
    /// has authenticated. Return only authenticated data: clients can forge everything else. Defaults to the name of
    /// the [`Principal`](mcpgen_runtime::transport::Principal); requests without one all count as the same caller.
    ///
    /// Only the caller that started a multi-round request can continue it, and [`change_filter`](Self::change_filter)
    /// decides which changes a caller is notified of.
    pub fn identity(mut self, identity: impl Fn(&Context) -> String + Send + Sync + 'static) -> Self {
        self.setup.state.config.identity = Some(Box::new(identity));
        self
    }

    /// Checks arguments and structured results of all tools against their schemas. `mcpgen-validate` provides a
    /// validator. Invalid arguments are reported to the model, and the tool is not called; an invalid result becomes an
    /// error response. A schema that the validator rejects is an invalid definition.
    pub fn validate(mut self, validator: impl Validator) -> Self {
        self.setup.state.config.validator = Some(Arc::new(validator));
        self
    }

    /// Limits how many tool calls each caller may make in a period. `mcpgen-cluster` has a limiter for one process, and
    /// `mcpgen-redis` one that several processes share.
    ///
    /// A call beyond the limit does not run the tool; its result is an error with the number of seconds to wait. Every
    /// round of a multi-round call counts, even if its request state is rejected. Callers are told apart by
    /// [`identity`](Self::identity) or principal; without either, all calls count as one caller's.
    ///
    /// If the limiter's store is unavailable, calls are refused with an error that asks the client to retry.
    pub fn rate_limiter(mut self, limiter: impl RateLimiter) -> Self {
        self.setup.state.config.rate_limiter = Some(Arc::new(Measured::new(Arc::new(limiter))));
        self
    }

    /// Shares changes with the server's other replicas. Each subscriber is connected to only one replica, which has to
    /// notify it of all changes. See [`replicas`](crate::replicas).
    pub fn change_bus(mut self, bus: impl ChangeBus) -> Self {
        self.setup.state.config.change_bus = Some(BusConnection::new(bus));
        self
    }

    /// Sets which callers may be notified of which changes. The function takes the caller, as determined by
    /// [`identity`](Self::identity) or the principal, and a change. By default, every subscriber is notified.
    ///
    /// The filter applies in every revision, to changes in this process and to those that arrive through a
    /// [`change_bus`](Self::change_bus). The same function decides who may subscribe. Unlike a list of users passed to
    /// each call of [`Server::changed`], it cannot be forgotten.
    ///
    /// * When something changes, the function is called for each matching subscription.
    /// * When a caller subscribes to a resource, the function is called with the resource's URI. `false` makes the
    ///   subscription fail as if the resource did not exist. A subscription to `note:///` covers its parts, such as
    ///   `note:///ann/today`, so it is checked when the caller subscribes and again for each changed part.
    /// * If a modern client may not be notified of a list's changes, the list is missing from the subscription that the
    ///   server acknowledges.
    ///
    /// Only notifications are filtered; the functions of resources must check who may read them. The filter must be
    /// fast, and must not use the server, because subscriptions are locked while it runs. If it panics, the caller is
    /// not notified.
    ///
    /// When a session of a legacy revision moves to another replica, only the name of its
    /// [`Principal`](mcpgen_runtime::transport::Principal) moves along. An `identity` that reads anything else finds
    /// nothing until the client subscribes again. The client also gets one notification for each list, without
    /// the filter, because it may have missed changes.
    ///
    /// ```
    /// use mcpgen_sdk::Server;
    /// use mcpgen_sdk::protocol::change::Change;
    ///
    /// let server = Server::builder("notes", "1.0.0")
    ///     .change_filter(|caller, change| match change {
    ///         Change::Resource(uri) => !caller.is_empty() && uri.starts_with(&format!("note:///{caller}/")),
    ///         _ => true,
    ///     })
    ///     .build();
    /// # let _ = server;
    /// ```
    pub fn change_filter(mut self, filter: impl Fn(&str, &Change) -> bool + Send + Sync + 'static) -> Self {
        self.setup.state.config.change_filter = Some(Arc::new(filter));
        self
    }

    /// Sets the stores that the HTTP endpoints of all replicas share, unless `EndpointOptions::replicas` sets them.
    /// Other transports ignore them.
    pub fn replicas(mut self, replicas: Replicas) -> Self {
        self.setup.state.config.replicas = Some(replicas);
        self
    }

    /// Sets a function that is called for each change in this process.
    ///
    /// To share changes with other processes, use [`change_bus`](Self::change_bus).
    pub fn on_change(mut self, on_change: impl Fn(&Change) + Send + Sync + 'static) -> Self {
        self.setup.state.config.on_change = Some(Box::new(on_change));
        self
    }

    /// Builds the server.
    #[must_use]
    pub fn build(self) -> Server {
        let mut state = self.setup.state;
        let invalid = state.invalid_completions();
        state.config.invalid.extend(invalid);
        if let Some(validator) = state.config.validator.clone() {
            let tools = state.tools.all();
            state.config.invalid.extend(tools.iter().filter_map(|tool| tool.compile(&*validator).err()));
        }
        state
            .config
            .request_state
            .get_or_insert_with(|| RequestStateCodec::of_this_process(REQUEST_STATE_LIFETIME).map(Arc::new));
        Server(Arc::new(state))
    }

    fn insert_tool(self, entry: Result<ToolEntry, DefinitionError>) -> Self {
        let runner = entry.as_ref().ok().and_then(|entry| entry.runner.clone());
        let mut builder = self.insert(entry, |state| &state.tools);
        if let Some(runner) = runner {
            runner.prepare(&mut builder.setup);
        }
        builder
    }

    /// Adds an entry. An error is reported when the server starts.
    pub(super) fn insert<T: Entry>(
        mut self,
        entry: Result<T, DefinitionError>,
        registry: impl Fn(&ServerState) -> &Registry<T>,
    ) -> Self {
        let inserted = entry.and_then(|entry| registry(&self.setup.state).insert(entry));
        self.setup.state.config.invalid.extend(inserted.err());
        self
    }
}

impl<S> fmt::Debug for ServerBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerBuilder").field("setup", &self.setup).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::error::ServeError;
    use crate::server::request_state::RequestStateError;

    #[test]
    fn reports_that_no_key_could_be_created() {
        let mut builder = Server::builder("s", "1");
        builder.setup.state.config.request_state =
            Some(Err(RequestStateError::NoRandomness(getrandom::Error::UNSUPPORTED)));
        let error = builder.build().config().expect_err("no key");
        assert!(matches!(error, ServeError::RequestState(RequestStateError::NoRandomness(_))));
        assert!(error.to_string().contains("ServerBuilder::request_state"), "{error}");
    }
}
