//! A server with tasks, for the tests: `gateway_task_server NAME REVISION|all tools|numbered [http]` serves standard input
//! and output, or prints a URL and serves it.

#![allow(deprecated, reason = "2026-07-28 deprecates what the gateway relays")]

use std::error::Error;
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpgen_sdk::http::server::{Endpoint, EndpointOptions};
use mcpgen_sdk::prelude::*;
use mcpgen_sdk::protocol::config::ServerConfig;
use mcpgen_sdk::protocol::extension::Extension;
use mcpgen_sdk::protocol::legacy::RELATED_TASK;
use mcpgen_sdk::router::AnyRequest;
use mcpgen_sdk::server::ToolInfo;
use mcpgen_sdk::tasks::{
    InMemoryTaskStore, ServeTasks, TaskLimits, TaskPeerExt, TaskSupport, TaskToolExt, Tasks, TasksExtension, capability,
};
use mcpgen_sdk::transport::{lines, stdio};
use mcpgen_sdk::{Context, LocalInfo, Peer, Router};
use mcpgen_types::v2025_11_25::{CreateMessageRequest, CreateMessageRequestParams};
use mcpgen_types::v2026_07_28::{ElicitRequestFormParams, Tool, ToolInputSchema};
use mcpgen_types::{ErrorObject, Json};
use serde_json::{Value, json};

fn tool(name: &str, support: TaskSupport) -> ToolInfo {
    ToolInfo::from(Tool::new(name, ToolInputSchema::new())).task(support)
}

fn tools(name: &str) -> Server {
    let limits = TaskLimits::default().with_poll_interval(Duration::from_millis(20));
    Server::builder(name, "1")
        .setup(|setup| setup.declare_capability("tasks", capability(&["tools/call"], true)))
        .tasks(Tasks::new(InMemoryTaskStore::default(), limits))
        .tool(tool("plain", TaskSupport::Forbidden), || async { "plain" })
        .tool(tool("required", TaskSupport::Required), |context: RequestContext| async move {
            context.progress(1.0, None, None).await;
            "required"
        })
        .tool(tool("sleeps", TaskSupport::Optional), std::future::pending::<String>)
        .tool(tool("crash", TaskSupport::Forbidden), || async {
            std::process::exit(7);
            #[allow(unreachable_code, reason = "a tool has a result")]
            ""
        })
        .tool(tool("asks", TaskSupport::Optional), |context: RequestContext| async move {
            let form = json!({ "message": "Who?", "requestedSchema": { "type": "object", "properties": {} } });
            let form: ElicitRequestFormParams = mcpgen_types::from_value(form)?;
            Ok::<_, ToolError>(format!("{:?}", context.elicit("who", form).await?.action))
        })
        // Asks the client to run sampling as a task.
        .tool(tool("delegates", TaskSupport::Forbidden), |context: RequestContext| async move {
            let params = json!({
                "messages": [{ "role": "user", "content": { "type": "text", "text": "hello" } }],
                "maxTokens": 5,
                "task": {},
            });
            let params: CreateMessageRequestParams = mcpgen_types::from_value(params)?;
            let created = peer(&context).call_task::<CreateMessageRequest>(params).await?;
            let result = peer(&context).task_result::<CreateMessageRequest>(&created.task.task_id).await?;
            Ok::<_, ToolError>(format!("{} {}", result.model, created.task.task_id))
        })
        // Looks for a task of the client, and counts all tasks that the client lists.
        .tool(tool("looks", TaskSupport::Forbidden), |context: RequestContext, arguments: JsonObject| async move {
            let listed = peer(&context).raw_request("tasks/list", None).await?.to_value();
            let count = listed["tasks"].as_array().map_or(0, Vec::len);
            let is_known = peer(&context).raw_request("tasks/get", Some(arguments.into())).await.is_ok();
            Ok::<_, ToolError>(format!("{count} {is_known}"))
        })
        .build()
}

fn peer(context: &RequestContext) -> Peer {
    let context: &Context = context.as_ref();
    context.peer()
}

/// The status of each task, in the order of the IDs.
type Numbered = Arc<Mutex<Vec<&'static str>>>;

/// The result of the tool `work`.
fn result() -> Value {
    json!({ "content": [{ "type": "resource_link", "uri": "file:///shared", "name": "shared" }] })
}

