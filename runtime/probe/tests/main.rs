//! Runs the command against a server over standard input and output, and over HTTP.

#[cfg(feature = "login")]
#[allow(dead_code, reason = "the tests of mcpgen-auth use the rest")]
#[path = "../../auth/tests/authorization_server.rs"]
mod authorization_server;
mod faults;
#[cfg(feature = "login")]
mod login;
#[cfg(target_os = "linux")]
mod processes;
mod published;
mod support;
#[cfg(unix)]
mod terminal;

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};
use support::{HttpServer, probe, run, server};

/// A command with its arguments, except the server.
struct Case {
    arguments: &'static [&'static str],
    code: i32,
    /// What standard output contains.
    out: &'static [&'static str],
    /// What standard error contains.
    err: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        arguments: &["list"],
        code: 0,
        out: &["tools (5)\n", "  add    Returns the sum of two numbers.\n", "resources (2)\n", "prompts (1)\n"],
        err: &[],
    },
    Case { arguments: &["list", "--only", "templates"], code: 0, out: &["resource templates (0)\n"], err: &[] },
    Case { arguments: &["list", "--only", "prompts"], code: 0, out: &["prompts (1)\n  explain\n"], err: &[] },
    Case { arguments: &["list", "--only", "tools", "--format", "json"], code: 0, out: &["\"tools\": ["], err: &[] },
    Case { arguments: &["call", "add", "--arg", "a=1", "--arg", "b=2.5"], code: 0, out: &["3.5\n"], err: &[] },
    Case { arguments: &["call", "add", "--json", r#"{"a": 1, "b": 2}"#], code: 0, out: &["3\n"], err: &[] },
    Case { arguments: &["call", "steps", "--format", "json"], code: 0, out: &["\"text\": \"finished\""], err: &[] },
    // The server's text cannot change the terminal.
    Case {
        arguments: &["call", "fail"],
        code: 1,
        out: &["it is broken \\u{1b}[31m\n"],
        err: &["error: the tool `fail` failed"],
    },
    Case {
        arguments: &["call", "nothing"],
        code: 1,
        out: &[],
        err: &["error: tools/call: the server responded with error"],
    },
    Case {
        arguments: &["call", "add", "--json", "[]"],
        code: 2,
        out: &[],
        err: &["error: --json is not a JSON object, but an array; write {\"NAME\": VALUE}"],
    },
    Case { arguments: &["call", "add", "--arg", "a"], code: 2, out: &[], err: &["expected NAME=VALUE"] },
    Case {
        arguments: &["call", "erase", "--answer", "delete=true"],
        code: 0,
        out: &["accept", "\"delete\":true"],
        err: &[],
    },
    Case {
        arguments: &["call", "erase", "--answer", "delete=false", "--answer", "reason=1", "--revision", "2025-11-25"],
        code: 0,
        out: &["\"delete\":false", "\"reason\":\"1\""],
        err: &[],
    },
    // The client cancels the question, so the tool still gets a response.
    Case {
        arguments: &["call", "erase", "--answer", "reason=x"],
        code: 2,
        out: &["cancel"],
        err: &["error: the server asks \"Delete the note?\"; answer it with --answer delete=VALUE (a boolean)\n"],
    },
    Case {
        arguments: &["call", "erase", "--answer", "delete=maybe"],
        code: 2,
        out: &[],
        err: &["error: --answer delete: the question \"Delete the note?\" expects a boolean, found \"maybe\"\n"],
    },
    Case {
        arguments: &["call", "add", "--json", r#"{"a": 1, "b": 2}"#, "--answer", "delete=true"],
        code: 0,
        out: &["3\n"],
        err: &["warning: --answer delete: the server asked no question with this field\n"],
    },
    Case { arguments: &["call", "erase"], code: 1, out: &[], err: &["elicitation"] },
    Case {
        arguments: &["call", "erase", "--answer", "delete=true", "--answer", "delete=false"],
        code: 2,
        out: &[],
        err: &["error: --answer delete is given twice"],
    },
    Case {
        arguments: &["call", "add", "--arg", "a=1", "--arg", "a=2"],
        code: 2,
        out: &[],
        err: &["error: --arg a is given twice"],
    },
    Case {
        arguments: &["prompt", "explain", "--arg", "topic=a", "--arg", "topic=b"],
        code: 2,
        out: &[],
        err: &["error: --arg topic is given twice"],
    },
    Case {
        arguments: &["call", "sleep", "--timeout", "1.5"],
        code: 3,
        out: &[],
        err: &["error: no response within 1.5s (tools/call: sleep); set a longer --timeout"],
    },
    Case { arguments: &["read", "test:///text"], code: 0, out: &["some text\n"], err: &[] },
    Case {
        arguments: &["read", "test:///bytes"],
        code: 0,
        out: &["[content ", "test:///bytes", " 4 bytes]"],
        err: &[],
    },
    Case { arguments: &["read", "test:///missing"], code: 1, out: &[], err: &["error: resources/read: "] },
    Case {
        arguments: &["prompt", "explain", "--arg", "topic=MCP"],
        code: 0,
        out: &["user:\nExplain MCP.\n"],
        err: &[],
    },
    Case { arguments: &["prompt", "missing"], code: 1, out: &[], err: &["error: prompts/get: "] },
    Case {
        arguments: &["ping"],
        code: 0,
        out: &["ok probe-server 1.2.3, revision 2026-07-28, ", "capabilities: "],
        err: &[],
    },
    Case { arguments: &["ping", "--format", "json"], code: 0, out: &["\"revision\": \"2026-07-28\""], err: &[] },
    Case { arguments: &["ping", "--revision", "2025-11-25"], code: 0, out: &["revision 2025-11-25"], err: &[] },
    Case { arguments: &["ping", "--revision", "2024-11-05"], code: 0, out: &["revision 2024-11-05"], err: &[] },
    Case { arguments: &["ping", "--revision", "2026-07-28"], code: 0, out: &["revision 2026-07-28"], err: &[] },
    Case { arguments: &["ping", "--revision", "yesterday"], code: 2, out: &[], err: &["yesterday"] },
];

#[test]
fn each_command_works_over_both_transports() {
    let http = HttpServer::start();
    for Case { arguments, code, out, err } in CASES {
        for target in [&[http.url.as_str()][..], &["--", &server()]] {
            let arguments = [arguments, target].concat();
            let answer = run(&arguments);
            let (stdout, stderr) = (&answer.out, &answer.err);
            assert_eq!(answer.code, Some(*code), "{arguments:?}\n{stdout}\n{stderr}");
            out.iter().for_each(|part| assert!(stdout.contains(part), "{arguments:?}: {part:?} is not in:\n{stdout}"));
            err.iter().for_each(|part| assert!(stderr.contains(part), "{arguments:?}: {part:?} is not in:\n{stderr}"));
            assert!(!stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'), "colours are only for terminals");
        }
    }
}

/// Commands, with the exit code of each for a hostile server.
const HOSTILE: [(&[&str], i32); 16] = [
    (&["list"], 0),
    (&["list", "--format", "json"], 0),
    (&["call", "ok"], 0),
    (&["call", "ok", "--format", "json"], 0),
    (&["call", "structured"], 0),
    (&["call", "failed"], 1),
    (&["call", "malformed"], 0),
    (&["call", "unknown"], 1),
    (&["read", "test:x"], 0),
    (&["read", "test:x", "--format", "json"], 0),
    (&["prompt", "ok"], 0),
    (&["prompt", "ok", "--format", "json"], 0),
    (&["prompt", "unknown"], 1),
    (&["ping"], 0),
    (&["ping", "--format", "json"], 0),
    (&["snapshot"], 0),
];

#[test]
fn a_server_controls_neither_the_terminal_nor_the_log() {
    let server = [&server(), "--hostile"].map(str::to_owned);
    let check = |arguments: &[&str], text: &str| {
        let is_hidden = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202e}' | '\u{200b}');
        assert!(!text.contains(is_hidden) && !text.contains("##["), "{arguments:?}: {text:?}");
        assert!(!text.lines().any(|line| line.trim_start().starts_with("::")), "{arguments:?}: {text}");
    };
    for (arguments, code) in HOSTILE {
        let answer = run(&[arguments, &["--", &server[0], &server[1]]].concat());
        assert_eq!(answer.code, Some(code), "{arguments:?}: {}", answer.err);
        check(arguments, &answer.out);
        check(arguments, &answer.err);
        assert!(answer.err.lines().all(|line| line.starts_with("error: ") || line.starts_with("  ")), "{}", answer.err);
        if arguments.contains(&"json") || arguments == ["snapshot"] {
            let value: Value = serde_json::from_str(&answer.out).expect("JSON");
            assert!(value.to_string().contains("\u{202e}"), "the JSON is the server's: {value}");
        }
    }
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let unknown = json!({ "jsonrpc": "2.0", "id": 3, "method": "\u{9b}\n::x" });
    let answer = watch(&["--full", "--", &server[0], &server[1]], &[initialize("2025-06-18"), list, unknown]);
    check(&["watch"], &answer.err);
}

const MISSING: &str = "error: cannot start `no-such-program-anywhere`; install it or add its directory to PATH: ";

#[test]
fn reports_unreachable_servers_and_wrong_usage() {
    for (arguments, code, part) in [
        (&["ping", "http://127.0.0.1:1/mcp"][..], 3, "error: cannot connect to http://127.0.0.1:1/mcp: "),
        (&["ping", "./server"], 2, "to start a server, write `-- COMMAND`"),
        (&["call", "add", "{\"a\":1}", "--", "true"], 2, "pass the arguments of a tool with --json"),
        (&["snapshot", "--check", "missing.json", "--", &server()], 2, "use --output instead of --check"),
        (&["ping", "--", "no-such-program-anywhere"], 3, MISSING),
        (&["watch", "--", "no-such-program-anywhere"], 3, MISSING),
        (&["ping", "--", "false"], 3, "error: the server `false` exited with status 1 before it responded to `"),
        (&["ping"], 2, "URL"),
        (&["ping", "--header", "A: b", "--", "true"], 2, "--header and --login need a URL"),
    ] {
        let answer = run(arguments);
        assert_eq!(answer.code, Some(code), "{arguments:?}: {}", answer.err);
        assert!(answer.err.contains(part), "{arguments:?}: {}", answer.err);
        assert_eq!(answer.out, "");
        says_each_thing_once(&answer.err);
    }
}

/// An error message must not repeat anything, such as the server's URL or a cause.
#[track_caller]
fn says_each_thing_once(message: &str) {
    let parts = message.split(['`', ';', '(', ')']).flat_map(|part| part.split(": ")).map(str::trim);
    let parts: Vec<&str> = parts.filter(|part| part.len() > 10).collect();
    for (at, part) in parts.iter().enumerate() {
        assert!(!parts[..at].contains(part), "{part:?} is there twice: {message}");
    }
}

#[test]
fn sends_headers() {
    let http = HttpServer::start();
    let answer = run(&["ping", &http.url, "--header", "Authorization: Bearer secret", "--header", "X-A: b"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let answer = run(&["ping", &http.url, "--header", "no colon"]);
    assert!(answer.code == Some(2) && answer.err.contains("expected NAME: VALUE"), "{}", answer.err);
}

#[test]
fn writes_blobs_to_files() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("bytes");
    let answer = run(&["read", "test:///bytes", "--output", file.to_str().expect("UTF-8"), "--", &server()]);
    assert_eq!((answer.code, answer.out.as_str()), (Some(0), ""), "{}", answer.err);
    assert_eq!(std::fs::read(file).expect("a file"), [0, 159, 146, 150]);
}

#[test]
fn snapshots_are_stable_and_can_be_checked() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("tools.json");
    let path = file.to_str().expect("UTF-8");
    let snapshot = |more: &[&str]| run(&[&["snapshot"], more, &["--", &server()]].concat());
    assert_eq!(snapshot(&["--output", path]).code, Some(0));
    let text = std::fs::read_to_string(&file).expect("a snapshot");
    assert_eq!(snapshot(&[]).out, text);
    // The same lists over HTTP, and in another revision.
    let http = HttpServer::start();
    assert_eq!(run(&["snapshot", &http.url]).out, text);
    let lists: Value = serde_json::from_str(&text).expect("JSON");
    let names: Vec<&str> =
        lists["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["add", "erase", "fail", "sleep", "steps"]);
    assert!(text.contains("\"a\": {\n            \"type\": \"number\"\n          },\n          \"b\""), "{text}");
    assert_eq!(snapshot(&["--check", path]).code, Some(0));
    std::fs::write(&file, text.replace("Returns the sum", "Gives the sum")).expect("written");
    let answer = snapshot(&["--check", path]);
    assert!(answer.code == Some(1) && answer.err.contains("run `mcpgen diff --tools"), "{}", answer.err);
    assert!(answer.err.contains("tool \"add\": /description: \"Gives the sum"), "{}", answer.err);
}

/// Sends lines to `watch`, and returns what it writes.
fn watch(arguments: &[&str], messages: &[Value]) -> support::Answer {
    let mut child = probe(&[&["watch"], arguments].concat()).stdin(Stdio::piped()).spawn().expect("the command runs");
    let mut input = child.stdin.take().expect("a pipe");
    for message in messages {
        writeln!(input, "{message}").expect("written");
        // The server responds before its input is closed.
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    drop(input);
    child.wait_with_output().expect("it exits").into()
}

fn initialize(revision: &str) -> Value {
    let client = json!({ "name": "test", "version": "0" });
    let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

#[test]
fn watch_relays_and_describes_messages() {
    let http = HttpServer::start();
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let call = json!({ "jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": { "name": "add", "arguments": { "a": 1, "b": 2 } } });
    let messages = [initialize("2025-06-18"), initialized, call];
    for target in [&["--", &server()][..], &[http.url.as_str()]] {
        let answer = watch(target, &messages);
        assert_eq!(answer.code, Some(0), "{target:?}: {}", answer.err);
        let responses: Vec<Value> =
            answer.out.lines().map(|line| serde_json::from_str(line).expect("a message")).collect();
        assert_eq!(responses.len(), 2, "{}", answer.out);
        assert_eq!(responses[1]["result"]["content"][0]["text"], "3");
        for part in [
            "client → request initialize #1 [2025-06-18]",
            "server → response initialize #1 [2025-06-18]",
            "client → notification notifications/initialized [2025-06-18]",
            "client → request tools/call add #x [2025-06-18]",
            "server → response tools/call #x [2025-06-18]",
        ] {
            assert!(answer.err.replace("\"x\"", "x").contains(part), "{part:?} is not in:\n{}", answer.err);
        }
        assert!(!answer.err.contains("invalid") && !answer.err.contains('\u{1b}'), "{}", answer.err);
    }
}

#[test]
fn watch_reports_messages_that_do_not_match_the_schema() {
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let invalid = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": 7 } });
    let unknown = json!({ "jsonrpc": "2.0", "id": 4, "method": "x/y" });
    let server = [&server(), "--broken"].map(str::to_owned);
    let answer = watch(&["--full", "--", &server[0], &server[1]], &[initialize("2025-06-18"), list, invalid, unknown]);
    for part in [
        "client → request tools/list #2 [2025-06-18]\n",
        "server → response tools/list #2 [2025-06-18]\n          invalid: ",
        "tools/0/inputSchema",
        "client → request tools/call #3 [2025-06-18]\n          invalid: ",
        "params/name",
        "client → request x/y #4 [2025-06-18] (the schema has no such method)\n",
    ] {
        let plain = answer
            .err
            .replace("tools.0.", "tools/0/")
            .replace("tools[0].", "tools/0/")
            .replace("params.name", "params/name");
        assert!(plain.contains(part), "{part:?} is not in:\n{}", answer.err);
    }
    assert_eq!(answer.code, Some(1), "{}", answer.err);
    assert!(answer.err.contains("error: 3 invalid messages"), "{}", answer.err);
    // `--full` shows the messages.
    assert!(answer.err.lines().any(|line| line.starts_with("    {") && line.contains("tools/list")), "{}", answer.err);
    // All messages were relayed.
    assert_eq!(answer.out.lines().count(), 4, "{}", answer.out);
}

/// The messages of a modern connection, as the client and the server send them.
fn modern() -> Vec<(&'static str, Value)> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "c", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let complete = json!({ "resultType": "complete", "content": [{ "type": "text", "text": "3" }] });
    let asks = json!({ "resultType": "input_required", "requestState": "s" });
    let call = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "add", "arguments": {}, "_meta": meta } });
    let progress = json!({ "progressToken": 1, "progress": 1 });
    vec![
        ("client", call(1)),
        ("server", json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": progress })),
        ("server", json!({ "jsonrpc": "2.0", "id": 1, "result": asks })),
        ("client", call(2)),
        ("client", json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } })),
        ("server", json!({ "jsonrpc": "2.0", "id": 2, "result": complete })),
        ("server", json!({ "jsonrpc": "2.0", "id": 9, "error": { "code": 1, "message": "no" } })),
        ("server", json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": 7 } })),
    ]
}

/// What `watch` and `trace` show of these messages.
const MODERN: [&str; 8] = [
    "client → request tools/call add #1 [2026-07-28]\n",
    "server → notification notifications/progress [2026-07-28]\n",
    "server → response tools/call #1 [2026-07-28] (input_required)\n",
    "client → request tools/call add #2 [2026-07-28]\n",
    "client → notification notifications/cancelled [2026-07-28]\n",
    "server → response tools/call #2 [2026-07-28] (complete)\n",
    "server → error #9 [2026-07-28] (1: no)\n",
    "server → notification notifications/message [2026-07-28]\n          invalid: ",
];

#[test]
fn watch_shows_the_revision_and_the_result_type_of_each_message() {
    // A server that writes its messages once all three messages of the client have arrived.
    let server: String =
        modern().iter().filter(|(sender, _)| *sender == "server").map(|(_, it)| format!("{it}\n")).collect();
    let client: Vec<_> = modern().into_iter().filter(|(sender, _)| *sender == "client").map(|(_, it)| it).collect();
    let answer = watch(
        &["--", "sh", "-c", r#"read l; read l; read l; printf '%s' "$1"; cat >/dev/null"#, "sh", &server],
        &client,
    );
    for part in MODERN {
        assert!(answer.err.contains(part), "{part:?} is not in:\n{}", answer.err);
    }
    assert_eq!(answer.code, Some(1), "{}", answer.err);
}

#[test]
fn trace_reads_captured_logs() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("log");
    let line = |format: fn(&str, &Value) -> String| -> String {
        modern().iter().map(|(sender, message)| format(sender, message) + "\n").collect()
    };
    for log in [
        line(|_, message| message.to_string()),
        line(|sender, message| format!("2026-01-01T00:00:00Z [server] [info] Message from {sender}: {message}")),
        line(|sender, message| format!("note\n    0.412 {sender} → request x #3 [2025-11-25]\n    {message}")),
        line(|sender, message| json!({ "time": 1, "direction": sender, "message": message }).to_string()),
        line(|sender, message| json!({ "from": sender, "line": message.to_string() }).to_string()),
    ] {
        std::fs::write(&file, &log).expect("written");
        let answer = run(&["trace", file.to_str().expect("UTF-8")]);
        for part in MODERN {
            assert!(answer.out.contains(part), "{part:?} is not in:\n{}\nfor\n{log}", answer.out);
        }
        assert_eq!((answer.code, answer.err.as_str()), (Some(1), "error: 1 invalid message\n"), "{log}");
    }
    // The output of `watch --full` is itself a log that `trace` can read.
    let hidden = json!({ "note": "a\u{200b}\u{feff} ##[b]" });
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": hidden });
    let path = file.to_str().expect("UTF-8");
    watch(&["--log", path, "--full", "--", &server()], &[initialize("2025-06-18"), list]);
    let answer = run(&["trace", path]);
    for part in ["client → request initialize #1 [2025-06-18]\n", "server → response tools/list #2 [2025-06-18]\n"]
    {
        assert!(answer.out.contains(part), "{part:?} is not in:\n{}", answer.out);
    }
    assert_eq!((answer.code, answer.err.as_str()), (Some(0), ""), "{}", answer.out);
    // The output shows the line number of each message.
    assert!(answer.out.starts_with("        2 client"), "{}", answer.out);
    std::fs::write(&file, "started\n").expect("written");
    for (file, part) in
        [(path, "has no messages; each must be JSON on one line"), ("no-such-file", "error: reading no-such-file: ")]
    {
        let answer = run(&["trace", file]);
        assert!(answer.code == Some(2) && answer.err.contains(part), "{}", answer.err);
    }
}

/// A line that is not a message is quoted, and the count uses the singular.
#[test]
fn watch_quotes_what_is_not_a_message() {
    for (line, quoted) in [
        ("server started", "\"server started\""),
        (r#"{"level":"info"}"#, r#""{\"level\":\"info\"}""#),
        ("\u{1b}[31m", "\"\\u{1b}[31m\""),
        (&"x".repeat(5000), &format!("{:?}…", "x".repeat(80))),
    ] {
        let answer = watch(&["--", "printf", "%s\\n", line], &[]);
        let stderr = &answer.err;
        assert!(stderr.contains("invalid: ") && stderr.contains(&format!(": {quoted}\n")), "{quoted}:\n{stderr}");
        assert!(answer.code == Some(1) && stderr.contains("error: 1 invalid message\n"), "{stderr}");
    }
}

#[test]
fn watch_pairs_responses_with_requests() {
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let responses = [
        json!({ "jsonrpc": "2.0", "id": 5, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 6, "error": { "code": 1, "message": "no" } }),
    ];
    let messages = [&[initialize("2025-06-18"), list][..], &responses].concat();
    // A server that never responds.
    let answer = watch(&["--", "sh", "-c", "cat > /dev/null"], &messages);
    for part in [
        "client → request tools/list #1 (no revision was negotiated)\n          invalid: another request without a response has this ID\n",
        "client → response #5 (no request without a response has this ID)\n",
        "client → error #6 (1: no)\n",
        "client → request initialize #1 [2025-06-18] (has no response)\n",
        "client → request tools/list #1 (has no response)\n",
    ] {
        assert!(answer.err.contains(part), "{part:?} is not in:\n{}", answer.err);
    }
    assert_eq!(answer.code, Some(1), "{}", answer.err);
}

#[test]
fn prints_manual_pages_and_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let answer = run(&["completions", shell]);
        assert!(answer.code == Some(0) && answer.out.contains("snapshot"), "{shell}: {}", answer.err);
        // The scripts for the other shells do not complete the values of options.
        let has_values = ["bash", "zsh", "fish"].contains(&shell);
        assert_eq!(answer.out.contains("2025-11-25"), has_values, "{shell}: {}", answer.out);
    }
    let script = run(&["completions", "bash"]).out
        + "COMP_WORDS=(mcpgen-probe ping --revision 2025)\nCOMP_CWORD=3\n\
        _mcpgen__probe mcpgen-probe 2025 --revision\necho \"${COMPREPLY[*]}\"";
    let answer =
        std::process::Command::new("bash").args(["--norc", "-c", &script]).output().expect("bash is installed");
    assert_eq!(String::from_utf8_lossy(&answer.stdout).trim(), "2025-03-26 2025-06-18 2025-11-25");
    for command in ["list", "call", "read", "prompt", "snapshot", "ping", "watch", "trace", "completions", "man"] {
        let answer = run(&["man", command]);
        assert!(answer.code == Some(0) && answer.out.contains("Example"), "{command}: {}", answer.err);
    }
    let answer = run(&["man", "nothing"]);
    assert!(answer.code == Some(2) && answer.err.contains("there is no command `nothing`"), "{}", answer.err);
}

/// Runs the README's commands that are marked as tests, with the server of the tests.
#[test]
fn the_readme_runs_as_it_stands() {
    let home = tempfile::tempdir().expect("a folder");
    let readme = include_str!("../README.md");
    let (_, rest) = readme.split_once("<!-- test -->\n```sh\n").expect("commands");
    let (commands, _) = rest.split_once("```").expect("the end");
    for line in commands.lines().filter(|line| line.starts_with("mcpgen-probe ")) {
        let line = line.replace("npx -y @modelcontextprotocol/server-everything", &server());
        let bin = std::path::Path::new(env!("CARGO_BIN_EXE_mcpgen-probe"));
        let line = line.replace("mcpgen-probe ", &format!("{} ", bin.display()));
        let output = std::process::Command::new("sh").args(["-ec", &line]).current_dir(home.path()).output();
        let output = output.expect("sh runs");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(home.path().join("tools.json").is_file());
}
