//! What a server is configured with.

#[cfg(feature = "http-server")]
use mcpgen_types::Revision;

use super::Side;
use super::cache_hints::Caching;
use super::dual::Eras;
use super::info::{Handled, Introduction};
#[cfg(feature = "http-server")]
use super::legacy::Legacy;
#[cfg(feature = "http-server")]
use super::modern::Modern;
use super::modern::Reading;

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
    pub fn era(self, handled: &Handled) -> Eras {
        let Self { ours, caching, result_types } = self;
        let ours = ours.speaking(|revision| handled.speaks(revision));
        let reading = Reading { result_types, ..Reading::default() };
        Eras::new(Side::Server, ours, handled.clone(), |modern| modern.caching(caching).reading(reading))
    }

    /// The revisions that are spoken: those of which there is a handler.
    #[cfg(feature = "http-server")]
    pub(crate) fn spoken(&self, handled: &Handled) -> Vec<Revision> {
        self.ours.revisions.iter().copied().filter(|revision| handled.speaks(*revision)).collect()
    }

    /// The server's end of a session.
    #[cfg(feature = "http-server")]
    pub(crate) fn legacy(mut self, handled: &Handled) -> Legacy {
        self.ours.revisions = self.spoken(handled);
        Legacy::new(Side::Server, self.ours).handling(handled.clone())
    }

    /// The server's end where there are no sessions.
    #[cfg(feature = "http-server")]
    pub(crate) fn modern(mut self, handled: &Handled) -> Modern {
        let spoken = self.spoken(handled);
        self.ours.revisions.clone_from(&spoken);
        let reading = Reading { result_types: self.result_types, ..Reading::default() };
        let modern = Modern::new(Side::Server, self.ours).handling(handled.clone(), spoken);
        modern.caching(self.caching).reading(reading)
    }
}
