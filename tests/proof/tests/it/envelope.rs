//! Tests the message envelopes: every revision has the same ones, they lose nothing of any message in either direction,
//! and they are as strict as JSON-RPC.

use mcpgen_proof::decisions::REVISIONS;
use mcpgen_proof::{Proof, json_equal};
use mcpgen_types::{Error, ErrorKind, Message};
use serde_json::{Value, json};

const SEED: u64 = 7;

/// Decodes a message and encodes it again. Checks that decoding the result gives an equal message.
type Recode = fn(&str) -> Result<Value, Error>;

fn recode<R: mcpgen_types::RequestSet + PartialEq, N: mcpgen_types::NotificationSet + PartialEq>(
    text: &str,
) -> Result<Value, Error> {
    let message: Message<R, N> = mcpgen_types::from_str(text)?;
    let value = mcpgen_types::to_value(&message)?;
    let again: Message<R, N> = mcpgen_types::from_value(value.clone())?;
    assert!(again == message, "{text}");
    Ok(value)
}

/// Returns the envelopes of a revision: for the messages of a client and for those of a server.
fn envelopes(revision: &str) -> [(&'static str, Recode); 2] {
    macro_rules! of {
        ($module:ident) => {{
            use mcpgen_types::$module::{ClientNotification, ClientRequest, ServerNotification, ServerRequest};
            [
                ("Client", recode::<ClientRequest, ClientNotification>),
                ("Server", recode::<ServerRequest, ServerNotification>),
            ]
        }};
    }
    match revision {
        "2024-11-05" => of!(v2024_11_05),
        "2025-03-26" => of!(v2025_03_26),
        "2025-06-18" => of!(v2025_06_18),
        "2025-11-25" => of!(v2025_11_25),
        "2026-07-28" => of!(v2026_07_28),
        other => panic!("revision {other} is missing in `envelopes`"),
    }
}

#[test]
fn every_message_round_trips() {
    for revision in REVISIONS {
        let proof = Proof::of(revision);
        for (side, recode) in envelopes(revision) {
            for kind in ["Request", "Notification"] {
                let union = format!("{side}{kind}");
                if !proof.instances.definitions().contains(&union.as_str()) {
                    continue;
                }
                let mut seen = 0;
                for index in 0..300 {
                    let mut message = proof.instances.with_seed(SEED).valid(&union, index);
                    if !proof.accepts(&union, &message) {
                        continue;
                    }
                    let Some(members) = message.as_object_mut() else { panic!("{union} is an object") };
                    // Early revisions define messages without the members of the envelope, and instances may use their
                    // names for unknown members.
                    members.insert("jsonrpc".into(), json!("2.0"));
                    if kind == "Request" && !members.get("id").is_some_and(|id| id.is_string() || id.is_i64()) {
                        members.insert("id".into(), json!(index));
                    }
                    ["result", "error"].iter().for_each(|name| drop(members.remove(*name)));
                    if kind == "Notification" {
                        members.remove("id");
                    }
                    let text = message.to_string();
                    let value =
                        recode(&text).unwrap_or_else(|error| panic!("{revision} {union} {index}: {error}\n{text}"));
                    assert!(json_equal(&value, &message), "{revision} {union} {index}:\n{text}\n{value}");
                    seen += 1;
                }
                assert!(seen > 100, "{revision} {union}: only {seen} instances");
            }
        }
    }
}

#[test]
fn responses_have_the_same_structure_in_every_revision() {
    let accepted = [
        json!({"jsonrpc": "2.0", "id": 1, "result": {"anything": [1.0, null]}, "more": {}}),
        json!({"jsonrpc": "2.0", "id": "a", "result": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no", "data": null, "x": 1}}),
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no"}}),
        json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "no"}}),
    ];
    let refused = [
        json!({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": ""}}),
        json!({"jsonrpc": "2.0", "id": null, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "result": []}),
        json!({"jsonrpc": "2.0", "id": 1}),
        json!({"jsonrpc": "2.0", "result": {}}),
        json!({"jsonrpc": "1.0", "id": 1, "result": {}}),
        json!({"id": 1, "result": {}}),
        json!({"jsonrpc": "2.0", "id": null, "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "no/such/method"}),
        json!({"jsonrpc": "2.0", "method": "no/such/method"}),
        json!([]),
        json!(1),
    ];
    for revision in REVISIONS {
        for (side, recode) in envelopes(revision) {
            for message in &accepted {
                let value = recode(&message.to_string())
                    .unwrap_or_else(|error| panic!("{revision} {side}: {error}\n{message}"));
                assert!(json_equal(&value, message), "{revision} {side}: {message}\n{value}");
            }
            for message in &refused {
                assert!(recode(&message.to_string()).is_err(), "{revision} {side}: {message}");
            }
        }
    }
}

#[test]
fn envelope_members_are_never_unknown_members() -> Result<(), Error> {
    use mcpgen_types::{v2024_11_05 as old, v2025_11_25 as new};
    let text = r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"add"},"vendor":true}"#;
    let Message::Request(request) = mcpgen_types::from_str::<old::ClientMessage>(text)? else { panic!("a request") };
    let (id, old::ClientRequest::CallTool(call)) = request.into_parts() else { panic!("tools/call") };
    assert_eq!((id.to_string().as_str(), call.extra.len()), ("x", 1));
    let Message::Request(request) = mcpgen_types::from_str::<new::ClientMessage>(text)? else { panic!("a request") };
    let (id, new::ClientRequest::CallTool(call)) = request.into_parts() else { panic!("tools/call") };
    assert_eq!((&id, call.extra.len()), (&call.id, 1));
    Ok(())
}

#[test]
fn decodes_a_result_by_its_request() -> Result<(), Error> {
    use mcpgen_types::v2025_11_25::{CallToolRequest, ListToolsRequest, ServerMessage};
    let text =
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b"}]}}"#;
    let Message::Response(response) = mcpgen_types::from_str::<ServerMessage>(text)? else { panic!("a response") };
    let error = response.decode::<ListToolsRequest>().expect_err("tools[1] has no schema");
    assert_eq!(error.to_string(), "tools/list result: tools[1].inputSchema: missing required member");
    assert!(matches!(error.kind(), ErrorKind::Missing));

    let task = r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"7","status":"working","ttl":null,
        "createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z"}}}"#;
    let Message::Response(response) = mcpgen_types::from_str::<ServerMessage>(task)? else { panic!("a response") };
    assert_eq!(response.decode_task::<CallToolRequest>()?.task.task_id, "7");
    Ok(())
}
