//! Output and exit code of commands.

use mcpgen_schema::text::visible_lines;

#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The text for stdout.
    pub text: String,
    /// The lines for stderr.
    pub notes: Vec<String>,
    /// Whether the command found differences. The exit code is then 1.
    pub differs: bool,
}

impl Answer {
    /// Escapes the text, which is for people.
    pub(super) fn visible(self) -> Answer {
        Answer { text: visible_lines(&self.text), ..self }
    }
}
