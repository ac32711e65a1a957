//! Describes messages: sender, kind, method, target, revision, and what does not match the schema.

use std::borrow::Cow;
use std::io::Write;
use std::time::Instant;

use mcpgen_sdk::jsonrpc::envelope::{Envelope, Frame, scan_bytes};
use mcpgen_sdk::protocol::modern::PROTOCOL_VERSION;
use mcpgen_types::codec::Cursor;
use mcpgen_types::traffic::PendingRequests;
use mcpgen_types::{ErrorId, JsonObject, JsonRef, RequestId, Revision};

use super::validate;
use crate::output::{self, BOLD, CYAN, DIM, GREEN, RED, plain, quoted, styled};

/// How many requests without a response to remember. Responses to other requests are not validated.
const MOST_PENDING: usize = 10_000;

/// How many characters of a text, such as the name of a tool, a description shows.
const LONGEST_TEXT: usize = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

pub(super) struct Observer {
    log: Box<dyn Write + Send>,
    full: bool,
    clock: Clock,
    /// The revision negotiated by `initialize` or named by the client's last request. Applies to messages that name
    /// none.
    revision: Option<String>,
    from_client: PendingRequests<PendingRequest>,
    from_server: PendingRequests<PendingRequest>,
    invalid: u64,
}

enum Clock {
    /// The time since the connection began.
    Elapsed(Instant),
    /// The number of a line in a log.
    Line(usize),
}

struct PendingRequest {
    method: String,
    revision: Option<String>,
    /// Whether the result may be a task.
    is_task: bool,
}

/// A message's kind and revision, and what is wrong with it.
struct Description {
    kind: String,
    revision: Option<String>,
    remark: Option<String>,
    problem: Option<String>,
}

impl Side {
    pub(super) fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    fn arrow(self) -> String {
        match self {
            Side::Client => styled(CYAN, "client →"),
            Side::Server => styled(GREEN, "server →"),
        }
    }
}

impl Observer {
    pub(super) fn new(log: Box<dyn Write + Send>, full: bool) -> Self {
        let (from_client, from_server) = (PendingRequests::new(), PendingRequests::new());
        let clock = Clock::Elapsed(Instant::now());
        Observer { log, full, clock, revision: None, from_client, from_server, invalid: 0 }
    }

    /// Shows this line number instead of the time.
    pub(super) fn at_line(&mut self, number: usize) {
        self.clock = Clock::Line(number);
    }

    /// Whether the sender waits for a response with this ID.
    pub(super) fn is_pending(&mut self, sender: Side, id: &RequestId) -> bool {
        self.pending(sender).iter().any(|(known, _)| known == id)
    }

    fn pending(&mut self, sender: Side) -> &mut PendingRequests<PendingRequest> {
        match sender {
            Side::Client => &mut self.from_client,
            Side::Server => &mut self.from_server,
        }
    }

    /// Call this when the connection ends. Describes requests that got no response.
    pub(super) fn end(&mut self) {
        for sender in [Side::Client, Side::Server] {
            for (id, PendingRequest { method, revision, .. }) in std::mem::take(self.pending(sender)).iter() {
                let description = Description {
                    kind: format!("request {method} #{id}"),
                    revision: revision.clone(),
                    remark: Some("has no response".to_owned()),
                    problem: None,
                };
                self.write(sender, &description);
            }
        }
    }

    pub(super) fn invalid(&self) -> u64 {
        self.invalid
    }

    pub(super) fn remark(&mut self, remark: &str) {
        let _ = writeln!(self.log, "{:10}{}", "", styled(DIM, &format!("({remark})")));
    }

    pub(super) fn problem(&mut self, sender: Side, problem: &str) {
        self.write(
            sender,
            &Description { kind: "?".into(), revision: None, remark: None, problem: Some(problem.into()) },
        );
    }

    pub(super) fn message(&mut self, sender: Side, bytes: &[u8]) {
        let document = match scan_bytes(bytes) {
            Ok(document) => document,
            Err(invalid) => return self.problem(sender, &format!("{invalid}: {}", quoted_beginning(bytes))),
        };
        match Frame::read(&document) {
            Ok(Frame::One(envelope)) => {
                let text = document.root().text();
                self.envelope(sender, &envelope, Some(&text));
            }
            Ok(Frame::Batch(messages)) => {
                for message in messages {
                    match message {
                        Ok(envelope) => self.envelope(sender, &envelope, None),
                        Err(invalid) => self.problem(sender, &invalid.to_string()),
                    }
                }
            }
            Err(invalid) => self.problem(sender, &format!("{invalid}: {}", quoted_beginning(bytes))),
        }
        if self.full {
            let text = output::json_line(&String::from_utf8_lossy(bytes));
            let _ = writeln!(self.log, "    {}", styled(DIM, &text));
        }
    }

