//! Servers that end, and servers that do not start.

use std::collections::HashMap;
use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use mcpgen_gateway::{Config, Prefix, ServerConfig};
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::transport::{self, Inbound};
use mcpgen_types::Revision;
use mcpgen_types::v2026_07_28::SubscriptionFilter;
use serde_json::{Value, json};

use crate::support::{
    ERAS, call, client, connect, for_all_eras, gateway, in_time, process, server_path, text, tool_names, two_servers,
};

#[tokio::test]
async fn a_server_that_ends_in_a_call_comes_back() {
    for_all_eras(|front, behind| async move {
        let client = connect(&gateway(two_servers(behind)), client(front)).await;
        assert_eq!(tool_names(&client).await.len(), 14);
        let shared = "a+file:///shared".to_owned();
        let filter =
            SubscriptionFilter::new().with_tools_list_changed(true).with_resource_subscriptions([shared.clone()]);
        let mut changes = in_time(client.changes(filter)).await.expect("a subscription");
        let (failed, other) = tokio::join!(call(&client, "crash"), text(&client, "b__greet"));
        assert_eq!(other, "hello from b");
        let failed = failed.expect_err("the server has ended").to_string();
        // The output of the server is in the log only.
        assert!(failed.contains("server `a`: its process exited with status 7"), "{failed}");
        assert!(!failed.contains("disk full") && !failed.contains("gateway_server"), "{failed}");
        // The lists change when the server ends, and when it returns. The resource may have changed meanwhile.
        let (mut names, mut has_resource) = (Vec::new(), false);
        while names.len() != 14 || !has_resource {
            match in_time(changes.try_next()).await.expect("a subscription").expect("a change") {
                Change::Tools => names = tool_names(&client).await,
                change => has_resource |= change == Change::Resource(shared.clone()),
            }
            let is_stable = names.is_empty() || names.contains(&"b__greet".to_owned());
            assert!(is_stable, "the names of others stay: {names:?}");
        }
        assert_eq!(text(&client, "a__greet").await, "hello from a");
    })
    .await;
}

#[tokio::test]
async fn a_server_that_does_not_start_takes_only_its_tools_with_it() {
    for revision in ERAS {
        let mut config = two_servers(revision);
        let broken = ServerConfig::of_command("sh", ["-c", "echo 'no license' >&2; exit 3"]);
        config.servers.insert("broken".to_owned(), broken);
        let client = connect(&gateway(config), client(revision)).await;
        assert_eq!(tool_names(&client).await.len(), 14);
        assert_eq!(text(&client, "only_b").await, "only");
        let unknown = call(&client, "broken__tool").await.expect_err("no such tool").to_string();
        let expected = "server `broken` is not available: its process exited with status 3";
        assert!(unknown.contains(expected) && !unknown.contains("no license"), "{unknown}");
    }
}

/// While a server is not available, a client can subscribe to resources of others, and even to those of that server.
#[cfg(unix)]
#[tokio::test]
async fn subscriptions_wait_for_a_server() {
    for_all_eras(|front, behind| async move {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, program) = (folder.path().join("starts"), server_path().display().to_string());
        let mut config = two_servers(behind);
        let script = format!("test -e '{}' || exit 3; exec \"$@\"", file.display());
        let late = ServerConfig::of_command("sh", ["-c", &script, "sh", &program, "b", behind.as_str(), "small"]);
        config.servers.insert("b".to_owned(), late);
        config.servers.insert("c".to_owned(), process("c", behind, &["small"]));
        let client = connect(&gateway(config), client(front)).await;
        tool_names(&client).await;
        // Until `b` has listed its resources, the gateway does not know that it has the last one.
        let uris = ["a+file:///shared", "b+file:///shared", "b:///note"].map(str::to_owned);
        let filter = SubscriptionFilter::new().with_resource_subscriptions(uris.clone());
        let mut changes = in_time(client.changes(filter)).await.expect("a subscription");
        assert_eq!(text(&client, "change").await, "changed");
        assert_eq!(in_time(changes.try_next()).await.expect("a subscription"), Some(Change::Resource(uris[0].clone())));
        std::fs::write(file, "").expect("written");
        let mut changed = Vec::new();
        while !uris[1..].iter().all(|uri| changed.contains(uri)) {
            match in_time(changes.try_next()).await.expect("a subscription").expect("a change") {
                Change::Resource(uri) => changed.push(uri),
                other => panic!("{other:?}"),
            }
        }
    })
    .await;
}

