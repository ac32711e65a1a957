//! Both eras on one connection, and how the two sides find out which one it is.

mod support;

use std::sync::Arc;
use std::time::Duration;

use mcpgen_runtime::client::handshake::{ConnectOptions, HandshakeError, ProbeOutcome, probe_outcome};
use mcpgen_runtime::peer::CallError;
use mcpgen_runtime::protocol::config::ServerConfig;
use mcpgen_runtime::transport::{self, lines};
use mcpgen_runtime::{Client, Closed, Limits, LocalInfo, Router, connect, serve};
use mcpgen_types::{ErrorObject, RawJson, Revision, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use support::Wire;
use tokio::task::JoinHandle;

/// A tool that says in which revision it was called, by whom, and what they are able to do.
fn router() -> Router {
    macro_rules! tools {
        ($($revision:ident),*) => {
            Router::new()$(.request::<$revision::CallToolRequest>(|context, params| async move {
                // So that answers overtake one another.
                for _ in 0..params.name.len() % 7 {
                    tokio::task::yield_now().await;
                }
                let peer_info = context.peer_info().expect("someone asks");
                let words = json!([
                    context.revision().as_str(), peer_info.revision.as_str(), peer_info.capabilities, peer_info.implementation,
                    params.name,
                ]);
                let result = $revision::CallToolResult::new(vec![$revision::TextContent::new(words.to_string()).into()]);
                Ok::<_, ErrorObject>(result.into())
            }))*
        };
    }
    tools!(v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28)
}

fn ours(name: &str, protocols: &str) -> LocalInfo {
    LocalInfo::new(name, "1").retain_revisions(|revision| match protocols {
        "legacy" => revision.is_legacy(),
        "modern" => !revision.is_legacy(),
        _ => true,
    })
}

async fn meet(client: &str, server: &str) -> Result<Revision, HandshakeError> {
    let (here, there) = transport::duplex();
    let server = ours("server", server);
    tokio::spawn(serve((server, router()), there));
    let client =
        connect(ours("client", client), Router::new(), Router::new(), here.0, here.1, Limits::default()).await?;
    assert_eq!(client.peer.peer_info().map(|peer_info| peer_info.revision), Some(client.revision()));
    Ok(client.revision())
}

#[tokio::test]
async fn everybody_meets_everybody() {
    use Revision as R;
    let table = [
        ("legacy", "legacy", Some(R::V2025_11_25)),
        ("legacy", "modern", None),
        ("legacy", "both", Some(R::V2025_11_25)),
        ("modern", "legacy", None),
        ("modern", "modern", Some(R::V2026_07_28)),
        ("modern", "both", Some(R::V2026_07_28)),
        ("both", "legacy", Some(R::V2025_11_25)),
        ("both", "modern", Some(R::V2026_07_28)),
        ("both", "both", Some(R::V2026_07_28)),
    ];
    for (client, server, expected) in table {
        let met = meet(client, server).await;
        assert_eq!(met.as_ref().ok(), expected.as_ref(), "{client} client, {server} server: {met:?}");
        if let Err(error) = met {
            let words = error.to_string();
            match server {
                // Whoever speaks only the older revisions is told what there is.
                "modern" => assert!(words.contains("2026-07-28"), "{words}"),
                _ => assert!(words.contains("server/discover"), "{words}"),
            }
        }
    }
}

#[test]
fn an_answer_to_discover_says_of_which_era_a_server_is() {
    use Revision as R;
    let both = [R::V2026_07_28, R::V2025_11_25, R::V2025_06_18];
    let discovered = |versions: Value| Ok(RawJson::from(&json!({ "supportedVersions": versions, "capabilities": {} })));
    let refused = |code: i64, data: Value| Err(CallError::ErrorResponse(ErrorObject::new(code, "").with_data(data)));
    let supports = |versions: Value| json!({ "supported": versions, "requested": "2026-07-28" });
    let incompatible =
        |versions: &[&str]| ProbeOutcome::Incompatible(versions.iter().map(|it| (*it).to_owned()).collect());
    let cases = [
        (discovered(json!(["2026-07-28"])), ProbeOutcome::Modern(R::V2026_07_28)),
        (discovered(json!(["2030-01-01", "2026-07-28", "2025-11-25"])), ProbeOutcome::Modern(R::V2026_07_28)),
        (discovered(json!(["2025-11-25"])), ProbeOutcome::Legacy),
        (discovered(json!(["2030-01-01"])), incompatible(&["2030-01-01"])),
        (discovered(json!("2026-07-28")), ProbeOutcome::Legacy),
        (discovered(json!([1])), ProbeOutcome::Legacy),
        (Ok(RawJson::from(&json!({}))), ProbeOutcome::Legacy),
        (Ok(RawJson::from(&json!(null))), ProbeOutcome::Legacy),
        (refused(-32022, supports(json!(["2026-07-28"]))), ProbeOutcome::Retry(R::V2026_07_28)),
        (refused(-32022, supports(json!(["2025-11-25"]))), ProbeOutcome::Legacy),
        (refused(-32022, supports(json!(["2030-01-01"]))), incompatible(&["2030-01-01"])),
        (refused(-32022, json!({})), ProbeOutcome::Legacy),
        (refused(-32601, supports(json!(["2026-07-28"]))), ProbeOutcome::Legacy),
        (refused(-32602, json!({})), ProbeOutcome::Legacy),
        (refused(-32600, json!({})), ProbeOutcome::Legacy),
        (refused(-32000, json!({})), ProbeOutcome::Legacy),
        (refused(0, json!({})), ProbeOutcome::Legacy),
        (Err(CallError::Timeout(Duration::ZERO)), ProbeOutcome::Legacy),
        (Err(CallError::Invalid("no result".into())), ProbeOutcome::Legacy),
        (Err(CallError::Closed(Closed)), ProbeOutcome::Legacy),
    ];
    for (answer, expected) in cases {
        assert_eq!(probe_outcome(&both, &answer), expected, "{answer:?}");
    }
}

/// A client whose server is driven by hand.
fn client(options: impl Into<ConnectOptions>) -> (Wire, JoinHandle<Result<Client, HandshakeError>>) {
    let (here, there) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(there);
    let (incoming, outgoing) = (lines::receive(reader, 1 << 20), lines::send(writer));
    let options = options.into();
    let client = tokio::spawn(connect(options, Router::new(), Router::new(), incoming, outgoing, Limits::default()));
    (Wire::of(here), client)
}

async fn shake(wire: &mut Wire) {
    let request = wire.hear().await;
    assert_eq!(request["method"], "initialize");
    assert_eq!(request["params"]["protocolVersion"], "2025-11-25");
    assert!(request["params"].get("_meta").is_none(), "nothing of the other era: {request}");
    let result =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } });
    wire.say(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string()).await;
    assert_eq!(wire.hear().await["method"], "notifications/initialized");
}

