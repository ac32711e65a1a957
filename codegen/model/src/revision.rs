//! Vendored revisions.

use mcpgen_schema::Error;
use serde::{Deserialize, Serialize};

use crate::text::names::module_name;

/// A row of `schema/revisions.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revision {
    /// The name, such as `2025-11-25` or `draft`.
    pub name: String,
    /// Whether upstream may still change it.
    pub status: Status,
    /// How connections begin.
    pub era: Era,
    /// Rules of the specification that its schema does not express.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// Path of its schema in the upstream repository.
    pub upstream: String,
    /// SHA-256 of the upstream file, in hexadecimal digits.
    pub sha256: String,
}

/// Whether a revision is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Status {
    /// Final. All of its fixups must match.
    Released,
    /// May still change.
    Draft,
}

/// How connections begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Era {
    /// With `initialize`. Connections have state.
    Legacy,
    /// Without a handshake. Each request is self-contained.
    Modern,
}

impl Era {
    /// Returns `legacy` or `modern`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A rule of the specification that no schema expresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Over HTTP, servers start each event stream with an empty event, so that clients have an ID to resume from.
    PrimingEvents,
    /// There is a special error code for unknown resources.
    ResourceNotFoundCode,
    /// Over HTTP, headers repeat the method, the target and marked arguments of a request.
    StandardHeaders,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 3] = [Rule::PrimingEvents, Rule::ResourceNotFoundCode, Rule::StandardHeaders];

    /// Returns the name of the method to generate on `Revision`, and its documentation.
    pub fn method(self) -> (&'static str, [&'static str; 2]) {
        match self {
            Rule::PrimingEvents => (
                "has_priming_events",
                [
                    "Returns whether servers begin each event stream of Streamable HTTP with an empty event, from whose ID",
                    "clients resume. `false` for a custom revision.",
                ],
            ),
            Rule::ResourceNotFoundCode => (
                "has_resource_not_found_code",
                [
                    "Returns whether requests for unknown resources fail with the error code -32002. Otherwise their params",
                    "are invalid. `false` for a custom revision.",
                ],
            ),
            Rule::StandardHeaders => (
                "has_standard_headers",
                [
                    "Returns whether the headers `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*` of Streamable HTTP repeat parts",
                    "of a request. `false` for a custom revision.",
                ],
            ),
        }
    }
}

impl Revision {
    /// Returns the revision's Rust module, such as `v2025_11_25` or `draft`.
    pub fn module(&self) -> String {
        Revision::module_of(&self.name)
    }

    /// Returns the Rust module for a revision's name.
    pub fn module_of(name: &str) -> String {
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            format!("v{}", name.replace(['-', '.'], "_").to_lowercase())
        } else {
            module_name(name)
        }
    }
}

impl Status {
    /// Returns `released` or `draft`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Guesses the status from the name: a date means released.
    pub fn of(name: &str) -> Status {
        let is_digit = |at: usize, byte: u8| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() };
        let is_date = name.len() == 10 && name.bytes().enumerate().all(|(at, byte)| is_digit(at, byte));
        if is_date { Status::Released } else { Status::Draft }
    }
}

/// Returns the path of a revision's schema, relative to the root.
pub fn schema_path(revision: &str) -> String {
    format!("schema/{revision}/schema.json")
}

/// Checks that a revision's name can be used for a folder and a module.
///
/// # Errors
/// Returns [`Error::Usage`] if not.
pub fn check_name(name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.len() <= 64 && name.chars().all(plain) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{name:?} cannot be the name of a revision: use letters, digits, `-`, `_` and `.`, a letter or digit first, as in \
         2025-11-25 or draft"
    )))
}
