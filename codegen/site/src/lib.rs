//! Shows the models of a protocol as web pages, and counts how much of an SDK is generated from them.
//!
//! [`Site`] writes a folder of static pages: revisions, the history of types, comparisons, conversions and the guide.
//! [`model_page()`] writes a single page about one model. [`ledger()`] counts what is generated, and [`quickstarts`]
//! writes programs that use the types of a revision.
//!
//! What comes from schemas or from files is escaped, and the pages request nothing from other hosts.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::print_stdout)]

// Sources -> counts.
mod ledger;

// A model -> programs.
mod quickstart;

// All models -> what changed.
mod history;

// What pages have in common.
mod frame;
mod links;
mod markdown;

// The repository's Markdown pages, and everything else that the site shows.
mod contents;
mod guide;

// The pages.
mod comparisons;
mod conversion_pages;
mod first_page;
mod ledger_page;
mod model_page;
mod programs;
mod search;
mod type_pages;

mod site;

pub use contents::Site;
pub use guide::Guide;
pub use ledger::{Code, Entry, Layer, Ledger, Sources, SpecRule, Table, Total, ledger};
pub use model_page::model_page;
pub use quickstart::{DEPENDENCIES, Quickstart, quickstarts};
