//! Tools and their functions.

use std::future::ready;
use std::sync::{Arc, OnceLock};

use mcpgen_runtime::context::Context;
use mcpgen_runtime::router::ResponseFuture;
use mcpgen_runtime::transport::DecodedMemory;
use mcpgen_runtime::util::error_chain;
use mcpgen_types::v2026_07_28::{CallToolResult, Icon, Tool, ToolAnnotations, ToolInputSchema};
use mcpgen_types::{ErrorObject, Json, JsonObject, JsonRef};
use tower::BoxError;

use super::arguments::Arguments;
use super::error::DefinitionError;
use super::extract::{ARGUMENTS, Args, Call, FromCall, HasRequestContext, Sealed};
use super::function::Handler;
use super::into_tool_result::{IntoToolResult, text};
use super::json_terms::in_json_terms;
use super::registry::Entry;
use super::state::{RequestContext, ToolEntry, ToolRunner};
use super::tool_error::{Failure, ToolError};
use super::tool_schemas::Schemas;
use super::visibility::{Item, Visible};
use super::{conversion, schema};
use crate::protocol::change::Change;
use crate::protocol::header_params;
use crate::validation::Validator;

type Run = Box<dyn Fn(Arc<ToolEntry>, RequestContext, Arguments) -> ResponseFuture + Send + Sync>;

impl ToolEntry {
    /// Creates an entry. The function's types define the schemas that `info` lacks.
    pub(super) fn new<M, S, H>(mut info: ToolInfo, handler: H, state: S) -> Result<Self, DefinitionError>
    where
        H: Handler<CallTool, M, S, Output: IntoToolResult>,
        S: Send + Sync + 'static,
    {
        H::define(&mut info)?;
        if !info.takes_arguments && !info.has_input_schema() {
            info.set_keyword("additionalProperties", false);
        }
        if let (None, Some(schema)) = (&info.tool.output_schema, H::Output::output_schema()) {
            info.tool.output_schema = Some(schema::decode(&info.tool.name, "outputSchema", &schema)?);
        }
        Self::checked(info, run(handler, state))
    }

    fn checked(info: ToolInfo, run: Run) -> Result<Self, DefinitionError> {
        if let Some(problem) = info.problem {
            return Err(problem);
        }
        let mut tool = info.tool;
        // Some clients and models require `properties`, although the specification does not.
        if !tool.input_schema.get().contains_key("properties") {
            let with_properties = tool.input_schema.clone().with_member("properties", JsonObject::new());
            tool.input_schema = with_properties.unwrap_or(tool.input_schema);
        }
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if !(1..=128).contains(&tool.name.len()) || !tool.name.bytes().all(is_allowed) {
            return Err(DefinitionError::InvalidName(tool.name));
        }
        let headers = match tool.input_schema.get().read(header_params::headers) {
            Ok(Ok(headers)) => headers,
            Ok(Err(source)) => return Err(DefinitionError::Header { name: tool.name, source }),
            Err(error) => {
                let source = Arc::new(error);
                return Err(DefinitionError::Schema { name: tool.name, schema: "inputSchema", source });
            }
        };
        let argument_names = argument_names(tool.input_schema.get());
        Ok(Self { argument_names, headers, schemas: OnceLock::new(), run, runner: info.runner, tool })
    }
}

/// Returns all argument names. Empty if the schema may allow others, by pattern or in a subschema.
fn argument_names(schema: &Json) -> Vec<String> {
    let elsewhere = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties"];
    let has_others = schema.get("additionalProperties").is_some_and(|others| others.as_bool() != Some(false));
    if has_others || elsewhere.iter().any(|keyword| schema.get(keyword).is_some()) {
        return Vec::new();
    }
    let properties = schema.get("properties");
    let names = properties.iter().flat_map(|properties| properties.members());
    names.map(|(name, _)| name.into_owned()).collect()
}

impl Visible for ToolEntry {
    fn item(&self) -> Item<'_> {
        Item::Tool(&self.tool)
    }
}

impl Entry for ToolEntry {
    const KIND: &'static str = "tool";
    const CHANGE: Change = Change::Tools;
    type Listed = Tool;

    fn key(&self) -> &str {
        &self.tool.name
    }

    fn listed(&self, context: &Context) -> Tool {
        let mut tool = self.tool.clone();
        if let Some(runner) = &self.runner {
            runner.list(context, &mut tool);
        }
        tool
    }

    fn item_of(listed: &Tool) -> Item<'_> {
        Item::Tool(listed)
    }
}

