//! What a command prints, and its exit code.

use mcpgen_schema::text::visible_lines;

#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// What goes to stdout.
    pub text: String,
    /// What goes to stderr, line by line.
    pub notes: Vec<String>,
    /// Whether the command found differences, which makes the exit code 1.
    pub differs: bool,
}

impl Answer {
    pub(super) fn visible(self) -> Answer {
        Answer { text: visible_lines(&self.text), ..self }
    }
}
