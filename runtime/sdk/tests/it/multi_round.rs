//! Multi-round requests of servers and clients, and their request state.
#![allow(deprecated, reason = "what the newest revision deprecates is still served")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use mcpgen_sdk::client::handshake::ConnectOptions;
use mcpgen_sdk::client::{RoundLimits, mrtr};
use mcpgen_sdk::context::Context;
use mcpgen_sdk::protocol::config::ServerConfig;
use mcpgen_sdk::protocol::input_requests::InputNotProvided;
use mcpgen_sdk::protocol::{ContextExt, RouterExt};
use mcpgen_sdk::server::request_state::{InMemoryReplayGuard, ReplayGuard, RequestStateCodec, RequestStateError};
use mcpgen_sdk::transport::lines;
use mcpgen_sdk::{CallError, Client, Limits, LocalInfo, Router, connect};
use mcpgen_types::v2026_07_28::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CreateMessageRequest, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequest, ElicitRequestFormParams, ElicitResult, ElicitResultAction,
    InputRequiredOrCallToolResult, InputRequiredResult, ListRootsRequest, ListRootsResult, ReadResourceRequest, Role,
    SamplingMessage, TextContent,
};
use mcpgen_types::{ErrorObject, Json, JsonObject, Revision};
use serde_json::{Value, json};

use crate::support::{self, RawPeer};

const KEY: &[u8] = b"a key of thirty-two random bytes";

fn text(text: impl Into<String>) -> InputRequiredOrCallToolResult {
    CallToolResult::new(vec![TextContent::new(text).into()]).into()
}

fn form(message: &str) -> ElicitRequest {
    let params = json!({ "message": message, "requestedSchema": { "type": "object", "properties": {} } });
    ElicitRequest::new(mcpgen_types::from_value::<ElicitRequestFormParams>(params).expect("params"))
}

fn sample() -> CreateMessageRequest {
    let message = SamplingMessage::new(Role::User, TextContent::new("?"));
    CreateMessageRequest::new(CreateMessageRequestParams::new(vec![message], 1))
}

fn input_required<const N: usize>(
    requests: [(&str, mcpgen_types::v2026_07_28::InputRequest); N],
) -> InputRequiredResult {
    InputRequiredResult::new().with_input_requests(
        requests
            .into_iter()
            .map(|(key, request)| (key.to_owned(), request))
            .collect::<std::collections::BTreeMap<_, _>>(),
    )
}

/// Runs a tool that requests input.
async fn tool(
    codec: RequestStateCodec,
    context: Context,
    params: CallToolRequestParams,
) -> Result<InputRequiredOrCallToolResult, ErrorObject> {
    match params.name.as_str() {
        "greet" => {
            let rounds = codec.decode::<Vec<String>>(&context, "ann").await?;
            let mut actions = rounds.state.clone().unwrap_or_default();
            if let Some(response) = context.input::<ElicitRequest>("name")? {
                actions.push(format!("{:?}", response.action));
            }
            match actions.len() {
                2 => Ok(text(actions.join(", "))),
                round => {
                    let input_required = input_required([("name", form(&format!("round {round}")).into())]);
                    Ok(input_required.with_request_state(codec.encode(&rounds, &actions)?).into())
                }
            }
        }
        "everything" => {
            let name = context.input::<ElicitRequest>("name")?;
            let response = context.input::<CreateMessageRequest>("answer")?;
            let roots = context.input::<ListRootsRequest>("roots")?;
            match (name, response, roots) {
                (Some(name), Some(response), Some(roots)) => {
                    Ok(text(format!("{:?} {} {}", name.action, response.model, roots.roots.len())))
                }
                _ => Ok(input_required([
                    ("name", form("?").into()),
                    ("answer", sample().into()),
                    ("roots", ListRootsRequest::new().into()),
                ])
                .into()),
            }
        }
        "endless" => {
            let rounds = codec.decode::<()>(&context, "").await?;
            Ok(InputRequiredResult::new().with_request_state(codec.encode(&rounds, &())?).into())
        }
        "nothing" => Ok(InputRequiredResult::new().into()),
        "url" => {
            let params = json!({ "mode": "url", "message": "?", "url": "https://example.com" });
            Ok(input_required([(
                "page",
                ElicitRequest::new(
                    mcpgen_types::from_value::<mcpgen_types::v2026_07_28::ElicitRequestParams>(params).expect("params"),
                )
                .into(),
            )])
            .into())
        }
        "tools" => {
            let mut request = sample();
            request.params.tools = Some(Vec::new());
            Ok(input_required([("answer", request.into())]).into())
        }
        name => Err(ErrorObject::new(-32602, format!("no tool {name:?}"))),
    }
}

