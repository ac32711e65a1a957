//! The formats of reports: `text` for a terminal, `json` for programs, `markdown` for a comment on a pull request,
//! `html` for people, `github` for workflow commands, `sarif` for code scanning and `junit` for test reports. `format`
//! chooses one. `changelog` writes what users have to do.

mod changelog;
mod format;
mod github;
#[cfg(test)]
#[path = "../../../../tests/support/hostile.rs"]
mod hostile;
mod html;
mod json;
mod junit;
mod markdown;
mod sarif;
#[cfg(test)]
pub mod tests;
mod text;

pub use changelog::render as changelog;
pub use format::Format;
pub use html::page;
pub use text::TextOptions;
