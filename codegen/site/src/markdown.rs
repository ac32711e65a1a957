//! Writes Markdown as HTML. HTML inside Markdown is shown as text, so that foreign documentation cannot add elements.

use mcpgen_diff::html::escape;
use pulldown_cmark::{
    Alignment, BrokenLink, CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html,
};

/// A page in HTML.
pub(crate) struct Rendered {
    /// The text of the first heading.
    pub(crate) title: Option<String>,
    /// The contents without that heading.
    pub(crate) html: String,
    /// The anchors and texts of the second-level headings.
    pub(crate) headings: Vec<(String, String)>,
}

/// Writes the text of a documentation entry, whose links to Rust items become their texts.
pub(crate) fn documentation(markdown: &str) -> String {
    page(markdown, &|_| None, &|_| None).html
}

/// Writes a page. `link` returns the target of a link, and `image` that of an image. Without a target, only the text
/// remains, except for links to the web and to anchors, which stay.
pub(crate) fn page(
    markdown: &str,
    link: &dyn Fn(&str) -> Option<String>,
    image: &dyn Fn(&str) -> Option<String>,
) -> Rendered {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    // Reads [`Item`], a rustdoc link, as a link. It has no target, so only its text remains.
    let broken = |_: BrokenLink<'_>| Some((CowStr::from(""), CowStr::from("")));
    let parser = Parser::new_with_broken_link_callback(markdown, options, Some(broken));
    let mut writer = Writer { events: Vec::new(), title: None, headings: Vec::new(), open: Vec::new() };
    let mut heading: Option<(HeadingLevel, Vec<Event<'_>>, String)> = None;
    let (mut is_rust, mut table) = (false, Table::default());
    for event in parser {
        if let Some((level, events, text)) = &mut heading {
            match event {
                Event::End(TagEnd::Heading(_)) => {
                    let (level, events, text) = (*level, std::mem::take(events), std::mem::take(text));
                    heading = None;
                    writer.heading(level, events, text);
                }
                Event::Text(part) => {
                    text.push_str(&part);
                    events.push(Event::Text(part));
                }
                Event::Code(part) => {
                    text.push_str(&part);
                    events.push(Event::Code(part));
                }
                _ => {}
            }
            continue;
        }
        match event {
            Event::Start(Tag::Heading { level, .. }) => heading = Some((level, Vec::new(), String::new())),
            Event::Start(Tag::Link { dest_url, .. }) => writer.start_link(link(&dest_url).or_else(|| web(&dest_url))),
            Event::Start(Tag::Image { dest_url, .. }) => writer.start_image(image(&dest_url)),
            Event::End(TagEnd::Link | TagEnd::Image) => writer.end(),
            Event::Start(Tag::CodeBlock(kind)) => {
                is_rust = matches!(&kind, CodeBlockKind::Fenced(info) if info.starts_with("rust"));
                writer.raw("<pre class=\"code\" tabindex=\"0\"><code>".into());
            }
            Event::End(TagEnd::CodeBlock) => {
                is_rust = false;
                writer.raw("</code></pre>\n".into());
            }
            Event::Text(text) if is_rust => writer.events.push(Event::Text(visible_rust(&text).into())),
            Event::Start(tag @ (Tag::Table(_) | Tag::TableHead | Tag::TableRow | Tag::TableCell)) => {
                table.start(&mut writer, tag);
            }
            Event::End(end @ (TagEnd::Table | TagEnd::TableHead | TagEnd::TableRow | TagEnd::TableCell)) => {
                table.end(&mut writer, end);
            }
            Event::Html(text) | Event::InlineHtml(text) => writer.html(&text, image),
            event => writer.events.push(event),
        }
    }
    let mut text = String::new();
    html::push_html(&mut text, writer.events.into_iter());
    // An empty cell is not a heading. `<` is escaped in text, so only tags match.
    let text = text.replace("<th scope=\"col\"></th>", "<td></td>");
    let text = text.replace("<th scope=\"col\" class=\"right\"></th>", "<td></td>");
    Rendered { title: writer.title, html: text, headings: writer.headings }
}

struct Writer<'m> {
    events: Vec<Event<'m>>,
    title: Option<String>,
    headings: Vec<(String, String)>,
    /// For each open link or image, the tag that ends it, or `None` if only its text is written.
    open: Vec<Option<TagEnd>>,
}

