//! Telemetry with OpenTelemetry's global providers.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcpgen_types::{Json, MethodSpec, RequestId, Revision};
use opentelemetry::context::{FutureExt, WithContext};
use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::metrics::{Histogram, Meter, UpDownCounter};
use opentelemetry::trace::{Link, SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, InstrumentationScope, KeyValue};

use super::metadata::{MetaExtractor, MetaInjector};
use super::{Message, Outcome};
use crate::jsonrpc::json::{self, Picked};
use crate::protocol::Role;
use crate::protocol::params::{ParamsInterner, ParamsView};
use crate::util::counted::Counted;

/// The tracer and the instruments of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Telemetry(Arc<Instruments>);

#[derive(Debug)]
struct Instruments {
    tracer: BoxedTracer,
    client_operations: Histogram<f64>,
    server_operations: Histogram<f64>,
    client_sessions: Histogram<f64>,
    server_sessions: Histogram<f64>,
    client_requests: UpDownCounter<i64>,
    server_requests: UpDownCounter<i64>,
    client_queues: UpDownCounter<i64>,
    server_queues: UpDownCounter<i64>,
    #[cfg(feature = "http-server")]
    active_sessions: UpDownCounter<i64>,
}

/// The bounds of the histograms' buckets in seconds, as the conventions recommend.
const BOUNDARIES: [f64; 14] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

impl Default for Telemetry {
    fn default() -> Self {
        let scope = scope();
        let meter = global::meter_with_scope(scope.clone());
        let requests = "The number of requests without a response.";
        let queues = "The size of the messages that are queued for peers.";
        Self(Arc::new(Instruments {
            tracer: global::tracer_with_scope(scope),
            client_operations: histogram(
                &meter,
                "mcp.client.operation.duration",
                "The time from sending a request or notification to its response or its delivery.",
            ),
            server_operations: histogram(
                &meter,
                "mcp.server.operation.duration",
                "The time to handle a received request or notification.",
            ),
            client_sessions: histogram(&meter, "mcp.client.session.duration", "The duration of a client's session."),
            server_sessions: histogram(&meter, "mcp.server.session.duration", "The duration of a server's session."),
            client_requests: counter(&meter, "mcp.client.active_requests", "{request}", requests),
            server_requests: counter(&meter, "mcp.server.active_requests", "{request}", requests),
            client_queues: counter(&meter, "mcp.client.send_queue.size", "By", queues),
            server_queues: counter(&meter, "mcp.server.send_queue.size", "By", queues),
            #[cfg(feature = "http-server")]
            active_sessions: counter(
                &meter,
                "mcp.server.active_sessions",
                "{session}",
                "The number of sessions that this process runs for HTTP clients.",
            ),
        }))
    }
}

pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder(env!("CARGO_PKG_NAME")).with_version(env!("CARGO_PKG_VERSION")).build()
}

fn counter(meter: &Meter, name: &'static str, unit: &'static str, description: &'static str) -> UpDownCounter<i64> {
    meter.i64_up_down_counter(name).with_unit(unit).with_description(description).build()
}

fn histogram(meter: &Meter, name: &'static str, description: &'static str) -> Histogram<f64> {
    let builder = meter.f64_histogram(name).with_unit("s").with_description(description);
    builder.with_boundaries(BOUNDARIES.to_vec()).build()
}

impl Telemetry {
    /// Starts the server span of a received message. Its parent is the trace context in `_meta`, or else the current
    /// span.
    pub(crate) fn receive(&self, message: Message<'_>) -> Operation {
        let current = Context::current();
        let meta = message.meta;
        let parent = meta.map_or_else(
            || current.clone(),
            |meta| global::get_text_map_propagator(|propagator| propagator.extract(&MetaExtractor::new(meta))),
        );
        let is_remote = parent.span().span_context().is_remote();
        // The span of the transport, such as that of an HTTP request, is linked.
        let ambient = current.span().span_context().clone();
        let links = if is_remote && ambient.is_valid() { vec![Link::with_context(ambient)] } else { Vec::new() };
        self.start(Role::Server, message, message.subject, parent, links)
    }

    /// Starts the client span of a message to be sent. Its parent is the current span.
    pub(crate) fn send(&self, message: Message<'_>) -> Operation {
        let view = ParamsView::at(message.method, message.params, &mut ParamsInterner::default());
        self.start(Role::Client, message, view.subject.as_deref(), Context::current(), Vec::new())
    }

