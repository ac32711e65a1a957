//! Sends requests whose params and results are JSON in the connection's revision.

use mcpgen_sdk::client::PageLimits;
use mcpgen_sdk::protocol::PeerExt;
use mcpgen_sdk::protocol::input_requests::InputNotProvided;
use mcpgen_sdk::{CallError, Client};
use mcpgen_types::{Error, ErrorCode, Json, JsonObject, JsonRef, Revision, counted};
use serde_json::{Value, json};

use crate::cli::{Connection, Kind};
use crate::failure::{self, Failure};
use crate::output::{self, Activity, plain, quoted};
use crate::watch::validate_result;

impl Kind {
    pub(crate) const ALL: [Kind; 4] = [Kind::Tools, Kind::Resources, Kind::Templates, Kind::Prompts];

    pub(crate) fn method(self) -> &'static str {
        match self {
            Kind::Tools => "tools/list",
            Kind::Resources => "resources/list",
            Kind::Templates => "resources/templates/list",
            Kind::Prompts => "prompts/list",
        }
    }

    pub(crate) fn member(self) -> &'static str {
        match self {
            Kind::Tools => "tools",
            Kind::Resources => "resources",
            Kind::Templates => "resourceTemplates",
            Kind::Prompts => "prompts",
        }
    }

    /// The member that identifies an item.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Kind::Tools | Kind::Prompts => "name",
            Kind::Resources => "uri",
            Kind::Templates => "uriTemplate",
        }
    }

    /// The word for an item in messages.
    pub(crate) fn item(self) -> &'static str {
        match self {
            Kind::Tools => "tool",
            Kind::Resources => "resource",
            Kind::Templates => "resource template",
            Kind::Prompts => "prompt",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Kind::Tools => "tools",
            Kind::Resources => "resources",
            Kind::Templates => "resource templates",
            Kind::Prompts => "prompts",
        }
    }
}

/// Sends a request. Shows the server's progress reports.
pub(crate) async fn request(
    client: &Client,
    method: &str,
    params: JsonObject,
    activity: &Activity,
) -> Result<JsonObject, Failure> {
    activity.message(method);
    let request = client.peer().raw_request(method, Some(params.into()));
    let result = request.on_progress(activity.reports()).await;
    let result = result.map_err(|error| Failure::call(method, client.peer().explain(error)))?;
    let result = object(method, &result)?;
    if result.get("resultType").is_some_and(|kind| kind == "input_required") {
        return Err(needs_input(method));
    }
    Ok(result)
}

/// Calls a tool, as a task if the tool requires that. Shows the server's progress reports.
pub(crate) async fn call_tool(
    client: &Client,
    tool: &str,
    arguments: JsonObject,
    activity: &Activity,
) -> Result<JsonObject, Failure> {
    let method = "tools/call";
    activity.message(format!("{method}: {}", plain(tool)));
    match client.tool(tool).arguments(arguments).on_progress(activity.reports()).raw().await {
        Ok(result) => object(method, &result),
        Err(error) if error.downcast_ref::<InputNotProvided>().is_some() => Err(needs_input(method)),
        Err(error) => Err(Failure::call(method, error)),
    }
}

fn needs_input(method: &str) -> Failure {
    let why = match method {
        "tools/call" => "the server requests input; answer its questions with --answer NAME=VALUE",
        _ => "the server requests input, which mcpgen-probe provides only to tools",
    };
    let why = why.to_owned();
    Failure::Unexpected { method: method.to_owned(), why }
}

#[derive(Debug, Default)]
pub(crate) struct Lists {
    pub(crate) read: Vec<(Kind, Vec<Json>)>,
    /// Lists that the server does not have.
    pub(crate) absent: Vec<Kind>,
    /// Why other lists could not be read.
    failures: Vec<Failure>,
}

impl Lists {
    /// Connects and reads these lists. Warns about anything that does not match the schema. If a list fails, the others
    /// are still read.
    pub(crate) async fn read(connection: &Connection, kinds: &[Kind]) -> Lists {
        let mut lists = Lists::default();
        let mut problems = Vec::new();
        let session = connection
            .run(async |client, activity| {
                for kind in kinds {
                    match list(client, *kind, activity).await {
                        Ok(Some(list)) => {
                            problems.extend(list.problems);
                            lists.read.push((*kind, list.items));
                        }
                        Ok(None) => lists.absent.push(*kind),
                        Err(failure) if failure.exit_code() == failure::CONNECTION => return Err(failure),
                        Err(failure) => lists.failures.push(failure),
                    }
                }
                Ok(())
            })
            .await;
        lists.failures.extend(session.err());
        for problem in problems.iter().take(MOST_WARNINGS) {
            output::warning(problem);
        }
        if problems.len() > MOST_WARNINGS {
            let more = counted((problems.len() - MOST_WARNINGS) as u64, "other parts");
            output::warning(&format!("{more} of the lists do not match the schema"));
        }
        lists
    }

    /// Turns each absent list into a failure.
    pub(crate) fn require_all(&mut self) {
        self.failures.extend(self.absent.drain(..).map(|kind| {
            let why = format!("the server has no {}", kind.title());
            Failure::Unexpected { method: kind.method().to_owned(), why }
        }));
    }

    /// Reports all failures, merging those with the same cause, and returns the one with the highest exit code.
    pub(crate) fn into_result(self) -> Result<(), Failure> {
        let mut failures: Vec<Failure> = Vec::new();
        for failure in self.failures {
            if !failures.iter_mut().any(|known| known.merge(&failure)) {
                failures.push(failure);
            }
        }
        failures.sort_by_key(Failure::exit_code);
        let last = failures.pop();
        failures.iter().for_each(|failure| output::error(&failure.to_string()));
        last.map_or(Ok(()), Err)
    }

