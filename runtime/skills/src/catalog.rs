//! The skills that a server serves, with their files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcpgen_types::Value;
use mcpgen_types::ext::skills::{Skill, SkillFrontmatter, SkillResource, SkillResources};
use mcpgen_types::v2026_07_28::{BlobResourceContents, Resource, TextOrBlobResourceContents, TextResourceContents};

use super::error::FolderError;
use super::limits::{MAX_BYTES, MAX_FILES, MAX_TOTAL_BYTES};
use super::uri::{self, SKILL_FILE, of_path};
use super::{digest, folder, frontmatter, mime, rules};

/// Skills for a server, with their files. Add them with [`ServeSkills::skills`](crate::ServeSkills::skills).
///
/// Files are read once and kept in memory, so the digests in the entries always match what the server sends, and no
/// request touches the file system. To serve changed files, load them again and call
/// [`ReplaceSkills::replace_skills`](crate::ReplaceSkills::replace_skills).
#[derive(Clone, Debug, Default)]
pub struct Skills {
    /// Entries by the URI of `SKILL.md`.
    pub(crate) entries: BTreeMap<String, Arc<Skill>>,
    /// Files by URI.
    pub(crate) files: BTreeMap<String, Arc<SkillFile>>,
    /// Children by URI, per directory.
    pub(crate) directories: BTreeMap<String, BTreeMap<String, Resource>>,
}

#[derive(Debug)]
pub(crate) struct SkillFile {
    pub(crate) resource: Resource,
    content: Vec<u8>,
}

impl Skills {
    /// Reads all skills in a folder. Each directory with a `SKILL.md` is a skill, at any depth, and its path in the
    /// folder becomes its path in the URI: `acme/refunds/SKILL.md` is `skill://acme/refunds/SKILL.md`.
    ///
    /// This blocks on the file system. In an async function, call it with `spawn_blocking`.
    ///
    /// Files and directories whose names begin with `.` are not served, nor are files outside skills.
    ///
    /// ```no_run
    /// use mcpgen_sdk::prelude::*;
    /// use mcpgen_sdk::skills::Skills;
    ///
    /// # fn main() -> Result<(), mcpgen_sdk::skills::FolderError> {
    /// let server = Server::builder("helpdesk", "1.0.0").skills(Skills::from_folder("skills")?).build();
    /// # let _ = server;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails, with the name of the file, if a file cannot be read, if a `SKILL.md` breaks a rule of the Agent Skills
    /// specification, if the folder contains symbolic links, or if a skill has more than [`MAX_FILES`] files or
    /// [`MAX_BYTES`] bytes.
    pub fn from_folder(folder: impl AsRef<Path>) -> Result<Self, FolderError> {
        let folder = folder.as_ref();
        let folder::Found { files, directories } = folder::read(folder)?;
        Builder { files, directories, folder }.build()
    }

    /// Creates skills from files, for example from files embedded in the program. Paths use `/` as the separator.
    ///
    /// ```
    /// use mcpgen_sdk::skills::Skills;
    ///
    /// let skill = "---\nname: greet\ndescription: Greets people. Use it when someone says hello.\n---\nSay hello.\n";
    /// let skills = Skills::from_files([("greet/SKILL.md", skill)])?;
    /// assert_eq!(skills.entries().next().map(|entry| &*entry.uri), Some("skill://greet/SKILL.md"));
    /// # Ok::<(), mcpgen_sdk::skills::FolderError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails like [`from_folder`](Self::from_folder), and if a path is invalid or occurs twice.
    pub fn from_files<P, C>(files: impl IntoIterator<Item = (P, C)>) -> Result<Self, FolderError>
    where
        P: Into<String>,
        C: Into<Vec<u8>>,
    {
        let (mut by_path, mut total) = (BTreeMap::new(), 0);
        for (path, content) in files {
            let (path, content) = (path.into(), content.into());
            let invalid = |reason: &str| FolderError::File { path: PathBuf::from(&path), reason: reason.to_owned() };
            if !path.split('/').all(folder::is_served) {
                return Err(invalid("use a relative path with `/`, without names that are empty or begin with `.`"));
            }
            total += content.len() as u64;
            if total > MAX_TOTAL_BYTES {
                return Err(FolderError::too_large(PathBuf::from(&path)));
            }
            if by_path.contains_key(&path) {
                return Err(invalid("another file has the same path; remove one of them"));
            }
            by_path.insert(path, content);
        }
        Builder { files: by_path, directories: BTreeSet::new(), folder: Path::new("") }.build()
    }

