//! Runs the Agent Client Protocol (ACP) on the runtime: an agent and a client whose types come from its schema. The
//! peer uses the published SDK.
#![cfg(published)]

mod peers;

use std::sync::{Arc, Mutex};

use mcpgen_protocols::acp::{
    CancelNotificationMessage, InitializeRequest, InitializeRequestMessage, InitializeResponse, NewSessionRequest,
    NewSessionRequestMessage, NewSessionResponse, PromptRequest, PromptRequestMessage, PromptResponse,
    RequestPermissionOutcome, RequestPermissionRequestMessage, RequestPermissionResponse, SessionNotification,
    SessionNotificationMessage, StopReason,
};
use mcpgen_runtime::connection::Connection;
use mcpgen_runtime::peer::{CallError, Peer};
use mcpgen_runtime::protocol::{Admission, Cancellation, Effect, Notice, Protocol, Received, Rules};
use mcpgen_runtime::transport::{self, Incoming, Outgoing, lines};
use mcpgen_runtime::{Context, Router};
use mcpgen_types::{ErrorCode, ErrorObject, Json, Request, RequestId, Version};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// In ACP, both agents and clients can cancel a request. The peer then responds to it.
struct Acp;

const VERSION: Version = InitializeRequestMessage::VERSION;

impl Protocol for Acp {
    type Scope = ();

    fn rules(&self) -> Rules {
        Rules { cancelled: Some(ErrorObject::new(ErrorCode(-32800), "Request cancelled")), ..Rules::default() }
    }

    fn admit(&self, _: &Received<'_>) -> Result<Admission<()>, ErrorObject> {
        Ok(Admission::Handle(VERSION, ()))
    }

    fn classify(&self, notification: &Received<'_>) -> Option<Notice<()>> {
        let id = notification.param("requestId").filter(|_| notification.method == "$/cancel_request");
        let effect = id.and_then(|id| id.decode().ok()).map_or(Effect::None, Effect::Cancel);
        Some(Notice::new(VERSION, ()).with_effect(effect))
    }

    fn cancellation(&self, id: &RequestId, _: Option<&Context>) -> Option<Cancellation> {
        let id = mcpgen_types::to_value(id).ok()?;
        Some(Cancellation::new("$/cancel_request", &Json::from(&json!({ "requestId": id }))))
    }
}

fn run(router: Router, (incoming, outgoing): (impl Incoming, impl Outgoing)) -> Peer {
    let connection = Connection::new(router, Acp);
    let peer = connection.peer().clone();
    tokio::spawn(connection.run(incoming, outgoing));
    peer
}

fn typed<T: mcpgen_types::codec::Decode>(json: Value) -> T {
    mcpgen_types::from_value(json).expect("a valid value")
}

async fn say(peer: &Peer, text: &str) -> Result<(), ErrorObject> {
    let update = json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } });
    let update: SessionNotification = typed(json!({ "sessionId": "s1", "update": update }));
    peer.notify::<SessionNotificationMessage>(update).await.map_err(|error| failed(&error))
}

fn failed(error: &CallError) -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, error.to_string())
}

