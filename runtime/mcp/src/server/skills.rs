//! Serves skills: their entries, their directories, and their files as resources.

use std::collections::BTreeMap;
use std::future::ready;
use std::ops::Bound;
use std::sync::Arc;

use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::router::{AnyRequest, Router};
use mcpgen_types::codec::Encode;
use mcpgen_types::ext::skills::{
    GetSkillRequest, GetSkillRequestParams, GetSkillResult, ListSkillsRequest, ListSkillsResult,
    ReadResourceDirectoryRequest, ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult,
};
use mcpgen_types::v2026_07_28::{CacheScope, ListResourcesRequest, PaginatedRequestParams, ReadResourceRequest};
use mcpgen_types::{ErrorObject, Json, JsonObject, Request};
use parking_lot::RwLock;

use super::builder::ServerBuilder;
use super::conversion;
use super::error::DefinitionError;
use super::registry::{decode_cursor, encode_cursor};
use super::resource::ResourceEntry;
use super::state::Server;
use crate::protocol::change::Change;
use crate::protocol::conversion::{ConversionError, Revisions};
use crate::protocol::info::LocalInfo;
use crate::protocol::{ContextExt, TYPES};
use crate::skills::{Conflict, DIRECTORY, SkillFile, Skills, SkillsExtension, verify};

/// A page of skills ends after the entry that exceeds this number of files, so that its size is bounded.
const MAX_FILES_ON_PAGE: usize = 2048;

impl ServerBuilder {
    /// Adds skills, and declares the extension `io.modelcontextprotocol/skills`. Each file becomes a resource.
    ///
    /// To set how long clients may cache the entries, use [`cache_hint`](Self::cache_hint) with `ListSkillsRequest` and
    /// `GetSkillRequest`.
    ///
    /// ```
    /// use mcpgen_sdk::Server;
    /// use mcpgen_sdk::skills::Skills;
    ///
    /// let skill = "---\nname: greet\ndescription: Greets people. Use it when someone says hello.\n---\nSay hello.\n";
    /// let skills = Skills::from_files([("greet/SKILL.md", skill)])?;
    /// let server = Server::builder("greeter", "1.0.0").skills(skills).build();
    /// # let _ = server;
    /// # Ok::<(), mcpgen_sdk::skills::FolderError>(())
    /// ```
    pub fn skills(mut self, skills: Skills) -> Self {
        let info = &mut self.state.config.info;
        *info = std::mem::replace(info, LocalInfo::new("", "")).extension(&SkillsExtension::SERVER);
        let served = self.state.skills.take().map(|served| Arc::clone(&served.read())).unwrap_or_default();
        let mut served = Arc::unwrap_or_clone(served);
        let files: Vec<Arc<SkillFile>> = skills.files.values().cloned().collect();
        let merged = served.merge(skills);
        self.state.skills = Some(RwLock::new(Arc::new(served)));
        match merged {
            Ok(()) => {
                files.into_iter().fold(self, |builder, file| builder.insert(Ok(entry(file)), |state| &state.resources))
            }
            Err(conflict) => {
                self.state.config.invalid.push(match conflict {
                    Conflict::File(key) => DefinitionError::Duplicate { kind: "skill file", key },
                    Conflict::Inner(uri) => DefinitionError::InnerSkill(uri),
                });
                self
            }
        }
    }
}

impl Server {
    /// Replaces the skills that the server serves, and notifies subscribers of changed files.
    ///
    /// # Errors
    ///
    /// Fails if the server was built without [`skills`](ServerBuilder::skills), or if another resource has the URI of a
    /// file. The server then continues to serve the skills from before.
    pub fn replace_skills(&self, skills: Skills) -> Result<(), DefinitionError> {
        let resources = &self.0.resources;
        let Some(served) = &self.0.skills else { return Err(DefinitionError::NoSkills) };
        // The lock is held until the resources have changed, so that concurrent calls do not mix their files.
        let mut served = served.write();
        let is_new = |uri: &&String| !served.files.contains_key(*uri);
        if let Some(key) = skills.files.keys().filter(is_new).find(|uri| resources.get(uri).is_some()) {
            return Err(DefinitionError::Duplicate { kind: "resource", key: key.clone() });
        }
        let removed: Vec<&String> = served.files.keys().filter(|uri| !skills.files.contains_key(*uri)).collect();
        let is_same_list = removed.is_empty() && served.files.len() == skills.files.len();
        let is_changed = |(uri, file): &(&String, &Arc<SkillFile>)| {
            !served.files.get(*uri).is_some_and(|before| before.is_same(file))
        };
        let changed: Vec<_> =
            skills.files.iter().filter(is_changed).map(|(uri, file)| (uri.clone(), Arc::clone(file))).collect();
        for uri in removed {
            resources.remove(uri);
        }
        for (_, file) in &changed {
            resources.set(entry(Arc::clone(file)));
        }
        *served = Arc::new(skills);
        drop(served);
        if !is_same_list {
            self.changed(&Change::Resources);
        }
        changed.into_iter().for_each(|(uri, _)| self.changed(&Change::Resource(uri)));
        Ok(())
    }

