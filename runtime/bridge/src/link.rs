//! The connection of one client to one server: opened when it is first needed, and again after it has ended.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use mcpgen_mcp::client::{Client, ClientBuilder};
use mcpgen_mcp::protocol::PeerExt;
use mcpgen_mcp::protocol::change::Change;
use mcpgen_runtime::connection::Limits;
use mcpgen_runtime::util::error_chain;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tower::BoxError;

use super::downstream::Downstream;
use super::reason::short_reason;
use super::relay::{Relay, RelayOptions};

/// The first pause before a server is connected again, and the longest. The pause doubles with each attempt.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(30)];

/// What happens to a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkEvent {
    /// The server is connected.
    Connected,
    /// The connection has ended.
    Ended,
    /// The server reports a change.
    Changed(Change),
}

/// Handles the events of a connection, one after the other.
pub type OnLinkEvent = Arc<dyn Fn(LinkEvent) -> BoxFuture<'static, ()> + Send + Sync>;

/// Connects a client to a server.
pub type Connector = Arc<dyn Fn(ClientBuilder) -> BoxFuture<'static, Result<Client, BoxError>> + Send + Sync>;

/// The reason why a server is not connected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkDown {
    /// In a few words, for clients; see [`short_reason`].
    pub reason: String,
    /// With all causes, for the log.
    pub cause: String,
}

/// The connection of one client to one server. It is opened when [`start`](Self::start) is called, and again whenever
/// it ends: after 200 ms at first, and after up to 30 s if the server keeps failing. Dropping the link ends the
/// connection once the calls in flight, which hold the [`Relay`], have ended.
pub struct ServerLink {
    client: Arc<Downstream>,
    options: RelayOptions,
    connect: Connector,
    on_event: Arc<Mutex<OnLinkEvent>>,
    state: watch::Sender<State>,
    supervisor: Mutex<Option<AbortHandle>>,
}

enum State {
    Connecting,
    Connected(Arc<Relay>),
    /// There is no connection. The next attempt follows after a pause.
    Down(Arc<LinkDown>),
}

impl ServerLink {
    /// Creates a link of a client to a server. `options` should name the server. Their `on_change` is replaced, because
    /// changes are reported as [`LinkEvent::Changed`].
    #[must_use]
    pub fn new(client: Arc<Downstream>, options: RelayOptions, connect: Connector) -> Self {
        let ignore: OnLinkEvent = Arc::new(|_| Box::pin(std::future::ready(())));
        let on_event = Arc::new(Mutex::new(ignore));
        let (state, supervisor) = (watch::Sender::new(State::Connecting), Mutex::default());
        Self { client, options, connect, on_event, state, supervisor }
    }

    /// Sets what handles the events from now on.
    pub fn set_on_event(&self, on_event: OnLinkEvent) {
        *self.on_event.lock() = on_event;
    }

    /// Returns the relay, if the server is connected.
    #[must_use]
    pub fn connected(&self) -> Option<Arc<Relay>> {
        match &*self.state.borrow() {
            State::Connected(relay) if !relay.server().peer().is_closed() => Some(Arc::clone(relay)),
            _ => None,
        }
    }

    /// Begins to connect, unless it has already begun. Call this in a tokio runtime.
    pub fn start(&self) {
        let mut supervisor = self.supervisor.lock();
        if supervisor.is_none() {
            let supervision = Supervision {
                client: Arc::clone(&self.client),
                options: self.options.clone(),
                connect: Arc::clone(&self.connect),
                on_event: Arc::clone(&self.on_event),
                state: self.state.clone(),
            };
            *supervisor = Some(tokio::spawn(supervision.run()).abort_handle());
        }
    }

    /// Begins to connect, and waits for the end of the first attempt.
    ///
    /// # Errors
    ///
    /// Fails with the reason if there is no connection now.
    pub async fn relay(&self) -> Result<Arc<Relay>, LinkDown> {
        if let Some(relay) = self.connected() {
            return Ok(relay);
        }
        self.start();
        let mut state = self.state.subscribe();
        let known = state.wait_for(|state| !matches!(state, State::Connecting)).await;
        match known.as_deref() {
            Ok(State::Connected(relay)) => Ok(Arc::clone(relay)),
            Ok(State::Down(down)) => Err(LinkDown::clone(down)),
            _ => Err(LinkDown { reason: String::new(), cause: String::new() }),
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

impl fmt::Debug for ServerLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerLink").field("options", &self.options).finish_non_exhaustive()
    }
}

struct Supervision {
    client: Arc<Downstream>,
    options: RelayOptions,
    connect: Connector,
    on_event: Arc<Mutex<OnLinkEvent>>,
    state: watch::Sender<State>,
}

impl Supervision {
    /// Connects, and connects again whenever the connection ends.
    async fn run(self) {
        let name = self.options.server_name.clone().unwrap_or_default();
        let mut pause = PAUSES[0];
        loop {
            let began = Instant::now();
            match self.connect().await {
                Ok(relay) => {
                    let server = relay.server().clone();
                    tracing::info!("[{name}] connected: {}", relay.describe_server());
                    self.state.send_replace(State::Connected(relay));
                    self.report(LinkEvent::Connected).await;
                    server.closed().await;
                    let down = match server.close().await {
                        Ok(()) => {
                            let reason = "the server has closed the connection".to_owned();
                            LinkDown { cause: reason.clone(), reason }
                        }
                        Err(error) => LinkDown::of(&error),
                    };
                    tracing::warn!("[{name}] disconnected: {}", down.cause);
                    self.state.send_replace(State::Down(down.into()));
                    self.report(LinkEvent::Ended).await;
                }
                Err(error) => {
                    let down = LinkDown::of(&*error);
                    tracing::warn!("[{name}] not connected: {}", down.cause);
                    self.state.send_replace(State::Down(down.into()));
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

    async fn connect(&self) -> Result<Arc<Relay>, BoxError> {
        let on_event = Arc::clone(&self.on_event);
        let on_change = Arc::new(move |change| {
            let on_event = Arc::clone(&on_event.lock());
            on_event(LinkEvent::Changed(change))
        });
        let options = self.options.clone().with_on_change(on_change);
        Relay::connect(Arc::clone(&self.client), options, Limits::default(), |builder| (self.connect)(builder)).await
    }

    async fn report(&self, event: LinkEvent) {
        let on_event = Arc::clone(&self.on_event.lock());
        on_event(event).await;
    }
}

impl LinkDown {
    fn of(error: &(dyn std::error::Error + 'static)) -> Self {
        Self { reason: short_reason(error), cause: error_chain(error) }
    }
}

impl Relay {
    /// Returns the name, version and revision of the server, in words.
    #[must_use]
    pub fn describe_server(&self) -> String {
        let info = self.server().peer().peer_info();
        let text = |name: &str| Some(info.as_ref()?.implementation.get(name)?.as_str()?.into_owned());
        let revision = self.server().revision();
        format!("{} {}, revision {revision}", text("name").unwrap_or_default(), text("version").unwrap_or_default())
    }
}
