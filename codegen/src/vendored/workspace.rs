//! A project with its vendored revisions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcpgen_model::docs::{DocBook, Lifetimes};
use mcpgen_model::{
    Contract, Extension, InlineSchemas, NAMES, Protocol, Revision, Status, check_name, extension_path, model,
    schema_path,
};
#[cfg(feature = "cli")]
use mcpgen_model::{Era, Rule};
use mcpgen_schema::{Document, Error};
use serde::{Deserialize, Serialize};

use crate::emit::parallel::{all, in_parallel};

/// The folder of the schemas, relative to the root.
#[cfg(feature = "cli")]
pub const SCHEMAS: &str = "schema";

/// The list of vendored revisions, relative to the root.
pub(crate) const REVISIONS: &str = "schema/revisions.toml";

const HEADER: &str = "\
# The revisions of the Model Context Protocol that are vendored here. Written by `mcpgen import`.
# `upstream` is a path in the repository modelcontextprotocol/modelcontextprotocol, `sha256` the digest of that file.
# `era` and `rules` are facts of the specification that no schema contains. A new revision gets the rules of the newest
# one of its era; correct them here if the specification has changed.
";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    #[serde(default)]
    revision: Vec<Revision>,
}

/// A project with its vendored revisions and extensions.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// The folder that contains `schema/`.
    pub root: PathBuf,
    /// The vendored revisions: released ones by name, then drafts by name.
    pub revisions: Vec<Revision>,
    /// The vendored extensions, by name.
    pub extensions: Vec<Extension>,
    /// The hand-written documentation in `schema/docs`.
    pub docs: DocBook,
    /// The tables of `schema/names.toml`, by revision or extension.
    pub(crate) inline: BTreeMap<String, InlineSchemas>,
}

impl Workspace {
    /// Opens the workspace at `root`, or else the one that contains the current folder.
    ///
    /// # Errors
    /// Returns [`Error::Io`], or [`Error::Usage`] outside a workspace or if its list of revisions is malformed.
    pub fn open(root: Option<&Path>) -> Result<Workspace, Error> {
        match root {
            Some(root) if root.join(REVISIONS).is_file() => Workspace::read(root),
            Some(root) => {
                Err(Error::Usage(format!("there is no {REVISIONS} in {}; `mcpgen import` creates it", root.display())))
            }
            None => {
                let here = std::env::current_dir().map_err(Error::io("finding", "."))?;
                match here.ancestors().find(|folder| folder.join(REVISIONS).is_file()) {
                    Some(root) => Workspace::read(root),
                    None => Err(Error::Usage(format!(
                        "neither {} nor a parent of it has {REVISIONS}; run mcpgen inside the project, or set its folder \
                         with --root DIR",
                        here.display()
                    ))),
                }
            }
        }
    }

    /// Like [`Workspace::open`], but accepts a `root` that has no list of revisions yet.
    ///
    /// # Errors
    /// Fails like [`Workspace::open`].
    pub fn open_or_new(root: Option<&Path>) -> Result<Workspace, Error> {
        match root {
            Some(root) if root.is_dir() && !root.join(REVISIONS).exists() => {
                Ok(Workspace::new(root, DocBook::default()))
            }
            root => Workspace::open(root),
        }
    }

    fn read(root: &Path) -> Result<Workspace, Error> {
        let path = root.join(REVISIONS);
        let text = std::fs::read_to_string(&path).map_err(Error::io("reading", &path))?;
        let rows: Rows = toml::from_str(&text).map_err(|error| Error::Usage(format!("{}: {error}", path.display())))?;
        let docs = DocBook::read(root)?;
        let mut workspace = Workspace { inline: InlineSchemas::read(root)?, ..Workspace::new(root, docs) };
        for row in rows.revision {
            if workspace.revisions.iter().any(|known| known.name == row.name) {
                return Err(Error::Usage(format!("{}: the revision `{}` is listed twice", path.display(), row.name)));
            }
            workspace = workspace.with(row)?;
        }
        let workspace = workspace.read_extensions()?;
        for (name, inline) in &workspace.inline {
            if !workspace.names().any(|known| known == name) {
                return Err(Error::Usage(format!("{NAMES}: there is no revision or extension `{name}`")));
            }
            if workspace.extension(name).is_none() && inline.replaces() {
                return Err(Error::Usage(format!("{NAMES}: {name}: only schemas of extensions repeat definitions")));
            }
        }
        Ok(workspace)
    }

    fn new(root: &Path, docs: DocBook) -> Workspace {
        Workspace {
            root: root.to_owned(),
            revisions: Vec::new(),
            extensions: Vec::new(),
            docs,
            inline: BTreeMap::new(),
        }
    }

    /// Adds a row, replacing one with the same name.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the name cannot be used for a folder and a module, or if the module name is taken.
    pub fn with(mut self, row: Revision) -> Result<Workspace, Error> {
        check_name(&row.name)?;
        self.revisions.retain(|known| known.name != row.name);
        if let Some(other) = self.revisions.iter().find(|known| known.module() == row.module()) {
            let (name, module) = (&row.name, row.module());
            let other = &other.name;
            return Err(Error::Usage(format!(
                "the revisions `{other}` and `{name}` have the same module name `{module}`; rename one of them"
            )));
        }
        self.revisions.push(row);
        self.revisions.sort_by(|a, b| (a.status, &a.name).cmp(&(b.status, &b.name)));
        Ok(self)
    }