/// A list does not wait for a server that takes long to start, but a call to one of its tools does.
#[tokio::test]
async fn a_call_waits_for_a_server_that_takes_long_to_start() {
    if std::env::var_os("MCPGEN_THOROUGH").is_none() {
        return;
    }
    let revision = Revision::V2025_11_25;
    let mut config = two_servers(revision);
    let program = server_path().display().to_string();
    let slow =
        ServerConfig::of_command("sh", ["-c", "sleep 30; exec \"$@\"", "sh", &program, "slow", revision.as_str()]);
    config.servers.insert("slow".to_owned(), slow);
    let client = connect(&gateway(config), client(revision)).await;
    assert_eq!(tool_names(&client).await.len(), 14);
    assert_eq!(text(&client, "slow__greet").await, "hello from slow");
}

/// Returns a call as a raw message, so that the test can count the responses to each.
fn call_message(id: u64, tool: &str, arguments: &Value, revision: Revision) -> Vec<u8> {
    let mut params = json!({ "name": tool, "arguments": arguments });
    if !revision.is_legacy() {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": revision.as_str(),
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "counter", "version": "1" },
        });
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string().into_bytes()
}

/// Servers that are killed again and again.
const VICTIMS: [&str; 5] = ["v0", "v1", "v2", "v3", "v4"];

/// The victims, and a server `b` that is never killed. Each victim writes the ID of its process to a file.
#[cfg(unix)]
fn victims(revision: Revision, folder: &Path) -> Config {
    let mut config = Config::default();
    config.prefix = Prefix::Always;
    config.servers.insert("b".to_owned(), process("b", revision, &["small"]));
    for name in VICTIMS {
        let file = folder.join(name).display().to_string();
        let script = format!("echo $$ > '{file}'; exec \"$@\"");
        let program = server_path().display().to_string();
        let arguments = ["-c", &script, "sh", &program, name, revision.as_str()];
        config.servers.insert(name.to_owned(), ServerConfig::of_command("sh", arguments));
    }
    config
}

/// Pseudorandom numbers from a seed, after SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 33) % end
    }

    fn victim(&mut self) -> &'static str {
        let count = u64::try_from(VICTIMS.len()).expect("a small number");
        VICTIMS[usize::try_from(self.below(count)).expect("a small number")]
    }
}

/// Kills a victim with SIGKILL, if it runs.
#[cfg(unix)]
async fn kill(folder: &Path, victim: &str) {
    let Ok(id) = std::fs::read_to_string(folder.join(victim)) else { return };
    let mut command = tokio::process::Command::new("kill");
    let _ = command.args(["-9", id.trim()]).stderr(std::process::Stdio::null()).status().await;
}

