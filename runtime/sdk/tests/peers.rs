//! Runs the official SDKs against the examples: as clients and as servers, in legacy and modern revisions, over stdio
//! and HTTP.
//!
//! The SDKs are installed from the lock files in `peers` into the target folder. Without Node or Python, the tests of
//! their SDKs are skipped with a note. `tests/README.md` lists the results; `MCPGEN_BLESS=1` updates it.

#[path = "it/support/example.rs"]
mod example;
#[path = "it/support/peers.rs"]
mod peers;

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output};
#[cfg(all(feature = "http-client", feature = "http-server"))]
use std::{
    io::{BufRead, BufReader},
    net::{TcpListener, TcpStream},
    process::Stdio,
    time::Duration,
};

use example::example;
use peers::{installed, node, path_of, python};
use serde_json::{Value, json};

/// The folder of the programs and their lock files, below this package.
const PEERS: &str = "tests/peers";

/// A run of a peer against an example.
struct Case {
    /// The name of the example.
    example_name: &'static str,
    peer: &'static str,
    /// The role of the peer: `client` or `server`.
    role: &'static str,
    protocol: &'static str,
    transport: Transport,
    /// The peer's program, and its arguments.
    program: &'static str,
    arguments: &'static [&'static str],
    /// The program of the server behind the example `bridge`.
    behind: Option<&'static str>,
    /// The expected lines of output. Each is the beginning of a line.
    output: &'static [&'static str],
}

/// The transport between the peer and the example.
#[derive(Clone, Copy, PartialEq)]
enum Transport {
    Stdio,
    #[cfg(all(feature = "http-client", feature = "http-server"))]
    Http,
    /// HTTP+SSE. Only a peer can be the server.
    #[cfg(feature = "http-server")]
    HttpSse,
}

const SDK1: &str = "@modelcontextprotocol/sdk 1.32.2";
const SDK2_CLIENT: &str = "@modelcontextprotocol/client 2.4.0";
const SDK2_SERVER: &str = "@modelcontextprotocol/server 2.4.0";
const PYTHON: &str = "mcp 2.3.0 (PyPI)";

const EVERYTHING: &str = "@modelcontextprotocol/server-everything 2026.8.31";

const LEGACY: &str = "legacy";
const MODERN: &str = "modern";
const TOOLS: &str = r#"{"step":"tools","value":["echo","add","ask","wait","touch"]}"#;
const CANCELLED: &str = r#"{"step":"cancelled","value":"cancelled"}"#;
const UNKNOWN_TOOL: &str = r#"{"step":"unknown tool","value":{"code":-32602}}"#;
const MANY: &str = r#"{"step":"many","value":true}"#;

/// The output of the example client, in all revisions.
const EXAMPLE_CALLS: [&str; 7] = [
    "tools: echo, add, ask, wait",
    r#"echo: [{"type":"text","text":"hello"}]"#,
    r#"add: [{"type":"text","text":"5"}]"#,
    "progress: 1",
    "progress: 3",
    r#"wait: [{"type":"text","text":"done"}]"#,
    "nothing failed: ",
];
const EXAMPLE_ASK: &str = r#"ask: [{"type":"text","text":"example-model says: "#;
const EXAMPLE_LOG: &str = r#"log: "echo is called""#;
const EXAMPLE_END: &str = "server ended: exit status: 0";
const EXAMPLE_CHANGE: &str = "changed: Some(Tools)";
const EXAMPLE_TASK: &str = r#"task: Working, then [{"type":"text","text":"done"}]"#;

