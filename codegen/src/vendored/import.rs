//! Imports an official schema into the workspace: the schema without prose, and a row in `revisions.toml` or
//! `extensions.toml`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use mcpgen_model::{
    Era, Extension, Mapping, Protocol, Revision, Status, check_name, extension_path, model, schema_path,
};
use mcpgen_schema::{Document, Error, facts_only};

use crate::vendored::extensions::{default_status, mapping_path, read_options};
use crate::vendored::workspace::{SCHEMAS, Workspace};
use crate::write::{Change, Changes, replace};

/// The options of an import of a revision or an extension.
#[derive(Clone, Debug, Default, Args)]
pub struct ImportOptions {
    /// The version of the extension: a release, a date or a commit [default: draft]
    #[arg(long, value_name = "VERSION", requires = "extension")]
    pub version: Option<String>,
    /// Whether the schema is final [default: released if the name of the revision is a date, or if the version of the
    /// extension is neither `draft` nor a commit]
    #[arg(long, value_enum)]
    pub status: Option<Status>,
    /// How connections begin [default: legacy if clients send `initialize`]
    #[arg(long, value_enum)]
    pub era: Option<Era>,
    /// The path of the file in the upstream repository [default: schema/REV/schema.json, or the name of the file]
    #[arg(long, value_name = "PATH")]
    pub upstream: Option<String>,
    /// The revision whose types the extension uses [default: the newest released one]
    #[arg(long, value_name = "REV", requires = "extension")]
    pub core: Option<String>,
    /// The Rust module of the extension, below `ext` [default: its name]
    #[arg(long, value_name = "NAME", requires = "extension")]
    pub module: Option<String>,
    /// The feature of the extension [default: ext-NAME]
    #[arg(long, value_name = "NAME", requires = "extension")]
    pub feature: Option<String>,
    /// A file that lists the messages of the extension, with their directions
    #[arg(long, value_name = "FILE", requires = "extension")]
    pub protocol: Option<PathBuf>,
    /// Change an existing revision or extension
    #[arg(long)]
    pub accept: bool,
}

/// The result of an import.
#[derive(Clone, Debug)]
pub struct Imported<Row> {
    /// The new row.
    pub row: Row,
    /// The schema's model.
    pub protocol: Protocol,
    /// Files below [`SCHEMAS`] that are created or changed.
    pub changes: Changes,
    /// Whether the changes were written. `false` if they concern an existing revision or extension and `accept` is not
    /// set.
    pub written: bool,
    /// The released revision that the draft is identical to. Such a draft is not imported.
    pub same_as: Option<String>,
}

/// Imports a revision's schema. Writes nothing unless the generator understands both the file and its version without
/// prose.
///
/// # Errors
/// Returns the problems of the file, [`Error::Io`], or [`Error::Usage`] if the revision's name is invalid.
pub fn import(
    workspace: Workspace,
    file: &Path,
    name: &str,
    options: &ImportOptions,
) -> Result<Imported<Revision>, Error> {
    check_name(name)?;
    let document = Document::read(file)?;
    let status = options.status.unwrap_or(Status::of(name));
    let text = facts_only(&document);
    let protocol = model(document, name, status == Status::Released)?;
    model(Document::parse(schema_path(name), text.as_bytes())?, name, status == Status::Released)?;

    let era = options.era.unwrap_or(protocol.era);
    let row = Revision {
        name: name.to_owned(),
        status,
        era,
        rules: workspace.rules(name, era),
        upstream: options.upstream.clone().unwrap_or_else(|| schema_path(name)),
        sha256: protocol.sha256.clone(),
    };
    let folder = workspace.root.join(SCHEMAS);
    if let Some(released) = released_twin(&workspace, name, status, &text)? {
        let (changes, same_as) = (Changes::default(), Some(released));
        return Ok(Imported { row, protocol, changes, written: true, same_as });
    }
    let is_new = workspace.revision(name).is_err() && !workspace.root.join(schema_path(name)).exists();
    let workspace = workspace.with(row.clone())?;
    let files = [("revisions.toml".to_owned(), workspace.to_toml()), (format!("{name}/schema.json"), text)];
    let (changes, written) = write(&folder, files, is_new || options.accept)?;
    Ok(Imported { row, protocol, changes, written, same_as: None })
}

