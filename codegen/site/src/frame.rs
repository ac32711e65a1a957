//! The frame of all pages of the site: the bar with the search, one style sheet, and a policy that forbids requests to
//! other hosts.

use mcpgen_diff::html::{Page, STYLE, escape};

use crate::links::to_root;

/// The style sheet of all pages.
pub(crate) fn style() -> String {
    format!("{STYLE}{}", include_str!("../assets/site.css"))
}

/// The pages that the bar of every page links to.
const BAR: [(&str, &str); 8] = [
    ("revisions/index.html", "Revisions"),
    ("compare/index.html", "Compare"),
    ("conversions/index.html", "Conversions"),
    ("extensions/index.html", "Extensions"),
    ("quickstarts/index.html", "Quickstarts"),
    ("guide/index.html", "Guide"),
    ("benchmarks.html", "Benchmarks"),
    ("ledger.html", "Ledger"),
];

/// Writes a page. `address` is the path of the page, and `has` tells whether the site has a page.
pub(crate) fn framed(address: &str, page: &Page, has: &dyn Fn(&str) -> bool) -> String {
    let Page { title, header, main, script, .. } = page;
    let root = to_root(address);
    let title = if address == "index.html" { escape(title) } else { format!("{} · mcpgen", escape(title)) };
    let section = |page: &str| page.split('/').next() == address.split('/').next();
    let bar: String = BAR
        .iter()
        .filter(|(page, _)| has(page))
        .map(|(page, text)| {
            let current = match (*page == address, section(page) && page.contains('/')) {
                (true, _) => " aria-current=\"page\"",
                (false, true) => " aria-current=\"true\"",
                (false, false) => "",
            };
            format!("<li><a href=\"{root}{page}\"{current}>{text}</a></li>\n")
        })
        .collect();
    let links: String = page
        .navigation
        .iter()
        .map(|(target, text)| format!("<li><a href=\"#{}\">{}</a></li>\n", escape(target), escape(text)))
        .collect();
    let contents = match links.is_empty() {
        true => String::new(),
        false => format!("<nav aria-label=\"Contents\"><ul>\n{links}</ul></nav>\n"),
    };
    let script =
        script_name(script).map_or(String::new(), |name| format!("<script src=\"{root}{name}\" defer></script>\n"));
    let generator = concat!("mcpgen ", env!("CARGO_PKG_VERSION"));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src 'self' data:; \
         style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'self'\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"{generator}\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n\
         <link rel=\"stylesheet\" href=\"{root}style.css\">\n{script}</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the contents</a>\n<header class=\"bar\">\n\
         <a class=\"home\" href=\"{root}index.html\">mcpgen</a>\n<nav aria-label=\"Site\"><ul>\n{bar}</ul></nav>\n\
         <form role=\"search\" action=\"{root}search.html\"><label for=\"q\">Search</label>\
         <input type=\"search\" id=\"q\" name=\"q\"><button>Go</button></form>\n</header>\n\
         <main id=\"main\">\n<div class=\"title\">\n{header}</div>\n{contents}{main}</main>\n\
         <footer><p>Written by {generator}.</p></footer>\n</body>\n</html>\n"
    )
}

/// The scripts, by file name. Pages also work without them.
pub(crate) const SCRIPTS: [(&str, &str); 2] =
    [("types.js", include_str!("../assets/types.js")), ("search.js", include_str!("../assets/search.js"))];

/// The file name of the script in reports of `mcpgen diff`.
pub(crate) const REPORT_SCRIPT: &str = "report.js";

fn script_name(script: &str) -> Option<&'static str> {
    let known = SCRIPTS.iter().find(|(_, text)| *text == script).map(|(name, _)| *name);
    known.or((!script.is_empty()).then_some(REPORT_SCRIPT))
}

/// Writes a section with a heading.
pub(crate) fn section(id: &str, title: &str, body: &str) -> String {
    let id = escape(id);
    format!("<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{}</h2>\n{body}</section>\n", escape(title))
}

/// Writes a table that scrolls if it is wider than the window. Cells are HTML, and the first of each row is its
/// heading.
pub(crate) fn table(label: &str, columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let columns: String = columns.iter().map(|name| format!("<th scope=\"col\">{}</th>", escape(name))).collect();
    let rows: String = rows
        .into_iter()
        .map(|row| {
            let cells = row.iter().enumerate().map(|(at, cell)| match at {
                0 => format!("<th scope=\"row\">{cell}</th>"),
                _ => format!("<td>{cell}</td>"),
            });
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        })
        .collect();
    // The section around the table may have the same title.
    let label = format!("{}, table", escape(label));
    format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{label}\">\n<table>\n\
         <thead><tr>{columns}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )
}

/// Writes a link. The text is HTML.
pub(crate) fn link(target: &str, html: &str) -> String {
    format!("<a href=\"{}\">{html}</a>", escape(target))
}

/// Writes inline code.
pub(crate) fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text))
}

/// Placeholder for something that a revision does not have.
pub(crate) const ABSENT: &str = "<span class=\"absent\">absent</span>";

/// Writes a word as a coloured badge. `class` selects its colour in the style sheet.
pub(crate) fn badge(class: &str, word: &str) -> String {
    format!("<span class=\"badge {class}\">{}</span>", escape(word))
}
