//! Encoded calls, and checks of their responses.

use std::io::Write;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::Dialect;

/// The first id. All ids have eight digits.
pub(crate) const FIRST_ID: usize = 10_000_000;
const DIGITS: usize = 8;

/// The text to echo, without the id that follows it.
const TEXT: &str = "this text has seventy-three bytes; the last of them are its id:: ";

const META: &str = concat!(
    r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}"#
);

/// Encoded calls, as consecutive lines of the same length.
pub(crate) struct Calls {
    pub(crate) lines: Vec<u8>,
    pub(crate) length: usize,
    pub(crate) count: usize,
}

impl Calls {
    pub(crate) fn new(dialect: Dialect, first: usize, count: usize) -> Self {
        let meta = if dialect == Dialect::Modern { META } else { "" };
        let mut lines = Vec::new();
        for id in first..first + count {
            let params = format!(r#"{{"name":"echo","arguments":{{"text":"{TEXT}{id}"}}{meta}}}"#);
            let _ = writeln!(lines, r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
        }
        Self { length: lines.len() / count.max(1), lines, count }
    }
}

/// Compares responses with a template, and knows which calls are pending.
pub(crate) struct Responses {
    /// The response to the first call, with its line feed.
    template: Vec<u8>,
    /// Where the id is in the template: in the member `id` and at the end of the text. Sorted.
    ids: [usize; 2],
    first: usize,
    received: Vec<bool>,
}

impl Responses {
    /// Makes a template of the response to the first call.
    ///
    /// # Errors
    ///
    /// Returns an error if the response does not echo the text.
    pub(crate) fn new(line: &[u8], dialect: Dialect) -> Result<Self> {
        let response: Value = serde_json::from_slice(line)?;
        let result = &response["result"];
        let is_echo = response["jsonrpc"] == "2.0"
            && response["id"] == FIRST_ID
            && result["content"].as_array().is_some_and(|content| content.len() == 1)
            && result["content"][0]["type"] == "text"
            && result["content"][0]["text"] == format!("{TEXT}{FIRST_ID}")
            && result["isError"] != true
            && (dialect == Dialect::Handshake || result["resultType"] == "complete");
        ensure!(is_echo, "not an echo: {response}");
        let id = FIRST_ID.to_string();
        let offsets: Vec<usize> = (0..line.len()).filter(|at| line[*at..].starts_with(id.as_bytes())).collect();
        let ids = offsets.try_into().ok().context("expected the id twice in a response")?;
        Ok(Self { template: line.to_vec(), ids, first: FIRST_ID, received: Vec::new() })
    }

    /// Expects one response for each of `count` calls, whose ids begin with `first`.
    pub(crate) fn expect(&mut self, first: usize, count: usize) {
        self.first = first;
        self.received = vec![false; count];
    }

    pub(crate) fn length(&self) -> usize {
        self.template.len()
    }

    /// Checks a response, which must be as long as the template.
    ///
    /// # Errors
    ///
    /// Returns an error if the response differs from the template, is the second one to its call, or belongs to no
    /// call.
    pub(crate) fn check(&mut self, line: &[u8]) -> Result<()> {
        let [one, other] = self.ids;
        let id = &line[one..one + DIGITS];
        let matches = line[..one] == self.template[..one]
            && line[one + DIGITS..other] == self.template[one + DIGITS..other]
            && line[other..other + DIGITS] == *id
            && line[other + DIGITS..] == self.template[other + DIGITS..];
        ensure!(matches, "the response differs from that to the first call");
        let id = id.iter().fold(0, |id, digit| 10 * id + usize::from(digit.wrapping_sub(b'0')));
        match id.checked_sub(self.first).and_then(|index| self.received.get_mut(index)) {
            Some(received) if !*received => *received = true,
            Some(_) => bail!("a second response to the same call"),
            None => bail!("a response to no call"),
        }
        Ok(())
    }
}
