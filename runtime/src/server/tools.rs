//! Tools.

use std::borrow::Cow;
use std::fmt;
use std::future::{Future, ready};
use std::sync::Arc;

use mcpgen_types::codec::Cursor;
use mcpgen_types::v2026_07_28::{
    CacheScope, CallToolRequest, CallToolRequestParams, CallToolResult, ContentBlock, Icon, InputRequiredResult,
    ListToolsRequest, ListToolsResult, TextContent, Tool, ToolAnnotations, ToolInputSchema,
};
use mcpgen_types::{ErrorCode, ErrorObject, JsonObject, RawJson, Request};
use serde::Serialize;

use super::{Asks, Call, DefinitionError, Server, said};
use crate::jsonrpc::errors;
use crate::jsonrpc::json::Picked;
use crate::protocol::change::Change;
use crate::protocol::header_params::{self, Header};
use crate::server::pagination::page;
use crate::service::context::Context;
use crate::service::router::{Answer, AnyRequest, Router};

/// A tool and its function.
pub(super) struct Entry {
    tool: Tool,
    run: Run,
    /// The arguments that HTTP clients also send as headers.
    #[cfg_attr(not(feature = "http-server"), expect(dead_code, reason = "only HTTP has headers"))]
    headers: Vec<Header>,
    #[cfg(feature = "validate")]
    schemas: super::validate::Schemas,
}

type Run = Box<dyn Fn(Arc<Entry>, Call, Arguments) -> Answer + Send + Sync>;

/// The arguments of a call.
enum Arguments {
    Object(JsonObject),
    /// An undecoded object.
    Raw(RawJson),
}

impl Arguments {
    fn none() -> Self {
        Self::Object(JsonObject::new())
    }

    fn object(self) -> Result<JsonObject, ErrorObject> {
        match self {
            Self::Object(object) => Ok(object),
            Self::Raw(arguments) => {
                arguments.decode().map_err(|error| errors::invalid_params(&error.at_key("arguments").at_key("params")))
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Object(object) => mcpgen_types::to_string(object),
            Self::Raw(arguments) => arguments.text().to_owned(),
        }
    }
}

/// The description of a tool without its schemas. Converts from a name, or from a [`Tool`], whose schemas are replaced
/// with the schemas of the function's types.
#[derive(Clone, Debug)]
pub struct ToolInfo(Tool);

impl ToolInfo {
    /// Creates the description of a tool with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(Tool::new(ToolInputSchema::new(), name))
    }

    /// Sets the name that is displayed to users.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.0.title = Some(title.into());
        self
    }

    /// Sets the description for models. The default is the doc comment of the arguments' type.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.0.description = Some(description.into());
        self
    }

    /// Sets hints about the tool's behavior, such as whether it is read-only or destructive.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.0.annotations = Some(annotations);
        self
    }

    /// Sets the icons.
    #[must_use]
    pub fn icons(mut self, icons: impl Into<Vec<Icon>>) -> Self {
        self.0.icons = Some(icons.into());
        self
    }
}

impl From<&str> for ToolInfo {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for ToolInfo {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

impl From<Tool> for ToolInfo {
    fn from(tool: Tool) -> Self {
        Self(tool)
    }
}

/// The error type of tools.
///
/// Every error type converts into it. The messages of the error and its sources are reported in the result, with
/// `is_error` set, so that the model can correct its call. An [`ErrorObject`] becomes the error response to the request
/// instead.
#[derive(Debug)]
pub struct ToolError(Failure);

#[derive(Debug)]
enum Failure {
    /// A failed result, for the model.
    Told(String),
    /// An error response, for the client.
    Refused(ErrorObject),
    /// A request for input from the client.
    Asks(Box<InputRequiredResult>),
}

impl ToolError {
    /// Creates a failure that is reported to the model, with this message.
    pub fn failed(why: impl Into<String>) -> Self {
        Self(Failure::Told(why.into()))
    }

    /// Asks the client for input. The client then sends the request again (2026-07-28).
    #[must_use]
    pub fn asks(asks: InputRequiredResult) -> Self {
        Self(Failure::Asks(Box::new(asks)))
    }

