//! Reads documents together with those they reference: files in the document's folder or in a schema folder that the
//! caller names. Nothing is fetched from the network.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use indexmap::IndexMap;

use crate::document::{Document, MAX_BYTES, ReadOptions, declared_dialect};
use crate::error::{Error, Problem};
use crate::json::Json;
use crate::json::pointer::escape;
use crate::metaschemas::Metaschema;
use crate::references::{MissingDocument, free_name, has_dynamic_anchor, missing_documents};
use crate::text::sha256;
use crate::uri::split_fragment;

impl Document {
    /// Reads a file.
    ///
    /// # Errors
    /// Returns [`Error::Io`], [`Error::Json`], or [`Error::Schema`] if the file is too large or not a schema in a known
    /// dialect.
    pub fn read(path: &Path) -> Result<Document, Error> {
        Document::read_with(path, &ReadOptions::default())
    }

    /// Reads a file with options.
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn read_with(path: &Path, options: &ReadOptions) -> Result<Document, Error> {
        let file = path.display().to_string();
        let size = std::fs::metadata(path).map_err(Error::io("reading", path))?.len();
        if size > MAX_BYTES {
            return Err(too_large(&file, size));
        }
        let bytes = std::fs::read(path).map_err(Error::io("reading", path))?;
        let folder = options.folder.as_deref().or(path.parent());
        Document::with_files(file, &bytes, options, folder, Some(path))
    }

    /// Parses a schema. Messages call it `file`.
    ///
    /// # Errors
    /// Returns [`Error::Json`], or [`Error::Schema`] if it is too large or not a schema in a known dialect.
    pub fn parse(file: impl Into<String>, bytes: &[u8]) -> Result<Document, Error> {
        Document::parse_with(file, bytes, &ReadOptions::default())
    }

    /// Parses a schema with options.
    ///
    /// # Errors
    /// See [`Self::parse`].
    pub fn parse_with(file: impl Into<String>, bytes: &[u8], options: &ReadOptions) -> Result<Document, Error> {
        Document::with_files(file.into(), bytes, options, options.folder.as_deref(), None)
    }

    fn with_files(
        file: String,
        bytes: &[u8],
        options: &ReadOptions,
        folder: Option<&Path>,
        path: Option<&Path>,
    ) -> Result<Document, Error> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(too_large(&file, bytes.len() as u64));
        }
        let root = Json::read(&file, bytes)?;
        let document = Document::of(file, root, sha256(bytes), options)?;
        let named = options.schema_folder.as_deref();
        Bundle { document, folder, named, own: path, sources: HashMap::new(), rest: MAX_BYTES, digests: Vec::new() }
            .complete()
    }
}

const MAX_DOCUMENTS: usize = 200;

/// A document, and what is needed to add those that it references.
struct Bundle<'a> {
    document: Document,
    folder: Option<&'a Path>,
    /// [`ReadOptions::schema_folder`].
    named: Option<&'a Path>,
    own: Option<&'a Path>,
    /// The files of the added documents, by URI.
    sources: HashMap<String, PathBuf>,
    /// The number of bytes that further documents may take.
    rest: u64,
    digests: Vec<String>,
}

