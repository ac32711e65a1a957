//! Measures the memory of idle sessions and of idle streams.

use std::io::ErrorKind;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::runtime::Builder;

use super::client::begin_session;
use super::connection::{Connection, messages};
use super::requests;
use super::server::Server;
use super::{CONTENDERS, RMCP, case};
use crate::dispatch::binaries::Binaries;
use crate::report::{Case, Goal};
use crate::sample::median;

/// The goal for our memory, as a multiple of rmcp's.
const MEMORY: f64 = 1.0;

const KIBIBYTE: f64 = 1024.0;

pub(super) fn run(counts: [u64; 2], quick: bool, rounds: usize, binaries: &Binaries) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for count in counts {
        let mut results: [Vec<Idle>; 2] = Default::default();
        for _ in 0..rounds {
            for ((name, package), results) in CONTENDERS.iter().zip(&mut results) {
                eprintln!("  {count} idle sessions and streams, {name}");
                let idle = measure(count, quick, binaries, package);
                results.push(idle.with_context(|| format!("{count} idle sessions and streams of {name}"))?);
            }
        }
        let row = |what: &str, figure: fn(&Idle) -> f64| {
            let figures = results.each_ref().map(|rounds| median(rounds.iter().map(figure).collect()));
            case(format!("{count} {what}, each"), "KiB", &figures, Some(Goal::at_most(MEMORY, RMCP)))
        };
        cases.extend([
            row("idle sessions", |idle| idle.session),
            row("idle GET streams", |idle| idle.get_stream),
            row("idle `subscriptions/listen` streams", |idle| idle.listen_stream),
        ]);
    }
    Ok(cases)
}

/// The resident memory per session and per stream, in KiB.
struct Idle {
    session: f64,
    get_stream: f64,
    listen_stream: f64,
}

fn measure(count: u64, quick: bool, binaries: &Binaries, package: &str) -> Result<Idle> {
    let settle = Duration::from_millis(if quick { 200 } else { 1_000 });
    let program = binaries.path(package)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let server = Server::start(program, &[])?;
    let (session, get_stream) = runtime.block_on(sessions(&server, count, settle))?;
    // The first process would reuse the memory that its sessions have freed, so this starts another one.
    let server = Server::start(program, &[])?;
    let listen_stream = runtime.block_on(listeners(&server, count, settle))?;
    Ok(Idle { session, get_stream, listen_stream })
}

/// Returns the KiB per session, and per GET stream of a session.
async fn sessions(server: &Server, count: u64, settle: Duration) -> Result<(f64, f64)> {
    let mut connection = Connection::open(server.port).await?;
    // The first session and the first stream also load shared code and buffers.
    let first = begin_session(&mut connection).await?;
    let mut streams = vec![get_stream(server.port, &first).await?];
    let before = resident(server, settle).await?;
    let mut sessions = Vec::new();
    for _ in 0..count {
        sessions.push(begin_session(&mut connection).await?);
    }
    let with_sessions = resident(server, settle).await?;
    for session in &sessions {
        streams.push(get_stream(server.port, session).await?);
    }
    let with_streams = resident(server, settle).await?;
    streams.iter().try_for_each(check_open)?;
    let each = |growth: f64| growth / count as f64 / KIBIBYTE;
    Ok((each(with_sessions - before), each(with_streams - with_sessions)))
}

/// Returns the KiB per `subscriptions/listen`.
async fn listeners(server: &Server, count: u64, settle: Duration) -> Result<f64> {
    let mut streams = vec![listen(server.port, 0).await?];
    let before = resident(server, settle).await?;
    for id in 1..=count {
        streams.push(listen(server.port, id).await?);
    }
    let after = resident(server, settle).await?;
    streams.iter().try_for_each(check_open)?;
    Ok((after - before) / count as f64 / KIBIBYTE)
}

async fn get_stream(port: u16, session: &str) -> Result<TcpStream> {
    let mut connection = Connection::open(port).await?;
    let head = connection.begin(&requests::get_stream(session)).await?;
    ensure!(head.status == 200 && head.is_events, "GET: status {}", head.status);
    Ok(connection.into_stream())
}

/// Opens a subscription and waits until the server acknowledges it.
async fn listen(port: u16, id: u64) -> Result<TcpStream> {
    let mut connection = Connection::open(port).await?;
    let head = connection.begin(&requests::listen(id)).await?;
    ensure!(head.status == 200 && head.is_events, "subscriptions/listen: status {}", head.status);
    let mut events = Vec::new();
    while messages(&events).next().is_none() {
        ensure!(connection.chunk(&mut events).await?, "subscriptions/listen: the stream ended without a message");
    }
    let first: Value = messages(&events).next().map(serde_json::from_slice).context("no message")??;
    let is_acknowledged = first["method"] == "notifications/subscriptions/acknowledged"
        && first["params"]["notifications"]["toolsListChanged"] == true;
    ensure!(is_acknowledged, "subscriptions/listen: {first}");
    Ok(connection.into_stream())
}

/// Returns the resident memory of the server. First waits for its background work.
async fn resident(server: &Server, settle: Duration) -> Result<f64> {
    tokio::time::sleep(settle).await;
    server.resident()
}

/// Returns an error if the server has closed the stream.
fn check_open(stream: &TcpStream) -> Result<()> {
    let mut buffer = [0; 1024];
    loop {
        match stream.try_read(&mut buffer) {
            Ok(0) => bail!("the server closed an idle stream"),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