const CASES: &[Case] = &[
    Case {
        example_name: "typed_server",
        peer: SDK1,
        role: "client",
        protocol: LEGACY,
        transport: Transport::Stdio,
        program: "sdk1-client.mjs",
        arguments: &[],
        behind: None,
        output: &[
            r#"{"step":"server","value":{"name":"example-server","version":"0.1.0"}}"#,
            r#"{"step":"ping","value":{}}"#,
            TOOLS,
            r#"{"step":"echo","value":[{"type":"text","text":"hello"}]}"#,
            r#"{"step":"add","value":[{"type":"text","text":"5"}]}"#,
            r#"{"step":"ask","value":[{"type":"text","text":"sdk-model says: {\"type\":\"text\",\"text\":\"1 read\"}"}]}"#,
            // The SDK may drop its callback when the response arrives, so the last report may be missing.
            r#"{"step":"progress","value":[1,2"#,
            CANCELLED,
            UNKNOWN_TOOL,
            r#"{"step":"unknown method","value":{"code":-32601}}"#,
            r#"{"step":"bad params","value":{"code":-32602,"data":{"message":"CallToolRequestParams: params.name: expected string, found number","path":"/params/name"}}}"#,
            r#"{"step":"not declared","value":{"code":-32601}}"#,
            r#"{"step":"logs","value":{"before":true,"after":0}}"#,
            r#"{"step":"task","value":["taskCreated","done"]}"#,
            r#"{"step":"tasks","value":["completed"]}"#,
            MANY,
        ],
    },
    Case {
        example_name: "typed_client",
        peer: SDK1,
        role: "server",
        protocol: LEGACY,
        transport: Transport::Stdio,
        program: "sdk1-server.mjs",
        arguments: &[],
        behind: None,
        output: &["server: sdk 2025-11-25", EXAMPLE_TASK],
    },
    Case {
        example_name: "typed_server",
        peer: SDK2_CLIENT,
        role: "client",
        protocol: LEGACY,
        transport: Transport::Stdio,
        program: "sdk2-client.mjs",
        arguments: &[LEGACY],
        behind: None,
        output: SDK2_OUTPUT,
    },
    Case {
        example_name: "typed_server",
        peer: SDK2_CLIENT,
        role: "client",
        protocol: MODERN,
        transport: Transport::Stdio,
        program: "sdk2-client.mjs",
        arguments: &[MODERN],
        behind: None,
        output: SDK2_OUTPUT,
    },
    Case {
        example_name: "typed_client",
        peer: SDK2_SERVER,
        role: "server",
        protocol: LEGACY,
        transport: Transport::Stdio,
        program: "sdk2-server.mjs",
        arguments: &[],
        behind: None,
        output: &["server: sdk2 2025-11-25"],
    },
    Case {
        example_name: "typed_client",
        peer: SDK2_SERVER,
        role: "server",
        protocol: MODERN,
        transport: Transport::Stdio,
        program: "sdk2-server.mjs",
        arguments: &[],
        behind: None,
        output: &["server: sdk2 2026-07-28", EXAMPLE_CHANGE],
    },
    Case {
        example_name: "typed_server",
        peer: PYTHON,
        role: "client",
        protocol: LEGACY,
        transport: Transport::Stdio,
        program: "client.py",
        arguments: &[LEGACY],
        behind: None,
        output: PYTHON_OUTPUT,
    },
    Case {
        example_name: "typed_server",
        peer: PYTHON,
        role: "client",
        protocol: MODERN,
        transport: Transport::Stdio,
        program: "client.py",
        arguments: &[MODERN],
        behind: None,
        output: PYTHON_OUTPUT,
    },
    Case {
        example_name: "typed_client",
        peer: PYTHON,
        role: "server",
        protocol: LEGACY,
        transport: Transport::Stdio,
        program: "server.py",
        arguments: &[],
        behind: None,
        output: &["server: py 2025-11-25"],
    },
    Case {
        example_name: "typed_client",
        peer: PYTHON,
        role: "server",
        protocol: MODERN,
        transport: Transport::Stdio,
        program: "server.py",
        arguments: &[],
        behind: None,
        output: &["server: py 2026-07-28", EXAMPLE_CHANGE],
    },
    Case {
        example_name: "typed_client",
        peer: "mcpgen",
        role: "server",
        protocol: "either",
        transport: Transport::Stdio,
        program: "",
        arguments: &[],
        behind: None,
        output: &["server: example-server 2026-07-28", EXAMPLE_CHANGE],
    },
    Case {
        example_name: "tools",
        peer: SDK1,
        role: "client",
        protocol: LEGACY,
        transport: Transport::Stdio,
        program: "sdk1-tools.mjs",
        arguments: &[],
        behind: None,
        output: TOOLS_SAYS,
    },
    Case {
        example_name: "tools",
        peer: SDK2_CLIENT,
        role: "client",
        protocol: LEGACY,
        transport: Transport::Stdio,
        program: "sdk2-tools.mjs",
        arguments: &[LEGACY],
        behind: None,
        output: TOOLS_SAYS,
    },
    Case {
        example_name: "tools",
        peer: SDK2_CLIENT,
        role: "client",
        protocol: MODERN,
        transport: Transport::Stdio,
        program: "sdk2-tools.mjs",
        arguments: &[MODERN],
        behind: None,
        output: TOOLS_SAYS,
    },
    Case {
        example_name: "tools",
        peer: PYTHON,
        role: "client",
        protocol: LEGACY,
        transport: Transport::Stdio,
        program: "tools.py",
        arguments: &[LEGACY],
        behind: None,
        output: TOOLS_SAYS,
    },
    Case {
        example_name: "tools",
        peer: PYTHON,
        role: "client",
        protocol: MODERN,
        transport: Transport::Stdio,
        program: "tools.py",
        arguments: &[MODERN],
        behind: None,
        output: TOOLS_SAYS,
    },
    Case {
        example_name: "explore",
        peer: EVERYTHING,
        role: "server",
        protocol: LEGACY,
        transport: Transport::Stdio,
        program: "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
        arguments: &[],
        behind: None,
        output: &[
            "revision: 2025-11-25",
            "tool: get-sum",
            "resource: demo://",
            "template: demo://",
            "prompt: simple-prompt",
            r#"echo: [{"type":"text","text":"Echo: hello"}]"#,
            "server ended",
        ],
    },
];

