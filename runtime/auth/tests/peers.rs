//! Tests our client and server with a real authorization server (`oidc-provider`) and the official TypeScript SDK.
//!
//! Both are installed from the lock file in `peers` into the target folder. Without npm, the tests are skipped with a
//! note.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcpgen_auth::client::{Grant, Loopback, OAuthOptions};
use mcpgen_auth::server::DpopPolicy;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tower::BoxError;
use url::Url;

use crate::flow::{ProtectedServer, call, connect};

/// Installs the peers and returns their directory. Returns `None` without npm.
fn installed() -> Option<&'static PathBuf> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    INSTALLED.get_or_init(install).as_ref()
}

fn install() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("auth-peers");
    fs::create_dir_all(&target).expect("a directory in the target folder");
    for entry in fs::read_dir(&source).expect("the peers") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), target.join(entry.file_name())).expect("a copy");
    }
    let (lock, marker) = (target.join("package-lock.json"), target.join("installed"));
    let lock = fs::read(lock).expect("the lock file");
    if fs::read(&marker).ok().as_ref() != Some(&lock) {
        let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
        let mut command = std::process::Command::new(npm);
        let status = command.args(["ci", "--ignore-scripts", "--loglevel=error"]).current_dir(&target).status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("NOTE: npm cannot install the peers; their tests are skipped");
            return None;
        }
        fs::write(&marker, &lock).expect("a marker");
    }
    Some(target)
}

/// Starts a program that prints a URL in its first line.
async fn start(directory: &Path, program: &str, argument: &str) -> (Child, String) {
    let mut command = Command::new("node");
    command.args([program, argument]).current_dir(directory).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().expect("node");
    let mut lines = BufReader::new(child.stdout.take().expect("an output")).lines();
    let line = tokio::time::timeout(Duration::from_secs(60), lines.next_line()).await.expect("a line in time");
    let line = line.expect("text").unwrap_or_else(|| panic!("{program} ended"));
    // Read the remaining output, so that the program does not block.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (child, line)
}

/// Follows the redirects of the authorization server, as a browser does.
async fn browse(mut url: Url) -> Result<(), BoxError> {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
    let mut cookies = std::collections::BTreeMap::new();
    loop {
        let cookie = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ");
        let response = client.get(url.clone()).header("cookie", cookie).send().await?;
        for line in response.headers().get_all("set-cookie") {
            let pair = line.to_str()?.split(';').next().unwrap_or_default();
            let (name, value) = pair.split_once('=').ok_or("a cookie without a value")?;
            cookies.insert(name.to_owned(), value.to_owned());
        }
        let Some(location) = response.headers().get("location") else {
            let status = response.status();
            let text = response.text().await?;
            assert!(status.is_success(), "{url}: {status} {text}");
            return Ok(());
        };
        url = url.join(location.to_str()?)?;
    }
}

/// Returns the options of a client whose browser is [`browse`].
fn options() -> OAuthOptions {
    let user_agent = Loopback::new(|url| {
        tokio::spawn(browse(url.clone()));
        Ok(())
    });
    OAuthOptions::new("mcpgen", Grant::AuthorizationCode(Arc::new(user_agent.timeout(Duration::from_secs(30)))))
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_in_with_oidc_provider() {
    let Some(peers) = installed() else { return };
    let (_child, issuer) = start(peers, "authorization-server.mjs", "300").await;
    for dpop in [false, true] {
        let policy = if dpop { DpopPolicy::Required } else { DpopPolicy::Allowed };
        let server = ProtectedServer::start(&issuer, policy).await;
        let mut options = options();
        options.dpop = dpop;
        let client = connect(&server.url, options, None).await;
        assert_eq!(call(&client, "read").await, "alice");
        assert_eq!(call(&client, "write").await, "written", "steps up");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refreshes_tokens_of_oidc_provider() {
    let Some(peers) = installed() else { return };
    // The client refreshes tokens that expire within 30 s.
    let (_child, issuer) = start(peers, "authorization-server.mjs", "20").await;
    let server = ProtectedServer::start(&issuer, DpopPolicy::Allowed).await;
    let logins = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&logins);
    let user_agent = Loopback::new(move |url| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        tokio::spawn(browse(url.clone()));
        Ok(())
    });
    let options = OAuthOptions::new("mcpgen", Grant::AuthorizationCode(Arc::new(user_agent)));
    let client = connect(&server.url, options, Some(mcpgen_types::Revision::V2025_11_25)).await;
    for _ in 0..3 {
        // Each refresh token is valid once.
        assert_eq!(call(&client, "read").await, "alice");
    }
    server.lose_sessions().await;
    assert_eq!(call(&client, "read").await, "alice");
    assert_eq!(logins.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_logs_in_to_our_server() {
    let Some(peers) = installed() else { return };
    let (_child, issuer) = start(peers, "authorization-server.mjs", "300").await;
    let server = ProtectedServer::start(&issuer, DpopPolicy::Allowed).await;
    let mut command = Command::new("node");
    let output = command.args(["sdk-client.mjs", &server.url]).current_dir(peers).kill_on_drop(true).output();
    let output = tokio::time::timeout(Duration::from_secs(60), output).await.expect("an end in time").expect("node");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "alice", "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn our_client_logs_in_to_the_official_server() {
    let Some(peers) = installed() else { return };
    let (_child, issuer) = start(peers, "authorization-server.mjs", "300").await;
    let (_server, url) = start(peers, "sdk-server.mjs", &issuer).await;
    let client = connect(&url, options(), None).await;
    assert_eq!(call(&client, "read").await, "alice");
}
