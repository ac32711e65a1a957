//! HTTP responses that do not contain the response to the request, and servers that are busy.
#![cfg(feature = "http-client")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::response::Response;
use http::HeaderValue;
use http::header::CONTENT_ENCODING;
use mcpgen_sdk::http::client::{ClientOptions, ConnectHttp, HttpError};
use mcpgen_sdk::peer::CallError;
use mcpgen_sdk::{Client, LocalInfo};
use mcpgen_types::{JsonObject, Revision};
use serde_json::{Value, json};

use crate::support::sessions::{Received, Sessions, respond};

const JSON: &str = "application/json";
const STREAM: &str = "text/event-stream";

/// Calls a tool of a server that responds to calls with a function. The outcome must come at once.
async fn call<F>(revision: Revision, options: ClientOptions, respond: F) -> Result<(), CallError>
where
    F: Fn(&Value) -> Response + Clone + Send + Sync + 'static,
{
    let server = Sessions::start(move |received| {
        let respond = respond.clone();
        async move { answer(&received, &respond) }
    });
    let server = server.await;
    let builder = Client::builder("client", "1").options(|options| {
        let ours = std::mem::replace(&mut options.local_info, LocalInfo::new("", ""));
        options.local_info = ours.retain_revisions(|known| known == revision);
    });
    let client = builder.connect_http(&server.url, options).await.expect("a server");
    let called = tokio::time::timeout(Duration::from_secs(10), client.call_tool("a", JsonObject::new()));
    called.await.expect("an outcome at once").map(drop)
}

fn answer(received: &Received, respond_to_call: impl Fn(&Value) -> Response) -> Option<Response> {
    let message = &received.message;
    match received.kind.as_str() {
        "POST tools/call" => Some(respond_to_call(message)),
        "POST server/discover" => {
            let result = json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
                "serverInfo": { "name": "s", "version": "1" }, "ttlMs": 0, "cacheScope": "private",
            });
            Some(respond(200, JSON, &json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string()))
        }
        "POST initialize" => {
            let result = json!({
                "protocolVersion": message["params"]["protocolVersion"], "capabilities": { "tools": {} },
                "serverInfo": { "name": "s", "version": "1" },
            });
            Some(respond(200, JSON, &json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string()))
        }
        _ => None,
    }
}

/// The content type and body of a response with status 200, and a part of the error's message. `ID` stands for the ID
/// of the request, and `QUOTED` for the body.
const ANSWERS: &[(&str, &str, &str)] = &[
    // An error without an ID belongs to the request.
    (JSON, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"boom"}}"#, "boom (-32603)"),
    (JSON, r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"boom"}}"#, "boom (-32603)"),
    (
        STREAM,
        "data: {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":\"boom\"}}\n\n",
        "boom (-32603)",
    ),
    // The response to another request, even if it looks similar.
    (
        JSON,
        r#"{"jsonrpc":"2.0","id":77,"error":{"code":-1,"message":"boom"}}"#,
        "its `id` is 77, and that of the request is ID: QUOTED",
    ),
    (
        JSON,
        r#"{"jsonrpc":"2.0","id":"ID","error":{"code":-1,"message":"boom"}}"#,
        "its `id` is \"ID\", and that of the request is ID: QUOTED",
    ),
    (
        JSON,
        r#"{"jsonrpc":"2.0","id":"ID","result":{"content":[]}}"#,
        "its `id` is \"ID\", and that of the request is ID: QUOTED",
    ),
    (
        JSON,
        r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"boom"}}"#,
        "its `id` is \"server-error\"",
    ),
    // Other messages.
    (
        JSON,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#,
        "it is a notification: QUOTED",
    ),
    (JSON, r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#, "it is a request: QUOTED"),
    (
        JSON,
        r#"[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}]"#,
        "it is a batch without the response: QUOTED",
    ),
    // No message.
    (JSON, r#"{"error":"Session not found"}"#, ": QUOTED"),
    (JSON, r#"{"jsonrpc":"2.0","id":"#, ": QUOTED"),
    (JSON, "", ": the body is empty"),
    (JSON, " \n", ": the body is empty"),
    (JSON, "null", ": QUOTED"),
    (JSON, "[]", ": QUOTED"),
    (JSON, "{}", ": QUOTED"),
    (JSON, "7", ": QUOTED"),
    (JSON, "<html>", ": QUOTED"),
    (
        JSON,
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[]}}",
        "it begins with a byte order mark: QUOTED",
    ),
    // A stream that ends.
    (
        STREAM,
        "event: message\ndata: {\"error\":\"Session not found\"}\n\n",
        "; its last event was: {\"error\":\"Session not found\"}",
    ),
    (STREAM, "event: error\ndata: the session\ndata: is gone\n\n", "; its last event was: the session is gone"),
    (STREAM, "data: a\n\ndata:\n\n: b\n\n", "; its last event was: a"),
    (STREAM, "", "the stream ended before the response arrived"),
];

