//! Tasks of several servers, with processes of the example `gateway_task_server`.

use std::path::Path;
use std::sync::{Arc, Mutex};

use mcpgen_gateway::{Config, Gateway, Prefix, ServerConfig};
use mcpgen_sdk::http::client::{ClientOptions, ConnectHttp};
use mcpgen_sdk::protocol::legacy::RELATED_TASK;
use mcpgen_sdk::protocol::{ContextExt, PeerExt};
use mcpgen_sdk::tasks::{CallTasks, InMemoryTaskStore, TaskLimits, TaskSupport, Tasks, capability};
use mcpgen_sdk::{CallError, Client, ClientBuilder, Context};
use mcpgen_types::v2025_11_25::{CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult};
use mcpgen_types::v2026_07_28::{ElicitRequestParams, ElicitResult, ElicitResultAction};
use mcpgen_types::{ErrorObject, Json, Revision};
use serde_json::{Value, json};

use crate::http::{HttpServer, serve};
use crate::support::{connect, example, gateway, in_time};

const LEGACY: Revision = Revision::V2025_11_25;
const MODERN: Revision = Revision::V2026_07_28;
const KINDS: [Revision; 2] = [LEGACY, MODERN];

fn process(name: &str, revision: &str, kind: &str) -> ServerConfig {
    ServerConfig::of_command(example("gateway_task_server").to_str().expect("UTF-8"), [name, revision, kind])
}

fn config(servers: &[(&str, Revision)], kind: &str) -> Config {
    let mut config = Config::default();
    for (name, revision) in servers {
        config.servers.insert((*name).to_owned(), process(name, revision.as_str(), kind));
    }
    config
}

/// What a client has received.
type Received = Arc<Mutex<Vec<Value>>>;

/// A client that records requests for input and notifications of tasks. It runs sampling as tasks in 2025-11-25.
fn client(revision: Revision) -> (ClientBuilder, Received) {
    let received = Received::default();
    let (asked, notified) = (Arc::clone(&received), Arc::clone(&received));
    let client = Client::builder("in front", "1")
        .revisions([revision])
        .on_elicitation(move |context: Context, params| {
            let related = context.meta().get(RELATED_TASK).map(|task| task.to_value());
            let message = match params {
                ElicitRequestParams::ElicitRequestFormParams(form) => form.message.clone(),
                other => panic!("{other:?}"),
            };
            asked.lock().expect("no panic").push(json!({ "asked": message, "of": related }));
            async { Ok(ElicitResult::new(ElicitResultAction::Accept)) }
        })
        .handlers(move |router| {
            ["tasks/status", "progress"].into_iter().fold(router, |router, name| {
                let notified = Arc::clone(&notified);
                router.custom_notification(format!("notifications/{name}"), move |_, params: Value| {
                    notified.lock().expect("no panic").push(json!({ name: params }));
                    async {}
                })
            })
        });
    if !revision.is_legacy() {
        return (client.tasks(), received);
    }
    let sample = |_: Context, _: CreateMessageRequestParams| async {
        let result = json!({ "role": "assistant", "content": { "type": "text", "text": "hi" }, "model": "model" });
        Ok::<CreateMessageResult, ErrorObject>(mcpgen_types::from_value(result).expect("a result"))
    };
    let tasks = Tasks::new(InMemoryTaskStore::default(), TaskLimits::default());
    let client = client
        .options(|options| {
            let capabilities = &mut options.local_info.capabilities;
            capabilities.insert("tasks", capability(&["sampling/createMessage"], true));
            capabilities.insert("sampling", json!({}));
        })
        .handlers(move |router| tasks.on::<CreateMessageRequest>(router, |_| TaskSupport::Optional, sample));
    (client, received)
}

