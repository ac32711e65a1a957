//! The frame of a page.

use crate::html::escape::escape;

/// A self-contained page.
#[derive(Debug)]
pub struct Page {
    /// The title.
    pub title: String,
    /// The contents of `header`, in HTML.
    pub header: String,
    /// The navigation links: the ID of an element on the page, and the text.
    pub navigation: Vec<(String, String)>,
    /// The contents of `main`, in HTML.
    pub main: String,
    /// A script that adds features. The page also works without it.
    pub script: &'static str,
}

/// The styles of all pages.
pub const STYLE: &str = include_str!("../../assets/page.css");

impl Page {
    /// Writes the page. Its Content Security Policy forbids all requests.
    pub fn render(&self) -> String {
        let Page { title, header, main, script, .. } = self;
        let title = escape(title);
        let links: String = self
            .navigation
            .iter()
            .map(|(target, text)| format!("<li><a href=\"#{}\">{}</a></li>\n", escape(target), escape(text)))
            .collect();
        let generator = concat!("mcpgen ", env!("CARGO_PKG_VERSION"));
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
             style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"{generator}\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">Skip to the contents</a>\n<header>\n{header}</header>\n\
             <nav aria-label=\"Contents\"><ul>\n{links}</ul></nav>\n<main id=\"main\">\n{main}</main>\n\
             <footer><p>Written by {generator}.</p></footer>\n<script>\n{script}</script>\n</body>\n</html>\n"
        )
    }
}
