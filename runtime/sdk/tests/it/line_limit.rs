//! Lines that exceed the limit of a transport. Each fails its own request, and the connection continues.

use std::sync::Arc;

use mcpgen_sdk::connection::Connection;
use mcpgen_sdk::peer::{CallError, Peer};
use mcpgen_sdk::protocol::{FixedRevision, Mcp};
use mcpgen_sdk::router::Router;
use mcpgen_sdk::transport::lines;
use mcpgen_types::{ErrorObject, Revision};
use serde_json::{Value, json};

use crate::support::RawPeer;

/// The maximum length of a line in bytes.
const LIMIT: usize = 200;

fn connect() -> (RawPeer, Peer) {
    let (here, there) = tokio::io::duplex(64);
    let handlers = Router::new().custom_request("echo", |_, params: Value| async move { Ok::<_, ErrorObject>(params) });
    let protocol = Arc::new(FixedRevision(Revision::V2025_11_25));
    let connection = Connection::new(handlers, Mcp::new(protocol));
    let peer = connection.peer().clone();
    let (reader, writer) = tokio::io::split(there);
    tokio::spawn(connection.run(lines::receive(reader, LIMIT), lines::send(writer)));
    (RawPeer::new(here), peer)
}

fn long() -> String {
    "x\\\"}".repeat(LIMIT)
}

/// Checks that the connection still responds and has sent no other message.
async fn assert_next_message_is_an_echo(remote: &mut RawPeer) {
    let echo = json!({ "jsonrpc": "2.0", "id": "after", "method": "echo", "params": { "a": 1 } }).to_string();
    assert_eq!(remote.request(&echo).await, json!({ "jsonrpc": "2.0", "id": "after", "result": { "a": 1 } }));
}

#[tokio::test(start_paused = true)]
async fn fails_a_call_whose_response_exceeds_the_limit() {
    let members = [
        r#""jsonrpc":"2.0","id":ID,"result":{"id":7,"text":"LONG"}"#,
        r#""result":{"text":"LONG","method":"no"},"jsonrpc":"2.0","id":ID"#,
        r#""jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"LONG"}"#,
        r#""error":{"code":1,"message":"LONG"},"jsonrpc":"2.0","id" : ID "#,
    ];
    for members in members {
        let (mut remote, peer) = connect();
        let call = tokio::spawn(peer.raw_request("query", None).send());
        let id = remote.receive().await["id"].to_string();
        remote.send(&format!("{{{}}}", members.replace("ID", &id).replace("LONG", &long()))).await;
        let error = call.await.expect("no panic").expect_err("the response is skipped");
        assert!(matches!(error, CallError::Undelivered(_)), "{members}: {error:?}");
        assert_eq!(
            error.to_string(),
            "the response is longer than 200 bytes; raise the transport's limit",
            "{members}"
        );
        assert_next_message_is_an_echo(&mut remote).await;
    }
}

/// The error does not wait for the end of the line.
#[tokio::test(start_paused = true)]
async fn fails_the_call_before_the_line_ends_once_its_id_is_known() {
    let (mut remote, peer) = connect();
    let call = tokio::spawn(peer.raw_request("query", None).send());
    let id = remote.receive().await["id"].to_string();
    remote.write(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":"{}"#, long())).await;
    let error = call.await.expect("no panic").expect_err("the response is skipped");
    assert!(matches!(error, CallError::Undelivered(_)), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn rejects_an_overlong_request_with_its_id() {
    let (mut remote, _peer) = connect();
    for id in [json!(5), json!("five"), json!("f\"\u{e9}")] {
        for members in
            [r#""id":ID,"method":"echo","params":{"x":"LONG"}"#, r#""params":["LONG"],"method":"echo","id":ID"#]
        {
            let members = members.replace("ID", &id.to_string()).replace("LONG", &long());
            let response = remote.request(&format!(r#"{{"jsonrpc":"2.0",{members}}}"#)).await;
            assert_eq!((&response["id"], &response["error"]["code"]), (&id, &json!(-32600)), "{response}");
            assert_eq!(response["error"]["message"], "the request is longer than 200 bytes");
            assert_next_message_is_an_echo(&mut remote).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn drops_an_overlong_notification_without_a_response() {
    let (mut remote, _peer) = connect();
    remote.send(&format!(r#"{{"jsonrpc":"2.0","method":"notify","params":{{"x":"{}"}}}}"#, long())).await;
    assert_next_message_is_an_echo(&mut remote).await;
}

#[tokio::test(start_paused = true)]
async fn rejects_other_overlong_lines_without_an_id() {
    let (mut remote, _peer) = connect();
    let id = "9".repeat(LIMIT * 10);
    for line in [long(), format!("[{}", long()), format!(r#"{{"method":"echo","id":"{id}"}}"#)] {
        let response = remote.request(&line).await;
        assert_eq!((&response["id"], &response["error"]["code"]), (&Value::Null, &json!(-32600)), "{response}");
        assert_next_message_is_an_echo(&mut remote).await;
    }
}
