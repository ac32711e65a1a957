//! The command exports its spans.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;

use mcpgen_types::{Json, Revision};
use serde_json::json;
use tokio::process::Command;

use crate::support::{ERAS, client, example, in_time};

/// Receives the bodies of requests to `/v1/traces`. Returns the URL, and the bodies.
fn collector() -> (String, mpsc::Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, bodies) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.expect("a connection"));
            let (mut head, mut line) = (Vec::new(), String::new());
            while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
                head.push(std::mem::take(&mut line).to_lowercase());
            }
            let length = head.iter().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
            let mut body = vec![0; length.unwrap_or_default()];
            reader.read_exact(&mut body).expect("a body");
            let response = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            reader.get_mut().write_all(response.as_bytes()).expect("written");
            if head[0].starts_with("post /v1/traces ") && sender.send(body).is_err() {
                return;
            }
        }
    });
    (url, bodies)
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal")).collect()
}

/// The spans of a client, the gateway and a server belong to one trace.
#[tokio::test]
async fn exports_spans_of_the_trace_of_the_client() {
    let (trace, parent) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    for revision in ERAS {
        let (url, bodies) = collector();
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("gateway.toml");
        std::fs::write(&config, format!("[servers.a]\ncommand = {:?}\n", example("raw_server"))).expect("written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcpgen-gateway"));
        command.args(["serve", "--config", config.to_str().expect("UTF-8")]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", url);
        let client = in_time(client(revision).connect_command(command)).await.expect("a connection");
        let mut meta = json!({ "traceparent": format!("00-{trace}-{parent}-01") });
        if revision == Revision::LATEST {
            meta["io.modelcontextprotocol/protocolVersion"] = json!(revision.as_str());
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        let params = Json::from(&json!({ "name": "params", "arguments": {}, "_meta": meta }));
        let sent = in_time(client.peer().raw_request("tools/call", Some(params))).await.expect("a result");
        let (_, received) = sent.text().split_once(&format!("00-{trace}-")).expect("the trace of the client");
        let of_gateway = &received[..16];
        assert_ne!(of_gateway, parent, "the gateway has a span");
        in_time(client.close()).await.expect("an orderly end");
        let exported: Vec<u8> = bodies.try_iter().flatten().collect();
        let has = |expected: &[u8]| exported.windows(expected.len()).any(|window| window == expected);
        for (name, expected) in [
            ("the trace", bytes(trace)),
            ("its parent", bytes(parent)),
            ("the span that the server has as its parent", bytes(of_gateway)),
            ("the method", b"tools/call".to_vec()),
            ("the service", b"mcpgen-gateway".to_vec()),
        ] {
            assert!(has(&expected), "{revision}: {name} in {} bytes", exported.len());
        }
    }
}
