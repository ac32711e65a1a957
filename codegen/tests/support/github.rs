//! A fake GitHub: comments, labels and pull requests in memory, and downloadable files.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

#[derive(Default)]
pub(crate) struct State {
    /// Comments on the pull request, by ID.
    pub(crate) comments: BTreeMap<u64, Comment>,
    pub(crate) labels: Vec<&'static str>,
    /// Open pull requests, by number.
    pub(crate) pulls: BTreeMap<u64, Value>,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// If set, requests that change something fail with this status.
    pub(crate) refuse: Option<u16>,
    /// Method and path of each request so far.
    pub(crate) requests: Vec<String>,
    /// Whether some request had no token.
    pub(crate) anonymous: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comment {
    pub(crate) user: &'static str,
    pub(crate) body: String,
}

/// The token's user.
pub(crate) const USER: &str = "github-actions[bot]";

pub(crate) struct GitHub {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

impl GitHub {
    pub(crate) fn start() -> GitHub {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                // A client that disconnects early fails its own test.
                let _ = answer(stream.expect("a connection"), &shared);
            }
        });
        GitHub { url, state }
    }

    pub(crate) fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }
}

fn answer(stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut length, mut has_token) = (0, false);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let header = line.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length: ") {
            length = value.parse().unwrap_or(0);
        }
        has_token |= header == "authorization: bearer secret";
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut state = state.lock().expect("no panic");
    state.requests.push(format!("{method} {path}"));
    state.anonymous |= (path.starts_with("/repos") || path == "/graphql") && !has_token;
    let (status, body) = respond(&mut state, &method, &path, &body);
    drop(state);
    let head = format!("HTTP/1.1 {status} OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    reader.get_mut().write_all(&[head.as_bytes(), &body].concat())
}

fn text(json: &Value) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

fn respond(state: &mut State, method: &str, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
    if let Some(file) = state.files.get(path) {
        return (200, file.clone());
    }
    if let Some(status) = state.refuse.filter(|_| method != "GET" && path != "/graphql") {
        return (status, br#"{"message":"Resource not accessible by integration"}"#.to_vec());
    }
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let page = |items: Vec<Value>| {
        let page = query.split('&').find_map(|part| part.strip_prefix("page=")).and_then(|page| page.parse().ok());
        let items: Vec<Value> = items.into_iter().skip((page.unwrap_or(1_usize) - 1) * 100).take(100).collect();
        (200, Value::from(items).to_string().into_bytes())
    };
    let (place, id) = path.rsplit_once('/').unwrap_or((path, ""));
    let id: Option<u64> = id.parse().ok();
    match (method, place, id) {
        ("POST", "", None) if path == "/graphql" => {
            assert_eq!(json["query"], "{ viewer { login } }");
            (200, json!({ "data": { "viewer": { "login": USER } } }).to_string().into_bytes())
        }
        ("GET", "/repos/o/r/issues/7", None) if path.ends_with("/comments") => {
            let comment =
                |(id, it): (&u64, &Comment)| json!({ "id": id, "user": { "login": it.user }, "body": it.body });
            page(state.comments.iter().map(comment).collect())
        }
        ("GET", "/repos/o/r/issues/7", None) if path.ends_with("/labels") => {
            page(state.labels.iter().map(|name| json!({ "name": name })).collect())
        }
        ("POST", "/repos/o/r/issues/7", None) if path.ends_with("/comments") => {
            let id = state.comments.keys().last().map_or(1, |last| last + 1);
            state.comments.insert(id, Comment { user: USER, body: text(&json["body"]) });
            (201, b"{}".to_vec())
        }
        ("PATCH", "/repos/o/r/issues/comments", Some(id)) => {
            if let Some(comment) = state.comments.get_mut(&id) {
                comment.body = text(&json["body"]);
            }
            (200, b"{}".to_vec())
        }
        ("DELETE", "/repos/o/r/issues/comments", Some(id)) => {
            state.comments.remove(&id);
            (204, Vec::new())
        }
        ("GET", "/repos/o/r", None) if path.ends_with("/pulls") => {
            let is_wanted = |pull: &Value| query.contains(&format!("head=o:{}", pull["head"].as_str().unwrap_or("?")));
            let pulls = state.pulls.iter().filter(|(_, pull)| is_wanted(pull));
            page(pulls.map(|(number, _)| json!({ "number": number })).collect())
        }
        ("POST", "/repos/o/r", None) if path.ends_with("/pulls") => {
            state.pulls.insert(1, json);
            (201, b"{}".to_vec())
        }
        ("PATCH", "/repos/o/r/pulls", Some(number)) => {
            let pull = state.pulls.entry(number).or_default();
            for (name, value) in json.as_object().into_iter().flatten() {
                pull[name] = value.clone();
            }
            (200, b"{}".to_vec())
        }
        _ => (404, br#"{"message":"Not Found"}"#.to_vec()),
    }
}
