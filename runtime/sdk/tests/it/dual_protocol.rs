//! Connections of peers that support legacy and modern revisions, and the handshake that chooses one.

use std::sync::Arc;
use std::time::Duration;

use mcpgen_sdk::client::handshake::{ConnectOptions, HandshakeError, ProbeOutcome, probe_outcome};
use mcpgen_sdk::peer::CallError;
use mcpgen_sdk::protocol::config::ServerConfig;
use mcpgen_sdk::protocol::{ContextExt, PeerExt, RouterExt};
use mcpgen_sdk::transport::{self, lines};
use mcpgen_sdk::{Client, Closed, Limits, LocalInfo, Router, connect, serve};
use mcpgen_types::{ErrorObject, Json, JsonObject, Revision, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{self, RawPeer};

/// Returns a router whose tools report the revision, the peer info and the tool name of a call.
fn router() -> Router {
    macro_rules! tools {
        ($($revision:ident),*) => {
            Router::new()$(.request::<$revision::CallToolRequest>(|context, params| async move {
                // Complete the calls out of order.
                for _ in 0..params.name.len() % 7 {
                    tokio::task::yield_now().await;
                }
                let peer_info = context.peer_info().expect("a request");
                let report = json!([
                    context.revision().as_str(), peer_info.revision.as_str(), peer_info.capabilities, peer_info.implementation,
                    params.name,
                ]);
                let content = $revision::TextContent::new(report.to_string());
                let result = $revision::CallToolResult::new(vec![content.into()]);
                Ok::<_, ErrorObject>(result.into())
            }))*
        };
    }
    tools!(v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28)
}

fn local_info(name: &str, protocols: &str) -> LocalInfo {
    LocalInfo::new(name, "1").retain_revisions(|revision| match protocols {
        "legacy" => revision.is_legacy(),
        "modern" => !revision.is_legacy(),
        _ => true,
    })
}

async fn negotiate(client: &str, server: &str) -> Result<Revision, HandshakeError> {
    let (here, there) = transport::duplex();
    let server = local_info("server", server);
    tokio::spawn(serve((server, router()), there));
    let client =
        connect(local_info("client", client), Router::new(), Router::new(), here.0, here.1, Limits::default()).await?;
    assert_eq!(client.peer().peer_info().map(|peer_info| peer_info.revision), Some(client.revision()));
    Ok(client.revision())
}

#[tokio::test]
async fn clients_and_servers_agree_on_a_revision() {
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
        let negotiated = negotiate(client, server).await;
        assert_eq!(negotiated.as_ref().ok(), expected.as_ref(), "{client} client, {server} server: {negotiated:?}");
        if let Err(error) = negotiated {
            let message = error.to_string();
            match server {
                // The error lists the supported revisions for a legacy client.
                "modern" => assert!(message.contains("2026-07-28"), "{message}"),
                _ => assert!(message.contains("server/discover"), "{message}"),
            }
        }
    }
}

#[test]
fn the_discover_response_determines_the_protocol() {
    use Revision as R;
    let both = [R::V2026_07_28, R::V2025_11_25, R::V2025_06_18];
    let discovered = |versions: Value| Ok(Json::from(&json!({ "supportedVersions": versions, "capabilities": {} })));
    let error_response =
        |code: i64, data: Value| Err(CallError::ErrorResponse(ErrorObject::new(code, "").with_data(data)));
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
        (Ok(Json::from(&json!({}))), ProbeOutcome::Legacy),
        (Ok(Json::from(&json!(null))), ProbeOutcome::Legacy),
        (error_response(-32022, supports(json!(["2026-07-28"]))), ProbeOutcome::Retry(R::V2026_07_28)),
        (error_response(-32022, supports(json!(["2025-11-25"]))), ProbeOutcome::Legacy),
        (error_response(-32022, supports(json!(["2030-01-01"]))), incompatible(&["2030-01-01"])),
        (error_response(-32022, json!({})), ProbeOutcome::Legacy),
        (error_response(-32601, supports(json!(["2026-07-28"]))), ProbeOutcome::Legacy),
        (error_response(-32602, json!({})), ProbeOutcome::Legacy),
        (error_response(-32600, json!({})), ProbeOutcome::Legacy),
        (error_response(-32000, json!({})), ProbeOutcome::Legacy),
        (error_response(0, json!({})), ProbeOutcome::Legacy),
        (Err(CallError::Timeout { request: String::new(), limit: Duration::ZERO }), ProbeOutcome::Legacy),
        (Err(CallError::Invalid("no result".into())), ProbeOutcome::Legacy),
        (Err(CallError::Closed(Closed)), ProbeOutcome::Legacy),
    ];
    for (response, expected) in cases {
        assert_eq!(probe_outcome(&both, &response), expected, "{response:?}");
    }
}

