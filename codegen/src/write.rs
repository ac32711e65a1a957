//! Compares generated files with those on disk, and replaces them. Nothing else writes files that begin with [`MARK`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use mcpgen_schema::Error;

use crate::emit::file::MARK;

/// The changes in a folder.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The files that differ.
    pub changes: Vec<Change>,
    /// The number of unchanged files.
    pub unchanged: usize,
}

/// A file that is created (`before` is `None`), changed, or removed (`after` is `None`).
#[derive(Clone, Debug)]
pub struct Change {
    /// The path relative to the folder, with `/` as separator.
    pub path: String,
    /// The old text.
    pub before: Option<String>,
    /// The new text.
    pub after: Option<String>,
}

/// Writes generated files below `dir`, or with `check` only compares them. `files` maps paths below `dir` to texts.
///
/// Generated files that are not in `files` are removed; they are recognised by [`MARK`] at their start. Other files are
/// never touched. If an error occurs, all files are as before.
pub(crate) fn sync(dir: &Path, files: &BTreeMap<String, String>, check: bool) -> Result<Changes, Error> {
    let mut changes = Changes::default();
    for (path, text) in files {
        if !text.starts_with(MARK) {
            return Err(Error::Defect(format!("the text of {path} does not begin with `{MARK}`")));
        }
        let before = generated(dir, path)?;
        if before.as_deref() == Some(text.as_bytes()) {
            changes.unchanged += 1;
        } else {
            let before = before.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            changes.changes.push(Change { path: path.clone(), before, after: Some(text.clone()) });
        }
    }
    stale(dir, "", files, &mut changes.changes)?;
    changes.changes.sort_by(|a, b| a.path.cmp(&b.path));
    if !check {
        replace(dir, &changes.changes)?;
    }
    Ok(changes)
}

impl Changes {
    /// Returns the changes as a unified diff. Paths start with `folder`.
    pub fn diff(&self, folder: &str) -> String {
        self.changes.iter().map(|change| change.diff(folder)).collect()
    }
}

impl Change {
    /// Returns the change as a unified diff. Paths start with `folder`.
    pub fn diff(&self, folder: &str) -> String {
        let name = |side: &str, text: &Option<String>| match text {
            Some(_) => {
                let parts = [side, folder.trim_matches('/'), &self.path];
                parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
            }
            None => "/dev/null".to_owned(),
        };
        let (before, after) = (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        // If the time is up, the diff is longer than necessary, but still correct.
        let diff = similar::TextDiff::configure().timeout(Duration::from_secs(5)).diff_lines(before, after);
        diff.unified_diff().header(&name("a", &self.before), &name("b", &self.after)).to_string()
    }
}

fn generated(dir: &Path, path: &str) -> Result<Option<Vec<u8>>, Error> {
    let full = dir.join(path);
    for folder in full.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
        // The caller chose `dir`, so it may be a symbolic link. A link below it would lead elsewhere.
        let is_below = folder != dir && folder.starts_with(dir);
        match folder.symlink_metadata() {
            Ok(metadata) if !metadata.is_dir() && (is_below || !folder.is_dir()) => return Err(in_the_way(folder)),
            Ok(_) if !is_below => break,
            _ => {}
        }
    }
    match Error::unless_missing(full.symlink_metadata(), &full)? {
        None => Ok(None),
        Some(metadata) if !metadata.is_file() => Err(in_the_way(&full)),
        Some(_) => {
            let bytes = fs::read(&full).map_err(Error::io("reading", &full))?;
            if bytes.starts_with(MARK.as_bytes()) { Ok(Some(bytes)) } else { Err(in_the_way(&full)) }
        }
    }
}

fn in_the_way(path: &Path) -> Error {
    Error::Usage(format!("{} exists and was not written by mcpgen; move it, or choose another folder", path.display()))
}

fn stale(dir: &Path, prefix: &str, wanted: &BTreeMap<String, String>, changes: &mut Vec<Change>) -> Result<(), Error> {
    let folder = dir.join(prefix);
    let Some(entries) = Error::unless_missing(fs::read_dir(&folder), &folder)? else { return Ok(()) };
    for entry in entries {
        let entry = entry.map_err(Error::io("reading", &folder))?;
        // The names of generated files are always UTF-8.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let kind = entry.file_type().map_err(Error::io("reading", entry.path()))?;
        if kind.is_dir() {
            stale(dir, &path, wanted, changes)?;
        } else if kind.is_file() && path.ends_with(".rs") && !wanted.contains_key(&path) {
            let bytes = fs::read(entry.path()).map_err(Error::io("reading", entry.path()))?;
            if bytes.starts_with(MARK.as_bytes()) {
                let before = Some(String::from_utf8_lossy(&bytes).into_owned());
                changes.push(Change { path, before, after: None });
            }
        }
    }
    Ok(())
}