impl ToolEntry {
    /// Compiles the schemas. From then on, arguments and results are checked.
    pub(super) fn compile(&self, validator: &dyn Validator) -> Result<(), DefinitionError> {
        let schemas = Schemas::of(&self.tool, validator)?;
        let _ = self.schemas.set(schemas);
        Ok(())
    }

    pub(super) fn start(self: Arc<Self>, context: RequestContext, arguments: Arguments) -> ResponseFuture {
        if self.schemas.get().is_none() {
            return (self.run)(Arc::clone(&self), context, arguments);
        }
        Box::pin(async move {
            let arguments = match (arguments.object(), self.schemas.get()) {
                (Ok(valid), Some(schemas)) => {
                    let invalid = |why: &str| self.invalid_arguments(&arguments, why).into();
                    schemas.check_input(&self.tool.name, &valid, invalid).await.map(|()| arguments)
                }
                (Ok(_), None) => Ok(arguments),
                (Err(error), _) => Err(error.into()),
            };
            match arguments {
                Ok(arguments) => (self.run)(Arc::clone(&self), context, arguments).await,
                Err(error) => self.encode(&context.context, Err(error)),
            }
        })
    }

    /// Returns the message for a model that sent invalid arguments.
    fn invalid_arguments(&self, arguments: &Arguments, why: &str) -> String {
        let remarks = arguments.misspelt(&self.argument_names);
        let remarks = if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) };
        let name = &self.tool.name;
        format!("invalid arguments for {name}: {why}{remarks}. Correct them and call the tool again.")
    }

    /// Encodes the function's result or error as the call's result. `Err` is an error response.
    pub(super) fn encode(
        &self,
        context: &Context,
        result: Result<CallToolResult, ToolError>,
    ) -> Result<Json, ErrorObject> {
        match result {
            Ok(result) => conversion::encode_typed(context, &result),
            Err(ToolError(Failure::Failed(error))) => {
                conversion::encode_typed(context, &text(error_chain(&*error)).with_is_error(true))
            }
            Err(ToolError(Failure::Response(error))) => Err(error),
            Err(ToolError(Failure::InputRequired(result))) => conversion::encode(context, &*result),
        }
    }
}

/// A tool call, from which the function takes its arguments.
#[derive(Debug)]
pub struct CallTool {
    entry: Arc<ToolEntry>,
    context: Context,
    arguments: Arguments,
    request_context: Option<RequestContext>,
    /// Memory reserved for the decoded arguments.
    memory: Option<DecodedMemory>,
}

impl Sealed for CallTool {}

impl Call for CallTool {
    type Definition = ToolInfo;

    fn context(&self) -> &Context {
        &self.context
    }
}

impl HasRequestContext for CallTool {
    fn take_request_context(&mut self) -> Option<RequestContext> {
        let context = self.request_context.take()?;
        Some(context.with_arguments(std::mem::take(&mut self.arguments)))
    }
}

impl<S, A: serde::de::DeserializeOwned + schemars::JsonSchema> FromCall<CallTool, S> for Args<A> {
    const TAKES: u8 = ARGUMENTS;

    fn define(info: &mut ToolInfo) -> Result<(), DefinitionError> {
        info.takes_arguments = true;
        let has_schema = info.has_input_schema();
        let tool = &mut info.tool;
        let (input_schema, description) = schema::input_schema::<A>(&tool.name)?;
        tool.description = tool.description.take().or(description);
        if !has_schema {
            tool.input_schema = input_schema;
        }
        Ok(())
    }

    fn from_call(call: &mut CallTool, _: &S) -> Result<Self, BoxError> {
        let (arguments, memory) = decode_arguments(&call.context, &call.entry, &call.arguments)?;
        call.memory = memory;
        Ok(Self(arguments))
    }
}

impl<S> FromCall<CallTool, S> for JsonObject {
    const TAKES: u8 = ARGUMENTS;

    fn define(info: &mut ToolInfo) -> Result<(), DefinitionError> {
        info.takes_arguments = true;
        Ok(())
    }

    fn from_call(call: &mut CallTool, _: &S) -> Result<Self, BoxError> {
        Ok(call.arguments.object()?)
    }
}

