//! What the site shows.

use std::path::PathBuf;

use mcpgen_model::conversions::{Conversions, Rules};
use mcpgen_model::{Extension, Protocol, Revision};

use crate::guide::{BENCHMARKS, Guide};
use crate::ledger::Ledger;

/// What the site shows.
#[derive(Debug)]
pub struct Site<'s> {
    /// The revisions, oldest first.
    pub revisions: &'s [Revision],
    /// Their models.
    pub models: &'s [Protocol],
    /// The files of their schemas.
    pub schemas: &'s [PathBuf],
    /// The extensions.
    pub extensions: &'s [Extension],
    /// Their models.
    pub extension_models: &'s [Protocol],
    /// The conversions between the revisions.
    pub conversions: &'s Conversions,
    /// The rules of the conversions.
    pub rules: &'s Rules,
    /// The Markdown pages of the repository.
    pub guide: &'s Guide,
    /// What is generated, and what is not.
    pub ledger: &'s Ledger,
}

impl Site<'_> {
    /// Returns whether the site has the page at this address. Pages without contents do not exist.
    pub(crate) fn has(&self, address: &str) -> bool {
        match address {
            "benchmarks.html" => self.guide.pages.contains_key(BENCHMARKS),
            "guide/index.html" => !self.guide.pages.is_empty(),
            "ledger.html" => !self.ledger.totals.is_empty(),
            "extensions/index.html" => !self.extensions.is_empty(),
            _ => true,
        }
    }
}
