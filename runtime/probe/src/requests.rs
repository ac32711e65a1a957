//! Sends requests, whose params and results are JSON in the revision of the connection.

use mcpgen_runtime::{CallError, Client};
use mcpgen_types::{ErrorCode, JsonObject, RawJson};
use serde_json::{Map, Value};

use crate::cli::Kind;
use crate::failure::Failure;
use crate::output::{Activity, plain};

impl Kind {
    pub(crate) const ALL: [Kind; 4] = [Kind::Tools, Kind::Resources, Kind::Templates, Kind::Prompts];

    /// Returns the method that lists the items.
    pub(crate) fn method(self) -> &'static str {
        match self {
            Kind::Tools => "tools/list",
            Kind::Resources => "resources/list",
            Kind::Templates => "resources/templates/list",
            Kind::Prompts => "prompts/list",
        }
    }

    /// Returns the member of the result that has the items.
    pub(crate) fn member(self) -> &'static str {
        match self {
            Kind::Tools => "tools",
            Kind::Resources => "resources",
            Kind::Templates => "resourceTemplates",
            Kind::Prompts => "prompts",
        }
    }

    /// Returns the member that identifies an item.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Kind::Tools | Kind::Prompts => "name",
            Kind::Resources => "uri",
            Kind::Templates => "uriTemplate",
        }
    }

    /// Returns the title of the list.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Kind::Tools => "tools",
            Kind::Resources => "resources",
            Kind::Templates => "resource templates",
            Kind::Prompts => "prompts",
        }
    }
}

/// Sends a request, and shows the server's reports of progress.
pub(crate) async fn request(
    client: &Client,
    method: &str,
    params: JsonObject,
    activity: &Activity,
) -> Result<JsonObject, Failure> {
    activity.message(method);
    let request = client.peer.raw_request(method, Some(RawJson::from(&params)));
    let result = request.on_progress(activity.reports()).await;
    let result = result.map_err(|error| Failure::call(method, client.peer.explain(error)))?;
    let result = object(method, &result)?;
    if result.get("resultType").and_then(Value::as_str) == Some("input_required") {
        return Err(needs_input(method));
    }
    Ok(result)
}

/// Calls a tool, and shows the server's reports of progress. A tool that requires a task runs as one.
pub(crate) async fn call_tool(
    client: &Client,
    tool: &str,
    arguments: JsonObject,
    activity: &Activity,
) -> Result<JsonObject, Failure> {
    activity.message(format!("calling {}", plain(tool)));
    let method = "tools/call";
    match client.tool(tool).arguments(arguments).on_progress(activity.reports()).raw().await {
        Ok(result) => object(method, &result),
        Err(CallError::Input { .. }) => Err(needs_input(method)),
        Err(error) => Err(Failure::call(method, error)),
    }
}

fn needs_input(method: &str) -> Failure {
    let why = "the server requests input, which mcpgen-probe does not provide".to_owned();
    Failure::Unexpected { method: method.to_owned(), why }
}

/// Reads all pages of a list. Returns `None` if the server does not have the list.
pub(crate) async fn list(client: &Client, kind: Kind, activity: &Activity) -> Result<Option<Vec<Value>>, Failure> {
    let (method, limits) = (kind.method(), client.page_limits);
    let unexpected = |why: String| Failure::Unexpected { method: method.to_owned(), why };
    let (mut items, mut bytes, mut cursor) = (Vec::new(), 0_usize, None::<String>);
    for page in 1..=limits.pages {
        activity.message(format!("{method}: page {page}, {} {}", items.len(), kind.title()));
        let params: JsonObject = cursor.iter().map(|cursor| ("cursor".to_owned(), cursor.clone().into())).collect();
        let result = match client.peer.raw_request(method, Some(RawJson::from(&params))).await {
            Err(CallError::NotAllowed(_)) if page == 1 => return Ok(None),
            Err(CallError::ErrorResponse(error)) if page == 1 && error.code == ErrorCode::METHOD_NOT_FOUND => {
                return Ok(None);
            }
            result => result.map_err(|error| Failure::call(method, error))?,
        };
        bytes = bytes.saturating_add(result.text().len());
        if bytes > limits.bytes {
            return Err(unexpected(format!("the list has more than {} bytes", limits.bytes)));
        }
        let mut result = object(method, &result)?;
        match result.remove(kind.member()) {
            Some(Value::Array(more)) => items.extend(more),
            _ => return Err(unexpected(format!("the result has no array `{}`", kind.member()))),
        }
        match result.remove("nextCursor") {
            None | Some(Value::Null) => return Ok(Some(items)),
            Some(Value::String(next)) if Some(&next) != cursor.as_ref() => cursor = Some(next),
            Some(Value::String(_)) => return Err(unexpected("`nextCursor` repeats the cursor of the page".to_owned())),
            Some(_) => return Err(unexpected("`nextCursor` is not a string".to_owned())),
        }
    }
    Err(unexpected(format!("the list has more than {} pages", limits.pages)))
}

fn object(method: &str, result: &RawJson) -> Result<JsonObject, Failure> {
    let object: Result<Map<String, Value>, _> = result.decode();
    object.map_err(|error| Failure::Unexpected { method: method.to_owned(), why: error.to_string() })
}
