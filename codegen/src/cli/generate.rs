//! `mcpgen generate`.

use std::path::PathBuf;

use clap::Args;
use mcpgen::{Generated, Generator, SUPPORT, Summary, vendored};
use mcpgen_model::JSON_SCHEMA;
use mcpgen_schema::Error;
use mcpgen_schema::text::counted;

use super::answer::Answer;
use super::root::Root;
use super::schema_args::SchemaArgs;

/// Write the Rust modules of all vendored revisions and extensions, or of one schema
///
/// Writes vendored modules to generated/src and their features to generated/Cargo.toml, and removes outdated generated
/// files. Changes no other file. If an error occurs, no file changes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen generate
  mcpgen generate --check
  mcpgen generate --schema my-schema.json --revision my-draft --out src/protocol
  mcpgen generate --schema my-schema.json --revision my-draft --out src/protocol --extends 2026-07-28=official.json")]
pub(super) struct GenerateArgs {
    /// Write nothing; print the changes and exit with 1 if there are any
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    root: Root,
    /// Generate from this schema instead of the vendored ones
    ///
    /// Treats it as a draft, regardless of its name: fixups that do not match are not errors.
    #[arg(long, value_name = "FILE", requires_all = ["revision", "out"], conflicts_with = "root")]
    schema: Option<PathBuf>,
    /// The name of the revision that --schema describes
    #[arg(long, value_name = "NAME", requires = "schema")]
    revision: Option<String>,
    /// The folder of the module of --schema: DIR/mod.rs and its files
    #[arg(long, value_name = "DIR", requires = "schema")]
    out: Option<PathBuf>,
    /// The Rust path of mcpgen-types in the module of --schema
    #[arg(long, value_name = "PATH", requires = "schema", default_value = SUPPORT)]
    support: String,
    /// Generate only what --schema adds to, or changes in, this revision of mcpgen-types
    ///
    /// FILE is the official schema of the revision. Definitions that are equal in both become the types of the
    /// revision.
    #[arg(long, value_name = "REVISION=FILE", requires = "schema", value_parser = base)]
    extends: Option<(String, PathBuf)>,
    #[command(flatten)]
    options: SchemaArgs,
}

/// Parses the value of `--extends`.
fn base(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((revision, file)) if !revision.is_empty() && !file.is_empty() => Ok((revision.to_owned(), file.into())),
        _ => Err("expected a revision and its schema, as in 2026-07-28=schema.json".to_owned()),
    }
}

impl GenerateArgs {
    pub(super) fn run(self) -> Result<Answer, Error> {
        let (generated, folder) = match (&self.schema, &self.revision, &self.out) {
            (Some(schema), Some(revision), Some(out)) => {
                let mut generator =
                    Generator::new(schema, revision).support(&self.support).read_options(self.options.options());
                if let Some(mapping) = self.options.mapping()? {
                    generator = generator.mapping(mapping);
                }
                if let Some((revision, file)) = &self.extends {
                    generator = generator.extending(file, revision);
                }
                let generated = if self.check { generator.compare_with(out)? } else { generator.write_to(out)? };
                (generated, out.display().to_string())
            }
            _ => (vendored::generate(&self.root.open()?, self.check)?, vendored::GENERATED.to_owned()),
        };
        let Generated { revisions, changes } = generated;
        let mut answer = Answer { differs: self.check && !changes.changes.is_empty(), ..Answer::default() };
        if self.check {
            answer.text.push_str(&changes.diff(&folder));
        }
        for summary in revisions {
            let state = match (summary.changed, self.check) {
                (0, _) => "unchanged".to_owned(),
                (changed, true) => format!("{changed} differ"),
                (changed, false) => format!("{changed} written or removed"),
            };
            let Summary { revision, contract, types, shared, methods, files, .. } = &summary;
            let contract = if *contract == JSON_SCHEMA { String::new() } else { format!(" ({contract})") };
            let shared = if *shared == 0 { String::new() } else { format!(" ({shared} shared)") };
            let counted = |count: &usize, unit| counted(*count as u64, unit);
            let (types, methods, files) =
                (counted(types, "types"), counted(methods, "methods"), counted(files, "files"));
            answer.text.push_str(&format!("{revision}{contract}: {types}{shared}, {methods}, {files}: {state}\n"));
            let renamed = summary.renamed_unions.iter().map(|(name, ours)| {
                format!(
                    "note: {revision}: the schema has a definition {name}, so the union of these messages is {ours}"
                )
            });
            answer.notes.extend(renamed);
            answer.notes.extend(summary.warnings().into_iter().map(|warning| format!("warning: {warning}")));
        }
        if answer.differs {
            answer.notes.push("generated files differ; run the command without --check to write them".to_owned());
        }
        Ok(answer)
    }
}
