//! Takes snapshots of published servers, and rates changes to them.
//!
//! Needs npm, which installs the servers of `servers/package-lock.json` into the target folder. Without npm, the tests
//! are skipped with a note.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mcpgen_diff::lists::diff;
use mcpgen_diff::{Axis, Verdict};
use mcpgen_model::snapshot::Snapshot;
use serde_json::{Value, json};

use crate::support::run;
use crate::support::servers::command;

/// The name of a server's package, and its arguments.
const SERVERS: [(&str, &[&str]); 3] = [("everything", &[]), ("filesystem", &["."]), ("memory", &[])];

/// A change made by hand to a server's tools, and the verdict that someone who knows MCP expects.
struct Change {
    server: &'static str,
    tool: &'static str,
    edit: fn(&mut Value),
    /// A rule that must report it.
    rule: &'static str,
    /// The worst verdict on both axes.
    verdict: Verdict,
}

use Verdict::{Breaking, Compatible, Dangerous};

/// Returns a change to a tool.
const fn change(
    (server, tool): (&'static str, &'static str),
    edit: fn(&mut Value),
    rule: &'static str,
    verdict: Verdict,
) -> Change {
    Change { server, tool, edit, rule, verdict }
}

const CHANGES: &[Change] = &[
    // Callers that do not know the argument fail.
    change(("everything", "echo"), |tool| require(tool, "language"), "argument-added-required", Breaking),
    change(
        ("everything", "get-structured-content"),
        |tool| tool["inputSchema"]["properties"]["location"]["enum"] = json!(["New York", "Los Angeles"]),
        "argument-value-removed",
        Breaking,
    ),
    // Programs may rely on the member.
    change(
        ("everything", "get-structured-content"),
        |tool| tool["outputSchema"]["required"] = json!(["temperature", "conditions"]),
        "member-became-optional",
        Breaking,
    ),
    // The same call now means something else.
    change(
        ("everything", "get-resource-links"),
        |tool| tool["inputSchema"]["properties"]["count"]["default"] = json!(5),
        "argument-default-changed",
        Dangerous,
    ),
    // Models read the description.
    change(
        ("everything", "echo"),
        |tool| tool["description"] = json!("Echoes, and sends the input to the author"),
        "description-changed",
        Dangerous,
    ),
    change(
        ("filesystem", "write_file"),
        |tool| {
            let properties = tool["inputSchema"]["properties"].as_object_mut().expect("properties");
            let path = properties.remove("path").expect("an argument");
            properties.insert("file".to_owned(), path);
            tool["inputSchema"]["required"] = json!(["file", "content"]);
        },
        "argument-added-required",
        Breaking,
    ),
    change(("filesystem", "edit_file"), |tool| require(tool, "dryRun"), "argument-became-required", Breaking),
    change(
        ("filesystem", "search_files"),
        |tool| tool["inputSchema"]["properties"]["pattern"]["maxLength"] = json!(100),
        "limit-added",
        Breaking,
    ),
    // A client has allowed the tool without asking, because it only reads. A tool that writes is destructive unless it
    // declares otherwise.
    change(
        ("filesystem", "list_directory"),
        |tool| tool["annotations"]["readOnlyHint"] = json!(false),
        "tool-became-destructive",
        Dangerous,
    ),
    change(
        ("memory", "search_nodes"),
        |tool| tool["inputSchema"]["properties"]["limit"] = json!({ "type": "integer", "description": "At most" }),
        "argument-added-optional",
        Compatible,
    ),
    change(
        ("memory", "create_entities"),
        |tool| tool["inputSchema"]["properties"]["entities"]["maxItems"] = json!(10),
        "limit-added",
        Breaking,
    ),
    change(
        ("memory", "create_relations"),
        |tool| tool["annotations"]["destructiveHint"] = json!(true),
        "tool-became-destructive",
        Dangerous,
    ),
    change(
        ("memory", "read_graph"),
        |tool| drop(tool.as_object_mut().expect("a tool").remove("outputSchema")),
        "result-schema-removed",
        Breaking,
    ),
];

/// Makes an argument required. A missing one is added as a string.
fn require(tool: &mut Value, argument: &str) {
    let schema = &mut tool["inputSchema"];
    if schema["properties"].get(argument).is_none() {
        schema["properties"][argument] = json!({ "type": "string" });
    }
    schema["required"].as_array_mut().expect("a list").push(argument.into());
}

