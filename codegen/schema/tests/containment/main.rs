//! Containment verdicts: our own cases, a published suite, and random pairs of schemas.

mod cases;
mod random;
mod suite;

use mcpgen_schema::containment::{Budget, Verdict, contains};
use mcpgen_schema::{Checks, Dialect, Document, Json, ReadOptions, checks};

/// Third-party test suites, next to the repository.
const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");

fn read(schema: &Json, dialect: Dialect) -> Result<Checks, String> {
    let options = ReadOptions { dialect: Some(dialect), is_schema: true, ..ReadOptions::default() };
    let text = schema.to_string();
    let document = Document::parse_with("schema.json", text.as_bytes(), &options).map_err(|error| error.to_string())?;
    checks(&document).map_err(|error| error.to_string())
}

fn ask(large: &Checks, small: &Checks) -> Verdict {
    contains(large.into(), small.into(), Budget::default())
}

/// Compiles a schema with an independent validator.
fn validator(schema: &Json, dialect: Dialect) -> Option<jsonschema::Validator> {
    let draft = if dialect == Dialect::Draft07 { jsonschema::Draft::Draft7 } else { jsonschema::Draft::Draft202012 };
    jsonschema::options().with_draft(draft).should_validate_formats(false).build(&value(schema)).ok()
}

fn value(json: &Json) -> serde_json::Value {
    serde_json::from_str(&json.to_string()).expect("JSON")
}
