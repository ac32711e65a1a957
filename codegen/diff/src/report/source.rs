//! Reads a text to compare: a vendored revision, a file, standard input, or a file in a commit.

use std::fs::File;
use std::io::{Read, stdin};
use std::path::{Component, Path};
use std::process::{Command, Stdio};

use mcpgen_schema::json::JsonText;
use mcpgen_schema::text::{sha256, visible};
use mcpgen_schema::{Error, MAX_BYTES, Problem};
use serde::Serialize;

use crate::models::Place;

/// The text of one side of a comparison.
#[derive(Debug, Default, Serialize)]
pub struct Source {
    /// The name on the command line.
    pub label: String,
    /// The file in reports: relative to the root of its repository, or as given. `None` for standard input.
    pub file: Option<String>,
    /// SHA-256 of the text and of the files that its references lead to, in hex.
    pub sha256: String,
    /// The text.
    #[serde(skip)]
    pub text: JsonText,
}

/// What a name on the command line refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Locator<'a> {
    Stdin,
    /// `git:REF:PATH`. Names of refs have no colon, so the first colon ends the ref.
    Git(&'a str, &'a str),
    File(&'a Path),
    Revision(&'a str),
}

impl Source {
    /// Reads a file, a file in a commit, or standard input.
    ///
    /// # Errors
    /// [`Error::Usage`] if the name is malformed, and [`Error::Io`].
    pub fn read(name: &str) -> Result<Source, Error> {
        let (file, bytes) = match Locator::of(name)? {
            Locator::Stdin => (None, bounded(stdin().lock(), "standard input")?),
            Locator::Git(reference, path) => (Some(from_root(path)), git(name, reference, path)?),
            Locator::File(path) => {
                let file = File::open(path).map_err(Error::io("reading", path))?;
                (Some(in_repository(path)), bounded(file, name)?)
            }
            Locator::Revision(_) => {
                return Err(Error::Usage(format!(
                    "`{name}` is not a file; write the path of a snapshot, `-`, or git:REF:PATH"
                )));
            }
        };
        Ok(Source::new(name, file, bytes))
    }

    /// Reads the file of a vendored revision.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn of_revision(revision: &str, path: &Path) -> Result<Source, Error> {
        let bytes = std::fs::read(path).map_err(Error::io("reading", path))?;
        Ok(Source::new(revision, Some(in_repository(path)), bytes))
    }

    fn new(label: &str, file: Option<String>, bytes: Vec<u8>) -> Source {
        Source { label: label.to_owned(), file, sha256: sha256(&bytes), text: JsonText::from(bytes) }
    }

    /// Returns the name of the text in messages.
    pub fn name(&self) -> &str {
        if self.label == "-" { "standard input" } else { &self.label }
    }

    /// Returns the 1-based line of a place.
    pub(super) fn line(&self, place: &Place) -> usize {
        self.text.line(&place.pointer)
    }

    /// Describes a place: `schema.json:7`.
    pub(super) fn place_in_words(&self, place: &Place) -> String {
        format!("{}:{}", visible(self.file.as_deref().unwrap_or(self.name())), self.line(place))
    }
}

