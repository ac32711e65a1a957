//! Replicas of the command, which share a Redis server.

#[allow(dead_code, reason = "the tests of mcpgen-redis use more of it")]
#[path = "../../../redis/tests/it/redis_server.rs"]
mod redis_server;

use std::fs;
use std::io::Read as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use serde_json::{Value, json};

use self::redis_server::RedisServer;
use crate::http::{begin_session, post};
use crate::support::{in_time, server_path};

/// A process of the command.
struct Replica {
    process: Child,
    address: SocketAddr,
}

impl Replica {
    async fn start(folder: &Path, redis: &RedisServer) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
        let config = folder.join(format!("{}.toml", free.port()));
        let text = format!(
            "[http]\nlisten = '{free}'\nredis = {:?}\n[calls]\nper_minute = 3\n\
             [servers.b]\ncommand = {:?}\nargs = ['b', '2025-11-25', 'small']\n",
            redis.url(),
            server_path()
        );
        fs::write(&config, text).expect("written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcpgen-gateway"));
        let process = command.arg("serve").arg("--config").arg(config).spawn().expect("the command runs");
        let listening = async {
            while TcpStream::connect(free).is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        in_time(listening).await;
        Self { process, address: free }
    }

    /// Returns the response to a request of a session, which may be an error.
    async fn request(&self, session: &str, method: &str, params: Value) -> String {
        let (address, session) = (self.address, session.to_owned());
        let request = json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": params });
        let response = tokio::task::spawn_blocking(move || {
            let mut response = String::new();
            post(address, &session, &request).read_to_string(&mut response).expect("a response");
            response
        });
        response.await.expect("no panic")
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_on_redis_share_sessions_and_limits() {
    let Some(redis) = RedisServer::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let [first, second] = [Replica::start(folder.path(), &redis).await, Replica::start(folder.path(), &redis).await];
    let address = first.address;
    let begun = tokio::task::spawn_blocking(move || begin_session(address, &json!({})));
    let session = begun.await.expect("no panic");
    let call = json!({ "name": "only_b", "arguments": {} });
    for (replica, expected) in [
        (&first, r#""text":"only""#),
        (&second, r#""text":"only""#),
        (&second, r#""text":"only""#),
        (&first, "too many calls"),
    ] {
        let response = replica.request(&session, "tools/call", call.clone()).await;
        assert!(response.contains(expected), "{response}");
    }

    // The other replica takes the session over when the lease of a killed one has expired.
    drop(first);
    let lists = async {
        loop {
            let response = second.request(&session, "tools/list", json!({})).await;
            if response.contains("only_b") {
                break;
            }
            assert!(!response.contains("404 Not Found"), "the session is lost: {response}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    in_time(lists).await;
}
