//! Calls as lines that are ready to be written, and what is expected of their answers.

use std::io::Write;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::Dialect;

/// Ids have eight digits from here on.
pub(crate) const FIRST_ID: usize = 10_000_000;
const DIGITS: usize = 8;

/// What is to be echoed, before the id.
const TEXT: &str = "the tool says what it is told to say, and nothing else, for call ";

const META: &str = concat!(
    r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}"#
);

/// Lines of one length, one after the other.
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

/// What answers look like, and which are still to come.
pub(crate) struct Answers {
    /// One of them, with its line feed.
    like: Vec<u8>,
    /// Where its id stands: as the id, and in the text, whichever comes first.
    ids: [usize; 2],
    first: usize,
    answered: Vec<bool>,
}

impl Answers {
    /// Those of a server that answers the first call so.
    pub(crate) fn like(line: &[u8], dialect: Dialect) -> Result<Self> {
        let answer: Value = serde_json::from_slice(line)?;
        let result = &answer["result"];
        let said = answer["jsonrpc"] == "2.0"
            && answer["id"] == FIRST_ID
            && result["content"].as_array().is_some_and(|content| content.len() == 1)
            && result["content"][0]["type"] == "text"
            && result["content"][0]["text"] == format!("{TEXT}{FIRST_ID}")
            && result["isError"] != true
            && (dialect == Dialect::Handshake || result["resultType"] == "complete");
        ensure!(said, "no echo: {answer}");
        let id = FIRST_ID.to_string();
        let places: Vec<usize> = (0..line.len()).filter(|at| line[*at..].starts_with(id.as_bytes())).collect();
        let ids = places.try_into().ok().context("the id stands somewhere else as well")?;
        Ok(Self { like: line.to_vec(), ids, first: FIRST_ID, answered: Vec::new() })
    }

    /// From now on these calls are to be answered.
    pub(crate) fn expect(&mut self, first: usize, count: usize) {
        self.first = first;
        self.answered = vec![false; count];
    }

    pub(crate) fn length(&self) -> usize {
        self.like.len()
    }

    /// Takes a line of the right length.
    pub(crate) fn check(&mut self, line: &[u8]) -> Result<()> {
        let [one, other] = self.ids;
        let id = &line[one..one + DIGITS];
        let is_alike = line[..one] == self.like[..one]
            && line[one + DIGITS..other] == self.like[one + DIGITS..other]
            && line[other..other + DIGITS] == *id
            && line[other + DIGITS..] == self.like[other + DIGITS..];
        ensure!(is_alike, "another answer than to the first call");
        let id = id.iter().fold(0, |id, digit| 10 * id + usize::from(digit.wrapping_sub(b'0')));
        match id.checked_sub(self.first).and_then(|index| self.answered.get_mut(index)) {
            Some(answered) if !*answered => *answered = true,
            Some(_) => bail!("answered twice"),
            None => bail!("an answer to no call"),
        }
        Ok(())
    }
}
