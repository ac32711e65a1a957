//! Standard input and output as they come: pipes, sockets and files; and children that do not end by themselves.
#![cfg(all(unix, feature = "stdio"))]

#[path = "support/example.rs"]
mod example;

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use example::example;
use mcpgen_runtime::transport::{ChildProcess, lines};
use serde_json::{Value, json};

/// What a client says, with everything that a line may have around it.
fn said() -> String {
    let info = json!({ "name": "client", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let call = json!({ "name": "add", "arguments": { "a": 2, "b": 3 } });
    let call = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call });
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    format!("\u{feff}{initialize}\r\n\n{initialized}\nnonsense\n{call}")
}

/// The answers by their ids.
fn answers(output: &str) -> Vec<(Value, Value)> {
    let messages = output.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{line}")));
    let mut answers: Vec<_> = messages
        .filter(|message| message.get("id").is_some())
        .map(|message| {
            let text = message.pointer("/result/content/0/text").or(message.pointer("/result/protocolVersion"));
            (message["id"].clone(), text.unwrap_or(&message["error"]["code"]).clone())
        })
        .collect();
    answers.sort_by_key(|(id, _)| id.to_string());
    answers
}

fn expected() -> Vec<(Value, Value)> {
    vec![(json!(1), json!("2025-11-25")), (json!(3), json!("5")), (json!(null), json!(-32700))]
}

#[test]
fn files_are_read_and_written() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (input, output) = (folder.join("said.jsonl"), folder.join("heard.jsonl"));
    fs::write(&input, said()).expect("written");
    let status = Command::new(example("server"))
        .stdin(File::open(&input).expect("opened"))
        .stdout(File::create(&output).expect("created"))
        .status();
    assert!(status.expect("the server runs").success());
    assert_eq!(answers(&fs::read_to_string(&output).expect("read")), expected());
}

#[test]
fn pipes_are_read_and_written_to_their_end() {
    let mut child =
        Command::new(example("server")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut input = child.stdin.take().expect("a pipe");
    // In pieces that end anywhere.
    for piece in said().as_bytes().chunks(7) {
        input.write_all(piece).expect("the server reads");
        input.flush().expect("the server reads");
    }
    drop(input);
    let output = child.wait_with_output().expect("the server ends");
    assert!(output.status.success());
    assert_eq!(answers(&String::from_utf8_lossy(&output.stdout)), expected());
}

/// Standard output and standard error may be one pipe: then it stays as it is, or what is logged would be lost.
#[test]
fn one_pipe_for_all_that_is_written_is_left_as_it_is() {
    let script = r#"exec "$0" 2>&1"#;
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(example("server")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    child.stdin.take().expect("a pipe").write_all(said().as_bytes()).expect("the server reads");
    let output = child.wait_with_output().expect("the server ends");
    assert_eq!(answers(&String::from_utf8_lossy(&output.stdout)), expected());
}

/// How a child ends that is told to, and how long that takes.
async fn ends(script: &str) -> (Option<i32>, Duration) {
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", script]);
    let (mut server, incoming, outgoing) = ChildProcess::start(command, lines::LONGEST).expect("a shell");
    server.patience = Duration::from_millis(300);
    drop((incoming, outgoing));
    let start = Instant::now();
    let status = server.close().await.expect("it ends");
    (status.signal(), start.elapsed())
}

#[tokio::test]
async fn children_are_asked_to_end_before_they_are_killed() {
    assert_eq!(ends("cat >/dev/null").await.0, None, "its input has ended, and so it has");
    assert_eq!(ends("exec sleep 60").await.0, Some(15));
    let (signal, after) = ends("trap '' TERM; echo deaf >&2; while :; do sleep 1; done").await;
    assert_eq!(signal, Some(9));
    assert!(after >= Duration::from_millis(600), "{after:?}");
}
