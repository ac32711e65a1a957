//! Writes to the terminal: text, JSON, colours and progress.
//!
//! `anstream` removes colours if the stream is not a terminal, or `NO_COLOR` is set.

use std::io::{ErrorKind, IsTerminal as _, Write as _, stderr};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use mcpgen_runtime::peer::Progress;
use serde_json::Value;

use crate::failure::Failure;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// Writes an error to standard error.
pub(crate) fn error(text: &str) {
    let style = RED.bold();
    // If standard error is closed, the error cannot be reported.
    let _ = writeln!(anstream::stderr().lock(), "{style}error{style:#}: {text}");
}

/// Writes text to standard output. A reader that closes the pipe early is not an error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Failure::io("writing to standard output")),
    }
}

/// Writes JSON to standard output.
pub(crate) fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

/// Returns styled text.
pub(crate) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Returns the columns of the terminal to which standard output is connected.
pub(crate) fn columns() -> Option<usize> {
    let terminal = console::Term::stdout();
    terminal.size_checked().filter(|_| terminal.is_term()).map(|(_, columns)| columns.into())
}

/// Returns text of a server without control characters, which could change the terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// Shows on standard error that something takes a while. Does nothing if that is not a terminal.
#[derive(Clone, Debug)]
pub(crate) struct Activity(ProgressBar);

impl Activity {
    /// Shows a spinner with this text.
    pub(crate) fn start(text: impl Into<String>) -> Activity {
        let bar = if stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.set_message(text.into());
        bar.enable_steady_tick(Duration::from_millis(120));
        Activity(bar)
    }

    /// Replaces the text.
    pub(crate) fn message(&self, text: impl Into<String>) {
        self.0.set_message(text.into());
    }

    /// Returns the text.
    pub(crate) fn current(&self) -> String {
        self.0.message()
    }

    /// Does not show anything.
    pub(crate) fn hidden() -> Activity {
        Activity(ProgressBar::hidden())
    }

    /// Writes a line to standard error, above what is shown. Standard output may be the connection of `watch`.
    #[cfg(feature = "login")]
    pub(crate) fn print(&self, text: &str) {
        self.0.suspend(|| eprintln!("{text}"));
    }

    /// Returns a callback that shows reports of progress.
    pub(crate) fn reports(&self) -> impl FnMut(Progress) + Send + 'static {
        let activity = self.clone();
        move |Progress { progress, total, message }| activity.progress(progress, total, message)
    }

    /// Shows a report of progress.
    fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) {
        if let Some(message) = message {
            self.0.set_message(plain(&message));
        }
        if let Some(total) = total.filter(|total| total.is_finite() && *total > 0.0) {
            let is_first = self.0.length().is_none();
            // Servers choose the unit, so positions are parts of a thousand.
            self.0.set_position((done / total * 1000.0).clamp(0.0, 1000.0) as u64);
            self.0.set_length(1000);
            if is_first && let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} % {elapsed} {msg}") {
                self.0.set_style(style);
            }
        }
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
