//! Clients of the official SDKs in front of the gateway, and the SDKs' servers of the other era behind it.

#[path = "../../../sdk/tests/it/support/peers.rs"]
mod programs;

use std::process::Command;

use programs::{installed, node, path_of, python};

/// The folder of the programs and their lock files, relative to this package.
const PEERS: &str = "../sdk/tests/peers";

/// A client, and the steps that it prints. Each step is the beginning of a line.
struct ClientCase {
    /// The program, and its arguments.
    program: &'static [&'static str],
    /// The servers, which speak the other era with the gateway.
    servers: &'static [&'static str],
    steps: &'static [&'static str],
}

/// The servers of both SDKs also speak legacy revisions, but the gateway prefers the newest.
const MODERN_SERVERS: &[&str] = &["sdk2-server.mjs", "server.py"];
const LEGACY_SERVERS: &[&str] = &["sdk1-server.mjs"];

const ALL_TOOLS: &str = r#"{"step":"tools","value":["echo","add","ask","wait","touch"]}"#;
const LEGACY_TOOLS: &str = r#"{"step":"tools","value":["echo","add","ask","wait"]}"#;
const LEGACY: &str = r#"{"step":"revision","value":"2025-11-25"}"#;
const MODERN: &str = r#"{"step":"revision","value":"2026-07-28"}"#;
const ECHO: &str = r#"{"step":"echo","value":"hello"}"#;
const ADD: &str = r#"{"step":"add","value":"5"}"#;
const CANCELLED: &str = r#"{"step":"cancelled","value":"cancelled"}"#;
const UNKNOWN_TOOL: &str = r#"{"step":"unknown tool","value":{"code":-32602"#;
const LOGS: &str = r#"{"step":"logs","value":true}"#;
const CHANGED: &str = r#"{"step":"changed","value":"#;
const MANY: &str = r#"{"step":"many","value":true}"#;
// The SDKs may drop their callback when the response arrives, so the last report may be missing.
const PROGRESS: &str = r#"{"step":"progress","value":[1"#;
const SDK2_ASK: &str = r#"{"step":"ask","value":"sdk2-model says: "#;
const PYTHON_ASK: &str = r#"{"step":"ask","value":"py-model says: "#;

const CASES: &[ClientCase] = &[
    ClientCase {
        program: &["sdk1-client.mjs"],
        servers: MODERN_SERVERS,
        steps: &[
            r#"{"step":"ping","value":{}}"#,
            ALL_TOOLS,
            r#"{"step":"echo","value":[{"type":"text","text":"hello"}]}"#,
            r#"{"step":"add","value":[{"type":"text","text":"5"}]}"#,
            r#"{"step":"ask","value":[{"type":"text","text":"sdk-model says: "#,
            PROGRESS,
            CANCELLED,
            UNKNOWN_TOOL,
            r#"{"step":"unknown method","value":{"code":-32601"#,
            r#"{"step":"bad params","value":{"code":-32602"#,
            r#"{"step":"logs","value":{"before":true,"after":0}}"#,
            MANY,
        ],
    },
    ClientCase {
        program: &["sdk2-client.mjs", "legacy"],
        servers: MODERN_SERVERS,
        steps: &[LEGACY, ALL_TOOLS, ECHO, ADD, SDK2_ASK, PROGRESS, CANCELLED, UNKNOWN_TOOL, LOGS, CHANGED, MANY],
    },
    ClientCase {
        program: &["client.py", "legacy"],
        servers: MODERN_SERVERS,
        steps: &[LEGACY, ALL_TOOLS, ECHO, ADD, PYTHON_ASK, PROGRESS, CANCELLED, UNKNOWN_TOOL, LOGS, CHANGED, MANY],
    },
    ClientCase {
        program: &["sdk2-client.mjs", "modern"],
        servers: LEGACY_SERVERS,
        steps: &[MODERN, LEGACY_TOOLS, ECHO, ADD, SDK2_ASK, PROGRESS, CANCELLED, UNKNOWN_TOOL, LOGS, MANY],
    },
    ClientCase {
        program: &["client.py", "modern"],
        servers: LEGACY_SERVERS,
        steps: &[MODERN, LEGACY_TOOLS, ECHO, ADD, PYTHON_ASK, PROGRESS, CANCELLED, UNKNOWN_TOOL, LOGS, MANY],
    },
];

/// Returns the command of a program, or `None` with a note if its interpreter is not installed.
fn command(program: &str) -> Option<Vec<String>> {
    let tool = match program.rsplit_once('.') {
        Some((_, "py")) => python()?,
        _ => node()?,
    };
    Some(vec![tool.to_owned(), path_of(program)])
}

/// Runs a client, and returns why it failed.
fn failure(case: &ClientCase, client: &[String], gateway: &[String]) -> Option<String> {
    let (tool, client) = client.split_first().expect("a program");
    let arguments = client.iter().map(String::as_str).chain(case.program[1..].iter().copied());
    let arguments = arguments.chain(gateway.iter().map(String::as_str));
    let output = Command::new(tool).args(arguments).current_dir(installed()).output().expect("the client starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // Notifications may arrive after the response, so the order is not checked.
    let missing: Vec<_> = case.steps.iter().filter(|step| !out.lines().any(|line| line.starts_with(**step))).collect();
    (!output.status.success() || !missing.is_empty())
        .then(|| format!("{}\nmissing: {missing:#?}\n{out}\n{err}", output.status))
}

/// Each client completes every step, with `bridge` and with `serve`.
#[test]
fn official_clients_use_servers_of_the_other_era() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("gateway.toml");
    let gateway = env!("CARGO_BIN_EXE_mcpgen-gateway");
    let mut failures = Vec::new();
    for case in CASES {
        for server in case.servers {
            let (Some(client), Some(behind)) = (command(case.program[0]), command(server)) else { continue };
            let toml = format!("[servers.behind]\ncommand = {:?}\nargs = [{:?}]\n", behind[0], behind[1]);
            std::fs::write(&config, toml).expect("written");
            let mut bridge = [gateway, "bridge", "--"].map(str::to_owned).to_vec();
            bridge.extend(behind);
            let serve = [gateway, "serve", "--config", config.to_str().expect("UTF-8")].map(str::to_owned).to_vec();
            for gateway in [bridge, serve] {
                match failure(case, &client, &gateway) {
                    None => eprintln!("{:?}, {server}, {}: all {} steps", case.program, gateway[1], case.steps.len()),
                    Some(why) => failures.push(format!("{:?}, {server}, {}: {why}", case.program, gateway[1])),
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
