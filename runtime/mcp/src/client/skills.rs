//! Lists, loads and reads the skills of a server.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcpgen_runtime::router::RequestService;
use mcpgen_types::ext::skills::{
    GetSkillRequest, GetSkillResult, ListSkillsRequest, ReadResourceDirectoryRequest, ReadResourceDirectoryResult,
    Skill,
};
use mcpgen_types::v2026_07_28::{Resource, TextOrBlobResourceContents};
use mcpgen_types::{JsonObject, Request};

use super::handle::Client;
use crate::protocol::PeerExt;
use crate::skills::{SkillError, SkillsExtension, uri, verify};

/// A skill whose `SKILL.md` a client has read and verified. Created by [`Client::load_skill`].
///
/// It holds the entry of the skill. While a model acts on the skill, files are read and verified with this entry, also if
/// the server has a newer one.
#[derive(Debug)]
pub struct LoadedSkill {
    /// The entry of the skill.
    pub entry: Skill,
    /// The content of `SKILL.md`, with its front matter.
    pub text: String,
    /// The number of bytes read so far, for skills whose entries have no sizes.
    bytes: AtomicU64,
}

/// The content of a skill's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillContent {
    /// The URI of the file.
    pub uri: String,
    /// The MIME type of the file, as the server declares it.
    pub mime_type: Option<String>,
    /// The content.
    pub bytes: Vec<u8>,
}

impl<S: RequestService> Client<S> {
    /// Lists the entries of the server's skills. Reads no files.
    ///
    /// The list may be incomplete. Use [`skill`](Self::skill) for a skill whose URI is known from elsewhere, such as the
    /// server's instructions.
    ///
    /// ```
    /// use mcpgen_sdk::skills::Skills;
    /// use mcpgen_sdk::{Client, Server, serve, transport};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let skill = "---\nname: greet\ndescription: Greets people.\n---\nUse a phrase of [the list](phrases.txt).\n";
    /// let skills = Skills::from_files([("greet/SKILL.md", skill), ("greet/phrases.txt", "hello")])?;
    /// let (here, there) = transport::duplex();
    /// tokio::spawn(serve(Server::builder("greeter", "1.0.0").skills(skills).build(), there));
    ///
    /// let client = Client::builder("visitor", "1.0.0").connect(here.0, here.1).await?;
    /// for entry in client.skills().await? {
    ///     // Ask the user before the model acts on the skill.
    ///     let skill = client.load_skill(&entry).await?;
    ///     assert!(skill.text.ends_with("Use a phrase of [the list](phrases.txt).\n"));
    ///     let phrases = client.read_skill_file(&skill, "phrases.txt").await?;
    ///     assert_eq!(phrases.bytes, b"hello");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the server has not declared the extension, if a call fails, or if the list exceeds
    /// [`page_limits`](Self::page_limits).
    pub async fn skills(&self) -> Result<Vec<Skill>, SkillError> {
        self.require_skills(false).await?;
        let (mut skills, mut pages) = (Vec::new(), self.pages::<ListSkillsRequest>());
        while let Some(page) = pages.next().await? {
            skills.extend(page.skills);
        }
        Ok(skills)
    }

    /// Returns the current entry of a skill, from the URI of its `SKILL.md`. Reads no files.
    ///
    /// If the entry differs from an earlier one, an approval of the earlier one does not apply to it; see
    /// [`is_same_content`](crate::skills::is_same_content).
    ///
    /// # Errors
    ///
    /// Fails if the server has not declared the extension, or if the call fails.
    pub async fn skill(&self, uri: &str) -> Result<Skill, SkillError> {
        self.require_skills(false).await?;
        let params = JsonObject::from([("uri", uri.into())]);
        let result = self.raw_call(GetSkillRequest::METHOD, params).await?;
        let GetSkillResult { skill, .. } = self.decode(GetSkillRequest::METHOD, &result)?;
        match skill.uri == uri {
            true => Ok(skill),
            false => Err(SkillError::Entry { uri: uri.to_owned(), reason: format!("it has the URI {}", skill.uri) }),
        }
    }

    /// Reads the `SKILL.md` of a skill, and verifies its size, its digest and its front matter.
    ///
    /// # Errors
    ///
    /// Fails if the entry is invalid or exceeds [`skill_limits`](Self::skill_limits), if the call fails, or if the file does
    /// not match the entry.
    pub async fn load_skill(&self, entry: &Skill) -> Result<LoadedSkill, SkillError> {
        verify::check_entry(entry, self.skill_limits)?;
        let skill = LoadedSkill { entry: entry.clone(), text: String::new(), bytes: AtomicU64::new(0) };
        let content = self.read_verified(&skill, entry.uri.clone()).await?;
        let not_text = |_| SkillError::Content { uri: entry.uri.clone(), reason: "the file is not UTF-8".to_owned() };
        let text = String::from_utf8(content.bytes).map_err(not_text)?;
        verify::check_frontmatter(entry, &text)?;
        Ok(LoadedSkill { text, ..skill })
    }