    /// Converts the error of a handler other than a tool. Its result cannot report a failure, so that a failure becomes
    /// an error response.
    pub(super) fn into_answer<T>(self) -> Result<Asks<T>, ErrorObject> {
        match self.0 {
            Failure::Told(why) => Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, why)),
            Failure::Refused(error) => Err(error),
            Failure::Asks(asks) => Ok(Asks::Input(asks)),
        }
    }
}

impl<E: std::error::Error + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        match (&error as &dyn std::any::Any).downcast_ref::<ErrorObject>() {
            Some(refused) => Self(Failure::Refused(refused.clone())),
            None => Self(Failure::Told(with_sources(&error))),
        }
    }
}

fn with_sources(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        // Some errors include the message of their source.
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        source = error.source();
    }
    words
}

/// A type that a tool can return.
pub trait IntoToolResult {
    /// Converts into the result of the call.
    ///
    /// # Errors
    ///
    /// The tool failed, asks for input, or its value cannot be serialized as JSON.
    fn into_tool_result(self) -> Result<CallToolResult, ToolError>;

    /// Returns the JSON Schema of the structured content. Returns `None` if not every result has structured content.
    #[must_use]
    fn output_schema() -> Option<JsonObject>
    where
        Self: Sized,
    {
        None
    }
}

impl IntoToolResult for CallToolResult {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(self)
    }
}

impl IntoToolResult for Vec<ContentBlock> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::new(self))
    }
}

impl IntoToolResult for ContentBlock {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        vec![self].into_tool_result()
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Vec::<ContentBlock>::new().into_tool_result()
    }
}

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::new(vec![TextContent::new(text).into()])
}

macro_rules! as_text {
    ($($type:ty),*) => {$(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
                Ok(text(self.to_string()))
            }
        }
    )*};
}

as_text!(&str, bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64, char);

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(text(self))
    }
}

impl<T: IntoToolResult, E: Into<ToolError>> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        self.map_err(Into::into)?.into_tool_result()
    }

    fn output_schema() -> Option<JsonObject> {
        T::output_schema()
    }
}

/// Structured content. The result also contains it as JSON text, for clients that do not support structured content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structured<T>(pub T);

fn structured<T: Serialize>(value: &T) -> Result<CallToolResult, ToolError> {
    let value = serde_json::to_value(value)?;
    let mut result = text(value.to_string());
    result.structured_content = Some(value);
    Ok(result)
}

#[cfg(not(feature = "schemars"))]
impl<T: Serialize> IntoToolResult for Structured<T> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        structured(&self.0)
    }
}

#[cfg(feature = "schemars")]
impl<T: Serialize + schemars::JsonSchema> IntoToolResult for Structured<T> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        structured(&self.0)
    }

    fn output_schema() -> Option<JsonObject> {
        Some(schema_of::<T>(schemars::generate::SchemaSettings::draft2020_12().for_serialize()))
    }
}

/// Returns the schema of a type, without the type's Rust name.
#[cfg(feature = "schemars")]
fn schema_of<T: schemars::JsonSchema>(settings: schemars::generate::SchemaSettings) -> JsonObject {
    match settings.into_generator().into_root_schema_for::<T>().to_value() {
        serde_json::Value::Object(mut schema) => {
            schema.remove("title");
            schema
        }
        // `true` or `false`.
        value => JsonObject::from_iter([("const".to_owned(), value)]),
    }
}

