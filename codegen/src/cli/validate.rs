//! `mcpgen validate`.

use std::io::Read as _;
use std::path::PathBuf;

use clap::Args;
use mcpgen_model::validate::validate;
use mcpgen_schema::Error;
use mcpgen_schema::json::Json;
use mcpgen_schema::text::visible;

use super::answer::Answer;
use super::root::Root;
use super::schema_args::{SchemaArgs, find_type};

/// Validate documents against a type of a schema, with the error messages of the generated types
///
/// Does not compile any Rust. Prints one line for each invalid document.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen validate Tool --schema my-schema.json tool.json
  mcpgen validate Tool --schema my-schema.json < tool.json
  mcpgen validate ServerCard --schema server-card card.json

Exit codes: 0 all documents are valid, 1 some are not, 2 invalid input or usage.")]
pub(super) struct ValidateArgs {
    /// The type, by name in the schema or in Rust
    #[arg(value_name = "TYPE")]
    type_name: String,
    /// A vendored revision or extension, or a schema file
    #[arg(long, value_name = "NAME|FILE")]
    schema: String,
    /// The documents, or `-` for standard input [default: -]
    #[arg(value_name = "DOCUMENT")]
    documents: Vec<PathBuf>,
    #[command(flatten)]
    options: SchemaArgs,
    #[command(flatten)]
    root: Root,
}

impl ValidateArgs {
    pub(super) fn run(self) -> Result<Answer, Error> {
        let protocol = self.options.model(&self.schema, &self.root)?;
        let id = find_type(&protocol, &self.type_name, &self.schema)?;
        let stdin = vec![PathBuf::from("-")];
        let documents = if self.documents.is_empty() { &stdin } else { &self.documents };
        let mut answer = Answer::default();
        for path in documents {
            let name = if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() };
            let text = read(path)?;
            let result = match Json::parse(&text) {
                Ok(document) => validate(&protocol, id, &document).map_err(|failure| failure.to_string()),
                Err(error) => Err(format!("not readable as JSON: {error}")),
            };
            if let Err(why) = result {
                let why = visible(&why);
                answer.text.push_str(&format!("{name}: {}: {why}\n", protocol.types[id].rust));
                answer.differs = true;
            }
        }
        Ok(answer)
    }
}

fn read(path: &PathBuf) -> Result<String, Error> {
    if path.as_os_str() != "-" {
        return std::fs::read_to_string(path).map_err(Error::io("reading", path));
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(Error::io("reading", "standard input"))?;
    Ok(text)
}