/// Writes tables. The Content Security Policy of the pages forbids inline styles, so aligned cells have a class.
#[derive(Default)]
struct Table {
    alignments: Vec<Alignment>,
    /// The number of tables so far.
    count: usize,
    column: usize,
    is_head: bool,
}

impl Table {
    fn start(&mut self, writer: &mut Writer<'_>, tag: Tag<'_>) {
        writer.raw(match tag {
            Tag::Table(alignments) => {
                (self.alignments, self.count) = (alignments, self.count + 1);
                let label = format!("aria-label=\"Table {}\"", self.count);
                format!("<div class=\"scroll\" role=\"region\" tabindex=\"0\" {label}>\n<table>\n")
            }
            Tag::TableHead => {
                (self.is_head, self.column) = (true, 0);
                "<thead><tr>".to_owned()
            }
            Tag::TableRow => {
                self.column = 0;
                "<tr>".to_owned()
            }
            _ => {
                let is_right = self.alignments.get(self.column) == Some(&Alignment::Right);
                self.column += 1;
                let class = if is_right { " class=\"right\"" } else { "" };
                if self.is_head { format!("<th scope=\"col\"{class}>") } else { format!("<td{class}>") }
            }
        });
    }

    fn end(&mut self, writer: &mut Writer<'_>, end: TagEnd) {
        let text = match end {
            TagEnd::Table => "</tbody>\n</table>\n</div>\n",
            TagEnd::TableHead => "</tr></thead>\n<tbody>\n",
            TagEnd::TableRow => "</tr>\n",
            _ if self.is_head => "</th>",
            _ => "</td>",
        };
        self.is_head &= end != TagEnd::TableHead;
        writer.raw(text.to_owned());
    }
}

impl<'m> Writer<'m> {
    fn raw(&mut self, html: String) {
        self.events.push(Event::Html(html.into()));
    }

    /// Writes HTML that Markdown contains: drops comments, keeps the pictures of our own pages, and shows everything
    /// else as text.
    fn html(&mut self, text: &str, image: &dyn Fn(&str) -> Option<String>) {
        let mut rest = text;
        while let Some((before, tag)) = rest.split_once('<') {
            self.events.push(Event::Text(before.to_owned().into()));
            let Some((tag, after)) = tag.split_once('>') else { break };
            rest = after;
            let attribute = |name: &str| Some(tag.split_once(&format!("{name}=\""))?.1.split('"').next()?.to_owned());
            match tag.split_whitespace().next().unwrap_or_default() {
                "picture" | "/picture" | "p" | "/p" => {}
                "source" => {
                    if let (Some(set), Some(media)) =
                        (attribute("srcset").and_then(|it| image(&it)), attribute("media"))
                    {
                        self.raw(format!("<source srcset=\"{}\" media=\"{}\">", escape(&set), escape(&media)));
                    }
                }
                "img" => {
                    if let Some(src) = attribute("src").and_then(|it| image(&it)) {
                        let alt = attribute("alt").unwrap_or_default();
                        self.raw(format!("<img src=\"{}\" alt=\"{}\">", escape(&src), escape(&alt)));
                    }
                }
                _ if tag.starts_with("!--") => {}
                _ => self.events.push(Event::Text(format!("<{tag}>").into())),
            }
            let is_picture = tag.trim_start_matches('/').starts_with("picture");
            if is_picture {
                self.raw(format!("<{}>", if tag.starts_with('/') { "/picture" } else { "picture" }));
            }
        }
        self.events.push(Event::Text(rest.to_owned().into()));
    }

