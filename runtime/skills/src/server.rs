//! Serves skills: their entries, directories, and files as resources.

use std::collections::BTreeMap;
use std::future::ready;
use std::ops::Bound;
use std::sync::Arc;

use mcpgen_mcp::protocol::change::Change;
use mcpgen_mcp::protocol::conversion::{ConversionError, Revisions};
use mcpgen_mcp::protocol::{ContextExt, TYPES};
use mcpgen_mcp::server::{DefinitionError, ServerSetup, decode_cursor, encode_cursor};
use mcpgen_mcp::{Server, ServerBuilder};
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::router::{self, AnyRequest, Router};
use mcpgen_types::codec::Encode;
use mcpgen_types::ext::skills::{
    GetSkillRequest, GetSkillRequestParams, GetSkillResult, ListSkillsRequest, ListSkillsResult,
    ReadResourceDirectoryRequest, ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult,
};
use mcpgen_types::v2026_07_28::{CacheScope, ListResourcesRequest, PaginatedRequestParams, ReadResourceRequest};
use mcpgen_types::{ErrorObject, Json, JsonObject, Request};
use parking_lot::RwLock;

use crate::catalog::{Conflict, SkillFile, Skills};
use crate::extension::SkillsExtension;
use crate::mime::DIRECTORY;
use crate::verify;

/// Bounds the size of a page: it ends with the entry whose files bring the total above this number.
const MAX_FILES_ON_PAGE: usize = 2048;

/// The skills of a server. Their files are also registered as resources.
struct Served(RwLock<Arc<Skills>>);

/// Skill methods of [`ServerBuilder`].
pub trait ServeSkills: Sized {
    /// Adds skills, and declares the extension `io.modelcontextprotocol/skills`. Each file becomes a resource.
    ///
    /// To set how long clients may cache entries, use `ServerBuilder::cache_hint` with `ListSkillsRequest` and
    /// `GetSkillRequest`.
    ///
    /// ```
    /// use mcpgen_sdk::prelude::*;
    /// use mcpgen_sdk::skills::Skills;
    ///
    /// let skill = "---\nname: greet\ndescription: Greets people. Use it when someone says hello.\n---\nSay hello.\n";
    /// let skills = Skills::from_files([("greet/SKILL.md", skill)])?;
    /// let server = Server::builder("greeter", "1.0.0").skills(skills).build();
    /// # let _ = server;
    /// # Ok::<(), mcpgen_sdk::skills::FolderError>(())
    /// ```
    fn skills(self, skills: Skills) -> Self;
}

impl<S: Clone + Send + Sync + 'static> ServeSkills for ServerBuilder<S> {
    fn skills(self, skills: Skills) -> Self {
        let mut files: Vec<Arc<SkillFile>> = skills.files.values().cloned().collect();
        let builder = self.setup(|setup| {
            if let Err(conflict) = serve(setup, skills) {
                setup.invalid(conflict);
                files.clear();
            }
        });
        files.into_iter().fold(builder, |builder, file| {
            let resource = file.resource.clone();
            builder.resource(resource, move || ready(vec![file.contents()]))
        })
    }
}

/// Adds skills to a server under construction. The first call also declares the extension.
fn serve(setup: &mut ServerSetup, skills: Skills) -> Result<(), DefinitionError> {
    let before = setup.extensions_mut().remove::<Arc<Served>>();
    if before.is_none() {
        setup.declare(&SkillsExtension::SERVER);
        setup.declare_resources();
        setup.routes(routes);
    }
    let mut served = before.map_or_else(Skills::default, |served| Skills::clone(&served.0.read()));
    let merged = served.merge(skills);
    setup.extensions_mut().insert(Arc::new(Served(RwLock::new(Arc::new(served)))));
    merged.map_err(|conflict| match conflict {
        Conflict::File(key) => DefinitionError::Duplicate { kind: "skill file", key },
        Conflict::Inner(uri) => DefinitionError::Extension(Arc::new(SkillsError::InnerSkill(uri))),
    })
}

/// Why a server cannot serve skills.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkillsError {
    /// A skill is inside another skill that was added separately.
    #[error("the skill at {0} and the skill around it were added separately; put them into one folder")]
    InnerSkill(String),
    /// A server without skills cannot replace them.
    #[error("the server was built without skills; add `ServeSkills::skills`")]
    NoSkills,
    /// A resource already has the URI of a file.
    #[error("another resource has the URI {0:?}; rename the skill or the resource")]
    Duplicate(String),
}

/// Skill methods of [`Server`].
pub trait ReplaceSkills {
    /// Replaces the server's skills, and notifies subscribers of changed files.
    ///
    /// # Errors
    ///
    /// Fails if the server was built without [`skills`](ServeSkills::skills), or if another resource has the URI of a
    /// file. The server then keeps its previous skills.
    fn replace_skills(&self, skills: Skills) -> Result<(), SkillsError>;
}