/// What is called, which determines how the call may end.
enum Sent {
    /// A call of `b`, which succeeds.
    Other,
    /// A call of `echo` on a victim, which succeeds, or fails with the victim.
    Echo(&'static str),
    /// A call that ends only with its server.
    Endless(&'static str),
}

/// Calls tools while servers are killed at random. Each request gets exactly one response, and the servers come back.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_is_lost_and_none_is_answered_twice() {
    use futures_util::SinkExt;

    let calls = if std::env::var_os("MCPGEN_THOROUGH").is_some() { 10_000_u64 } else { 3_000 };
    let seed = std::env::var("MCPGEN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(47);
    for revision in [Revision::V2025_11_25, Revision::LATEST] {
        let folder = tempfile::tempdir().expect("a folder");
        let gateway = gateway(victims(revision, folder.path()));
        let ((incoming, outgoing), to_client) = transport::duplex();
        let serving = gateway.clone();
        tokio::spawn(async move { serving.serve_client(to_client, std::future::pending()).await });
        let (mut incoming, mut outgoing) = (Box::pin(incoming), Box::pin(outgoing));
        if revision.is_legacy() {
            let params = json!({ "protocolVersion": revision.as_str(), "capabilities": {},
                "clientInfo": { "name": "counter", "version": "1" } });
            let first = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
            outgoing.send(first.to_string().into_bytes().into()).await.expect("sent");
            in_time(incoming.next()).await.expect("a response").expect("a message");
            let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            outgoing.send(ready.to_string().into_bytes().into()).await.expect("sent");
        }
        let mut numbers = Numbers(seed);
        let sent: HashMap<u64, Sent> = (1..=calls)
            .map(|id| match numbers.below(100) {
                0..30 => (id, Sent::Other),
                30..95 => (id, Sent::Echo(numbers.victim())),
                _ => (id, Sent::Endless(numbers.victim())),
            })
            .collect();
        let mut messages: Vec<(u64, Vec<u8>)> = Vec::new();
        for (&id, call) in &sent {
            let (tool, arguments) = match call {
                Sent::Other => ("b__greet".to_owned(), json!({})),
                Sent::Echo(victim) => (format!("{victim}__echo"), json!({ "text": id.to_string() })),
                Sent::Endless(victim) => (format!("{victim}__wait"), json!({})),
            };
            messages.push((id, call_message(id, &tool, &arguments, revision)));
        }
        messages.sort_unstable_by_key(|(id, _)| *id);
        let sending = tokio::spawn(async move {
            for (id, message) in messages {
                outgoing.send(message.into()).await.expect("sent");
                if id % 10 == 0 {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
            outgoing
        });
        // This also ends the endless calls.
        let path = folder.path().to_owned();
        let killing = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(5 + numbers.below(40))).await;
                kill(&path, numbers.victim()).await;
            }
        });
        let mut responses: HashMap<u64, Value> = HashMap::new();
        while responses.len() < sent.len() {
            let (id, response) = next_response(&mut incoming).await;
            assert!(sent.contains_key(&id), "{response}");
            assert_eq!(responses.insert(id, response), None, "{id} has two responses");
        }
        killing.abort();
        // No more responses arrive.
        let more = tokio::time::timeout(Duration::from_millis(500), next_response(&mut incoming));
        assert!(more.await.is_err());
        let (mut echoed, mut failed) = (0, 0);
        for (id, response) in &responses {
            let text = &response["result"]["content"][0]["text"];
            match (&sent[id], response.get("error")) {
                (Sent::Other, None) => assert_eq!(text, "hello from b"),
                (Sent::Echo(_), None) => {
                    echoed += 1;
                    assert_eq!(*text, id.to_string());
                }
                (Sent::Echo(victim) | Sent::Endless(victim), Some(error)) => {
                    failed += 1;
                    let text = error["message"].as_str().expect("a text");
                    // A call that is sent before the gateway notices the end only learns of a closed connection.
                    let reasons = ["killed by", "is not available: ", "the connection is closed"];
                    let names_both = text.contains(&format!("server `{victim}`"))
                        && reasons.iter().any(|reason| text.contains(reason));
                    assert!(names_both, "{id}: {error}");
                }
                (Sent::Other | Sent::Endless(_), _) => panic!("{id}: {response}"),
            }
        }
        eprintln!("{revision}, seed {seed}: {calls} calls, {echoed} echoed, {failed} failed");
        assert!(echoed > 0 && failed > 0, "{echoed} echoed, {failed} failed");
        // Each server comes back, after up to 30 s.
        let mut outgoing = sending.await.expect("all calls are sent");
        let mut id = calls;
        for victim in VICTIMS {
            let comes_back = async {
                loop {
                    id += 1;
                    let message = call_message(id, &format!("{victim}__greet"), &json!({}), revision);
                    outgoing.send(message.into()).await.expect("sent");
                    if next_response(&mut incoming).await.1.get("result").is_some() {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            };
            in_time(comes_back).await;
        }
    }
}

/// Returns the next response of the gateway, and its ID.
#[cfg(unix)]
async fn next_response<E: Debug>(incoming: &mut (impl Stream<Item = Result<Inbound, E>> + Unpin)) -> (u64, Value) {
    loop {
        let message = in_time(incoming.next()).await.expect("an open connection").expect("a message");
        let message: Value = mcpgen_types::from_slice(&message.into_bytes().expect("bytes")).expect("JSON");
        if let Some(id) = message["id"].as_u64().filter(|_| message.get("method").is_none()) {
            return (id, message);
        }
    }
}
