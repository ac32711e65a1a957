//! `mcpgen-probe trace`: describes the messages of a captured log.

use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::Path;

use mcpgen_sdk::jsonrpc::envelope::{Envelope, Frame, scan_bytes};
use mcpgen_types::{ErrorId, Json, JsonRef, RequestId, Revision};

use super::observer::{Observer, Side};
use crate::cli::TraceArgs;
use crate::failure::Failure;

/// How many brackets to try as the start of a message. Earlier text, such as `[info]`, may contain some, too.
const MOST_CANDIDATES: usize = 16;

pub(crate) fn trace(args: &TraceArgs) -> Result<(), Failure> {
    let is_stdin = args.file == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { args.file.display().to_string() };
    let failure = |error| Failure::io(format!("reading {name}"))(error);
    let log: Box<dyn BufRead> = match is_stdin {
        true => Box::new(stdin().lock()),
        false => Box::new(BufReader::new(File::open(&args.file).map_err(failure)?)),
    };
    let mut reader =
        Reader { observer: Observer::new(Box::new(anstream::stdout()), args.full), described: None, messages: 0 };
    for (index, line) in log.split(b'\n').enumerate() {
        let line = line.map_err(failure)?;
        reader.line(index + 1, String::from_utf8_lossy(&line).trim());
    }
    reader.observer.end();
    match (reader.messages, reader.observer.invalid()) {
        (0, _) => Err(Failure::Usage(format!(
            "{name} has no messages; each must be JSON on one line, such as those that `mcpgen-probe watch --full` writes"
        ))),
        (_, 0) => Ok(()),
        (_, invalid) => Err(Failure::InvalidMessages(invalid)),
    }
}

struct Reader {
    observer: Observer,
    /// The sender, if the line was written by `watch`, which names it before the message.
    described: Option<Side>,
    messages: usize,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) {
        let Some((words, message)) = message_in(line) else {
            if line.contains('→') {
                self.described = sender_in(line);
            }
            return;
        };
        let described = self.described.take();
        let bytes = message.text().as_bytes();
        let sender = sender_in(&words).or(described).unwrap_or_else(|| self.guess(bytes));
        self.messages += 1;
        self.observer.at_line(number);
        self.observer.message(sender, bytes);
    }

    /// The sender that the message itself suggests.
    fn guess(&mut self, bytes: &[u8]) -> Side {
        let Ok(document) = scan_bytes(bytes) else { return Side::Server };
        let first = match Frame::read(&document) {
            Ok(Frame::One(envelope)) => Some(envelope),
            Ok(Frame::Batch(messages)) => messages.into_iter().find_map(Result::ok),
            Err(_) => None,
        };
        match first {
            Some(Envelope::Request { method, .. } | Envelope::Notification { method, .. }) => sender_of(&method),
            Some(Envelope::Response { id, .. } | Envelope::Error { id: ErrorId::Id(id), .. }) => self.responder(&id),
            _ => Side::Server,
        }
    }

    fn responder(&mut self, id: &RequestId) -> Side {
        let of_client = self.observer.is_pending(Side::Client, id);
        if !of_client && self.observer.is_pending(Side::Server, id) { Side::Client } else { Side::Server }
    }
}

/// The side that sends this method. If both do, the client is more likely, except for progress reports.
fn sender_of(method: &str) -> Side {
    let spec = Revision::ALL.iter().rev().find_map(|revision| revision.method(method));
    let by_client = spec.is_none_or(|spec| spec.sent_by_client);
    if by_client && method != "notifications/progress" { Side::Client } else { Side::Server }
}

