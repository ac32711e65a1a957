//! Writes to the terminal: text, JSON, colours and progress.
//!
//! `anstream` removes colours if the stream is not a terminal or `NO_COLOR` is set.

use std::io::{ErrorKind, IsTerminal as _, Write as _, stderr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use mcpgen_sdk::protocol::Progress;
use mcpgen_types::JsonRef;

use crate::failure::Failure;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// Writes an error to standard error. Text from the server cannot forge other lines in it.
pub(crate) fn error(text: &str) {
    report(RED.bold(), "error", text);
}

/// Like [`error`], for a warning.
pub(crate) fn warning(text: &str) {
    report(YELLOW.bold(), "warning", text);
}

fn report(style: Style, kind: &str, text: &str) {
    let text = plain(text).replace('\n', "\n  ");
    // If standard error is closed, nothing can be reported.
    let _ = writeln!(anstream::stderr().lock(), "{style}{kind}{style:#}: {text}");
}

/// How many characters [`quoted`] shows.
const LONGEST_QUOTE: usize = 80;

/// The start of a text in quotes, with escapes.
pub(crate) fn quoted(text: &str) -> String {
    let text = text.trim_end();
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Writes to standard output. It is not an error if the reader closes the pipe early.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Failure::io("writing to standard output")),
    }
}

/// The order in which JSON shows the members of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// As in the server's JSON.
    Kept,
    /// By name.
    Alphabetical,
}

pub(crate) fn print_json(value: JsonRef<'_>) -> Result<(), Failure> {
    print(&json(value, Order::Kept))
}

/// Indented JSON with invisible characters escaped. Numbers keep their digits.
pub(crate) fn json(value: JsonRef<'_>, order: Order) -> String {
    let mut text = String::new();
    indented(value, order, 0, &mut text);
    text.push('\n');
    json_escaped(&text)
}

/// JSON on one line with invisible characters escaped.
pub(crate) fn json_line(text: &str) -> String {
    json_escaped(&text.replace(['\r', '\n'], " "))
}

fn json_escaped(text: &str) -> String {
    escape(text, |c, shown| c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| *shown += &format!("\\u{unit:04x}")))
}

/// Works on text, so that a large value takes about as much memory as its text.
fn indented(value: JsonRef<'_>, order: Order, level: usize, text: &mut String) {
    let line = |text: &mut String, level: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", level));
    };
    let mut members = value.members().collect::<Vec<_>>();
    if order == Order::Alphabetical {
        members.sort_by(|(a, _), (b, _)| a.cmp(b));
    }
    let members = members.into_iter().map(|(name, value)| (Some(name), value));
    let elements = value.elements().map(|value| (None, value));
    let brackets = match (value.is_object(), value.as_str()) {
        (true, _) => ('{', '}'),
        (false, Some(string)) => return text.push_str(&string_literal(&string)),
        (false, None) if value.is_array() => ('[', ']'),
        (false, None) => return text.push_str(value.text()),
    };
    text.push(brackets.0);
    let mut is_empty = true;
    for (name, value) in members.chain(elements) {
        if !std::mem::take(&mut is_empty) {
            text.push(',');
        }
        line(text, level + 1);
        if let Some(name) = name {
            text.push_str(&format!("{}: ", string_literal(&name)));
        }
        indented(value, order, level + 1, text);
    }
    if !is_empty {
        line(text, level);
    }
    text.push(brackets.1);
}

fn string_literal(text: &str) -> String {
    mcpgen_types::to_string(text)
}

pub(crate) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// The terminal's columns, if standard output is one.
pub(crate) fn columns() -> Option<usize> {
    let terminal = console::Term::stdout();
    terminal.size_checked().filter(|_| terminal.is_term()).map(|(_, columns)| columns.into())
}

