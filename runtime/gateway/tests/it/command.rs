//! Tests of the command `mcpgen-gateway`.

use std::fs;
use std::process::{Command as StdCommand, Output};

use mcpgen_sdk::Client;
use mcpgen_types::Revision;
use tokio::process::Command;

use crate::support::{ERAS, call, client, example, in_time, server_path, text, tool_names};

const GATEWAY: &str = env!("CARGO_BIN_EXE_mcpgen-gateway");

async fn start(arguments: &[&str], revision: Revision) -> Client {
    let mut command = Command::new(GATEWAY);
    command.args(arguments);
    in_time(client(revision).connect_command(command)).await.expect("a connection")
}

fn path() -> String {
    server_path().to_str().expect("UTF-8").to_owned()
}

#[tokio::test]
async fn bridges_a_command() {
    for front in ERAS {
        for behind in ERAS {
            let client = start(&["bridge", "--", &path(), "a", behind.as_str()], front).await;
            assert_eq!(text(&client, "greet").await, "hello from a");
            assert_eq!(text(&client, "sample").await, "model with 0 roots");
            in_time(client.close()).await.expect("an orderly end");
        }
    }
}

#[tokio::test]
async fn serves_a_configuration() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("gateway.toml");
    let server = |name: &str| format!("[servers.{name}]\ncommand = {:?}\nargs = [{name:?}, '2025-11-25']\n", path());
    fs::write(&config, server("a") + &server("b")).expect("written");
    let config = config.to_str().expect("UTF-8");
    for revision in ERAS {
        let client = start(&["serve", "--config", config], revision).await;
        assert_eq!(text(&client, "b__greet").await, "hello from b");
        assert!(tool_names(&client).await.contains(&"only_a".to_owned()));
        in_time(client.close()).await.expect("an orderly end");
    }
}

/// Sends a signal to a process.
#[cfg(unix)]
fn kill(process: &std::process::Child, signal: &str) {
    let status = StdCommand::new("kill").args([signal, &process.id().to_string()]).status();
    assert!(status.expect("`kill` runs").success());
}

#[cfg(unix)]
#[tokio::test]
async fn reads_the_configuration_again_on_sighup() {
    use mcpgen_sdk::http::client::{ClientOptions, ConnectHttp};

    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("gateway.toml");
    let server = |name: &str| format!("[servers.{name}]\ncommand = {:?}\nargs = [{name:?}, '2025-11-25']\n", path());
    fs::write(&config, server("a")).expect("written");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    drop(listener);
    let arguments = ["serve", "--listen", &address, "--config", config.to_str().expect("UTF-8")];
    let mut gateway = StdCommand::new(GATEWAY).args(arguments).spawn().expect("the command runs");
    let url = format!("http://{address}/mcp");
    let connected = async {
        loop {
            match client(Revision::V2025_11_25).connect_http(&url, ClientOptions::default()).await {
                Ok(client) => return client,
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            }
        }
    };
    let client = in_time(connected).await;
    assert_eq!(text(&client, "greet").await, "hello from a");
    // A configuration with a mistake changes nothing.
    for (text, expected) in [("[servers.a]\ncomand = 'x'".to_owned(), "only_a"), (server("b"), "only_b")] {
        fs::write(&config, text).expect("written");
        kill(&gateway, "-HUP");
        let changed = async {
            while call(&client, expected).await.is_err() {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        in_time(changed).await;
    }
    kill(&gateway, "-TERM");
    assert!(gateway.wait().expect("a process").success());
}

fn run(arguments: &[&str]) -> Output {
    StdCommand::new(GATEWAY).args(arguments).output().expect("the command runs")
}

#[test]
fn checks_a_configuration() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("gateway.toml");
    for (text, code, expected) in [
        (
            format!("[servers.a]\ncommand = {:?}\nargs = ['a', '2024-11-05']", path()),
            Some(0),
            "a: a 1, revision 2024-11-05, 11 tools, 1 prompt, 2 resources, 1 resource template\n",
        ),
        (
            "[servers.b]\ncommand = 'sh'\nargs = ['-c', 'exit 3']".to_owned(),
            Some(1),
            "b: error: the server `sh -c exit 3` exited with status 3",
        ),
        (
            format!("[servers.c]\ncommand = {:?}", example("raw_server").to_str().expect("UTF-8")),
            Some(0),
            "c: \\u{1b}[31mraw 1, revision 2025-11-25, 3 tools, 3 resources, 1 resource template\n",
        ),
        ("[servers.b]\ncomand = 'sh'".to_owned(), Some(1), "did you mean \"command\"?"),
    ] {
        fs::write(&config, &text).expect("written");
        let output = run(&["check", "--config", config.to_str().expect("UTF-8")]);
        let written = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == code && written.contains(expected), "{text}\n{written}");
    }
}

/// A client that does not want to wait for servers sends a signal: the gateway ends, and leaves no server behind.
#[cfg(unix)]
#[tokio::test]
async fn a_signal_ends_servers_that_do_not_exit() {
    use std::process::Stdio;
    use std::time::Duration;

    use serde_json::json;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("server");
    // Ignores the end of its input, and SIGTERM.
    let script = "trap '' TERM; echo $$ > \"$1\"; \"$0\" a 2025-11-25; sleep 1000";
    let mut gateway = Command::new(GATEWAY)
        .args(["bridge", "--", "sh", "-c", script, &path(), file.to_str().expect("UTF-8")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the gateway starts");
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "brief", "version": "1" } });
    let first = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let mut input = gateway.stdin.take().expect("piped");
    input.write_all(format!("{first}\n").as_bytes()).await.expect("written");
    let mut lines = BufReader::new(gateway.stdout.take().expect("piped")).lines();
    in_time(lines.next_line()).await.expect("readable").expect("a response");
    drop(input);
    let id = gateway.id().expect("it runs").to_string();
    let ends = async {
        while tokio::time::timeout(Duration::from_millis(200), gateway.wait()).await.is_err() {
            let _ = Command::new("kill").args(["-TERM", &id]).status().await;
        }
    };
    // Without the signal, the gateway would give the server ten seconds.
    tokio::time::timeout(Duration::from_secs(8), ends).await.expect("a signal ends the gateway");
    let server = fs::read_to_string(file).expect("the ID of the server");
    let gone = async {
        loop {
            let found = Command::new("ps").args(["-o", "stat=", "-p", server.trim()]).output().await.expect("ps runs");
            let state = String::from_utf8_lossy(&found.stdout).trim().to_owned();
            if state.is_empty() || state.starts_with('Z') {
                break;
            }
        }
    };
    in_time(gone).await;
}
