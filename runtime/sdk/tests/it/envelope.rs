//! Classification of incoming messages.

use mcpgen_sdk::jsonrpc::envelope::{Envelope, Frame, Invalid, scan, scan_bytes};

/// Describes a frame: the kind, ID, method and raw member of each message, or the ID and code of an error.
fn read(bytes: &[u8]) -> String {
    let describe_error =
        |invalid: Invalid| format!("{:?} {}: {}", invalid.id, invalid.error.code, invalid.error.message);
    let document = match scan_bytes(bytes) {
        Ok(document) => document,
        Err(invalid) => return describe_error(invalid),
    };
    match Frame::read(&document) {
        Ok(Frame::One(envelope)) => describe(&envelope),
        Ok(Frame::Batch(messages)) => {
            let each = messages.iter().map(|message| match message {
                Ok(envelope) => describe(envelope),
                Err(invalid) => format!("{:?} {}", invalid.id, invalid.error.code),
            });
            format!("[{}]", each.collect::<Vec<_>>().join("; "))
        }
        Err(invalid) => describe_error(invalid),
    }
}

fn describe(envelope: &Envelope<'_>) -> String {
    match envelope {
        Envelope::Request { id, method, params } => format!("request {id} {method} {params:?}"),
        Envelope::Notification { method, params } => format!("notification {method} {params:?}"),
        Envelope::Response { id, result } => format!("response {id} {}", result.text()),
        Envelope::Error { id, error } => format!("error {id:?} {error}"),
    }
}

#[test]
fn classifies_messages() {
    let table = [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request 1 ping None"),
        (r#"{"id":"a","params":{"x":1},"jsonrpc":"2.0","method":"m"}"#, r#"request a m Some(Cursor({"x":1}))"#),
        (r#"{"jsonrpc":"2.0","id":1.0,"method":"m","params":null}"#, "request 1 m Some(Cursor(null))"),
        (r#"{"jsonrpc":"2.0","method":"a/b","more":[{}]}"#, "notification a/b None"),
        (r#"{"json\u0072pc":"2.\u0030","method":"a\/b"}"#, "notification a/b None"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{"x":1}}"#, r#"response 1 {"x":1}"#),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#, "error Id(Integer(1)) no (-1)"),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}"#, "error Null no (-1)"),
        (r#"{"jsonrpc":"2.0","error":{"code":-1,"message":"no"}}"#, "error Absent no (-1)"),
        (" {\"jsonrpc\":\"2.0\",\r\n\"method\":\"m\"}\r", "notification m None"),
    ];
    for (text, expected) in table {
        assert_eq!(read(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn rejects_invalid_messages_with_their_id() {
    let table: &[(&str, &str)] = &[
        // The error for an invalid response has no ID, because the ID of the response is that of our own request.
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#, "Null -32600"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#, "Id(Integer(1)) -32600"),
        (r#"{"jsonrpc":"1.0","id":"a","method":"m"}"#, "Id(String(\"a\")) -32600"),
        (r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#, "Id(Integer(1)) -32600"),
        (r#"{"id":1,"method":"m"}"#, "Id(Integer(1)) -32600"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, "Null -32600"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, "Null -32600"),
        (r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, "Null -32600"),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, "Id(Integer(1)) -32600"),
        (r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}"#, "Id(Integer(1)) -32600"),
        (r#"{"jsonrpc":"2.0","result":{}}"#, "Null -32600"),
        (r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#, "Null -32600"),
        (r#"{"jsonrpc":"2.0","id":1}"#, "Id(Integer(1)) -32600"),
        ("{}", "Null -32600"),
        ("5", "Null -32600"),
        ("null", "Null -32600"),
        ("[]", "Null -32600"),
        ("", "Null -32700"),
        ("{", "Null -32700"),
        ("[1,", "Null -32700"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m"} x"#, "Null -32700"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":}}"#, "Null -32700"),
    ];
    for (text, expected) in table {
        let found = read(text.as_bytes());
        assert!(found.starts_with(&format!("{expected}: ")), "{text}: {found}");
    }
    assert!(
        read(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}")
            .starts_with("Null -32700: not JSON: invalid UTF-8 after byte 27")
    );
}

#[test]
fn reads_each_message_of_a_batch() {
    let text = r#" [{"jsonrpc":"2.0","id":1,"method":"m"}, 5, {"jsonrpc":"2.0","method":"n"}, [], {"id":2}]"#;
    let expected = "[request 1 m None; Null -32600; notification n None; Null -32600; Id(Integer(2)) -32600]";
    assert_eq!(read(text.as_bytes()), expected);
}

#[test]
fn reads_the_kind_and_method_of_a_message() {
    let text = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let document = scan(text).expect("JSON");
    let notification = Envelope::read(&document).expect("a notification");
    assert_eq!(notification.method(), Some("notifications/tools/list_changed"));
    assert_eq!(notification.namespace(), Some("notifications/tools"));
    assert!(notification.is_notification() && !notification.is_request() && !notification.is_response());
    let document = scan(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).expect("JSON");
    let ping = Envelope::read(&document).expect("a request");
    assert_eq!(ping.namespace(), None);
    assert!(ping.is_request());
    let document = scan(r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#).expect("JSON");
    let error = Envelope::read(&document).expect("an error");
    assert!(error.has_error() && error.is_response());
}

/// Skips members that are not read, however deep or large they are.
#[test]
fn skips_members_that_are_not_read() {
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    for name in ["params", "more"] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"{name}":{deep},"method":"m"}}"#);
        let document = scan(text).expect("JSON");
        assert!(Envelope::read(&document).is_ok_and(|envelope| envelope.is_request()));
    }
    let text = format!(r#"{{"jsonrpc":"2.0","id":{deep},"method":"m"}}"#);
    assert!(Envelope::read(&scan(text).expect("JSON")).is_err());
}

#[test]
fn limits_the_length_of_batches() {
    let text = |count: usize| format!("[{}]", vec!["1"; count].join(","));
    assert_eq!(read(text(1000).as_bytes()).matches("-32600").count(), 1000);
    assert!(read(text(1001).as_bytes()).contains("the batch has more than 1000 messages"));
    assert!(read(text(5_000_000).as_bytes()).contains("the batch has more than 1000 messages"));
}
