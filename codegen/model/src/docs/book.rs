//! Reads the documentation files. All revisions share theirs, and each extension has one file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcpgen_schema::Error;
use mcpgen_schema::json::Json;
use serde::Deserialize;

use crate::docs::targets::is_shared;
use crate::{DocEntry, DocTarget, Protocol};

/// The folder of the documentation, relative to the root.
pub const FOLDER: &str = "schema/docs";

/// The folder below [`FOLDER`] with a file for each extension.
const EXTENSIONS: &str = "extensions";

/// The documentation: everything, or the contents of one file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DocBook {
    pub(super) module: Option<DocEntry>,
    pub(super) types: BTreeMap<String, TypeEntry>,
    pub(super) methods: BTreeMap<String, MethodEntry>,
    /// The members that mean the same in every type.
    pub(super) members: BTreeMap<String, DocEntry>,
    /// The order of common members in every type. `...` stands for all others.
    pub(super) order: Vec<String>,
    /// Example values for a member in every type (`name`) or in one type (`Tool.name`).
    pub(super) samples: BTreeMap<String, Json>,
    #[serde(skip)]
    pub(super) extensions: BTreeMap<String, DocBook>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypeEntry {
    #[serde(default)]
    pub(super) order: Vec<String>,
    /// Why the constructor takes members by position although callers could swap them.
    pub(super) positional: Option<String>,
    pub(super) doc: String,
    deprecated_since: Option<String>,
    replacement: Option<String>,
    #[serde(default)]
    pub(super) members: BTreeMap<String, DocEntry>,
    #[serde(default)]
    pub(super) values: BTreeMap<String, DocEntry>,
    #[serde(default)]
    pub(super) variants: BTreeMap<String, DocEntry>,
    /// A Rust example, shown in the newest revision. It is compiled and run.
    pub(super) example: Option<String>,
    /// A JSON example, which is validated. By default, it is composed from [`DocBook::samples`].
    pub(super) json: Option<String>,
    /// What differs in individual revisions.
    #[serde(default, rename = "in")]
    pub(super) overrides: BTreeMap<String, Override>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MethodEntry {
    doc: String,
    deprecated_since: Option<String>,
    replacement: Option<String>,
    #[serde(default, rename = "in")]
    pub(super) overrides: BTreeMap<String, Override>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Override {
    pub(super) doc: Option<String>,
    #[serde(default)]
    pub(super) members: BTreeMap<String, DocEntry>,
    #[serde(default)]
    pub(super) values: BTreeMap<String, DocEntry>,
}

impl DocBook {
    /// Reads the documentation below a root. A missing folder means no documentation.
    ///
    /// # Errors
    /// Returns [`Error::Io`], or [`Error::Usage`] if a file is malformed or documents something twice.
    pub fn read(root: &Path) -> Result<DocBook, Error> {
        let folder = root.join(FOLDER);
        let mut book = DocBook::default();
        for path in files(&folder)? {
            book.add(&path)?;
            if book.module.is_some() {
                let why = "`module` belongs in the file of an extension";
                return Err(Error::Usage(format!("{}: {why}", path.display())));
            }
        }
        for path in files(&folder.join(EXTENSIONS))? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let extension = book.extensions.entry(name).or_default();
            extension.add(&path)?;
            if !extension.order.is_empty() {
                let why = "the shared order of the revisions holds for extensions as well; give types an order instead";
                return Err(Error::Usage(format!("{}: {why}", path.display())));
            }
        }
        Ok(book)
    }

    fn add(&mut self, path: &Path) -> Result<(), Error> {
        let text = std::fs::read_to_string(path).map_err(Error::io("reading", path))?;
        let wrong = |why: String| Error::Usage(format!("{}: {why}", path.display()));
        let file: DocBook = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let DocBook { module, order, types, methods, members, samples, .. } = file;
        self.module = module;
        if !order.is_empty() && !std::mem::replace(&mut self.order, order).is_empty() {
            return Err(wrong("the shared order is in another file as well; merge them".to_owned()));
        }
        merge(&mut self.samples, samples)
            .map_err(|key| wrong(format!("the sample {key} is in two files; merge them")))?;
        merge(&mut self.types, types).map_err(|key| wrong(format!("the type {key} has two entries; merge them")))?;
        merge(&mut self.methods, methods).map_err(|key| wrong(format!("{key} has two entries; merge them")))?;
        merge(&mut self.members, members)
            .map_err(|key| wrong(format!("the shared member {key} has two entries; merge them")))
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        let inner: usize =
            self.types.values().map(|entry| 1 + entry.members.len() + entry.values.len() + entry.variants.len()).sum();
        let extensions: usize = self.extensions.values().map(DocBook::len).sum();
        inner + self.methods.len() + self.members.len() + extensions
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the entry for an item of a revision or extension. For shared types, and for members that mean the same
    /// in every type, an extension uses the entries of its revision.
    pub(super) fn entry(&self, protocol: &Protocol, target: &DocTarget) -> Option<DocEntry> {
        let Some(extends) = &protocol.extends else { return self.own_entry(&protocol.revision, target) };
        if is_shared(protocol, target) {
            return self.own_entry(&extends.revision, target);
        }
        let own = self.extensions.get(&protocol.revision).and_then(|book| book.own_entry(&protocol.revision, target));
        own.or_else(|| match target {
            DocTarget::Member(_, member) => self.members.get(member).cloned(),
            _ => None,
        })
    }

    fn own_entry(&self, revision: &str, target: &DocTarget) -> Option<DocEntry> {
        match target {
            DocTarget::Type(name) => self.types.get(name).map(|it| it.to_entry(it.overrides.get(revision))),
            DocTarget::Method(method) => self.methods.get(method).map(|it| it.to_entry(it.overrides.get(revision))),
            DocTarget::Member(name, member) => {
                let own = self.types.get(name).and_then(|entry| {
                    let over = entry.overrides.get(revision).and_then(|over| over.members.get(member));
                    over.or(entry.members.get(member))
                });
                own.or(self.members.get(member)).cloned()
            }
            DocTarget::Value(name, value) => {
                let entry = self.types.get(name)?;
                let over = entry.overrides.get(revision).and_then(|over| over.values.get(value));
                over.or(entry.values.get(value)).cloned()
            }
            DocTarget::Variant(name, variant) => self.types.get(name)?.variants.get(variant).cloned(),
            DocTarget::Module => self.module.clone(),
        }
    }
}

impl TypeEntry {
    pub(super) fn to_entry(&self, over: Option<&Override>) -> DocEntry {
        whole(&self.doc, over, self.deprecated_since.as_ref(), self.replacement.as_ref())
    }
}

impl MethodEntry {
    pub(super) fn to_entry(&self, over: Option<&Override>) -> DocEntry {
        whole(&self.doc, over, self.deprecated_since.as_ref(), self.replacement.as_ref())
    }
}

/// Returns the TOML files in a folder, sorted. Returns none if the folder does not exist.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut paths = Vec::new();
    if !folder.is_dir() {
        return Ok(paths);
    }
    for entry in std::fs::read_dir(folder).map_err(Error::io("reading", folder))? {
        paths.push(entry.map_err(Error::io("reading", folder))?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    Ok(paths)
}

fn whole(doc: &str, over: Option<&Override>, since: Option<&String>, replacement: Option<&String>) -> DocEntry {
    let doc = over.and_then(|over| over.doc.as_deref()).unwrap_or(doc);
    DocEntry { doc: doc.trim().to_owned(), deprecated_since: since.cloned(), replacement: replacement.cloned() }
}

fn merge<T>(into: &mut BTreeMap<String, T>, from: BTreeMap<String, T>) -> Result<(), String> {
    for (key, value) in from {
        if into.insert(key.clone(), value).is_some() {
            return Err(key);
        }
    }
    Ok(())
}
