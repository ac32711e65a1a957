//! Serves a connection with a router.

use std::io;
use std::sync::Arc;

use crate::connection::{Connection, Limits};
use crate::protocol::Role;
use crate::protocol::config::ServerConfig;
use crate::service::router::{RequestService, Router};
use crate::transport::{Incoming, Outgoing};

/// Serves a connection until the client closes it.
///
/// The server supports those revisions of `config` that have a handler. `requests` handles the requests: pass the
/// router, or the router wrapped in middleware. `handlers` is the router itself; it also handles the notifications.
///
/// To send messages to the client outside of a request, keep the [`Context::peer`](crate::Context::peer) of a handler,
/// or create the [`Connection`] yourself. In modern revisions, use
/// [`Subscriptions`](crate::server::subscriptions::Subscriptions) instead.
///
/// # Errors
///
/// Reading or writing fails.
pub async fn serve(
    config: impl Into<ServerConfig>,
    requests: impl RequestService,
    handlers: Router,
    incoming: impl Incoming,
    outgoing: impl Outgoing,
    limits: Limits,
) -> io::Result<()> {
    let protocol = config.into().protocol(&handlers.handled(Role::Server));
    Connection::new(requests, handlers, Arc::new(protocol), limits).run(incoming, outgoing).await
}