fn router(codec: RequestStateCodec) -> Router {
    Router::new()
        .request::<CallToolRequest>(move |context, params| tool(codec.clone(), context, params))
        .custom_request("custom/asks", |_, _: Value| async {
            Ok::<_, ErrorObject>(json!({ "resultType": "input_required", "requestState": "x" }))
        })
}

fn codec() -> RequestStateCodec {
    RequestStateCodec::new(KEY, Duration::from_secs(60)).expect("a valid key")
}

fn server(codec: RequestStateCodec) -> RawPeer {
    let router = router(codec);
    let protocol = Arc::new(
        ServerConfig::from(LocalInfo::new("server", "1")).protocol(&router.handled(mcpgen_sdk::protocol::Role::Server)),
    );
    RawPeer::connect(|pipe| support::run(router, protocol, Limits::default(), pipe)).0
}

fn request(method: &str, params: Value, capabilities: &Value) -> String {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

fn call(name: &str, more: Value, capabilities: &Value) -> String {
    let mut params = more;
    params["name"] = json!(name);
    request("tools/call", params, capabilities)
}

fn capability() -> Value {
    json!({ "elicitation": {}, "sampling": {}, "roots": {} })
}

#[tokio::test]
async fn requests_input_over_several_rounds() {
    let mut remote = server(codec());
    let first = remote.request(&call("greet", json!({}), &capability())).await["result"].clone();
    assert_eq!(first["resultType"], "input_required");
    assert_eq!(first["inputRequests"]["name"]["method"], "elicitation/create");
    assert_eq!(first["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "server");
    let accept = json!({ "name": { "action": "accept", "content": {} } });
    let retry = json!({ "inputResponses": accept, "requestState": first["requestState"] });
    let second = remote.request(&call("greet", retry, &capability())).await["result"].clone();
    assert_eq!(second["inputRequests"]["name"]["params"]["message"], "round 1");
    let retry =
        json!({ "inputResponses": { "name": { "action": "decline" } }, "requestState": second["requestState"] });
    let last = remote.request(&call("greet", retry, &capability())).await["result"].clone();
    assert_eq!((&last["resultType"], &last["content"][0]["text"]), (&json!("complete"), &json!("Accept, Decline")));
}

#[tokio::test]
async fn decodes_input_responses_by_their_requests() {
    let mut remote = server(codec());
    let sampled = json!({ "model": "m", "role": "assistant", "content": { "type": "text", "text": "" } });
    let all = json!({ "name": { "action": "cancel" }, "answer": sampled, "roots": { "roots": [] } });
    let retry = |responses: &Value| call("everything", json!({ "inputResponses": responses }), &capability());
    assert_eq!(remote.request(&retry(&all)).await["result"]["content"][0]["text"], "Cancel m 0");

    // Input responses without a request are ignored.
    let mut more = all.clone();
    (more["else"], more["more"]) = (json!({ "what": 1 }), json!([]));
    assert_eq!(remote.request(&retry(&more)).await["result"]["content"][0]["text"], "Cancel m 0");
    // Each response is decoded as the type of its own request.
    let mut other = all.clone();
    other["name"] = json!({ "action": "accept", "content": { "roots": "x" }, "roots": 1, "model": {} });
    assert_eq!(remote.request(&retry(&other)).await["result"]["content"][0]["text"], "Accept m 0");
    // Missing input is requested again.
    for key in ["name", "answer", "roots"] {
        let mut fewer = all.clone();
        fewer.as_object_mut().expect("an object").remove(key);
        assert_eq!(remote.request(&retry(&fewer)).await["result"]["resultType"], "input_required", "{key}");
    }
    // A response of another type is invalid.
    let mut wrong = all.clone();
    wrong["name"] = wrong["roots"].clone();
    let error = remote.request(&retry(&wrong)).await["error"].clone();
    assert_eq!(error["code"], -32602);
    assert_eq!(error["data"]["path"], "/params/inputResponses/name/action", "{error}");
    for broken in [json!([]), json!("x")] {
        let response = remote.request(&retry(&broken)).await;
        assert_eq!(response["error"]["code"], -32602, "{broken}");
    }
}

#[tokio::test]
async fn does_not_request_undeclared_input() {
    let mut remote = server(codec());
    for (tool, capabilities, missing) in [
        ("greet", json!({}), json!({ "elicitation": {} })),
        ("greet", json!({ "elicitation": { "url": {} } }), json!({ "elicitation": { "form": {} } })),
        ("url", json!({ "elicitation": {} }), json!({ "elicitation": { "url": {} } })),
        ("everything", json!({ "elicitation": {}, "sampling": {} }), json!({ "roots": {} })),
        ("everything", json!({ "elicitation": {}, "roots": {} }), json!({ "sampling": {} })),
        ("tools", json!({ "sampling": {} }), json!({ "sampling": { "tools": {} } })),
        ("everything", json!({}), json!({ "elicitation": {}, "sampling": {}, "roots": {} })),
        (
            "everything",
            json!({ "elicitation": { "url": {} }, "roots": {} }),
            json!({ "elicitation": { "form": {} }, "sampling": {} }),
        ),
    ] {
        let error = remote.request(&call(tool, json!({}), &capabilities)).await["error"].clone();
        assert_eq!(error["code"], -32021, "{tool} {capabilities}: {error}");
        assert_eq!(error["data"]["requiredCapabilities"], missing, "{tool} {capabilities}");
    }
    for (tool, capabilities) in [
        ("greet", json!({ "elicitation": { "form": {} } })),
        ("url", json!({ "elicitation": { "url": {} } })),
        ("tools", json!({ "sampling": { "tools": {} } })),
    ] {
        let result = remote.request(&call(tool, json!({}), &capabilities)).await["result"].clone();
        assert_eq!(result["resultType"], "input_required", "{tool} {capabilities}");
    }
}

#[tokio::test]
async fn rejects_misplaced_and_empty_input_required_results() {
    let mut remote = server(codec());
    let response = remote.request(&request("custom/asks", json!({}), &capability())).await;
    assert_eq!(response["error"]["code"], -32603, "the method does not support input requests");
    let response = remote.request(&call("nothing", json!({}), &capability())).await;
    assert_eq!(response["error"]["code"], -32603, "neither requests nor state");
}

/// Returns the result of a future that is ready, because the stores of these tests are in memory.
fn wait<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("it is ready")
}

/// Decodes the state of a request.
fn decode_state(
    codec: &RequestStateCodec,
    method: &str,
    name: &str,
    who: &str,
    state: &str,
) -> Result<Option<u32>, ErrorObject> {
    let params = json!({ "name": name, "requestState": state });
    let context = Context::of_request(Revision::V2026_07_28, method, Some(&Json::from(&params)));
    wait(codec.decode::<u32>(&context, who)).map(|rounds| rounds.state)
}

/// Encodes the value 7 as the state of a request.
fn encode_state(codec: &RequestStateCodec, method: &str, name: &str, who: &str) -> String {
    let params = json!({ "name": name });
    let context = Context::of_request(Revision::V2026_07_28, method, Some(&Json::from(&params)));
    codec.encode(&wait(codec.decode::<u32>(&context, who)).expect("the first round"), &7_u32).expect("an encoded state")
}

#[test]
fn accepts_only_unchanged_state_of_the_same_request() {
    let codec = codec();
    let state = encode_state(&codec, "tools/call", "pay", "ann");
    assert_eq!(decode_state(&codec, "tools/call", "pay", "ann", &state), Ok(Some(7)));
    assert_eq!(
        decode_state(&codec, "tools/call", "pay", "ann", &state),
        Ok(Some(7)),
        "the state can be used again without a replay guard"
    );
    // The state is not valid for another method, another tool, another user, the same characters divided differently,
    // or another server.
    let other =
        RequestStateCodec::new(b"another key of thirty-two bytes!", Duration::from_secs(60)).expect("a valid key");
    for (codec, method, name, who) in [
        (&codec, "prompts/get", "pay", "ann"),
        (&codec, "tools/call", "pays", "ann"),
        (&codec, "tools/call", "pay", "bob"),
        (&codec, "tools/call", "pa", "yann"),
        (&codec, "tools/callpay", "", "ann"),
        (&other, "tools/call", "pay", "ann"),
    ] {
        let error = decode_state(codec, method, name, who, &state).expect_err("an error");
        assert_eq!(error.code.0, -32602, "{method} {name} {who}");
        assert!(!error.message.contains("ann"), "the error must not contain the owner");
    }
    // The state of a resource is bound to its URI, not to other params.
    let read = |params: Value| Context::of_request(Revision::V2026_07_28, "resources/read", Some(&Json::from(&params)));
    let rounds =
        wait(codec.decode::<u32>(&read(json!({ "uri": "file:///a", "name": "x" })), "ann")).expect("the first round");
    let given = codec.encode(&rounds, &7_u32).expect("an encoded state");
    let same = json!({ "uri": "file:///a", "requestState": given });
    assert_eq!(wait(codec.decode::<u32>(&read(same), "ann")).expect("a valid state").state, Some(7));
    let other_uri = json!({ "uri": "file:///b", "name": "x", "requestState": given });
    assert!(wait(codec.decode::<u32>(&read(other_uri), "ann")).is_err());
    // Every modified character invalidates the state.
    for index in 0..state.len() {
        let mut bytes = state.clone().into_bytes();
        bytes[index] = if bytes[index] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).expect("ASCII");
        assert!(decode_state(&codec, "tools/call", "pay", "ann", &changed).is_err(), "character {index}");
    }
    for broken in ["", "A", &state[1..], &state[..state.len() - 1], &format!("{state}AAAA"), "ä", &"A".repeat(100)] {
        assert!(decode_state(&codec, "tools/call", "pay", "ann", broken).is_err(), "{broken:?}");
    }
}

#[test]
fn state_expires_and_can_be_limited_to_one_use() {
    let short_lived = RequestStateCodec::new(KEY, Duration::from_millis(20)).expect("a valid key");
    let state = encode_state(&short_lived, "tools/call", "pay", "ann");
    assert_eq!(decode_state(&short_lived, "tools/call", "pay", "ann", &state), Ok(Some(7)));
    std::thread::sleep(Duration::from_millis(25));
    assert!(decode_state(&short_lived, "tools/call", "pay", "ann", &state).is_err(), "expired");
    // The state has its own expiry. The lifetime of the decoding codec does not extend it.
    assert!(decode_state(&codec(), "tools/call", "pay", "ann", &state).is_err());

    let guarded = codec().with_replay_guard(InMemoryReplayGuard::new(2));
    let states: Vec<String> = (0..2).map(|_| encode_state(&guarded, "tools/call", "pay", "ann")).collect();
    let decode = |state: &String| decode_state(&guarded.clone(), "tools/call", "pay", "ann", state);
    assert_eq!((decode(&states[0]), decode(&states[1])), (Ok(Some(7)), Ok(Some(7))));
    assert!(decode(&states[0]).is_err() && decode(&states[1]).is_err(), "replayed");
}

#[test]
fn a_full_replay_guard_rejects_the_oldest_states() {
    let guard = InMemoryReplayGuard::new(2);
    let expiry = |second: u64| std::time::SystemTime::now() + Duration::from_secs(60 + second);
    let record = |n: u8, until| wait(guard.record([n; 16], until)).expect("a store in memory");
    let expiries: Vec<_> = (0..8).map(expiry).collect();
    assert!(record(1, expiries[1]) && record(2, expiries[2]));
    // New states are still accepted. Forgotten states are not accepted again.
    assert!(record(3, expiries[3]) && record(4, expiries[4]));
    for n in 1..=4 {
        assert!(!record(n, expiries[usize::from(n)]), "state {n} was used");
    }
    // A state that was never used but is as old as the forgotten ones is rejected.
    assert!(!record(9, expiries[0]) && !record(10, expiries[2]));
    assert!(record(11, expiries[5]));
    assert!(!wait(InMemoryReplayGuard::new(0).record([1; 16], expiries[1])).expect("a store in memory"));
}

#[test]
fn a_process_key_accepts_each_state_once() {
    let process_codec = RequestStateCodec::of_this_process(Duration::from_secs(1)).expect("random bytes");
    let state = encode_state(&process_codec, "tools/call", "pay", "ann");
    assert_eq!(decode_state(&process_codec, "tools/call", "pay", "ann", &state), Ok(Some(7)));
    assert!(decode_state(&process_codec, "tools/call", "pay", "ann", &state).is_err(), "replayed");
    // A codec with a shared key has no replay guard by default.
    let shared = codec();
    let state = encode_state(&shared, "tools/call", "pay", "ann");
    for _ in 0..2 {
        assert_eq!(decode_state(&shared, "tools/call", "pay", "ann", &state), Ok(Some(7)));
    }
}

#[test]
fn keys_can_be_rotated() {
    let (old, new) = (
        codec(),
        RequestStateCodec::new(b"the next key of thirty-two bytes", Duration::from_secs(60)).expect("a valid key"),
    );
    let both = new.clone().also_verify_with(KEY).expect("a valid key");
    let state = encode_state(&old, "tools/call", "pay", "ann");
    assert_eq!(decode_state(&both, "tools/call", "pay", "ann", &state), Ok(Some(7)));
    assert!(decode_state(&new, "tools/call", "pay", "ann", &state).is_err());
    assert!(decode_state(&old, "tools/call", "pay", "ann", &encode_state(&both, "tools/call", "pay", "ann")).is_err());
    assert_eq!(
        RequestStateCodec::new(b"short", Duration::ZERO).expect_err("a short key"),
        RequestStateError::ShortKey(5)
    );
    assert!(new.also_verify_with(b"").is_err());
}

#[tokio::test]
async fn limits_the_rounds_of_a_request() {
    let mut remote = server(codec().rounds(5));
    let mut params = json!({});
    for _ in 0..5 {
        let result = remote.request(&call("endless", params, &capability())).await["result"].clone();
        params = json!({ "requestState": result["requestState"] });
    }
    assert_eq!(remote.request(&call("endless", params, &capability())).await["error"]["code"], -32600);
}

/// Connects a client to a server that the test drives.
async fn client(handlers: Router, ours: LocalInfo) -> (RawPeer, Client) {
    let (here, there) = tokio::io::duplex(1 << 16);
    let options =
        ConnectOptions::from(ours).with_known_revision(Some(Revision::V2026_07_28)).with_check_known_revision(false);
    let (reader, writer) = tokio::io::split(there);
    let (incoming, outgoing) = (lines::receive(reader, 1 << 20), lines::send(writer));
    let client = connect(options, handlers.clone(), handlers, incoming, outgoing, Limits::default()).await;
    (RawPeer::new(here), client.expect("no handshake is needed"))
}

fn input_handlers() -> Router {
    Router::new()
        .request::<ElicitRequest>(|context, _| async move {
            assert_eq!((context.method(), context.revision()), ("elicitation/create", Revision::V2026_07_28));
            Ok::<_, ErrorObject>(ElicitResult::new(ElicitResultAction::Accept))
        })
        .request::<CreateMessageRequest>(|_, _| async {
            Ok::<_, ErrorObject>(CreateMessageResult::new(Role::Assistant, TextContent::new(""), "model"))
        })
        .request::<ListRootsRequest>(|_, _| async { Ok::<_, ErrorObject>(ListRootsResult::new(Vec::new())) })
}

fn response(id: &Value, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

#[tokio::test]
async fn a_client_repeats_the_request_with_the_input() {
    let (mut remote, client) = client(input_handlers(), LocalInfo::new("client", "1")).await;
    let params = CallToolRequestParams::new("tool", client.meta()).with_arguments(JsonObject::from([("a", 1.into())]));
    let first = mcpgen_types::to_value(&params).expect("JSON");
    let call = tokio::spawn(async move { client.complete::<CallToolRequest>(params).await });
    let state = "opaque \u{1F980} \\ \" \n {\"a\":1}";
    let requests = mcpgen_types::to_value(&input_required([
        ("name", form("?").into()),
        ("answer", sample().into()),
        ("roots", ListRootsRequest::new().into()),
    ]))
    .expect("JSON")["inputRequests"]
        .clone();
    let responses = json!({
        "name": { "action": "accept" },
        "answer": { "content": { "type": "text", "text": "" }, "model": "model", "role": "assistant" },
        "roots": { "roots": [] },
    });
    let rounds = [
        // The result, and the members of the next request that come from it.
        (json!({ "inputRequests": requests, "requestState": state }), Some(responses.clone()), Some(state)),
        (json!({ "inputRequests": requests }), Some(responses), None),
        (json!({ "requestState": "" }), None, Some("")),
        (json!({ "inputRequests": {}, "requestState": "last" }), Some(json!({})), Some("last")),
    ];
    let mut ids = vec![remote.receive().await["id"].clone()];
    for (mut result, responses, state) in rounds {
        result["resultType"] = json!("input_required");
        remote.send(&response(ids.last().expect("an ID"), &result)).await;
        let request = remote.receive().await;
        assert!(!ids.contains(&request["id"]), "each round has a new ID");
        ids.push(request["id"].clone());
        let mut expected = first.clone();
        if let Some(responses) = responses {
            expected["inputResponses"] = responses;
        }
        if let Some(state) = state {
            expected["requestState"] = json!(state);
        }
        assert_eq!((&request["method"], &request["params"]), (&json!("tools/call"), &expected), "after {result}");
    }
    remote.send(&response(ids.last().expect("an ID"), &json!({ "resultType": "complete", "content": [] }))).await;
    assert_eq!(call.await.expect("no panic").expect("a result"), CallToolResult::new(Vec::new()));
}

#[tokio::test]
async fn a_client_can_build_the_next_round_manually() {
    let (mut remote, client) = client(Router::new(), LocalInfo::new("client", "1")).await;
    let params = CallToolRequestParams::new("tool", client.meta());
    let raw = Json::from(&params);
    let call = tokio::spawn(client.peer().call::<CallToolRequest>(params));
    let id = remote.receive().await["id"].clone();
    remote.send(&response(&id, &json!({ "resultType": "input_required", "requestState": "s" }))).await;
    let InputRequiredOrCallToolResult::InputRequiredResult(input_required) =
        call.await.expect("no panic").expect("a response")
    else {
        panic!("expected an input required result");
    };
    assert_eq!(input_required.request_state.as_deref(), Some("s"));
    let next = mrtr::next_params(&raw, &input_required, JsonObject::new()).expect("params");
    let typed = next.decode::<CallToolRequestParams>().expect("params of the same type");
    assert_eq!((typed.request_state.as_deref(), typed.input_responses), (Some("s"), None));
}

#[tokio::test(start_paused = true)]
async fn a_client_limits_the_rounds() {
    let (mut remote, client) = client(input_handlers(), LocalInfo::new("client", "1")).await;
    let limits = RoundLimits::default().with_rounds(3).with_retry_delay(Duration::from_millis(10));
    let client = client.with_round_limits(limits);
    let params = CallToolRequestParams::new("tool", client.meta());
    let call = tokio::spawn(async move { client.complete::<CallToolRequest>(params).await });
    for round in 0..4 {
        let start = tokio::time::Instant::now();
        let id = remote.receive().await["id"].clone();
        if round > 0 {
            assert!(start.elapsed() >= Duration::from_millis(10 << (round - 1)), "the pause must grow");
        }
        remote.send(&response(&id, &json!({ "resultType": "input_required", "requestState": "s" }))).await;
    }
    let error = call.await.expect("no panic").expect_err("too many rounds");
    assert!(matches!(&error, CallError::Invalid(why) if why.to_string().contains("3 rounds")), "{error}");
}

#[tokio::test]
async fn runs_no_handlers_for_input_that_is_not_sent() {
    let handled = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&handled);
    let handlers = Router::new().request::<ListRootsRequest>(move |_, _| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async { Ok::<_, ErrorObject>(ListRootsResult::new(Vec::new())) }
    });
    for (rounds, keys, expected) in [
        (RoundLimits::default().with_rounds(1), vec!["r"], 1),
        (RoundLimits::default().with_requests(2), vec!["r", "s", "t"], 0),
    ] {
        handled.store(0, std::sync::atomic::Ordering::SeqCst);
        let (mut remote, client) = client(handlers.clone(), LocalInfo::new("client", "1")).await;
        let client = client.with_round_limits(rounds);
        let params = CallToolRequestParams::new("tool", client.meta());
        let call = tokio::spawn(async move { client.complete::<CallToolRequest>(params).await });
        for _ in 0..=expected {
            let id = remote.receive().await["id"].clone();
            let requests: Value =
                keys.iter().map(|key| ((*key).to_owned(), json!({ "method": "roots/list" }))).collect();
            remote.send(&response(&id, &json!({ "resultType": "input_required", "inputRequests": requests }))).await;
        }
        assert!(matches!(call.await.expect("no panic"), Err(CallError::Invalid(_))));
        assert_eq!(handled.load(std::sync::atomic::Ordering::SeqCst), expected);
    }
}