/// Starts a client whose server the test drives.
fn client(options: impl Into<ConnectOptions>) -> (RawPeer, JoinHandle<Result<Client, HandshakeError>>) {
    let (here, there) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(there);
    let (incoming, outgoing) = (lines::receive(reader, 1 << 20), lines::send(writer));
    let options = options.into();
    let client = tokio::spawn(connect(options, Router::new(), Router::new(), incoming, outgoing, Limits::default()));
    (RawPeer::new(here), client)
}

async fn complete_handshake(remote: &mut RawPeer) {
    let request = remote.receive().await;
    assert_eq!(request["method"], "initialize");
    assert_eq!(request["params"]["protocolVersion"], "2025-11-25");
    assert!(request["params"].get("_meta").is_none(), "no modern metadata: {request}");
    let result =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } });
    remote.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string()).await;
    assert_eq!(remote.receive().await["method"], "notifications/initialized");
}

#[tokio::test(start_paused = true)]
async fn falls_back_to_initialize() {
    let responses = [
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
    for response in responses {
        let (mut remote, client) = client(local_info("client", "both"));
        let probe = remote.receive().await;
        assert_eq!(probe["method"], "server/discover");
        assert_eq!(probe["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        let late = json!({ "jsonrpc": "2.0", "id": probe["id"], "result": {} }).to_string();
        match response.clone() {
            Some(mut response) => {
                (response["jsonrpc"], response["id"]) = (json!("2.0"), probe["id"].clone());
                remote.send(&response.to_string()).await;
            }
            // The client does not cancel the probe: a server that does not know the request cannot cancel it.
            None => tokio::time::advance(Duration::from_secs(31)).await,
        }
        complete_handshake(&mut remote).await;
        remote.send(&late).await;
        let client = client.await.expect("no panic").expect("a connection");
        assert_eq!(client.revision(), Revision::V2025_11_25, "{response:?}");
        let ping = tokio::spawn(client.peer().raw_request("ping", None).send());
        let request = remote.receive().await;
        assert!(request.get("params").is_none(), "{request}");
        ping.abort();
    }
}

#[tokio::test]
async fn repeats_discover_in_a_revision_that_the_server_supports() {
    let older = Revision::of(mcpgen_types::Version::new("2026-01-01"));
    let options = LocalInfo::new("client", "1").with_revisions(vec![Revision::V2026_07_28, older]);
    for (rounds, expected) in [(1, Some(older)), (2, None)] {
        let (mut remote, client) = client(options.clone());
        for round in 0..rounds {
            let probe = remote.receive().await;
            let requested = if round == 0 { "2026-07-28" } else { "2026-01-01" };
            assert_eq!(probe["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], requested);
            let data = json!({ "supported": ["2026-01-01"], "requested": requested });
            let error = json!({ "code": -32022, "message": "no", "data": data });
            remote.send(&json!({ "jsonrpc": "2.0", "id": probe["id"], "error": error }).to_string()).await;
        }
        if expected.is_some() {
            let probe = remote.receive().await;
            let result = json!({ "supportedVersions": ["2026-01-01"], "capabilities": {} });
            remote.send(&json!({ "jsonrpc": "2.0", "id": probe["id"], "result": result }).to_string()).await;
        }
        let client = client.await.expect("no panic");
        assert_eq!(client.map(|client| client.revision()).ok(), expected, "the client repeats the probe once");
    }
}

#[tokio::test(start_paused = true)]
async fn probes_a_slow_modern_server_again() {
    let (mut remote, client) = client(local_info("client", "both"));
    assert_eq!(remote.receive().await["method"], "server/discover");
    tokio::time::advance(Duration::from_secs(31)).await;
    let initialize = remote.receive().await;
    assert_eq!(initialize["method"], "initialize");
    let data = json!({ "supported": ["2026-07-28"], "requested": "2025-11-25" });
    let error = json!({ "code": -32022, "message": "no", "data": data });
    remote.send(&json!({ "jsonrpc": "2.0", "id": initialize["id"], "error": error }).to_string()).await;
    let probe = remote.receive().await;
    assert_eq!(probe["method"], "server/discover");
    let result = json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} });
    remote.send(&json!({ "jsonrpc": "2.0", "id": probe["id"], "result": result }).to_string()).await;
    assert_eq!(client.await.expect("no panic").expect("a connection").revision(), Revision::V2026_07_28);
}

#[tokio::test(start_paused = true)]
async fn a_late_discover_result_decides_while_initialize_is_pending() {
    let (mut remote, client) = client(local_info("client", "both"));
    let probe = remote.receive().await;
    assert_eq!(probe["method"], "server/discover");
    tokio::time::advance(Duration::from_secs(31)).await;
    assert_eq!(remote.receive().await["method"], "initialize");
    let capabilities = json!({ "tools": {} });
    let result = json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities });
    remote.send(&json!({ "jsonrpc": "2.0", "id": probe["id"], "result": result }).to_string()).await;
    let client = client.await.expect("no panic").expect("a connection");
    assert_eq!(client.revision(), Revision::V2026_07_28);
    assert_eq!(
        client.peer().peer_info().map(|peer_info| peer_info.capabilities.clone()),
        JsonObject::try_from(&capabilities).ok()
    );
    // Nothing else is sent for the handshake.
    let call = tokio::spawn(client.peer().raw_request("tools/list", None).send());
    assert_eq!(remote.receive().await["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    call.abort();
}

#[tokio::test(start_paused = true)]
async fn a_late_discover_error_does_not_end_the_handshake() {
    let (mut remote, client) = client(local_info("client", "both"));
    let probe = remote.receive().await;
    tokio::time::advance(Duration::from_secs(31)).await;
    let initialize = remote.receive().await;
    let error = json!({ "code": -32601, "message": "Method not found" });
    remote.send(&json!({ "jsonrpc": "2.0", "id": probe["id"], "error": error }).to_string()).await;
    let result =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } });
    remote.send(&json!({ "jsonrpc": "2.0", "id": initialize["id"], "result": result }).to_string()).await;
    assert_eq!(remote.receive().await["method"], "notifications/initialized");
    assert_eq!(client.await.expect("no panic").expect("a connection").revision(), Revision::V2025_11_25);
}

