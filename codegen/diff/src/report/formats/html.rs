//! A self-contained page for people: a summary, a matrix of types, and the findings with both schemas side by side.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use mcpgen_schema::text::visible;
use similar::{ChangeTag, TextDiff};

use crate::html::{Page, code_spans, escape};
use crate::models::{Axis, Finding, Place, Verdict};
use crate::report::contents::{MatrixRow, Report, axis_in_words};
use crate::report::judgement::{Judged, Suppressed};
use crate::report::source::Source;

pub(super) fn render(report: &Report) -> String {
    page(report).render()
}

/// Returns the parts of a report's page, so that callers can put them into a frame of their own.
pub fn page(report: &Report) -> Page {
    let title = format!("{}: {} → {}", report.subject.title(), visible(&report.old.label), visible(&report.new.label));
    let mut sections = vec![
        ("summary", "Summary", summary(report)),
        ("types", report.subject.items(), matrix(&report.matrix())),
        ("findings", "Findings", findings(report)),
    ];
    if !report.stale.is_empty() || !report.notes.is_empty() {
        sections.push(("remarks", "Remarks", remarks(report)));
    }
    let section = |(id, title, body): &(&str, &str, String)| {
        format!("<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>\n{body}</section>\n")
    };
    Page {
        header: header(report),
        title,
        navigation: sections.iter().map(|(id, title, _)| ((*id).to_owned(), (*title).to_owned())).collect(),
        main: sections.iter().map(section).collect(),
        script: include_str!("../../../assets/report.js"),
    }
}

/// The maximum number of lines of a schema in a finding, and of unchanged lines around a change.
const MAX_LINES: usize = 30;
const CONTEXT: usize = 3;

fn header(report: &Report) -> String {
    let (word, class) = if report.fails() { ("fails", "breaking") } else { ("passes", "compatible") };
    let side = |name: &str, source: &Source| {
        format!("{name}: <code>{}</code>, SHA-256 <code>{}</code>", escape(&source.label), &source.sha256[..12])
    };
    format!(
        "<h1>{}: {} → {}</h1>\n<p>The check <span class=\"badge {class}\">{word}</span> \
         (<code>--fail-on {}</code>).</p>\n<p class=\"quiet\">{}<br>{}</p>\n",
        report.subject.title(),
        escape(&report.old.label),
        escape(&report.new.label),
        report.fail_on.as_str(),
        side("Old", &report.old),
        side("New", &report.new),
    )
}

