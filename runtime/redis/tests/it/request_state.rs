//! The keys of request states.

use std::time::Duration;

use mcpgen_redis::RedisStores;
use mcpgen_sdk::Context;
use mcpgen_sdk::protocol::ContextExt;
use mcpgen_sdk::server::request_state::RequestStateCodec;
use mcpgen_types::{ErrorObject, Json, Revision};
use serde_json::json;

use crate::redis_server::RedisServer;

async fn encode(codec: &RequestStateCodec) -> String {
    let params = json!({ "name": "pay" });
    let context = Context::of_request(Revision::LATEST, "tools/call", Some(&Json::from(&params)));
    codec.encode(&codec.decode::<u32>(&context, "ann").await.expect("the first round"), &7_u32).expect("a state")
}

async fn decode(codec: &RequestStateCodec, state: &str) -> Result<Option<u32>, ErrorObject> {
    let params = json!({ "name": "pay", "requestState": state });
    let context = Context::of_request(Revision::LATEST, "tools/call", Some(&Json::from(&params)));
    codec.decode::<u32>(&context, "ann").await.map(|rounds| rounds.state)
}

async fn codec(stores: &RedisStores) -> RequestStateCodec {
    stores.request_state_codec().await.expect("a codec")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_share_keys_and_accept_a_state_once() {
    let Some(redis) = RedisServer::start().await else { return };
    let (a, b) = (redis.replica().await, redis.replica().await);
    let (a, b) = (codec(&a).await, codec(&b).await);
    let state = encode(&a).await;
    assert_eq!(decode(&b, &state).await, Ok(Some(7)));
    for codec in [&a, &b] {
        assert_eq!(decode(codec, &state).await.expect_err("it was used").code.0, -32602);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_rotated_while_replicas_run() {
    let Some(redis) = RedisServer::start().await else { return };
    let mut options = redis.options();
    (options.lease, options.request_state_lifetime) = (Duration::from_millis(600), Duration::from_secs(4));
    let connect = async || RedisStores::connect(options.clone()).await.expect("a connection");
    let (a, b) = (connect().await, connect().await);
    let codecs = [codec(&a).await, codec(&b).await];
    let first = a.request_state_keys().await.expect("keys");
    assert!(first.others.is_empty());
    let rotated = b.rotate_request_state_keys().await.expect("keys");
    assert_eq!(rotated.signing, first.signing, "other replicas do not know the new key yet");
    assert_eq!(rotated.others.len(), 1);
    // States are valid all the time, whichever replica signs and verifies.
    for n in 0..40 {
        let state = encode(&codecs[n % 2]).await;
        assert_eq!(decode(&codecs[(n + 1) % 2], &state).await, Ok(Some(7)), "state {n}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let next = a.request_state_keys().await.expect("keys");
    assert_eq!((next.signing, &next.others), (rotated.others[0], &vec![first.signing]));
    // The old key is dropped after the lifetime of its states.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(a.request_state_keys().await.expect("keys").others.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn used_states_stay_rejected_when_redis_forgets_them() {
    let Some(redis) = RedisServer::start().await else { return };
    let stores = redis.replica().await;
    // Use a fixed key, because Redis would lose its own keys as well.
    let codec = RequestStateCodec::new([7; 32], redis.options().request_state_lifetime).expect("a key");
    let codec = codec.with_replay_guard(stores.clone());
    let state = encode(&codec).await;
    assert_eq!(decode(&codec, &state).await, Ok(Some(7)));
    redis.command("FLUSHALL").await;
    assert!(decode(&codec, &state).await.is_err(), "used before Redis was flushed");
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(decode(&codec, &encode(&codec).await).await, Ok(Some(7)), "new states are accepted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn used_states_are_limited_in_number() {
    let Some(redis) = RedisServer::start().await else { return };
    let mut options = redis.options();
    (options.max_used_states, options.request_state_lifetime) = (2, Duration::from_millis(500));
    let stores = RedisStores::connect(options).await.expect("a connection");
    let codec = codec(&stores).await;
    for _ in 0..2 {
        assert_eq!(decode(&codec, &encode(&codec).await).await, Ok(Some(7)));
    }
    let error = decode(&codec, &encode(&codec).await).await.expect_err("there are two states already");
    assert_eq!(error.code.0, mcpgen_sdk::jsonrpc::errors::BUSY, "{error}");
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(decode(&codec, &encode(&codec).await).await, Ok(Some(7)), "the others have expired");
}