/// Returns the snapshot of a server. `None` if Node is not installed.
fn snapshot(server: &str, arguments: &[&str]) -> Option<String> {
    let command = command(server, arguments)?;
    let command: Vec<&str> = ["snapshot", "--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    let answer = run(&command);
    assert_eq!(answer.code, Some(0), "{server}: {}", answer.err);
    Some(answer.out)
}

/// Compares two snapshots. Returns the rules that found something, and the worst verdict.
fn judge(old: &str, new: &str) -> (Vec<&'static str>, Verdict) {
    let read = |text: &str| Snapshot::parse("snapshot.json", text.as_bytes()).expect("a snapshot");
    let findings = diff(&read(old), &read(new)).findings;
    let findings: Vec<_> = findings.into_iter().filter(|it| it.rule.concerns(&Axis::LISTS)).collect();
    let worst = findings.iter().map(|finding| finding.verdicts.worst(&Axis::LISTS)).max();
    (findings.iter().map(|finding| finding.rule.id()).collect(), worst.unwrap_or(Compatible))
}

#[test]
fn changes_of_published_servers_are_judged_as_a_knowing_person_would() {
    for (server, arguments) in SERVERS {
        let Some(old) = snapshot(server, arguments) else { return };
        // A server that has not changed has the same snapshot.
        assert_eq!(snapshot(server, arguments).as_ref(), Some(&old), "{server}");
        assert_eq!(judge(&old, &old), (Vec::new(), Compatible), "{server}");
        let lists: Value = serde_json::from_str(&old).expect("JSON");
        for (at, tool) in lists["tools"].as_array().expect("tools").iter().enumerate() {
            let mut fewer = lists.clone();
            fewer["tools"].as_array_mut().expect("tools").remove(at);
            let fewer = fewer.to_string();
            assert_eq!(judge(&old, &fewer), (vec!["tool-removed"], Breaking), "{server}: {}", tool["name"]);
            assert_eq!(judge(&fewer, &old), (vec!["tool-added"], Compatible), "{server}: {}", tool["name"]);
        }
        for change in CHANGES.iter().filter(|change| change.server == server) {
            let mut new = lists.clone();
            let tools = new["tools"].as_array_mut().expect("tools");
            let tool = tools.iter_mut().find(|tool| tool["name"] == change.tool).expect("the tool");
            (change.edit)(tool);
            let (rules, verdict) = judge(&old, &new.to_string());
            let subject = format!("{server} {}: {rules:?} {verdict:?}", change.tool);
            assert!(rules.contains(&change.rule), "{} did not find the change of {subject}", change.rule);
            assert_eq!(verdict, change.verdict, "{subject}");
        }
    }
}

/// A server that is killed when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts server-everything over HTTP+SSE, and returns its URL.
fn start_sse_server() -> Option<(Running, String)> {
    let command = command("everything", &["sse"])?;
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
    let mut server = Command::new(&command[0]);
    server.args(&command[1..]).env("PORT", free.port().to_string()).stdout(Stdio::null()).stderr(Stdio::null());
    let server = Running(server.spawn().expect("node runs"));
    let deadline = Instant::now() + Duration::from_secs(30);
    while TcpStream::connect(free).is_err() {
        assert!(Instant::now() < deadline, "the server does not listen on {free}");
        thread::sleep(Duration::from_millis(50));
    }
    Some((server, format!("http://{free}/sse")))
}

#[test]
fn each_command_falls_back_to_http_sse() {
    let Some((_server, url)) = start_sse_server() else { return };
    for (arguments, part) in [
        (&["ping"][..], "ok mcp-servers/everything"),
        (&["list", "--only", "tools"], "  echo "),
        (&["call", "get-sum", "--arg", "a=1", "--arg", "b=2"], "The sum of 1 and 2 is 3.\n"),
        (&["call", "simulate-research-query", "--arg", "topic=MCP"], "# Research Report: MCP\n"),
        (&["read", "demo://resource/static/document/features.md"], "## Tools\n"),
        (&["prompt", "args-prompt", "--arg", "city=Paris"], "What's weather in Paris?\n"),
    ] {
        let answer = run(&[arguments, &[&url]].concat());
        assert_eq!(answer.code, Some(0), "{arguments:?}: {}", answer.err);
        assert!(answer.out.contains(part), "{arguments:?}: {part:?} is not in:\n{}", answer.out);
    }
    let answer = run(&["snapshot", &url]);
    assert_eq!(Some(answer.out), snapshot("everything", &[]), "{}", answer.err);
    let home = tempfile::tempdir().expect("a folder");
    let log = home.path().join("log");
    let watch = [env!("CARGO_BIN_EXE_mcpgen-probe"), "watch", "--log", log.to_str().expect("UTF-8"), &url];
    let answer = run(&[&["call", "echo", "--arg", "message=hello", "--"], &watch[..]].concat());
    assert_eq!((answer.code, answer.out.as_str()), (Some(0), "Echo: hello\n"), "{}", answer.err);
    let log = std::fs::read_to_string(log).expect("a log");
    assert!(log.contains("(the server supports only HTTP+SSE)") && !log.contains("invalid"), "{log}");
}

/// All messages of published servers match the schema.
#[test]
fn watch_finds_nothing_wrong_with_published_servers() {
    for (server, arguments) in SERVERS {
        let Some(command) = command(server, arguments) else { return };
        let home = tempfile::tempdir().expect("a folder");
        let log = home.path().join("log");
        let watch = [env!("CARGO_BIN_EXE_mcpgen-probe"), "watch", "--log", log.to_str().expect("UTF-8"), "--"];
        let all: Vec<&str> = watch.into_iter().chain(command.iter().map(String::as_str)).collect();
        let answer = run(&[&["list", "--"], &all[..]].concat());
        assert_eq!(answer.code, Some(0), "{server}: {}", answer.err);
        let log = std::fs::read_to_string(log).expect("a log");
        assert!(log.contains("server → response tools/list") && !log.contains("invalid"), "{server}: {log}");
    }
}
