//! `mcpgen inspect`.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Args, ValueEnum};
use mcpgen_model::inspect::inspect;
use mcpgen_model::{Content, DocTarget, Outline, Part, Protocol, Shape, Status, TypeDef, TypeId, model};
use mcpgen_schema::Error;
use mcpgen_schema::text::{counted, visible, visible_lines};
use mcpgen_site::model_page;

use super::answer::Answer;
use super::root::Root;
use super::schema_args::{SchemaArgs, find_type};

/// Show the methods, types, unions, fixups and definitions of a revision
///
/// With TYPE, show only these types, with their documentation. The JSON format is stable;
/// codegen/model/schemas/inspect.schema.json describes it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen inspect 2025-11-25
  mcpgen inspect 2025-11-25 Tool CallToolResult
  mcpgen inspect my-schema.json --format json
  mcpgen inspect 2026-07-28 --format html > mcp.html
  mcpgen inspect my-schema.json --check")]
pub(super) struct InspectArgs {
    /// A vendored revision or extension, or a schema file
    #[arg(value_name = "REV|FILE")]
    subject: String,
    /// Types to show, by their names in the schema or in Rust
    #[arg(value_name = "TYPE", conflicts_with = "format")]
    types: Vec<String>,
    /// The output format
    #[arg(long, default_value = "text", value_enum)]
    format: InspectFormat,
    /// List the problems of the schema file, and its undecided unions. Exit with 1 if there are problems
    #[arg(long, conflicts_with_all = ["types", "format"])]
    check: bool,
    #[command(flatten)]
    options: SchemaArgs,
    #[command(flatten)]
    root: Root,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum InspectFormat {
    /// For terminals.
    Text,
    /// For programs; codegen/model/schemas/inspect.schema.json describes it.
    Json,
    /// A self-contained page with a timeline of all revisions.
    Html,
}

impl InspectArgs {
    pub(super) fn run(self) -> Result<Answer, Error> {
        let path = Path::new(&self.subject);
        if self.check {
            return self.check(path);
        }
        let protocol = self.options.model(&self.subject, &self.root)?;
        if !self.types.is_empty() {
            return Ok(Answer { text: texts(&protocol, &self.types)?, ..Answer::default() }.visible());
        }
        let text = match self.format {
            InspectFormat::Text => visible_lines(&inspect(&protocol)?.to_string()),
            InspectFormat::Json => inspect(&protocol)?.to_json(),
            InspectFormat::Html => model_page(&protocol, &self.revisions()?),
        };
        Ok(Answer { text, ..Answer::default() })
    }

    /// Returns the models of all revisions, or none if the subject is not a revision.
    fn revisions(&self) -> Result<Vec<Protocol>, Error> {
        match self.root.open() {
            Ok(workspace) if workspace.revision(&self.subject).is_ok() => workspace.models(),
            _ => Ok(Vec::new()),
        }
    }

    /// Lists a schema's problems and undecided unions.
    fn check(&self, path: &Path) -> Result<Answer, Error> {
        let model = self.options.read(path).and_then(|document| model(document, Status::Draft.as_str(), false));
        match model {
            Ok(protocol) => {
                let is_undecided = |def: &&TypeDef| matches!(def.shape, Shape::Undecided(_));
                let undecided = protocol.types.iter().filter(is_undecided);
                let mut text = format!("{}, no problems\n", counted(protocol.types.len() as u64, "types"));
                for def in undecided {
                    text.push_str(&format!("undecided: {} ({})\n", visible(&def.name), visible(&def.pointer)));
                }
                Ok(Answer { text, ..Answer::default() })
            }
            Err(Error::Schema(problems)) => {
                let text = problems.iter().map(|problem| format!("{problem}\n")).collect();
                Ok(Answer { text, differs: true, ..Answer::default() }.visible())
            }
            Err(error) => Err(error),
        }
    }
}

fn texts(protocol: &Protocol, names: &[String]) -> Result<String, Error> {
    let mut text = String::new();
    for name in names {
        let id = find_type(protocol, name, &protocol.revision)?;
        if !text.is_empty() {
            text.push('\n');
        }
        show(&mut text, protocol, id);
    }
    Ok(text)
}

fn show(text: &mut String, protocol: &Protocol, id: TypeId) {
    let def = &protocol.types[id];
    let doc = |place: DocTarget| {
        Some(protocol.docs.of(&place)?.doc.split("\n\n").next().unwrap_or_default().replace('\n', " "))
    };
    let mut line = |depth: usize, line: String| {
        writeln!(text, "{}{}", "  ".repeat(depth), visible(&line)).expect("writing to a String cannot fail");
    };
    let rust = if def.rust == def.name { String::new() } else { format!(" ({} in Rust)", def.rust) };
    line(0, format!("{}{rust}, area {}, {}", def.name, protocol.area(id), def.pointer));
    doc(DocTarget::Type(def.name.clone())).into_iter().for_each(|doc| line(1, doc));
    let Outline { words, parts, notes } = protocol.outline(&def.shape);
    if !words.is_empty() {
        line(1, if parts.is_empty() { words.clone() } else { format!("{words}:") });
    }
    let depth = if words.is_empty() { 1 } else { 2 };
    for (index, part) in parts.into_iter().enumerate() {
        match part {
            Part::Member(member) => {
                let presence = if member.required { "required" } else { "optional" };
                match &member.content {
                    Content::Constant(value) => line(1, format!("{}: always {value}", member.wire)),
                    Content::Value(content) => {
                        line(1, format!("{}: {}, {presence}", member.wire, protocol.describe(content)));
                        let place = DocTarget::Member(def.name.clone(), member.wire.clone());
                        doc(place).into_iter().for_each(|doc| line(2, doc));
                    }
                }
            }
            Part::Value(value) => {
                line(depth, value.to_string());
                doc(DocTarget::Value(def.name.clone(), value.plain())).into_iter().for_each(|doc| line(depth + 1, doc));
            }
            Part::Type(name, content) => {
                let label = match &def.shape {
                    Shape::Alias(..) | Shape::Newtype(_) => "= ".to_owned(),
                    Shape::Tuple(_) => format!("{index}: "),
                    _ if name.is_empty() => String::new(),
                    _ => format!("{name}: "),
                };
                line(depth, format!("{label}{}", protocol.describe(content)));
            }
            Part::Others(content) => line(depth, format!("others: {}", protocol.describe(content))),
        }
    }
    notes.into_iter().for_each(|note| line(1, note));
}
