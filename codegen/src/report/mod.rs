//! Reports of a comparison. `source` reads the two schemas. `policy` applies `mcpgen.toml`, and `baseline` suppresses
//! earlier findings; the result is a `judgement`. `contents` defines the contents of a report, `formats` writes it,
//! `examples` shows documents before and after, and `explain` describes rules.

pub(crate) mod baseline;
pub(crate) mod contents;
pub(crate) mod examples;
pub(crate) mod explain;
pub(crate) mod formats;
pub(crate) mod judgement;
pub(crate) mod policy;
pub(crate) mod source;
