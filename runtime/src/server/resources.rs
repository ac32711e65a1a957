//! Resources and resource templates.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_types::v2026_07_28::{
    BlobResourceContents, CacheScope, ListResourceTemplatesRequest, ListResourceTemplatesResult, ListResourcesRequest,
    ListResourcesResult, ReadResourceRequest, ReadResourceRequestParams, ReadResourceResult, Resource,
    ResourceTemplate, TextOrBlobResourceContents, TextResourceContents,
};
use mcpgen_types::{ErrorObject, JsonObject, RawJson, Value};
use serde_json::json;
use uri_template_ex::UriTemplate;

use super::listeners::listener;
use super::{Asks, Call, DefinitionError, Server, ToolError};
use crate::jsonrpc::errors;
use crate::protocol::change::Change;
use crate::server::pagination::page;
use crate::service::context::Context;
use crate::service::router::{AnyRequest, Router};

/// A resource and the function that reads it.
pub(super) struct Entry {
    resource: Resource,
    read: Read<()>,
}

/// A resource template and the function that reads its resources.
pub(super) struct Template {
    template: ResourceTemplate,
    matches: UriTemplate,
    read: Read<Variables>,
}

/// The percent-decoded variables of a template, by name.
type Variables = BTreeMap<String, String>;
type Contents = Result<Option<Vec<TextOrBlobResourceContents>>, ToolError>;
type Read<A> = Box<dyn Fn(Call, A, RequestedResource) -> BoxFuture<'static, Contents> + Send + Sync>;

/// The resource or template that a URI matches.
enum Found {
    Entry(Arc<Entry>),
    Template(Arc<Template>, Variables),
}

/// The URI and the MIME type of the requested resource.
pub(super) struct RequestedResource {
    uri: String,
    mime_type: Option<String>,
}

/// A type that reading a resource can return: text, bytes, or contents. `None` means that the resource does not exist.
pub trait IntoContents {
    /// Converts into the contents of the resource with this URI. `mime_type` is the declared MIME type of the resource;
    /// text and bytes get it, a list of contents is not changed.
    ///
    /// # Errors
    ///
    /// The resource cannot be read, or reading it asks for input.
    fn into_contents(
        self,
        uri: &str,
        mime_type: Option<&str>,
    ) -> Result<Option<Vec<TextOrBlobResourceContents>>, ToolError>;
}

impl IntoContents for String {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Contents {
        let mut contents = TextResourceContents::new(self, uri);
        contents.mime_type = mime_type.map(str::to_owned);
        Ok(Some(vec![contents.into()]))
    }
}

impl IntoContents for &str {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Contents {
        self.to_owned().into_contents(uri, mime_type)
    }
}

impl IntoContents for Vec<u8> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Contents {
        let mut contents = BlobResourceContents::new(STANDARD.encode(self), uri);
        contents.mime_type = mime_type.map(str::to_owned);
        Ok(Some(vec![contents.into()]))
    }
}

impl IntoContents for Vec<TextOrBlobResourceContents> {
    fn into_contents(self, _: &str, _: Option<&str>) -> Contents {
        Ok(Some(self))
    }
}

impl<T: IntoContents> IntoContents for Option<T> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Contents {
        self.map_or(Ok(None), |contents| contents.into_contents(uri, mime_type))
    }
}

impl<T: IntoContents, E: Into<ToolError>> IntoContents for Result<T, E> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Contents {
        self.map_err(Into::into)?.into_contents(uri, mime_type)
    }
}

impl Server {
    /// Adds a resource and the function that reads it.
    ///
    /// An invalid definition is an error when the server starts; see [`config`](Self::config).
    ///
    /// ```
    /// use mcpgen_runtime::Server;
    /// use mcpgen_types::v2026_07_28::Resource;
    ///
    /// let server = Server::new("notes", "1.0.0")
    ///     .resource(Resource::new("readme", "file:///readme"), |_call| async { "Read me." })
    ///     .resource_template("note", "note:///{name}", |_call, variables| async move {
    ///         (variables["name"] == "today").then_some("Buy bread.")
    ///     });
    /// # let _ = server;
    /// ```
    #[must_use]
    pub fn resource<F, Fut, T>(self, resource: Resource, read: F) -> Self
    where
        F: Fn(Call) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoContents,
    {
        let added = self.add_resource(resource, read);
        self.noted(added)
    }