/// Finds the message in a line, and the words that may name its sender: text before it, and text next to it in an
/// object.
fn message_in(line: &str) -> Option<(String, Json)> {
    let line = line.trim_end_matches(',');
    let begins = line.char_indices().filter(|(_, char)| matches!(char, '{' | '[')).take(MOST_CANDIDATES);
    let (at, json) = begins.map(|(at, _)| at).find_map(|at| Some((at, Json::parse(&line[at..]).ok()?)))?;
    let before = line[..at].to_owned();
    if is_message(json.as_ref()) {
        return Some((before, json));
    }
    let members: Vec<_> = json.as_ref().members().collect();
    let message = members.iter().find_map(|(_, value)| match value.as_str() {
        Some(text) => Json::parse(text).ok().filter(|json| is_message(json.as_ref())),
        None => is_message(*value).then(|| value.to_json()),
    })?;
    let texts = members.iter().filter_map(|(_, value)| value.as_str()).filter(|text| !text.starts_with('{'));
    Some((texts.fold(before, |words, text| words + " " + &text), message))
}

fn is_message(json: JsonRef<'_>) -> bool {
    let has = |name: &str| json.get(name).is_some();
    has("jsonrpc") || (has("id") && (has("method") || has("result") || has("error"))) || json.elements().any(is_message)
}

/// The sender that a text names, such as `from client`, `to_server` or `server →`. Parts of other words, such as a
/// logger's name, do not count.
fn sender_in(text: &str) -> Option<Side> {
    let mut spaced = String::new();
    for char in text.chars() {
        // `toServer`
        if char.is_uppercase() && spaced.ends_with(char::is_lowercase) {
            spaced.push(' ');
        }
        spaced.extend(char.to_lowercase());
    }
    let spaced = spaced.replace("->", "→").replace("<-", "←").replace('_', " ");
    let arrows = spaced.replace('→', " → ").replace('←', " ← ");
    let words: Vec<&str> =
        arrows.split_whitespace().map(|word| word.trim_matches(|c| "[](){}:;,.\"'=".contains(c))).collect();
    let side = |word: &str| match word {
        "client" => Some(Side::Client),
        "server" => Some(Side::Server),
        _ => None,
    };
    let pair = |pair: &[&str]| match pair {
        ["from", from] => side(from),
        ["to" | "→", to] => side(to).map(Side::other),
        ["←", from] => side(from),
        _ => None,
    };
    words.windows(2).find_map(pair).or_else(|| words.iter().find_map(|word| side(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_messages_and_senders_in_lines() {
        let message = r#"{"jsonrpc":"2.0","method":"ping"}"#;
        let quoted = mcpgen_types::to_string(message);
        for (line, sender) in [
            (message.to_owned(), None),
            (format!("{message},"), None),
            (format!("data: {message}"), None),
            (format!("2026-01-01T00:00:00Z [files-server] [info] Message from client: {message}"), Some(Side::Client)),
            (format!("[12:00] Server -> Client {message}"), Some(Side::Server)),
            (format!("to server: {message}"), Some(Side::Client)),
            (format!("[files-server] {message}"), None),
            (format!("[x] server <- client {message}"), Some(Side::Client)),
            (format!("[12:00] client→ {message}"), Some(Side::Client)),
            (format!("client → {message}"), Some(Side::Client)),
            (format!(r#"{{"direction":"to_server","logger":"x-server","message":{message}}}"#), Some(Side::Client)),
            (format!(r#"{{"direction":"toServer","message":{message}}}"#), Some(Side::Client)),
            (format!(r#"{{"direction":"from_server","time":1,"message":{message}}}"#), Some(Side::Server)),
            (format!(r#"{{"from":"client","line":{quoted}}}"#), Some(Side::Client)),
        ] {
            let (words, found) = message_in(&line).unwrap_or_else(|| panic!("no message in {line}"));
            assert_eq!((found.text(), sender_in(&words)), (message, sender), "{line}");
        }
        for line in ["", "[info] started", r#"{"level":"info"}"#, "[1]", r#"{"id":1}"#] {
            assert!(message_in(line).is_none(), "{line}");
        }
    }

    #[test]
    fn methods_name_senders() {
        for (method, sender) in [
            ("initialize", Side::Client),
            ("sampling/createMessage", Side::Server),
            ("notifications/message", Side::Server),
            ("notifications/progress", Side::Server),
            ("ping", Side::Client),
            ("x/y", Side::Client),
        ] {
            assert_eq!(sender_of(method), sender, "{method}");
        }
    }
}
