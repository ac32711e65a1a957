//! Writes the table of the functions that validate messages, with a row for each revision, so that a new revision needs
//! no change here.

use std::path::PathBuf;
use std::{env, fs};

use mcpgen_types::Revision;

/// The types of requests, by method. Results of other methods are not validated.
const REQUESTS: &[(&str, &str)] = &[
    ("completion/complete", "CompleteRequest"),
    ("elicitation/create", "ElicitRequest"),
    ("initialize", "InitializeRequest"),
    ("logging/setLevel", "SetLevelRequest"),
    ("ping", "PingRequest"),
    ("prompts/get", "GetPromptRequest"),
    ("prompts/list", "ListPromptsRequest"),
    ("resources/list", "ListResourcesRequest"),
    ("resources/read", "ReadResourceRequest"),
    ("resources/subscribe", "SubscribeRequest"),
    ("resources/templates/list", "ListResourceTemplatesRequest"),
    ("resources/unsubscribe", "UnsubscribeRequest"),
    ("roots/list", "ListRootsRequest"),
    ("sampling/createMessage", "CreateMessageRequest"),
    ("server/discover", "DiscoverRequest"),
    ("subscriptions/listen", "SubscriptionsListenRequest"),
    ("tasks/cancel", "CancelTaskRequest"),
    ("tasks/get", "GetTaskRequest"),
    ("tasks/list", "ListTasksRequest"),
    ("tasks/result", "GetTaskPayloadRequest"),
    ("tools/call", "CallToolRequest"),
    ("tools/list", "ListToolsRequest"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows: String = Revision::ALL.iter().map(|revision| row(*revision)).collect();
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    fs::write(out.join("validators.rs"), format!("static VALIDATORS: &[Validators] = &[\n{rows}];\n"))?;
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}

fn row(revision: Revision) -> String {
    let module = format!("mcpgen_types::v{}", revision.as_str().replace('-', "_"));
    let has = |method: &str| revision.method(method).is_some_and(|method| method.is_request);
    let results = REQUESTS.iter().filter(|(method, _)| has(method));
    let results: String = results
        .map(|(method, request)| format!("            ({method:?}, validate_result::<{module}::{request}>),\n"))
        .collect();
    format!(
        "    Validators {{\n        revision: {:?},\n        client: validate::<{module}::ClientMessage>,\n        \
         server: validate::<{module}::ServerMessage>,\n        results: &[\n{results}        ],\n    }},\n",
        revision.as_str()
    )
}
