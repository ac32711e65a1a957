//! The crate's transports: how they frame messages, and identify those that are too long.

use std::io;

use bytes::Bytes;
use futures_util::{FutureExt, SinkExt, StreamExt, stream};
use mcpgen_runtime::jsonrpc::envelope::{Envelope, Frame, scan};
use mcpgen_runtime::transport::{Inbound, Incoming, ReceiveError, Skipped, content_length, lines};
use mcpgen_types::{ErrorId, RequestId};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_util::io::StreamReader;

/// Receives bytes that arrive in pieces of this size.
async fn received<I: Incoming>(bytes: &[u8], piece: usize, receive: impl FnOnce(DuplexStream) -> I) -> Vec<String> {
    let (mut writer, reader) = tokio::io::duplex(piece);
    let bytes = bytes.to_vec();
    // Writing fails once the reader has stopped at an error.
    tokio::spawn(async move { writer.write_all(&bytes).await });
    let describe = |item: Result<Inbound, ReceiveError>| match item {
        Ok(message) => String::from_utf8(message.into_bytes().expect("not parsed")).expect("text"),
        Err(error) => error.to_string().split(';').next().unwrap_or_default().to_owned(),
    };
    receive(reader).map(describe).collect().await
}

#[tokio::test]
async fn reads_one_message_per_line_in_any_chunking() {
    let table: &[(&str, &[&str])] = &[
        ("a\nb\n", &["a", "b"]),
        ("a\r\nb\r\n", &["a", "b"]),
        ("\n\r\n  \na\n\n", &["a"]),
        ("\u{feff}a\nb", &["a", "b"]),
        ("\u{feff}", &[]),
        ("", &[]),
        ("a", &["a"]),
        ("12345678\na\n", &["12345678", "a"]),
        ("123456789\na\n", &["a message is longer than 8 bytes", "a"]),
        (
            "a\n123456789012345678901234567890\nb\n123456789",
            &["a", "a message is longer than 8 bytes", "b", "a message is longer than 8 bytes"],
        ),
        ("{\"a\": 123456789}\nb\n", &["a message is longer than 8 bytes", "b"]),
        (
            "{\"a\": 123456789\nb\n{\"a\": 12345",
            &["a message is longer than 8 bytes", "b", "a message is longer than 8 bytes"],
        ),
    ];
    for (bytes, expected) in table {
        for piece in [1, 2, 3, 7, 100] {
            assert_eq!(
                received(bytes.as_bytes(), piece, |reader| lines::receive(reader, 8)).await,
                *expected,
                "{bytes:?} in pieces of {piece}"
            );
        }
    }
}

#[tokio::test]
async fn reads_messages_with_headers_in_any_chunking() {
    let long = format!("X: {}\r\nContent-Length: 1\r\n\r\na", "x".repeat(4096));
    let table: &[(&str, &[&str])] = &[
        ("", &[]),
        ("Content-Length: 1\r\n\r\naContent-Length: 2\r\n\r\nb\n", &["a", "b\n"]),
        ("content-length:0001\r\nContent-Type: a; charset=utf-8\r\n\r\na", &["a"]),
        ("Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\na", &["", "a"]),
        ("Content-Length: 9\r\n\r\n123456789Content-Length: 1\r\n\r\na", &["a message is longer than 8 bytes", "a"]),
        ("Content-Length: 2\r\n\r\na", &["unexpected end of file"]),
        ("Content-Length: 12\r\n\r\n123456789", &["unexpected end of file"]),
        ("Content-Len", &["unexpected end of file"]),
        ("Content-Length: 1\n\na", &["unexpected end of file"]),
        ("Content-Length: -1\r\n\r\na", &["\"-1\" is not a valid Content-Length"]),
        ("Content-Length: +1\r\n\r\na", &["\"+1\" is not a valid Content-Length"]),
        ("Length: 1\r\n\r\na", &["the header of a message has no Content-Length"]),
        (
            "Content-Length: 1\r\nContent-Length: 2\r\n\r\na",
            &["the header of a message has more than one Content-Length"],
        ),
        (&long, &["the header of a message is longer than 4096 bytes"]),
    ];
    for (bytes, expected) in table {
        for piece in [1, 2, 3, 7, 100, 10_000] {
            assert_eq!(
                received(bytes.as_bytes(), piece, |reader| content_length::receive(reader, 8)).await,
                *expected,
                "{bytes:.80?} in pieces of {piece}"
            );
        }
    }
}

