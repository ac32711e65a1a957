//! The Rust items for one tool.

use std::collections::BTreeMap;

use mcpgen_model::conservation::conservation;
use mcpgen_model::snapshot::Item;
use mcpgen_model::text::foreign::code;
use mcpgen_model::text::names::{Namespace, function_name, type_name};
use mcpgen_model::{Origin, Protocol, Status, model};
use mcpgen_schema::Error;
use mcpgen_schema::json::Json;
use mcpgen_schema::text::{sha256, visible};
use mcpgen_schema::{Dialect, Document, ReadOptions};

use crate::emit::Options;
use crate::emit::module::{emit_on, threads};

const PARTS: [&str; 2] = ["arguments", "result"];

/// The root module imports this type, so no tool may use its name.
const IMPORTED_TYPE: &str = "CallToolResult";

/// The limit of common file systems, in bytes.
const LONGEST_FILE_NAME: usize = 255;

pub(super) struct Names {
    /// The function's name, not escaped.
    function: String,
    types: [String; 2],
}

#[derive(Debug)]
pub(super) struct ToolBinding<'s> {
    pub(super) tool: &'s str,
    /// The function's name, not escaped.
    pub(super) function: String,
    pub(super) item: &'s Item,
    pub(super) arguments: SchemaBinding,
    /// `None` if the tool has no output schema.
    pub(super) result: Option<SchemaBinding>,
}

#[derive(Debug)]
pub(super) struct SchemaBinding {
    tool: String,
    part: &'static str,
    schema: Json,
    pub(super) module: String,
    pub(super) exported: String,
    /// The type's name in the module, or why there is no type.
    pub(super) rust: Result<String, String>,
}

impl Names {
    pub(super) fn of<'t>(tools: impl Iterator<Item = &'t str>) -> impl Iterator<Item = Names> {
        let functions = Namespace::default().claim_all(tools.map(|tool| (tool, function_name(tool))));
        let mut types = Namespace::default();
        types.claim(IMPORTED_TYPE);
        let [arguments, results] = PARTS.map(|part| {
            types.claim_all(functions.iter().map(|name| (name.as_str(), type_name(&format!("{name}_{part}")))))
        });
        functions
            .into_iter()
            .zip(arguments)
            .zip(results)
            .map(|((function, arguments), result)| Names { function, types: [arguments, result] })
    }
}

impl<'s> ToolBinding<'s> {
    pub(super) fn new(tool: &'s str, item: &'s Item, names: Names) -> Self {
        let Names { function, types: [arguments, result] } = names;
        let schema = |part: &'static str, schema: Json, exported: String| SchemaBinding {
            tool: tool.to_owned(),
            part,
            schema,
            module: format!("{function}_{part}"),
            exported,
            rust: Err("not modelled".to_owned()),
        };
        let mut input = item.get("inputSchema").cloned().unwrap_or(Json::Bool(true));
        if let Json::Object(keywords) = &mut input {
            // In MCP, arguments are always an object.
            keywords.entry("type".to_owned()).or_insert_with(|| Json::String("object".into()));
        }
        let [arguments_part, result_part] = PARTS;
        let arguments = schema(arguments_part, input, arguments);
        let result = item.get("outputSchema").map(|output| schema(result_part, output.clone(), result));
        ToolBinding { tool, function, item, arguments, result }
    }

    fn schemas(&self) -> impl Iterator<Item = &SchemaBinding> {
        [&self.arguments].into_iter().chain(&self.result)
    }

    pub(super) fn schemas_mut(&mut self) -> impl Iterator<Item = &mut SchemaBinding> {
        [&mut self.arguments].into_iter().chain(&mut self.result)
    }

    pub(super) fn is_too_long(&self) -> bool {
        self.schemas().any(|schema| schema.module.len() > LONGEST_FILE_NAME)
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let notes = self.schemas().filter_map(|schema| schema.rust.as_ref().err().map(|why| (schema.subject(), why)));
        notes.map(|(subject, why)| format!("{}: {subject} JSON: {why}", visible(self.tool))).collect()
    }
}

impl SchemaBinding {
    pub(super) fn emit(&mut self, options: &Options, files: &mut BTreeMap<String, String>) {
        match self.module(options) {
            Ok((rust, module)) => {
                files.extend(module.into_iter().map(|(path, text)| (format!("{}/{path}", self.module), text)));
                self.rust = Ok(rust);
            }
            Err(why) => self.rust = Err(why.to_string()),
        }
    }

    /// Returns the beginning of a sentence about the values.
    pub(super) fn subject(&self) -> &'static str {
        if self.part == "arguments" { "the arguments are" } else { "the structured content is" }
    }

    fn module(&self, options: &Options) -> Result<(String, BTreeMap<String, String>), Error> {
        let protocol = self.model()?;
        conservation(&protocol)?;
        let root = protocol.types.iter().find(|def| def.pointer.is_empty() && def.origin == Origin::Definition);
        let missing = || Error::Usage("the schema has no type at its root".to_owned());
        let rust = root.ok_or_else(missing)?.rust.clone();
        let title = match self.part {
            "arguments" => format!("The arguments of the tool {}.", code(&self.tool)),
            _ => format!("The structured content of the results of the tool {}.", code(&self.tool)),
        };
        Ok((rust, emit_on(threads(), &protocol, options, Some(&title))?))
    }

    fn model(&self) -> Result<Protocol, Error> {
        let declared = self.schema.get("$schema").is_some();
        let options = ReadOptions {
            // In MCP, a schema without `$schema` is written in 2020-12.
            dialect: (!declared).then_some(Dialect::Draft202012),
            root_name: Some(self.exported.clone()),
            ..ReadOptions::default()
        };
        // The digest is that of this schema alone, so that the module does not change with other tools.
        let digest = sha256(self.schema.to_string());
        let document = Document::of(format!("{} {}", self.tool, self.part), self.schema.clone(), digest, &options)?;
        model(document, Status::Draft.as_str(), false)
    }
}