/// Returns an agent that understands `count N`, which sends N updates, `ask`, which asks for permission, and `wait`,
/// which waits until the turn is cancelled.
fn agent() -> Router {
    let cancelled = Arc::new(Notify::new());
    let cancel = Arc::clone(&cancelled);
    Router::new()
        .request::<InitializeRequestMessage>(|_, params: InitializeRequest| async move {
            Ok::<_, ErrorObject>(InitializeResponse::new(params.protocol_version))
        })
        .request::<NewSessionRequestMessage>(|_, _| async { Ok::<_, ErrorObject>(NewSessionResponse::new("s1")) })
        .request::<PromptRequestMessage>(move |context: Context, params: PromptRequest| {
            let cancelled = Arc::clone(&cancelled);
            async move {
                let peer = context.peer();
                let prompt = Json::from(&params.prompt);
                let text = prompt.pointer("/0/text").and_then(|text| Some(text.as_str()?.into_owned()));
                match text.as_deref().and_then(|text| text.split_once(' ')).or(text.as_deref().map(|text| (text, ""))) {
                    Some(("count", number)) => {
                        for index in 0..number.parse().unwrap_or(0) {
                            say(&peer, &index.to_string()).await?;
                        }
                    }
                    Some(("ask", _)) => {
                        let request = typed(json!({
                            "sessionId": "s1",
                            "toolCall": { "toolCallId": "t1", "title": "Write a file" },
                            "options": [
                                { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
                                { "optionId": "no", "name": "No", "kind": "reject_once" }
                            ]
                        }));
                        let answer = peer.request::<RequestPermissionRequestMessage>(request).await;
                        match answer.map_err(|error| failed(&error))?.outcome {
                            RequestPermissionOutcome::Selected(selected) => say(&peer, &selected.option_id).await?,
                            RequestPermissionOutcome::Cancelled(_) => say(&peer, "cancelled").await?,
                        }
                    }
                    _ => {
                        say(&peer, "waiting").await?;
                        cancelled.notified().await;
                        return Ok(PromptResponse::new(StopReason::Cancelled));
                    }
                }
                Ok::<_, ErrorObject>(PromptResponse::new(StopReason::EndTurn))
            }
        })
        .notification::<CancelNotificationMessage>(move |_, _| {
            let cancel = Arc::clone(&cancel);
            async move { cancel.notify_one() }
        })
}

type Updates = Arc<Mutex<Vec<String>>>;

/// Returns a client that grants every permission by choosing the first option.
fn client() -> (Router, Updates) {
    let updates = Updates::default();
    let received = Arc::clone(&updates);
    let router = Router::new()
        .request::<RequestPermissionRequestMessage>(|_, params| async move {
            let option = &params.options[0].option_id;
            let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
            Ok::<RequestPermissionResponse, ErrorObject>(typed(outcome))
        })
        .notification::<SessionNotificationMessage>(move |_, params| {
            let text =
                Json::from(&params.update).pointer("/content/text").and_then(|it| Some(it.as_str()?.into_owned()));
            received.lock().expect("no panic").extend(text);
            async {}
        });
    (router, updates)
}

fn take(updates: &Updates) -> Vec<String> {
    std::mem::take(&mut updates.lock().expect("no panic"))
}

fn prompt(text: &str) -> PromptRequest {
    typed(json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": text }] }))
}

async fn begin(peer: &Peer) {
    let initialized = peer.request::<InitializeRequestMessage>(typed(json!({ "protocolVersion": 1 }))).await;
    assert_eq!(Json::from(&initialized.expect("a result").protocol_version).text(), "1");
    let session: NewSessionRequest = typed(json!({ "cwd": "/", "mcpServers": [] }));
    let session = peer.request::<NewSessionRequestMessage>(session).await;
    assert_eq!(session.expect("a session").session_id, "s1");
}

#[tokio::test]
async fn the_published_client_drives_our_agent() {
    let Some(mut peer) = peers::node("acp-client.mjs", &[]) else { return };
    run(agent(), (lines::receive(peer.output, 1 << 20), lines::send(peer.input)));
    let expected = [
        json!({ "step": "initialize", "value": 1 }),
        json!({ "step": "session", "value": { "sessionId": "s1" } }),
        json!({ "step": "prompt", "value": { "stopReason": "end_turn" } }),
        json!({ "step": "updates", "value": ["0", "1", "2", "3"] }),
        json!({ "step": "permission", "value": { "stopReason": "end_turn" } }),
        json!({ "step": "answer", "value": ["no"] }),
        json!({ "step": "cancelled turn", "value": { "stopReason": "cancelled" } }),
        json!({ "step": "cancelled request", "value": { "code": -32800, "message": "Request cancelled" } }),
        json!({ "step": "unknown method", "value": -32601 }),
        json!({ "step": "many", "value": [true, 200] }),
    ];
    for expected in expected {
        assert_eq!(peer.reports.next().await, expected);
    }
}

#[tokio::test]
async fn our_client_drives_the_published_agent() {
    let Some(peer) = peers::node("acp-agent.mjs", &[]) else { return };
    let (router, updates) = client();
    let agent = run(router, (lines::receive(peer.output, 1 << 20), lines::send(peer.input)));
    begin(&agent).await;
    for _ in 0..12 {
        let result = agent.request::<PromptRequestMessage>(prompt("count 4")).await.expect("a result");
        assert_eq!(
            (result.stop_reason, take(&updates)),
            (StopReason::EndTurn, ["0", "1", "2", "3"].map(str::to_owned).into())
        );
    }
    agent.request::<PromptRequestMessage>(prompt("ask")).await.expect("a result");
    assert_eq!(take(&updates), ["yes"]);
    // The agent learns that a call was dropped.
    let dropped = agent.request::<PromptRequestMessage>(prompt("wait 1")).send();
    while take(&updates).is_empty() {
        tokio::task::yield_now().await;
    }
    drop(dropped);
    agent.request::<PromptRequestMessage>(prompt("aborted")).await.expect("a result");
    assert_eq!(take(&updates), [r#"["1"]"#]);
}

/// At the end of each of 10,000 turns, its updates have been handled, in order.
#[tokio::test]
async fn turns_end_after_their_updates() {
    let ((incoming, outgoing), there) = transport::duplex();
    let (router, updates) = client();
    let peer = run(router, (incoming, outgoing));
    run(agent(), there);
    begin(&peer).await;
    let expected = ["0", "1", "2", "3"];
    for _ in 0..10_000 {
        let result = peer.request::<PromptRequestMessage>(prompt("count 4")).await.expect("a result");
        assert_eq!(result.stop_reason, StopReason::EndTurn);
        assert_eq!(take(&updates), expected);
    }
}
