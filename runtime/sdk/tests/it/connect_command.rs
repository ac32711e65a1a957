//! `connect_command`: servers that exit on unknown requests, respond late, or fail to start.
//!
//! The servers are shell scripts. Each process appends the methods that it receives to a log, one line per process.
#![cfg(all(unix, feature = "stdio"))]

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mcpgen_sdk::client::handshake::{ConnectOptions, HandshakeError};
use mcpgen_sdk::client::{ClientBuilder, CommandError, ServerExited};
use mcpgen_sdk::protocol::PeerExt;
use mcpgen_sdk::{CallError, Client};
use mcpgen_types::v2026_07_28::SubscriptionFilter;
use mcpgen_types::{JsonRef, Revision};
use tokio::process::Command;
use tokio_util::task::TaskTracker;

/// Shell functions for a server. `$method` and `$id` are those of the last message received.
const FUNCTIONS: &str = r#"
receive() {
    IFS= read -r message || { echo "eof" >>"$LOG"; exit "${1:-0}"; }
    method=$(printf '%s' "$message" | sed 's/.*"method":"\([^"]*\)".*/\1/')
    id=$(printf '%s' "$message" | sed 's/.*"id":\([0-9]*\).*/\1/')
    printf '%s ' "$method" >>"$LOG"
}
result() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
error() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"%s"}}\n' "$id" "$1" "$2"; }
discovered() { result '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}'; }
initialized() { result '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}'; }
"#;

/// A server that is a shell script, and the log of its processes.
struct Script {
    command: Command,
    log: PathBuf,
}

impl Script {
    fn new(body: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("connect-command-{}-{}.log", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let log = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&log, "").expect("written");
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{FUNCTIONS}{body}")]).env("LOG", &log);
        Self { command, log }
    }

    /// Connects with a short `discover_timeout`.
    async fn connect(&mut self, change: impl FnOnce(&mut ConnectOptions)) -> Result<Client, CommandError> {
        let command = std::mem::replace(&mut self.command, Command::new("true"));
        client(change).connect_command(command).await
    }

    fn received(&self) -> String {
        fs::read_to_string(&self.log).expect("read")
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.log);
    }
}

fn client(change: impl FnOnce(&mut ConnectOptions)) -> ClientBuilder {
    Client::builder("client", "1").options(|options| {
        options.discover_timeout = Duration::from_millis(400);
        change(options);
    })
}

const LEGACY: Option<Revision> = Some(Revision::V2025_06_18);
const MODERN: Option<Revision> = Some(Revision::V2026_07_28);

async fn check(body: &str, change: impl FnOnce(&mut ConnectOptions), revision: Option<Revision>, received: &str) {
    let mut script = Script::new(body);
    let client = script.connect(change).await;
    assert_eq!(client.as_ref().ok().map(Client::revision), revision, "{body}: {client:?}");
    if let Ok(client) = client {
        client.close().await.expect("closed");
    }
    assert_eq!(script.received(), received, "{body}");
}

#[tokio::test]
async fn restarts_a_server_that_exits_on_discover() {
    let body = r#"receive; [ "$method" = initialize ] || exit 1; initialized; receive; receive"#;
    check(body, |_| {}, LEGACY, "server/discover initialize notifications/initialized eof\n").await;
}

#[tokio::test]
async fn restarts_a_server_that_rejects_discover_and_then_exits() {
    let exits = r#"receive; [ "$method" = initialize ] || { error -32602 rejected; receive; exit 1; }; initialized; receive; receive"#;
    let received = "server/discover initialize initialize notifications/initialized eof\n";
    check(exits, |_| {}, LEGACY, received).await;
}

/// A second start may repeat side effects, such as a login.
#[tokio::test]
async fn does_not_restart_a_server_that_runs() {
    let mut script = Script::new("receive; error -32602 rejected; receive; error -32600 no; receive");
    let error = script.connect(|_| {}).await.expect_err("both requests are rejected");
    assert!(matches!(error, CommandError::Handshake { .. }), "{error:?}");
    assert_eq!(script.received(), "server/discover initialize eof\n");
}

#[tokio::test]
async fn keeps_a_server_that_rejects_discover_and_accepts_initialize() {
    let body = r#"receive; error -32601 unknown; receive; initialized; receive; receive"#;
    check(body, |_| {}, LEGACY, "server/discover initialize notifications/initialized eof\n").await;
}

