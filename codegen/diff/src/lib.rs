//! Compares two models of a protocol, or two lists of a server's tools, and says whom the differences break.
//!
//! ```
//! # fn main() -> Result<(), mcpgen_schema::Error> {
//! use mcpgen_schema::Document;
//!
//! let model = |schema: &str| mcpgen_model::model(Document::parse("ports.json", schema.as_bytes())?, "draft", false);
//! let old = model(r#"{"$defs": {"Port": {"type": "integer", "maximum": 65535}}}"#)?;
//! let new = model(r#"{"$defs": {"Port": {"type": "integer", "maximum": 1023}}}"#)?;
//! let diff = mcpgen_diff::diff(&old, &new);
//! assert_eq!(diff.findings[0].rule.id(), "limit-tightened");
//! # Ok(())
//! # }
//! ```
//!
//! [`diff()`] compares two models, and [`lists::diff`] compares the tools, resources and prompts of a server. `report`
//! writes the findings as text, JSON, Markdown, HTML and other formats.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::print_stdout)]

// Suggestions for misspelled names.
#[cfg(feature = "report")]
pub mod suggest;

// Two models -> findings.
mod models;

// The lists of a server -> findings.
pub mod lists;

// Self-contained HTML pages.
#[cfg(feature = "report")]
pub mod html;

// Findings -> reports.
#[cfg(feature = "report")]
pub mod report;

pub use models::{
    Action, Axis, Bump, Diff, Evidence, Finding, ListVerdicts, Place, Rule, RuleVerdicts, SchemaVerdicts, Senders,
    TypeVerdict, Verdict, Verdicts, Version, Witness, diff,
};
