//! The handle to a running server, which changes and describes it.

use std::sync::Arc;

use mcpgen_runtime::context::Context;
use mcpgen_runtime::router::Router;
use mcpgen_runtime::transport::Extensions;
use mcpgen_types::v2026_07_28::{Prompt, Resource, ResourceTemplate};
use serde_json::json;

use super::change_filter::CallerFilter;
use super::error::{DefinitionError, ServeError};
use super::function::Handler;
use super::into_contents::IntoContents;
use super::into_tool_result::IntoToolResult;
use super::listeners;
use super::prompt::{GetPrompt, IntoPrompt};
use super::registry::{Entry, Registry};
use super::resource::ReadResource;
use super::router::router;
use super::state::{Config, PromptEntry, ResourceEntry, Server, TemplateEntry, ToolEntry};
use super::template::ReadTemplate;
use super::tool::{CallTool, ToolInfo};
use super::visibility::{Affected, Viewer};
use crate::protocol::change::Change;
use crate::protocol::config::ServerConfig;
use crate::protocol::context::of_sender;
use crate::protocol::header_params::Header;
use crate::protocol::info::LocalInfo;
use crate::replicas::{BusEvent, Replicas};

impl Server {
    /// Adds a tool and notifies subscribers. See [`ServerBuilder::tool`](super::ServerBuilder::tool). For a handler
    /// with state, use [`with_state`](super::with_state()).
    ///
    /// # Errors
    ///
    /// Fails if the name is invalid or already used, or if a schema is invalid.
    pub fn add_tool<M, H>(&self, info: impl Into<ToolInfo>, handler: H) -> Result<(), DefinitionError>
    where
        H: Handler<CallTool, M, (), Output: IntoToolResult>,
    {
        let entry = ToolEntry::new(info.into(), handler, ())?;
        if let Some(validator) = &self.0.config.validator {
            entry.compile(&**validator)?;
        }
        self.insert(&self.0.tools, entry)
    }

