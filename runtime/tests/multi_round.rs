//! Requests that take several rounds, on both sides, and the state that goes back and forth.

#![allow(deprecated, reason = "what the newest revision deprecates is still served")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use mcpgen_runtime::client::handshake::ConnectOptions;
use mcpgen_runtime::client::{RoundLimits, mrtr};
use mcpgen_runtime::peer::CallError;
use mcpgen_runtime::protocol::config::ServerConfig;
use mcpgen_runtime::server::request_state::{InMemoryReplayGuard, ReplayGuard, RequestStateCodec, RequestStateError};
use mcpgen_runtime::service::context::Context;
use mcpgen_runtime::transport::lines;
use mcpgen_runtime::{Client, Limits, LocalInfo, Router, connect};
use mcpgen_types::v2026_07_28::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CreateMessageRequest, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequest, ElicitRequestFormParams, ElicitResult, ElicitResultAction,
    InputRequiredOrCallToolResult, InputRequiredResult, ListRootsRequest, ListRootsResult, ReadResourceRequest, Role,
    SamplingMessage, TextContent,
};
use mcpgen_types::{ErrorObject, JsonObject, RawJson, Revision};
use serde_json::{Value, json};
use support::Wire;

const KEY: &[u8] = b"a key of thirty-two random bytes";

fn text(text: impl Into<String>) -> InputRequiredOrCallToolResult {
    CallToolResult::new(vec![TextContent::new(text).into()]).into()
}

fn form(message: &str) -> ElicitRequest {
    let params = json!({ "message": message, "requestedSchema": { "type": "object", "properties": {} } });
    ElicitRequest::new(mcpgen_types::from_value::<ElicitRequestFormParams>(params).expect("params"))
}

fn sample() -> CreateMessageRequest {
    let message = SamplingMessage::new(TextContent::new("?"), Role::User);
    CreateMessageRequest::new(CreateMessageRequestParams::new(1, vec![message]))
}

fn asks<const N: usize>(requests: [(&str, mcpgen_types::v2026_07_28::InputRequest); N]) -> InputRequiredResult {
    InputRequiredResult::new().with_input_requests(
        requests.into_iter().map(|(key, asked)| (key.to_owned(), asked)).collect::<std::collections::BTreeMap<_, _>>(),
    )
}

/// Tools that need something, by name.
async fn tool(
    seal: RequestStateCodec,
    context: Context,
    params: CallToolRequestParams,
) -> Result<InputRequiredOrCallToolResult, ErrorObject> {
    match params.name.as_str() {
        "greet" => {
            let dialog = seal.decode::<Vec<String>>(&context, "ann")?;
            let mut said = dialog.state.clone().unwrap_or_default();
            if let Some(answer) = context.input::<ElicitRequest>("name")? {
                said.push(format!("{:?}", answer.action));
            }
            match said.len() {
                2 => Ok(text(said.join(", "))),
                round => {
                    let asks = asks([("name", form(&format!("round {round}")).into())]);
                    Ok(asks.with_request_state(seal.encode(&dialog, &said)?).into())
                }
            }
        }
        "everything" => {
            let name = context.input::<ElicitRequest>("name")?;
            let answer = context.input::<CreateMessageRequest>("answer")?;
            let roots = context.input::<ListRootsRequest>("roots")?;
            match (name, answer, roots) {
                (Some(name), Some(answer), Some(roots)) => {
                    Ok(text(format!("{:?} {} {}", name.action, answer.model, roots.roots.len())))
                }
                _ => Ok(asks([
                    ("name", form("?").into()),
                    ("answer", sample().into()),
                    ("roots", ListRootsRequest::new().into()),
                ])
                .into()),
            }
        }
        "forever" => {
            let dialog = seal.decode::<()>(&context, "")?;
            Ok(InputRequiredResult::new().with_request_state(seal.encode(&dialog, &())?).into())
        }
        "nothing" => Ok(InputRequiredResult::new().into()),
        "url" => {
            let params = json!({ "mode": "url", "message": "?", "url": "https://example.com" });
            Ok(asks([(
                "page",
                ElicitRequest::new(
                    mcpgen_types::from_value::<mcpgen_types::v2026_07_28::ElicitRequestParams>(params).expect("params"),
                )
                .into(),
            )])
            .into())
        }
        "tools" => {
            let mut asked = sample();
            asked.params.tools = Some(Vec::new());
            Ok(asks([("answer", asked.into())]).into())
        }
        name => Err(ErrorObject::new(-32602, format!("no tool {name:?}"))),
    }
}

