//! Serving a connection.

use std::io;
use std::sync::Arc;

#[cfg(feature = "http-server")]
use mcpgen_types::Revision;

use crate::protocol::cache_hints::Caching;
use crate::connection::{Connection, Limits};
use crate::protocol::Side;
use crate::protocol::dual::Eras;
#[cfg(feature = "http-server")]
use crate::protocol::info::Handled;
use crate::protocol::info::Introduction;
#[cfg(feature = "http-server")]
use crate::protocol::legacy::Legacy;
#[cfg(feature = "http-server")]
use crate::protocol::modern::Modern;
use crate::protocol::modern::Reading;
use crate::service::router::{Requests, Router};
use crate::transport::{Incoming, Outgoing};

/// What a server is to its clients. An [`Introduction`] is one, without hints for caches.
#[derive(Clone, Debug)]
pub struct Offer {
    /// What it says of itself.
    pub ours: Introduction,
    /// For how long results may be kept.
    pub caching: Caching,
    /// Kinds of results that extensions add to those of revision 2026-07-28.
    pub result_types: Vec<String>,
}

impl From<Introduction> for Offer {
    fn from(ours: Introduction) -> Self {
        Self { ours, caching: Caching::default(), result_types: Vec::new() }
    }
}

impl Offer {
    /// The server's end of a connection, of those revisions that a handler is of. It is able to do what is handled, besides
    /// what it says that it is.
    #[must_use]
    pub fn era(self, handlers: &Router) -> Eras {
        let Self { ours, caching, result_types } = self;
        let spoken = handlers.revisions();
        let ours = ours.speaking(|revision| spoken.is_empty() || spoken.contains(&revision));
        let reading = Reading { result_types, ..Reading::default() };
        Eras::new(Side::Server, ours, handlers, |modern| modern.caching(caching).reading(reading))
    }

    /// The revisions that are spoken: those of which there is a handler.
    #[cfg(feature = "http-server")]
    pub(crate) fn spoken(&self, handlers: &Router) -> Vec<Revision> {
        let spoken = handlers.revisions();
        let speaks = |revision: &Revision| spoken.is_empty() || spoken.contains(revision);
        self.ours.revisions.iter().copied().filter(speaks).collect()
    }

    /// The server's end of a session.
    #[cfg(feature = "http-server")]
    pub(crate) fn legacy(mut self, handlers: &Router) -> Legacy {
        self.ours.revisions = self.spoken(handlers);
        Legacy::new(Side::Server, self.ours).handling(Handled::by(handlers, Side::Server))
    }

    /// The server's end where there are no sessions.
    #[cfg(feature = "http-server")]
    pub(crate) fn modern(mut self, handlers: &Router) -> Modern {
        let spoken = self.spoken(handlers);
        self.ours.revisions.clone_from(&spoken);
        let reading = Reading { result_types: self.result_types, ..Reading::default() };
        let modern = Modern::new(Side::Server, self.ours).handling(Handled::by(handlers, Side::Server), spoken);
        modern.caching(self.caching).reading(reading)
    }
}

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
    offer: impl Into<Offer>,
    requests: impl Requests,
    handlers: Router,
    incoming: impl Incoming,
    outgoing: impl Outgoing,
    limits: Limits,
) -> io::Result<()> {
    let era = offer.into().era(&handlers);
    Connection::new(requests, handlers, Arc::new(era), limits).run(incoming, outgoing).await
}
