//! Adds and removes tools, resources and prompts while a server serves.

use std::collections::BTreeMap;
use std::future::Future;

use mcpgen_types::JsonObject;
use mcpgen_types::v2026_07_28::{Prompt, Resource};

use super::error::DefinitionError;
use super::into_contents::IntoContents;
use super::into_tool_result::IntoToolResult;
use super::prompt::IntoPrompt;
use super::state::{PromptEntry, RequestContext, ResourceEntry, Server, TemplateEntry, ToolEntry};
use super::tool::ToolInfo;

impl Server {
    /// Adds a tool and notifies subscribers. See [`ServerBuilder::tool`](super::ServerBuilder::tool).
    ///
    /// # Errors
    ///
    /// Fails if the name is invalid or already used, or if a schema is invalid.
    pub fn add_tool<A, F, Fut, T>(&self, info: impl Into<ToolInfo>, function: F) -> Result<(), DefinitionError>
    where
        A: serde::de::DeserializeOwned + schemars::JsonSchema + Send,
        F: Fn(RequestContext, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoToolResult,
    {
        self.insert_tool(ToolEntry::typed(info.into(), function)?)
    }

    /// Adds a tool and notifies subscribers. See
    /// [`ServerBuilder::tool_with_schema`](super::ServerBuilder::tool_with_schema).
    ///
    /// # Errors
    ///
    /// Fails if the name is invalid or already used, or if a schema is invalid.
    pub fn add_tool_with_schema<F, Fut, T>(&self, tool: impl Into<ToolInfo>, function: F) -> Result<(), DefinitionError>
    where
        F: Fn(RequestContext, JsonObject) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoToolResult,
    {
        self.insert_tool(ToolEntry::with_schema(tool.into(), function)?)
    }

    fn insert_tool(&self, entry: ToolEntry) -> Result<(), DefinitionError> {
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
    /// Fails if another resource has the same URI.
    pub fn add_resource<F, Fut, T>(&self, resource: Resource, read: F) -> Result<(), DefinitionError>
    where
        F: Fn(RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoContents,
    {
        self.insert(&self.0.resources, ResourceEntry::new(resource, read))
    }

    /// Removes a resource and notifies subscribers. Returns `false` if no resource has this URI.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.remove(&self.0.resources, uri)
    }

    /// Adds a resource, or replaces the one with the same URI. Subscribers are not notified: call
    /// [`changed`](Self::changed) once all resources are set.
    pub fn set_resource<F, Fut, T>(&self, resource: Resource, read: F)
    where
        F: Fn(RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoContents,
    {
        self.0.resources.set(ResourceEntry::new(resource, read));
    }

    /// Removes a resource without notifying subscribers. Returns `false` if no resource has this URI.
    pub fn unset_resource(&self, uri: &str) -> bool {
        self.0.resources.remove(uri)
    }

    /// Returns whether a resource has this URI. Those that match a template do not count.
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
    pub fn add_resource_template<F, Fut, T>(
        &self,
        template: mcpgen_types::v2026_07_28::ResourceTemplate,
        read: F,
    ) -> Result<(), DefinitionError>
    where
        F: Fn(RequestContext, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoContents,
    {
        self.insert(&self.0.templates, TemplateEntry::new(template, read)?)
    }

    /// Removes a resource template and notifies subscribers. Returns `false` if no resource template has this URI
    /// template.
    pub fn remove_resource_template(&self, uri_template: &str) -> bool {
        self.remove(&self.0.templates, uri_template)
    }

    /// Adds a prompt and notifies subscribers. See [`ServerBuilder::prompt`](super::ServerBuilder::prompt).
    ///
    /// # Errors
    ///
    /// Fails if another prompt has the same name.
    pub fn add_prompt<F, Fut, T>(&self, prompt: Prompt, function: F) -> Result<(), DefinitionError>
    where
        F: Fn(RequestContext, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoPrompt,
    {
        self.insert(&self.0.prompts, PromptEntry::new(prompt, function))
    }

    /// Removes a prompt and notifies subscribers. Returns `false` if no prompt has this name.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.remove(&self.0.prompts, name)
    }
}
