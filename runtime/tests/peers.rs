//! The official SDKs on the other side of the examples, in both directions and both eras, over standard input and output and
//! over HTTP.
//!
//! They are installed from the lock files in `peers` into the target folder. Without Node or Python nothing is tested
//! against their SDKs, and that is said. What works stands in `tests/README.md`, which `MCPGEN_BLESS=1` writes anew.

#[path = "support/example.rs"]
mod example;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::OnceLock;
#[cfg(all(feature = "http-client", feature = "http-server"))]
use std::{
    io::{BufRead, BufReader},
    net::{TcpListener, TcpStream},
    process::Stdio,
    time::Duration,
};

use example::example;
use serde_json::{Value, json};

/// One conversation.
struct Case {
    /// The example that it is with.
    ours: &'static str,
    peer: &'static str,
    /// What the peer is.
    role: &'static str,
    protocol: &'static str,
    over: RequestGuard,
    /// The program of the peer's, and how it is run.
    program: &'static str,
    arguments: &'static [&'static str],
    /// What is said in it, beginning with this, a line each.
    said: &'static [&'static str],
}

/// What a conversation goes over.
#[derive(Clone, Copy, PartialEq)]
enum RequestGuard {
    Stdio,
    #[cfg(all(feature = "http-client", feature = "http-server"))]
    Http,
}

const SDK1: &str = "@modelcontextprotocol/sdk 1.32.2";
const SDK2_CLIENT: &str = "@modelcontextprotocol/client 2.4.0";
const SDK2_SERVER: &str = "@modelcontextprotocol/server 2.4.0";
const PYTHON: &str = "mcp 2.3.0 (PyPI)";

const EVERYTHING: &str = "@modelcontextprotocol/server-everything 2026.8.31";

const LEGACY: &str = "legacy";
const MODERN: &str = "modern";
const TOOLS: &str = r#"{"step":"tools","value":["echo","add","ask","wait","touch"]}"#;
const CANCELLED: &str = r#"{"step":"cancelled","value":"given up"}"#;
const UNKNOWN_TOOL: &str = r#"{"step":"unknown tool","value":{"code":-32602}}"#;
const MANY: &str = r#"{"step":"many","value":true}"#;

/// What our client says of a server, in both eras.
const OUR_CALLS: [&str; 7] = [
    "tools: echo, add, ask, wait",
    r#"echo: [{"text":"hello","type":"text"}]"#,
    r#"add: [{"text":"5","type":"text"}]"#,
    "progress: 1",
    "progress: 3",
    r#"wait: [{"text":"done","type":"text"}]"#,
    "nothing failed: ",
];
const OUR_ASK: &str = r#"ask: [{"text":"example-model says: "#;
const OUR_LOG: &str = r#"log: "echo is called""#;
const OUR_END: &str = "server ended: exit status: 0";
const OUR_CHANGE: &str = "changed: Some(Tools)";
const OUR_TASK: &str = r#"task: Working, then [{"text":"done","type":"text"}]"#;