impl<'a> Locator<'a> {
    /// Determines what a name refers to.
    ///
    /// # Errors
    /// [`Error::Usage`] if it begins with `git:` but is malformed.
    pub(super) fn of(name: &'a str) -> Result<Locator<'a>, Error> {
        let path = Path::new(name);
        if name == "-" {
            Ok(Locator::Stdin)
        } else if let Some(rest) = name.strip_prefix("git:") {
            match rest.split_once(':') {
                // git would read a ref that begins with a dash as an option.
                Some((reference, path)) if !reference.is_empty() && !reference.starts_with('-') && !path.is_empty() => {
                    Ok(Locator::Git(reference, path))
                }
                _ => Err(Error::Usage(format!(
                    "`{name}` is not of the form git:REF:PATH; write, for example, git:main:schema/draft/schema.json"
                ))),
            }
        } else if path.is_file() || path.components().count() > 1 || path.extension().is_some_and(|end| end == "json") {
            Ok(Locator::File(path))
        } else {
            Ok(Locator::Revision(name))
        }
    }
}

/// Reads a file in a commit.
fn git(name: &str, reference: &str, path: &str) -> Result<Vec<u8>, Error> {
    let failed = |why: String| {
        let help =
            "the commit must be in this repository and contain the file; in CI, fetch it first (`fetch-depth: 0`)";
        Error::Usage(format!("{name}: {why}\n  help: {help}"))
    };
    let mut git = Command::new("git")
        .args(["cat-file", "blob", &format!("{reference}:{path}")])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("cannot run git: {error}")))?;
    let text = git.stdout.take().map(|stdout| bounded(stdout, name));
    let output = git.wait_with_output().map_err(|error| failed(format!("cannot wait for git: {error}")))?;
    match text {
        // If the file is too large, git also fails, because we close its pipe. This error says why.
        Some(Err(error)) => Err(error),
        Some(Ok(text)) if output.status.success() => Ok(text),
        _ => Err(failed(format!("git reports: {}", String::from_utf8_lossy(&output.stderr).trim()))),
    }
}

/// Reads everything, or fails if it exceeds the maximum size of a document.
fn bounded(reader: impl Read, name: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(Error::io("reading", name))?;
    if bytes.len() as u64 <= MAX_BYTES {
        return Ok(bytes);
    }
    Err(Error::Schema(vec![Problem {
        file: name.to_owned(),
        definition: String::new(),
        pointer: String::new(),
        keyword: String::new(),
        why: format!("the schema has more than {MAX_BYTES} bytes"),
        remedy: "check the path; official schemas have less than 200 KB".into(),
    }]))
}

/// Returns a path relative to the root of its git repository, as code hosts show it, or the path as given.
fn in_repository(path: &Path) -> String {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let found = folder.canonicalize().ok().and_then(|folder| {
        let root = folder.ancestors().find(|above| above.join(".git").exists())?;
        Some(folder.strip_prefix(root).ok()?.join(path.file_name()?))
    });
    found.as_deref().unwrap_or(path).to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
}

/// Returns a git path relative to the root of the repository. git reads `./x` and `../x` relative to the current
/// folder.
fn from_root(path: &str) -> String {
    if !path.starts_with("./") && !path.starts_with("../") {
        return path.to_owned();
    }
    // The file and its folder may not exist in the working tree, so the path is resolved as text.
    let mut parts: Vec<String> = in_repository(Path::new("./here")).split('/').map(str::to_owned).collect();
    parts.pop();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            _ => {}
        }
    }
    parts.retain(|part| part != ".");
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_kinds_of_sources() {
        for (name, expected) in [
            ("-", Locator::Stdin),
            ("2025-11-25", Locator::Revision("2025-11-25")),
            ("gone.json", Locator::File(Path::new("gone.json"))),
            ("./2025-11-25", Locator::File(Path::new("./2025-11-25"))),
            ("a/b", Locator::File(Path::new("a/b"))),
            ("Cargo.toml", Locator::File(Path::new("Cargo.toml"))),
            ("git:main:a/b.json", Locator::Git("main", "a/b.json")),
            ("git:origin/fix/x:./b.json", Locator::Git("origin/fix/x", "./b.json")),
            ("git:HEAD~3:a:b.json", Locator::Git("HEAD~3", "a:b.json")),
        ] {
            assert_eq!(Locator::of(name).expect(name), expected, "{name}");
        }
        for name in ["git:", "git:main", "git::a.json", "git:main:", "git:--output=x:a.json"] {
            let error = Locator::of(name).expect_err(name).to_string();
            assert!(error.contains("git:REF:PATH"), "{error}");
        }
    }

    #[test]
    fn resolves_relative_paths_of_git() {
        assert_eq!(from_root("a/b.json"), "a/b.json");
        let here = from_root("./b.json");
        assert!(here.ends_with("b.json") && !here.contains("./"), "{here}");
        assert!(!from_root("../x/b.json").contains(".."));
    }
}
