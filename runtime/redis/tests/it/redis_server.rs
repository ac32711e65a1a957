//! A real `redis-server`, which a test starts.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use mcpgen_redis::{RedisOptions, RedisStores};
use tempfile::TempDir;

/// A `redis-server` on a socket in a temporary folder. It is killed when this is dropped.
pub(crate) struct RedisServer {
    process: Child,
    folder: TempDir,
}

impl RedisServer {
    /// Starts a server. Returns `None`, and prints why, if the program is not installed.
    pub(crate) async fn start() -> Option<Self> {
        Self::start_with(&[]).await
    }

    pub(crate) async fn start_with(arguments: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let process = Command::new("redis-server")
            .args(["--port", "0", "--unixsocket", "socket", "--save", "", "--appendonly", "no"])
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        let process = match process {
            Ok(process) => process,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                assert!(std::env::var_os("CI").is_none(), "redis-server is not installed, but CI must run these tests");
                eprintln!("\n*** SKIPPED: redis-server is not installed; install the package `redis-server` ***\n");
                return None;
            }
            Err(error) => panic!("cannot start redis-server: {error}"),
        };
        let server = Self { process, folder };
        for _ in 0..500 {
            if tokio::net::UnixStream::connect(server.socket()).await.is_ok() {
                return Some(server);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("redis-server does not listen on its socket");
    }

    fn socket(&self) -> std::path::PathBuf {
        self.folder.path().join("socket")
    }

    pub(crate) fn url(&self) -> String {
        format!("redis+unix://{}", self.socket().display())
    }

    /// Options with a short lease, so that tests detect dead replicas soon.
    pub(crate) fn options(&self) -> RedisOptions {
        let mut options = RedisOptions::new(self.url());
        options.lease = Duration::from_millis(1500);
        options
    }

    /// Creates the stores of a new replica.
    pub(crate) async fn replica(&self) -> RedisStores {
        RedisStores::connect(self.options()).await.expect("a connection")
    }

    /// Returns the keys that match a pattern.
    pub(crate) async fn keys(&self, pattern: &str) -> Vec<String> {
        self.query(&format!("KEYS {pattern}")).await
    }

    /// Runs a command, whose words are separated by spaces.
    pub(crate) async fn command(&self, words: &str) {
        self.query::<()>(words).await;
    }

    /// Like [`command`](Self::command), and returns the reply.
    pub(crate) async fn query<T: redis::FromRedisValue>(&self, words: &str) -> T {
        let client = redis::Client::open(self.url()).expect("a URL");
        let mut connection = client.get_multiplexed_async_connection().await.expect("a connection");
        let mut command = redis::Cmd::new();
        for word in words.split(' ') {
            command.arg(word);
        }
        command.query_async(&mut connection).await.expect("a successful command")
    }

    /// Stops the process for a while, as if the machine were overloaded.
    pub(crate) async fn pause(&self, time: Duration) {
        self.signal("STOP");
        tokio::time::sleep(time).await;
        self.signal("CONT");
    }

    fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        let status = Command::new("kill").args([&format!("-{signal}"), &id]).status().expect("the program `kill`");
        assert!(status.success());
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // Also ends a stopped process.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