/// The cases with a bridge between the first and the second SDK version.
const BRIDGE_CASES: &[Case] = &[
    Case {
        example_name: "bridge",
        peer: SDK2_CLIENT,
        role: "client",
        protocol: MODERN,
        transport: Transport::Stdio,
        program: "sdk2-client.mjs",
        arguments: &[MODERN],
        behind: Some("sdk1-server.mjs"),
        output: &[
            r#"{"step":"revision","value":"2026-07-28"}"#,
            r#"{"step":"server","value":{"name":"sdk","version":"1"}}"#,
            r#"{"step":"tools","value":["echo","add","ask","wait"]}"#,
            r#"{"step":"echo","value":"hello"}"#,
            r#"{"step":"add","value":"5"}"#,
            r#"{"step":"ask","value":"sdk2-model says: 1 read"}"#,
            r#"{"step":"progress","value":[1,2"#,
            CANCELLED,
            UNKNOWN_TOOL,
            r#"{"step":"logs","value":true}"#,
            MANY,
        ],
    },
    Case {
        example_name: "bridge",
        peer: SDK1,
        role: "client",
        protocol: LEGACY,
        transport: Transport::Stdio,
        program: "sdk1-client.mjs",
        arguments: &[],
        behind: Some("sdk2-server.mjs"),
        output: &[
            r#"{"step":"server","value":{"name":"sdk2","version":"1"}}"#,
            r#"{"step":"ping","value":{}}"#,
            TOOLS,
            r#"{"step":"echo","value":[{"type":"text","text":"hello"}]}"#,
            r#"{"step":"add","value":[{"type":"text","text":"5"}]}"#,
            r#"{"step":"ask","value":[{"type":"text","text":"sdk-model says: 1 read"}]}"#,
            r#"{"step":"progress","value":[1,2"#,
            CANCELLED,
            UNKNOWN_TOOL,
            r#"{"step":"unknown method","value":{"code":-32601}}"#,
            r#"{"step":"not declared","value":{"code":-32601}}"#,
            r#"{"step":"logs","value":{"before":true,"after":0}}"#,
            MANY,
        ],
    },
];

/// The cases over HTTP.
#[cfg(all(feature = "http-client", feature = "http-server"))]
const HTTP_CASES: &[Case] = &[
    Case { transport: Transport::Http, ..CASES[0] },
    Case { transport: Transport::Http, ..CASES[2] },
    Case { transport: Transport::Http, ..CASES[3] },
    Case { transport: Transport::Http, ..CASES[6] },
    Case { transport: Transport::Http, ..CASES[7] },
    Case { transport: Transport::Http, ..CASES[8] },
    Case { transport: Transport::Http, ..CASES[9] },
    Case {
        example_name: "explore",
        peer: EVERYTHING,
        role: "server",
        protocol: LEGACY,
        transport: Transport::Http,
        program: "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
        arguments: &["streamableHttp"],
        behind: None,
        output: &[
            "revision: 2025-11-25",
            "tool: get-sum",
            "resource: demo://",
            r#"echo: [{"type":"text","text":"Echo: hello"}]"#,
        ],
    },
    Case {
        example_name: "explore",
        peer: EVERYTHING,
        role: "server",
        protocol: LEGACY,
        transport: Transport::HttpSse,
        program: "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
        arguments: &["sse"],
        behind: None,
        output: &[
            "revision: 2025-11-25",
            "tool: get-sum",
            "resource: demo://",
            r#"echo: [{"type":"text","text":"Echo: hello"}]"#,
        ],
    },
];
#[cfg(not(all(feature = "http-client", feature = "http-server")))]
const HTTP_CASES: &[Case] = &[];

