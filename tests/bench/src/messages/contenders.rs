//! The decoders and encoders to compare, for each kind of message.

use std::hint::black_box;

use mcpgen_types::Request;
use mcpgen_types::codec::{Decode, Encode};
use mcpgen_types::v2025_11_25 as ours;
use rust_mcp_schema::mcp_2025_11_25::schema_utils as schema;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::corpus::Kind;
use super::hand;
use crate::report::OURS;

pub struct Work {
    pub name: &'static str,
    pub decode: fn(&[u8]),
    /// Returns an encoder of the message in this text, or `None` if the contender has no types.
    pub encode: fn(&str) -> Option<Encoder>,
}

/// Encodes the same message at each call.
pub type Encoder = Box<dyn FnMut()>;

/// Returns all contenders. Each of them must be able to decode the corpus.
pub fn contenders(kind: Kind) -> Vec<Work> {
    let (decode, encode) = by_hand(kind);
    let by_hand = Work { name: "by hand", decode, encode };
    let (decode, encode) = mcpgen(kind);
    let mcpgen = Work { name: OURS, decode, encode };
    let client = matches!(kind, Kind::Initialize | Kind::ListTools | Kind::CallTool | Kind::Ping | Kind::Progress);
    let (rmcp, schema) = if client {
        (
            serde_work::<rmcp::model::ClientJsonRpcMessage>("rmcp"),
            serde_work::<schema::ClientMessage>("rust-mcp-schema"),
        )
    } else {
        (
            serde_work::<rmcp::model::ServerJsonRpcMessage>("rmcp"),
            serde_work::<schema::ServerMessage>("rust-mcp-schema"),
        )
    };
    let decoder = |name, decode| Work { name, decode, encode: |_| None };
    let scan = decoder("IgnoredAny", decode_with_serde::<IgnoredAny>);
    let sonic = decoder("sonic-rs", sonic_tree);
    let simd = decoder("simd-json", simd_tree);
    vec![serde_work::<Value>("Value"), scan, sonic, simd, by_hand, mcpgen, rmcp, schema]
}

fn sonic_tree(bytes: &[u8]) {
    black_box(sonic_rs::from_slice::<sonic_rs::Value>(black_box(bytes)).expect("the corpus is valid"));
}

/// simd-json overwrites the text, so it gets a copy.
fn simd_tree(bytes: &[u8]) {
    black_box(simd_json::to_owned_value(&mut black_box(bytes).to_vec()).expect("the corpus is valid"));
}

/// Scans every byte and copies the one long string.
pub fn scan_and_copy(bytes: &[u8]) {
    let scanned: hand::Scanned<'_> = serde_json::from_slice(black_box(bytes)).expect("the corpus is valid");
    for content in scanned.result.content {
        black_box(content.text.into_owned());
    }
}

fn serde_work<T: DeserializeOwned + Serialize + 'static>(name: &'static str) -> Work {
    Work { name, decode: decode_with_serde::<T>, encode: encode_with_serde::<T> }
}

fn decode_with_serde<T: DeserializeOwned>(bytes: &[u8]) {
    black_box(serde_json::from_slice::<T>(black_box(bytes)).expect("the corpus is valid"));
}

fn encode_with_serde<T: DeserializeOwned + Serialize + 'static>(text: &str) -> Option<Encoder> {
    let message: T = serde_json::from_str(text).expect("the corpus is valid");
    Some(Box::new(move || drop(black_box(serde_json::to_vec(black_box(&message))))))
}

type Pair = (fn(&[u8]), fn(&str) -> Option<Encoder>);

fn by_hand(kind: Kind) -> Pair {
    fn pair<T: for<'de> Deserialize<'de> + Serialize + 'static>() -> Pair {
        (decode_with_serde::<T>, encode_with_serde::<T>)
    }
    match kind {
        Kind::Initialize => pair::<hand::Request<hand::Initialize>>(),
        Kind::ListTools => pair::<hand::Request<hand::ListTools>>(),
        Kind::CallTool => pair::<hand::Request<hand::CallTool>>(),
        Kind::Ping => pair::<hand::Bare>(),
        Kind::Progress => pair::<hand::Notification<hand::Progress>>(),
        Kind::InitializeResult => pair::<hand::Response<hand::Initialized>>(),
        Kind::ListToolsResult => pair::<hand::Response<hand::Tools>>(),
        Kind::CallToolResult => pair::<hand::Response<hand::ToolResult>>(),
        Kind::ReadResourceResult => pair::<hand::Response<hand::Contents>>(),
        Kind::Error => pair::<hand::Failure>(),
    }
}

fn mcpgen(kind: Kind) -> Pair {
    match kind {
        Kind::Initialize | Kind::ListTools | Kind::CallTool | Kind::Ping | Kind::Progress => {
            (decode_message::<ours::ClientMessage>, encode_message::<ours::ClientMessage>)
        }
        Kind::Error => (decode_message::<ours::ServerMessage>, encode_message::<ours::ServerMessage>),
        Kind::InitializeResult => response::<ours::InitializeRequest>(),
        Kind::ListToolsResult => response::<ours::ListToolsRequest>(),
        Kind::CallToolResult => response::<ours::CallToolRequest>(),
        Kind::ReadResourceResult => response::<ours::ReadResourceRequest>(),
    }
}

fn decode_message<T: Decode>(bytes: &[u8]) {
    black_box(mcpgen_types::from_slice::<T>(black_box(bytes)).expect("the corpus is valid"));
}

fn encode_message<T: Decode + Encode + 'static>(text: &str) -> Option<Encoder> {
    let message: T = mcpgen_types::from_str(text).expect("the corpus is valid");
    Some(Box::new(move || drop(black_box(mcpgen_types::to_vec(black_box(&message))))))
}

/// Decodes a response, and then the result of its request.
fn response<R: Request>() -> Pair
where
    R::Result: 'static,
{
    (decode_response::<R>, encode_response::<R>)
}

fn decode_response<R: Request>(bytes: &[u8]) {
    type Received<T> = mcpgen_types::Message<ours::ServerRequest, ours::ServerNotification, T>;
    black_box(mcpgen_types::from_slice::<Received<R::Result>>(black_box(bytes)).expect("the corpus is valid"));
}

fn encode_response<R: Request>(text: &str) -> Option<Encoder>
where
    R::Result: 'static,
{
    let message: mcpgen_types::ResponseMessage = mcpgen_types::from_str(text).expect("the corpus is valid");
    let result = message.decode::<R>().expect("the corpus is valid");
    Some(Box::new(move || {
        let response = mcpgen_types::ResponseMessage::new(message.id.clone(), black_box(&result));
        drop(black_box(response.into_vec()));
    }))
}