/// Starts a client whose server is silent until the timeout and then rejects `initialize`. Also returns the ID of the
/// pending probe.
async fn rejected_initialize() -> (RawPeer, JoinHandle<Result<Client, HandshakeError>>, Value) {
    let (mut remote, client) = client(local_info("client", "both"));
    let probe = remote.receive().await;
    tokio::time::advance(Duration::from_secs(31)).await;
    let initialize = remote.receive().await;
    assert_eq!(initialize["method"], "initialize");
    let error = json!({ "code": -32601, "message": "no initialize" });
    remote.send(&json!({ "jsonrpc": "2.0", "id": initialize["id"], "error": error }).to_string()).await;
    (remote, client, probe["id"].clone())
}

#[tokio::test(start_paused = true)]
async fn waits_for_a_late_discover_result_after_initialize_was_rejected() {
    let (mut remote, client, probe) = rejected_initialize().await;
    tokio::time::sleep(Duration::from_secs(29)).await;
    let capabilities = json!({ "tools": {} });
    let result = json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities });
    remote.send(&json!({ "jsonrpc": "2.0", "id": probe, "result": result }).to_string()).await;
    let client = client.await.expect("no panic").expect("a connection");
    assert_eq!(client.revision(), Revision::V2026_07_28);
    assert_eq!(
        client.peer().peer_info().map(|peer_info| peer_info.capabilities.clone()),
        JsonObject::try_from(&capabilities).ok()
    );
}