impl Bundle<'_> {
    /// Adds all documents that are referenced, directly or indirectly. A reference without a file stays, and is
    /// reported later with the other problems of the schema.
    fn complete(mut self) -> Result<Document, Error> {
        let mut tried = HashSet::new();
        let mut is_complete = false;
        while !is_complete {
            is_complete = true;
            for missing in missing_documents(&self.document) {
                if Metaschema::of_uri(&missing.uri).is_some() || !tried.insert(missing.uri.clone()) {
                    continue;
                }
                let Some(path) = self.file(&missing) else { continue };
                match self.add_file(&missing.uri, &path)? {
                    Ok(()) => is_complete = false,
                    Err(why) => drop(self.document.refused.insert(missing.uri, format!("{}: {why}", path.display()))),
                }
            }
        }
        // Metaschemas come last, because an anchor in any other document can change what they refer to.
        for missing in missing_documents(&self.document) {
            if let Some(metaschema) = Metaschema::of_uri(&missing.uri).filter(|_| tried.insert(missing.uri.clone()))
                && let Err(why) = self.add_metaschema(&missing.uri, &metaschema)?
            {
                self.document.refused.insert(missing.uri, why);
            }
        }
        if !self.digests.is_empty() {
            let all = [&self.document.sha256].into_iter().chain(&self.digests);
            self.document.sha256 = sha256(all.map(String::as_str).collect::<String>());
        }
        Ok(self.document)
    }

    /// Looks for a document at the path of its reference, below the folder of the referring document, then in the
    /// schema folder.
    fn file(&self, missing: &MissingDocument) -> Option<PathBuf> {
        let path = split_fragment(&missing.reference).0;
        let path = path.strip_prefix("./").unwrap_or(path);
        let source = self.sources.get(&missing.base).map(PathBuf::as_path);
        let folder = source.map_or(self.folder, Path::parent);
        // A schema must not reach files outside the folder.
        let is_below = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        let relative = folder.filter(|_| is_below).map(|folder| folder.join(path));
        let name = path.rsplit('/').next().filter(|name| !matches!(*name, "" | "." | ".."));
        let named = self.named.zip(name);
        let named =
            named.into_iter().flat_map(|(folder, name)| [folder.join(name), folder.join(format!("{name}.json"))]);
        // A stub that only refers to a published schema often has the same file name. It must not be found as its own
        // target.
        let source = source.or(self.own).and_then(|path| path.canonicalize().ok());
        let named = named.filter(|path| source.is_none() || path.canonicalize().ok() != source);
        relative.into_iter().chain(named).find(|path| path.is_file())
    }

    /// Adds a metaschema. The inner error says why it cannot be added.
    fn add_metaschema(&mut self, uri: &str, metaschema: &Metaschema) -> Result<Result<(), String>, Error> {
        if metaschema.dynamic_anchor().is_some_and(|anchor| has_dynamic_anchor(&self.document, anchor)) {
            return Ok(Err("an anchor of this document changes what that refers to".to_owned()));
        }
        let json = Json::read(uri, metaschema.json.as_bytes())?;
        Ok(self.add(uri, &format!("json-schema-{}", metaschema.dialect), json))
    }

    /// Adds the document in a file. The inner error says why it cannot be added.
    fn add_file(&mut self, uri: &str, path: &Path) -> Result<Result<(), String>, Error> {
        if self.document.files.len() >= MAX_DOCUMENTS {
            return Ok(Err(format!("there are more than {MAX_DOCUMENTS} files")));
        }
        let size = std::fs::metadata(path).map_err(Error::io("reading", path))?.len();
        if size > self.rest {
            return Ok(Err(format!("all files together have more than {MAX_BYTES} bytes")));
        }
        let bytes = std::fs::read(path).map_err(Error::io("reading", path))?;
        let json = Json::read(&path.display().to_string(), &bytes)?;
        let own = self.document.dialect;
        let declared = json.as_object().and_then(declared_dialect);
        if let Some(other) = declared.filter(|dialect| *dialect != own) {
            return Ok(Err(format!("it is written in {other}, and the schema in {own}")));
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if let Err(why) = self.add(uri, stem.strip_suffix(".schema").unwrap_or(&stem), json) {
            return Ok(Err(why));
        }
        self.rest -= size;
        self.digests.push(sha256(&bytes));
        self.sources.insert(uri.to_owned(), path.to_owned());
        self.document.files.push(path.to_owned());
        Ok(Ok(()))
    }

    /// Adds a document as a definition, or returns why it cannot be one.
    fn add(&mut self, uri: &str, name: &str, json: Json) -> Result<(), String> {
        if json.as_object().is_none() {
            return Err("it is not an object".to_owned());
        }
        let container = self.document.container();
        let Json::Object(root) = &mut self.document.root else {
            return Err("the schema has no definitions".to_owned());
        };
        let definitions = root.entry(container.to_owned()).or_insert_with(|| Json::Object(IndexMap::new()));
        let Json::Object(definitions) = definitions else { return Err("the schema has no definitions".to_owned()) };
        let name = free_name(definitions, name.to_owned());
        self.document.added.insert(format!("/{container}/{}", escape(&name)), uri.to_owned());
        definitions.insert(name, json);
        Ok(())
    }
}

fn too_large(file: &str, size: u64) -> Error {
    let why = format!("the file has {size} bytes, more than the limit of {MAX_BYTES}");
    Error::Schema(vec![Problem::new(file, "", why, "check the path; official schemas have less than 200 KB")])
}