    fn start(
        &self,
        side: Role,
        message: Message<'_>,
        subject: Option<&str>,
        parent: Context,
        links: Vec<Link>,
    ) -> Operation {
        let subject = Subject::of(message.method, subject);
        let mut attributes = vec![KeyValue::new("mcp.method.name", message.method.to_owned())];
        attributes.extend(message.revision.map(|revision| KeyValue::new("mcp.protocol.version", revision.as_str())));
        attributes.extend(subject.attributes());
        let mut of_span = attributes.clone();
        of_span.extend(message.id.map(|id| KeyValue::new("jsonrpc.request.id", id_in_words(id))));
        of_span.extend(subject.uri.map(|uri| KeyValue::new("mcp.resource.uri", uri.to_owned())));
        if let Some(request) = message.extensions.and_then(|extensions| extensions.get::<http::request::Parts>()) {
            let of_network = network(request);
            attributes.extend(of_network.iter().cloned());
            of_span.extend(of_network);
            let session = request.headers.get("mcp-session-id").and_then(|id| id.to_str().ok());
            of_span.extend(session.map(|id| KeyValue::new("mcp.session.id", id.to_owned())));
        }
        let name: Cow<'static, str> = match subject.name {
            Some((_, name)) => format!("{} {name}", message.method).into(),
            None => message.method.to_owned().into(),
        };
        let kind = if side == Role::Server { SpanKind::Server } else { SpanKind::Client };
        let tracer = &self.0.tracer;
        let builder = tracer.span_builder(name).with_kind(kind).with_attributes(of_span).with_links(links);
        let span = tracer.build_with_context(builder, &parent);
        let (durations, requests) = match side {
            Role::Server => (&self.0.server_operations, &self.0.server_requests),
            Role::Client => (&self.0.client_operations, &self.0.client_requests),
        };
        let active = message.id.map(|_| {
            // Peers choose the names of other methods.
            let method = MethodSpec::newest(message.method).map_or(OTHER, |spec| spec.method);
            let method = KeyValue::new("mcp.method.name", method);
            requests.add(1, std::slice::from_ref(&method));
            (requests.clone(), method)
        });
        Operation {
            context: parent.with_span(span),
            durations: durations.clone(),
            attributes,
            started: Instant::now(),
            is_tool_call: subject.is_tool(),
            has_ended: false,
            active,
        }
    }

    /// Counts a session until the result is dropped.
    #[cfg(feature = "http-server")]
    pub(crate) fn count_session(&self) -> Counted {
        Counted::new(&self.0.active_sessions, 1)
    }

    /// Counts the bytes of a queued message until the result is dropped.
    pub(crate) fn count_queued(&self, side: Role, bytes: usize) -> Counted {
        let queues = match side {
            Role::Server => &self.0.server_queues,
            Role::Client => &self.0.client_queues,
        };
        Counted::new(queues, bytes)
    }

    /// Records the duration of a legacy session.
    pub(crate) fn record_session(&self, side: Role, revision: Revision, duration: Duration, error: Option<&str>) {
        let sessions = match side {
            Role::Server => &self.0.server_sessions,
            Role::Client => &self.0.client_sessions,
        };
        let mut attributes = vec![KeyValue::new("mcp.protocol.version", revision.as_str())];
        attributes.extend(error.map(|error| KeyValue::new("error.type", error.to_owned())));
        sessions.record(duration.as_secs_f64(), &attributes);
    }
}

/// A request or notification that has a span, until its outcome is known.
///
/// If it is dropped before [`end`](Self::end), it counts as cancelled.
pub(crate) struct Operation {
    context: Context,
    durations: Histogram<f64>,
    attributes: Vec<KeyValue>,
    started: Instant,
    is_tool_call: bool,
    has_ended: bool,
    /// Counts a request until it ends, by its method.
    active: Option<(UpDownCounter<i64>, KeyValue)>,
}

impl Operation {
    /// Returns the scope in which the operation is the current span.
    pub(crate) fn scope(&self) -> Scope {
        Scope(self.context.clone())
    }

    /// Writes the trace context into `_meta` of the params. Params that are an array have no `_meta`, and stay as they are.
    pub(crate) fn inject(&self, params: Option<Json>) -> Option<Json> {
        let mut injector = MetaInjector::default();
        global::get_text_map_propagator(|propagator| propagator.inject_context(&self.context, &mut injector));
        if injector.0.is_empty() {
            return params;
        }
        let members: Vec<(&str, String)> =
            injector.0.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        json::with_meta(params.clone(), &members, true).unwrap_or(params)
    }