/// Handshakes that fail at `server/discover` report the server's response.
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
        let (mut remote, client) = client(local_info("client", revisions));
        for mut response in responses.clone() {
            let request = remote.receive().await;
            assert_eq!(request["method"], "server/discover", "{responses:?}");
            (response["jsonrpc"], response["id"]) = (json!("2.0"), request["id"].clone());
            remote.send(&response.to_string()).await;
        }
        let error = client.await.expect("no panic").expect_err("no revision in common");
        assert_eq!(error.to_string(), expected, "{responses:?}");
    }
    let (_remote, client) = client(LocalInfo::new("client", "1").retain_revisions(|_| false));
    let error = client.await.expect("no panic").expect_err("no revision").to_string();
    assert_eq!(error, "this client supports no revision; add one to `LocalInfo::revisions`");
}

#[tokio::test(start_paused = true)]
async fn reports_the_initialize_error_without_a_modern_discover_result() {
    let (mut remote, client, probe) = rejected_initialize().await;
    let error = json!({ "code": -32601, "message": "no discover" });
    remote.send(&json!({ "jsonrpc": "2.0", "id": probe, "error": error }).to_string()).await;
    let error = client.await.expect("no panic").expect_err("both requests are rejected");
    assert!(error.to_string().contains("no initialize"), "{error}");

    let (_remote, client, _) = rejected_initialize().await;
    let rejected_at = tokio::time::Instant::now();
    let error = client.await.expect("no panic").expect_err("initialize is rejected");
    assert!(error.to_string().contains("no initialize"), "{error}");
    assert!(rejected_at.elapsed() >= Duration::from_secs(30), "{:?}", rejected_at.elapsed());
}

/// Many programs take more than ten seconds for a cold start.
#[tokio::test(start_paused = true)]
async fn waits_thirty_seconds_for_discover_before_initialize() {
    let (mut remote, client) = client(local_info("client", "both"));
    let probe = remote.receive().await;
    tokio::time::advance(Duration::from_secs(29)).await;
    let result = json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} });
    remote.send(&json!({ "jsonrpc": "2.0", "id": probe["id"], "result": result }).to_string()).await;
    let client = client.await.expect("no panic").expect("a connection");
    let call = tokio::spawn(client.peer().raw_request("tools/list", None).send());
    assert_eq!(remote.receive().await["method"], "tools/list");
    call.abort();
}

/// Some servers do not repeat the ID of a request that they do not know.
#[tokio::test]
async fn falls_back_at_once_after_an_error_that_matches_no_request() {
    for id in [None, Some(json!(null)), Some(json!("1")), Some(json!(999)), Some(json!(""))] {
        let options = ConnectOptions::from(local_info("client", "both")).with_discover_timeout(Duration::MAX);
        let (mut remote, client) = client(options);
        assert_eq!(remote.receive().await["method"], "server/discover");
        let mut error = json!({ "jsonrpc": "2.0", "error": { "code": -32600, "message": "unknown" } });
        if let Some(id) = &id {
            error["id"] = id.clone();
        }
        remote.send(&error.to_string()).await;
        complete_handshake(&mut remote).await;
        let client = client.await.expect("no panic").expect("a connection");
        // Once the handshake is complete, such an error concerns no request.
        let call = tokio::spawn(client.peer().raw_request("ping", None).send());
        let ping = remote.receive().await;
        remote.send(&error.to_string()).await;
        remote.send(&json!({ "jsonrpc": "2.0", "id": ping["id"], "result": {} }).to_string()).await;
        call.await.expect("no panic").unwrap_or_else(|error| panic!("{id:?}: {error}"));
    }
}

#[tokio::test]
async fn uses_the_known_revision() {
    let known_options =
        |revision| ConnectOptions::from(local_info("client", "both")).with_known_revision(Some(revision));
    let (mut remote, legacy) = client(known_options(Revision::V2025_11_25));
    complete_handshake(&mut remote).await;
    assert_eq!(legacy.await.expect("no panic").expect("a connection").revision(), Revision::V2025_11_25);

    let (mut remote, modern) = client(known_options(Revision::V2026_07_28).with_check_known_revision(false));
    let modern = modern.await.expect("no panic").expect("a connection without a handshake");
    let call = tokio::spawn(modern.peer().raw_request("tools/list", None).send());
    assert_eq!(remote.receive().await["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    call.abort();

    // The known revision may be outdated. The client probes after any error.
    for (code, data) in [(-32022, json!({ "supported": ["2026-07-28"], "requested": "" })), (-32601, json!(null))] {
        let (mut remote, changed) = client(known_options(Revision::V2025_11_25));
        let initialize = remote.receive().await;
        let error = json!({ "code": code, "message": "no", "data": data });
        remote.send(&json!({ "jsonrpc": "2.0", "id": initialize["id"], "error": error }).to_string()).await;
        let probe = remote.receive().await;
        assert_eq!(probe["method"], "server/discover");
        let result = json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} });
        remote.send(&json!({ "jsonrpc": "2.0", "id": probe["id"], "result": result }).to_string()).await;
        assert_eq!(changed.await.expect("no panic").expect("a connection").revision(), Revision::V2026_07_28);
    }
    let (mut remote, changed) = client(known_options(Revision::V2026_07_28));
    let probe = remote.receive().await;
    assert_eq!(probe["method"], "server/discover");
    let error = json!({ "code": -32601, "message": "unknown" });
    remote.send(&json!({ "jsonrpc": "2.0", "id": probe["id"], "error": error }).to_string()).await;
    complete_handshake(&mut remote).await;
    assert_eq!(changed.await.expect("no panic").expect("a connection").revision(), Revision::V2025_11_25);
}

