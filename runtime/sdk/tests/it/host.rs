//! The example `host`, with its servers as child processes.
#![cfg(all(unix, feature = "stdio", feature = "http-client"))]

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::support::example::example;

struct Host {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Host {
    fn start(name: &str, servers: &serde_json::Value) -> Self {
        let config = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.json"));
        std::fs::write(&config, json!({ "mcpServers": servers }).to_string()).expect("written");
        let mut command = Command::new(example("host"));
        command.arg(config).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("the host starts");
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        Self { child, input, output: BufReader::new(output).lines() }
    }

    async fn enter(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.expect("the host reads");
    }

    /// Reads lines up to one that contains a text.
    async fn until(&mut self, expected: &str) -> String {
        let found = async {
            while let Some(line) = self.output.next_line().await.expect("text") {
                if line.contains(expected) {
                    return line;
                }
            }
            panic!("the host has ended without {expected:?}");
        };
        tokio::time::timeout(Duration::from_secs(30), found).await.unwrap_or_else(|_| panic!("no {expected:?}"))
    }
}

/// A server that asks for a name, and exits after its second call.
const ASKS: &str = r#"
calls=0
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*)
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"asks","version":"1"}}}' ;;
    *'"method":"tools/call"'*)
      calls=$((calls+1)); call=$id
      [ $calls = 2 ] && exit 3
      echo '{"jsonrpc":"2.0","id":900,"method":"elicitation/create","params":{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","minLength":2}},"required":["name"]}}}' ;;
    *'"id":900'*)
      name=$(printf '%s' "$line" | sed -n 's/.*"name":"\([a-z]*\)".*/\1/p')
      echo '{"jsonrpc":"2.0","id":'$call',"result":{"content":[{"type":"text","text":"hello, '$name'"}]}}' ;;
    *'"id"'*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"unknown"}}' ;;
  esac
done
"#;

#[tokio::test]
async fn the_host_runs_several_servers() {
    let mut host = Host::start(
        "several",
        &json!({
            "tools": { "command": example("tools") },
            "asks": { "command": "sh", "args": ["-c", ASKS] },
            "broken": { "command": "sh", "args": ["-c", "echo 'disk full' >&2; exit 1"] },
        }),
    );
    host.until("[tools] ready").await;
    host.enter("tools").await;
    host.until(r#"tools__add: Some("Adds two integers.")"#).await;
    host.enter(r#"call tools__add {"a": 2, "b": 3}"#).await;
    host.until("5").await;
    host.enter("call tools__add {}").await;
    assert!(host.until("error: ").await.contains("missing"));
    host.enter("call none__add {}").await;
    host.until("no such server is running").await;
    host.until("disk full").await;
}

#[tokio::test]
async fn the_host_asks_the_user_and_restarts_servers() {
    let mut host = Host::start("asks", &json!({ "asks": { "command": "sh", "args": ["-c", ASKS] } }));
    host.until("[asks] ready").await;
    host.enter("call asks__ask").await;
    host.until("Who are you?").await;
    host.until("name (text):").await;
    host.enter("a").await;
    host.until("expected at least 2 characters, found 1. name (text):").await;
    host.enter("ann").await;
    host.until("hello, ann").await;
    host.enter("call asks__ask").await;
    host.until("[asks] ended: ").await;
    host.until("[asks] ready").await;
    host.enter("quit").await;
    let status = tokio::time::timeout(Duration::from_secs(30), host.child.wait()).await.expect("in time");
    assert!(status.expect("a status").success());
}