/// A message that is too long is skipped, and refused with its ID.
#[tokio::test]
async fn names_a_request_that_is_too_long() {
    let bytes = b"Content-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"read\"}";
    let received: Vec<_> = content_length::receive(&bytes[..], 8).collect().await;
    let is_request = |message: &Result<Inbound, ReceiveError>| {
        matches!(message, Err(ReceiveError::TooLong { message: Skipped::Request(id), .. })
            if *id == RequestId::Integer(7))
    };
    assert!(received.len() == 1 && received.iter().all(is_request), "{received:?}");
}

#[tokio::test]
async fn writes_messages_after_their_headers() {
    let (writer, mut reader) = tokio::io::duplex(100);
    let mut outgoing = std::pin::pin!(content_length::send(writer));
    for message in ["{}", "", "[ä]"] {
        outgoing.send(message.as_bytes().to_vec().into()).await.expect("an open reader");
    }
    outgoing.close().await.expect("an open reader");
    let mut written = String::new();
    reader.read_to_string(&mut written).await.expect("text");
    assert_eq!(written, "Content-Length: 2\r\n\r\n{}Content-Length: 4\r\n\r\n[ä]");
}

/// Identifies a line that is too long and arrives in pieces of these lengths, followed by the rest.
fn skipped(mut bytes: &[u8], pieces: &[usize]) -> Skipped {
    let mut chunks = Vec::new();
    for piece in pieces {
        let (first, rest) = bytes.split_at((*piece).min(bytes.len()));
        chunks.push(first.to_vec());
        bytes = rest;
    }
    chunks.push(bytes.to_vec());
    let chunks = chunks.into_iter().filter(|chunk| !chunk.is_empty()).map(|chunk| io::Result::Ok(Bytes::from(chunk)));
    let reader = StreamReader::new(stream::iter(chunks.collect::<Vec<_>>()));
    let first = lines::receive(reader, 0).into_future().now_or_never();
    match first.and_then(|(message, _)| message) {
        Some(Err(ReceiveError::TooLong { message, .. })) => message,
        // No line contains any text.
        other => {
            assert!(other.is_none(), "{other:?}");
            Skipped::Unknown
        }
    }
}

/// Identifies the whole message with the envelope reader.
fn read(text: &str) -> Skipped {
    let Ok(document) = scan(text) else { return Skipped::Unknown };
    match Envelope::read(&document) {
        Ok(Envelope::Request { id, .. }) => Skipped::Request(id),
        Ok(Envelope::Notification { .. }) => Skipped::Notification,
        Ok(Envelope::Response { id, .. } | Envelope::Error { id: ErrorId::Id(id), .. }) => Skipped::Response(id),
        Ok(Envelope::Error { .. }) | Err(_) => Skipped::Unknown,
    }
}

#[test]
fn identifies_messages_like_the_envelope_reader() {
    let long_id = format!(r#"{{"jsonrpc":"2.0","method":"m","id":"{}"}}"#, "i".repeat(1022));
    let messages = [
        r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#,
        r#" { "jsonrpc" : "2.0" , "\u0069d" : "a\"b\\" , "m\u0065thod" : "m" , "params" : [ { "id" : 2 } ] } "#,
        r#"{"jsonrpc":"2.0","method":"m","params":{"id":1,"result":{}}}"#,
        r#"{"jsonrpc":"2.0","result":{"id":2,"method":"m"},"id":-9223372036854775808}"#,
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":"}"},"id":"x"}"#,
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":""},"id":null}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":{"a":1},"result":1}"#,
        r#"{"jsonrpc":"2.0"}"#,
        "{}",
        "[]",
        "1",
        &long_id,
    ];
    for text in messages {
        for piece in 1..5 {
            assert_eq!(skipped(text.as_bytes(), &vec![piece; text.len()]), read(text), "{text} in {piece}s");
        }
    }
}