#[tokio::test]
async fn does_not_fall_back_after_a_disconnect() {
    let (mut remote, client) = client(local_info("client", "both"));
    remote.receive().await;
    drop(remote);
    let error = client.await.expect("no panic").expect_err("the connection is closed");
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

fn both() -> RawPeer {
    let handlers = router();
    let protocol = Arc::new(
        ServerConfig::from(local_info("server", "both"))
            .protocol(&handlers.handled(mcpgen_sdk::protocol::Role::Server)),
    );
    RawPeer::connect(|pipe| support::run(handlers, protocol, Limits::default(), pipe)).0
}

#[tokio::test]
async fn a_server_handles_legacy_and_modern_requests() {
    let mut remote = both();
    // Before the handshake, only modern requests and ping are accepted.
    assert_eq!(remote.request(&call(1, "a", None)).await["error"]["code"], -32602);
    assert_eq!(remote.request(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await["result"], json!({}));
    assert!(remote.request(&call(1, "a", Some(meta("m", &json!({}))))).await["result"]["resultType"].is_string());
    let response = remote.request(&initialize(1, "2025-06-18")).await;
    assert_eq!(response["result"]["protocolVersion"], "2025-06-18");
    assert!(response["result"].get("resultType").is_none(), "{response}");
    remote.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let legacy = remote.request(&call(1, "a", None)).await["result"].clone();
    assert!(legacy.get("resultType").is_none() && legacy.get("_meta").is_none(), "{legacy}");
    // Custom `_meta` does not make a request modern. The keys of the protocol do, even after the handshake.
    let progress =
        remote.request(&call(1, "a", Some(json!({ "progressToken": 1, "mine": {} })))).await["result"].clone();
    assert_eq!(progress, legacy);
    assert!(remote.request(&call(1, "a", Some(meta("m", &json!({}))))).await["result"]["resultType"].is_string());
    for key in ["io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/protocolVersion"] {
        let mut half = meta("m", &json!({}));
        half.as_object_mut().expect("an object").remove(key);
        assert_eq!(remote.request(&call(1, "a", Some(half))).await["error"]["code"], -32602, "without {key}");
    }
    let error =
        remote.request(&call(1, "a", Some(json!({ "io.modelcontextprotocol/protocolVersion": "2025-06-18" })))).await;
    let supported = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"];
    assert_eq!((&error["error"]["code"], &error["error"]["data"]["supported"]), (&json!(-32022), &json!(supported)));
    // The discover result lists the same revisions.
    let discover =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta("m", &json!({})) } });
    assert_eq!(remote.request(&discover.to_string()).await["result"]["supportedVersions"], json!(supported));
}

#[tokio::test]
async fn rejects_modern_requests_in_batches() {
    let mut remote = both();
    remote.request(&initialize(1, "2025-03-26")).await;
    remote.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let modern = call(2, "a", Some(meta("m", &json!({}))));
    let legacy = call(3, "a", None);
    let responses = remote.request(&format!("[{modern},{legacy}]")).await;
    let by = |id: usize| responses.as_array().expect("a batch").iter().find(|it| it["id"] == id).expect("a response");
    assert_eq!(by(2)["error"]["code"], -32600, "{responses}");
    assert!(by(3)["result"].is_object());
}