    /// Ends the span and records the duration.
    pub(crate) fn end(mut self, outcome: Outcome<'_>) {
        match outcome {
            Outcome::Result(result) if self.is_tool_call && is_error(result) => {
                self.fail("tool_error".into(), None, "")
            }
            Outcome::Done | Outcome::Result(_) => self.finish(Vec::new()),
            Outcome::Error(error) => self.fail(error.code.0.to_string().into(), Some(error.code.0), &error.message),
            Outcome::Failed { kind, message } => self.fail(kind.into(), None, &message),
        }
    }

    fn fail(&mut self, kind: Cow<'static, str>, code: Option<i64>, message: &str) {
        let mut attributes = vec![KeyValue::new("error.type", kind)];
        attributes.extend(code.map(|code| KeyValue::new("rpc.response.status_code", code.to_string())));
        self.context.span().set_status(Status::error(message.to_owned()));
        self.finish(attributes);
    }

    fn finish(&mut self, outcome: Vec<KeyValue>) {
        self.has_ended = true;
        let span = self.context.span();
        span.set_attributes(outcome.iter().cloned());
        span.end();
        if let Some((requests, method)) = self.active.take() {
            requests.add(-1, &[method]);
        }
        self.attributes.extend(outcome);
        self.durations.record(self.started.elapsed().as_secs_f64(), &self.attributes);
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if !self.has_ended {
            self.fail("cancelled".into(), None, "");
        }
    }
}

/// A context in which futures run.
pub(crate) struct Scope(Context);

impl Scope {
    #[cfg(feature = "tasks")]
    pub(crate) fn current() -> Self {
        Self(Context::current())
    }

    pub(crate) fn instrument<F: Future>(self, future: F) -> WithContext<F> {
        future.with_context(self.0)
    }
}

/// The subject of a message.
#[derive(Clone, Copy)]
struct Subject<'a> {
    /// The attribute for the name of a tool or prompt, and the name.
    name: Option<(&'static str, &'a str)>,
    uri: Option<&'a str>,
}

/// The attribute of methods that no revision has.
const OTHER: &str = "_OTHER";

const TOOL_NAME: &str = "gen_ai.tool.name";

impl<'a> Subject<'a> {
    fn of(method: &str, subject: Option<&'a str>) -> Self {
        let is_uri = MethodSpec::newest(method).and_then(|spec| spec.subject) == Some("uri");
        let attribute = match method.split_once('/') {
            Some(("tools", _)) => Some(TOOL_NAME),
            Some(("prompts", _)) => Some("gen_ai.prompt.name"),
            _ => None,
        };
        Self { name: attribute.zip(subject).filter(|_| !is_uri), uri: subject.filter(|_| is_uri) }
    }

    fn is_tool(&self) -> bool {
        self.name.is_some_and(|(attribute, _)| attribute == TOOL_NAME)
    }

    fn attributes(&self) -> impl Iterator<Item = KeyValue> {
        let operation = self.is_tool().then(|| KeyValue::new("gen_ai.operation.name", "execute_tool"));
        self.name.map(|(attribute, name)| KeyValue::new(attribute, name.to_owned())).into_iter().chain(operation)
    }
}

/// Returns the attributes of the network connection of an HTTP request.
fn network(request: &http::request::Parts) -> Vec<KeyValue> {
    let version = match request.version {
        http::Version::HTTP_09 => "0.9",
        http::Version::HTTP_10 => "1.0",
        http::Version::HTTP_2 => "2",
        http::Version::HTTP_3 => "3",
        _ => "1.1",
    };
    let transport = if request.version == http::Version::HTTP_3 { "quic" } else { "tcp" };
    vec![
        KeyValue::new("network.transport", transport),
        KeyValue::new("network.protocol.name", "http"),
        KeyValue::new("network.protocol.version", version),
    ]
}

fn id_in_words(id: &RequestId) -> String {
    match id {
        RequestId::Integer(id) => id.to_string(),
        RequestId::String(id) => id.clone(),
    }
}

/// Returns whether the result of a tool call reports a failure of the tool.
fn is_error(result: &Json) -> bool {
    let is_error = result.read(|result| {
        let [is_error] = Picked::values(result, &["isError"]);
        is_error.is_some_and(|is_error| is_error.text() == "true")
    });
    is_error.unwrap_or_default()
}
