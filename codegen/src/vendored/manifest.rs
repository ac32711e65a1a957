//! Updates the features of the generated crate, one for each revision and extension, in a marked region of its
//! hand-written manifest. Default features are outside the region, because changing them breaks crates that depend on
//! `mcpgen-types` (VERSIONING.md).

use std::path::Path;

use mcpgen_model::{Check, Protocol, Shape};
use mcpgen_schema::Error;

use crate::vendored::workspace::Workspace;
use crate::write::Change;

const PATH: &str = "generated/Cargo.toml";
const BEGIN: &str = "# Kept by `mcpgen generate`: begin\n";
const END: &str = "# end\n";

/// Updates the region. With `check`, only returns the change.
pub(super) fn sync(workspace: &Workspace, extensions: &[Protocol], check: bool) -> Result<Option<Change>, Error> {
    let path = workspace.root.join(PATH);
    // Other projects do not have this crate.
    let Some(before) = Error::unless_missing(std::fs::read_to_string(&path), &path)? else { return Ok(None) };
    let before = before.replace("\r\n", "\n");
    let after = replaced(&before, &features(workspace, extensions)).ok_or_else(|| no_region(&path))?;
    if before == after {
        return Ok(None);
    }
    if !check {
        std::fs::write(&path, &after).map_err(Error::io("writing", &path))?;
    }
    Ok(Some(Change { path: "../Cargo.toml".to_owned(), before: Some(before), after: Some(after) }))
}

fn features(workspace: &Workspace, extensions: &[Protocol]) -> String {
    let modules: Vec<String> = workspace.revisions.iter().map(|revision| revision.module()).collect();
    let quoted = |names: &[String]| names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let mut text = format!("all-revisions = [{}]\n", quoted(&modules));
    modules.iter().for_each(|module| text.push_str(&format!("{module} = []\n")));
    if !extensions.is_empty() {
        let names: Vec<String> = workspace.extensions.iter().map(|extension| extension.feature.clone()).collect();
        text.push_str(&format!("all-extensions = [{}]\n", quoted(&names)));
    }
    for (row, protocol) in workspace.extensions.iter().zip(extensions) {
        text.push_str(&format!("{} = [{}]\n", row.feature, quoted(&needs(protocol))));
    }
    text
}

/// Returns the features that an extension's module needs: the one of its revision if it uses types of the revision, and
/// `pattern` for regular expressions.
fn needs(protocol: &Protocol) -> Vec<String> {
    let extends = protocol.extends.as_ref().filter(|extends| !extends.shared.is_empty());
    let core = extends.map(|extends| extends.module.clone());
    core.into_iter().chain(has_patterns(protocol).then(|| "pattern".to_owned())).collect()
}

fn has_patterns(protocol: &Protocol) -> bool {
    let in_shape = |shape: &Shape| match shape {
        Shape::Struct(body) => body.pattern.is_some(),
        shape => shape.checks().iter().any(Check::has_patterns),
    };
    let mut own = protocol.types.iter().enumerate().filter(|(id, _)| !protocol.is_shared(*id));
    protocol.checks.values().any(Check::has_patterns) || own.any(|(_, def)| in_shape(&def.shape))
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