#[tokio::test(start_paused = true)]
async fn a_client_falls_back_whatever_the_answer_is() {
    let answers = [
        Some(json!({ "error": { "code": -32601, "message": "Method not found" } })),
        Some(json!({ "error": { "code": -32602, "message": "Invalid params" } })),
        Some(json!({ "error": { "code": -32600, "message": "not initialized" } })),
        Some(json!({ "error": { "code": -32000, "message": "?", "data": { "supported": ["2026-07-28"] } } })),
        Some(json!({ "error": { "code": 12, "message": "?" } })),
        Some(json!({ "result": {} })),
        Some(json!({ "result": [] })),
        Some(json!({ "result": { "supportedVersions": ["2025-11-25"], "capabilities": {} } })),
        None,
    ];
    for answer in answers {
        let (mut wire, client) = client(ours("client", "both"));
        let probe = wire.hear().await;
        assert_eq!(probe["method"], "server/discover");
        assert_eq!(probe["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        let late = json!({ "jsonrpc": "2.0", "id": probe["id"], "result": {} }).to_string();
        match answer.clone() {
            Some(mut answer) => {
                (answer["jsonrpc"], answer["id"]) = (json!("2.0"), probe["id"].clone());
                wire.say(&answer.to_string()).await;
            }
            // Nothing is said of the request that nobody waits for: who does not know it does not know that either.
            None => tokio::time::advance(Duration::from_secs(31)).await,
        }
        shake(&mut wire).await;
        wire.say(&late).await;
        let client = client.await.expect("done").expect("a connection");
        assert_eq!(client.revision(), Revision::V2025_11_25, "{answer:?}");
        let ping = tokio::spawn(client.peer.raw_request("ping", None).send());
        let request = wire.hear().await;
        assert!(request.get("params").is_none(), "{request}");
        ping.abort();
    }
}

#[tokio::test]
async fn a_client_asks_again_in_a_revision_that_the_server_speaks() {
    let older = Revision::custom("2026-01-01");
    let options = LocalInfo { revisions: vec![Revision::V2026_07_28, older], ..LocalInfo::new("client", "1") };
    for (rounds, expected) in [(1, Some(older)), (2, None)] {
        let (mut wire, client) = client(options.clone());
        for round in 0..rounds {
            let probe = wire.hear().await;
            let asked = if round == 0 { "2026-07-28" } else { "2026-01-01" };
            assert_eq!(probe["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], asked);
            let data = json!({ "supported": ["2026-01-01"], "requested": asked });
            let error = json!({ "code": -32022, "message": "no", "data": data });
            wire.say(&json!({ "jsonrpc": "2.0", "id": probe["id"], "error": error }).to_string()).await;
        }
        if expected.is_some() {
            let probe = wire.hear().await;
            let result = json!({ "supportedVersions": ["2026-01-01"], "capabilities": {} });
            wire.say(&json!({ "jsonrpc": "2.0", "id": probe["id"], "result": result }).to_string()).await;
        }
        let client = client.await.expect("done");
        assert_eq!(client.map(|client| client.revision()).ok(), expected, "no more than once");
    }
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_that_was_too_slow_is_asked_again() {
    let (mut wire, client) = client(ours("client", "both"));
    assert_eq!(wire.hear().await["method"], "server/discover");
    tokio::time::advance(Duration::from_secs(31)).await;
    let initialize = wire.hear().await;
    assert_eq!(initialize["method"], "initialize");
    let data = json!({ "supported": ["2026-07-28"], "requested": "2025-11-25" });
    let error = json!({ "code": -32022, "message": "no", "data": data });
    wire.say(&json!({ "jsonrpc": "2.0", "id": initialize["id"], "error": error }).to_string()).await;
    let probe = wire.hear().await;
    assert_eq!(probe["method"], "server/discover");
    let result = json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} });
    wire.say(&json!({ "jsonrpc": "2.0", "id": probe["id"], "result": result }).to_string()).await;
    assert_eq!(client.await.expect("done").expect("a connection").revision(), Revision::V2026_07_28);
}

#[tokio::test(start_paused = true)]
async fn a_late_discover_result_decides_while_initialize_is_pending() {
    let (mut wire, client) = client(ours("client", "both"));
    let probe = wire.hear().await;
    assert_eq!(probe["method"], "server/discover");
    tokio::time::advance(Duration::from_secs(31)).await;
    assert_eq!(wire.hear().await["method"], "initialize");
    let capabilities = json!({ "tools": {} });
    let result = json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities });
    wire.say(&json!({ "jsonrpc": "2.0", "id": probe["id"], "result": result }).to_string()).await;
    let client = client.await.expect("done").expect("a connection");
    assert_eq!(client.revision(), Revision::V2026_07_28);
    assert_eq!(
        client.peer.peer_info().map(|peer_info| peer_info.capabilities.clone()),
        capabilities.as_object().cloned()
    );
    // Nothing else is sent for the handshake.
    let call = tokio::spawn(client.peer.raw_request("tools/list", None).send());
    assert_eq!(wire.hear().await["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    call.abort();
}

#[tokio::test(start_paused = true)]
async fn a_late_discover_error_does_not_end_the_handshake() {
    let (mut wire, client) = client(ours("client", "both"));
    let probe = wire.hear().await;
    tokio::time::advance(Duration::from_secs(31)).await;
    let initialize = wire.hear().await;
    let error = json!({ "code": -32601, "message": "Method not found" });
    wire.say(&json!({ "jsonrpc": "2.0", "id": probe["id"], "error": error }).to_string()).await;
    let result =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } });
    wire.say(&json!({ "jsonrpc": "2.0", "id": initialize["id"], "result": result }).to_string()).await;
    assert_eq!(wire.hear().await["method"], "notifications/initialized");
    assert_eq!(client.await.expect("done").expect("a connection").revision(), Revision::V2025_11_25);
}

