//! Lists, loads and reads a server's skills.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcpgen_mcp::Client;
use mcpgen_mcp::protocol::PeerExt;
use mcpgen_runtime::router::RequestService;
use mcpgen_types::ext::skills::{
    GetSkillRequest, GetSkillResult, ListSkillsRequest, ReadResourceDirectoryRequest, ReadResourceDirectoryResult,
    Skill,
};
use mcpgen_types::v2026_07_28::{Resource, TextOrBlobResourceContents};
use mcpgen_types::{JsonObject, Request};

use crate::error::SkillError;
use crate::extension::SkillsExtension;
use crate::limits::SkillLimits;
use crate::{uri, verify};

/// A skill whose `SKILL.md` the client has read and verified. Created by [`SkillsClient::load_skill`].
///
/// It keeps the skill's entry. While a model acts on the skill, files are verified against this entry, even if the
/// server has a newer one.
#[derive(Debug)]
pub struct LoadedSkill {
    /// The skill's entry.
    pub entry: Skill,
    /// The content of `SKILL.md`, with its front matter.
    pub text: String,
    limits: SkillLimits,
    /// Bytes read so far, for skills whose entries have no sizes.
    bytes: AtomicU64,
}

/// A file of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillContent {
    /// The URI of the file.
    pub uri: String,
    /// The MIME type that the server declares.
    pub mime_type: Option<String>,
    /// The content.
    pub bytes: Vec<u8>,
}

/// Skill methods of [`Client`].
pub trait SkillsClient {
    /// Lists the server's skills. Reads no files.
    ///
    /// The list may be incomplete. If a skill's URI is known from elsewhere, such as the server's instructions, use
    /// [`skill`](Self::skill).
    ///
    /// ```
    /// use mcpgen_sdk::skills::Skills;
    /// use mcpgen_sdk::prelude::*;
    /// use mcpgen_sdk::transport;
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
    /// `Client::with_page_limits`.
    fn skills(&self) -> impl Future<Output = Result<Vec<Skill>, SkillError>> + Send;

    /// Returns a skill's current entry, by the URI of its `SKILL.md`. Reads no files.
    ///
    /// If the entry differs from one that the user approved, the approval does not apply to it; see
    /// [`is_same_content`](crate::is_same_content).
    ///
    /// # Errors
    ///
    /// Fails if the server has not declared the extension, or if the call fails.
    fn skill(&self, uri: &str) -> impl Future<Output = Result<Skill, SkillError>> + Send;

    /// Reads a skill's `SKILL.md`, and verifies its size, digest and front matter.
    ///
    /// # Errors
    ///
    /// Fails if the entry is invalid or exceeds the default limits, if the call fails, or if the file does not match
    /// the entry.
    fn load_skill(&self, entry: &Skill) -> impl Future<Output = Result<LoadedSkill, SkillError>> + Send;

    /// Like [`load_skill`](Self::load_skill), with other limits.
    ///
    /// # Errors
    ///
    /// Fails like [`load_skill`](Self::load_skill).
    fn load_skill_within(
        &self,
        entry: &Skill,
        limits: SkillLimits,
    ) -> impl Future<Output = Result<LoadedSkill, SkillError>> + Send;

    /// Reads one of a skill's files, and verifies its size and digest. `reference` is the file's URI, or its path
    /// relative to `SKILL.md`, as in links in the skill's text.
    ///
    /// # Errors
    ///
    /// Fails if the call fails or if the file does not match the entry. If the entry does not list the file, fails
    /// without requesting it.
    fn read_skill_file(
        &self,
        skill: &LoadedSkill,
        reference: &str,
    ) -> impl Future<Output = Result<SkillContent, SkillError>> + Send;

    /// Lists a directory's direct children. Subdirectories have the MIME type `inode/directory`.
    ///
    /// The list may contain files that a skill's entry does not list. They are not part of the skill until its entry is
    /// requested again.
    ///
    /// # Errors
    ///
    /// Fails if the server does not support reading directories, if a call fails, or if the list exceeds
    /// `Client::with_page_limits`.
    fn read_directory(&self, uri: &str) -> impl Future<Output = Result<Vec<Resource>, SkillError>> + Send;
}

