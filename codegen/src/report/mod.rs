//! Reports of a comparison. `source` reads the two schemas, `policy` applies `mcpgen.toml` and `baseline` earlier
//! findings, which gives a `judgement`. `contents` is what a report contains, `formats` writes it, and `explain` describes
//! rules.

pub(crate) mod baseline;
pub(crate) mod contents;
pub(crate) mod explain;
pub(crate) mod formats;
pub(crate) mod judgement;
pub(crate) mod policy;
pub(crate) mod source;