    /// Like [`resource`](Self::resource), but for a server that may already be serving. Subscribers are notified.
    ///
    /// # Errors
    ///
    /// Another resource has the same URI.
    pub fn add_resource<F, Fut, T>(&self, resource: Resource, read: F) -> Result<(), DefinitionError>
    where
        F: Fn(Call) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoContents,
    {
        let entry = Entry {
            resource,
            read: Box::new(move |call, (), requested| {
                let contents = read(call);
                async move { contents.await.into_contents(&requested.uri, requested.mime_type.as_deref()) }.boxed()
            }),
        };
        let mut things = self.0.things.write();
        if things.resources.iter().any(|known| known.resource.uri == entry.resource.uri) {
            return Err(DefinitionError::Twice { what: "resource", name: entry.resource.uri });
        }
        things.resources.push(Arc::new(entry));
        things.kinds.resources = true;
        drop(things);
        self.changed(&Change::Resources);
        Ok(())
    }

    /// Removes a resource and notifies subscribers. Returns `false` if no resource has this URI.
    pub fn remove_resource(&self, uri: &str) -> bool {
        let mut things = self.0.things.write();
        let before = things.resources.len();
        things.resources.retain(|entry| entry.resource.uri != uri);
        let removed = things.resources.len() < before;
        drop(things);
        if removed {
            self.changed(&Change::Resources);
        }
        removed
    }

