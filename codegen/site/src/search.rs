//! The search page, which lists everything. If scripts are off, the browser's own search finds all entries.

use std::fmt::Write as _;

use mcpgen_diff::html::{Page, escape};

/// Something that can be found.
pub(crate) struct Hit {
    /// Its name.
    pub(crate) name: String,
    /// Its kind, and where it is.
    pub(crate) kind: String,
    /// Its address.
    pub(crate) address: String,
}

pub(crate) const SCRIPT: &str = include_str!("../assets/search.js");

pub(crate) fn page(hits: &[Hit]) -> Page {
    let mut list = String::new();
    for Hit { name, kind, address } in hits {
        let lower = name.to_lowercase();
        let _ = writeln!(
            list,
            "<li data-name=\"{}\" data-text=\"{}\"><a href=\"{}\">{}</a><span class=\"quiet\">{}</span></li>",
            escape(&lower),
            escape(&format!("{lower} {}", kind.to_lowercase())),
            escape(address),
            escape(name),
            escape(kind)
        );
    }
    Page {
        title: "Search".into(),
        header: "<h1>Search</h1>\n<p class=\"quiet\">Types, methods and pages, by name.</p>\n".into(),
        navigation: Vec::new(),
        main: format!("<p><output id=\"shown\" for=\"q\"></output></p>\n<ul class=\"results\">\n{list}</ul>\n"),
        script: SCRIPT,
    }
}
