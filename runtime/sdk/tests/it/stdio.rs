//! The stdio transport over pipes and files, and child processes that do not exit on their own.
#![cfg(all(unix, feature = "stdio"))]

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mcpgen_sdk::client::ChildProcess;
use mcpgen_sdk::transport::lines;
use serde_json::{Value, json};

use crate::connect_command::process_ends;
use crate::support::example::example;

/// Returns the messages of a client, with a byte order mark, CRLF, an empty line and an invalid line.
fn input_text() -> String {
    let info = json!({ "name": "client", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let call = json!({ "name": "add", "arguments": { "a": 2, "b": 3 } });
    let call = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call });
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    format!("\u{feff}{initialize}\r\n\n{initialized}\nnonsense\n{call}")
}

/// Returns the responses by their IDs.
fn responses(output: &str) -> Vec<(Value, Value)> {
    let messages = output.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{line}")));
    let mut responses: Vec<_> = messages
        .filter(|message| message.get("method").is_none())
        .map(|message| {
            let text = message.pointer("/result/content/0/text").or(message.pointer("/result/protocolVersion"));
            (message["id"].clone(), text.unwrap_or(&message["error"]["code"]).clone())
        })
        .collect();
    responses.sort_by_key(|(id, _)| id.to_string());
    responses
}

fn expected() -> Vec<(Value, Value)> {
    vec![(json!(1), json!("2025-11-25")), (json!(3), json!("5")), (json!(null), json!(-32700))]
}

#[test]
fn reads_and_writes_files() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (input, output) = (folder.join("input.jsonl"), folder.join("output.jsonl"));
    fs::write(&input, input_text()).expect("written");
    let status = Command::new(example("typed_server"))
        .stdin(File::open(&input).expect("opened"))
        .stdout(File::create(&output).expect("created"))
        .status();
    assert!(status.expect("the server runs").success());
    assert_eq!(responses(&fs::read_to_string(&output).expect("read")), expected());
}

#[test]
fn reads_and_writes_pipes() {
    let mut child = Command::new(example("typed_server"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the process starts");
    let mut input = child.stdin.take().expect("a pipe");
    // Write the input in pieces that do not end where lines do.
    for piece in input_text().as_bytes().chunks(7) {
        input.write_all(piece).expect("the server reads");
        input.flush().expect("the server reads");
    }
    drop(input);
    let output = child.wait_with_output().expect("the server ends");
    assert!(output.status.success());
    assert_eq!(responses(&String::from_utf8_lossy(&output.stdout)), expected());
}

/// Standard output and standard error may be the same pipe. The server must not change its mode, or log lines are lost.
#[test]
fn keeps_a_pipe_shared_by_stdout_and_stderr() {
    let script = r#"exec "$0" 2>&1"#;
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(example("typed_server")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the process starts");
    child.stdin.take().expect("a pipe").write_all(input_text().as_bytes()).expect("the server reads");
    let output = child.wait_with_output().expect("the server ends");
    assert_eq!(responses(&String::from_utf8_lossy(&output.stdout)), expected());
}

/// Closes a child process. Returns the signal that ended it, and how long that took.
async fn close_child(script: &str) -> (Option<i32>, Duration) {
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", script]);
    let (mut server, incoming, outgoing) = ChildProcess::start(command, lines::DEFAULT_LINE_LIMIT).expect("a shell");
    server.exit_timeout = Duration::from_millis(300);
    drop((incoming, outgoing));
    let start = Instant::now();
    let status = server.close().await.expect("a status");
    (status.signal(), start.elapsed())
}

/// The real server, which writes its process ID to standard error, often runs behind a wrapper.
#[tokio::test]
async fn ends_the_whole_process_group() {
    let servers = [
        ("behind a wrapper", "sh -c 'echo $$ >&2; exec sleep 600'; true"),
        ("ignores SIGTERM", r#"sh -c 'trap "" TERM; echo $$ >&2; while :; do sleep 1; done'; true"#),
        ("its wrapper exits at the end of the input", "sleep 600 & echo $! >&2; cat >/dev/null"),
        ("its wrapper has exited", "sleep 600 & echo $! >&2"),
        ("its wrapper fails", "sleep 600 & echo $! >&2; exit 7"),
    ];
    for (what, script) in servers {
        for is_dropped in [false, true] {
            let mut command = tokio::process::Command::new("sh");
            command.args(["-c", script]);
            let (lines, mut written) = tokio::sync::mpsc::unbounded_channel();
            let on_line = move |line: &str| lines.send(line.to_owned()).expect("a receiver");
            let started = ChildProcess::start_with_stderr(command, lines::DEFAULT_LINE_LIMIT, on_line);
            let (mut server, incoming, outgoing) = started.expect("a shell");
            server.exit_timeout = Duration::from_millis(300);
            let pid = tokio::time::timeout(Duration::from_secs(30), written.recv()).await.expect("a line in time");
            let pid = pid.expect("a line").parse().expect("a process ID");
            drop((incoming, outgoing));
            if is_dropped {
                drop(server);
            } else {
                server.close().await.expect("closed");
            }
            process_ends(pid, what).await;
        }
    }
}

#[tokio::test]
async fn terminates_children_before_it_kills_them() {
    assert_eq!(close_child("cat >/dev/null").await.0, None, "the child exits at the end of its input");
    assert_eq!(close_child("exec sleep 60").await.0, Some(15));
    let (signal, after) = close_child("trap '' TERM; echo ignored >&2; while :; do sleep 1; done").await;
    assert_eq!(signal, Some(9));
    assert!(after >= Duration::from_millis(600), "{after:?}");
}