#[tokio::test]
async fn a_client_provides_only_declared_input() {
    // The client has no handler, a handler that returns an error, or no declared capability.
    let rejects = Router::new().request::<ListRootsRequest>(|_, _| async { Err(ErrorObject::new(-1, "not allowed")) });
    let declared = LocalInfo::new("client", "1").capability("roots", json!({}));
    for (handlers, ours, code) in [
        (Router::new(), declared.clone(), -32601),
        (rejects, declared, -1),
        (Router::new(), LocalInfo::new("client", "1"), -32021),
    ] {
        let (mut remote, client) = client(handlers, ours).await;
        let params = CallToolRequestParams::new("tool", client.meta());
        let call = tokio::spawn(async move { client.complete::<CallToolRequest>(params).await });
        let id = remote.receive().await["id"].clone();
        let result = json!({ "resultType": "input_required", "inputRequests": { "r": { "method": "roots/list" } } });
        remote.send(&response(&id, &result)).await;
        match call.await.expect("no panic") {
            Err(error) => match error.downcast_ref::<InputNotProvided>() {
                Some(refused) => assert_eq!((refused.method.as_str(), refused.error.code.0), ("roots/list", code)),
                None => panic!("{error:?}"),
            },
            Ok(result) => panic!("{result:?}"),
        }
    }
}

#[tokio::test]
async fn client_and_server_complete_multi_round_requests() {
    let (here, there) = mcpgen_sdk::transport::duplex();
    let handlers = router(codec());
    tokio::spawn(mcpgen_sdk::serve((LocalInfo::new("server", "1"), handlers), there));
    let client =
        connect(LocalInfo::new("client", "1"), input_handlers(), input_handlers(), here.0, here.1, Limits::default())
            .await;
    let client = client.expect("connected");
    for (tool, expected) in [("greet", "Accept, Accept"), ("everything", "Accept model 0")] {
        let params = CallToolRequestParams::new(tool, client.meta());
        let result = client.complete::<CallToolRequest>(params).await.expect("a result");
        assert_eq!(mcpgen_types::to_value(&result).expect("JSON")["content"][0]["text"], expected);
    }
    let missing = client
        .complete::<ReadResourceRequest>(mcpgen_types::v2026_07_28::ReadResourceRequestParams::new("x", client.meta()));
    assert!(matches!(missing.await, Err(CallError::ErrorResponse(error)) if error.code.0 == -32601));
}
