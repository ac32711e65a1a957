//! Reads documents. Those that references lead to become definitions: files in the folder of the document, or in a folder of
//! schemas that the caller names. Nothing is read from the network.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use indexmap::IndexMap;
use sha2::{Digest, Sha256};

use crate::document::{Document, MAX_BYTES, ReadOptions, declared_dialect};
use crate::error::{Error, Problem};
use crate::json::Json;
use crate::references::missing_documents;
use crate::text::hex;

impl Document {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Json`], or [`Error::Schema`] if it is too large or not a schema of a known dialect.
    pub fn read(path: &Path) -> Result<Document, Error> {
        Document::read_with(path, &ReadOptions::default())
    }

    /// Reads a file, with options.
    ///
    /// # Errors
    /// The errors of [`Self::read`].
    pub fn read_with(path: &Path, options: &ReadOptions) -> Result<Document, Error> {
        let file = path.display().to_string();
        let size = std::fs::metadata(path).map_err(Error::io("reading", path))?.len();
        if size > MAX_BYTES {
            return Err(too_large(&file, size));
        }
        let bytes = std::fs::read(path).map_err(Error::io("reading", path))?;
        Document::bundled(file, &bytes, options, path.parent())
    }

    /// Reads bytes. Messages refer to them as `file`.
    ///
    /// # Errors
    /// [`Error::Json`], or [`Error::Schema`] if it is too large or not a schema of a known dialect.
    pub fn parse(file: impl Into<String>, bytes: &[u8]) -> Result<Document, Error> {
        Document::parse_with(file, bytes, &ReadOptions::default())
    }

    /// Reads bytes, with options.
    ///
    /// # Errors
    /// The errors of [`Self::parse`].
    pub fn parse_with(file: impl Into<String>, bytes: &[u8], options: &ReadOptions) -> Result<Document, Error> {
        Document::bundled(file.into(), bytes, options, None)
    }

    fn bundled(file: String, bytes: &[u8], options: &ReadOptions, folder: Option<&Path>) -> Result<Document, Error> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(too_large(&file, bytes.len() as u64));
        }
        let root = Json::read(&file, bytes)?;
        let mut document = Document::of(file, root, hex(&Sha256::digest(bytes)), options)?;
        bundle(&mut document, &Folders { own: folder, named: options.schema_folder.as_deref() })?;
        Ok(document)
    }
}

/// The maximum number of documents that are added to one.
const MAX_DOCUMENTS: usize = 200;

/// The folders with the documents that references may lead to.
struct Folders<'a> {
    /// The folder of the document.
    own: Option<&'a Path>,
    /// The folder that the caller names.
    named: Option<&'a Path>,
}

impl Folders<'_> {
    /// Returns the file of a reference: the path that it states below the document's own folder, or its last segment in
    /// the named folder.
    fn file(&self, reference: &str) -> Option<PathBuf> {
        let reference = reference.split('#').next().unwrap_or_default();
        let relative = Path::new(reference.strip_prefix("./").unwrap_or(reference));
        // A schema must not lead to files outside the folder.
        let is_below = !reference.is_empty() && relative.components().all(|part| matches!(part, Component::Normal(_)));
        let own = self.own.filter(|_| is_below).map(|folder| folder.join(relative));
        let name = reference.rsplit('/').next().filter(|name| !name.is_empty() && *name != "..");
        let named = self.named.zip(name).map(|(folder, name)| folder.join(name));
        let with_suffix = |path: PathBuf| match path.extension() {
            Some(_) => path,
            None => path.with_extension("json"),
        };
        own.into_iter()
            .chain(named.into_iter().flat_map(|path| [path.clone(), with_suffix(path)]))
            .find(|it| it.is_file())
    }
}

/// Adds the documents that a document refers to, directly or through others. A reference without a file stays, and is a
/// problem later.
///
/// # Errors
/// [`Error::Io`] and [`Error::Json`] of the files that exist.
fn bundle(document: &mut Document, folders: &Folders<'_>) -> Result<(), Error> {
    let mut tried = HashSet::new();
    let mut digests = Vec::new();
    let mut rest = MAX_BYTES;
    loop {
        let mut added = false;
        for (uri, reference) in missing_documents(document) {
            if document.files.len() >= MAX_DOCUMENTS || !tried.insert(uri.clone()) {
                continue;
            }
            let Some(path) = folders.file(&reference) else { continue };
            let Some(json) = read(&path, &mut rest, &mut digests)? else { continue };
            added |= add(document, &uri, &path, json);
        }
        if !added {
            break;
        }
    }
    if !digests.is_empty() {
        // The order of references does not depend on the machine, so neither does the digest.
        document.sha256 =
            hex(&Sha256::digest([document.sha256.clone()].into_iter().chain(digests).collect::<String>()));
    }
    Ok(())
}

/// Reads a document, unless it has more than the `rest` of the bytes that all documents together may have.
fn read(path: &Path, rest: &mut u64, digests: &mut Vec<String>) -> Result<Option<Json>, Error> {
    let size = std::fs::metadata(path).map_err(Error::io("reading", path))?.len();
    if size > *rest {
        return Ok(None);
    }
    *rest -= size;
    let bytes = std::fs::read(path).map_err(Error::io("reading", path))?;
    digests.push(hex(&Sha256::digest(&bytes)));
    Json::read(&path.display().to_string(), &bytes).map(Some)
}

/// Adds a document as a definition. Returns whether it can be one: it is an object, and in the same dialect.
fn add(document: &mut Document, uri: &str, path: &Path, json: Json) -> bool {
    let Json::Object(mut members) = json else { return false };
    if declared_dialect(&members).is_some_and(|dialect| dialect != document.dialect) {
        return false;
    }
    // References find the document by the URI that they resolve to, which its own may spell differently.
    members.insert(document.dialect.id().to_owned(), Json::String(uri.to_owned()));
    let container = document.container();
    let Json::Object(root) = &mut document.root else { return false };
    let definitions = root.entry(container.to_owned()).or_insert_with(|| Json::Object(IndexMap::new()));
    let Json::Object(definitions) = definitions else { return false };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.strip_suffix(".schema").unwrap_or(&stem).to_owned();
    let mut name = stem.clone();
    let mut number = 2;
    while definitions.contains_key(&name) {
        name = format!("{stem}{number}");
        number += 1;
    }
    definitions.insert(name, Json::Object(members));
    document.files.push(path.to_owned());
    true
}

fn too_large(file: &str, size: u64) -> Error {
    Error::Schema(vec![Problem {
        file: file.to_owned(),
        definition: String::new(),
        pointer: String::new(),
        keyword: String::new(),
        why: format!("the file has {size} bytes, more than the limit of {MAX_BYTES}"),
        remedy: "check the path; official schemas have less than 200 KB".into(),
    }])
}