    /// Reads a file of a skill, and verifies its size and its digest. `reference` is the URI of the file, or its path
    /// relative to `SKILL.md`, as in links of the skill's text.
    ///
    /// # Errors
    ///
    /// Fails if the entry does not list the file, if the call fails, or if the file does not match the entry. A file that is
    /// not listed is not requested.
    pub async fn read_skill_file(&self, skill: &LoadedSkill, reference: &str) -> Result<SkillContent, SkillError> {
        let unlisted = || SkillError::Unlisted { reference: reference.to_owned(), skill: skill.entry.uri.clone() };
        let root = uri::root(&skill.entry.uri).ok_or_else(unlisted)?;
        let candidates = uri::resolve(root, reference).ok_or_else(unlisted)?;
        let uri = match verify::resources(&skill.entry) {
            Some(resources) => {
                let is_listed = |uri: &&String| resources.iter().any(|resource| resource.uri == **uri);
                candidates.iter().find(is_listed).cloned()
            }
            // The last candidate is percent-encoded.
            None => candidates.last().cloned(),
        };
        self.read_verified(skill, uri.ok_or_else(unlisted)?).await
    }

    /// Lists the direct children of a directory. Subdirectories have the MIME type `inode/directory`.
    ///
    /// The list can have files that the entry of a skill does not list. They do not belong to the skill until its entry is
    /// requested again.
    ///
    /// # Errors
    ///
    /// Fails if the server does not support reading directories, if a call fails, or if the list exceeds
    /// [`page_limits`](Self::page_limits).
    pub async fn read_directory(&self, uri: &str) -> Result<Vec<Resource>, SkillError> {
        self.require_skills(true).await?;
        let params = JsonObject::from([("uri", uri.into())]);
        let (mut children, mut pages) = (Vec::new(), self.pages_with::<ReadResourceDirectoryRequest>(params));
        while let Some(page) = pages.next().await? {
            let ReadResourceDirectoryResult { resources, .. } = page;
            children.extend(resources);
        }
        Ok(children)
    }

    /// Checks that the server has declared the extension and, if `directories` is set, that it lists directories.
    async fn require_skills(&self, directories: bool) -> Result<(), SkillError> {
        if self.peer.peer_info().is_none() {
            // A client that knows the server's revision may not have requested the server's capabilities yet.
            self.ping().await?;
        }
        let invalid =
            |error: mcpgen_types::ErrorObject| mcpgen_runtime::peer::CallError::Invalid(error.to_string().into());
        let settings = self.peer.extension::<SkillsExtension>().map_err(invalid)?;
        let settings = settings.ok_or(SkillError::NotDeclared("the extension io.modelcontextprotocol/skills"))?;
        match !directories || settings.directory_read == Some(true) {
            true => Ok(()),
            false => Err(SkillError::NotDeclared("`directoryRead` of the extension io.modelcontextprotocol/skills")),
        }
    }

    async fn read_verified(&self, skill: &LoadedSkill, uri: String) -> Result<SkillContent, SkillError> {
        let invalid = |reason: &str| SkillError::Content { uri: uri.clone(), reason: reason.to_owned() };
        let mut contents = self.read_resource(&uri).await?.contents.into_iter();
        let (Some(only), None) = (contents.next(), contents.next()) else {
            return Err(invalid("the server must return one text or blob for the file"));
        };
        let (found, mime_type, bytes) = match only {
            TextOrBlobResourceContents::TextResourceContents(text) => {
                (text.uri, text.mime_type, text.text.into_bytes())
            }
            TextOrBlobResourceContents::BlobResourceContents(blob) => {
                let bytes = STANDARD.decode(&blob.blob).map_err(|_| invalid("the blob is not valid Base64"))?;
                (blob.uri, blob.mime_type, bytes)
            }
        };
        if found != uri {
            return Err(invalid(&format!("the server returned {found} instead")));
        }
        match verify::resources(&skill.entry) {
            Some(resources) => {
                let unlisted = || SkillError::Unlisted { reference: uri.clone(), skill: skill.entry.uri.clone() };
                let resource = resources.iter().find(|resource| resource.uri == uri).ok_or_else(unlisted)?;
                verify::check_content(resource, &bytes)?;
            }
            None => {
                let limit = self.skill_limits.bytes;
                let read =
                    skill.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed).saturating_add(bytes.len() as u64);
                if read > limit {
                    return Err(SkillError::Limit { uri: skill.entry.uri.clone(), limit, unit: "bytes" });
                }
            }
        }
        Ok(SkillContent { uri, mime_type, bytes })
    }
}