impl<S: RequestService + Sync> SkillsClient for Client<S> {
    async fn skills(&self) -> Result<Vec<Skill>, SkillError> {
        require_skills(self, false).await?;
        let (mut skills, mut pages) = (Vec::new(), self.pages::<ListSkillsRequest>());
        while let Some(page) = pages.try_next().await? {
            skills.extend(page.skills);
        }
        Ok(skills)
    }

    async fn skill(&self, uri: &str) -> Result<Skill, SkillError> {
        require_skills(self, false).await?;
        let params = JsonObject::from([("uri", uri.into())]);
        let result = self.raw_call(GetSkillRequest::METHOD, params).await?;
        let GetSkillResult { skill, .. } = self.decode(GetSkillRequest::METHOD, &result)?;
        match skill.uri == uri {
            true => Ok(skill),
            false => Err(SkillError::Entry { uri: uri.to_owned(), reason: format!("it has the URI {}", skill.uri) }),
        }
    }

    async fn load_skill(&self, entry: &Skill) -> Result<LoadedSkill, SkillError> {
        self.load_skill_within(entry, SkillLimits::default()).await
    }

    async fn load_skill_within(&self, entry: &Skill, limits: SkillLimits) -> Result<LoadedSkill, SkillError> {
        verify::check_entry(entry, limits)?;
        let skill = LoadedSkill { entry: entry.clone(), text: String::new(), limits, bytes: AtomicU64::new(0) };
        let content = read_verified(self, &skill, entry.uri.clone()).await?;
        let not_text = |_| SkillError::Content { uri: entry.uri.clone(), reason: "the file is not UTF-8".to_owned() };
        let text = String::from_utf8(content.bytes).map_err(not_text)?;
        verify::check_frontmatter(entry, &text)?;
        Ok(LoadedSkill { text, ..skill })
    }

    async fn read_skill_file(&self, skill: &LoadedSkill, reference: &str) -> Result<SkillContent, SkillError> {
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
        read_verified(self, skill, uri.ok_or_else(unlisted)?).await
    }

    async fn read_directory(&self, uri: &str) -> Result<Vec<Resource>, SkillError> {
        require_skills(self, true).await?;
        let params = JsonObject::from([("uri", uri.into())]);
        let (mut children, mut pages) = (Vec::new(), self.pages_with::<ReadResourceDirectoryRequest>(params));
        while let Some(page) = pages.try_next().await? {
            let ReadResourceDirectoryResult { resources, .. } = page;
            children.extend(resources);
        }
        Ok(children)
    }
}

/// Checks that the server has skills and, with `directories`, that it lists directories.
async fn require_skills<S: RequestService + Sync>(client: &Client<S>, directories: bool) -> Result<(), SkillError> {
    if client.peer().peer_info().is_none() {
        // A client that knew the revision in advance may not have received the server's capabilities yet.
        client.ping().await?;
    }
    let invalid = |error: mcpgen_types::ErrorObject| mcpgen_runtime::peer::CallError::Invalid(error.to_string().into());
    let settings = client.peer().extension::<SkillsExtension>().map_err(invalid)?;
    let settings = settings.ok_or(SkillError::NotDeclared("the extension io.modelcontextprotocol/skills"))?;
    match !directories || settings.directory_read == Some(true) {
        true => Ok(()),
        false => Err(SkillError::NotDeclared("`directoryRead` of the extension io.modelcontextprotocol/skills")),
    }
}

async fn read_verified<S: RequestService + Sync>(
    client: &Client<S>,
    skill: &LoadedSkill,
    uri: String,
) -> Result<SkillContent, SkillError> {
    let invalid = |reason: &str| SkillError::Content { uri: uri.clone(), reason: reason.to_owned() };
    let mut contents = client.read_resource(&uri).await?.contents.into_iter();
    let (Some(only), None) = (contents.next(), contents.next()) else {
        return Err(invalid("the server must return one text or blob for the file"));
    };
    let (found, mime_type, bytes) = match only {
        TextOrBlobResourceContents::TextResourceContents(text) => (text.uri, text.mime_type, text.text.into_bytes()),
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
            let limit = skill.limits.bytes;
            let read = skill.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed).saturating_add(bytes.len() as u64);
            if read > limit {
                return Err(SkillError::Limit { uri: skill.entry.uri.clone(), limit, unit: "bytes" });
            }
        }
    }
    Ok(SkillContent { uri, mime_type, bytes })
}