impl Server {
    /// Adds a tool whose arguments are a Rust type. The type also defines the tool's `inputSchema`.
    ///
    /// If a call's arguments do not match the type, the error is reported to the model and the function is not called.
    /// The function can return text, a number, content, [`Structured`] content, or a `Result` of any of these.
    ///
    /// An invalid definition is an error when the server starts; see [`config`](Self::config).
    ///
    /// ```
    /// use mcpgen_runtime::Server;
    /// use mcpgen_runtime::server::ToolError;
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
    /// let server = Server::new("calculator", "1.0.0").tool("add", |_call, Add { a, b }: Add| async move {
    ///     a.checked_add(b).ok_or(ToolError::failed("the sum is too large"))
    /// });
    /// # let _ = server;
    /// ```
    #[cfg(feature = "schemars")]
    #[must_use]
    pub fn tool<A, F, Fut, T>(self, info: impl Into<ToolInfo>, function: F) -> Self
    where
        A: serde::de::DeserializeOwned + schemars::JsonSchema + Send,
        F: Fn(Call, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoToolResult,
    {
        let added = self.add_tool(info, function);
        self.noted(added)
    }

    /// Like [`tool`](Self::tool), but for a server that may already be serving. Subscribers are notified.
    ///
    /// # Errors
    ///
    /// The name is invalid or already used, or a schema is invalid.
    #[cfg(feature = "schemars")]
    pub fn add_tool<A, F, Fut, T>(&self, info: impl Into<ToolInfo>, function: F) -> Result<(), DefinitionError>
    where
        A: serde::de::DeserializeOwned + schemars::JsonSchema + Send,
        F: Fn(Call, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoToolResult,
    {
        let ToolInfo(mut tool) = info.into();
        let mut schema = schema_of::<A>(schemars::generate::SchemaSettings::draft2020_12());
        let said = schema.remove("description").and_then(|said| said.as_str().map(str::to_owned));
        tool.description = tool.description.or(said);
        // The schemas of an enum of objects and of `()` do not have the type "object".
        match schema.get("type").and_then(serde_json::Value::as_str) {
            None if schema.contains_key("oneOf") || schema.contains_key("anyOf") => {
                schema.insert("type".to_owned(), "object".into());
            }
            Some("null") => {
                schema.insert("type".to_owned(), "object".into());
                schema.insert("additionalProperties".to_owned(), false.into());
            }
            _ => {}
        }
        tool.input_schema = schema_as(&tool.name, "inputSchema", schema)?;
        tool.output_schema = None;
        if let Some(schema) = T::output_schema() {
            tool.output_schema = Some(schema_as(&tool.name, "outputSchema", schema)?);
        }
        self.insert_tool(tool, run(|tool, arguments| fit::<A>(tool, arguments), function))
    }

    /// Adds a tool with hand-written schemas. The function takes the arguments as a JSON object.
    ///
    /// With the feature `validate`, arguments and structured results are checked against the schemas. Checks are
    /// bounded: a check that takes longer than a few milliseconds continues on a blocking thread for at most 2 seconds,
    /// and then the call fails. Adding a schema fails if it has more than 20,000 subschemas or 250 patterns, if more
    /// than 10,000 subschemas apply to one value with references expanded, or if a pattern uses look-around or
    /// backreferences or compiles to more than 1 MiB. References must stay within the schema.
    ///
    /// An invalid definition is an error when the server starts; see [`config`](Self::config).
    #[must_use]
    pub fn tool_with_schema<F, Fut, T>(self, tool: Tool, function: F) -> Self
    where
        F: Fn(Call, JsonObject) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoToolResult,
    {
        let added = self.add_tool_with_schema(tool, function);
        self.noted(added)
    }

    /// Like [`tool_with_schema`](Self::tool_with_schema), but for a server that may already be serving. Subscribers are
    /// notified.
    ///
    /// # Errors
    ///
    /// The name is invalid or already used, or a schema is invalid.
    pub fn add_tool_with_schema<F, Fut, T>(&self, tool: Tool, function: F) -> Result<(), DefinitionError>
    where
        F: Fn(Call, JsonObject) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = T> + Send + 'static,
        T: IntoToolResult,
    {
        self.insert_tool(tool, run(|_, arguments| Ok(arguments.object()?), function))
    }

    /// Removes a tool and notifies subscribers. Returns `false` if no tool has this name.
    pub fn remove_tool(&self, name: &str) -> bool {
        let mut things = self.0.things.write();
        let before = things.tools.len();
        things.tools.retain(|entry| entry.tool.name != name);
        let removed = things.tools.len() < before;
        drop(things);
        if removed {
            self.changed(&Change::Tools);
        }
        removed
    }

    /// Returns the headers of a tool's arguments. Returns no headers if no tool has this name.
    #[cfg(feature = "http-server")]
    pub(super) fn headers_of(&self, tool: &str) -> Vec<Header> {
        let things = self.things();
        let entry = things.tools.iter().find(|entry| entry.tool.name == tool);
        entry.map_or_else(Vec::new, |entry| entry.headers.clone())
    }

    fn insert_tool(&self, tool: Tool, run: Run) -> Result<(), DefinitionError> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if !(1..=128).contains(&tool.name.len()) || !tool.name.bytes().all(is_allowed) {
            return Err(DefinitionError::Name(tool.name));
        }
        let schema = mcpgen_types::to_value(&tool.input_schema).unwrap_or_default();
        let headers = match schema.as_object().map_or(Ok(Vec::new()), header_params::headers) {
            Ok(headers) => headers,
            Err(why) => return Err(DefinitionError::Header { name: tool.name, why }),
        };
        let entry = Entry {
            headers,
            #[cfg(feature = "validate")]
            schemas: super::validate::Schemas::of(&tool)?,
            run,
            tool,
        };
        let mut things = self.0.things.write();
        if things.tools.iter().any(|known| known.tool.name == entry.tool.name) {
            return Err(DefinitionError::Twice { what: "tool", name: entry.tool.name });
        }
        things.tools.push(Arc::new(entry));
        things.kinds.tools = true;
        drop(things);
        self.changed(&Change::Tools);
        Ok(())
    }

    fn call_tool(&self, request: AnyRequest) -> Result<Answer, ErrorObject> {
        if !self.things().kinds.tools {
            return Err(errors::method_not_found(&request.method));
        }
        let context = request.context.clone();
        let (entry, arguments) = self.called(request)?;
        let call = self.call(context, || arguments.text());
        #[cfg(feature = "rate-limit")]
        if let Some(wait) = self.rate_limited(&call) {
            let seconds = wait.as_millis().div_ceil(1000).max(1);
            let refusal = ToolError::failed(format!("rate limit exceeded; try again in {seconds} s"));
            return Ok(Box::pin(ready(entry.answer(&call, Err(refusal)))));
        }
        Ok(entry.start(call, arguments))
    }

    /// Returns the tool that a request calls, and its arguments.
    fn called(&self, mut request: AnyRequest) -> Result<(Arc<Entry>, Arguments), ErrorObject> {
        if let Some(params) = request.params.take() {
            let found = params.into_part(|params| match short(params, &request.context) {
                Some((name, arguments)) => (Some(self.tool_of(&name)), arguments.map(Cursor::place)),
                None => (None, Some(params.place())),
            });
            match found.map_err(|error| errors::invalid_params(&error.at_key("params")))? {
                (Some(entry), arguments) => {
                    return Ok((entry?, arguments.map_or_else(Arguments::none, Arguments::Raw)));
                }
                (None, params) => request.params = params,
            }
        }
        let CallToolRequestParams { name, arguments, .. } = super::params::<CallToolRequest>(request)?;
        Ok((self.tool_of(&name)?, arguments.map_or_else(Arguments::none, Arguments::Object)))
    }

    fn tool_of(&self, name: &str) -> Result<Arc<Entry>, ErrorObject> {
        self.things().tools.iter().find(|entry| entry.tool.name == name).cloned().ok_or_else(|| {
            let shown: String = name.chars().take(128).collect();
            ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("unknown tool {shown:?}"))
        })
    }
}