    /// Adds a resource template and the function that reads its resources. The function takes the variables by name.
    ///
    /// The template is an RFC 6570 URI template with the expressions `{name}`, `{+path}` and `{#fragment}`. A resource
    /// with exactly the requested URI takes precedence over templates. Of several matching templates, the first one
    /// added is used.
    ///
    /// The variables are percent-decoded and come from the client. `{name}` matches one segment: it is not empty, not
    /// `.` or `..`, and contains no `/`, `\` or NUL. `{+path}` and `{#fragment}` can contain anything. Validate them
    /// before you use them as file paths.
    ///
    /// An invalid definition is an error when the server starts; see [`config`](Self::config).
    #[must_use]
    pub fn resource_template<F, Fut, T>(self, name: &str, uri_template: &str, read: F) -> Self
    where
        F: Fn(Call, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoContents,
    {
        self.resource_template_of(ResourceTemplate::new(name, uri_template), read)
    }

    /// Like [`resource_template`](Self::resource_template), but takes a [`ResourceTemplate`] with all its members.
    #[must_use]
    pub fn resource_template_of<F, Fut, T>(self, template: ResourceTemplate, read: F) -> Self
    where
        F: Fn(Call, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoContents,
    {
        let added = self.insert_template(template, move |call, variables, requested| {
            let contents = read(call, variables);
            async move { contents.await.into_contents(&requested.uri, requested.mime_type.as_deref()) }.boxed()
        });
        self.noted(added)
    }

    fn insert_template(
        &self,
        template: ResourceTemplate,
        read: impl Fn(Call, Variables, RequestedResource) -> BoxFuture<'static, Contents> + Send + Sync + 'static,
    ) -> Result<(), DefinitionError> {
        let wrong = |why: String| DefinitionError::Template { template: template.uri_template.clone(), why };
        if let Some(why) = fault(&template.uri_template) {
            return Err(wrong(why.to_owned()));
        }
        let matches = UriTemplate::new(&template.uri_template).map_err(|error| wrong(error.to_string()))?;
        let mut things = self.0.things.write();
        if things.templates.iter().any(|known| known.template.uri_template == template.uri_template) {
            return Err(DefinitionError::Twice { what: "resource template", name: template.uri_template });
        }
        things.kinds.resources = true;
        things.templates.push(Arc::new(Template { template, matches, read: Box::new(read) }));
        drop(things);
        self.changed(&Change::Resources);
        Ok(())
    }

    async fn read_resource(
        self,
        context: Context,
        params: ReadResourceRequestParams,
    ) -> Result<Asks<ReadResourceResult>, ErrorObject> {
        let (uri, revision) = (params.uri, context.revision());
        let call = self.call(context, || "{}".to_owned());
        let found = {
            let things = self.things();
            let entry = things.resources.iter().find(|entry| entry.resource.uri == uri).map(Arc::clone);
            let templates = if entry.is_none() { things.templates.clone() } else { Vec::new() };
            entry.map(Found::Entry).or_else(|| {
                templates
                    .into_iter()
                    .find_map(|it| variables(&it, &uri).map(|variables| Found::Template(it, variables)))
            })
        };
        let requested =
            |mime_type: &Option<String>| RequestedResource { uri: uri.clone(), mime_type: mime_type.clone() };
        // The lock is released before this, because the function can change the server.
        let read = match found {
            Some(Found::Entry(entry)) => (entry.read)(call, (), requested(&entry.resource.mime_type)),
            Some(Found::Template(it, variables)) => (it.read)(call, variables, requested(&it.template.mime_type)),
            None => return Err(errors::resource_not_found(revision, &uri)),
        };
        match read.await {
            Ok(Some(contents)) => Ok(Asks::Result(ReadResourceResult::new(CacheScope::Private, contents, 0))),
            Ok(None) => Err(errors::resource_not_found(revision, &uri)),
            Err(error) => error.into_answer(),
        }
    }

    /// Handles `resources/subscribe` and `resources/unsubscribe`, which only legacy revisions have.
    fn subscribe(&self, request: &AnyRequest, subscribes: bool) -> Result<RawJson, ErrorObject> {
        if !request.context.revision().is_legacy() || !self.things().kinds.resources {
            return Err(errors::method_not_found(&request.method));
        }
        let params: JsonObject = request.params.as_ref().and_then(|params| params.decode().ok()).unwrap_or_default();
        let Some(uri) = params.get("uri").and_then(Value::as_str) else {
            return Err(errors::invalid_params_in_words("params.uri: expected a string"));
        };
        if uri.len() > LONGEST_URI {
            return Err(errors::invalid_params_in_words("params.uri: expected at most 8 KiB"));
        }
        let mut listeners = self.listeners();
        let listener = listener(&mut listeners, request.context.peer());
        match subscribes {
            true => listener.subscribe(uri).map_err(|_| errors::busy())?,
            false => listener.unsubscribe(uri),
        }
        Ok(RawJson::from(&json!({})))
    }
}

/// The maximum length of a subscribed URI, in bytes. The error message in `Server::subscribe` repeats it.
const LONGEST_URI: usize = 8 << 10;

/// Returns why a template is not supported. The values of all its variables must be recoverable from a URI.
fn fault(template: &str) -> Option<&'static str> {
    let (mut rest, mut names) = (template, Vec::new());
    while let Some(at) = rest.find(['{', '}']) {
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
        names.push(name);
        rest = after;
    }
    None
}

/// Returns the percent-decoded variables of a URI. Returns `None` if the URI does not match the template.
fn variables(it: &Template, uri: &str) -> Option<Variables> {
    let captures = it.matches.captures(uri)?;
    let value = |name: &str| -> Option<String> {
        let value = captures.name(name)?.value().ok()?.into_owned();
        // Percent-encoding must not smuggle further segments into `{name}`.
        let is_segment = it.template.uri_template.contains(&format!("{{{name}}}"));
        let is_one = !value.is_empty() && value != "." && value != ".." && !value.contains(['/', '\\', '\0']);
        (!is_segment || is_one).then_some(value)
    };
    it.matches.var_names().map(|name| Some((name.to_owned(), value(name)?))).collect()
}

pub(super) fn routes(server: &Server, router: Router) -> Router {
    let router = server.answering::<ListResourcesRequest, _, _, _>(router, |server: Server, _, params| async move {
        let things = server.things();
        let (entries, next) = page(&things.resources, params.cursor.as_deref(), things.page)?;
        let resources: Vec<Resource> = entries.iter().map(|entry| entry.resource.clone()).collect();
        let mut result = ListResourcesResult::new(CacheScope::Private, resources, 0);
        result.next_cursor = next;
        Ok(RawJson::from(&result))
    });
    let router =
        server.answering::<ListResourceTemplatesRequest, _, _, _>(router, |server: Server, _, params| async move {
            let things = server.things();
            let (entries, next) = page(&things.templates, params.cursor.as_deref(), things.page)?;
            let templates: Vec<ResourceTemplate> = entries.iter().map(|entry| entry.template.clone()).collect();
            let mut result = ListResourceTemplatesResult::new(CacheScope::Private, templates, 0);
            result.next_cursor = next;
            Ok(RawJson::from(&result))
        });
    let router = server.answering::<ReadResourceRequest, _, _, _>(router, |server: Server, context, params| {
        server.read_resource(context, params)
    });
    [("resources/subscribe", true), ("resources/unsubscribe", false)].into_iter().fold(
        router,
        |router, (method, subscribes)| {
            let server = server.clone();
            router
                .handle(None, method, move |request| std::future::ready(server.subscribe(&request, subscribes)).boxed())
        },
    )
}