const TOOLS_SAYS: &[&str] = &[
    r#"{"step":"tools","value":["add: a,b","echo: message"]}"#,
    r#"{"step":"echo","value":"hello"}"#,
    r#"{"step":"add","value":"5"}"#,
    r#"{"step":"wrong","value":[true,true]}"#,
    r#"{"step":"unknown tool","value":-32602}"#,
];

const SDK2_OUTPUT: &[&str] = &[
    r#"{"step":"revision","value":"#,
    r#"{"step":"server","value":{"name":"example-server","version":"0.1.0"}}"#,
    TOOLS,
    r#"{"step":"echo","value":"hello"}"#,
    r#"{"step":"add","value":"5"}"#,
    r#"{"step":"ask","value":"sdk2-model says: {\"type\":\"text\",\"text\":\"1 read\"}"}"#,
    r#"{"step":"progress","value":[1,2]}"#,
    CANCELLED,
    UNKNOWN_TOOL,
    r#"{"step":"logs","value":true}"#,
    r#"{"step":"changed","value":"tools"}"#,
    MANY,
];

const PYTHON_OUTPUT: &[&str] = &[
    r#"{"step":"revision","value":"#,
    r#"{"step":"server","value":"example-server"}"#,
    TOOLS,
    r#"{"step":"echo","value":"hello"}"#,
    r#"{"step":"add","value":"5"}"#,
    r#"{"step":"ask","value":"py-model says: {\"type\":\"text\",\"text\":\"1 read\"}"}"#,
    r#"{"step":"progress","value":[1.0,2.0]}"#,
    CANCELLED,
    UNKNOWN_TOOL,
    r#"{"step":"logs","value":true}"#,
    r#"{"step":"changed","value":"#,
    MANY,
];

impl Case {
    /// Returns the command of the peer's program, or `None` if its interpreter is not installed.
    fn command(&self) -> Option<Vec<String>> {
        let tool = match Path::new(self.program).extension().and_then(|extension| extension.to_str()) {
            Some("mjs" | "js") => node()?.to_owned(),
            Some("py") => python()?.to_owned(),
            _ => return Some(vec![example("typed_server").display().to_string()]),
        };
        Some(vec![tool, path_of(self.program)])
    }

    fn run(&self) -> Option<Output> {
        let peer = self.command()?;
        let arguments = self.arguments.iter().map(|argument| (*argument).to_owned());
        let example = example(self.example_name).display().to_string();
        let protocol =
            (self.example_name == "typed_client" && self.protocol != "either").then(|| self.protocol.to_owned());
        // The server behind a bridge is a Node program, like the client.
        let behind = self.behind.into_iter().flat_map(|program| ["node".to_owned(), path_of(program)]);
        let (_other, command_line): (Option<Running>, Vec<String>) = match (self.role, self.transport) {
            ("client", Transport::Stdio) => {
                (None, peer.into_iter().chain(arguments).chain([example]).chain(behind).collect())
            }
            (_, Transport::Stdio) => {
                (None, [example].into_iter().chain(protocol).chain(peer).chain(arguments).collect())
            }
            #[cfg(all(feature = "http-client", feature = "http-server"))]
            ("client", Transport::Http) => {
                let (server, url) = start_example(&mut Command::new(example));
                (Some(server), peer.into_iter().chain(arguments).chain([url]).collect())
            }
            #[cfg(all(feature = "http-client", feature = "http-server"))]
            (_, Transport::Http) => {
                let (server, url) = start_peer(Command::new(&peer[0]).args(&peer[1..]).args(arguments), "mcp");
                (Some(server), [example].into_iter().chain(protocol).chain([url]).collect())
            }
            #[cfg(feature = "http-server")]
            (_, Transport::HttpSse) => {
                let (server, url) = start_peer(Command::new(&peer[0]).args(&peer[1..]).args(arguments), "sse");
                (Some(server), [example].into_iter().chain(protocol).chain([url]).collect())
            }
        };
        let (program, arguments) = command_line.split_first().expect("a program");
        Some(Command::new(program).args(arguments).current_dir(installed()).output().expect("the process starts"))
    }