/// A client whose server was silent for longer than the patience and then refused `initialize`, and the pending probe.
async fn refused() -> (Wire, JoinHandle<Result<Client, HandshakeError>>, Value) {
    let (mut wire, client) = client(ours("client", "both"));
    let probe = wire.hear().await;
    tokio::time::advance(Duration::from_secs(31)).await;
    let initialize = wire.hear().await;
    assert_eq!(initialize["method"], "initialize");
    let error = json!({ "code": -32601, "message": "no initialize" });
    wire.say(&json!({ "jsonrpc": "2.0", "id": initialize["id"], "error": error }).to_string()).await;
    (wire, client, probe["id"].clone())
}

#[tokio::test(start_paused = true)]
async fn waits_for_a_late_discover_result_after_initialize_was_refused() {
    let (mut wire, client, probe) = refused().await;
    tokio::time::sleep(Duration::from_secs(29)).await;
    let capabilities = json!({ "tools": {} });
    let result = json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities });
    wire.say(&json!({ "jsonrpc": "2.0", "id": probe, "result": result }).to_string()).await;
    let client = client.await.expect("done").expect("a connection");
    assert_eq!(client.revision(), Revision::V2026_07_28);
    assert_eq!(
        client.peer.peer_info().map(|peer_info| peer_info.capabilities.clone()),
        capabilities.as_object().cloned()
    );
}