/// Escapes a server's text, which could otherwise control the terminal, or run a command in a workflow's log, where
/// lines that begin with `::` are commands.
pub(crate) fn plain(text: &str) -> String {
    let text = escape(&text.replace("\r\n", "\n"), |c, shown| shown.extend(c.escape_unicode()));
    let line = |line: &str| match line.trim_start().strip_prefix("::") {
        Some(rest) => format!("{}{}:{rest}", &line[..line.len() - rest.len() - "::".len()], ':'.escape_unicode()),
        None => line.to_owned(),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Replaces invisible characters, and the start of an old kind of workflow command, which works anywhere in a line.
fn escape(text: &str, write: impl Fn(char, &mut String)) -> String {
    let mut shown = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if is_hidden(c) || text[at..].starts_with("##[") {
            write(c, &mut shown);
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Whether a character controls the terminal, changes the direction of text, or is invisible. Line feeds and tabs are
/// fine.
fn is_hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
        // Models read text in these characters, which people do not see.
        || matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{e0000}'..='\u{e007f}' | '\u{feff}')
}

/// A progress display on standard error, hidden unless that is a terminal.
#[derive(Clone, Debug)]
pub(crate) struct Activity {
    bar: ProgressBar,
    /// What the command is doing. Progress reports from the server do not replace it.
    current: Arc<Mutex<String>>,
}

impl Activity {
    pub(crate) fn start(text: impl Into<String>) -> Activity {
        let bar = if stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.enable_steady_tick(Duration::from_millis(120));
        let activity = Activity { bar, current: Arc::default() };
        activity.message(text);
        activity
    }

    pub(crate) fn message(&self, text: impl Into<String>) {
        let text = text.into();
        self.bar.set_message(text.clone());
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    pub(crate) fn current(&self) -> String {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn hidden() -> Activity {
        Activity { bar: ProgressBar::hidden(), current: Arc::default() }
    }

    /// Writes a line to standard error, above the progress display. Standard output may carry the messages of `watch`.
    #[cfg(feature = "login")]
    pub(crate) fn print(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }

    /// A callback that shows progress reports.
    pub(crate) fn reports(&self) -> impl FnMut(Progress) + Send + 'static {
        let activity = self.clone();
        move |Progress { progress, total, message, .. }| activity.progress(progress, total, message)
    }

    fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) {
        if let Some(message) = message {
            self.bar.set_message(plain(&message));
        }
        if let Some(total) = total.filter(|total| total.is_finite() && *total > 0.0) {
            let is_first = self.bar.length().is_none();
            // Servers choose the unit, so positions are thousandths.
            self.bar.set_position((done / total * 1000.0).clamp(0.0, 1000.0) as u64);
            self.bar.set_length(1000);
            if is_first && let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} % {elapsed} {msg}") {
                self.bar.set_style(style);
            }
        }
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use mcpgen_types::Json;
    use serde_json::json;

    use super::*;

    #[test]
    fn indents_json_and_keeps_its_values() {
        let value = r#"{"b":[1.0,12345678901234567890123,[],{}],"a":{"d":"\u00fc","c":null}}"#;
        let value = Json::parse(value).expect("JSON");
        let kept = "{\n  \"b\": [\n    1.0,\n    12345678901234567890123,\n    [],\n    {}\n  ],\n  \"a\": {\n    \"d\": \"ü\",\n    \"c\": null\n  }\n}\n";
        assert_eq!(json(value.as_ref(), Order::Kept), kept);
        let sorted = json(value.as_ref(), Order::Alphabetical);
        assert!(sorted.starts_with("{\n  \"a\": {\n    \"c\": null,\n    \"d\": \"ü\"\n  },\n  \"b\": ["), "{sorted}");
    }

    #[test]
    fn escapes_text_and_json() {
        for (text, expected) in [
            ("ünïcödé \u{1f980}\ttab\r\nline", "ünïcödé \u{1f980}\ttab\nline"),
            ("\u{1b}]52;c;eA==\u{7}\u{9b}31m\r", "\\u{1b}]52;c;eA==\\u{7}\\u{9b}31m\\u{d}"),
            ("\u{202e}\u{2066}\u{200b}\u{e0041}", "\\u{202e}\\u{2066}\\u{200b}\\u{e0041}"),
            ("a\n  ::error::b\n::c ##[d]", "a\n  \\u{3a}:error::b\n\\u{3a}:c \\u{23}#[d]"),
        ] {
            assert_eq!(plain(text), expected);
        }
        let value = json!({ "\u{9b}\u{202e}\u{7f}": ["\u{e0041}\n\u{1b}", "##[x]", "ü"] });
        let text = json(Json::from(&value).as_ref(), Order::Kept);
        assert_eq!(
            text,
            "{\n  \"\\u009b\\u202e\\u007f\": [\n    \"\\udb40\\udc41\\n\\u001b\",\n    \"\\u0023#[x]\",\n    \"ü\"\n  ]\n}\n"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
    }
}