const CASES: &[Case] = &[
    Case {
        ours: "server",
        peer: SDK1,
        role: "client",
        protocol: LEGACY,
        over: RequestGuard::Stdio,
        program: "sdk1-client.mjs",
        arguments: &[],
        said: &[
            r#"{"step":"server","value":{"name":"example-server","version":"0.1.0"}}"#,
            r#"{"step":"ping","value":{}}"#,
            TOOLS,
            r#"{"step":"echo","value":[{"type":"text","text":"hello"}]}"#,
            r#"{"step":"add","value":[{"type":"text","text":"5"}]}"#,
            r#"{"step":"ask","value":[{"type":"text","text":"sdk-model says: {\"text\":\"1 read\",\"type\":\"text\"}"}]}"#,
            // The SDK may forget its callback in the moment the answer is there, so the last report is not always seen.
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
        ours: "client",
        peer: SDK1,
        role: "server",
        protocol: LEGACY,
        over: RequestGuard::Stdio,
        program: "sdk1-server.mjs",
        arguments: &[],
        said: &[r#"server: "sdk" 2025-11-25"#, OUR_TASK],
    },
    Case {
        ours: "server",
        peer: SDK2_CLIENT,
        role: "client",
        protocol: LEGACY,
        over: RequestGuard::Stdio,
        program: "sdk2-client.mjs",
        arguments: &[LEGACY],
        said: SDK2_SAYS,
    },
    Case {
        ours: "server",
        peer: SDK2_CLIENT,
        role: "client",
        protocol: MODERN,
        over: RequestGuard::Stdio,
        program: "sdk2-client.mjs",
        arguments: &[MODERN],
        said: SDK2_SAYS,
    },
    Case {
        ours: "client",
        peer: SDK2_SERVER,
        role: "server",
        protocol: LEGACY,
        over: RequestGuard::Stdio,
        program: "sdk2-server.mjs",
        arguments: &[],
        said: &[r#"server: "sdk2" 2025-11-25"#],
    },
    Case {
        ours: "client",
        peer: SDK2_SERVER,
        role: "server",
        protocol: MODERN,
        over: RequestGuard::Stdio,
        program: "sdk2-server.mjs",
        arguments: &[],
        said: &[r#"server: "sdk2" 2026-07-28"#, OUR_CHANGE],
    },
    Case {
        ours: "server",
        peer: PYTHON,
        role: "client",
        protocol: LEGACY,
        over: RequestGuard::Stdio,
        program: "client.py",
        arguments: &[LEGACY],
        said: PYTHON_SAYS,
    },
    Case {
        ours: "server",
        peer: PYTHON,
        role: "client",
        protocol: MODERN,
        over: RequestGuard::Stdio,
        program: "client.py",
        arguments: &[MODERN],
        said: PYTHON_SAYS,
    },
    Case {
        ours: "client",
        peer: PYTHON,
        role: "server",
        protocol: LEGACY,
        over: RequestGuard::Stdio,
        program: "server.py",
        arguments: &[],
        said: &[r#"server: "py" 2025-11-25"#],
    },
    Case {
        ours: "client",
        peer: PYTHON,
        role: "server",
        protocol: MODERN,
        over: RequestGuard::Stdio,
        program: "server.py",
        arguments: &[],
        said: &[r#"server: "py" 2026-07-28"#, OUR_CHANGE],
    },
    Case {
        ours: "client",
        peer: "mcpgen",
        role: "server",
        protocol: "either",
        over: RequestGuard::Stdio,
        program: "",
        arguments: &[],
        said: &[r#"server: "example-server" 2026-07-28"#, OUR_CHANGE],
    },
    #[cfg(feature = "schemars")]
    Case {
        ours: "tools",
        peer: SDK1,
        role: "client",
        protocol: LEGACY,
        over: RequestGuard::Stdio,
        program: "sdk1-tools.mjs",
        arguments: &[],
        said: TOOLS_SAYS,
    },
    #[cfg(feature = "schemars")]
    Case {
        ours: "tools",
        peer: SDK2_CLIENT,
        role: "client",
        protocol: LEGACY,
        over: RequestGuard::Stdio,
        program: "sdk2-tools.mjs",
        arguments: &[LEGACY],
        said: TOOLS_SAYS,
    },
    #[cfg(feature = "schemars")]
    Case {
        ours: "tools",
        peer: SDK2_CLIENT,
        role: "client",
        protocol: MODERN,
        over: RequestGuard::Stdio,
        program: "sdk2-tools.mjs",
        arguments: &[MODERN],
        said: TOOLS_SAYS,
    },
    #[cfg(feature = "schemars")]
    Case {
        ours: "tools",
        peer: PYTHON,
        role: "client",
        protocol: LEGACY,
        over: RequestGuard::Stdio,
        program: "tools.py",
        arguments: &[LEGACY],
        said: TOOLS_SAYS,
    },
    #[cfg(feature = "schemars")]
    Case {
        ours: "tools",
        peer: PYTHON,
        role: "client",
        protocol: MODERN,
        over: RequestGuard::Stdio,
        program: "tools.py",
        arguments: &[MODERN],
        said: TOOLS_SAYS,
    },
    Case {
        ours: "explore",
        peer: EVERYTHING,
        role: "server",
        protocol: LEGACY,
        over: RequestGuard::Stdio,
        program: "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
        arguments: &[],
        said: &[
            "revision: 2025-11-25",
            "tool: get-sum",
            "resource: demo://",
            "template: demo://",
            "prompt: simple-prompt",
            r#"echo: [{"text":"Echo: hello","type":"text"}]"#,
            "server ended",
        ],
    },
];

/// The same over HTTP.
#[cfg(all(feature = "http-client", feature = "http-server"))]
const ON_THE_WEB: &[Case] = &[
    Case { over: RequestGuard::Http, ..CASES[0] },
    Case { over: RequestGuard::Http, ..CASES[2] },
    Case { over: RequestGuard::Http, ..CASES[3] },
    Case { over: RequestGuard::Http, ..CASES[6] },
    Case { over: RequestGuard::Http, ..CASES[7] },
    Case { over: RequestGuard::Http, ..CASES[8] },
    Case { over: RequestGuard::Http, ..CASES[9] },
    Case {
        ours: "explore",
        peer: EVERYTHING,
        role: "server",
        protocol: LEGACY,
        over: RequestGuard::Http,
        program: "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
        arguments: &["streamableHttp"],
        said: &[
            "revision: 2025-11-25",
            "tool: get-sum",
            "resource: demo://",
            r#"echo: [{"text":"Echo: hello","type":"text"}]"#,
        ],
    },
];
#[cfg(not(all(feature = "http-client", feature = "http-server")))]
const ON_THE_WEB: &[Case] = &[];

#[cfg(feature = "schemars")]
const TOOLS_SAYS: &[&str] = &[
    r#"{"step":"tools","value":["add: a,b","echo: message"]}"#,
    r#"{"step":"echo","value":"hello"}"#,
    r#"{"step":"add","value":"5"}"#,
    r#"{"step":"wrong","value":[true,true]}"#,
    r#"{"step":"unknown tool","value":-32602}"#,
];

const SDK2_SAYS: &[&str] = &[
    r#"{"step":"revision","value":"#,
    r#"{"step":"server","value":{"name":"example-server","version":"0.1.0"}}"#,
    TOOLS,
    r#"{"step":"echo","value":"hello"}"#,
    r#"{"step":"add","value":"5"}"#,
    r#"{"step":"ask","value":"sdk2-model says: {\"text\":\"1 read\",\"type\":\"text\"}"}"#,
    r#"{"step":"progress","value":[1,2]}"#,
    CANCELLED,
    UNKNOWN_TOOL,
    r#"{"step":"logs","value":true}"#,
    r#"{"step":"changed","value":"tools"}"#,
    MANY,
];

const PYTHON_SAYS: &[&str] = &[
    r#"{"step":"revision","value":"#,
    r#"{"step":"server","value":"example-server"}"#,
    TOOLS,
    r#"{"step":"echo","value":"hello"}"#,
    r#"{"step":"add","value":"5"}"#,
    r#"{"step":"ask","value":"py-model says: {\"text\":\"1 read\",\"type\":\"text\"}"}"#,
    r#"{"step":"progress","value":[1.0,2.0]}"#,
    CANCELLED,
    UNKNOWN_TOOL,
    r#"{"step":"logs","value":true}"#,
    r#"{"step":"changed","value":"#,
    MANY,
];

impl Case {
    /// What runs the peer's program; `None` without the tool for it.
    fn command(&self) -> Option<Vec<String>> {
        let tool = match Path::new(self.program).extension().and_then(|extension| extension.to_str()) {
            Some("mjs" | "js") => node()?.to_owned(),
            Some("py") => python()?.to_owned(),
            _ => return Some(vec![example("server").display().to_string()]),
        };
        Some(vec![tool, installed().join(self.program).display().to_string()])
    }

    fn run(&self) -> Option<Output> {
        let peer = self.command()?;
        let given = self.arguments.iter().map(|argument| (*argument).to_owned());
        let ours = example(self.ours).display().to_string();
        let told = (self.ours == "client" && self.protocol != "either").then(|| self.protocol.to_owned());
        let (_other, words): (Option<Running>, Vec<String>) = match (self.role, self.over) {
            ("client", RequestGuard::Stdio) => (None, peer.into_iter().chain(given).chain([ours]).collect()),
            (_, RequestGuard::Stdio) => (None, [ours].into_iter().chain(told).chain(peer).chain(given).collect()),
            #[cfg(all(feature = "http-client", feature = "http-server"))]
            ("client", RequestGuard::Http) => {
                let (server, url) = served(&mut Command::new(ours));
                (Some(server), peer.into_iter().chain(given).chain([url]).collect())
            }
            #[cfg(all(feature = "http-client", feature = "http-server"))]
            (_, RequestGuard::Http) => {
                let (server, url) = listening(Command::new(&peer[0]).args(&peer[1..]).args(given));
                (Some(server), [ours].into_iter().chain(told).chain([url]).collect())
            }
        };
        let (program, arguments) = words.split_first().expect("a program");
        Some(Command::new(program).args(arguments).current_dir(installed()).output().expect("it runs"))
    }

    /// All that has to be said.
    fn expected(&self) -> Vec<&'static str> {
        match self.role {
            _ if self.ours != "client" => self.said.to_vec(),
            _ if self.over == RequestGuard::Stdio => [self.said, &OUR_CALLS, &[OUR_ASK, OUR_LOG, OUR_END]].concat(),
            _ => [self.said, &OUR_CALLS, &[OUR_ASK, OUR_LOG]].concat(),
        }
    }
}

#[test]
fn the_official_sdks_are_understood_and_understand() {
    let mut table =
        String::from("| peer | its role | era | over | our example | result |\n|---|---|---|---|---|---|\n");
    let (mut failures, mut skipped) = (Vec::new(), false);
    for case in CASES.iter().chain(ON_THE_WEB) {
        let result = match case.run() {
            None => {
                skipped = true;
                "NOT TESTED".to_owned()
            }
            Some(output) => match missing(case, &output) {
                None => format!("all {} steps", case.expected().len()),
                Some(why) => {
                    failures.push(format!("{} as {}, {}: {why}", case.peer, case.role, case.protocol));
                    "FAILED".to_owned()
                }
            },
        };
        let Case { peer, role, protocol, ours, over, .. } = case;
        let over = if *over == RequestGuard::Stdio { "stdio" } else { "HTTP" };
        writeln!(table, "| {peer} | {role} | {protocol} | {over} | `{ours}` | {result} |").expect("written");
    }
    eprintln!("{table}");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    if !skipped {
        check_readme(&table);
    }
}

/// A program that runs for as long as this is there.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Our example of a server on the web, and where it is.
#[cfg(all(feature = "http-client", feature = "http-server"))]
fn served(server: &mut Command) -> (Running, String) {
    let mut child = server.arg("127.0.0.1:0").stdout(Stdio::piped()).spawn().expect("it runs");
    let mut url = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut url).expect("a line");
    (Running(child), url.trim().to_owned())
}

/// A peer's server on the web, and where it is.
#[cfg(all(feature = "http-client", feature = "http-server"))]
fn listening(server: &mut Command) -> (Running, String) {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
    let child = server.env("PORT", port.to_string()).current_dir(installed());
    let server = Running(child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs"));
    for _ in 0..300 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    (server, format!("http://127.0.0.1:{port}/mcp"))
}

/// Why a conversation did not go as it should.
fn missing(case: &Case, output: &Output) -> Option<String> {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // Notifications go their own way, and so may come a moment later than the answer: the order is not looked at.
    let missing: Vec<_> =
        case.expected().into_iter().filter(|wanted| !out.lines().any(|line| line.starts_with(wanted))).collect();
    let revision =
        json!({ "step": "revision", "value": if case.protocol == LEGACY { "2025-11-25" } else { "2026-07-28" } });
    let says_revision = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|line| line == revision);
    let says_which = case.ours == "server" && case.role == "client" && case.expected().contains(&SDK2_SAYS[0]);
    let wrong_revision = says_which && !out.lines().any(says_revision);
    (!output.status.success() || !missing.is_empty() || wrong_revision)
        .then(|| format!("{}\nmissing: {missing:#?}\n{out}\n{err}", output.status))
}

/// The table stands in the README of the tests.
#[track_caller]
fn check_readme(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/README.md");
    // It is not there in the packaged crate.
    let Ok(readme) = fs::read_to_string(&path) else { return };
    let (begin, end) = ("<!-- peers -->\n", "<!-- end of peers -->");
    let (before, rest) = readme.split_once(begin).expect("where the table begins");
    let (known, after) = rest.split_once(end).expect("where it ends");
    // All of it, with all features.
    let all = cfg!(all(feature = "schemars", feature = "http-client", feature = "http-server"));
    if std::env::var_os("MCPGEN_BLESS").is_some() && all {
        fs::write(&path, format!("{before}{begin}{table}{end}{after}")).expect("written");
    } else {
        let unknown: Vec<&str> = table.lines().filter(|line| !known.contains(line)).collect();
        assert!(unknown.is_empty(), "tests/README.md, with all features MCPGEN_BLESS=1 writes it anew: {unknown:#?}");
    }
}

fn installed() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers")
}

/// Whether a tool is there.
fn there_is(tool: &str, sdk: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("NOTE: THERE IS NO {tool}: THE RUNTIME IS NOT TESTED AGAINST THE {sdk} SDK");
    }
    there
}

/// Copies the programs, and runs an installation unless the lock file is the one that was installed last.
fn install(lock: &str, steps: &[(&str, &[&str])]) {
    let (from, to) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers"), installed());
    fs::create_dir_all(&to).expect("a folder");
    for file in fs::read_dir(&from).expect("the programs") {
        let file = file.expect("a file").path();
        fs::copy(&file, to.join(file.file_name().expect("a name"))).expect("copied");
    }
    let (locked, mark) = (fs::read(from.join(lock)).expect("the lock file"), to.join(format!("{lock}.installed")));
    if fs::read(&mark).is_ok_and(|known| known == locked) {
        return;
    }
    for (program, arguments) in steps {
        let output = Command::new(program).args(*arguments).current_dir(&to).output().expect("the installer runs");
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    }
    fs::write(mark, locked).expect("written");
}

/// Node, with the TypeScript SDKs installed.
fn node() -> Option<&'static str> {
    static NODE: OnceLock<bool> = OnceLock::new();
    let there = *NODE.get_or_init(|| {
        let there = there_is("node", "TYPESCRIPT") && there_is("npm", "TYPESCRIPT");
        if there {
            install("package-lock.json", &[("npm", &["ci", "--ignore-scripts"])]);
        }
        there
    });
    there.then_some("node")
}

/// Python, with its SDK installed.
fn python() -> Option<&'static str> {
    static PYTHON: OnceLock<Option<String>> = OnceLock::new();
    PYTHON
        .get_or_init(|| {
            there_is("python3", "PYTHON").then(|| {
                let own = installed().join("python/bin/python").display().to_string();
                let pip = ["-m", "pip", "install", "--quiet", "--require-hashes", "-r", "requirements.txt"];
                install("requirements.txt", &[("python3", &["-m", "venv", "python"]), (&own, &pip)]);
                own
            })
        })
        .as_deref()
}