    /// Returns the row of a revision.
    ///
    /// # Errors
    /// Returns [`Error::Usage`], which lists all revisions.
    pub fn revision(&self, name: &str) -> Result<&Revision, Error> {
        self.revisions.iter().find(|row| row.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.names().collect();
            Error::Usage(format!(
                "there is no revision `{name}` in {}, which lists {}; `mcpgen import FILE --revision {name}` adds it",
                self.root.join(REVISIONS).display(),
                if known.is_empty() { "none".to_owned() } else { known.join(", ") },
            ))
        })
    }

    /// Returns the rules of a revision. A new one starts with those of the newest revision of its era.
    #[cfg(feature = "cli")]
    pub(crate) fn rules(&self, name: &str, era: Era) -> Vec<Rule> {
        let known = self.revisions.iter().find(|row| row.name == name);
        let newest = || self.revisions.iter().rfind(|row| row.era == era);
        known.or_else(newest).map_or_else(Vec::new, |row| row.rules.clone())
    }

    /// Returns the names of all revisions and extensions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let revisions = self.revisions.iter().map(|row| row.name.as_str());
        revisions.chain(self.extensions.iter().map(|row| row.name.as_str()))
    }

    /// Returns the path of a revision's or extension's schema, relative to the root.
    ///
    /// # Errors
    /// Returns [`Error::Usage`], which lists all revisions and extensions.
    pub fn schema_path(&self, name: &str) -> Result<String, Error> {
        match self.extension(name) {
            Some(row) => Ok(extension_path(&row.name)),
            None => Ok(schema_path(&self.revision(name)?.name)),
        }
    }

    /// Reads the model of a vendored revision or extension.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if it is not vendored, or the problems of its schema.
    pub fn model(&self, name: &str) -> Result<Protocol, Error> {
        if let Some(row) = self.extension(name) {
            return self.extension_model(row, &self.model(&row.core)?);
        }
        Ok(self.docs.document(self.revision_model(name)?, &Lifetimes::default()))
    }

    /// Reads a vendored schema like any other file: without our documentation and deprecations, and without the names
    /// and rules of `schema/names.toml`.
    pub fn undocumented_model(&self, name: &str) -> Result<Protocol, Error> {
        if let Some(row) = self.extension(name) {
            let (document, mapping) = self.extension_contract(row)?;
            return model(Contract { document, mapping, names: BTreeMap::new() }, name, false);
        }
        self.named_model(name, BTreeMap::new())
    }

    fn revision_model(&self, name: &str) -> Result<Protocol, Error> {
        self.named_model(name, self.inline.get(name).map(|inline| inline.names.clone()).unwrap_or_default())
    }

    fn named_model(&self, name: &str, names: BTreeMap<String, String>) -> Result<Protocol, Error> {
        let row = self.revision(name)?;
        let contract = Contract { document: self.document(name)?, mapping: None, names };
        model(contract, name, row.status == Status::Released)
    }

    /// Reads the schema of a vendored revision. Messages and generated files show its path relative to the root.
    pub(crate) fn document(&self, name: &str) -> Result<Document, Error> {
        let file = schema_path(name);
        let path = self.root.join(&file);
        let bytes = std::fs::read(&path).map_err(Error::io("reading", &path))?;
        Document::parse(file, &bytes)
    }

    /// Reads the models of all vendored revisions, including when each type and member appeared and disappeared.
    ///
    /// # Errors
    /// Returns the problems of all schemas together.
    pub fn models(&self) -> Result<Vec<Protocol>, Error> {
        let models = all(in_parallel(&self.revisions, |row| self.revision_model(&row.name)))?;
        let newest = self.revisions.iter().rfind(|row| row.status == Status::Released);
        let lifetimes = Lifetimes::of(&models, newest.map(|row| row.name.as_str()));
        let documented = models.into_iter().map(|protocol| self.docs.document(protocol, &lifetimes));
        self.docs.with_json(documented.collect())
    }

    /// Returns the contents of `schema/revisions.toml`.
    pub fn to_toml(&self) -> String {
        let rows = toml::to_string(&Rows { revision: self.revisions.clone() }).expect("rows are tables of text");
        format!("{HEADER}\n{rows}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpgen_model::Era;

    fn row(name: &str) -> Revision {
        let status = Status::of(name);
        let (era, rules) = (Era::Legacy, Vec::new());
        Revision { name: name.into(), status, era, rules, upstream: schema_path(name), sha256: "00".into() }
    }

    #[test]
    fn accepts_valid_names_and_derives_modules() {
        for (name, status, module) in [
            ("2025-11-25", Status::Released, "v2025_11_25"),
            ("draft", Status::Draft, "draft"),
            ("2026-07-28-RC.1", Status::Draft, "v2026_07_28_rc_1"),
            ("2025-1-25", Status::Draft, "v2025_1_25"),
            ("type", Status::Draft, "type_"),
        ] {
            assert!(check_name(name).is_ok(), "{name}");
            assert_eq!((row(name).status, row(name).module().as_str()), (status, module), "{name}");
        }
        for name in ["", "..", "a/b", "../x", "-x", "a b", "ä", "a\nb"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn sorts_revisions_and_rejects_equal_modules() {
        let mut workspace = Workspace::new(Path::new(""), DocBook::default());
        for name in ["draft", "2025-11-25", "2024-11-05", "2025-11-25"] {
            workspace = workspace.with(row(name)).expect(name);
        }
        let names: Vec<&str> = workspace.revisions.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["2024-11-05", "2025-11-25", "draft"]);
        assert!(workspace.with(row("2025.11-25")).is_err(), "v2025_11_25 is taken");
    }
}
