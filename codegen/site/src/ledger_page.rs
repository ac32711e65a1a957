//! The ledger as a page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mcpgen_diff::html::{Page, code_spans, escape};
use mcpgen_schema::text::counted;

use crate::frame::{badge, code, link, section, table};
use crate::ledger::{Code, Entry, Ledger, SpecRule, Table, Total};
use crate::markdown::anchor;

pub(crate) fn page(ledger: &Ledger) -> Page {
    let mut sections: Vec<(String, String, String)> = Vec::new();
    for (group, title) in [("sdk", "A working SDK"), ("programs", "Programs on it"), ("generator", "The generator")] {
        if let Some(total) = ledger.totals.get(group) {
            sections.push((group.to_owned(), title.to_owned(), layers(ledger, group, title, total)));
        }
    }
    sections.push(("data".into(), "Data".into(), data(&ledger.data)));
    let count = counted(ledger.rules.len() as u64, "rules");
    sections.push(("rules".into(), format!("{count} that no schema states"), rules(&ledger.rules)));
    let percent = ledger.totals.get("sdk").map_or(0, Total::generated_percent);
    Page {
        title: "Ledger".into(),
        header: format!(
            "<h1>Ledger</h1>\n<p class=\"lead\">What of a working SDK follows from the schemas, and what does not: {percent} % \
             of its code is generated. The figures are also available as <a href=\"ledger.json\">JSON</a>.</p>\n"
        ),
        navigation: sections.iter().map(|(id, title, _)| (id.clone(), title.clone())).collect(),
        main: sections.iter().map(|(id, title, body)| section(id, title, body)).collect(),
        script: "",
    }
}

fn layers(ledger: &Ledger, group: &str, title: &str, total: &Total) -> String {
    let row = |name: String, about: &str, total: &Total| {
        vec![
            format!("{name}<p>{}</p>", escape(about)),
            lines(&total.generated),
            lines(&total.hand_written),
            share(total),
        ]
    };
    let layers = ledger.layers.iter().filter(|layer| layer.group == group);
    let rows = layers.map(|layer| row(escape(&layer.name), &layer.about, &layer.total));
    let sum = row("<strong>All</strong>".into(), "", total);
    let columns = ["Layer", "Lines generated", "Lines written by hand", "Share generated"];
    let table = table(title, &columns, rows.chain([sum]));
    format!("<p>Lines of code, without blank lines, comments and tests. Lower layers come first.</p>\n{table}")
}

fn lines(code: &Code) -> String {
    match code.lines {
        0 => "none".to_owned(),
        lines => format!("{lines} in {}", counted(code.files as u64, "files")),
    }
}

fn share(total: &Total) -> String {
    match total.generated_percent() {
        0 => badge("hand-written", "by hand"),
        100 => badge("generated", "generated"),
        percent => format!("{percent} %"),
    }
}

fn data(tables: &[Table]) -> String {
    let mut text =
        "<p>What the schemas leave open is data, not code. Each entry says why it is needed.</p>\n".to_owned();
    for Table { file, about, entries } in tables {
        let count = counted(entries.len() as u64, "entries");
        let _ = writeln!(text, "<h3><code>{}</code></h3>\n<p>{} {count}.</p>", escape(file), escape(about));
        let rows = entries.iter().map(|Entry { name, kind, applies_to, reason, link: evidence }| {
            let evidence = if evidence.is_empty() { String::new() } else { format!(" {}", link(evidence, "evidence")) };
            let revisions = if applies_to.is_empty() { "all".to_owned() } else { applies_to.join(", ") };
            vec![code(name), escape(kind), escape(&revisions), format!("{}{evidence}", code_spans(reason))]
        });
        text.push_str(&table(file, &["Entry", "Kind", "For", "Reason"], rows));
    }
    text
}

fn rules(rules: &[SpecRule]) -> String {
    let mut pages: BTreeMap<&str, Vec<&SpecRule>> = BTreeMap::new();
    rules.iter().for_each(|rule| pages.entry(&rule.page).or_default().push(rule));
    let mut text = "<p>Sentences of the specification, in our own words, that hand-written code implements and tests verify. To \
                    generate more of an SDK, these would have to become part of a schema. The list covers only the pages named \
                    here, so it is not complete.</p>\n"
        .to_owned();
    for (page, rules) in pages {
        let id = anchor(page);
        let title = page.trim_end_matches(".mdx").trim_end_matches("/index").trim_start_matches("../");
        let heading = link(&rules[0].link, &escape(title));
        let _ =
            writeln!(text, "<h3 id=\"{}\">{heading}, {}</h3>\n<ul>", escape(&id), counted(rules.len() as u64, "rules"));
        for rule in rules {
            let tests = counted(rule.tests as u64, "tests");
            let _ = writeln!(text, "<li>{} <span class=\"quiet\">{tests}</span></li>", code_spans(&rule.text));
        }
        text.push_str("</ul>\n");
    }
    text
}