#[tokio::test]
async fn fails_at_once_if_a_body_is_not_the_response() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        for (kind, body, expected) in ANSWERS {
            let id = Arc::new(Mutex::new(String::new()));
            let seen = Arc::clone(&id);
            let respond = move |message: &Value| {
                *seen.lock().expect("no panic") = message["id"].to_string();
                respond(200, kind, &body.replace("ID", &message["id"].to_string()))
            };
            let error = call(revision, ClientOptions::default(), respond).await.expect_err(body).to_string();
            let id = id.lock().expect("no panic").clone();
            let expected = expected.replace("QUOTED", body).replace("ID", &id);
            assert!(error.contains(&expected), "{revision} {body:?}: {error:?} instead of {expected:?}");
        }
    }
}

/// Covers bodies that are compressed or not UTF-8.
#[tokio::test]
async fn fails_at_once_if_a_body_is_no_text() {
    let utf_16: Vec<u8> = "{\"jsonrpc\":\"2.0\"}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let table: [(&str, Option<&str>, &[u8], &str); 5] = [
        (JSON, Some("gzip"), b"\x1f\x8b\x08\x00", "it has the encoding \"gzip\", which the client does not accept: "),
        (STREAM, Some("br"), b"data: x\n\n", "it has the encoding \"br\""),
        (JSON, None, b"{\"jsonrpc\":\"2.0\",\"result\":{\"a\":\"\xfc\"}}", "UTF-8"),
        (JSON, None, &utf_16, ": "),
        (JSON, None, b"\x1f\x8b\x08\x00", ": "),
    ];
    for (kind, encoding, body, expected) in table {
        let body = body.to_vec();
        let respond = move |_: &Value| {
            let mut response = Response::new(Body::from(body.clone()));
            response.headers_mut().insert("content-type", HeaderValue::from_static(kind));
            let encoding = encoding.map(HeaderValue::from_static);
            response.headers_mut().extend(encoding.map(|encoding| (CONTENT_ENCODING, encoding)));
            response
        };
        let error = call(Revision::V2025_11_25, ClientOptions::default(), respond).await.expect_err(expected);
        let CallError::Undelivered(why) = &error else { panic!("{error}") };
        assert!(matches!(why.error.downcast_ref(), Some(HttpError::NotTheResponse { .. })), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// Revision 2025-03-26 has batches, so the response may be in one.
#[tokio::test]
async fn accepts_a_batch_with_the_response() {
    let respond = |message: &Value| {
        let response = json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "content": [] } });
        respond(200, JSON, &json!([{ "jsonrpc": "2.0", "method": "notifications/x" }, response]).to_string())
    };
    let called = call(Revision::V2025_03_26, ClientOptions::default(), respond).await;
    assert!(called.is_ok(), "{called:?}");
}

#[tokio::test]
async fn shows_the_message_of_a_json_rpc_error_in_an_error_body() {
    for (status, body, expected) in [
        (
            500,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"out of\norder"}}"#,
            "500 Internal Server Error: out of order",
        ),
        (502, r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"no upstream"}}"#, "502 Bad Gateway: no upstream"),
        (
            400,
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"boom"}}"#,
            "400 Bad Request: boom",
        ),
        (
            500,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"500 Internal Server Error: {"jsonrpc":"2.0","id":1,"result":{}}"#,
        ),
        (500, r#"{"error":"no"}"#, r#"500 Internal Server Error: {"error":"no"}"#),
    ] {
        let respond = move |_: &Value| respond(status, JSON, body);
        let error = call(Revision::V2025_11_25, ClientOptions::default(), respond).await.expect_err(body).to_string();
        assert!(error.ends_with(&format!("the server responded with {expected}")), "{error:?} instead of {expected:?}");
    }
}

#[tokio::test]
async fn tries_again_if_the_server_is_busy() {
    let date = "Thu, 01 Jan 1970 00:00:00 GMT";
    // `Retry-After`, the number of 503 responses, whether the call succeeds, and the number of attempts.
    let table: [(Option<&str>, usize, bool, usize); 8] = [
        (Some("0"), 1, true, 2),
        (Some("0"), 2, true, 3),
        (Some("1"), 1, true, 2),
        (Some(date), 1, true, 2),
        (Some("0"), usize::MAX, false, 3),
        (Some("3600"), 1, false, 1),
        (Some("soon"), 1, false, 1),
        (None, 1, false, 1),
    ];
    for (retry_after, busy, is_ok, attempts) in table {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let options = ClientOptions::default().with_max_retries(2);
        let start = Instant::now();
        let respond = move |message: &Value| {
            if counted.fetch_add(1, Ordering::SeqCst) >= busy {
                let response = json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "content": [] } });
                return respond(200, JSON, &response.to_string());
            }
            let mut response = respond(503, JSON, r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"busy"}}"#);
            let value = retry_after.map(|value| value.trim().parse().expect("a value"));
            response.headers_mut().extend(value.map(|value| (http::header::RETRY_AFTER, value)));
            response
        };
        let called = call(Revision::V2025_11_25, options, respond).await.map_err(|error| error.to_string());
        let what = format!("{retry_after:?} {busy}: {called:?}");
        assert_eq!((called.is_ok(), count.load(Ordering::SeqCst)), (is_ok, attempts), "{what}");
        if let Err(error) = called {
            assert!(error.ends_with("503 Service Unavailable: busy"), "{what}");
        }
        assert!(retry_after != Some(" 1 ") || start.elapsed() >= Duration::from_secs(1), "{what}");
    }
}
