//! Runs the command against faulty servers: it says what is wrong, and keeps what is right.

use serde_json::Value;

use crate::support::{run, server};
use crate::{Case, says_each_thing_once};

const CASES: &[(&str, Case)] = &[
    (
        "invalid-items",
        Case {
            arguments: &["list"],
            code: 0,
            out: &["tools (5)\n", "  echo\n", "  no schema\n", "resources (0)\n"],
            err: &[
                "warning: tools/list: tool \"null\\u{1b}\": /description: expected string, found null\n",
                "warning: tools/list: tool \"null\\u{1b}\": /title: expected string, found number\n",
                "warning: tools/list: tool \"no schema\": /inputSchema: missing required member\n",
                "warning: tools/list: tool 3: /name: missing required member\n",
                "warning: tools/list: tool 4: expected object, found number\n",
            ],
        },
    ),
    (
        "no-hints",
        Case {
            arguments: &["list"],
            code: 0,
            out: &["tools (1)\n"],
            err: &["warning: tools/list: /ttlMs: missing required member\n"],
        },
    ),
    // Tools with arguments that no header can repeat.
    (
        "invalid-headers",
        Case {
            arguments: &["list"],
            code: 0,
            out: &[
                "  valid    Does it.\n  number   Does it.\n      hidden from clients over HTTP: x-mcp-header of \"a\": the argument must be",
                "  empty    Does it.\n      hidden from clients over HTTP: x-mcp-header of \"a\": must not be empty\n",
                "  token    Does it.\n      hidden from clients over HTTP: ",
                "  no text  Does it.\n      hidden from clients over HTTP: ",
                "  nested   Does it.\n      hidden from clients over HTTP: ",
            ],
            err: &[],
        },
    ),
    (
        "invalid-headers",
        Case {
            arguments: &["list", "--format", "json"],
            code: 0,
            out: &["\"name\": \"number\""],
            err: &[
                "warning: tool \"number\": hidden from clients over HTTP: x-mcp-header of \"a\": ",
                "warning: tool \"nested\": ",
            ],
        },
    ),
    (
        "digits",
        Case {
            arguments: &["call", "echo", "--arg", "other=1"],
            code: 0,
            out: &["  \"n\": 12345678901234567890123\n"],
            err: &[],
        },
    ),
    // Failures with the same cause are reported as one error.
    (
        "all-fail",
        Case {
            arguments: &["list"],
            code: 1,
            out: &[],
            err: &[
                "error: tools/list, resources/list, resources/templates/list: the server responded with error -32603: the disk is full\n",
            ],
        },
    ),
    // A faulty list does not hide the others.
    (
        "resources-fail",
        Case {
            arguments: &["list"],
            code: 1,
            out: &["tools (1)\n", "resource templates (0)\n"],
            err: &["error: resources/list: the server responded with error -32603: the disk is full\n"],
        },
    ),
    (
        "resources-fail",
        Case {
            arguments: &["snapshot"],
            code: 1,
            out: &["\"tools\": [", "\"resourceTemplates\": ["],
            err: &["error: resources/list: the server responded with error -32603: the disk is full\n"],
        },
    ),
    (
        "tools-fail",
        Case {
            arguments: &["list", "--format", "json", "--only", "tools,resources,prompts"],
            code: 1,
            out: &["\"resources\": []"],
            err: &["error: tools/list: ", "error: prompts/list: the server has no prompts\n"],
        },
    ),
    (
        "resources-hang",
        Case {
            arguments: &["list", "--timeout", "4"],
            code: 3,
            out: &["tools (1)\n"],
            err: &[
                "error: no response within 4s (resources/list: page 1, 0 resources); set a longer --timeout; its last output on \
                    stderr was: the database is locked\n",
            ],
        },
    ),
    // An error names what the command waits for, and quotes the server.
    (
        "call-hangs",
        Case {
            arguments: &["call", "echo", "--timeout", "4"],
            code: 3,
            out: &[],
            err: &[
                "(tools/call: echo); set a longer --timeout; its last output on stderr was: the database is locked\n",
            ],
        },
    ),
    (
        "silent-start",
        Case {
            arguments: &["ping", "--revision", "2025-06-18", "--timeout", "4"],
            code: 3,
            out: &[],
            err: &["a response to `initialize`", "; its last output on stderr was: the database is locked\n"],
        },
    ),
    (
        "chatty",
        Case {
            arguments: &["ping"],
            code: 0,
            out: &["ok chatty 0"],
            err: &[
                "warning: the server wrote a line to stdout that is not a message: \"[info] \\u{1b}listening\" (servers must \
                    log to stderr)\n",
            ],
        },
    ),
    // The server supports only 2025-06-18.
    (
        "old",
        Case {
            arguments: &["ping", "--revision", "2024-11-05"],
            code: 3,
            out: &[],
            err: &[" speaks revision 2025-06-18, not 2024-11-05; use --revision 2025-06-18, or leave it out\n"],
        },
    ),
    (
        "old",
        Case {
            arguments: &["ping", "--revision", "2026-07-28"],
            code: 3,
            out: &[],
            err: &[" speaks revision 2025-06-18, not 2026-07-28"],
        },
    ),
    ("old", Case { arguments: &["ping", "--revision", "2025-06-18"], code: 0, out: &["ok old"], err: &[] }),
    (
        "no-hints",
        Case {
            arguments: &["ping", "--revision", "2025-06-18"],
            code: 3,
            out: &[],
            err: &[" speaks revision 2026-07-28, not 2025-06-18"],
        },
    ),
    // The tool's schema decides the type of an argument.
    (
        "none",
        Case {
            arguments: &[
                "call", "echo", "--arg", "title=1", "--arg", "count=1", "--arg", "deep={}", "--arg", "other=1",
            ],
            code: 0,
            out: &[r#""title":"1""#, r#""count":1"#, r#""deep":{}"#, r#""other":1"#],
            err: &[],
        },
    ),
    (
        "none",
        Case {
            arguments: &["call", "echo", "--arg", "count=many"],
            code: 2,
            out: &[],
            err: &["error: --arg count: the tool `echo` expects an integer, found \"many\"; "],
        },
    ),
    ("none", Case { arguments: &["call", "gone", "--arg", "a=1"], code: 0, out: &["{\"a\":1}"], err: &[] }),
    (
        "tools-fail",
        Case {
            arguments: &["call", "echo", "--arg", "title=1"],
            code: 0,
            out: &["{\"title\":1}"],
            err: &["warning: tools/list: ", "the types of the arguments are a guess\n"],
        },
    ),
];

#[test]
fn says_what_is_wrong_and_keeps_what_is_right() {
    let mut failures = String::new();
    for (fault, Case { arguments, code, out, err }) in CASES {
        let answer = run(&[arguments, &["--", &server(), "--faulty", fault][..]].concat());
        let (stdout, stderr) = (&answer.out, &answer.err);
        let is_right = answer.code == Some(*code)
            && out.iter().all(|part| stdout.contains(part))
            && err.iter().all(|part| stderr.contains(part))
            // Nothing else is reported.
            && err.is_empty() == stderr.is_empty()
            && !stderr.contains('\u{1b}');
        if !is_right {
            failures += &format!("{fault} {arguments:?}: {:?}\n{stdout}\n{stderr}\n", answer.code);
        }
        stderr.lines().for_each(says_each_thing_once);
    }
    assert!(failures.is_empty(), "{failures}");
}

/// `mcpgen` reads the valid items in the snapshot of a server whose lists do not match the schema.
#[test]
fn snapshots_of_invalid_lists_can_be_used() {
    let answer = run(&["snapshot", "--", &server(), "--faulty", "invalid-items"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert!(answer.err.contains("tool \"no schema\": /inputSchema: missing required member"), "{}", answer.err);
    let home = tempfile::tempdir().expect("a folder");
    let bindings = mcpgen::Bindings::parse("tools.json", answer.out.as_bytes()).expect("a readable snapshot");
    let written = bindings.write_to(home.path().join("out")).expect("bindings");
    assert_eq!((written.tools, written.skipped.len()), (2, 3), "{:?} {:?}", written.skipped, written.notes);
    assert!(written.skipped.iter().any(|why| why.starts_with("no schema: skipped: ")), "{:?}", written.skipped);
    assert!(written.notes.iter().any(|note| note.contains("/description")), "{:?}", written.notes);
}

/// A server of 2026-07-28 may respond to a request for a list that it does not declare.
#[test]
fn snapshots_have_no_lists_that_are_not_declared() {
    let answer = run(&["snapshot", "--", &server(), "--faulty", "no-hints"]);
    let lists: Value = serde_json::from_str(&answer.out).expect("JSON");
    assert_eq!(lists.as_object().expect("lists").keys().collect::<Vec<_>>(), ["tools"]);
}

#[test]
fn a_failed_check_names_what_differs() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("tools.json");
    let path = file.to_str().expect("UTF-8");
    let snapshot =
        |fault: &str, more: &[&str]| run(&[&["snapshot"], more, &["--", &server(), "--faulty", fault]].concat());
    assert_eq!(snapshot("random", &["--output", path]).code, Some(0));
    let answer = snapshot("random", &["--check", path]);
    assert_eq!(answer.code, Some(1), "{}", answer.err);
    assert!(answer.err.contains("tool \"echo\": /description: \"Process "), "{}", answer.err);
    assert!(answer.err.contains("\" is now \"Process "), "{}", answer.err);
    // A list that cannot be read does not count as different.
    assert_eq!(snapshot("none", &["--output", path]).code, Some(0));
    let answer = snapshot("resources-fail", &["--check", path]);
    assert!(answer.code == Some(1) && !answer.err.contains("differ"), "{}", answer.err);
    // The same lists in another form are not different.
    let lists: Value = serde_json::from_str(&std::fs::read_to_string(&file).expect("a snapshot")).expect("JSON");
    std::fs::write(&file, lists.to_string()).expect("written");
    assert_eq!(snapshot("none", &["--check", path]).code, Some(0));
    std::fs::write(&file, "tools").expect("written");
    let answer = snapshot("none", &["--check", path]);
    assert!(
        answer.code == Some(2) && answer.err.contains("is not a snapshot, because it is not JSON: "),
        "{}",
        answer.err
    );
}
