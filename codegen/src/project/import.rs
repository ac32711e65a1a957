//! Imports an official schema into the workspace: the schema without its prose, and a row in `revisions.toml`.

use std::path::Path;
use std::{fs, io};

use crate::build;
use crate::error::Error;
use crate::model::{Era, Protocol, Revision, Status, check_name, schema_path};
use crate::project::workspace::{FOLDER, Workspace};
use crate::project::write::{Change, Changes, replace};
use crate::schema::document::Document;
use crate::schema::facts_only;

/// The options of an import.
#[derive(Clone, Debug, Default)]
pub(crate) struct Import {
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
pub(crate) struct Imported {
    /// The row of the revision.
    pub row: Revision,
    /// The model of the schema.
    pub protocol: Protocol,
    /// The files below [`FOLDER`] that the import creates or changes.
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
pub(crate) fn import(workspace: Workspace, file: &Path, import: &Import) -> Result<Imported, Error> {
    let name = &import.revision;
    check_name(name)?;
    let document = Document::read(file)?;
    let status = import.status.unwrap_or(Status::of(name));
    let text = facts_only(&document);
    let protocol = build::model(document, name, status == Status::Released)?;
    build::model(Document::parse(schema_path(name), text.as_bytes())?, name, status == Status::Released)?;

    let era = import.era.unwrap_or(protocol.era);
    let row = Revision {
        name: name.clone(),
        status,
        era,
        rules: workspace.rules(name, era),
        upstream: import.upstream.clone().unwrap_or_else(|| schema_path(name)),
        sha256: protocol.sha256.clone(),
    };
    let folder = workspace.root.join(FOLDER);
    if let Some(released) = released_twin(&workspace, status, &text)? {
        let (changes, same_as) = (Changes::default(), Some(released));
        return Ok(Imported { row, protocol, changes, written: true, same_as });
    }
    let is_new = workspace.revision(name).is_err() && !workspace.root.join(schema_path(name)).exists();
    let workspace = workspace.with(row.clone())?;
    let mut changes = Changes::default();
    for (path, after) in [("revisions.toml".to_owned(), workspace.to_toml()), (format!("{name}/schema.json"), text)] {
        match read(&folder.join(&path))? {
            Some(before) if before == after => changes.unchanged += 1,
            before => changes.changes.push(Change { path, before, after: Some(after) }),
        }
    }
    let written = is_new || import.accept || changes.changes.is_empty();
    if written {
        replace(&folder, &changes.changes)?;
    }
    Ok(Imported { row, protocol, changes, written, same_as: None })
}

/// Returns the released revision that is equal to a draft. Between two releases, upstream's draft is a copy of the
/// newest one.
fn released_twin(workspace: &Workspace, status: Status, text: &str) -> Result<Option<String>, Error> {
    if status == Status::Released {
        return Ok(None);
    }
    for released in workspace.revisions.iter().filter(|row| row.status == Status::Released) {
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
