//! The connection of one client to one server: opened when it is first needed, and again after it has ended.

use std::sync::Arc;
use std::time::Duration;

use mcpgen_bridge::{Downstream, Relay, RelayOptions};
use mcpgen_sdk::Limits;
use mcpgen_sdk::protocol::PeerExt;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::util::error_chain;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::connect::{Processes, Upstream};

/// The pause before a server is connected again, and the longest pause. It doubles with each attempt.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(30)];

/// What happens to a connection.
#[derive(Debug)]
pub(crate) enum Event {
    /// The server is connected.
    Connected,
    /// The connection has ended.
    Ended,
    /// The server reports a change.
    Changed(Change),
}

/// Takes the events of a connection.
pub(crate) type OnEvent = Arc<dyn Fn(Event) -> futures_util::future::BoxFuture<'static, ()> + Send + Sync>;

/// The connection of one client to one server.
pub(crate) struct ServerLink {
    upstream: Arc<Upstream>,
    state: watch::Sender<State>,
    supervisor: Mutex<Option<AbortHandle>>,
}

enum State {
    Connecting,
    Connected(Arc<Relay>),
    /// The reason why there is no connection. The next attempt follows after a pause.
    Down(Arc<str>),
}

impl ServerLink {
    pub(crate) fn new(upstream: &Arc<Upstream>) -> Self {
        Self {
            upstream: Arc::clone(upstream),
            state: watch::Sender::new(State::Connecting),
            supervisor: Mutex::default(),
        }
    }

    /// Returns the relay, if the server is connected.
    pub(crate) fn connected(&self) -> Option<Arc<Relay>> {
        match &*self.state.borrow() {
            State::Connected(relay) if !relay.server().peer().is_closed() => Some(Arc::clone(relay)),
            _ => None,
        }
    }

    /// Begins to connect, unless that was done before.
    pub(crate) fn start(&self, client: &Arc<Downstream>, processes: &Processes, on_event: impl FnOnce() -> OnEvent) {
        let mut supervisor = self.supervisor.lock();
        if supervisor.is_none() {
            let running = supervise(
                Arc::clone(&self.upstream),
                Arc::clone(client),
                processes.clone(),
                self.state.clone(),
                on_event(),
            );
            *supervisor = Some(tokio::spawn(running).abort_handle());
        }
    }

    /// Waits for the first attempt to connect. Returns the relay, or in one sentence why the server is not available.
    pub(crate) async fn relay(&self) -> Result<Arc<Relay>, String> {
        let name = &self.upstream.name;
        let mut state = self.state.subscribe();
        let known = state.wait_for(|state| !matches!(state, State::Connecting)).await;
        match known.as_deref() {
            Ok(State::Connected(relay)) => Ok(Arc::clone(relay)),
            Ok(State::Down(why)) => Err(format!("server `{name}` is not available: {why}")),
            _ => Err(format!("server `{name}` is not available")),
        }
    }
}

impl Drop for ServerLink {
    fn drop(&mut self) {
        if let Some(supervisor) = self.supervisor.get_mut() {
            supervisor.abort();
        }
    }
}

/// Connects, and again after each end of the connection.
async fn supervise(
    upstream: Arc<Upstream>,
    client: Arc<Downstream>,
    processes: Processes,
    state: watch::Sender<State>,
    on_event: OnEvent,
) {
    let name = &upstream.name;
    let mut pause = PAUSES[0];
    loop {
        let began = Instant::now();
        match connect(&upstream, &client, &processes, &on_event).await {
            Ok(relay) => {
                let server = relay.server().clone();
                tracing::info!("[{name}] connected: {}", describe(&relay));
                state.send_replace(State::Connected(relay));
                on_event(Event::Connected).await;
                server.closed().await;
                let why = match server.close().await {
                    Ok(()) => "the server has closed the connection".to_owned(),
                    Err(error) => error_chain(&error),
                };
                tracing::warn!("[{name}] disconnected: {why}");
                state.send_replace(State::Down(why.into()));
                on_event(Event::Ended).await;
            }
            Err(why) => {
                tracing::warn!("[{name}] not connected: {why}");
                state.send_replace(State::Down(why.into()));
            }
        }
        // A server that ends soon after it has begun is not started again at once.
        if began.elapsed() > PAUSES[1] {
            pause = PAUSES[0];
        }
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(PAUSES[1]);
    }
}

async fn connect(
    upstream: &Upstream,
    client: &Arc<Downstream>,
    processes: &Processes,
    on_event: &OnEvent,
) -> Result<Arc<Relay>, String> {
    let on_event = Arc::clone(on_event);
    let options = RelayOptions::default()
        .with_server_name(Arc::clone(&upstream.name))
        .with_on_change(Arc::new(move |change| on_event(Event::Changed(change))));
    let connect = |builder| upstream.connect(builder, processes);
    Relay::connect(Arc::clone(client), options, Limits::default(), connect).await
}

/// Returns what a server says about itself.
pub(crate) fn describe(relay: &Relay) -> String {
    let info = relay.server().peer().peer_info();
    let text = |name: &str| Some(info.as_ref()?.implementation.get(name)?.as_str()?.into_owned());
    let revision = relay.server().revision();
    format!("{} {}, revision {revision}", text("name").unwrap_or_default(), text("version").unwrap_or_default())
}
