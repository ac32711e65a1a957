//! Reads a folder of skills.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::error::FolderError;
use super::limits::MAX_TOTAL_BYTES;
use super::uri::SKILL_FILE;

/// How deeply directories may be nested.
const MAX_DEPTH: usize = 32;
/// The maximum number of files and directories in a folder.
const MAX_ENTRIES: usize = 100_000;

/// Files and directories by path, with `/` as the separator.
#[derive(Default)]
pub(super) struct Found {
    /// Files in skills, and files whose names differ from `SKILL.md` at most in case, with their contents.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) directories: BTreeSet<String>,
}

pub(super) fn is_served(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

/// Reads the files of all skills in a folder.
pub(super) fn read(folder: &Path) -> Result<Found, FolderError> {
    let root = fs::canonicalize(folder).map_err(error(folder))?;
    let mut scan = Scan { root: &root, folder, files: BTreeSet::new(), found: Found::default() };
    scan.directory(&root, "", 0)?;
    let Scan { files, mut found, .. } = scan;
    let (mut total, roots) = (0, roots(&files));
    for path in files {
        let is_skill_file = path.rsplit('/').next().is_some_and(|name| name.eq_ignore_ascii_case(SKILL_FILE));
        if is_skill_file || is_in_skill(&roots, &path) {
            let content = content(&root, &folder.join(&path), &root.join(&path), MAX_TOTAL_BYTES - total)?;
            total += content.len() as u64;
            found.files.insert(path, content);
        }
    }
    Ok(found)
}

/// A skill's directory, from the path of its `SKILL.md`.
pub(super) fn root(path: &str) -> Option<&str> {
    path.strip_suffix(SKILL_FILE)?.strip_suffix('/')
}

pub(super) fn roots<'p>(files: impl IntoIterator<Item = &'p String>) -> BTreeSet<String> {
    files.into_iter().filter_map(|path| root(path)).map(str::to_owned).collect()
}

/// Whether a path is below a skill's directory.
pub(super) fn is_in_skill(roots: &BTreeSet<String>, path: &str) -> bool {
    fn parent(path: &str) -> Option<&str> {
        path.rsplit_once('/').map(|(parent, _)| parent)
    }
    std::iter::successors(parent(path), |path| parent(path)).any(|parent| roots.contains(parent))
}

struct Scan<'a> {
    root: &'a Path,
    /// The folder as the caller named it, for errors.
    folder: &'a Path,
    files: BTreeSet<String>,
    found: Found,
}

impl Scan<'_> {
    fn directory(&mut self, directory: &Path, below: &str, depth: usize) -> Result<(), FolderError> {
        let shown = |path: &str| self.folder.join(path);
        if depth > MAX_DEPTH {
            let reason = format!("more than {MAX_DEPTH} directories are inside each other; move some of them up");
            return Err(FolderError::Limit { path: shown(below), reason });
        }
        for entry in fs::read_dir(directory).map_err(error(&shown(below)))? {
            let entry = entry.map_err(error(&self.folder.join(below)))?;
            let name = entry.file_name();
            let path = self.folder.join(below).join(&name);
            let invalid = |reason: &str| FolderError::File { path: path.clone(), reason: reason.to_owned() };
            let name = name.to_str().ok_or_else(|| invalid("rename it: its name is not valid UTF-8"))?;
            if name.starts_with('.') {
                continue;
            }
            if !is_served(name) {
                return Err(invalid("rename it: its name contains `\\`"));
            }
            if self.files.len() + self.found.directories.len() >= MAX_ENTRIES {
                let reason = format!("the folder has more than {MAX_ENTRIES} files and directories; use a smaller one");
                return Err(FolderError::Limit { path: self.folder.to_owned(), reason });
            }
            let relative = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
            // The type of the entry itself, not of a symbolic link's target.
            let kind = entry.file_type().map_err(error(&path))?;
            if kind.is_symlink() {
                return Err(invalid(
                    "it is a symbolic link, which could lead out of the folder; replace it with a copy",
                ));
            } else if kind.is_dir() {
                self.found.directories.insert(relative.clone());
                self.directory(&self.root.join(&relative), &relative, depth + 1)?;
            } else if kind.is_file() {
                self.files.insert(relative);
            } else {
                return Err(invalid("it is neither a file nor a directory; remove it"));
            }
        }
        Ok(())
    }
}

/// Fails if the file has more than `max` bytes.
fn content(root: &Path, shown: &Path, path: &Path, max: u64) -> Result<Vec<u8>, FolderError> {
    // The file may have been replaced by a link out of the folder since the scan.
    let path = fs::canonicalize(path).map_err(error(shown))?;
    if !path.starts_with(root) {
        let reason = "it is outside the folder".to_owned();
        return Err(FolderError::File { path: shown.to_owned(), reason });
    }
    let file = File::open(path).map_err(error(shown))?;
    let mut content = Vec::new();
    let size = file.take(max + 1).read_to_end(&mut content).map_err(error(shown))?;
    if size as u64 > max { Err(FolderError::too_large(shown.to_owned())) } else { Ok(content) }
}

fn error(path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = PathBuf::from(path);
    |source| FolderError::Io { path, source }
}