    /// Returns all expected lines.
    fn expected(&self) -> Vec<&'static str> {
        match self.role {
            _ if self.example_name != "typed_client" => self.output.to_vec(),
            _ if self.transport == Transport::Stdio => {
                [self.output, &EXAMPLE_CALLS, &[EXAMPLE_ASK, EXAMPLE_LOG, EXAMPLE_END]].concat()
            }
            _ => [self.output, &EXAMPLE_CALLS, &[EXAMPLE_ASK, EXAMPLE_LOG]].concat(),
        }
    }
}

#[test]
fn interoperates_with_the_official_sdks() {
    let mut table =
        String::from("| Peer | Role | Protocol | Transport | Example | Result |\n|---|---|---|---|---|---|\n");
    let (mut failures, mut skipped) = (Vec::new(), false);
    for case in CASES.iter().chain(BRIDGE_CASES).chain(HTTP_CASES) {
        let result = match case.run() {
            None => {
                skipped = true;
                "not tested".to_owned()
            }
            Some(output) => match failure(case, &output) {
                None => format!("all {} steps", case.expected().len()),
                Some(why) => {
                    failures.push(format!("{} as {}, {}: {why}", case.peer, case.role, case.protocol));
                    "failed".to_owned()
                }
            },
        };
        let Case { peer, role, protocol, example_name, transport, .. } = case;
        let transport = match transport {
            Transport::Stdio => "stdio",
            #[cfg(all(feature = "http-client", feature = "http-server"))]
            Transport::Http => "HTTP",
            #[cfg(feature = "http-server")]
            Transport::HttpSse => "HTTP+SSE",
        };
        writeln!(table, "| {peer} | {role} | {protocol} | {transport} | `{example_name}` | {result} |")
            .expect("written");
    }
    eprintln!("{table}");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    if !skipped {
        check_readme(&table);
    }
}

/// A child process. Kills it on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts an example server over HTTP. Also returns its URL.
#[cfg(all(feature = "http-client", feature = "http-server"))]
fn start_example(server: &mut Command) -> (Running, String) {
    let mut child = server.arg("127.0.0.1:0").stdout(Stdio::piped()).spawn().expect("the process starts");
    let mut url = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut url).expect("a line");
    (Running(child), url.trim().to_owned())
}

/// Starts a peer's server over HTTP. Also returns its URL.
#[cfg(all(feature = "http-client", feature = "http-server"))]
fn start_peer(server: &mut Command, path: &str) -> (Running, String) {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
    let child = server.env("PORT", port.to_string()).current_dir(installed());
    let server = Running(child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the process starts"));
    for _ in 0..300 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    (server, format!("http://127.0.0.1:{port}/{path}"))
}

/// Returns why a run failed, or `None` if it succeeded.
fn failure(case: &Case, output: &Output) -> Option<String> {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // Notifications may arrive after the response, so the order is not checked.
    let missing: Vec<_> =
        case.expected().into_iter().filter(|expected| !out.lines().any(|line| line.starts_with(expected))).collect();
    let revision =
        json!({ "step": "revision", "value": if case.protocol == LEGACY { "2025-11-25" } else { "2026-07-28" } });
    let is_revision = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|line| line == revision);
    let reports_revision =
        case.example_name == "typed_server" && case.role == "client" && case.expected().contains(&SDK2_OUTPUT[0]);
    let wrong_revision = reports_revision && !out.lines().any(is_revision);
    (!output.status.success() || !missing.is_empty() || wrong_revision)
        .then(|| format!("{}\nmissing: {missing:#?}\n{out}\n{err}", output.status))
}

/// Checks that the README of the tests contains the table. Updates it if `MCPGEN_BLESS` is set.
#[track_caller]
fn check_readme(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/README.md");
    // The packaged crate does not contain the README.
    let Ok(readme) = fs::read_to_string(&path) else { return };
    let (begin, end) = ("<!-- peers -->\n", "<!-- end of peers -->");
    let (before, rest) = readme.split_once(begin).expect("the start of the table");
    let (known, after) = rest.split_once(end).expect("the end of the table");
    // The table is complete only with all features.
    let all = cfg!(all(feature = "http-client", feature = "http-server"));
    if std::env::var_os("MCPGEN_BLESS").is_some() && all {
        fs::write(&path, format!("{before}{begin}{table}{end}{after}")).expect("written");
    } else {
        let unknown: Vec<&str> = table.lines().filter(|line| !known.contains(line)).collect();
        assert!(
            unknown.is_empty(),
            "tests/README.md is outdated; run this test with MCPGEN_BLESS=1 and all features: {unknown:#?}"
        );
    }
}