/// The errors of handshakes that fail at `server/discover`, by the server's responses.
#[tokio::test]
async fn handshake_errors_are_precise() {
    let discovered = |versions: Value| json!({ "result": { "supportedVersions": versions, "capabilities": {} } });
    let rejected = |versions: Value| {
        let data = json!({ "supported": versions, "requested": "2026-07-28" });
        json!({ "error": { "code": -32022, "message": "unsupported", "data": data } })
    };
    let one = "the server supports only revision 2030-01-01, which this client does not support";
    let two = "the server supports only revisions 2030-01-01, 2031-01-01, none of which this client supports";
    let older = "the server supports only revision 2025-11-25, which this client does not support";
    let none = "the server lists no supported revision";
    let contradiction = "the server rejected `server/discover` with revision 2026-07-28, but lists 2026-07-28 as \
                         supported; the client gave up after two attempts";
    let not_modern = "this client supports only modern revisions, and the response to `server/discover` is not that of \
                      a modern server: {\"resultType\":\"complete\"}";
    let cases = [
        ("both", vec![rejected(json!(["2030-01-01"]))], one),
        ("both", vec![discovered(json!(["2030-01-01"]))], one),
        ("both", vec![rejected(json!(["2030-01-01", "2031-01-01"]))], two),
        ("both", vec![rejected(json!([]))], none),
        ("both", vec![rejected(json!(["2026-07-28"])), rejected(json!(["2026-07-28"]))], contradiction),
        ("modern", vec![rejected(json!(["2025-11-25"]))], older),
        ("modern", vec![discovered(json!(["2025-11-25"]))], older),
        ("modern", vec![json!({ "result": { "resultType": "complete" } })], not_modern),
    ];
    for (revisions, responses, expected) in cases {
        let (mut wire, client) = client(ours("client", revisions));
        for mut response in responses.clone() {
            let request = wire.hear().await;
            assert_eq!(request["method"], "server/discover", "{responses:?}");
            (response["jsonrpc"], response["id"]) = (json!("2.0"), request["id"].clone());
            wire.say(&response.to_string()).await;
        }
        let error = client.await.expect("done").expect_err("no revision in common");
        assert_eq!(error.to_string(), expected, "{responses:?}");
    }
    let (_wire, client) = client(LocalInfo::new("client", "1").retain_revisions(|_| false));
    let error = client.await.expect("done").expect_err("no revision").to_string();
    assert_eq!(error, "this client supports no revision; add one to `LocalInfo::revisions`");
}