    /// `text` is the whole message, unless it is part of a batch.
    fn envelope(&mut self, sender: Side, envelope: &Envelope<'_>, text: Option<&Cow<'_, str>>) {
        let description = match envelope {
            Envelope::Request { id, method, params } => {
                let params = object(*params);
                let description = self.call(sender, "request", method, &params, text);
                let (method, revision) = (method.to_string(), description.revision.clone());
                let is_task = params.contains_key("task");
                let pending = self.pending(sender);
                let is_new = pending.len() >= MOST_PENDING
                    || pending.insert(id.clone(), PendingRequest { method, revision, is_task });
                let duplicate = || "another request without a response has this ID".to_owned();
                let problem = description.problem.or_else(|| (!is_new).then(duplicate));
                Description { kind: format!("{} #{id}", description.kind), problem, ..description }
            }
            Envelope::Notification { method, params } => {
                self.call(sender, "notification", method, &object(*params), text)
            }
            Envelope::Response { id, result } => self.response(sender, id, *result),
            Envelope::Error { id, error } => {
                let pending = match id {
                    ErrorId::Id(id) => self.pending(sender.other()).take(id),
                    _ => None,
                };
                let kind = match (&pending, id) {
                    (Some(pending), ErrorId::Id(id)) => format!("error {} #{id}", pending.method),
                    (_, ErrorId::Id(id)) => format!("error #{id}"),
                    _ => "error".to_owned(),
                };
                Description {
                    kind,
                    revision: pending.map_or_else(|| self.revision.clone(), |pending| pending.revision),
                    remark: Some(format!("{}: {}", error.code.0, error.message)),
                    problem: None,
                }
            }
        };
        self.write(sender, &description);
    }

    fn call(
        &mut self,
        sender: Side,
        kind: &str,
        method: &str,
        params: &JsonObject,
        text: Option<&Cow<'_, str>>,
    ) -> Description {
        let in_meta = params.get("_meta").and_then(|meta| meta.get(PROTOCOL_VERSION)?.as_str());
        let proposed = || params.get("protocolVersion").and_then(JsonRef::as_str).filter(|_| method == "initialize");
        let in_meta = in_meta.map(Cow::into_owned);
        if sender == Side::Client && in_meta.is_some() {
            self.revision.clone_from(&in_meta);
        }
        let proposed = || proposed().map(Cow::into_owned);
        let revision = in_meta.or_else(proposed).or_else(|| self.revision.clone());
        let known: Option<Revision> = revision.as_deref().and_then(|revision| revision.parse().ok());
        let spec = known.and_then(|revision| revision.method(method));
        let subject = spec.and_then(|spec| spec.subject).and_then(|member| params.get(member)?.as_str());
        let subject = subject.map_or(String::new(), |subject| format!(" {}", beginning(&subject)));
        let remark = match (&revision, known, spec) {
            (None, ..) => Some("no revision was negotiated".to_owned()),
            (Some(_), None, _) => Some("the revision is unknown, so the message is not validated".to_owned()),
            (Some(_), Some(_), None) => Some("the schema has no such method".to_owned()),
            _ => None,
        };
        let checked = match (known, spec, text) {
            (Some(revision), Some(_), Some(text)) => validate::message(revision.as_str(), sender, text),
            _ => Ok(()),
        };
        Description {
            kind: format!("{kind} {method}{subject}"),
            revision,
            remark,
            problem: checked.err().map(|error| error.to_string()),
        }
    }

    fn response(&mut self, sender: Side, id: &RequestId, result: Cursor<'_>) -> Description {
        let Some(request) = self.pending(sender.other()).take(id) else {
            let remark = Some("no request without a response has this ID".to_owned());
            let revision = self.revision.clone();
            return Description { kind: format!("response #{id}"), revision, remark, problem: None };
        };
        let raw = result.to_json();
        let PendingRequest { method, mut revision, is_task } = request;
        if method == "initialize" {
            let negotiated = raw.get("protocolVersion").and_then(JsonRef::as_str).map(Cow::into_owned);
            self.revision.clone_from(&negotiated);
            revision = negotiated;
        }
        let checked = match &revision {
            Some(revision) => validate::result(revision, sender.other(), &method, is_task, &raw),
            None => Ok(()),
        };
        Description {
            kind: format!("response {method} #{id}"),
            revision,
            remark: raw.get("resultType").and_then(JsonRef::as_str).map(|kind| beginning(&kind)),
            problem: checked.err().map(|error| error.to_string()),
        }
    }

    fn write(&mut self, sender: Side, description: &Description) {
        let Description { kind, revision, remark, problem } = description;
        let time = match self.clock {
            Clock::Elapsed(start) => format!("{:9.3}", start.elapsed().as_secs_f64()),
            Clock::Line(number) => format!("{number:9}"),
        };
        let time = styled(DIM, &time);
        let mut line = format!("{time} {} {}", sender.arrow(), styled(BOLD, &plain(kind).replace('\n', " ")));
        if let Some(revision) = revision {
            line.push_str(&format!(" {}", styled(DIM, &format!("[{}]", plain(revision)))));
        }
        if let Some(remark) = remark {
            line.push_str(&format!(" {}", styled(DIM, &format!("({})", plain(remark).replace('\n', " ")))));
        }
        if let Some(problem) = problem {
            self.invalid += 1;
            line.push_str(&format!("\n{:10}{}", "", styled(RED, &format!("invalid: {}", plain(problem)))));
        }
        // The relay continues even if the log cannot be written.
        let _ = writeln!(self.log, "{line}").and_then(|()| self.log.flush());
    }
}

fn beginning(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}

fn quoted_beginning(bytes: &[u8]) -> String {
    // `quoted` shows only the beginning, so a long line does not have to be decoded as a whole.
    quoted(&String::from_utf8_lossy(bytes.get(..1024).unwrap_or(bytes)))
}

/// Empty if the params or result are not an object.
fn object(json: Option<Cursor<'_>>) -> JsonObject {
    json.and_then(|json| json.to_json().decode().ok()).unwrap_or_default()
}
