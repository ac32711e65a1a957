//! Relays between a client and a server that this command starts.

use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcpgen_sdk::client::{ChildProcess, CommandError};
use mcpgen_sdk::transport::{Incoming, Outgoing, lines};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::observer::{Observer, Side};
use super::relay::{observe, pass};
use crate::failure::{Failure, with_sources};
use crate::output::plain;
use crate::processes;

/// How long to read what the server wrote before it exited. A process outside its group may keep the pipe open.
const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// Starts the server and relays until the client or the server disconnects. Then ends the server, even if this future
/// is dropped.
pub(super) async fn relay_to_command(
    observer: &Arc<Mutex<Observer>>,
    client: (impl Incoming, impl Outgoing),
    name: String,
    command: Command,
) -> Result<(), Failure> {
    // Whole lines are passed on, so that they do not mix with the descriptions.
    let on_stderr = |line: &str| eprintln!("{}", plain(line));
    let (process, from_server, to_server) =
        ChildProcess::start_with_stderr(command, lines::DEFAULT_LINE_LIMIT, on_stderr)
            .map_err(|source| Failure::Command(with_sources(&CommandError::Start { program: name, source })))?;
    let stop = CancellationToken::new();
    let _stop_on_drop = stop.clone().drop_guard();
    let server = (process, from_server, to_server);
    let relaying = processes::tracker().spawn(relay(Arc::clone(observer), client, server, stop));
    relaying.await.unwrap_or_else(|error| Err(Failure::io("relaying")(io::Error::other(error))))
}

async fn relay(
    observer: Arc<Mutex<Observer>>,
    client: (impl Incoming, impl Outgoing),
    (process, from_server, to_server): (ChildProcess, impl Incoming, impl Outgoing),
    stop: CancellationToken,
) -> Result<(), Failure> {
    let mut to_server = tokio::spawn(pass(Arc::clone(&observer), Side::Client, client.0, to_server));
    let mut to_client = pin!(pass(Arc::clone(&observer), Side::Server, from_server, client.1));
    let server_is_first = tokio::select! {
        () = &mut to_client => true,
        _ = &mut to_server => false,
        () = stop.cancelled() => false,
    };
    // Closes the server's input.
    to_server.abort();
    let (started, exit_timeout) = (Instant::now(), process.exit_timeout);
    let mut closing = pin!(process.close());
    let status = match server_is_first {
        true => closing.await,
        false => tokio::select! {
            status = &mut closing => {
                let _ = tokio::time::timeout(LAST_OUTPUT, to_client).await;
                status
            }
            () = &mut to_client => closing.await,
        },
    };
    let status = status.map_err(Failure::io("stopping the server"))?;
    observe(&observer, |observer| observer.remark(&format!("the server ended: {status}")));
    // A server that ignores the end of its input gets a signal after this time.
    let got_signal = !server_is_first && started.elapsed() >= exit_timeout && status.code().is_none();
    if status.success() || got_signal { Ok(()) } else { Err(Failure::Exited(status)) }
}