impl ReplaceSkills for Server {
    fn replace_skills(&self, skills: Skills) -> Result<(), SkillsError> {
        let Some(served) = self.extensions().get::<Arc<Served>>() else { return Err(SkillsError::NoSkills) };
        // Held until the resources have changed, so that concurrent calls do not mix their files.
        let mut served = served.0.write();
        let is_new = |uri: &&String| !served.files.contains_key(*uri);
        if let Some(key) = skills.files.keys().filter(is_new).find(|uri| self.has_resource(uri)) {
            return Err(SkillsError::Duplicate(key.clone()));
        }
        let removed: Vec<&String> = served.files.keys().filter(|uri| !skills.files.contains_key(*uri)).collect();
        let is_same_list = removed.is_empty() && served.files.len() == skills.files.len();
        let is_changed = |(uri, file): &(&String, &Arc<SkillFile>)| {
            !served.files.get(*uri).is_some_and(|before| before.is_same(file))
        };
        let changed: Vec<_> =
            skills.files.iter().filter(is_changed).map(|(uri, file)| (uri.clone(), Arc::clone(file))).collect();
        for uri in removed {
            self.unset_resource(uri);
        }
        for (_, file) in &changed {
            let (resource, file) = (file.resource.clone(), Arc::clone(file));
            self.set_resource(resource, move || ready(vec![file.contents()]));
        }
        *served = Arc::new(skills);
        drop(served);
        if !is_same_list {
            self.changed(&Change::Resources);
        }
        changed.into_iter().for_each(|(uri, _)| self.changed(&Change::Resource(uri)));
        Ok(())
    }
}

fn routes(server: &Server, router: Router) -> Router {
    let router = handle::<ListSkillsRequest, _>(router, server, ListResourcesRequest::METHOD, list_skills);
    let router = handle::<GetSkillRequest, _>(router, server, ReadResourceRequest::METHOD, get_skill);
    handle::<ReadResourceDirectoryRequest, _>(router, server, ReadResourceRequest::METHOD, read_directory)
}

fn served_skills(server: &Server) -> Arc<Skills> {
    server.extensions().get::<Arc<Served>>().map(|served| Arc::clone(&served.0.read())).unwrap_or_default()
}

fn list_skills(server: &Server, params: PaginatedRequestParams) -> Result<ListSkillsResult, ErrorObject> {
    let skills = served_skills(server);
    let mut files = 0;
    let is_full = |skill: &Arc<mcpgen_types::ext::skills::Skill>| {
        files += verify::resources(skill).map_or(0, <[_]>::len);
        files > MAX_FILES_ON_PAGE
    };
    let (page, next) = page("skill", &skills.entries, params.cursor.as_deref(), server.page_size(), is_full)?;
    let entries: Vec<_> = page.into_iter().map(|entry| (**entry).clone()).collect();
    let mut result = ListSkillsResult::new(entries, 0, CacheScope::Private);
    result.next_cursor = next;
    Ok(result)
}

fn get_skill(server: &Server, params: GetSkillRequestParams) -> Result<GetSkillResult, ErrorObject> {
    let skills = served_skills(server);
    let unknown = || errors::invalid_params_in_words(&format!("no skill is served at {}", params.uri));
    let entry = skills.entries.get(&params.uri).ok_or_else(unknown)?;
    Ok(GetSkillResult::new((**entry).clone(), 0, CacheScope::Private))
}

fn read_directory(
    server: &Server,
    params: ReadResourceDirectoryRequestParams,
) -> Result<ReadResourceDirectoryResult, ErrorObject> {
    let skills = served_skills(server);
    let unknown = || {
        let why = format!(
            "{} is not a directory; its URI is that of an {DIRECTORY} resource, without `/` at the end",
            params.uri
        );
        errors::invalid_params_in_words(&why)
    };
    let children = skills.directories.get(&params.uri).ok_or_else(unknown)?;
    let (page, next) = page("child", children, params.cursor.as_deref(), server.page_size(), |_| false)?;
    let mut result = ReadResourceDirectoryResult::new(page.into_iter().cloned().collect::<Vec<_>>());
    result.next_cursor = next;
    Ok(result)
}

/// Returns up to `size` values after a cursor, and the next page's cursor. Also ends the page after a value for which
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

/// Handles an extension's request in every revision. In legacy revisions, params are converted like those of `like`, a
/// request with the same members, because conversion tables do not cover extensions.
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
        let params = convert(&mut request, like)
            .and_then(|()| router::params::<R>(&request).map_err(|error| errors::invalid_params(&error)));
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