fn router(seal: RequestStateCodec) -> Router {
    Router::new()
        .request::<CallToolRequest>(move |context, params| tool(seal.clone(), context, params))
        .custom_request("custom/asks", |_, _: Value| async {
            Ok::<_, ErrorObject>(json!({ "resultType": "input_required", "requestState": "x" }))
        })
}

fn seal() -> RequestStateCodec {
    RequestStateCodec::new(KEY, Duration::from_secs(60)).expect("long enough")
}

fn server(seal: RequestStateCodec) -> Wire {
    let router = router(seal);
    let protocol = Arc::new(
        ServerConfig::from(LocalInfo::new("server", "1"))
            .protocol(&router.handled(mcpgen_runtime::protocol::Role::Server)),
    );
    Wire::to(|pipe| support::run(router, protocol, Limits::default(), pipe)).0
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
async fn input_is_asked_for_and_given() {
    let mut wire = server(seal());
    let first = wire.ask(&call("greet", json!({}), &capability())).await["result"].clone();
    assert_eq!(first["resultType"], "input_required");
    assert_eq!(first["inputRequests"]["name"]["method"], "elicitation/create");
    assert_eq!(first["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "server");
    let accept = json!({ "name": { "action": "accept", "content": {} } });
    let retry = json!({ "inputResponses": accept, "requestState": first["requestState"] });
    let second = wire.ask(&call("greet", retry, &capability())).await["result"].clone();
    assert_eq!(second["inputRequests"]["name"]["params"]["message"], "round 1");
    let retry =
        json!({ "inputResponses": { "name": { "action": "decline" } }, "requestState": second["requestState"] });
    let last = wire.ask(&call("greet", retry, &capability())).await["result"].clone();
    assert_eq!((&last["resultType"], &last["content"][0]["text"]), (&json!("complete"), &json!("Accept, Decline")));
}

#[tokio::test]
async fn answers_are_read_by_the_requests_that_they_answer() {
    let mut wire = server(seal());
    let answer = json!({ "model": "m", "role": "assistant", "content": { "type": "text", "text": "" } });
    let all = json!({ "name": { "action": "cancel" }, "answer": answer, "roots": { "roots": [] } });
    let asked = |responses: &Value| call("everything", json!({ "inputResponses": responses }), &capability());
    assert_eq!(wire.ask(&asked(&all)).await["result"]["content"][0]["text"], "Cancel m 0");

    // What nobody has asked for is nobody's business, whatever it is.
    let mut more = all.clone();
    (more["else"], more["more"]) = (json!({ "what": 1 }), json!([]));
    assert_eq!(wire.ask(&asked(&more)).await["result"]["content"][0]["text"], "Cancel m 0");
    // What one type would take for its own belongs to the request all the same.
    let mut other = all.clone();
    other["name"] = json!({ "action": "accept", "content": { "roots": "x" }, "roots": 1, "model": {} });
    assert_eq!(wire.ask(&asked(&other)).await["result"]["content"][0]["text"], "Accept m 0");
    // What is missing is asked for again.
    for key in ["name", "answer", "roots"] {
        let mut fewer = all.clone();
        fewer.as_object_mut().expect("an object").remove(key);
        assert_eq!(wire.ask(&asked(&fewer)).await["result"]["resultType"], "input_required", "{key}");
    }
    // The answer to another request is none.
    let mut wrong = all.clone();
    wrong["name"] = wrong["roots"].clone();
    let error = wire.ask(&asked(&wrong)).await["error"].clone();
    assert_eq!(error["code"], -32602);
    assert_eq!(error["data"]["path"], "/params/inputResponses/name/action", "{error}");
    for broken in [json!([]), json!("x")] {
        let answer = wire.ask(&asked(&broken)).await;
        assert_eq!(answer["error"]["code"], -32602, "{broken}");
    }
}

#[tokio::test]
async fn undeclared_input_is_not_asked_for() {
    let mut wire = server(seal());
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
        let error = wire.ask(&call(tool, json!({}), &capabilities)).await["error"].clone();
        assert_eq!(error["code"], -32021, "{tool} {capabilities}: {error}");
        assert_eq!(error["data"]["requiredCapabilities"], missing, "{tool} {capabilities}");
    }
    for (tool, capabilities) in [
        ("greet", json!({ "elicitation": { "form": {} } })),
        ("url", json!({ "elicitation": { "url": {} } })),
        ("tools", json!({ "sampling": { "tools": {} } })),
    ] {
        let result = wire.ask(&call(tool, json!({}), &capabilities)).await["result"].clone();
        assert_eq!(result["resultType"], "input_required", "{tool} {capabilities}");
    }
}

#[tokio::test]
async fn only_what_may_be_answered_so_is() {
    let mut wire = server(seal());
    let answer = wire.ask(&request("custom/asks", json!({}), &capability())).await;
    assert_eq!(answer["error"]["code"], -32603, "not of this method");
    let answer = wire.ask(&call("nothing", json!({}), &capability())).await;
    assert_eq!(answer["error"]["code"], -32603, "neither requests nor state");
}

/// What a request with this state is answered with.
fn open(
    seal: &RequestStateCodec,
    method: &str,
    name: &str,
    who: &str,
    state: &str,
) -> Result<Option<u32>, ErrorObject> {
    let params = json!({ "name": name, "requestState": state });
    let context = Context::of_request(Revision::V2026_07_28, method, Some(&RawJson::from(&params)));
    seal.decode::<u32>(&context, who).map(|dialog| dialog.state)
}

fn close(seal: &RequestStateCodec, method: &str, name: &str, who: &str) -> String {
    let params = json!({ "name": name });
    let context = Context::of_request(Revision::V2026_07_28, method, Some(&RawJson::from(&params)));
    seal.encode(&seal.decode::<u32>(&context, who).expect("the first round"), &7_u32).expect("sealed")
}

#[test]
fn state_is_taken_as_it_was_given_and_from_whom() {
    let seal = seal();
    let state = close(&seal, "tools/call", "pay", "ann");
    assert_eq!(open(&seal, "tools/call", "pay", "ann", &state), Ok(Some(7)));
    assert_eq!(open(&seal, "tools/call", "pay", "ann", &state), Ok(Some(7)), "as often as one likes, without `once`");
    // Foreign: another method, another tool, another user, the same letters in other places, another server.
    let other =
        RequestStateCodec::new(b"another key of thirty-two bytes!", Duration::from_secs(60)).expect("long enough");
    for (seal, method, name, who) in [
        (&seal, "prompts/get", "pay", "ann"),
        (&seal, "tools/call", "pays", "ann"),
        (&seal, "tools/call", "pay", "bob"),
        (&seal, "tools/call", "pa", "yann"),
        (&seal, "tools/callpay", "", "ann"),
        (&other, "tools/call", "pay", "ann"),
    ] {
        let error = open(seal, method, name, who, &state).expect_err("refused");
        assert_eq!(error.code.0, -32602, "{method} {name} {who}");
        assert!(!error.message.contains("ann"), "says nothing of whose it is");
    }
    // A resource is bound by its URI, whatever else stands beside it.
    let read =
        |params: Value| Context::of_request(Revision::V2026_07_28, "resources/read", Some(&RawJson::from(&params)));
    let dialog = seal.decode::<u32>(&read(json!({ "uri": "file:///a", "name": "x" })), "ann").expect("the first round");
    let given = seal.encode(&dialog, &7_u32).expect("sealed");
    let same = json!({ "uri": "file:///a", "requestState": given });
    assert_eq!(seal.decode::<u32>(&read(same), "ann").expect("the same").state, Some(7));
    let other_uri = json!({ "uri": "file:///b", "name": "x", "requestState": given });
    assert!(seal.decode::<u32>(&read(other_uri), "ann").is_err());
    // Tampered with, in every character.
    for at in 0..state.len() {
        let mut bytes = state.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).expect("ASCII");
        assert!(open(&seal, "tools/call", "pay", "ann", &changed).is_err(), "character {at}");
    }
    for broken in ["", "A", &state[1..], &state[..state.len() - 1], &format!("{state}AAAA"), "ä", &"A".repeat(100)] {
        assert!(open(&seal, "tools/call", "pay", "ann", broken).is_err(), "{broken:?}");
    }
}

#[test]
fn state_expires_and_is_used_up() {
    let soon = RequestStateCodec::new(KEY, Duration::from_millis(20)).expect("long enough");
    let state = close(&soon, "tools/call", "pay", "ann");
    assert_eq!(open(&soon, "tools/call", "pay", "ann", &state), Ok(Some(7)));
    std::thread::sleep(Duration::from_millis(25));
    assert!(open(&soon, "tools/call", "pay", "ann", &state).is_err(), "expired");
    // Whoever opens it has no say in when it does.
    assert!(open(&seal(), "tools/call", "pay", "ann", &state).is_err());

    let once = seal().with_replay_guard(InMemoryReplayGuard::new(2));
    let states: Vec<String> = (0..2).map(|_| close(&once, "tools/call", "pay", "ann")).collect();
    let open = |state: &String| open(&once.clone(), "tools/call", "pay", "ann", state);
    assert_eq!((open(&states[0]), open(&states[1])), (Ok(Some(7)), Ok(Some(7))));
    assert!(open(&states[0]).is_err() && open(&states[1]).is_err(), "replayed");
}

#[test]
fn a_full_store_refuses_the_oldest_states() {
    let store = InMemoryReplayGuard::new(2);
    let at = |second: u64| std::time::SystemTime::now() + Duration::from_secs(60 + second);
    let spend = |n: u8, until| store.record([n; 16], until);
    let times: Vec<_> = (0..8).map(at).collect();
    assert!(spend(1, times[1]) && spend(2, times[2]));
    // New states are still accepted, and forgotten ones are not accepted again.
    assert!(spend(3, times[3]) && spend(4, times[4]));
    for n in 1..=4 {
        assert!(!spend(n, times[usize::from(n)]), "state {n} was used");
    }
    // A state that was never used, but is as old as the forgotten ones.
    assert!(!spend(9, times[0]) && !spend(10, times[2]));
    assert!(spend(11, times[5]));
    assert!(!InMemoryReplayGuard::new(0).record([1; 16], times[1]));
}

#[test]
fn a_seal_of_this_process_accepts_each_state_once() {
    let own = RequestStateCodec::of_this_process(Duration::from_secs(1)).expect("random bytes");
    let state = close(&own, "tools/call", "pay", "ann");
    assert_eq!(open(&own, "tools/call", "pay", "ann", &state), Ok(Some(7)));
    assert!(open(&own, "tools/call", "pay", "ann", &state).is_err(), "replayed");
    // A shared key has no store unless it is given one.
    let shared = seal();
    let state = close(&shared, "tools/call", "pay", "ann");
    for _ in 0..2 {
        assert_eq!(open(&shared, "tools/call", "pay", "ann", &state), Ok(Some(7)));
    }
}

#[test]
fn keys_change_while_state_is_away() {
    let (old, new) =
        (seal(), RequestStateCodec::new(b"the next key of thirty-two bytes", Duration::from_secs(60)).expect("long"));
    let both = new.clone().also_verify_with(KEY).expect("long enough");
    let state = close(&old, "tools/call", "pay", "ann");
    assert_eq!(open(&both, "tools/call", "pay", "ann", &state), Ok(Some(7)));
    assert!(open(&new, "tools/call", "pay", "ann", &state).is_err());
    assert!(open(&old, "tools/call", "pay", "ann", &close(&both, "tools/call", "pay", "ann")).is_err());
    assert_eq!(RequestStateCodec::new(b"short", Duration::ZERO).expect_err("short"), RequestStateError::ShortKey(5));
    assert!(new.also_verify_with(b"").is_err());
}

#[tokio::test]
async fn whoever_answers_for_ever_is_stopped() {
    let mut wire = server(seal().rounds(5));
    let mut params = json!({});
    for _ in 0..5 {
        let result = wire.ask(&call("forever", params, &capability())).await["result"].clone();
        params = json!({ "requestState": result["requestState"] });
    }
    assert_eq!(wire.ask(&call("forever", params, &capability())).await["error"]["code"], -32600);
}

/// A client whose server is driven by hand.
async fn client(handlers: Router, ours: LocalInfo) -> (Wire, Client) {
    let (here, there) = tokio::io::duplex(1 << 16);
    let options =
        ConnectOptions { known_revision: Some(Revision::V2026_07_28), check_known_revision: false, ..ours.into() };
    let (reader, writer) = tokio::io::split(there);
    let (incoming, outgoing) = (lines::receive(reader, 1 << 20), lines::send(writer));
    let client = connect(options, handlers.clone(), handlers, incoming, outgoing, Limits::default()).await;
    (Wire::of(here), client.expect("nobody is asked"))
}

fn answers() -> Router {
    Router::new()
        .request::<ElicitRequest>(|context, _| async move {
            assert_eq!((context.method(), context.revision()), ("elicitation/create", Revision::V2026_07_28));
            Ok::<_, ErrorObject>(ElicitResult::new(ElicitResultAction::Accept))
        })
        .request::<CreateMessageRequest>(|_, _| async {
            Ok::<_, ErrorObject>(CreateMessageResult::new(TextContent::new(""), "model", Role::Assistant))
        })
        .request::<ListRootsRequest>(|_, _| async { Ok::<_, ErrorObject>(ListRootsResult::new(Vec::new())) })
}

fn answer(id: &Value, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

#[tokio::test]
async fn a_client_makes_the_request_again_with_what_is_asked_for() {
    let (mut wire, client) = client(answers(), LocalInfo::new("client", "1")).await;
    let params = CallToolRequestParams::new(client.meta(), "tool")
        .with_arguments(JsonObject::from_iter([("a".to_owned(), json!(1))]));
    let first = mcpgen_types::to_value(&params).expect("JSON");
    let call = tokio::spawn(async move { client.complete::<CallToolRequest>(params).await });
    let state = "opaque \u{1F980} \\ \" \n {\"a\":1}";
    let asked = mcpgen_types::to_value(&asks([
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
        // What is asked, and what the next request has of it.
        (json!({ "inputRequests": asked, "requestState": state }), Some(responses.clone()), Some(state)),
        (json!({ "inputRequests": asked }), Some(responses), None),
        (json!({ "requestState": "" }), None, Some("")),
        (json!({ "inputRequests": {}, "requestState": "last" }), Some(json!({})), Some("last")),
    ];
    let mut ids = vec![wire.hear().await["id"].clone()];
    for (mut result, responses, state) in rounds {
        result["resultType"] = json!("input_required");
        wire.say(&answer(ids.last().expect("an id"), &result)).await;
        let request = wire.hear().await;
        assert!(!ids.contains(&request["id"]), "an id of its own");
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
    wire.say(&answer(ids.last().expect("an id"), &json!({ "resultType": "complete", "content": [] }))).await;
    assert_eq!(call.await.expect("done").expect("a result"), CallToolResult::new(Vec::new()));
}

#[tokio::test]
async fn a_client_can_go_on_by_hand() {
    let (mut wire, client) = client(Router::new(), LocalInfo::new("client", "1")).await;
    let params = CallToolRequestParams::new(client.meta(), "tool");
    let raw = RawJson::from(&params);
    let call = tokio::spawn(client.peer.call::<CallToolRequest>(params));
    let id = wire.hear().await["id"].clone();
    wire.say(&answer(&id, &json!({ "resultType": "input_required", "requestState": "s" }))).await;
    let InputRequiredOrCallToolResult::InputRequiredResult(asked) = call.await.expect("done").expect("an answer")
    else {
        panic!("input is asked for");
    };
    assert_eq!(asked.request_state.as_deref(), Some("s"));
    let next = mrtr::next_params(&raw, &asked, JsonObject::new()).expect("params");
    let typed = next.decode::<CallToolRequestParams>().expect("params of the same type");
    assert_eq!((typed.request_state.as_deref(), typed.input_responses), (Some("s"), None));
}

#[tokio::test(start_paused = true)]
async fn a_client_does_not_go_on_for_ever() {
    let (mut wire, mut client) = client(answers(), LocalInfo::new("client", "1")).await;
    client.round_limits = RoundLimits { rounds: 3, pause: Duration::from_millis(10), ..RoundLimits::default() };
    let params = CallToolRequestParams::new(client.meta(), "tool");
    let call = tokio::spawn(async move { client.complete::<CallToolRequest>(params).await });
    for round in 0..4 {
        let asked = tokio::time::Instant::now();
        let id = wire.hear().await["id"].clone();
        if round > 0 {
            assert!(asked.elapsed() >= Duration::from_millis(10 << (round - 1)), "longer each time");
        }
        wire.say(&answer(&id, &json!({ "resultType": "input_required", "requestState": "s" }))).await;
    }
    let error = call.await.expect("done").expect_err("no end");
    assert!(matches!(&error, CallError::Invalid(why) if why.to_string().contains("3 rounds")), "{error}");
}

#[tokio::test]
async fn nobody_is_asked_for_what_is_not_sent() {
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let handlers = Router::new().request::<ListRootsRequest>(move |_, _| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async { Ok::<_, ErrorObject>(ListRootsResult::new(Vec::new())) }
    });
    for (rounds, keys, expected) in [
        (RoundLimits { rounds: 1, ..RoundLimits::default() }, vec!["r"], 1),
        (RoundLimits { requests: 2, ..RoundLimits::default() }, vec!["r", "s", "t"], 0),
    ] {
        asked.store(0, std::sync::atomic::Ordering::SeqCst);
        let (mut wire, mut client) = client(handlers.clone(), LocalInfo::new("client", "1")).await;
        client.round_limits = rounds;
        let params = CallToolRequestParams::new(client.meta(), "tool");
        let call = tokio::spawn(async move { client.complete::<CallToolRequest>(params).await });
        for _ in 0..=expected {
            let id = wire.hear().await["id"].clone();
            let requests: Value =
                keys.iter().map(|key| ((*key).to_owned(), json!({ "method": "roots/list" }))).collect();
            wire.say(&answer(&id, &json!({ "resultType": "input_required", "inputRequests": requests }))).await;
        }
        assert!(matches!(call.await.expect("done"), Err(CallError::Invalid(_))));
        assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), expected);
    }
}

#[tokio::test]
async fn a_client_gives_only_what_it_has_declared() {
    // Nobody answers, somebody refuses, and nothing is declared.
    let refuses = Router::new().request::<ListRootsRequest>(|_, _| async { Err(ErrorObject::new(-1, "not today")) });
    let declared = LocalInfo::new("client", "1").capability("roots", json!({}));
    for (handlers, ours, code) in [
        (Router::new(), declared.clone(), -32601),
        (refuses, declared, -1),
        (Router::new(), LocalInfo::new("client", "1"), -32021),
    ] {
        let (mut wire, client) = client(handlers, ours).await;
        let params = CallToolRequestParams::new(client.meta(), "tool");
        let call = tokio::spawn(async move { client.complete::<CallToolRequest>(params).await });
        let id = wire.hear().await["id"].clone();
        let asked = json!({ "resultType": "input_required", "inputRequests": { "r": { "method": "roots/list" } } });
        wire.say(&answer(&id, &asked)).await;
        match call.await.expect("done") {
            Err(CallError::Input { method, error }) => {
                assert_eq!((method.as_str(), error.code.0), ("roots/list", code))
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn both_sides_understand_each_other() {
    let (here, there) = mcpgen_runtime::transport::duplex();
    let handlers = router(seal());
    tokio::spawn(mcpgen_runtime::serve((LocalInfo::new("server", "1"), handlers), there));
    let client = connect(LocalInfo::new("client", "1"), answers(), answers(), here.0, here.1, Limits::default()).await;
    let client = client.expect("connected");
    for (tool, expected) in [("greet", "Accept, Accept"), ("everything", "Accept model 0")] {
        let params = CallToolRequestParams::new(client.meta(), tool);
        let result = client.complete::<CallToolRequest>(params).await.expect("a result");
        assert_eq!(mcpgen_types::to_value(&result).expect("JSON")["content"][0]["text"], expected);
    }
    let missing = client
        .complete::<ReadResourceRequest>(mcpgen_types::v2026_07_28::ReadResourceRequestParams::new(client.meta(), "x"));
    assert!(matches!(missing.await, Err(CallError::ErrorResponse(error)) if error.code.0 == -32601));
}