/// Handles requests to a server whose tasks have the IDs 1, 2 and so on. `work` ends at once, and `hang` never does.
fn numbered(tasks: &Numbered, request: &AnyRequest) -> Result<Value, ErrorObject> {
    let is_legacy = request.context.revision().is_legacy();
    let params = request.params.as_ref().map(Json::to_value).unwrap_or_default();
    let mut tasks = tasks.lock().map_err(|_| ErrorObject::new(-1, "a panic"))?;
    let unknown = || ErrorObject::new(-32602, "no such task");
    let (time, ttl) = ("2026-01-01T00:00:00Z", if is_legacy { "ttl" } else { "ttlMs" });
    let state = |number: usize, status: &str| {
        let id = number.to_string();
        json!({ "taskId": id, "status": status, "createdAt": time, "lastUpdatedAt": time, ttl: null })
    };
    let number = params["taskId"].as_str().and_then(|id| id.parse::<usize>().ok());
    let number = number.filter(|number| (1..=tasks.len()).contains(number));
    Ok(match &*request.method {
        "tools/list" => {
            let mut tools = json!([{ "name": "work" }, { "name": "hang" }]);
            for tool in tools.as_array_mut().into_iter().flatten() {
                tool["inputSchema"] = json!({ "type": "object" });
                if is_legacy {
                    tool["execution"] = json!({ "taskSupport": "optional" });
                }
            }
            json!({ "tools": tools })
        }
        "resources/list" => json!({ "resources": [{ "uri": "file:///shared", "name": "shared" }] }),
        "resources/templates/list" => json!({ "resourceTemplates": [] }),
        "tools/call" if is_legacy && params.get("task").is_none() => result(),
        "tools/call" => {
            tasks.push(if params["name"] == "work" { "completed" } else { "working" });
            let mut task = state(tasks.len(), "working");
            if is_legacy {
                return Ok(json!({ "task": task }));
            }
            task["resultType"] = json!("task");
            task
        }
        "tasks/list" => {
            // Each page has one task.
            let at = params["cursor"].as_str().map_or(Ok(0), str::parse::<usize>).map_err(|_| unknown())?;
            let page: Vec<Value> = tasks.get(at).map(|status| state(at + 1, status)).into_iter().collect();
            let mut result = json!({ "tasks": page });
            if at + 1 < tasks.len() {
                result["nextCursor"] = json!((at + 1).to_string());
            }
            result
        }
        "tasks/result" => {
            let number = number.ok_or_else(unknown)?;
            let mut result = result();
            result["_meta"] = json!({ RELATED_TASK: { "taskId": number.to_string() } });
            result
        }
        "tasks/get" | "tasks/cancel" | "tasks/update" => {
            let number = number.ok_or_else(unknown)?;
            if &*request.method == "tasks/cancel" {
                tasks[number - 1] = "cancelled";
            }
            match (is_legacy, &*request.method) {
                (true, _) => state(number, tasks[number - 1]),
                (false, "tasks/get") => {
                    let mut state = state(number, tasks[number - 1]);
                    if tasks[number - 1] == "completed" {
                        state["result"] = result();
                    }
                    state
                }
                (false, _) => json!({}),
            }
        }
        method => return Err(ErrorObject::new(-32601, method.to_owned())),
    })
}

fn numbered_server(name: &str) -> (ServerConfig, Router) {
    let tasks = Numbered::default();
    let info = LocalInfo::new(name, "1")
        .capability("tools", json!({}))
        .capability("resources", json!({}))
        .capability("tasks", capability(&["tools/call"], true));
    let config = ServerConfig::from(info.extension(&TasksExtension::default())).with_result_types(
        TasksExtension::default().result_types().iter().map(|kind| (*kind).to_owned()).collect::<Vec<_>>(),
    );
    let router = Router::new().fallback(move |request| {
        let result = numbered(&tasks, &request).map(|result| Json::from(&result));
        std::future::ready(result)
    });
    (config, router)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, revision, kind, mode @ ..] = &arguments[..] else { return Err("NAME REVISION KIND [http]".into()) };
    let (mut config, router) = match &**kind {
        "numbered" => numbered_server(name),
        _ => {
            let server = tools(name);
            (server.config()?, server.router())
        }
    };
    config.local_info = config.local_info.retain_revisions(|known| revision == "all" || known.as_str() == revision);
    if mode.first().is_none_or(|mode| mode != "http") {
        return Ok(mcpgen_sdk::serve((config, router), stdio::stdio(lines::DEFAULT_LINE_LIMIT)?).await?);
    }
    let endpoint = Endpoint::new(config, router.clone(), router, EndpointOptions::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    std::io::stdout().flush()?;
    Ok(axum::serve(listener, axum::Router::new().route_service("/mcp", endpoint)).await?)
}