#[tokio::test]
async fn waits_for_a_late_response_to_discover() {
    let body = "receive; sleep 0.6; discovered; receive";
    let timeout = |options: &mut ConnectOptions| options.discover_timeout = Duration::from_secs(20);
    check(body, timeout, MODERN, "server/discover eof\n").await;
}

/// The servers read both requests only after the client has sent the second one.
#[tokio::test]
async fn starts_a_slow_server_once() {
    let legacy = "server/discover initialize notifications/initialized eof\n";
    let modern = "server/discover initialize eof\n";
    for (body, revision, received) in [
        ("sleep 1; receive; error -32601 no; receive; initialized; receive; receive", LEGACY, legacy),
        ("echo starting >&2; sleep 1; receive; receive; initialized; receive; receive", LEGACY, legacy),
        ("sleep 1; receive; discovered; receive; receive", MODERN, modern),
    ] {
        check(body, |_| {}, revision, received).await;
    }
}

#[tokio::test]
async fn sends_initialize_to_a_silent_server() {
    let body = r#"receive; receive; initialized; receive; receive"#;
    check(body, |_| {}, LEGACY, "server/discover initialize notifications/initialized eof\n").await;
}

/// The server fails on the first request, but exits only when it has read another line.
#[tokio::test]
async fn restarts_a_failed_server_that_still_waits_for_input() {
    let body = r#"receive; [ "$method" = initialize ] || { receive; exit 1; }; initialized; receive; receive"#;
    check(body, |_| {}, LEGACY, "server/discover initialize initialize notifications/initialized eof\n").await;
}

#[tokio::test]
async fn sends_no_initialize_if_the_client_supports_only_modern_revisions() {
    let change = |options: &mut ConnectOptions| {
        options.discover_timeout = Duration::from_millis(2400);
        options.local_info.revisions.retain(|revision| !revision.is_legacy());
    };
    check("receive; sleep 1.5; discovered; receive", change, MODERN, "server/discover eof\n").await;
}

#[tokio::test]
async fn probes_a_restarted_server_that_lists_modern_revisions() {
    let body = r#"
        receive
        [ "$method" = initialize ] || exit 1
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"x"}}}\n' "$id"
        receive; discovered; receive"#;
    check(body, |_| {}, MODERN, "server/discover initialize server/discover eof\n").await;
}

#[tokio::test]
async fn does_not_restart_if_silence_is_not_legacy() {
    let mut script = Script::new("receive; receive");
    let error = script.connect(|options| options.silence_is_legacy = Some(false)).await.expect_err("a silent server");
    let source = HandshakeError::Timeout(Duration::from_millis(400));
    assert!(error.to_string().contains(&source.to_string()), "{error}");
    assert_eq!(script.received(), "server/discover eof\n");
}

#[tokio::test]
async fn does_not_probe_a_server_known_to_be_legacy() {
    let body = r#"receive; [ "$method" = initialize ] || exit 1; initialized; receive; receive"#;
    let known = |options: &mut ConnectOptions| options.known_revision = LEGACY;
    check(body, known, LEGACY, "initialize notifications/initialized eof\n").await;
}