/// Imports an extension's schema. Writes nothing unless the generator understands both the file and its version without
/// prose.
///
/// # Errors
/// Returns the problems of the file, [`Error::Io`], or [`Error::Usage`] if a name is invalid.
pub fn import_extension(
    workspace: Workspace,
    file: &Path,
    name: &str,
    options: &ImportOptions,
) -> Result<Imported<Extension>, Error> {
    check_name(name)?;
    let mapping_file = workspace.root.join(mapping_path(name));
    let mapping_text = match &options.protocol {
        Some(path) => Some(fs::read_to_string(path).map_err(Error::io("reading", path))?),
        None => read(&mapping_file)?,
    };
    let mapping = mapping_text.as_ref().map(|text| Mapping::parse(mapping_path(name), text)).transpose()?;
    let reading = read_options(name);
    let document = Document::read_with(file, &reading)?;
    let row = extension_row(&workspace, file, name, options, &document)?;
    let core = workspace.model(&row.core)?;
    let text = facts_only(&document);
    workspace.extended(document, mapping.clone(), &row, &core)?;
    let document = Document::parse_with(extension_path(name), text.as_bytes(), &reading)?;
    let protocol = workspace.extended(document, mapping, &row, &core)?;

    let is_new = workspace.extension(name).is_none() && !workspace.root.join(extension_path(name)).exists();
    let folder = workspace.root.join(SCHEMAS);
    let workspace = workspace.with_extension(row.clone())?;
    let below = |path: String| path.strip_prefix("schema/").map(str::to_owned).unwrap_or(path);
    let mapping = mapping_text.map(|text| (below(mapping_path(name)), text));
    let files = [("extensions.toml".to_owned(), workspace.extensions_toml()), (below(extension_path(name)), text)];
    let (changes, written) = write(&folder, files.into_iter().chain(mapping), is_new || options.accept)?;
    Ok(Imported { row, protocol, changes, written, same_as: None })
}

fn extension_row(
    workspace: &Workspace,
    file: &Path,
    name: &str,
    options: &ImportOptions,
    document: &Document,
) -> Result<Extension, Error> {
    let known = workspace.extension(name);
    let newest = || workspace.revisions.iter().rfind(|row| row.status == Status::Released).map(|row| row.name.clone());
    let core = options.core.clone().or_else(|| known.map(|row| row.core.clone())).or_else(newest);
    let core = core.ok_or_else(|| {
        Error::Usage("an extension extends a released revision, and none is imported; import one first".to_owned())
    })?;
    let file_name = || file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let version = options.version.clone().unwrap_or_else(|| "draft".to_owned());
    let or_known = |given: &Option<String>, of: fn(&Extension) -> &String| {
        given.clone().or_else(|| known.map(|row| of(row).clone()))
    };
    Ok(Extension {
        name: name.to_owned(),
        status: options.status.unwrap_or_else(|| default_status(&version)),
        version,
        core,
        upstream: or_known(&options.upstream, |row| &row.upstream).unwrap_or_else(file_name),
        sha256: document.sha256.clone(),
        module: or_known(&options.module, |row| &row.module).unwrap_or_else(|| Extension::module_of(name)),
        feature: or_known(&options.feature, |row| &row.feature).unwrap_or_else(|| Extension::feature_of(name)),
    })
}

/// Writes files. Unless `may_change` is set, writes nothing if any file would change.
fn write(
    folder: &Path,
    files: impl IntoIterator<Item = (String, String)>,
    may_change: bool,
) -> Result<(Changes, bool), Error> {
    let mut changes = Changes::default();
    for (path, after) in files {
        match read(&folder.join(&path))? {
            Some(before) if before == after => changes.unchanged += 1,
            before => changes.changes.push(Change { path, before, after: Some(after) }),
        }
    }
    let written = may_change || changes.changes.is_empty();
    if written {
        replace(folder, &changes.changes)?;
    }
    Ok((changes, written))
}

/// Returns a released revision that is identical to a draft. Until upstream's draft changes, it is a copy of the
/// newest release.
fn released_twin(workspace: &Workspace, name: &str, status: Status, text: &str) -> Result<Option<String>, Error> {
    if status == Status::Released {
        return Ok(None);
    }
    let others = workspace.revisions.iter().filter(|row| row.name != name);
    for released in others.filter(|row| row.status == Status::Released) {
        if read(&workspace.root.join(schema_path(&released.name)))?.as_deref() == Some(text) {
            return Ok(Some(released.name.clone()));
        }
    }
    Ok(None)
}

fn read(path: &Path) -> Result<Option<String>, Error> {
    let bytes = Error::unless_missing(fs::read(path), path)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}