#[test]
fn does_not_identify_broken_messages_or_huge_ids() {
    let huge_id = format!(r#"{{"method":"m","id":"{}"}}"#, "i".repeat(1024));
    let long_key = format!(r#"{{"method{}":"m"}}"#, " ".repeat(64));
    let broken = [r#"{"method":"m""#, r#"{"method":"m"}}"#, r#"{"method":"m"]"#, "{method:1}", "", &huge_id, &long_key];
    for text in broken {
        assert_eq!(skipped(text.as_bytes(), &[]), Skipped::Unknown, "{text}");
    }
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~äß\"\\\\{}:,]{0,9}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inside| {
        let key = prop_oneof![Just("id".to_owned()), Just("method".to_owned()), "[a-c\"\\\\{}:, ]{0,3}"];
        prop_oneof![
            prop::collection::vec(inside.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inside, 0..4).prop_map(|members| json!(members)),
        ]
    })
}

/// Generates the members that identify a message, and some others, in any order.
fn members() -> impl Strategy<Value = Vec<(String, Value)>> {
    let id = prop_oneof![any::<i64>().prop_map(Value::from), ".{0,6}".prop_map(Value::from)];
    let id = prop_oneof![4 => id.prop_map(|id| vec![("id", id)]), 1 => Just(vec![])];
    let kind = prop_oneof![
        "[a-z/\"]{0,6}".prop_map(|method| ("method", json!(method))),
        json().prop_map(|result| ("result", result)),
        json().prop_map(|data| ("error", json!({ "code": 1, "message": "", "data": data }))),
    ];
    let others = prop::collection::btree_map("[a-d\"\\\\]{1,3}", json(), 0..4);
    let members = (id, kind, others).prop_map(|(id, kind, others)| {
        let known = id.into_iter().chain([kind, ("jsonrpc", json!("2.0"))]);
        known.map(|(name, value)| (name.to_owned(), value)).chain(others).collect::<Vec<_>>()
    });
    members.prop_shuffle()
}

/// Formats a message, with or without white space and escapes.
fn written(members: &[(String, Value)], spaced: bool, escaped: bool) -> String {
    let space = if spaced { " \t" } else { "" };
    let member = |(name, value): &(String, Value)| {
        let value = if spaced {
            serde_json::to_string_pretty(value).map(|text| text.replace('\n', " "))
        } else {
            serde_json::to_string(value)
        };
        format!("{space}{}{space}:{space}{}{space}", Value::from(name.as_str()), value.expect("JSON"))
    };
    let text = format!("{space}{{{}}}{space}", members.iter().map(member).collect::<Vec<_>>().join(","));
    if escaped { text.replace("\"id\"", "\"i\\u0064\"").replace("\"result\"", "\"\\u0072esult\"") } else { text }
}

proptest! {
    #[test]
    fn identifies_any_message_in_any_pieces(
        members in members(), spaced in any::<bool>(), escaped in any::<bool>(),
        pieces in prop::collection::vec(0..20_usize, 0..40),
    ) {
        let text = written(&members, spaced, escaped);
        prop_assert_eq!(skipped(text.as_bytes(), &pieces), read(&text), "{}", text);
    }

    #[test]
    fn reads_arbitrary_bytes(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'"'), Just(b'{'), Just(b'\\'), Just(b':')], 0..60),
        pieces in prop::collection::vec(0..9_usize, 0..20),
    ) {
        skipped(&bytes, &pieces);
    }
}

#[test]
fn classifies_messages_and_keeps_what_it_has_parsed() {
    let table: &[(&[u8], &str)] = &[
        (br#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, "one request"),
        (br#"{"jsonrpc":"2.0","method":"a"}"#, "one"),
        (br#" [{"jsonrpc":"2.0","method":"a"}]"#, "batch"),
        (b"{}", "error -32600"),
        (b"{", "error -32700"),
        (b"\xff", "error -32700"),
    ];
    for (bytes, expected) in table {
        let mut message = Inbound::new(bytes.to_vec());
        assert_eq!((message.size(), message.is_batch()), (bytes.len(), *expected == "batch"));
        assert_eq!(message.clone().into_bytes().expect("not parsed"), *bytes);
        // The second time, the message is already parsed.
        for _ in 0..2 {
            let found = match message.frame() {
                Ok(Frame::One(envelope)) if envelope.is_request() => "one request".to_owned(),
                Ok(Frame::One(_)) => "one".to_owned(),
                Ok(Frame::Batch(_)) => "batch".to_owned(),
                Err(invalid) => format!("error {}", invalid.error.code.0),
            };
            assert_eq!(found, *expected);
        }
    }
}