#[tokio::test]
async fn reports_the_initialize_error_of_a_known_legacy_server_that_exits_on_discover() {
    let mut script = Script::new(r#"receive; error -32600 "no key"; receive; exit 1"#);
    let error = script.connect(|options| options.known_revision = LEGACY).await.expect_err("an error response");
    assert!(error.to_string().contains("no key"), "{error}");
    assert_eq!(script.received(), "initialize server/discover ");
}

#[tokio::test]
async fn reports_the_exit_status_and_the_last_output() {
    let body = "echo first >&2; echo 'missing API key' >&2; exit 3";
    let error = Script::new(body).connect(|_| {}).await.expect_err("the server exits");
    let CommandError::Exited { status, method, output, .. } = &error else { panic!("{error:?}") };
    assert_eq!((status.code(), *method, output.stderr.as_str()), (Some(3), "initialize", "first\nmissing API key"));
    let message = error.to_string();
    assert!(message.starts_with("the server `sh -c "), "{message}");
    let end = "exited with status 3 before it responded to `initialize`; its last output on stderr was: first\nmissing API key";
    assert!(message.ends_with(end), "{message}");

    let modern = |options: &mut ConnectOptions| options.local_info.revisions.retain(|revision| !revision.is_legacy());
    let error = Script::new("receive; kill -9 $$").connect(modern).await.expect_err("the server is killed");
    assert!(error.to_string().contains("was killed by signal 9"), "{error}");
    assert!(error.to_string().ends_with("before it responded to `server/discover`"), "{error}");
}

#[tokio::test]
async fn reports_a_server_that_exits_during_a_subscription() {
    let legacy = "receive; initialized; receive; sleep 0.2; exit 4";
    let modern = r#"receive; discovered; receive; printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":'"$id"'}}}'; sleep 0.2; exit 4"#;
    for (body, revision) in [(legacy, LEGACY), (modern, MODERN)] {
        let client = Script::new(body).connect(|options| options.known_revision = revision).await.expect("a server");
        let filter = SubscriptionFilter::new().with_tools_list_changed(true);
        let mut changes = client.changes(filter).await.expect("a subscription");
        let error = changes.try_next().await.expect_err("the server exits").to_string();
        assert!(error.ends_with("exited with status 4"), "{error}");
        assert!(matches!(changes.try_next().await, Ok(None)), "the error is returned once");
    }
}

#[tokio::test]
async fn reports_a_server_that_exits_during_a_call() {
    let after_the_call = "receive; discovered; receive; echo first >&2; echo 'disk full' >&2; exit 4";
    // The write fails before the process has exited.
    let before_the_call = "receive; discovered; exec <&-; echo first >&2; echo 'disk full' >&2; sleep 0.5; exit 4";
    for body in [after_the_call, before_the_call] {
        let mut script = Script::new(body);
        script.command.arg("notes");
        let client = script.connect(|_| {}).await.expect("a server");
        tokio::time::sleep(Duration::from_millis(100)).await;
        let error = client.call_tool("add_note", Default::default()).await.expect_err("the server exits");
        assert!(matches!(error, CallError::ConnectionFailed(_)), "{error:?}");
        assert_eq!(error.downcast_ref::<ServerExited>().and_then(|exited| exited.status.code()), Some(4), "{error:?}");
        let message = error.to_string();
        assert!(message.starts_with("the connection failed: the server `sh -c "), "{message}");
        assert!(
            message.ends_with("exited with status 4; its last output on stderr was: first\ndisk full"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn shows_standard_error_live() {
    let (lines, mut shown) = tokio::sync::mpsc::unbounded_channel();
    // The first process exits, so the server is started twice.
    let body = r#"echo started >&2; receive; [ "$method" = initialize ] || exit 1; initialized; receive; receive
        echo 'working ' >&2; printf half >&2; receive"#;
    let mut script = Script::new(body);
    let command = std::mem::replace(&mut script.command, Command::new("true"));
    let builder = client(|_| {}).on_stderr(move |line| lines.send(line.to_owned()).expect("a receiver"));
    let client = builder.connect_command(command).await.expect("a server");
    let mut next = async || tokio::time::timeout(Duration::from_secs(20), shown.recv()).await.expect("a line in time");
    assert_eq!((next().await.as_deref(), next().await.as_deref()), (Some("started"), Some("started")));
    let waiting = client.peer().raw_request("ping", None).send();
    // The line arrives while the process runs and the request has no response.
    assert_eq!(next().await.as_deref(), Some("working"));
    client.close().await.expect("closed");
    assert_eq!(next().await.as_deref(), Some("half"));
    drop(waiting);
}

#[tokio::test]
async fn reports_output_that_is_not_a_message() {
    let known = |options: &mut ConnectOptions| options.known_revision = MODERN;
    let error =
        Script::new("echo 'Listening on port 3000'; exit 1").connect(known).await.expect_err("the server exits");
    let expected =
        "it wrote a line to stdout that is not a message: \"Listening on port 3000\" (servers must log to stderr)";
    assert!(error.to_string().ends_with(expected), "{error}");
    // Such lines do no harm if the server sends messages, too.
    let mixed = "receive; echo; echo 'Received'; discovered; receive";
    Script::new(mixed).connect(known).await.expect("a server").close().await.expect("closed");
}

#[tokio::test]
async fn limits_the_reported_output() {
    let body = "i=0; while [ $i -lt 2000 ]; do echo \"line $i\" >&2; i=$((i + 1)); done; exit 1";
    let error = Script::new(body).connect(|_| {}).await.expect_err("the server exits");
    let CommandError::Exited { output, .. } = &error else { panic!("{error:?}") };
    let stderr = &output.stderr;
    assert!(stderr.len() <= 4096 && stderr.len() > 4000, "{}", stderr.len());
    assert!(stderr.starts_with("line ") && stderr.ends_with("line 1999"), "{stderr}");
}

#[tokio::test]
async fn reports_a_failed_handshake_with_the_command() {
    let body = r#"echo hint >&2; while :; do receive; error -32600 "no way"; done"#;
    let error = Script::new(body).connect(|_| {}).await.expect_err("an error response");
    assert!(matches!(
        &error,
        CommandError::Handshake { source: HandshakeError::Call(CallError::ErrorResponse(_)), .. }
    ));
    let message = error.to_string();
    assert!(message.contains("no way") && message.contains("`sh -c ") && message.contains("hint"), "{message}");
}

/// The error's own message gives the cause, so users need not print its sources.
#[tokio::test]
async fn says_the_cause_of_a_failed_handshake() {
    let initialize =
        |result: &str| format!("echo starting >&2; receive; error -32601 no; receive; result '{result}'; receive");
    for (result, expected) in [
        (
            r#"{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#,
            r#": the server selected revision "1999-01-01", which this client does not support; its last output"#,
        ),
        (r#"{"capabilities":{}}"#, ": initialize: expected "),
        (r#"[]"#, ": initialize: the result is not a JSON object: "),
    ] {
        let error = Script::new(&initialize(result)).connect(|_| {}).await.expect_err(result);
        let message = error.to_string();
        assert!(message.contains(expected) && message.contains("starting"), "{result}: {message}");
    }
}

#[tokio::test]
async fn reports_a_missing_program() {
    let error = client(|_| {}).connect_command(Command::new("no-such-program")).await.expect_err("a missing program");
    assert!(matches!(&error, CommandError::Start { .. }), "{error:?}");
    let expected = "cannot start `no-such-program`; install it or add its directory to PATH: No such file or directory (os error 2)";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn gives_up_after_an_exiting_server_was_started_twice() {
    let mut script = Script::new("receive; exit 1");
    let error = script.connect(|_| {}).await.expect_err("the server exits");
    assert!(matches!(error, CommandError::Exited { .. }), "{error:?}");
    assert_eq!(script.received(), "server/discover initialize ");
}

/// Waits until a process has ended. It may remain as a zombie if it lost its parent.
pub(crate) async fn process_ends(pid: u32, what: &str) {
    for _ in 0..2000 {
        if !is_running(pid) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("process {pid} is still running: {what}");
}

fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}

/// Returns the process ID of the server, which it declares as its name.
async fn pid(client: &Client) -> u32 {
    let peer_info = client.peer().peer_info().expect("connected");
    peer_info.implementation.get("name").and_then(JsonRef::as_str).expect("a name").parse().expect("a process ID")
}

const NAMED: &str = r#"
    receive; error -32601 no; receive
    result '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"'$$'","version":"1"}}'
"#;

#[tokio::test]
async fn closing_the_client_waits_for_the_process() {
    let mut script = Script::new(&format!("{NAMED} receive; receive 3"));
    let client = script.connect(|_| {}).await.expect("connected");
    let pid = pid(&client).await;
    client.close().await.expect("closed without an error");
    assert!(!PathBuf::from(format!("/proc/{pid}")).exists());
    assert!(script.received().ends_with("eof\n"), "the input was not closed: {}", script.received());
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_process() {
    for into_peer in [false, true] {
        let mut script = Script::new(&format!("{NAMED} receive; receive 3"));
        let client = script.connect(|_| {}).await.expect("connected");
        let pid = pid(&client).await;
        match into_peer {
            true => drop(client.into_peer()),
            false => drop(client),
        }
        process_ends(pid, "the server").await;
        assert!(script.received().ends_with("eof\n"), "the input was not closed: {}", script.received());
    }
}

/// After the end of its input, a server can write more than a pipe holds, and does not die of a broken pipe.
#[tokio::test]
async fn reads_what_a_server_writes_until_it_exits() {
    let last = r#"while IFS= read -r line; do :; done
        trap 'echo terminated >>"$LOG"; trap "" TERM' TERM
        count=0; while [ $count -lt 2000 ]; do count=$((count + 1)); result '{"text":"nobody waits for this response any more"}'; done
        echo finished >>"$LOG"; exit 0"#;
    let connected = format!("receive; discovered; {last}");
    let refused = format!("receive; error -32602 no; receive; error -32600 no; {last}");
    for (way, body) in [("close", &connected), ("drop", &connected), ("fail", &refused)] {
        let mut script = Script::new(body);
        let tracker = TaskTracker::new();
        let command = std::mem::replace(&mut script.command, Command::new("true"));
        let connecting = client(|_| {}).process_tracker(tracker.clone()).connect_command(command);
        match way {
            "close" => connecting.await.expect("connected").close().await.expect("closed"),
            "drop" => drop(connecting.await.expect("connected")),
            _ => drop(connecting.await.expect_err("both requests are rejected")),
        }
        tracker.close();
        tracker.wait().await;
        let received = script.received();
        assert!(received.ends_with(" finished\n"), "{way}: {received:?}");
    }
}

#[tokio::test]
async fn close_reports_a_server_that_has_exited() {
    let mut script = Script::new(&format!("{NAMED} receive; receive; echo 'out of memory' >&2; exit 7"));
    let client = script.connect(|_| {}).await.expect("connected");
    let error = client.peer().raw_request("ping", None).await.expect_err("the server exits");
    assert!(matches!(error, CallError::Closed(_)), "{error}");
    let error = client.close().await.expect_err("a failed server").to_string();
    assert!(error.ends_with("exited with status 7; its last output on stderr was: out of memory"), "{error}");
}

#[tokio::test]
async fn dropping_the_pending_connection_ends_the_process() {
    let mut script = Script::new("echo $$ >>\"$LOG\"; receive; receive");
    let log = script.log.clone();
    let connecting =
        tokio::spawn(async move { script.connect(|options| options.discover_timeout = Duration::MAX).await });
    let pid = loop {
        let received = fs::read_to_string(&log).expect("read");
        if let Some((pid, _)) = received.split_once("\nserver/discover") {
            break pid.parse().expect("a process ID");
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    connecting.abort();
    process_ends(pid, "the server").await;
    // The server may have written the log again after the script was dropped.
    let _ = fs::remove_file(&log);
}

/// However a client ends, the processes that its server has started end, too.
#[tokio::test]
async fn no_process_outlives_the_client() {
    let child = r#"sleep 600 & echo "pid $!" >>"$LOG"; "#;
    let connected = format!("{child}{NAMED} receive; receive; sleep 600");
    for way in ["close", "drop", "time out", "fail"] {
        let mut script = match way {
            "close" | "drop" => Script::new(&connected),
            "time out" => Script::new(&format!("{child}receive; receive; receive")),
            _ => Script::new(&format!("{child}receive; error -1 no; receive; error -1 no; receive")),
        };
        let tracker = TaskTracker::new();
        let command = std::mem::replace(&mut script.command, Command::new("true"));
        let connecting = client(|_| {}).process_tracker(tracker.clone()).connect_command(command);
        match way {
            "close" => connecting.await.expect("connected").close().await.expect("closed"),
            "drop" => drop(connecting.await.expect("connected")),
            "time out" => {
                let log = script.log.clone();
                let starts = async {
                    while !fs::read_to_string(&log).expect("read").contains("discover") {
                        tokio::time::sleep(Duration::from_millis(10)).await
                    }
                };
                tokio::select! {
                    connected = connecting => panic!("connected: {connected:?}"),
                    () = starts => {}
                }
            }
            _ => drop(connecting.await.expect_err("both requests are rejected")),
        }
        tracker.close();
        tracker.wait().await;
        let log = script.received();
        let pids: Vec<u32> = log
            .split_whitespace()
            .zip(log.split_whitespace().skip(1))
            .filter(|(word, _)| *word == "pid")
            .map(|(_, pid)| pid.parse().expect("a process ID"))
            .collect();
        assert_eq!(pids.len(), 1, "{way}: {log}");
        process_ends(pids[0], way).await;
    }
}