    fn heading(&mut self, level: HeadingLevel, events: Vec<Event<'m>>, text: String) {
        if level == HeadingLevel::H1 && self.title.is_none() {
            self.title = Some(text);
            return;
        }
        let mut id = anchor(&text);
        while self.headings.iter().any(|(known, _)| *known == id) {
            id.push_str("-1");
        }
        // The title of the page has the first level.
        let level = (level as usize).max(2);
        self.raw(format!("<h{level} id=\"{}\">", escape(&id)));
        self.events.extend(events);
        self.raw(format!("</h{level}>\n"));
        if level == 2 {
            self.headings.push((id, text));
        }
    }

    fn start_link(&mut self, target: Option<String>) {
        self.open.push(target.as_ref().map(|_| TagEnd::Link));
        if let Some(target) = target {
            let (dest_url, title, id) = (target.into(), "".into(), "".into());
            self.events.push(Event::Start(Tag::Link { link_type: LinkType::Inline, dest_url, title, id }));
        }
    }

    fn start_image(&mut self, target: Option<String>) {
        self.open.push(target.as_ref().map(|_| TagEnd::Image));
        if let Some(target) = target {
            let (dest_url, title, id) = (target.into(), "".into(), "".into());
            self.events.push(Event::Start(Tag::Image { link_type: LinkType::Inline, dest_url, title, id }));
        }
    }

    fn end(&mut self) {
        if let Some(Some(end)) = self.open.pop() {
            self.events.push(Event::End(end));
        }
    }
}

/// Returns the target if it is outside the site or an anchor on the same page.
fn web(target: &str) -> Option<String> {
    ["https://", "http://", "#"].iter().any(|start| target.starts_with(start)).then(|| target.to_owned())
}

/// Returns the lines that rustdoc shows.
fn visible_rust(code: &str) -> String {
    let is_shown = |line: &&str| !(line.trim() == "#" || line.trim_start().starts_with("# "));
    let shown: Vec<&str> = code.split_inclusive('\n').filter(is_shown).collect();
    shown.concat()
}

/// Returns the anchor of a heading, as GitHub derives it.
pub(crate) fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_no_foreign_elements() {
        for (markdown, expected) in [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("a <b onclick=x>b</b>", "<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>\n"),
            ("[a](javascript:alert(1))", "<p>a</p>\n"),
            ("![a](https://example.org/x.png)", "<p>a</p>\n"),
            ("Calls [`Tool`].", "<p>Calls <code>Tool</code>.</p>\n"),
            ("<!-- hidden -->", ""),
            (
                "[a](https://example.org/\"><script>)",
                "<p><a href=\"https://example.org/%22%3E%3Cscript%3E\">a</a></p>\n",
            ),
            ("<img src=\"x.svg\" alt=\"&quot;<\">", ""),
        ] {
            let html = documentation(markdown);
            if markdown.starts_with("<img") {
                assert!(!html.contains("<img"), "{html}");
            } else {
                assert_eq!(html.trim_end(), expected.trim_end(), "{markdown}");
            }
        }
    }

    #[test]
    fn writes_tables_without_styles() {
        let html = documentation("|a|b||\n|-:|:-:|-|\n|x style=\"text-align: right\"|y|\n");
        for part in
            ["<th scope=\"col\" class=\"right\">a</th><th scope=\"col\">b</th><td></td>", "<td class=\"right\">x style"]
        {
            assert!(html.contains(part), "{html}");
        }
    }

    #[test]
    fn writes_headings_links_and_pictures() {
        let markdown =
            "# Title\n\n## A `b`, c\n\n[x](y.md#z)\n\n```rust\n# hidden\nshown();\n```\n\n![plot](plot.svg)\n";
        let rendered = page(markdown, &|target| Some(format!("to/{target}")), &|target| Some(format!("../{target}")));
        assert_eq!(rendered.title.as_deref(), Some("Title"));
        assert_eq!(rendered.headings, [("a-b-c".to_owned(), "A b, c".to_owned())]);
        for part in [
            "<h2 id=\"a-b-c\">A <code>b</code>, c</h2>",
            "href=\"to/y.md#z\"",
            "<code>shown();\n</code>",
            "src=\"../plot.svg\"",
        ] {
            assert!(rendered.html.contains(part), "{part} in {}", rendered.html);
        }
        assert!(!rendered.html.contains("hidden"));
    }
}