#[derive(Clone, Debug)]
enum TestRequest {
    Legacy(String),
    Modern { tool: String, name: String, capabilities: Value },
    Unsupported(String),
    Malformed,
    Discover(String),
}

fn request() -> impl Strategy<Value = TestRequest> {
    let capabilities = prop::collection::btree_map("[a-z]{1,3}", Just(json!({})), 0..3)
        .prop_map(|extensions| json!({ "extensions": extensions }));
    prop_oneof![
        4 => "[a-z]{1,9}".prop_map(TestRequest::Legacy),
        4 => ("[a-z]{1,9}", "[a-z]{1,9}", capabilities)
            .prop_map(|(tool, name, capabilities)| TestRequest::Modern { tool, name, capabilities }),
        1 => "20[0-9]{2}-01-01".prop_map(TestRequest::Unsupported),
        1 => Just(TestRequest::Malformed),
        1 => "[a-z]{1,9}".prop_map(TestRequest::Discover),
    ]
}

fn encode(id: usize, request: &TestRequest) -> String {
    match request {
        TestRequest::Legacy(tool) => call(id, tool, None),
        TestRequest::Modern { tool, name, capabilities } => call(id, tool, Some(meta(name, capabilities))),
        TestRequest::Unsupported(version) => {
            let mut meta = meta("m", &json!({}));
            meta["io.modelcontextprotocol/protocolVersion"] = json!(version);
            call(id, "a", Some(meta))
        }
        TestRequest::Malformed => {
            call(id, "a", Some(json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" })))
        }
        TestRequest::Discover(name) => {
            let params = json!({ "_meta": meta(name, &json!({})) });
            json!({ "jsonrpc": "2.0", "id": id, "method": "server/discover", "params": params }).to_string()
        }
    }
}

fn check(request: &TestRequest, revision: &str, response: &Value) {
    let reported = || -> Value {
        let text =
            response["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{request:?}: {response}"));
        serde_json::from_str(text).expect("JSON")
    };
    match request {
        TestRequest::Legacy(tool) => {
            let legacy = json!({ "name": "legacy", "version": "1" });
            assert_eq!(reported(), json!([revision, revision, { "sampling": {} }, legacy, tool]));
            assert!(response["result"].get("resultType").is_none());
        }
        TestRequest::Modern { tool, name, capabilities } => {
            let peer_info = json!({ "name": name, "version": "1" });
            assert_eq!(reported(), json!(["2026-07-28", "2026-07-28", capabilities, peer_info, tool]));
            assert_eq!(response["result"]["resultType"], "complete");
        }
        TestRequest::Unsupported(version) => {
            assert_eq!(response["error"]["code"], -32022, "{response}");
            assert_eq!(response["error"]["data"]["requested"], *version);
        }
        TestRequest::Malformed => assert_eq!(response["error"]["code"], -32602, "{response}"),
        TestRequest::Discover(_) => assert_eq!(response["result"]["supportedVersions"][0], "2026-07-28"),
    }
}

#[test]
fn each_request_keeps_its_own_version_and_capabilities() {
    let config = ProptestConfig { cases: 12, max_shrink_iters: 200, ..ProptestConfig::default() };
    let revisions = prop_oneof![Just("2025-03-26"), Just("2025-06-18"), Just("2025-11-25")];
    let messages = prop::collection::vec(request(), 1000..2000);
    let result = TestRunner::new(config).run(&(messages, revisions), |(messages, revision)| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(exchange(&messages, revision));
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

/// Sends all requests on one connection without waiting for responses, and checks each response.
async fn exchange(messages: &[TestRequest], revision: &str) {
    let mut remote = both();
    remote.request(&initialize("init", revision)).await;
    remote.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let (mut reader, mut writer) = remote.split();
    let all = messages.to_vec();
    let sending = tokio::spawn(async move {
        for (id, request) in all.iter().enumerate() {
            writer.send(&encode(id, request)).await;
        }
        writer
    });
    let mut received = vec![false; messages.len()];
    for _ in messages {
        let response = reader.receive().await;
        let id = usize::try_from(response["id"].as_u64().expect("an ID")).expect("small");
        assert!(!std::mem::replace(&mut received[id], true), "each request has one response");
        check(&messages[id], revision, &response);
    }
    sending.await.expect("all messages are sent");
}