    pub(crate) fn have_failed(&self) -> bool {
        !self.failures.is_empty()
    }
}

/// In larger pages, problems are reported without their place: locating them needs a tree, which takes 80 MB for this
/// many entries.
const MOST_ENTRIES: usize = 400_000;
/// The maximum number of warnings about lists.
const MOST_WARNINGS: usize = 20;

/// A list, and what in it does not match the schema.
#[derive(Debug, Default)]
pub(crate) struct List {
    pub(crate) items: Vec<Json>,
    problems: Vec<String>,
}

/// Reads all pages. Returns `None` if the server does not have the list.
pub(crate) async fn list(client: &Client, kind: Kind, activity: &Activity) -> Result<Option<List>, Failure> {
    let (method, limits) = (kind.method(), PageLimits::default());
    let needs = client.revision().method(method).map_or(&[][..], |spec| spec.capability);
    // In 2026-07-28, a server may answer requests for lists that it does not declare.
    if !needs.is_empty() && client.peer().peer_info().is_some_and(|info| !info.can(needs)) {
        return Ok(None);
    }
    let unexpected = |why: String| Failure::Unexpected { method: method.to_owned(), why };
    let (mut list, mut bytes, mut cursor) = (List::default(), 0_usize, None::<String>);
    for page in 1..=limits.pages {
        activity.message(format!("{method}: page {page}, {} {}", list.items.len(), kind.title()));
        let params: JsonObject = cursor.iter().map(|cursor| ("cursor", cursor.into())).collect();
        let result = match client.peer().raw_request(method, Some(params.into())).await {
            Err(CallError::NotAllowed(_)) if page == 1 => return Ok(None),
            Err(CallError::ErrorResponse(error)) if page == 1 && error.code == ErrorCode::METHOD_NOT_FOUND => {
                return Ok(None);
            }
            result => result.map_err(|error| Failure::call(method, error))?,
        };
        bytes = bytes.saturating_add(result.text().len());
        if bytes > limits.bytes {
            return Err(unexpected(format!("the list has more than {}", counted(limits.bytes as u64, "bytes"))));
        }
        result.check::<JsonObject>().map_err(|error| unexpected(error.to_string()))?;
        if validate_result(client.revision(), method, &result).is_err() {
            list.problems.extend(problems(client.revision(), kind, &result));
        }
        match result.get(kind.member()).filter(|items| items.is_array()) {
            Some(items) => list.items.extend(items.elements().map(JsonRef::to_json)),
            None => return Err(unexpected(format!("the result has no `{}` array", kind.member()))),
        }
        let Some(next) = result.get("nextCursor").filter(|next| !next.is_null()) else { return Ok(Some(list)) };
        match next.as_str() {
            Some(next) if Some(&*next) != cursor.as_deref() => cursor = Some(next.into_owned()),
            Some(_) => return Err(unexpected("`nextCursor` repeats the cursor of the page".to_owned())),
            None => return Err(unexpected("`nextCursor` is not a string".to_owned())),
        }
    }
    Err(unexpected(format!("the list has more than {}", counted(limits.pages as u64, "pages"))))
}

/// Describes what in a page does not match the schema: members of the result and of each item.
fn problems(revision: Revision, kind: Kind, page: &Json) -> Vec<String> {
    let (method, member) = (kind.method(), kind.member());
    if page.entries().is_ok_and(|entries| entries > MOST_ENTRIES) {
        return vec![format!("{method}: the result does not match the schema, and is too large to say where")];
    }
    let Value::Object(page) = page.to_value() else { return Vec::new() };
    let validate = |page: &Value| validate_result(revision, method, &Json::from(page));
    let mut result = Value::Object(page.clone());
    result[member] = json!([]);
    let of_result = invalid_members(&mut result, validate).into_iter();
    let mut problems: Vec<String> =
        of_result.map(|(path, error)| format!("{method}: {path}: {}", error.kind())).collect();
    let items = page.get(member).and_then(Value::as_array);
    for (at, item) in items.into_iter().flatten().enumerate() {
        let name = match item.get(kind.key()).and_then(Value::as_str) {
            Some(name) => quoted(name),
            None => (at + 1).to_string(),
        };
        // A problem with the result must not hide one with an item.
        let mut alone = json!({ "resultType": "complete", "ttlMs": 0, "cacheScope": "private", member: [item] });
        for (path, error) in invalid_members(&mut alone, validate) {
            let Some(path) = path.strip_prefix(&format!("/{member}/0")) else { break };
            let path = if path.is_empty() { String::new() } else { format!("{path}: ") };
            problems.push(format!("{method}: {} {name}: {path}{}", kind.item(), error.kind()));
        }
    }
    problems
}

/// Removes the invalid members of a value. Returns the JSON pointer of each, and what is wrong with it.
fn invalid_members(value: &mut Value, validate: impl Fn(&Value) -> Result<(), Error>) -> Vec<(String, Error)> {
    let mut invalid = Vec::new();
    while invalid.len() < MOST_WARNINGS {
        let Err(error) = validate(value) else { break };
        let path = error.path();
        let (parent, name) = path.rsplit_once('/').unwrap_or_default();
        let name = name.replace("~1", "/").replace("~0", "~");
        let parent = value.pointer_mut(parent).and_then(Value::as_object_mut);
        // Missing members and array items cannot be removed.
        let removed = parent.and_then(|parent| parent.remove(&name));
        invalid.push((path, error));
        if removed.is_none() {
            break;
        }
    }
    invalid
}

fn object(method: &str, result: &Json) -> Result<JsonObject, Failure> {
    result.decode().map_err(|error| Failure::Unexpected { method: method.to_owned(), why: error.to_string() })
}