async fn send(client: &Client, method: &str, params: Value) -> Result<Value, String> {
    match in_time(client.peer().raw_request(method, Some(Json::from(&params))).send()).await {
        Ok(result) => Ok(result.to_value()),
        Err(CallError::ErrorResponse(error)) => Err(format!("{} {}", error.code.0, error.message)),
        Err(error) => Err(error.to_string()),
    }
}

/// Creates a task, and returns its ID.
async fn create(client: &Client, tool: &str) -> String {
    let is_legacy = client.revision().is_legacy();
    let mut params = json!({ "name": tool });
    if is_legacy {
        (params["task"], params["_meta"]) = (json!({}), json!({ "progressToken": "p" }));
    }
    let created = send(client, "tools/call", params).await.unwrap_or_else(|error| panic!("{tool}: {error}"));
    let task = if is_legacy { &created["task"] } else { &created };
    task["taskId"].as_str().unwrap_or_else(|| panic!("{created}")).to_owned()
}

/// Sends a request about a task.
async fn about(client: &Client, method: &str, id: &str) -> Result<Value, String> {
    send(client, method, json!({ "taskId": id })).await
}

/// Polls a task until it has this status.
async fn until(client: &Client, id: &str, status: &str) -> Value {
    let poll = async {
        loop {
            let state = about(client, "tasks/get", id).await.expect("a state");
            if state["status"] == status {
                return state;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    in_time(poll).await
}

async fn received(received: &Received, wanted: impl Fn(&Value) -> bool) -> Value {
    let wait = async {
        loop {
            if let Some(found) = received.lock().expect("no panic").iter().find(|it| wanted(it)) {
                return found.clone();
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    in_time(wait).await
}

/// Returns the result of a task that has ended.
async fn result(client: &Client, id: &str) -> Value {
    match client.revision().is_legacy() {
        true => about(client, "tasks/result", id).await.expect("a result"),
        false => about(client, "tasks/get", id).await.expect("a state")["result"].clone(),
    }
}

/// Each server numbers its tasks from 1.
#[tokio::test]
async fn servers_have_tasks_with_the_same_ids() {
    for (names, prefix, seen) in [
        (&["a", "b"][..], Prefix::Clash, &["a/1", "b/1"][..]),
        (&["a"], Prefix::Always, &["a/1"]),
        (&["a"], Prefix::Clash, &["1"]),
    ] {
        for revision in KINDS {
            let servers: Vec<_> = names.iter().map(|name| (*name, revision)).collect();
            let mut config = config(&servers, "numbered");
            config.prefix = prefix;
            let (client, _) = client(revision);
            let client = connect(&gateway(config), client).await;
            let is_prefixed = seen[0] != "1";
            in_time(client.resources()).await.expect("resources");
            for (name, id) in names.iter().zip(seen) {
                let tool = |tool: &str| if is_prefixed { format!("{name}__{tool}") } else { tool.to_owned() };
                assert_eq!(create(&client, &tool("work")).await, *id);
                let second = id.replace('1', "2");
                assert_eq!(create(&client, &tool("hang")).await, second);
                let state = about(&client, "tasks/get", id).await.expect("a state");
                assert_eq!((&state["taskId"], &state["status"]), (&json!(id), &json!("completed")));
                // URIs in the result have the form that the client sees.
                let uri = if is_prefixed { format!("{name}+file:///shared") } else { "file:///shared".to_owned() };
                let result = result(&client, id).await;
                assert_eq!(result["content"][0]["uri"], uri, "{result}");
                if revision.is_legacy() {
                    assert_eq!(result["_meta"][RELATED_TASK], json!({ "taskId": id }), "{result}");
                }
                about(&client, "tasks/cancel", &second).await.expect("a cancelled task");
                assert_eq!(about(&client, "tasks/get", &second).await.expect("a state")["status"], "cancelled");
            }
            for unknown in ["c/1", "a/3", "3", "", "/1"] {
                let error = about(&client, "tasks/get", unknown).await.expect_err("an unknown task");
                assert!(error.starts_with("-32602"), "{unknown:?}: {error}");
            }
            if !revision.is_legacy() {
                assert!(send(&client, "tasks/list", json!({})).await.expect_err("no list").starts_with("-32601"));
                continue;
            }
            let (mut listed, mut params) = (Vec::new(), json!({}));
            loop {
                let page = send(&client, "tasks/list", params).await.expect("a page");
                listed.extend(page["tasks"].as_array().expect("tasks").iter().map(|task| task["taskId"].clone()));
                let Some(next) = page.get("nextCursor") else { break };
                params = json!({ "cursor": next });
            }
            let expected: Vec<Value> = seen.iter().flat_map(|id| [json!(id), json!(id.replace('1', "2"))]).collect();
            assert_eq!(listed, expected);
            let error = send(&client, "tasks/list", json!({ "cursor": "elsewhere" })).await.expect_err("no cursor");
            assert!(error.starts_with("-32602"), "{error}");
        }
    }
}

/// Messages about tasks in 2025-11-25: requests for input, progress and status.
async fn check_legacy_messages(client: &Client, log: &Received) {
    let id = create(client, "a__asks").await;
    assert!(id.starts_with("a/"), "{id}");
    let answered = about(client, "tasks/result", &id).await.expect("a result");
    assert_eq!(answered["content"][0]["text"], "Accept");
    assert_eq!(answered["_meta"][RELATED_TASK], json!({ "taskId": id }));
    let asked = received(log, |it| it.get("asked").is_some()).await;
    assert_eq!(asked, json!({ "asked": "[server `a`] Who?", "of": { "taskId": id } }));
    received(log, |it| it["tasks/status"]["taskId"] == id && it["tasks/status"]["status"] == "completed").await;
    let id = create(client, "b__required").await;
    let progress = received(log, |it| it.get("progress").is_some()).await["progress"].clone();
    assert_eq!((&progress["progressToken"], &progress["_meta"][RELATED_TASK]["taskId"]), (&json!("p"), &json!(id)));
}

/// Tasks that the client runs belong to the server that has asked for them.
async fn check_tasks_of_the_client(client: &Client) {
    let text = async |tool: &str, arguments: Value| {
        let result = send(client, "tools/call", json!({ "name": tool, "arguments": arguments })).await;
        let result = result.unwrap_or_else(|error| panic!("{tool}: {error}"));
        result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
    };
    let sampled = text("a__delegates", json!({})).await;
    let (model, id) = sampled.split_once(' ').expect("two words");
    assert_eq!(model, "model");
    assert_eq!(text("a__looks", json!({ "taskId": id })).await, "1 true");
    assert_eq!(text("b__looks", json!({ "taskId": id })).await, "0 false");
}

/// Input for tasks and changes to tasks in 2026-07-28.
async fn check_modern_messages(client: &Client) {
    let ids = [create(client, "a__asks").await, create(client, "b__asks").await];
    let (sender, mut states) = tokio::sync::mpsc::unbounded_channel();
    let filter = json!({ "notifications": { "taskIds": [ids[0], "a/unknown", "c/1", ids[1], "x"] } });
    let request = client.peer().raw_request("subscriptions/listen", Some(Json::from(&filter)));
    let _subscribed = request
        .idle_timeout(None)
        .timeout(None)
        .on_notification(Box::new(move |_, params| {
            let _ = sender.send(params.map(Json::to_value).unwrap_or_default());
        }))
        .send();
    let acknowledged = in_time(states.recv()).await.expect("an acknowledgement");
    assert_eq!(acknowledged["notifications"]["taskIds"], json!(ids), "{acknowledged}");
    for id in &ids {
        let state = until(client, id, "input_required").await;
        let server = id.split('/').next().expect("a name");
        let message = format!("[server `{server}`] Who?");
        assert_eq!(state["inputRequests"]["who"]["params"]["message"], message, "{state}");
        let params = json!({ "taskId": id, "inputResponses": { "who": { "action": "accept" } } });
        send(client, "tasks/update", params).await.expect("an acknowledgement");
        let completes = async {
            loop {
                let state = states.recv().await.expect("a state");
                if state["taskId"] == *id && state["status"] == "completed" {
                    return state["result"]["content"][0]["text"].clone();
                }
            }
        };
        assert_eq!(in_time(completes).await, "Accept");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relays_messages_of_tasks() {
    for revision in KINDS {
        for is_http in [false, true] {
            eprintln!("{revision}, over HTTP: {is_http}");
            let gateway = gateway(config(&[("a", revision), ("b", revision)], "tools"));
            let (client, log) = client(revision);
            let client = match is_http {
                false => connect(&gateway, client).await,
                true => {
                    let url = format!("http://{}/mcp", serve(&gateway));
                    in_time(client.connect_http(&url, ClientOptions::default())).await.expect("a connection")
                }
            };
            match revision.is_legacy() {
                true => {
                    check_legacy_messages(&client, &log).await;
                    check_tasks_of_the_client(&client).await;
                }
                false => check_modern_messages(&client).await,
            }
        }
    }
}

#[tokio::test]
async fn a_server_that_ends_loses_its_tasks() {
    for revision in KINDS {
        let gateway = gateway(config(&[("a", revision), ("b", revision)], "tools"));
        let (client, _) = client(revision);
        let client = connect(&gateway, client).await;
        let ids = [create(&client, "a__sleeps").await, create(&client, "b__sleeps").await];
        let waiting = async {
            match revision.is_legacy() {
                true => about(&client, "tasks/result", &ids[0]).await,
                false => Err("server `a`".to_owned()),
            }
        };
        let (failed, crashed) = tokio::join!(waiting, send(&client, "tools/call", json!({ "name": "a__crash" })));
        for error in [failed, crashed] {
            let error = error.expect_err("the server has ended");
            assert!(error.contains("server `a`"), "{error}");
        }
        if revision.is_legacy() {
            // A server that is not available does not fail the list.
            let listed = send(&client, "tasks/list", json!({})).await.expect("a list");
            assert_eq!(listed["tasks"].as_array().map_or(0, Vec::len), 1, "{listed}");
        }
        assert_eq!(about(&client, "tasks/get", &ids[1]).await.expect("a state")["status"], "working");
        // The server is started again, and knows nothing of its tasks.
        let forgets = async {
            loop {
                let error = about(&client, "tasks/get", &ids[0]).await.expect_err("a lost task");
                if error.starts_with("-32602") {
                    return;
                }
                assert!(error.contains("server `a`"), "{error}");
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        in_time(forgets).await;
        let id = create(&client, "a__required").await;
        until(&client, &id, "completed").await;
    }
}

/// The gateway keeps no state to resolve task IDs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_gateway_and_another_configuration_know_the_tasks() {
    for revision in KINDS {
        let servers = ["a", "b"].map(|name| {
            let (server, config) =
                HttpServer::of_example("gateway_task_server", &[name, revision.as_str(), "numbered", "http"]);
            (name, server, config)
        });
        let config = || {
            let mut config = Config::default();
            for (name, _, server) in &servers {
                config.servers.insert((*name).to_owned(), server.clone());
            }
            config
        };
        let first = gateway(config());
        let here = connect(&first, client(revision).0).await;
        let there = connect(&gateway(config()), client(revision).0).await;
        let id = create(&here, "b__work").await;
        assert_eq!(about(&there, "tasks/get", &id).await.expect("a state")["taskId"], id);
        let mut more = config();
        // Between the others, so that positions change.
        more.servers.insert("aa".to_owned(), process("aa", revision.as_str(), "numbered"));
        first.reload(more, Path::new("")).expect("a valid configuration");
        assert_eq!(about(&here, "tasks/get", &id).await.expect("a state")["taskId"], id);
    }
}

/// Servers with tasks of either kind, one without, and one with both, which is connected with the newest revision.
#[tokio::test]
async fn servers_of_different_kinds() {
    let mut config = config(&[("a", LEGACY), ("b", MODERN), ("c", Revision::V2025_06_18)], "tools");
    config.servers.insert("d".to_owned(), process("d", "all", "tools"));
    let gateway = gateway(config);
    for revision in [Revision::V2025_06_18, LEGACY, MODERN] {
        let client = connect(&gateway, client(revision).0).await;
        let info = client.peer().peer_info().expect("a server");
        assert_eq!(info.can(&["tasks", "requests", "tools", "call"]), revision.is_legacy(), "{info:?}");
        assert!(info.can(&["extensions", "io.modelcontextprotocol/tasks"]), "{info:?}");
        let tools = send(&client, "tools/list", json!({})).await.expect("tools");
        for tool in tools["tools"].as_array().expect("tools") {
            let support = match (revision == LEGACY, tool["name"].as_str()) {
                (true, Some("a__required")) => json!("required"),
                (true, Some("a__sleeps" | "a__asks")) => json!("optional"),
                _ => Value::Null,
            };
            assert_eq!(tool["execution"]["taskSupport"], support, "{tool}");
        }
        for name in ["a", "b", "c", "d"] {
            let tool = format!("{name}__required");
            let is_same = matches!((name, revision), ("a", LEGACY) | ("b" | "d", MODERN));
            match is_same {
                true => drop(until(&client, &create(&client, &tool).await, "completed").await),
                false => {
                    let result = send(&client, "tools/call", json!({ "name": tool })).await.expect("a result");
                    assert_eq!(result["content"][0]["text"], "required", "{result}");
                }
            }
        }
        if revision == LEGACY {
            for tool in ["b__plain", "c__plain"] {
                let params = json!({ "name": tool, "task": {} });
                let error = send(&client, "tools/call", params).await.expect_err("the tool cannot run as a task");
                assert!(error.starts_with("-32601") && error.contains("cannot run as a task"), "{error}");
            }
            let error = about(&client, "tasks/get", "b/1").await.expect_err("an unknown task");
            assert!(error.starts_with("-32602"), "{error}");
        }
    }
}

/// Rules, limits and the log apply as for any other call.
#[tokio::test]
async fn calls_that_create_tasks_are_calls() {
    for revision in KINDS {
        let folder = tempfile::tempdir().expect("a folder");
        let mut config = config(&[("a", revision), ("b", revision)], "numbered");
        config.tools = serde_json::from_value(json!({ "deny": ["a__hang"] })).expect("rules");
        config.calls.log = Some("calls.jsonl".into());
        config.calls.per_minute = Some(2);
        let gateway = Gateway::new(config, folder.path()).expect("a gateway");
        let client = connect(&gateway, client(revision).0).await;
        let params = |name: &str| json!({ "name": name, "task": {} });
        create(&client, "a__work").await;
        let denied = send(&client, "tools/call", params("a__hang")).await.expect_err("a hidden tool");
        assert!(denied.contains("unknown tool"), "{denied}");
        let limited = send(&client, "tools/call", params("b__work")).await.expect_err("too many calls");
        assert!(limited.contains("too many calls"), "{limited}");
        let log = std::fs::read_to_string(folder.path().join("calls.jsonl")).expect("a log");
        let outcomes: Vec<_> = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")).collect();
        let outcomes: Vec<_> = outcomes.iter().map(|line| (&line["name"], &line["outcome"])).collect();
        let expected =
            [("a__work", "ok"), ("a__hang", "error"), ("b__work", "error")].map(|(name, it)| (json!(name), json!(it)));
        assert_eq!(outcomes, expected.iter().map(|(name, it)| (name, it)).collect::<Vec<_>>());
    }
}
