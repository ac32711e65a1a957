//! Progress reports.

use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_types::codec::{Cursor, Decode};
use mcpgen_types::{Error, Number};

/// A peer's report of its progress with a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The progress so far. It increases from one report to the next.
    pub progress: f64,
    /// The final value of `progress`, if known.
    pub total: Option<f64>,
    /// A message for people.
    pub message: Option<String>,
}

/// Accepts progress notifications of any revision. Ignores an invalid `total` or `message`.
impl Decode for Progress {
    const NAME: &'static str = "Progress";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        let [progress, total, message] = Picked::values(json, &["progress", "total", "message"]);
        let number = |json: Cursor<'_>| Number::decode(json).map(|number| number.as_f64());
        let progress = match progress {
            Some(progress) => number(progress).map_err(|error| error.at_key("progress"))?,
            None => return Err(json.mismatch("a member `progress`")),
        };
        let total = total.and_then(|total| number(total).ok());
        let message = message.and_then(|message| message.string().ok());
        Ok(Self { progress, total, message })
    }
}
