//! Imports an official schema into the workspace: the schema without its prose, and a row in `revisions.toml` or
//! `extensions.toml`.

use std::path::{Path, PathBuf};
use std::{fs, io};

use mcpgen_model::{
    Era, Extension, Mapping, Protocol, Revision, Status, check_name, extension_path, model, schema_path,
};
use mcpgen_schema::{Document, Error, facts_only};

use crate::vendored::extensions::{default_status, mapping_path, read_options};
use crate::vendored::workspace::{SCHEMAS, Workspace};
use crate::write::{Change, Changes, replace};

/// The options of an import.
#[derive(Clone, Debug, Default)]
pub struct Import {
    /// The name of the revision.
    pub revision: String,
    /// The status. By default, released if the name is a date.
    pub status: Option<Status>,
    /// The era. By default, legacy if `ClientRequest` contains `initialize`.
    pub era: Option<Era>,
    /// The path in the upstream repository. By default, `schema/<revision>/schema.json`.
    pub upstream: Option<String>,
    /// Whether an existing revision may change.
    pub accept: bool,
}

/// The result of an import.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The row of the revision.
    pub row: Revision,
    /// The model of the schema.
    pub protocol: Protocol,
    /// The files below [`SCHEMAS`] that the import creates or changes.
    pub changes: Changes,
    /// Whether the changes were written. `false` if they would change an existing revision, and `accept` is not set.
    pub written: bool,
    /// The released revision that is equal to the draft. Such a draft is not imported.
    pub same_as: Option<String>,
}

/// Imports a schema file. Nothing is written unless the generator understands both the file and the text without prose.
///
/// # Errors
/// The problems of the file; [`Error::Usage`] if the name of the revision is not valid; [`Error::Io`].
pub fn import(workspace: Workspace, file: &Path, import: &Import) -> Result<Imported, Error> {
    let name = &import.revision;
    check_name(name)?;
    let document = Document::read(file)?;
    let status = import.status.unwrap_or(Status::of(name));
    let text = facts_only(&document);
    let protocol = model(document, name, status == Status::Released)?;
    model(Document::parse(schema_path(name), text.as_bytes())?, name, status == Status::Released)?;

    let era = import.era.unwrap_or(protocol.era);
    let row = Revision {
        name: name.clone(),
        status,
        era,
        rules: workspace.rules(name, era),
        upstream: import.upstream.clone().unwrap_or_else(|| schema_path(name)),
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
    let (changes, written) = write(&folder, files, is_new || import.accept)?;
    Ok(Imported { row, protocol, changes, written, same_as: None })
}

/// The options of an import of an extension.
#[derive(Clone, Debug, Default)]
pub struct ImportExtension {
    /// The name of the extension.
    pub name: String,
    /// The version. By default, `draft`.
    pub version: Option<String>,
    /// The status. By default, a draft if the version is `draft` or the digest of a commit.
    pub status: Option<Status>,
    /// The revision whose types the extension uses. By default, that of an earlier import, or the newest released one.
    pub core: Option<String>,
    /// The repository and the path in it. By default, that of an earlier import, or the name of the file.
    pub upstream: Option<String>,
    /// The Rust module. By default, that of an earlier import, or the name.
    pub module: Option<String>,
    /// The feature. By default, that of an earlier import, or `ext-` and the name.
    pub feature: Option<String>,
    /// The file that lists the messages and their directions. By default, that of an earlier import.
    pub mapping: Option<PathBuf>,
    /// Whether an existing extension may change.
    pub accept: bool,
}

/// The result of an import of an extension.
#[derive(Clone, Debug)]
pub struct ImportedExtension {
    /// The row of the extension.
    pub row: Extension,
    /// The model of the schema.
    pub protocol: Protocol,
    /// The files below [`SCHEMAS`] that the import creates or changes.
    pub changes: Changes,
    /// Whether the changes were written. `false` if they would change an existing extension, and `accept` is not set.
    pub written: bool,
}

/// Imports the schema of an extension. Nothing is written unless the generator understands both the file and the text
/// without prose.
///
/// # Errors
/// The problems of the file; [`Error::Usage`] if a name is not valid; [`Error::Io`].
pub fn import_extension(
    workspace: Workspace,
    file: &Path,
    import: &ImportExtension,
) -> Result<ImportedExtension, Error> {
    let name = &import.name;
    check_name(name)?;
    let mapping_file = workspace.root.join(mapping_path(name));
    let mapping_text = match &import.mapping {
        Some(path) => Some(fs::read_to_string(path).map_err(Error::io("reading", path))?),
        None => read(&mapping_file)?,
    };
    let mapping = mapping_text.as_ref().map(|text| Mapping::parse(mapping_path(name), text)).transpose()?;
    let options = read_options(name);
    let document = Document::read_with(file, &options)?;
    let row = extension_row(&workspace, file, import, &document)?;
    let core = workspace.model(&row.core)?;
    let text = facts_only(&document);
    workspace.extended(document, mapping.clone(), &row, &core)?;
    let document = Document::parse_with(extension_path(name), text.as_bytes(), &options)?;
    let protocol = workspace.extended(document, mapping, &row, &core)?;

    let is_new = workspace.extension(name).is_none() && !workspace.root.join(extension_path(name)).exists();
    let folder = workspace.root.join(SCHEMAS);
    let workspace = workspace.with_extension(row.clone())?;
    let below = |path: String| path.strip_prefix("schema/").map(str::to_owned).unwrap_or(path);
    let mapping = mapping_text.map(|text| (below(mapping_path(name)), text));
    let files = [("extensions.toml".to_owned(), workspace.extensions_toml()), (below(extension_path(name)), text)];
    let (changes, written) = write(&folder, files.into_iter().chain(mapping), is_new || import.accept)?;
    Ok(ImportedExtension { row, protocol, changes, written })
}

fn extension_row(
    workspace: &Workspace,
    file: &Path,
    import: &ImportExtension,
    document: &Document,
) -> Result<Extension, Error> {
    let name = &import.name;
    let known = workspace.extension(name);
    let newest = || workspace.revisions.iter().rfind(|row| row.status == Status::Released).map(|row| row.name.clone());
    let core = import.core.clone().or_else(|| known.map(|row| row.core.clone())).or_else(newest);
    let core = core.ok_or_else(|| {
        Error::Usage("an extension extends a released revision, and none is imported; import one first".to_owned())
    })?;
    let file_name = || file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let version = import.version.clone().unwrap_or_else(|| "draft".to_owned());
    let or_known = |given: &Option<String>, of: fn(&Extension) -> &String| {
        given.clone().or_else(|| known.map(|row| of(row).clone()))
    };
    Ok(Extension {
        name: name.clone(),
        status: import.status.unwrap_or_else(|| default_status(&version)),
        version,
        core,
        upstream: or_known(&import.upstream, |row| &row.upstream).unwrap_or_else(file_name),
        sha256: document.sha256.clone(),
        module: or_known(&import.module, |row| &row.module).unwrap_or_else(|| Extension::module_of(name)),
        feature: or_known(&import.feature, |row| &row.feature).unwrap_or_else(|| Extension::feature_of(name)),
    })
}

/// Writes files, unless one of them would change and `may_change` is not set.
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

/// Returns another released revision that is equal to a draft. Between two releases, upstream's draft is a copy of the
/// newest one.
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
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("reading", path)(error)),
    }
}
