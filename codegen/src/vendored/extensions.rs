//! The vendored extensions of a project.

use std::collections::BTreeMap;

use mcpgen_model::docs::Lifetimes;
use mcpgen_model::text::names::type_name;
use mcpgen_model::{Contract, Extension, Mapping, Protocol, Status, check_name, extend, extension_path, model};
use mcpgen_schema::{Document, Error, ReadOptions};
use serde::{Deserialize, Serialize};

use crate::emit::parallel::{all, in_parallel};
use crate::vendored::workspace::Workspace;

/// The list of vendored extensions, relative to the root. If the file is missing, the list is empty.
pub(crate) const EXTENSIONS: &str = "schema/extensions.toml";

#[cfg(feature = "cli")]
const HEADER: &str = "\
# The extensions of the Model Context Protocol and its companion formats that are vendored here. Written by
# `mcpgen import --extension`. `upstream` says where the schema comes from, `sha256` is its digest. Definitions that are
# equal to those of the revision `core` become the types of that revision.
";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    #[serde(default)]
    extension: Vec<Extension>,
}

impl Workspace {
    pub(super) fn read_extensions(mut self) -> Result<Workspace, Error> {
        let path = self.root.join(EXTENSIONS);
        let text = Error::unless_missing(std::fs::read_to_string(&path), &path)?.unwrap_or_default();
        let rows: Rows = toml::from_str(&text).map_err(|error| Error::Usage(format!("{}: {error}", path.display())))?;
        for row in rows.extension {
            if self.extension(&row.name).is_some() {
                return Err(Error::Usage(format!("{}: the extension `{}` is listed twice", path.display(), row.name)));
            }
            self = self.with_extension(row)?;
        }
        Ok(self)
    }

    pub(crate) fn with_extension(mut self, row: Extension) -> Result<Workspace, Error> {
        check_name(&row.name)?;
        check_feature(&row.feature)?;
        self.extensions.retain(|known| known.name != row.name);
        self.revision(&row.core)?;
        let taken = |what: &str, name: &str| {
            Err(Error::Usage(format!("the extension `{}` cannot have the {what} `{name}`, which is taken", row.name)))
        };
        if self.revisions.iter().any(|revision| revision.name == row.name) {
            return taken("name", &row.name);
        }
        if Extension::module_of(&row.module) != row.module || self.extensions.iter().any(|it| it.module == row.module) {
            return taken("module", &row.module);
        }
        let of_revision = self.revisions.iter().any(|revision| revision.module() == row.feature);
        if of_revision || self.extensions.iter().any(|known| known.feature == row.feature) {
            return taken("feature", &row.feature);
        }
        self.extensions.push(row);
        self.extensions.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(self)
    }

    /// Returns the row of an extension.
    pub fn extension(&self, name: &str) -> Option<&Extension> {
        self.extensions.iter().find(|row| row.name == name)
    }

    pub(super) fn extension_model(&self, row: &Extension, core: &Protocol) -> Result<Protocol, Error> {
        let (document, mapping) = self.extension_contract(row)?;
        let protocol = self.docs.document(self.extended(document, mapping, row, core)?, &Lifetimes::default());
        let [protocol] = self.docs.with_json([protocol])?;
        Ok(protocol)
    }

    pub(super) fn extension_contract(&self, row: &Extension) -> Result<(Document, Option<Mapping>), Error> {
        let file = extension_path(&row.name);
        let path = self.root.join(&file);
        let bytes = std::fs::read(&path).map_err(Error::io("reading", &path))?;
        let mapping = self.root.join(mapping_path(&row.name));
        let mapping = Error::unless_missing(std::fs::read_to_string(&mapping), &mapping)?;
        let mapping = mapping.map(|text| Mapping::parse(mapping_path(&row.name), &text)).transpose()?;
        Ok((Document::parse_with(file, &bytes, &read_options(&row.name))?, mapping))
    }

    pub(crate) fn extended(
        &self,
        mut document: Document,
        mapping: Option<Mapping>,
        row: &Extension,
        core: &Protocol,
    ) -> Result<Protocol, Error> {
        let mut names = BTreeMap::new();
        if let Some(inline) = self.inline.get(&row.name) {
            inline.apply(&mut document, &self.document(&row.core)?)?;
            names.clone_from(&inline.names);
        }
        let contract = Contract { document, mapping, names };
        let mut protocol = model(contract, &row.name, row.status == Status::Released)?;
        // A fixup that does not match matters only if this extension is known to need it.
        protocol.fixups.retain(|applied| !applied.pointers.is_empty() || applied.is_for(&row.name));
        let module = mcpgen_model::Revision::module_of(&row.core);
        Ok(extend(protocol, core, module, Some(row.version.clone())))
    }

    /// Reads the models of all vendored extensions. `revisions` are the models of all vendored revisions.
    ///
    /// # Errors
    /// Returns the problems of all schemas together.
    pub fn extension_models(&self, revisions: &[Protocol]) -> Result<Vec<Protocol>, Error> {
        all(in_parallel(&self.extensions, |row| match revisions.iter().find(|core| core.revision == row.core) {
            Some(core) => self.extension_model(row, core),
            None => self.model(&row.name),
        }))
    }

    #[cfg(feature = "cli")]
    pub(crate) fn extensions_toml(&self) -> String {
        let rows = toml::to_string(&Rows { extension: self.extensions.clone() }).expect("rows are tables of text");
        format!("{HEADER}\n{rows}")
    }
}

/// Returns the options for reading an extension's schema. A root type is named after the extension.
pub(crate) fn read_options(name: &str) -> ReadOptions {
    ReadOptions { root_name: Some(type_name(name)), ..ReadOptions::default() }
}

/// Returns the path of an extension's mapping, relative to the root. The file is optional.
pub(crate) fn mapping_path(name: &str) -> String {
    format!("schema/extensions/{name}/protocol.toml")
}

/// Guesses the status from a version: `draft` and commits are drafts, anything else is released.
#[cfg(feature = "cli")]
pub(crate) fn default_status(version: &str) -> Status {
    if Extension::is_commit(version) || version == "draft" { Status::Draft } else { Status::Released }
}

fn check_feature(name: &str) -> Result<(), Error> {
    let is_valid = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'))
        && !["default", "all-revisions", "all-extensions", "pattern", "schemars"].contains(&name);
    if is_valid {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{name:?} cannot be the feature of an extension: use lowercase letters, digits, `-` and `_`"
    )))
}