/// Returns the name and the arguments of a call whose params have no other members except `_meta`, as most do. Returns
/// `None` for all other params, valid or not. They have to be decoded completely.
fn short<'p>(params: Cursor<'p>, context: &Context) -> Option<(Cow<'p, str>, Option<Cursor<'p>>)> {
    let picked = Picked::from(params, &["name", "arguments", "_meta"]).ok()?;
    let [name, arguments, meta] = picked.values;
    // In modern revisions, `_meta` is required. If peer info is available, `_meta` was already checked.
    let said = match context.revision().is_legacy() {
        true => meta.is_none(),
        false => meta.is_some() && context.peer_info().is_some(),
    };
    let is_object = arguments.is_none_or(Cursor::is_object);
    if !said || !is_object || picked.others || picked.twice.is_some() {
        return None;
    }
    Some((name?.as_str()?, arguments))
}

impl Entry {
    /// Checks the arguments against the tool's schema, and runs its function.
    #[cfg(feature = "validate")]
    fn start(self: Arc<Self>, call: Call, arguments: Arguments) -> Answer {
        Box::pin(async move {
            let arguments = match arguments.object() {
                Ok(arguments) => self.schemas.check_input(&self.tool.name, arguments).await,
                Err(error) => Err(error.into()),
            };
            match arguments {
                Ok(arguments) => (self.run)(Arc::clone(&self), call, Arguments::Object(arguments)).await,
                Err(error) => self.answer(&call, Err(error)),
            }
        })
    }

