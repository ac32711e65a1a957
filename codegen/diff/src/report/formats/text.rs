//! Text for a terminal.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use mcpgen_schema::text::{visible, visible_lines};

use crate::models::Verdict;
use crate::report::contents::Report;
use crate::report::judgement::Judged;

/// Options of the text format.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextOptions {
    /// Whether to show compatible and suppressed findings as well.
    pub all: bool,
    /// Whether to use colours.
    pub color: bool,
}

pub(super) fn render(report: &Report, options: TextOptions) -> String {
    let paint = Paint(options.color);
    let mut text = format!("{} -> {}\n", visible(&report.old.label), visible(&report.new.label));
    let shown = |judged: &&Judged| {
        let counts = judged.severity > Verdict::Compatible || report.fails_by(judged);
        options.all || (counts && judged.suppressed.is_none())
    };
    for (name, findings) in report.groups(report.findings.iter().filter(shown)) {
        let _ = writeln!(text, "\n{}", paint.with(BOLD, &visible_lines(&visible(&name))));
        findings.into_iter().for_each(|judged| finding(&mut text, report, judged, &paint));
    }
    text.push('\n');
    for stale in &report.stale {
        let _ = writeln!(text, "{}: {}", paint.with(BREAKING, "error"), visible(stale));
    }
    for note in &report.notes {
        let _ = writeln!(text, "note: {}", visible(note));
    }
    let _ = writeln!(text, "{}", summary(report, options));
    text
}

const BREAKING: Style = AnsiColor::Red.on_default().bold();
const DANGEROUS: Style = AnsiColor::Yellow.on_default().bold();
const UNKNOWN: Style = AnsiColor::Magenta.on_default().bold();
const COMPATIBLE: Style = AnsiColor::Green.on_default();
const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();

fn finding(text: &mut String, report: &Report, judged: &Judged, paint: &Paint) {
    let style = match judged.severity {
        Verdict::Breaking => BREAKING,
        Verdict::Unknown => UNKNOWN,
        Verdict::Dangerous => DANGEROUS,
        Verdict::Compatible => COMPATIBLE,
    };
    let severity = paint.with(style, judged.severity.as_str());
    let rule = paint.with(BOLD, judged.finding.rule.id());
    let _ = writeln!(text, "  {severity} {rule}: {}", visible(&judged.finding.message));
    for (side, source, place) in report.places(judged) {
        let rust = place.rust.as_ref().map(|rust| format!(" ({rust})")).unwrap_or_default();
        let _ = writeln!(text, "    {side}: {} {}{rust}", source.place_in_words(place), visible(&place.pointer));
    }
    for shown in judged.finding.shown() {
        let _ = writeln!(text, "    {}", visible(&shown));
    }
    let _ = writeln!(text, "    {}", report.verdicts(judged));
    if let Some(suppressed) = &judged.suppressed {
        let _ = writeln!(text, "    {suppressed}");
    }
    let identity = format!("subject {}, fingerprint {}", visible(&judged.finding.subject), judged.fingerprint);
    let _ = writeln!(text, "    {}", paint.with(DIMMED, &identity));
}

fn summary(report: &Report, options: TextOptions) -> String {
    let counts = report.counts();
    if report.findings.is_empty() {
        return "no differences".to_owned();
    }
    let hidden = if counts.compatible > 0 && !options.all && !report.fail_on.reached(Verdict::Compatible) {
        " (--all shows them)"
    } else {
        ""
    };
    let counted = counts.by_verdict().map(|(count, verdict)| format!("{count} {verdict}"));
    let mut text = format!("{}{hidden}", counted.join(", "));
    let suppressed = counts.suppressed();
    if !suppressed.is_empty() {
        let _ = write!(text, "; suppressed: {suppressed}");
    }
    text
}

/// Colours text, if colours are on.
struct Paint(bool);

impl Paint {
    fn with(&self, style: Style, text: &str) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}
