//! Tests the loopback listener.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpgen_auth::client::{AuthorizationRequest, Loopback, PendingLogin, UserAgent};
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

fn request(url: &str) -> AuthorizationRequest {
    AuthorizationRequest::new(url.parse().expect("a URL"), "s", "https://as.example")
}

/// Returns the host and port of a login's redirect URI.
fn authority(login: &dyn PendingLogin) -> String {
    let redirect_uri = login.redirect_uri();
    let authority = redirect_uri.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/callback"));
    authority.expect("a loopback URI").to_owned()
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
    let (redirect_uri, authority) = (login.redirect_uri(), authority(login.as_ref()));
    let login = tokio::spawn(login.log_in(request("https://as.example/authorize?a=b")));
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
async fn forged_responses_do_not_end_the_login() {
    let forged = [
        "code=c",
        "code=c&state=",
        "code=c&state=t",
        "code=c&state=t&state=s",
        "error=access_denied&state=t",
        "error=access_denied",
        "code=c&state=s&iss=https%3A%2F%2Fevil.example",
        "error=access_denied&state=s&iss=https%3A%2F%2Fevil.example",
        "code=c&code=d&state=s",
    ];
    for honest in ["code=c&state=s&iss=https%3A%2F%2Fas.example", "error=access_denied&state=s"] {
        let login = Loopback::new(|_| Ok(())).prepare().await.expect("a listener");
        let authority = authority(login.as_ref());
        let login = tokio::spawn(login.log_in(request("https://as.example/authorize")));
        for forged in forged {
            let page = get(&authority, &format!("/callback?{forged}")).await;
            assert!(page.starts_with("HTTP/1.1 400") && page.contains("was ignored"), "{forged}: {page}");
            assert!(!page.contains("evil.example"), "{page}");
        }
        assert!(get(&authority, &format!("/callback?{honest}")).await.starts_with("HTTP/1.1 200"));
        let url = login.await.expect("no panic").expect("a response");
        assert_eq!(url.query(), Some(honest));
    }
}

#[tokio::test]
async fn the_number_of_forged_responses_is_limited() {
    let login = Loopback::new(|_| Ok(())).prepare().await.expect("a listener");
    let authority = authority(login.as_ref());
    let login = tokio::spawn(login.log_in(request("https://as.example/authorize")));
    for _ in 0..=1000 {
        get(&authority, "/callback?code=c&state=t").await;
    }
    let error = login.await.expect("no panic").expect_err("too many forged responses");
    assert!(error.to_string().contains("`state` does not match the request"), "{error}");
}

#[tokio::test]
async fn stops_waiting() {
    let agent = Loopback::new(|_| Ok(())).timeout(Duration::from_millis(50));
    let login = agent.prepare().await.expect("a listener");
    let error = login.log_in(request("https://as.example/")).await.expect_err("no response");
    assert!(error.to_string().contains("log in again"), "{error}");
}