fn summary(report: &Report) -> String {
    let mut text = "<table>\n<thead><tr><th scope=\"col\">Findings</th>".to_owned();
    for verdict in Verdict::ALL.iter().rev() {
        let _ = write!(text, "<th scope=\"col\" class=\"number\">{verdict}</th>");
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    let mut row = |name: &str, verdict_of: &dyn Fn(&Judged) -> Verdict| {
        let _ = write!(text, "<tr><th scope=\"row\">{name}</th>");
        for verdict in Verdict::ALL.iter().rev() {
            let count = report.unsuppressed().filter(|judged| verdict_of(judged) == *verdict).count();
            let _ = write!(text, "<td class=\"number\">{count}</td>");
        }
        text.push_str("</tr>\n");
    };
    row("overall", &|judged| judged.severity);
    for axis in &report.axes {
        row(axis_in_words(*axis), &|judged| judged.finding.verdicts.on(*axis));
    }
    text.push_str("</tbody>\n</table>\n");
    let suppressed = report.counts().suppressed();
    if !suppressed.is_empty() {
        let _ = writeln!(text, "<p>Suppressed: {}.</p>", escape(&suppressed));
    }
    text
}

/// Writes the verdicts on each type or item. Of the compatible ones, only the names are listed, and collapsed.
fn matrix(rows: &[MatrixRow]) -> String {
    let mut text = String::new();
    let (changed, same): (Vec<&MatrixRow>, Vec<&MatrixRow>) =
        rows.iter().partition(|row| row.verdicts.iter().any(|(_, verdict)| *verdict > Verdict::Compatible));
    if changed.is_empty() {
        text.push_str("<p>All are compatible.</p>\n");
    } else {
        text.push_str("<table>\n<thead><tr><th scope=\"col\">Name</th>");
        for (axis, _) in &changed[0].verdicts {
            let _ = write!(text, "<th scope=\"col\">{}</th>", axis_in_words(*axis));
        }
        text.push_str("<th scope=\"col\">Worst finding</th></tr></thead>\n<tbody>\n");
        for row in changed {
            let name = escape(&row.name);
            let _ = write!(text, "<tr><th scope=\"row\"><code>{name}</code></th>");
            for (_, verdict) in &row.verdicts {
                let _ = write!(text, "<td>{}</td>", badge(verdict.as_str()));
            }
            let _ = match &row.finding {
                Some((rule, print)) => write!(text, "<td><a href=\"#f-{print}\"><code>{rule}</code></a></td></tr>"),
                None => write!(text, "<td>in what it uses</td></tr>"),
            };
            text.push('\n');
        }
        text.push_str("</tbody>\n</table>\n");
    }
    if !same.is_empty() {
        let names: Vec<String> = same.iter().map(|row| format!("<code>{}</code>", escape(&row.name))).collect();
        let _ = writeln!(
            text,
            "<details><summary>{} compatible</summary>\n<p>{}</p>\n</details>",
            same.len(),
            names.join(", ")
        );
    }
    text
}

fn findings(report: &Report) -> String {
    let mut text = String::new();
    filter(&mut text, report);
    if report.findings.is_empty() {
        text.push_str("<p>There are no differences.</p>\n");
    }
    let mut ids: HashMap<&str, usize> = HashMap::new();
    for (name, findings) in report.groups(report.findings.iter()) {
        let _ = writeln!(text, "<div class=\"group\">\n<h3><code>{}</code></h3>", escape(&name));
        for judged in findings {
            let print = judged.fingerprint.as_str();
            let count = ids.entry(print).or_default();
            *count += 1;
            let id = if *count == 1 { format!("f-{print}") } else { format!("f-{print}-{count}") };
            finding(&mut text, report, judged, &id);
        }
        text.push_str("</div>\n");
    }
    text
}

/// Writes the filter, a form that stays hidden until the script shows it.
fn filter(text: &mut String, report: &Report) {
    text.push_str("<form class=\"filter\" hidden>\n<fieldset><legend>Severity</legend>");
    for verdict in Verdict::ALL.iter().rev() {
        let _ = write!(
            text,
            "<label><input type=\"checkbox\" name=\"severity\" value=\"{verdict}\" checked> {verdict}</label>"
        );
    }
    text.push_str("</fieldset>\n<label>Axis <select name=\"axis\"><option value=\"\">all</option>");
    for axis in &report.axes {
        let _ = write!(text, "<option value=\"{}\">{}</option>", data_name(*axis), axis_in_words(*axis));
    }
    text.push_str("</select></label>\n<label>Area <select name=\"area\"><option value=\"\">all</option>");
    let areas: BTreeSet<&str> = report.findings.iter().map(|judged| report.area(&judged.finding)).collect();
    for area in areas {
        let area = escape(area);
        let _ = write!(text, "<option value=\"{area}\">{area}</option>");
    }
    text.push_str("</select></label>\n<label>Search <input type=\"search\" name=\"search\"></label>\n");
    text.push_str("<output id=\"shown\"></output>\n</form>\n");
}

fn finding(text: &mut String, report: &Report, judged: &Judged, id: &str) {
    let found = &judged.finding;
    let area = report.area(found);
    let search = format!("{} {} {} {area}", found.rule, found.subject, found.message).to_lowercase();
    let _ = write!(
        text,
        "<article id=\"{id}\" data-severity=\"{}\" data-area=\"{}\" data-text=\"{}\"",
        judged.severity,
        escape(area),
        escape(&search)
    );
    for axis in &report.axes {
        let _ = write!(text, " data-{axis}=\"{}\"", found.verdicts.on(*axis));
    }
    let _ = writeln!(
        text,
        ">\n<header>{}<h4>{}</h4><a class=\"permalink\" href=\"#{id}\" aria-label=\"Link to {}, {}\">#</a></header>",
        badge(judged.severity.as_str()),
        code_spans(&found.message),
        escape(found.rule.id()),
        escape(&found.subject),
    );
    let verdicts: Vec<String> = report
        .axes
        .iter()
        .map(|axis| format!("{}: {}", axis_in_words(*axis), badge(found.verdicts.word(*axis))))
        .collect();
    let _ = writeln!(text, "<p><code>{}</code> · {}</p>", escape(found.rule.id()), verdicts.join(" · "));
    let (subject, print) = (escape(&found.subject), &judged.fingerprint);
    let _ = writeln!(text, "<p class=\"quiet\">Subject <code>{subject}</code>, fingerprint <code>{print}</code></p>");
    let _ = writeln!(text, "<p class=\"quiet\">{}</p>", code_spans(found.rule.meaning()));
    for shown in found.shown() {
        let _ = writeln!(text, "<p class=\"witness\">{}</p>", escape(&shown));
    }
    match &judged.suppressed {
        Some(Suppressed::Ignored(reason)) => drop(writeln!(text, "<p>Ignored: {}</p>", escape(reason))),
        Some(Suppressed::InBaseline) => text.push_str("<p>In the baseline.</p>\n"),
        None => {}
    }
    sides(text, report, judged);
    text.push_str("</article>\n");
}

/// Writes excerpts of both schemas. The lines that differ are marked.
fn sides(text: &mut String, report: &Report, judged: &Judged) {
    let Finding { old: old_place, new: new_place, .. } = &judged.finding;
    let excerpt =
        |source: &Source, place: &Option<Place>| Some(source.text.value(&place.as_ref()?.pointer)?.to_pretty());
    let (old, new) = (excerpt(&report.old, old_place), excerpt(&report.new, new_place));
    let (before, after) = match (&old, &new) {
        (Some(old), Some(new)) => compared(old, new),
        (old, new) => {
            let plain = |side: &Option<String>| side.as_deref().map(plain).unwrap_or_default();
            (plain(old), plain(new))
        }
    };
    text.push_str("<div class=\"sides\">\n");
    for (name, source, place, lines) in
        [("Old", &report.old, old_place, before), ("New", &report.new, new_place, after)]
    {
        let caption = match place {
            Some(place) => {
                let (line, pointer) = (source.place_in_words(place), &place.pointer);
                format!("{name}: {} <code>{}</code>", escape(&line), escape(pointer))
            }
            None => format!("{name}: absent"),
        };
        let _ = write!(text, "<figure><figcaption>{caption}</figcaption>");
        if !lines.is_empty() {
            let _ = write!(text, "<pre>{lines}</pre>");
        }
        text.push_str("</figure>\n");
    }
    text.push_str("</div>\n");
}

fn plain(side: &str) -> String {
    let mut shown: String = side.lines().take(MAX_LINES).map(|line| format!("<span>{}</span>", escape(line))).collect();
    let more = side.lines().count().saturating_sub(MAX_LINES);
    if more > 0 {
        let _ = write!(shown, "<span>… {more} more lines</span>");
    }
    shown
}

/// Returns the lines of both sides, with context around the changes.
fn compared(old: &str, new: &str) -> (String, String) {
    let diff = TextDiff::from_lines(old, new);
    let (mut before, mut after) = (String::new(), String::new());
    let mut lines = 0;
    for (at, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if at > 0 {
            before.push_str("<span>…</span>");
            after.push_str("<span>…</span>");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            lines += 1;
            if lines > 2 * MAX_LINES {
                before.push_str("<span>… more lines</span>");
                after.push_str("<span>… more lines</span>");
                return (before, after);
            }
            let line = escape(change.value().trim_end_matches('\n'));
            match change.tag() {
                ChangeTag::Equal => {
                    let _ = write!(before, "<span>{line}</span>");
                    let _ = write!(after, "<span>{line}</span>");
                }
                ChangeTag::Delete => drop(write!(before, "<del>{line}</del>")),
                ChangeTag::Insert => drop(write!(after, "<ins>{line}</ins>")),
            }
        }
    }
    if before.is_empty() && after.is_empty() {
        return (plain(old), plain(new));
    }
    (before, after)
}

fn remarks(report: &Report) -> String {
    let mut text = "<ul>\n".to_owned();
    for stale in &report.stale {
        let _ = writeln!(text, "<li>{} {}</li>", badge("error"), escape(stale));
    }
    for note in &report.notes {
        let _ = writeln!(text, "<li>{}</li>", escape(note));
    }
    text.push_str("</ul>\n");
    text
}

fn badge(word: &str) -> String {
    let class = if word == "error" { "breaking" } else { word };
    format!("<span class=\"badge {class}\">{word}</span>")
}

/// Returns the name of the axis's property in `dataset`.
fn data_name(axis: Axis) -> String {
    let mut name = String::new();
    for (at, part) in axis.as_str().split('-').enumerate() {
        match (at, part.split_at(1)) {
            (0, _) => name.push_str(part),
            (_, (first, rest)) => name.extend([&*first.to_uppercase(), rest]),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_changed_lines() {
        let (before, after) = compared("a\nb\nc\n", "a\n<x>\nc\n");
        assert_eq!(before, "<span>a</span><del>b</del><span>c</span>");
        assert_eq!(after, "<span>a</span><ins>&lt;x&gt;</ins><span>c</span>");
    }

    #[test]
    fn names_axes_like_the_properties_of_a_dataset() {
        assert_eq!(data_name(Axis::OldClientNewServer), "oldClientNewServer");
        assert_eq!(data_name(Axis::RustApi), "rustApi");
    }
}
