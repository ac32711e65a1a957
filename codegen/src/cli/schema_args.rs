//! Options shared by commands that read one schema file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use mcpgen_diff::suggest::did_you_mean;
use mcpgen_model::{Contract, Mapping, Protocol, Status, TypeId, model};
use mcpgen_schema::{Dialect, Document, Error, ReadOptions};

use super::root::Root;

/// Options for reading a schema file.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct ReadArgs {
    /// The dialect of a schema without a known `$schema`: draft-04, draft-06, draft-07, 2019-09 or 2020-12
    #[arg(long, value_name = "DIALECT")]
    dialect: Option<Dialect>,
    /// A folder with the schemas that references lead to, each in a file named after the last segment of its URI.
    /// Relative references do not need it
    #[arg(long, value_name = "DIR")]
    schema_folder: Option<PathBuf>,
    /// A keyword that does not affect which documents are valid. Can be repeated
    #[arg(long = "annotation", value_name = "NAME")]
    annotations: Vec<String>,
}

impl ReadArgs {
    pub(super) fn options(&self) -> ReadOptions {
        ReadOptions {
            dialect: self.dialect,
            schema_folder: self.schema_folder.clone(),
            annotations: self.annotations.clone(),
            ..ReadOptions::default()
        }
    }
}

/// Options for reading the model of a schema file.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct SchemaArgs {
    #[command(flatten)]
    read: ReadArgs,
    /// The name of the type at the root of the schema [default: from the name of the file]
    #[arg(long, value_name = "NAME")]
    root_name: Option<String>,
    /// A file that lists messages with their params, results and directions, for a schema that does not list them
    #[arg(long, value_name = "FILE")]
    protocol: Option<PathBuf>,
}

impl SchemaArgs {
    pub(super) fn options(&self) -> ReadOptions {
        ReadOptions { root_name: self.root_name.clone(), ..self.read.options() }
    }

    pub(super) fn mapping(&self) -> Result<Option<Mapping>, Error> {
        self.protocol.as_deref().map(Mapping::read).transpose()
    }

    /// Builds the model of a vendored revision or extension, or of a schema file.
    pub(super) fn model(&self, subject: &str, root: &Root) -> Result<Protocol, Error> {
        let path = Path::new(subject);
        if path.is_file() || path.components().count() > 1 || path.extension().is_some_and(|end| end == "json") {
            return model(self.read(path)?, Status::Draft.as_str(), false);
        }
        let workspace = root.open()?;
        let hint = hint(subject, workspace.names());
        workspace.schema_path(subject).map_err(|error| Error::Usage(format!("{error}{hint}")))?;
        workspace.model(subject)
    }

    pub(super) fn read(&self, path: &Path) -> Result<Contract, Error> {
        let document = Document::read_with(path, &self.options())?;
        Ok(Contract { document, mapping: self.mapping()?, names: BTreeMap::new() })
    }
}

/// Finds a type by its name in the schema or in Rust. The error calls the schema `subject`.
pub(super) fn find_type(protocol: &Protocol, name: &str, subject: &str) -> Result<TypeId, Error> {
    protocol.types.iter().position(|def| def.name == name || def.rust == name).ok_or_else(|| {
        let known = protocol.types.iter().flat_map(|def| [def.name.as_str(), def.rust.as_str()]);
        Error::Usage(format!("there is no type `{name}` in {subject}{}", hint(name, known)))
    })
}

pub(super) fn hint<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    did_you_mean(name, known).map_or(String::new(), |hint| format!("; {hint}"))
}
