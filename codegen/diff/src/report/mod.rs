//! Reports of a comparison. `source` reads a text, and `compared` two of them. `policy` applies `mcpgen.toml`, and
//! `baseline` suppresses accepted findings; the result is a `judgement`. `contents` defines the contents of a report,
//! `formats` writes it, `examples` shows documents before and after, and `explain` describes rules.

pub mod baseline;
pub mod compared;
pub mod contents;
pub mod examples;
pub mod explain;
pub mod formats;
pub mod judgement;
pub mod policy;
pub mod source;