    /// Removes a tool and notifies subscribers. Returns `false` if no tool has this name.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.remove(&self.0.tools, name)
    }

    /// Adds a resource and notifies subscribers. See [`ServerBuilder::resource`](super::ServerBuilder::resource).
    ///
    /// # Errors
    ///
    /// Fails if another resource has the same URI, or if the URI is not valid.
    pub fn add_resource<M, H>(&self, resource: Resource, handler: H) -> Result<(), DefinitionError>
    where
        H: Handler<ReadResource, M, (), Output: IntoContents>,
    {
        self.insert(&self.0.resources, ResourceEntry::checked(resource, handler, ())?)
    }

    /// Removes a resource and notifies subscribers. Returns `false` if no resource has this URI.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.remove(&self.0.resources, uri)
    }

    /// Adds a resource, or replaces the one with the same URI. The URI is not checked, and subscribers are not
    /// notified: call [`changed`](Self::changed) once all resources are set.
    pub fn set_resource<M, H>(&self, resource: Resource, handler: H)
    where
        H: Handler<ReadResource, M, (), Output: IntoContents>,
    {
        self.0.resources.set(ResourceEntry::new(resource, handler, ()));
    }

    /// Removes a resource without notifying subscribers. Returns `false` if no resource has this URI.
    pub fn unset_resource(&self, uri: &str) -> bool {
        self.0.resources.remove(uri).is_some()
    }

    /// Returns whether a resource has exactly this URI. Templates do not count.
    #[must_use]
    pub fn has_resource(&self, uri: &str) -> bool {
        self.0.resources.get(uri).is_some()
    }

    /// Adds a resource template and notifies subscribers. See
    /// [`ServerBuilder::resource_template`](super::ServerBuilder::resource_template).
    ///
    /// # Errors
    ///
    /// Fails if another template has the same URI template, or if the template is invalid or not supported.
    pub fn add_resource_template<M, H>(&self, template: ResourceTemplate, handler: H) -> Result<(), DefinitionError>
    where
        H: Handler<ReadTemplate, M, (), Output: IntoContents>,
    {
        self.insert(&self.0.templates, TemplateEntry::new(template, handler, ())?)
    }

    /// Removes a resource template and notifies subscribers. Returns `false` if there is no such template.
    pub fn remove_resource_template(&self, uri_template: &str) -> bool {
        self.remove(&self.0.templates, uri_template)
    }

    /// Adds a prompt and notifies subscribers. See [`ServerBuilder::prompt`](super::ServerBuilder::prompt).
    ///
    /// # Errors
    ///
    /// Fails if another prompt has the same name.
    pub fn add_prompt<M, H>(&self, prompt: Prompt, handler: H) -> Result<(), DefinitionError>
    where
        H: Handler<GetPrompt, M, (), Output: IntoPrompt>,
    {
        self.insert(&self.0.prompts, PromptEntry::new(prompt, handler, ())?)
    }

    /// Removes a prompt and notifies subscribers. Returns `false` if no prompt has this name.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.remove(&self.0.prompts, name)
    }

    /// Notifies subscribers of a change. Skips those for whom [`change_filter`](super::ServerBuilder::change_filter)
    /// rejects it or, for a resource, from whom [`visible_to`](super::ServerBuilder::visible_to) hides it.
    ///
    /// Adding or removing tools, resources or prompts already notifies those who can see the item. Call this for other
    /// changes, for example to the contents of a resource.
    pub fn changed(&self, change: &Change) {
        self.notify(change, &self.affected(change));
    }

    fn notify(&self, change: &Change, affected: &Affected) {
        if let Some(on_change) = &self.0.config.on_change {
            on_change(change);
        }
        if let Some(connection) = &self.0.config.change_bus {
            connection.publish(change);
        }
        self.notify_here(change, affected);
    }

    /// Notifies this process's subscribers of a change in another process. Unlike [`changed`](Self::changed), it does
    /// not call the function set with [`ServerBuilder::on_change`](super::ServerBuilder::on_change).
    pub fn relay_change(&self, change: &Change) {
        self.notify_here(change, &self.affected(change));
    }

    fn notify_here(&self, change: &Change, affected: &Affected) {
        self.0.subscriptions.notify(change, affected);
        listeners::changed(&mut self.0.listeners.lock(), change, affected);
    }

    /// Returns the items that a change names, if any.
    fn affected(&self, change: &Change) -> Affected {
        match change {
            Change::Resource(uri) if self.0.config.visibility.is_some() => self.0.items_at(uri),
            _ => Affected::default(),
        }
    }

    /// Returns the values that extensions store with the server, by type; see
    /// [`ServerSetup::extensions_mut`](super::ServerSetup::extensions_mut).
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.0.extensions
    }

    /// Returns how many entries a list page has.
    #[must_use]
    pub fn page_size(&self) -> usize {
        self.0.config.page_size
    }

    /// Returns the stores that the HTTP endpoints share with other processes, if any.
    #[must_use]
    pub fn replicas(&self) -> Option<&Replicas> {
        self.0.config.replicas.as_ref()
    }

    /// Returns the arguments of a tool that HTTP clients repeat in headers.
    #[must_use]
    pub fn tool_headers(&self, tool: &str) -> Vec<Header> {
        self.0.tools.get(tool).map_or_else(Vec::new, |entry| entry.headers.clone())
    }

    /// Returns whether the server itself reports a [`HeaderMismatch`](super::HeaderMismatch) attached to a call, as it
    /// does if [`visible_to`](super::ServerBuilder::visible_to) is set.
    #[must_use]
    pub fn reports_header_mismatches(&self) -> bool {
        self.0.config.visibility.is_some()
    }

    /// Starts sharing changes with other processes, if the server has a bus. Transports call this before they serve.
    pub fn connect_to_bus(&self) {
        if let Some(connection) = &self.0.config.change_bus {
            connection.start(Arc::downgrade(&self.0), |state, event| match event {
                BusEvent::Change(change) => Self(state).relay_change(&change),
                BusEvent::Missed => Self(state).relay_missed_changes(),
            });
        }
    }

    fn relay_missed_changes(&self) {
        let affected = |change: &Change| self.affected(change);
        self.0.subscriptions.everything_changed(affected);
        listeners::everything_changed(&mut self.0.listeners.lock(), affected);
    }

    /// Returns the server's configuration: its local info, with the capabilities that it has now, and its cache hints.
    ///
    /// # Errors
    ///
    /// Fails if the server has invalid definitions, or if no key for the request state could be generated.
    pub fn config(&self) -> Result<ServerConfig, ServeError> {
        let Config { invalid, cache_hints, .. } = &self.0.config;
        if !invalid.is_empty() {
            return Err(ServeError::Definition(invalid.clone()));
        }
        if let Some(Err(error)) = &self.0.config.request_state {
            return Err(ServeError::RequestState(*error));
        }
        let result_types = self.0.config.result_types.iter().map(|kind| (*kind).to_owned()).collect();
        let mut cache_hints = cache_hints.clone();
        cache_hints.make_private(&self.0.config.methods_by_caller());
        Ok(ServerConfig { cache_hints, result_types, ..ServerConfig::from(self.local_info()) })
    }

    /// Returns a number that changes whenever [`config`](Self::config) does.
    #[must_use]
    pub fn config_version(&self) -> u64 {
        // Only the declared lists and completions can change while a server runs.
        let lists = [self.0.tools.is_declared(), self.has_resources(), self.0.prompts.is_declared()];
        let declared = lists.into_iter().chain([self.has_completions()]);
        declared.fold(0, |version, is_declared| version << 1 | u64::from(is_declared))
    }

    /// Returns the local info, with the capabilities that the server has now.
    #[must_use]
    pub fn local_info(&self) -> LocalInfo {
        let mut info = self.0.config.info.clone();
        let capabilities = [
            ("tools", self.0.tools.is_declared(), json!({ "listChanged": true })),
            ("resources", self.has_resources(), json!({ "listChanged": true, "subscribe": true })),
            ("prompts", self.0.prompts.is_declared(), json!({ "listChanged": true })),
            ("completions", self.has_completions(), json!({})),
        ];
        for (capability, is_declared, details) in capabilities {
            if is_declared {
                info.capabilities.insert_if_absent(capability, details);
            }
        }
        info
    }

    /// Returns a router with the server's handlers and layers. More handlers can be added to it.
    #[must_use]
    pub fn router(&self) -> Router {
        self.0.subscriptions.offer(&self.local_info());
        router(self)
    }

    pub(super) fn has_completions(&self) -> bool {
        let Config { completion, completions, .. } = &self.0.config;
        let has_options = |prompt: &PromptEntry| {
            let mut arguments = prompt.prompt.arguments.iter().flatten();
            arguments.any(|argument| !prompt.types.options(&argument.name).is_empty())
        };
        completion.is_some() || !completions.is_empty() || self.0.prompts.all().iter().any(|prompt| has_options(prompt))
    }

    pub(super) fn has_resources(&self) -> bool {
        if self.0.templates.is_declared() {
            return true;
        }
        self.0.resources.is_declared()
    }

    pub(super) fn insert<T: Entry + 'static>(&self, registry: &Registry<T>, entry: T) -> Result<(), DefinitionError> {
        let was_declared = registry.is_declared();
        let entry = registry.insert(entry)?;
        if !was_declared {
            self.0.subscriptions.offer(&self.local_info());
        }
        self.notify(&T::CHANGE, &Affected::one(entry));
        Ok(())
    }

    pub(super) fn remove<T: Entry + 'static>(&self, registry: &Registry<T>, key: &str) -> bool {
        let removed = registry.remove(key);
        let is_removed = removed.is_some();
        if let Some(entry) = removed {
            self.notify(&T::CHANGE, &Affected::one(entry));
        }
        is_removed
    }

    /// Returns the name of a request's caller: by default the principal's, or empty without one.
    pub(super) fn caller(&self, context: &Context) -> String {
        match &self.0.config.identity {
            Some(identity) => identity(context),
            None => context.principal().map_or_else(String::new, |principal| principal.name().to_owned()),
        }
    }

    pub(super) fn caller_filter(&self, context: &Context) -> CallerFilter {
        let Config { change_filter, visibility, .. } = &self.0.config;
        CallerFilter::new(
            change_filter.as_ref().map(|filter| (Arc::clone(filter), self.caller(context))),
            visibility.as_ref().map(|visibility| (visibility.clone(), of_sender(context))),
        )
    }

    /// Returns the caller of a request, to check which items it can see.
    pub(super) fn viewer<'a>(&'a self, context: &'a Context) -> Viewer<'a> {
        Viewer::new(self.0.config.visibility.as_ref(), context)
    }
}