#[tokio::test(start_paused = true)]
async fn reports_the_refusal_of_initialize_without_a_modern_answer_to_discover() {
    let (mut wire, client, probe) = refused().await;
    let error = json!({ "code": -32601, "message": "no discover" });
    wire.say(&json!({ "jsonrpc": "2.0", "id": probe, "error": error }).to_string()).await;
    let error = client.await.expect("done").expect_err("both are refused");
    assert!(error.to_string().contains("no initialize"), "{error}");

    let (_wire, client, _) = refused().await;
    let refused = tokio::time::Instant::now();
    let error = client.await.expect("done").expect_err("initialize is refused");
    assert!(error.to_string().contains("no initialize"), "{error}");
    assert!(refused.elapsed() >= Duration::from_secs(30), "{:?}", refused.elapsed());
}

/// A cold start takes many programs more than ten seconds.
#[tokio::test(start_paused = true)]
async fn waits_thirty_seconds_for_discover_before_initialize() {
    let (mut wire, client) = client(ours("client", "both"));
    let probe = wire.hear().await;
    tokio::time::advance(Duration::from_secs(29)).await;
    let result = json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} });
    wire.say(&json!({ "jsonrpc": "2.0", "id": probe["id"], "result": result }).to_string()).await;
    let client = client.await.expect("done").expect("a connection");
    let call = tokio::spawn(client.peer.raw_request("tools/list", None).send());
    assert_eq!(wire.hear().await["method"], "tools/list");
    call.abort();
}

#[tokio::test]
async fn what_is_known_of_a_server_is_not_asked_again() {
    let known = |revision| ConnectOptions { known_revision: Some(revision), ..ours("client", "both").into() };
    let (mut wire, legacy) = client(known(Revision::V2025_11_25));
    shake(&mut wire).await;
    assert_eq!(legacy.await.expect("done").expect("a connection").revision(), Revision::V2025_11_25);

    let (mut wire, modern) = client(ConnectOptions { check_known_revision: false, ..known(Revision::V2026_07_28) });
    let modern = modern.await.expect("done").expect("a connection, without a word");
    let call = tokio::spawn(modern.peer.raw_request("tools/list", None).send());
    assert_eq!(wire.hear().await["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    call.abort();

    // What is known may be true no longer, and which error says so is nobody's business.
    for (code, data) in [(-32022, json!({ "supported": ["2026-07-28"], "requested": "" })), (-32601, json!(null))] {
        let (mut wire, changed) = client(known(Revision::V2025_11_25));
        let initialize = wire.hear().await;
        let error = json!({ "code": code, "message": "no", "data": data });
        wire.say(&json!({ "jsonrpc": "2.0", "id": initialize["id"], "error": error }).to_string()).await;
        let probe = wire.hear().await;
        assert_eq!(probe["method"], "server/discover");
        let result = json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} });
        wire.say(&json!({ "jsonrpc": "2.0", "id": probe["id"], "result": result }).to_string()).await;
        assert_eq!(changed.await.expect("done").expect("a connection").revision(), Revision::V2026_07_28);
    }
    let (mut wire, changed) = client(known(Revision::V2026_07_28));
    let probe = wire.hear().await;
    assert_eq!(probe["method"], "server/discover");
    let error = json!({ "code": -32601, "message": "unknown" });
    wire.say(&json!({ "jsonrpc": "2.0", "id": probe["id"], "error": error }).to_string()).await;
    shake(&mut wire).await;
    assert_eq!(changed.await.expect("done").expect("a connection").revision(), Revision::V2025_11_25);
}

