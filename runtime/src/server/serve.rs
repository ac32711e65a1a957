//! Serving a connection.

use std::io;
use std::sync::Arc;

use crate::connection::{Connection, Limits};
use crate::protocol::Role;
use crate::protocol::config::ServerConfig;
use crate::service::router::{RequestService, Router};
use crate::transport::{Incoming, Outgoing};

/// Runs a server on a connection until its client is gone. It speaks those of its revisions that a handler is of, each
/// request in its own.
///
/// To tell the client something when it has asked for nothing, keep a handler's [`Context::peer`](crate::Context::peer), or
/// make the [`Connection`] yourself; where there are no connections any more, use
/// [`Subscriptions`](crate::server::subscriptions::Subscriptions). `requests` is the router itself, or the router in layers of
/// middleware; `handlers` is the router, which also takes the notifications.
///
/// # Errors
///
/// Reading or writing failed.
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
