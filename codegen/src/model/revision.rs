//! A vendored revision: its name, its status and its era.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::text::names::module_name;

/// A row of `schema/revisions.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revision {
    /// The revision's name, `2025-11-25` or `draft`.
    pub name: String,
    /// Whether upstream may still change it.
    pub status: Status,
    /// How its sessions work.
    pub era: Era,
    /// Where upstream keeps its schema, below the root of upstream's repository.
    pub upstream: String,
    /// SHA-256 of upstream's file, in hex.
    pub sha256: String,
}

/// Whether a revision is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Status {
    /// Frozen: every fixup meant for it must find its place.
    Released,
    /// In motion.
    Draft,
}

/// How a session works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Era {
    /// `initialize` first, then state held for the connection.
    Legacy,
    /// Every request carries what it needs.
    Modern,
}

impl Era {
    /// The era as `revisions.toml` and `inspect` spell it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Revision {
    /// The Rust module of the revision: `v2025_11_25`, `draft`.
    pub fn module(&self) -> String {
        if self.name.starts_with(|c: char| c.is_ascii_digit()) {
            format!("v{}", self.name.replace(['-', '.'], "_").to_lowercase())
        } else {
            module_name(&self.name)
        }
    }
}

impl Status {
    /// Both.
    pub const ALL: [Status; 2] = [Status::Released, Status::Draft];

    /// The status as `revisions.toml` spells it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// What a revision of this name is unless told otherwise: released if and only if the name is a date.
    pub fn of(name: &str) -> Status {
        let is_digit = |at: usize, byte: u8| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() };
        let is_date = name.len() == 10 && name.bytes().enumerate().all(|(at, byte)| is_digit(at, byte));
        if is_date { Status::Released } else { Status::Draft }
    }
}

/// The schema of a revision, below the root.
pub fn schema_path(revision: &str) -> String {
    format!("schema/{revision}/schema.json")
}

/// Whether a revision's name can stand for a folder, a module and a line of text.
///
/// # Errors
/// [`Error::Usage`] if it cannot.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.len() <= 64 && name.chars().all(plain) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{name:?} cannot be the name of a revision: use letters, digits, `-`, `_` and `.`, a letter or digit first, as in \
         2025-11-25 or draft"
    )))
}