    /// Runs the tool's function.
    #[cfg(not(feature = "validate"))]
    fn start(self: Arc<Self>, call: Call, arguments: Arguments) -> Answer {
        (self.run)(Arc::clone(&self), call, arguments)
    }

    /// Encodes the function's result or error as the result of the call. Returns an error for an error response.
    fn answer(&self, context: &Context, result: Result<CallToolResult, ToolError>) -> Result<RawJson, ErrorObject> {
        let answer = match result {
            Ok(result) => Asks::Result(result),
            Err(ToolError(Failure::Told(why))) => Asks::Result(text(why).with_is_error(true)),
            Err(error) => error.into_answer()?,
        };
        said(context, &answer)
    }
}

/// Wraps a tool's function. `fit` converts the arguments; if it fails, the function is not called.
fn run<A, F, Fut, T>(fit: impl Fn(&str, Arguments) -> Result<A, ToolError> + Send + Sync + 'static, function: F) -> Run
where
    F: Fn(Call, A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = T> + Send + 'static,
    T: IntoToolResult,
{
    Box::new(move |entry, call, arguments| {
        let context = Context::clone(&call);
        match fit(&entry.tool.name, arguments) {
            Ok(arguments) => {
                let result = function(call, arguments);
                Box::pin(async move {
                    let result = result.await.into_tool_result();
                    #[cfg(feature = "validate")]
                    let result = match result {
                        Ok(result) => entry.schemas.check_output(&entry.tool.name, result).await,
                        error => error,
                    };
                    entry.answer(&context, result)
                })
            }
            Err(error) => Box::pin(ready(entry.answer(&context, Err(error)))),
        }
    })
}

/// Deserializes arguments. The error is for the model.
#[cfg(feature = "schemars")]
fn fit<A: serde::de::DeserializeOwned>(tool: &str, arguments: Arguments) -> Result<A, ToolError> {
    let arguments = match arguments {
        Arguments::Raw(arguments) => arguments,
        Arguments::Object(arguments) => RawJson::from(&arguments),
    };
    arguments.deserialize().or_else(|error| {
        // For types such as `()`, an empty object counts as no arguments.
        let is_empty = arguments.read(|json| json.members().is_ok_and(|mut members| members.next().is_none()));
        if let (Ok(true), Ok(nothing)) = (is_empty, crate::jsonrpc::json::decode(None)) {
            return Ok(nothing);
        }
        let at = if error.path().is_empty() { "" } else { "argument " };
        Err(ToolError::failed(format!(
            "invalid arguments for {tool}: {at}{error}. Correct them and call the tool again."
        )))
    })
}

/// Converts a schema to the type of a [`Tool`]'s field. An `inputSchema` must have the type `object`.
#[cfg(feature = "schemars")]
fn schema_as<T: mcpgen_types::codec::Decode>(
    tool: &str,
    which: &'static str,
    schema: JsonObject,
) -> Result<T, DefinitionError> {
    let found = schema.get("type").cloned();
    if which == "inputSchema" && found.as_ref().is_none_or(|kind| kind != "object") {
        let found = found.map_or_else(|| "no type".to_owned(), |kind| kind.to_string());
        return Err(DefinitionError::NotAnObject { name: tool.to_owned(), schema: which, found });
    }
    let decoded = mcpgen_types::from_value(serde_json::Value::Object(schema));
    decoded.map_err(|error| DefinitionError::Schema { name: tool.to_owned(), schema: which, why: error.to_string() })
}

pub(super) fn routes(server: &Server, router: Router) -> Router {
    let router = server.answering::<ListToolsRequest, _, _, _>(router, |server: Server, _, params| async move {
        let things = server.things();
        let tools: Vec<&Tool> = things.tools.iter().map(|entry| &entry.tool).collect();
        let (tools, next) = page(&tools, params.cursor.as_deref(), things.page)?;
        let mut result =
            ListToolsResult::new(CacheScope::Private, tools.iter().copied().cloned().collect::<Vec<_>>(), 0);
        result.next_cursor = next;
        Ok(RawJson::from(&result))
    });
    let this = server.clone();
    router.handle(None, CallToolRequest::METHOD, move |request| {
        this.call_tool(request).unwrap_or_else(|error| Box::pin(ready(Err(error))))
    })
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("tool", &self.tool.name).finish_non_exhaustive()
    }
}
