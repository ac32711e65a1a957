//! The official TypeScript SDK on the other side of the examples, in both directions.
//!
//! It is installed from `sdk/package-lock.json` into the target folder. Without Node nothing is tested, and that is said.

#[path = "support/example.rs"]
mod example;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use example::example;

/// Where the SDK is installed; `None` without Node.
fn sdk() -> Option<&'static Path> {
    static SDK: OnceLock<Option<PathBuf>> = OnceLock::new();
    SDK.get_or_init(|| {
        for tool in ["node", "npm"] {
            if Command::new(tool).arg("--version").output().is_err() {
                eprintln!("NOTE: THERE IS NO {tool}: THE RUNTIME IS NOT TESTED AGAINST THE TYPESCRIPT SDK");
                return None;
            }
        }
        let (from, to) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk"), installed());
        fs::create_dir_all(&to).expect("a folder");
        let lock = fs::read(from.join("package-lock.json")).expect("the lock file");
        let known = fs::read(to.join("installed.json")).is_ok_and(|known| known == lock);
        for file in ["package.json", "package-lock.json", ".npmrc", "client.mjs", "server.mjs"] {
            fs::copy(from.join(file), to.join(file)).expect("copied");
        }
        if !known {
            let installed =
                Command::new("npm").args(["ci", "--ignore-scripts"]).current_dir(&to).output().expect("npm runs");
            assert!(installed.status.success(), "npm ci: {}", String::from_utf8_lossy(&installed.stderr));
            fs::write(to.join("installed.json"), lock).expect("written");
        }
        Some(to)
    })
    .as_deref()
}

fn installed() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("sdk")
}

#[track_caller]
fn lines(output: &Output) -> Vec<String> {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
    out.lines().map(str::to_owned).collect()
}

#[test]
fn the_sdks_client_calls_our_server() {
    let Some(sdk) = sdk() else { return };
    let run = Command::new("node").arg("client.mjs").arg(example("server")).current_dir(sdk).output();
    let lines = lines(&run.expect("node runs"));
    let expected = [
        r#"{"step":"server","value":{"name":"example-server","version":"0.1.0"}}"#,
        r#"{"step":"ping","value":{}}"#,
        r#"{"step":"tools","value":["echo","add","ask","wait"]}"#,
        r#"{"step":"echo","value":[{"type":"text","text":"hello"}]}"#,
        r#"{"step":"add","value":[{"type":"text","text":"5"}]}"#,
        r#"{"step":"ask","value":[{"type":"text","text":"sdk-model says: {\"text\":\"1 read\",\"type\":\"text\"}"}]}"#,
        // The SDK may forget its callback in the moment the answer is there, so the last report is not always seen.
        r#"{"step":"progress","value":[1,2"#,
        r#"{"step":"cancelled","value":"given up"}"#,
        r#"{"step":"unknown tool","value":{"code":-32602}}"#,
        r#"{"step":"unknown method","value":{"code":-32601}}"#,
        r#"{"step":"bad params","value":{"code":-32602,"data":{"message":"CallToolRequestParams: params.name: expected string, found number","path":"/params/name"}}}"#,
        r#"{"step":"not declared","value":{"code":-32601}}"#,
        r#"{"step":"logs","value":{"before":true,"after":0}}"#,
        r#"{"step":"many","value":true}"#,
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}\nis not\n{expected}");
    }
}

#[test]
fn our_client_calls_the_sdks_server() {
    let Some(sdk) = sdk() else { return };
    let run = Command::new(example("client")).args(["node", "server.mjs"]).current_dir(sdk).output();
    let lines = lines(&run.expect("the example runs"));
    let expected = [
        "server: \"sdk\" 2025-11-25",
        "tools: echo, add, ask, wait",
        "log: \"echo is called\"",
        "echo: [{\"text\":\"hello\",\"type\":\"text\"}]",
        "log: \"add is called\"",
        "add: [{\"text\":\"5\",\"type\":\"text\"}]",
        "log: \"ask is called\"",
        "ask: [{\"text\":\"example-model says: 1 messages read\",\"type\":\"text\"}]",
        "log: \"wait is called\"",
        "progress: 1",
        "progress: 2",
        "progress: 3",
        "wait: [{\"text\":\"done\",\"type\":\"text\"}]",
        "log: \"nothing is called\"",
        "nothing failed: MCP error -32602: unknown tool nothing (-32602)",
        "server ended: exit status: 0",
    ];
    // A log goes its own way to its handler, and so may come a moment later than the answer.
    let (mut found, mut wanted) = (lines.clone(), expected.map(str::to_owned).to_vec());
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted, "{lines:#?}");
}

#[test]
fn our_client_calls_our_server() {
    let run = Command::new(example("client")).arg(example("server")).output();
    let lines = lines(&run.expect("the example runs"));
    assert_eq!(lines.len(), 16, "{lines:#?}");
    assert_eq!(lines.last().map(String::as_str), Some("server ended: exit status: 0"));
}
