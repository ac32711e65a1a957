//! Tests the loopback listener.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpgen_auth::client::{Loopback, UserAgent};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn get(authority: &str, target: &str) -> String {
    let mut stream = TcpStream::connect(authority).await.expect("a listener");
    let request = format!("GET {target} HTTP/1.1\r\nhost: {authority}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("a sent request");
    let mut response = String::new();
    stream.read_to_string(&mut response).await.expect("a response");
    response
}

#[tokio::test]
async fn returns_the_first_response_and_a_page() {
    let opened = Arc::new(Mutex::new(None));
    let agent = {
        let opened = Arc::clone(&opened);
        Loopback::new(move |url| {
            *opened.lock().expect("a lock") = Some(url.to_string());
            Ok(())
        })
    };
    let login = agent.prepare().await.expect("a listener");
    let redirect_uri = login.redirect_uri();
    let authority = redirect_uri.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/callback"));
    let authority = authority.expect("a loopback URI").to_owned();
    let login = tokio::spawn(login.log_in("https://as.example/authorize?a=b".parse().expect("a URL")));
    let idle = TcpStream::connect(&authority).await.expect("a listener");
    drop(idle);
    assert!(get(&authority, "/favicon.ico").await.starts_with("HTTP/1.1 404"));
    assert!(get(&authority, "/callback").await.starts_with("HTTP/1.1 404"));
    let page = get(&authority, "/callback?code=c&state=s").await;
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("You can close this page"), "{page}");
    let url = login.await.expect("no panic").expect("a response");
    assert_eq!(url.as_str(), format!("{redirect_uri}?code=c&state=s"));
    assert_eq!(opened.lock().expect("a lock").as_deref(), Some("https://as.example/authorize?a=b"));
    assert!(TcpStream::connect(&authority).await.is_err(), "the listener is closed");
}

#[tokio::test]
async fn stops_waiting() {
    let agent = Loopback::new(|_| Ok(())).timeout(Duration::from_millis(50));
    let login = agent.prepare().await.expect("a listener");
    let error = login.log_in("https://as.example/".parse().expect("a URL")).await.expect_err("no response");
    assert!(error.to_string().contains("log in again"), "{error}");
}
