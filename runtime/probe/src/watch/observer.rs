//! Describes messages: sender, kind, method, subject, revision, and what does not match the schema.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write;
use std::time::Instant;

use mcpgen_runtime::jsonrpc::envelope::{Envelope, Frame, Invalid, scan_bytes};
use mcpgen_runtime::protocol::modern::PROTOCOL_VERSION;
use mcpgen_types::codec::Cursor;
use mcpgen_types::{ErrorId, JsonObject, RequestId, Revision};
use serde_json::Value;

use super::validate;
use crate::output::{BOLD, CYAN, DIM, GREEN, RED, plain, styled};

/// The maximum number of requests without a response that are remembered. Responses to others are not validated.
const MOST_PENDING: usize = 10_000;

/// The longest subject of a request that a description shows, in characters.
const LONGEST_SUBJECT: usize = 60;

/// The sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Side {
    Client,
    Server,
}

/// Describes the messages of a connection.
pub(super) struct Observer {
    log: Box<dyn Write + Send>,
    full: bool,
    start: Instant,
    /// The revision that `initialize` has negotiated.
    negotiated: Option<String>,
    /// The requests without a response, by sender.
    pending: HashMap<(Side, RequestId), PendingRequest>,
    invalid: u64,
}

/// A request without a response.
struct PendingRequest {
    method: String,
    revision: Option<String>,
    /// Whether the result may be that of a task.
    is_task: bool,
}

/// What a description says about a message.
struct Description {
    kind: String,
    revision: Option<String>,
    /// A remark that is not a problem.
    remark: Option<String>,
    problem: Option<String>,
}

impl Side {
    fn other(self) -> Side {
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
        let (negotiated, pending) = (None, HashMap::new());
        Observer { log, full, start: Instant::now(), negotiated, pending, invalid: 0 }
    }

    /// Returns the number of messages that do not match the schema.
    pub(super) fn invalid(&self) -> u64 {
        self.invalid
    }

    /// Describes a problem of the transport.
    pub(super) fn problem(&mut self, sender: Side, problem: &str) {
        self.write(
            sender,
            &Description { kind: "?".into(), revision: None, remark: None, problem: Some(problem.into()) },
        );
    }

    /// Describes a message, or each message of a batch.
    pub(super) fn message(&mut self, sender: Side, bytes: &[u8]) {
        let document = match scan_bytes(bytes) {
            Ok(document) => document,
            Err(invalid) => return self.invalid_message(sender, &invalid),
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
                        Err(invalid) => self.invalid_message(sender, &invalid),
                    }
                }
            }
            Err(invalid) => self.invalid_message(sender, &invalid),
        }
        if self.full {
            let text = plain(&String::from_utf8_lossy(bytes));
            let _ = writeln!(self.log, "    {}", styled(DIM, &text));
        }
    }

    fn invalid_message(&mut self, sender: Side, invalid: &Invalid) {
        self.problem(sender, &invalid.to_string());
    }

    /// `text` is the whole message, unless it is part of a batch.
    fn envelope(&mut self, sender: Side, envelope: &Envelope<'_>, text: Option<&Cow<'_, str>>) {
        let description = match envelope {
            Envelope::Request { id, method, params } => {
                let params = object(*params);
                let description = self.call(sender, "request", method, &params, text);
                let (method, revision) = (method.to_string(), description.revision.clone());
                if self.pending.len() < MOST_PENDING {
                    let is_task = params.contains_key("task");
                    self.pending.insert((sender, id.clone()), PendingRequest { method, revision, is_task });
                }
                Description { kind: format!("{} #{id}", description.kind), ..description }
            }
            Envelope::Notification { method, params } => {
                self.call(sender, "notification", method, &object(*params), text)
            }
            Envelope::Response { id, result } => self.response(sender, id, *result),
            Envelope::Error { id, error } => {
                let pending = match id {
                    ErrorId::Id(id) => self.pending.remove(&(sender.other(), id.clone())),
                    _ => None,
                };
                let method = pending.as_ref().map_or("?", |pending| &pending.method);
                Description {
                    kind: format!("error {method}"),
                    revision: pending.as_ref().and_then(|pending| pending.revision.clone()),
                    remark: Some(format!("{}: {}", error.code.0, error.message)),
                    problem: None,
                }
            }
        };
        self.write(sender, &description);
    }

    /// Describes a request or a notification.
    fn call(
        &mut self,
        sender: Side,
        kind: &str,
        method: &str,
        params: &JsonObject,
        text: Option<&Cow<'_, str>>,
    ) -> Description {
        let in_meta = params.get("_meta").and_then(|meta| meta.get(PROTOCOL_VERSION)).and_then(Value::as_str);
        let proposed = || params.get("protocolVersion").and_then(Value::as_str).filter(|_| method == "initialize");
        let revision = in_meta.or_else(proposed).map(str::to_owned).or_else(|| self.negotiated.clone());
        let known: Option<Revision> = revision.as_deref().and_then(|revision| revision.parse().ok());
        let spec = known.and_then(|revision| revision.method(method));
        let subject = spec.and_then(|spec| spec.subject).and_then(|member| params.get(member)).and_then(Value::as_str);
        let subject = subject
            .map_or(String::new(), |subject| format!(" {}", subject.chars().take(LONGEST_SUBJECT).collect::<String>()));
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
        Description { kind: format!("{kind} {method}{subject}"), revision, remark, problem: checked.err() }
    }

    fn response(&mut self, sender: Side, id: &RequestId, result: Cursor<'_>) -> Description {
        let Some(request) = self.pending.remove(&(sender.other(), id.clone())) else {
            let remark = Some("of an unknown request".to_owned());
            return Description { kind: format!("response #{id}"), revision: None, remark, problem: None };
        };
        let raw = result.to_raw();
        let PendingRequest { method, mut revision, is_task } = request;
        if method == "initialize" {
            let negotiated = object(Some(result)).get("protocolVersion").and_then(Value::as_str).map(str::to_owned);
            self.negotiated.clone_from(&negotiated);
            revision = negotiated;
        }
        let checked = match &revision {
            // The result is that of a task, whose type depends on its state.
            _ if is_task => Ok(()),
            Some(revision) => validate::result(revision, &method, &raw),
            None => Ok(()),
        };
        Description { kind: format!("response {method} #{id}"), revision, remark: None, problem: checked.err() }
    }

    fn write(&mut self, sender: Side, description: &Description) {
        let Description { kind, revision, remark, problem } = description;
        let time = styled(DIM, &format!("{:9.3}", self.start.elapsed().as_secs_f64()));
        let mut line = format!("{time} {} {}", sender.arrow(), styled(BOLD, &plain(kind).replace('\n', " ")));
        if let Some(revision) = revision {
            line.push_str(&format!(" {}", styled(DIM, &format!("[{}]", plain(revision)))));
        }
        if let Some(remark) = remark {
            line.push_str(&format!(" {}", styled(DIM, &format!("({})", plain(remark)))));
        }
        if let Some(problem) = problem {
            self.invalid += 1;
            line.push_str(&format!("\n{:10}{}", "", styled(RED, &format!("invalid: {}", plain(problem)))));
        }
        // The relay continues if the log cannot be written.
        let _ = writeln!(self.log, "{line}").and_then(|()| self.log.flush());
    }
}

/// Returns params or a result as an object, or an empty object if it has another type.
fn object(json: Option<Cursor<'_>>) -> JsonObject {
    json.and_then(|json| json.to_raw().decode().ok()).unwrap_or_default()
}
