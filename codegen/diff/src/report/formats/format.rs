//! The list of formats.

use super::text::TextOptions;
use super::{github, html, json, junit, markdown, sarif, text};
use crate::report::contents::Report;

/// A format of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[strum(serialize_all = "kebab-case")]
pub enum Format {
    /// For terminals.
    Text,
    /// For programs; codegen/diff/schemas/diff-report.schema.json describes it.
    Json,
    /// For a comment on a pull request.
    Markdown,
    /// A self-contained page for people.
    Html,
    /// GitHub workflow commands.
    Github,
    /// SARIF 2.1.0.
    Sarif,
    /// JUnit XML.
    Junit,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 7] =
        [Format::Text, Format::Json, Format::Markdown, Format::Html, Format::Github, Format::Sarif, Format::Junit];

    /// Returns the name of the format.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Writes the report in this format.
    pub fn render(self, report: &Report, options: TextOptions) -> String {
        match self {
            Format::Text => text::render(report, options),
            Format::Json => json::render(report),
            Format::Markdown => markdown::render(report),
            Format::Html => html::render(report),
            Format::Github => github::render(report),
            Format::Sarif => sarif::render(report),
            Format::Junit => junit::render(report),
        }
    }
}
