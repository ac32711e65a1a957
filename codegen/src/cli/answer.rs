//! What a command prints.

/// What a command has to say.
#[derive(Debug, Default)]
pub struct Answer {
    /// For stdout.
    pub text: String,
    /// For stderr, one line each.
    pub notes: Vec<String>,
    /// Whether it looked for differences and found some.
    pub differs: bool,
}