#[tokio::test]
async fn a_server_that_goes_away_is_no_server_of_the_other_era() {
    let (mut wire, client) = client(ours("client", "both"));
    wire.hear().await;
    drop(wire);
    let error = client.await.expect("done").expect_err("nobody is there");
    assert!(matches!(error, HandshakeError::Call(CallError::Closed(_))), "{error}");
}

fn meta(name: &str, capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": { "name": name, "version": "1" },
    })
}

fn call(id: usize, tool: &str, meta: Option<Value>) -> String {
    let mut params = json!({ "name": tool });
    if let Some(meta) = meta {
        params["_meta"] = meta;
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

fn initialize(id: impl Into<Value>, revision: &str) -> String {
    let params = json!({
        "protocolVersion": revision,
        "capabilities": { "sampling": {} },
        "clientInfo": { "name": "legacy", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": "initialize", "params": params }).to_string()
}

fn both() -> Wire {
    let handlers = router();
    let protocol = Arc::new(
        ServerConfig::from(ours("server", "both")).protocol(&handlers.handled(mcpgen_runtime::protocol::Role::Server)),
    );
    Wire::to(|pipe| support::run(handlers, protocol, Limits::default(), pipe)).0
}

#[tokio::test]
async fn a_server_takes_each_request_for_what_it_is() {
    let mut wire = both();
    // Before the handshake only what needs none.
    assert_eq!(wire.ask(&call(1, "a", None)).await["error"]["code"], -32602);
    assert_eq!(wire.ask(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await["result"], json!({}));
    assert!(wire.ask(&call(1, "a", Some(meta("m", &json!({}))))).await["result"]["resultType"].is_string());
    let answer = wire.ask(&initialize(1, "2025-06-18")).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    assert!(answer["result"].get("resultType").is_none(), "{answer}");
    wire.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let legacy = wire.ask(&call(1, "a", None)).await["result"].clone();
    assert!(legacy.get("resultType").is_none() && legacy.get("_meta").is_none(), "{legacy}");
    // `_meta` of its own does not make a request modern; the other era's does, though the handshake is through.
    let progress = wire.ask(&call(1, "a", Some(json!({ "progressToken": 1, "mine": {} })))).await["result"].clone();
    assert_eq!(progress, legacy);
    assert!(wire.ask(&call(1, "a", Some(meta("m", &json!({}))))).await["result"]["resultType"].is_string());
    for key in ["io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/protocolVersion"] {
        let mut half = meta("m", &json!({}));
        half.as_object_mut().expect("an object").remove(key);
        assert_eq!(wire.ask(&call(1, "a", Some(half))).await["error"]["code"], -32602, "without {key}");
    }
    let error = wire.ask(&call(1, "a", Some(json!({ "io.modelcontextprotocol/protocolVersion": "2025-06-18" })))).await;
    let supported = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"];
    assert_eq!((&error["error"]["code"], &error["error"]["data"]["supported"]), (&json!(-32022), &json!(supported)));
    // The discovery names the same.
    let discover =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta("m", &json!({})) } });
    assert_eq!(wire.ask(&discover.to_string()).await["result"]["supportedVersions"], json!(supported));
    assert_eq!(wire.ask(&initialize(1, "2025-11-25")).await["error"]["code"], -32600, "once");
}

#[tokio::test]
async fn modern_requests_stand_in_no_batch() {
    let mut wire = both();
    wire.ask(&initialize(1, "2025-03-26")).await;
    wire.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let modern = call(2, "a", Some(meta("m", &json!({}))));
    let legacy = call(3, "a", None);
    let answers = wire.ask(&format!("[{modern},{legacy}]")).await;
    let by = |id: usize| answers.as_array().expect("a batch").iter().find(|it| it["id"] == id).expect("an answer");
    assert_eq!(by(2)["error"]["code"], -32600, "{answers}");
    assert!(by(3)["result"].is_object());
}

#[derive(Clone, Debug)]
enum Ask {
    Legacy(String),
    Modern { tool: String, name: String, capabilities: Value },
    Unsupported(String),
    Malformed,
    Discover(String),
}

fn ask() -> impl Strategy<Value = Ask> {
    let capabilities = prop::collection::btree_map("[a-z]{1,3}", Just(json!({})), 0..3)
        .prop_map(|extensions| json!({ "extensions": extensions }));
    prop_oneof![
        4 => "[a-z]{1,9}".prop_map(Ask::Legacy),
        4 => ("[a-z]{1,9}", "[a-z]{1,9}", capabilities)
            .prop_map(|(tool, name, capabilities)| Ask::Modern { tool, name, capabilities }),
        1 => "20[0-9]{2}-01-01".prop_map(Ask::Unsupported),
        1 => Just(Ask::Malformed),
        1 => "[a-z]{1,9}".prop_map(Ask::Discover),
    ]
}

fn sent(id: usize, ask: &Ask) -> String {
    match ask {
        Ask::Legacy(tool) => call(id, tool, None),
        Ask::Modern { tool, name, capabilities } => call(id, tool, Some(meta(name, capabilities))),
        Ask::Unsupported(version) => {
            let mut meta = meta("m", &json!({}));
            meta["io.modelcontextprotocol/protocolVersion"] = json!(version);
            call(id, "a", Some(meta))
        }
        Ask::Malformed => call(id, "a", Some(json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" }))),
        Ask::Discover(name) => {
            let params = json!({ "_meta": meta(name, &json!({})) });
            json!({ "jsonrpc": "2.0", "id": id, "method": "server/discover", "params": params }).to_string()
        }
    }
}

fn check(ask: &Ask, revision: &str, answer: &Value) {
    let said = || -> Value {
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{ask:?}: {answer}"));
        serde_json::from_str(text).expect("JSON")
    };
    match ask {
        Ask::Legacy(tool) => {
            let legacy = json!({ "name": "legacy", "version": "1" });
            assert_eq!(said(), json!([revision, revision, { "sampling": {} }, legacy, tool]));
            assert!(answer["result"].get("resultType").is_none());
        }
        Ask::Modern { tool, name, capabilities } => {
            let peer_info = json!({ "name": name, "version": "1" });
            assert_eq!(said(), json!(["2026-07-28", "2026-07-28", capabilities, peer_info, tool]));
            assert_eq!(answer["result"]["resultType"], "complete");
        }
        Ask::Unsupported(version) => {
            assert_eq!(answer["error"]["code"], -32022, "{answer}");
            assert_eq!(answer["error"]["data"]["requested"], *version);
        }
        Ask::Malformed => assert_eq!(answer["error"]["code"], -32602, "{answer}"),
        Ask::Discover(_) => assert_eq!(answer["result"]["supportedVersions"][0], "2026-07-28"),
    }
}

#[test]
fn each_request_keeps_its_own_version_and_capabilities() {
    let config = ProptestConfig { cases: 12, max_shrink_iters: 200, ..ProptestConfig::default() };
    let revisions = prop_oneof![Just("2025-03-26"), Just("2025-06-18"), Just("2025-11-25")];
    let asks = prop::collection::vec(ask(), 1000..2000);
    let talked = TestRunner::new(config).run(&(asks, revisions), |(asks, revision)| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(talk(&asks, revision));
        Ok(())
    });
    talked.unwrap_or_else(|error| panic!("{error}"));
}

/// Says all of it on one connection, without waiting for answers, and looks at each answer.
async fn talk(asks: &[Ask], revision: &str) {
    let mut wire = both();
    wire.ask(&initialize("init", revision)).await;
    wire.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let (mut ears, mut mouth) = wire.split();
    let all = asks.to_vec();
    let talking = tokio::spawn(async move {
        for (id, ask) in all.iter().enumerate() {
            mouth.say(&sent(id, ask)).await;
        }
        mouth
    });
    let mut answered = vec![false; asks.len()];
    for _ in asks {
        let answer = ears.hear().await;
        let id = usize::try_from(answer["id"].as_u64().expect("an id")).expect("small");
        assert!(!std::mem::replace(&mut answered[id], true), "one answer each");
        check(&asks[id], revision, &answer);
    }
    talking.await.expect("all is said");
}