/// Makes all changes below `dir`, or none of them.
///
/// Stages new texts in a temporary folder next to `dir`, on the same file system. After that, only renames are left,
/// which can be undone.
pub(crate) fn replace(dir: &Path, changes: &[Change]) -> Result<(), Error> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut folder = Undo::default();
    folder.create_dir(dir)?;
    let dir = &dir.canonicalize().map_err(Error::io("finding", dir))?;
    let beside = dir.parent().unwrap_or(dir);
    let staged =
        tempfile::Builder::new().prefix(".mcpgen-").tempdir_in(beside).map_err(Error::io("writing in", beside))?;
    let new = |index: usize| staged.path().join(format!("{index}.new"));
    let old = |index: usize| staged.path().join(format!("{index}.old"));
    for (index, change) in changes.iter().enumerate() {
        if let Some(text) = &change.after {
            fs::write(new(index), text).map_err(Error::io("writing", new(index)))?;
        }
    }
    // This must be dropped before `staged`, which contains the old files.
    let mut undo = Undo::default();
    for (index, change) in changes.iter().enumerate() {
        let path = dir.join(&change.path);
        if change.before.is_some() {
            undo.rename(&path, &old(index)).map_err(Error::io("replacing", &path))?;
        }
        if change.after.is_some() {
            undo.create_dir(path.parent().unwrap_or(dir))?;
            undo.rename(&new(index), &path).map_err(Error::io("writing", &path))?;
        }
    }
    undo.steps.clear();
    folder.steps.clear();
    for change in changes.iter().filter(|change| change.after.is_none()) {
        remove_empty(dir, &change.path);
    }
    Ok(())
}

fn remove_empty(dir: &Path, path: &str) {
    for folder in Path::new(path).ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
        // This fails if the folder is not empty, as intended.
        if fs::remove_dir(dir.join(folder)).is_err() {
            return;
        }
    }
}

/// Undoes its steps in reverse order when it is dropped.
#[derive(Default)]
struct Undo {
    steps: Vec<Step>,
}

enum Step {
    Created(PathBuf),
    Renamed(PathBuf, PathBuf),
}

impl Undo {
    fn create_dir(&mut self, dir: &Path) -> Result<(), Error> {
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let missing: Vec<&Path> = dir.ancestors().take_while(missing).collect();
        for folder in missing.into_iter().rev() {
            fs::create_dir(folder).map_err(Error::io("creating", folder))?;
            self.steps.push(Step::Created(folder.to_owned()));
        }
        Ok(())
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)?;
        self.steps.push(Step::Renamed(from.to_owned(), to.to_owned()));
        Ok(())
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        for step in self.steps.drain(..).rev() {
            // The first error has already been reported.
            let _ = match step {
                Step::Created(folder) => fs::remove_dir(folder),
                Step::Renamed(from, to) => fs::rename(to, from),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, before: Option<&str>, after: Option<&str>) -> Change {
        Change { path: path.into(), before: before.map(str::to_owned), after: after.map(str::to_owned) }
    }

    #[test]
    fn undoes_partial_changes() {
        let home = tempfile::tempdir().expect("a folder");
        let dir = home.path().join("out");
        fs::create_dir(&dir).expect("created");
        fs::write(dir.join("a.rs"), "old").expect("written");
        let changes = [
            change("a.rs", Some("old"), Some("new")),
            change("b/c/d.rs", None, Some("new")),
            // Moving it fails, because the file does not exist.
            change("gone.rs", Some("old"), None),
        ];
        replace(&dir, &changes).expect_err("gone.rs does not exist");
        assert_eq!(fs::read_to_string(dir.join("a.rs")).expect("the old file"), "old");
        assert!(!dir.join("b").exists());
        assert_eq!(fs::read_dir(home.path()).expect("listed").count(), 1, "no temporary folder remains");

        replace(&dir.join("x/y"), &changes).expect_err("a.rs does not exist");
        assert!(!dir.join("x").exists());
    }
}