fn run<M, S, H>(handler: H, state: S) -> Run
where
    H: Handler<CallTool, M, S, Output: IntoToolResult>,
    S: Send + Sync + 'static,
{
    Box::new(move |entry, request_context, arguments| {
        let context = request_context.context.clone();
        let request_context = Some(request_context);
        let mut call = CallTool { entry, context, arguments, request_context, memory: None };
        let result = handler.call(&mut call, &state);
        let CallTool { entry, context, memory, .. } = call;
        match result {
            Ok(result) => Box::pin(async move {
                let _memory = memory;
                let result = result.await.into_tool_result();
                let Some(schemas) = entry.schemas.get() else { return entry.encode(&context, result) };
                let result = match result {
                    // Boxed to keep calls small on servers that do not validate.
                    Ok(result) => Box::pin(schemas.check_output(&entry.tool.name, result)).await,
                    Err(error) => Err(error),
                };
                entry.encode(&context, result)
            }),
            Err(error) => Box::pin(ready(entry.encode(&context, Err(error.into())))),
        }
    })
}

/// Decodes a call's arguments. The error is for the model.
fn decode_arguments<A: serde::de::DeserializeOwned>(
    context: &Context,
    entry: &ToolEntry,
    given: &Arguments,
) -> Result<(A, Option<DecodedMemory>), BoxError> {
    let invalid = |error| invalid_arguments(entry, given, &error);
    let Some(arguments) = &given.0 else {
        let decoded = mcpgen_runtime::jsonrpc::json::decode(None);
        return decoded.map(|nothing| (nothing, None)).map_err(invalid);
    };
    let read = arguments.read(|json| {
        let memory = context.take_memory(json.decoded_bytes())?;
        Ok::<_, ErrorObject>((memory, json.deserialize()))
    });
    let (memory, decoded) = match read {
        Ok(read) => read.map(|(memory, decoded)| (Some(memory), decoded))?,
        Err(error) => (None, Err(error)),
    };
    let decoded = decoded.or_else(|error| {
        // For types such as `()`, an empty object means no arguments.
        let is_empty = arguments.read(|json| json.members().is_ok_and(|mut members| members.next().is_none()));
        if let (Ok(true), Ok(nothing)) = (is_empty, mcpgen_runtime::jsonrpc::json::decode(None)) {
            return Ok(nothing);
        }
        Err(invalid(error))
    })?;
    if tracing::enabled!(tracing::Level::WARN) {
        for remark in given.misspelt(&entry.argument_names) {
            tracing::warn!(tool = entry.tool.name, "{remark}");
        }
    }
    Ok((decoded, memory))
}

/// Creates the error for invalid arguments, which the model sees.
fn invalid_arguments(entry: &ToolEntry, arguments: &Arguments, error: &mcpgen_types::Error) -> BoxError {
    let at = if error.path().is_empty() { "" } else { "argument " };
    entry.invalid_arguments(arguments, &format!("{at}{}", in_json_terms(&error.to_string()))).into()
}

/// A tool's description. Converts from a name or a [`Tool`]. The types of the tool's function define schemas that are
/// missing here.
#[derive(Clone, Debug)]
pub struct ToolInfo {
    tool: Tool,
    /// The schema's first problem, reported when the server starts.
    problem: Option<DefinitionError>,
    /// Whether the function takes arguments. If it does not, and there is no schema, the tool accepts none.
    takes_arguments: bool,
    runner: Option<Arc<dyn ToolRunner>>,
}