    /// Returns the skills' entries, ordered by URI.
    pub fn entries(&self) -> impl Iterator<Item = &Skill> {
        self.entries.values().map(|entry| &**entry)
    }

    fn roots(&self) -> BTreeSet<String> {
        self.entries.keys().filter_map(|uri| uri::root(uri)).map(str::to_owned).collect()
    }

    pub(crate) fn merge(&mut self, other: Self) -> Result<(), Conflict> {
        if let Some(uri) = other.files.keys().find(|uri| self.files.contains_key(*uri)) {
            return Err(Conflict::File(uri.clone()));
        }
        // The outer skill's entry would have to list the files of the inner one.
        let (ours, theirs) = (self.roots(), other.roots());
        let is_inner = |(roots, root): &(&BTreeSet<String>, &String)| folder::is_in_skill(roots, root);
        let mut pairs = theirs.iter().map(|root| (&ours, root)).chain(ours.iter().map(|root| (&theirs, root)));
        if let Some((_, inner)) = pairs.find(is_inner) {
            return Err(Conflict::Inner(inner.clone()));
        }
        self.entries.extend(other.entries);
        self.files.extend(other.files);
        for (uri, children) in other.directories {
            self.directories.entry(uri).or_default().extend(children);
        }
        Ok(())
    }
}

pub(crate) enum Conflict {
    /// Both sets of skills have a file with this URI.
    File(String),
    /// One skill's directory is inside another's.
    Inner(String),
}

impl SkillFile {
    /// Compares metadata and content.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.resource == other.resource && self.content == other.content
    }

    /// Returns text if the content is UTF-8 and the MIME type allows it, and bytes otherwise.
    pub(crate) fn contents(&self) -> TextOrBlobResourceContents {
        let Resource { uri, mime_type, .. } = &self.resource;
        let is_text = mime_type.as_deref().is_some_and(mime::is_text);
        match std::str::from_utf8(&self.content) {
            Ok(text) if is_text => {
                let mut contents = TextResourceContents::new(uri).text(text);
                contents.mime_type.clone_from(mime_type);
                contents.into()
            }
            _ => {
                let mut contents = BlobResourceContents::new(uri).blob(STANDARD.encode(&self.content));
                contents.mime_type.clone_from(mime_type);
                contents.into()
            }
        }
    }
}

struct Builder<'a> {
    /// Files by path, with `/` as the separator.
    files: BTreeMap<String, Vec<u8>>,
    /// All directories by path. Those without files appear only here.
    directories: BTreeSet<String>,
    /// The folder that errors name.
    folder: &'a Path,
}

