//! Updates the features of the generated crate, one per revision, in a marked region of its hand-written manifest.

use std::path::Path;

use crate::error::Error;
use crate::model::Status;
use crate::project::workspace::Workspace;
use crate::project::write::Change;

const PATH: &str = "generated/Cargo.toml";
const BEGIN: &str = "# Kept by `mcpgen generate`: begin\n";
const END: &str = "# end\n";

/// Updates the region, or with `check` only returns the change.
///
/// # Errors
/// [`Error::Usage`] if the file has no such region; [`Error::Io`].
pub(super) fn sync(workspace: &Workspace, check: bool) -> Result<Option<Change>, Error> {
    let path = workspace.root.join(PATH);
    let before = match std::fs::read_to_string(&path) {
        Ok(text) => text.replace("\r\n", "\n"),
        // A project without this crate has no features to update.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("reading", path)(error)),
    };
    let after = replaced(&before, &features(workspace)).ok_or_else(|| no_region(&path))?;
    if before == after {
        return Ok(None);
    }
    if !check {
        std::fs::write(&path, &after).map_err(Error::io("writing", &path))?;
    }
    Ok(Some(Change { path: "Cargo.toml".to_owned(), before: Some(before), after: Some(after) }))
}

fn features(workspace: &Workspace) -> String {
    let modules: Vec<String> = workspace.revisions.iter().map(|revision| revision.module()).collect();
    let newest = workspace.revisions.iter().rfind(|revision| revision.status == Status::Released);
    let quoted = |names: &[String]| names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let mut text =
        format!("default = [{}]\n", quoted(&newest.map(|revision| revision.module()).into_iter().collect::<Vec<_>>()));
    text.push_str(&format!("all-revisions = [{}]\n", quoted(&modules)));
    modules.iter().for_each(|module| text.push_str(&format!("{module} = []\n")));
    text
}

fn replaced(text: &str, region: &str) -> Option<String> {
    let start = text.find(BEGIN)? + BEGIN.len();
    let end = start + text[start..].find(END)?;
    Some(format!("{}{region}{}", &text[..start], &text[end..]))
}

fn no_region(path: &Path) -> Error {
    Error::Usage(format!(
        "{} has no section for the features of revisions; add the lines `{}` and `{}` below `[features]`",
        path.display(),
        BEGIN.trim_end(),
        END.trim_end()
    ))
}