impl ToolInfo {
    /// Creates the description of a tool with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Tool::new(name, ToolInputSchema::new()).into()
    }

    /// Sets the name that users see.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.tool.title = Some(title.into());
        self
    }

    /// Sets the description for models. Defaults to the doc comment of the arguments' type.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.tool.description = Some(description.into());
        self
    }

    /// Sets the JSON Schema of the arguments, for a tool that takes them as a [`JsonObject`]. Its `type` must be
    /// `object`, and is added if missing. An invalid schema is reported when the server starts.
    ///
    /// ```
    /// use mcpgen_sdk::Server;
    /// use mcpgen_sdk::server::ToolInfo;
    /// use mcpgen_types::JsonObject;
    /// use serde_json::json;
    ///
    /// let greet = ToolInfo::new("greet").input_schema(json!({
    ///     "properties": { "name": { "type": "string" } },
    ///     "required": ["name"],
    /// }));
    /// let server = Server::builder("greeter", "1.0.0")
    ///     .tool(greet, |arguments: JsonObject| async move {
    ///         format!("hello, {}", arguments.get("name").and_then(|name| name.as_str()).unwrap_or_default())
    ///     })
    ///     .build();
    /// assert!(server.config().is_ok());
    /// ```
    #[must_use]
    pub fn input_schema(mut self, mut schema: serde_json::Value) -> Self {
        if let Some(schema) = schema.as_object_mut() {
            schema.entry("type").or_insert_with(|| "object".into());
        }
        match mcpgen_types::from_value(schema) {
            Ok(schema) => self.tool.input_schema = schema,
            Err(error) => self.reject(error.into()),
        }
        self
    }

    /// Takes the arguments' schema from a type; see [`input_schema`](Self::input_schema). The type's doc comment
    /// becomes the tool's description, unless the tool already has one.
    #[must_use]
    pub fn input<A: schemars::JsonSchema>(mut self) -> Self {
        match schema::input_schema::<A>(&self.tool.name) {
            Ok((schema, description)) => {
                self.tool.input_schema = schema;
                self.tool.description = self.tool.description.take().or(description);
            }
            Err(problem) => self.problem = self.problem.take().or(Some(problem)),
        }
        self
    }

    /// Adds an optional argument with a JSON Schema; see [`input_schema`](Self::input_schema).
    ///
    /// ```
    /// use mcpgen_sdk::server::ToolInfo;
    /// use serde_json::json;
    ///
    /// let search = ToolInfo::new("search")
    ///     .required_property("text", json!({ "type": "string" }))
    ///     .property("limit", json!({ "type": "integer", "minimum": 1 }));
    /// # let _ = search;
    /// ```
    #[must_use]
    pub fn property(mut self, name: impl Into<String>, schema: serde_json::Value) -> Self {
        match self.keyword("properties").map_or(Ok(JsonObject::new()), JsonObject::try_from) {
            Ok(mut properties) => {
                properties.insert(name.into(), schema);
                self.set_keyword("properties", properties);
            }
            Err(_) => self.reject("properties: expected object".into()),
        }
        self
    }

    /// Adds a required argument with a JSON Schema; see [`input_schema`](Self::input_schema).
    #[must_use]
    pub fn required_property(self, name: impl Into<String>, schema: serde_json::Value) -> Self {
        let name = name.into();
        let mut info = self.property(name.clone(), schema);
        match info.keyword("required").map_or(Ok(Vec::new()), |required| required.decode::<Vec<Json>>()) {
            Ok(mut required) => {
                required.push(name.into());
                info.set_keyword("required", required);
            }
            Err(_) => info.reject("required: expected array".into()),
        }
        info
    }

    fn has_input_schema(&self) -> bool {
        self.tool.input_schema != ToolInputSchema::new()
    }

    fn keyword(&self, name: &str) -> Option<JsonRef<'_>> {
        self.tool.input_schema.get().get(name)
    }

    fn set_keyword(&mut self, name: &str, value: impl Into<Json>) {
        match std::mem::take(&mut self.tool.input_schema).with_member(name, value) {
            Ok(schema) => self.tool.input_schema = schema,
            Err(error) => self.reject(error.into()),
        }
    }

    fn reject(&mut self, source: BoxError) {
        let (name, source) = (self.tool.name.clone(), Arc::from(source));
        self.problem.get_or_insert(DefinitionError::Schema { name, schema: "inputSchema", source });
    }

    /// Sets hints about the tool's behaviour, such as whether it is read-only or destructive.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.tool.annotations = Some(annotations);
        self
    }

    /// Sets how calls run, for extensions. `None`, the default, calls the function.
    #[must_use]
    pub fn runner(mut self, runner: Option<Arc<dyn ToolRunner>>) -> Self {
        self.runner = runner;
        self
    }

    #[cfg(feature = "apps")]
    pub(super) fn meta(&mut self) -> &mut JsonObject {
        self.tool.meta.get_or_insert_default()
    }

    /// Sets the icons.
    #[must_use]
    pub fn icons(mut self, icons: impl Into<Vec<Icon>>) -> Self {
        self.tool.icons = Some(icons.into());
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
        Self { tool, problem: None, takes_arguments: false, runner: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_arguments_only_if_the_schema_names_all() {
        for (members, expected) in [
            (r#""properties":{"limit":{},"query":{}}"#, &["limit", "query"][..]),
            (r#""properties":{"limit":{}},"additionalProperties":false"#, &["limit"]),
            (r#""properties":{"limit":{}},"additionalProperties":true"#, &[]),
            (r#""properties":{"limit":{}},"additionalProperties":{"type":"string"}"#, &[]),
            (r#""properties":{"limit":{}},"patternProperties":{"^l":{}}"#, &[]),
            (r#""properties":{"limit":{}},"anyOf":[{"properties":{"limits":{}}}]"#, &[]),
            (r#""$ref":"\u0023/$defs/a","properties":{"limit":{}}"#, &[]),
            (r#""description":"any""#, &[]),
        ] {
            let schema = Json::parse(format!("{{{members}}}")).expect("JSON");
            assert_eq!(argument_names(&schema), expected, "{members}");
        }
    }
}