    /// Adds the handlers of the extension, if the server serves skills.
    pub(super) fn skill_routes(&self, router: Router) -> Router {
        if self.0.skills.is_none() {
            return router;
        }
        let router = handle::<ListSkillsRequest, _>(router, self, ListResourcesRequest::METHOD, Self::list_skills);
        let router = handle::<GetSkillRequest, _>(router, self, ReadResourceRequest::METHOD, Self::get_skill);
        handle::<ReadResourceDirectoryRequest, _>(router, self, ReadResourceRequest::METHOD, Self::read_directory)
    }

    fn served_skills(&self) -> Arc<Skills> {
        self.0.skills.as_ref().map(|skills| Arc::clone(&skills.read())).unwrap_or_default()
    }

    fn list_skills(&self, params: PaginatedRequestParams) -> Result<ListSkillsResult, ErrorObject> {
        let skills = self.served_skills();
        let mut files = 0;
        let is_full = |skill: &Arc<mcpgen_types::ext::skills::Skill>| {
            files += verify::resources(skill).map_or(0, <[_]>::len);
            files > MAX_FILES_ON_PAGE
        };
        let (page, next) = page("skill", &skills.entries, params.cursor.as_deref(), self.0.config.page_size, is_full)?;
        let entries: Vec<_> = page.into_iter().map(|entry| (**entry).clone()).collect();
        let mut result = ListSkillsResult::new(entries, 0, CacheScope::Private);
        result.next_cursor = next;
        Ok(result)
    }

    fn get_skill(&self, params: GetSkillRequestParams) -> Result<GetSkillResult, ErrorObject> {
        let skills = self.served_skills();
        let unknown = || errors::invalid_params_in_words(&format!("no skill is served at {}", params.uri));
        let entry = skills.entries.get(&params.uri).ok_or_else(unknown)?;
        Ok(GetSkillResult::new((**entry).clone(), 0, CacheScope::Private))
    }

    fn read_directory(
        &self,
        params: ReadResourceDirectoryRequestParams,
    ) -> Result<ReadResourceDirectoryResult, ErrorObject> {
        let skills = self.served_skills();
        let unknown = || {
            let why = format!(
                "{} is not a directory; its URI is that of an {DIRECTORY} resource, without `/` at the end",
                params.uri
            );
            errors::invalid_params_in_words(&why)
        };
        let children = skills.directories.get(&params.uri).ok_or_else(unknown)?;
        let (page, next) = page("child", children, params.cursor.as_deref(), self.0.config.page_size, |_| false)?;
        let mut result = ReadResourceDirectoryResult::new(page.into_iter().cloned().collect::<Vec<_>>());
        result.next_cursor = next;
        Ok(result)
    }
}

/// Returns the resource of a file.
fn entry(file: Arc<SkillFile>) -> ResourceEntry {
    let resource = file.resource.clone();
    ResourceEntry::new(resource, move |_| ready(vec![file.contents()]))
}

/// Returns up to `size` values after a cursor, and the cursor of the next page. The page ends after a value for which
/// `is_full` returns true.
fn page<'v, T>(
    kind: &str,
    values: &'v BTreeMap<String, T>,
    cursor: Option<&str>,
    size: usize,
    mut is_full: impl FnMut(&T) -> bool,
) -> Result<(Vec<&'v T>, Option<String>), ErrorObject> {
    let after = cursor.map(|cursor| decode_cursor(kind, cursor)).transpose()?;
    let start = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let mut rest = values.range::<str, _>((start, Bound::Unbounded));
    let (mut page, mut last) = (Vec::new(), None);
    for (key, value) in rest.by_ref().take(size) {
        page.push(value);
        last = Some(key);
        if is_full(value) {
            break;
        }
    }
    Ok((page, rest.next().and(last).map(|last| encode_cursor(kind, last))))
}

/// Adds a handler of an extension's request for every revision. In legacy revisions, the params are converted like those of
/// `like`, a request with the same members, because the tables of conversions have no extensions.
fn handle<R, T>(
    router: Router,
    server: &Server,
    like: &'static str,
    handler: fn(&Server, R::Params) -> Result<T, ErrorObject>,
) -> Router
where
    R: Request + 'static,
    T: Encode + 'static,
{
    let server = server.clone();
    router.raw_request(None, R::METHOD, move |mut request| {
        let params = convert(&mut request, like).and_then(|()| conversion::params::<R>(request));
        let result = params.and_then(|params| handler(&server, params));
        Box::pin(ready(result.map(|result| Json::from(&result))))
    })
}

fn convert(request: &mut AnyRequest, like: &str) -> Result<(), ErrorObject> {
    let revisions = Revisions { from: request.context.revision(), to: TYPES };
    if revisions.from != revisions.to {
        let params = request.params.take().unwrap_or_else(|| Json::from(&JsonObject::new()));
        request.params = Some(revisions.params(like, &params).map_err(ConversionError::into_response)?);
    }
    Ok(())
}