impl Builder<'_> {
    fn build(self) -> Result<Skills, FolderError> {
        let roots = folder::roots(self.files.keys());
        self.check_names(&roots)?;
        let is_in_skill = |path: &str| folder::is_in_skill(&roots, path);
        let mut resources = BTreeMap::new();
        for (path, content) in self.files.iter().filter(|(path, _)| is_in_skill(path)) {
            resources.insert(
                path.clone(),
                SkillResource::new(of_path(path), content.len() as u64).digest(digest::of(content)),
            );
        }
        let mut skills = Skills::default();
        let mut fields = BTreeMap::new();
        for root in &roots {
            let (entry, frontmatter) = self.entry(root, &resources)?;
            fields.insert(root.clone(), frontmatter);
            skills.entries.insert(entry.uri.clone(), Arc::new(entry));
        }
        for path in self.directories.iter().filter(|path| roots.contains(*path) || is_in_skill(path)) {
            skills.directories.entry(of_path(path)).or_default();
            skills.add_to_parents(path, directory(path));
        }
        for (path, content) in self.files {
            let Some(SkillResource { uri, size, .. }) = resources.get(&path) else { continue };
            let name = file_name(&path);
            let mut resource = Resource::new(uri, name).with_mime_type(mime::of_file(name, &content));
            resource.size = i64::try_from(*size).ok();
            if let Some(SkillFrontmatter { name, description, .. }) =
                folder::root(&path).and_then(|root| fields.get(root))
            {
                resource.name.clone_from(name);
                resource.description = Some(description.clone());
            }
            skills.add_to_parents(&path, resource.clone());
            skills.files.insert(uri.clone(), Arc::new(SkillFile { resource, content }));
        }
        Ok(skills)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// Checks that no `SKILL.md` is outside a directory or has the wrong case, and that no file is also a directory.
    fn check_names(&self, roots: &BTreeSet<String>) -> Result<(), FolderError> {
        let invalid =
            |path: &str, reason: &str| Err(FolderError::File { path: self.path(path), reason: reason.to_owned() });
        if self.files.contains_key(SKILL_FILE) {
            return invalid(SKILL_FILE, "a skill needs a directory with its name; use the folder above this one");
        }
        for path in self.files.keys() {
            let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
            let is_similar = name != SKILL_FILE && name.eq_ignore_ascii_case(SKILL_FILE);
            if is_similar && !roots.contains(directory) {
                return invalid(path, "rename the file to `SKILL.md`");
            }
            let below = format!("{path}/");
            if self.files.range(below.clone()..).next().is_some_and(|(next, _)| next.starts_with(&below)) {
                return invalid(path, "the path is also a directory; rename one of them");
            }
        }
        Ok(())
    }

    fn entry(
        &self,
        root: &str,
        resources: &BTreeMap<String, SkillResource>,
    ) -> Result<(Skill, SkillFrontmatter), FolderError> {
        let path = format!("{root}/{SKILL_FILE}");
        let frontmatter = self.frontmatter(root, &path)?;
        let below = format!("{root}/");
        let own: Vec<SkillResource> = resources
            .range(below.clone()..)
            .take_while(|(path, _)| path.starts_with(&below))
            .map(|(_, resource)| resource.clone())
            .collect();
        let limit = |reason: String| Err(FolderError::Limit { path: self.path(root), reason });
        if own.len() > MAX_FILES {
            return limit(format!(
                "the skill has {} files, but clients only support {MAX_FILES}; remove some",
                own.len()
            ));
        }
        let bytes: u64 = own.iter().map(|resource| resource.size).sum();
        if bytes > MAX_BYTES {
            return limit(format!(
                "the skill has {bytes} bytes, but clients only support {MAX_BYTES}; remove some files"
            ));
        }
        Ok((Skill::new(of_path(&path), frontmatter.clone(), SkillResources::from(own)), frontmatter))
    }

    fn frontmatter(&self, root: &str, path: &str) -> Result<SkillFrontmatter, FolderError> {
        let invalid = |reason: String| FolderError::Skill { path: self.path(path), reason };
        let content = self.files.get(path).map_or(&[][..], Vec::as_slice);
        let text = std::str::from_utf8(content).map_err(|_| invalid("save the file as UTF-8".to_owned()))?;
        let frontmatter =
            frontmatter::parse(text).map_err(|source| FolderError::Frontmatter { path: self.path(path), source })?;
        rules::check(&frontmatter, file_name(root)).map_err(invalid)?;
        mcpgen_types::from_value(Value::Object(frontmatter)).map_err(|error| invalid(error.to_string()))
    }
}

impl Skills {
    /// Adds a file or directory to all directories above it.
    fn add_to_parents(&mut self, path: &str, resource: Resource) {
        let (mut path, mut resource) = (path, resource);
        while let Some((parent, _)) = path.rsplit_once('/') {
            self.directories.entry(of_path(parent)).or_default().insert(resource.uri.clone(), resource);
            (path, resource) = (parent, directory(parent));
        }
    }
}

fn directory(path: &str) -> Resource {
    Resource::new(of_path(path), file_name(path)).with_mime_type(mime::DIRECTORY)
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
