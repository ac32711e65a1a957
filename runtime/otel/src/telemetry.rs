//! Traces and metrics of messages, recorded with OpenTelemetry's global providers.

use std::any::Any;
use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use mcpgen_mcp::client::ToolFailed;
use mcpgen_mcp::protocol::input_requests::InputNotProvided;
use mcpgen_mcp::protocol::{ContextExt, RevisionRules, Role, meta};
use mcpgen_mcp::telemetry::{StoreOperation, Telemetry};
use mcpgen_runtime::CallError;
use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_runtime::observer::{self, Observer, Outcome};
use mcpgen_runtime::protocol::{Received, Sending};
use mcpgen_runtime::transport::{Extensions, QueueGauge};
use mcpgen_types::{Json, JsonObject, MethodSpec, RequestId, Version};
use opentelemetry::context::FutureExt as _;
use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::metrics::{Histogram, Meter, UpDownCounter};
use opentelemetry::trace::{Link, SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};

use crate::counted::Counted;
use crate::metadata::{MetaExtractor, MetaInjector};
use crate::scope::scope;
use crate::store::StoreTelemetry;

#[derive(Clone, Debug)]
pub(crate) struct OpenTelemetry(Arc<Instruments>, StoreTelemetry);

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
    active_sessions: UpDownCounter<i64>,
}

/// Bucket boundaries in seconds, as the conventions recommend.
const BOUNDARIES: [f64; 14] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

impl Default for OpenTelemetry {
    fn default() -> Self {
        let scope = scope();
        let meter = global::meter_with_scope(scope.clone());
        let requests = "The number of requests without a response.";
        let queues = "The size of the messages that are queued for peers.";
        Self(
            Arc::new(Instruments {
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
                client_sessions: histogram(
                    &meter,
                    "mcp.client.session.duration",
                    "The duration of a client's session.",
                ),
                server_sessions: histogram(
                    &meter,
                    "mcp.server.session.duration",
                    "The duration of a server's session.",
                ),
                client_requests: counter(&meter, "mcp.client.active_requests", "{request}", requests),
                server_requests: counter(&meter, "mcp.server.active_requests", "{request}", requests),
                client_queues: counter(&meter, "mcp.client.send_queue.size", "By", queues),
                server_queues: counter(&meter, "mcp.server.send_queue.size", "By", queues),
                active_sessions: counter(
                    &meter,
                    "mcp.server.active_sessions",
                    "{session}",
                    "The number of sessions that this process runs for HTTP clients.",
                ),
            }),
            StoreTelemetry::default(),
        )
    }
}

fn counter(meter: &Meter, name: &'static str, unit: &'static str, description: &'static str) -> UpDownCounter<i64> {
    meter.i64_up_down_counter(name).with_unit(unit).with_description(description).build()
}

fn histogram(meter: &Meter, name: &'static str, description: &'static str) -> Histogram<f64> {
    let builder = meter.f64_histogram(name).with_unit("s").with_description(description);
    builder.with_boundaries(BOUNDARIES.to_vec()).build()
}

impl Telemetry for OpenTelemetry {
    fn observer(&self, rules: Arc<dyn RevisionRules>) -> Arc<dyn Observer> {
        Arc::new(ConnectionTelemetry { telemetry: self.clone(), rules })
    }

    fn session(&self) -> Box<dyn Any + Send + Sync> {
        Box::new(Counted::new(&self.0.active_sessions))
    }

    fn store_operation(&self, name: &'static str) -> Box<dyn StoreOperation> {
        Box::new(self.1.start(name))
    }

    fn in_current_context(&self, work: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        work.with_context(Context::current()).boxed()
    }
}

impl OpenTelemetry {
    fn start(
        &self,
        side: Role,
        message: &Message<'_>,
        subject: Option<&str>,
        parent: Context,
        links: Vec<Link>,
    ) -> Operation {
        let subject = Subject::of(message.method, subject);
        let mut attributes = vec![KeyValue::new("mcp.method.name", message.method.to_owned())];
        attributes.extend(message.version.map(|version| KeyValue::new("mcp.protocol.version", version.as_str())));
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
            // Peers can make up names, so recording all of them could create any number of time series.
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
}

struct Message<'a> {
    method: &'a str,
    id: Option<&'a RequestId>,
    version: Option<Version>,
    extensions: Option<&'a Extensions>,
}

struct ConnectionTelemetry {
    telemetry: OpenTelemetry,
    rules: Arc<dyn RevisionRules>,
}

impl ConnectionTelemetry {
    fn side(&self) -> Role {
        self.rules.role().unwrap_or(Role::Server)
    }
}

impl Observer for ConnectionTelemetry {
    /// Starts the server span of a received message. Its parent is the trace context in `_meta` or, failing that, the
    /// current span.
    fn received(
        &self,
        message: &Received<'_>,
        context: Option<&mcpgen_runtime::Context>,
    ) -> Option<Box<dyn observer::Operation>> {
        let read =
            context.is_none().then(|| (meta::read(message.params), meta::subject(message.method, message.params)));
        let (meta, subject): (&JsonObject, _) = match (context, &read) {
            (Some(context), _) => (context.meta(), context.subject()),
            (None, Some((meta, subject))) => (meta, subject.as_deref()),
            (None, None) => return None,
        };
        let current = Context::current();
        let parent = global::get_text_map_propagator(|propagator| propagator.extract(&MetaExtractor::new(meta)));
        let is_remote = parent.span().span_context().is_remote();
        // Link the transport's span, such as that of an HTTP request.
        let ambient = current.span().span_context().clone();
        let links = if is_remote && ambient.is_valid() { vec![Link::with_context(ambient)] } else { Vec::new() };
        let message = Message {
            method: message.method,
            id: message.id,
            version: context.map(mcpgen_runtime::Context::version),
            extensions: context.map(mcpgen_runtime::Context::extensions),
        };
        Some(Box::new(self.telemetry.start(Role::Server, &message, subject, parent, links)))
    }

    /// Starts the client span of an outgoing message, with the current span as its parent. Writes the trace context
    /// into `_meta` of the params.
    fn sending(&self, sending: &mut Sending<'_>) -> Option<Box<dyn observer::Operation>> {
        let subject = meta::subject(sending.method, sending.params.as_ref());
        let of_connection = || self.rules.peer_info().map(|peer_info| peer_info.revision.version());
        let message = Message {
            method: sending.method,
            id: sending.id,
            version: sending.on_behalf_of.map(mcpgen_runtime::Context::version).or_else(of_connection),
            extensions: None,
        };
        let operation =
            self.telemetry.start(Role::Client, &message, subject.as_deref(), Context::current(), Vec::new());
        sending.params = operation.inject(sending.params.take());
        Some(Box::new(operation))
    }

    fn queue_gauge(&self) -> Option<QueueGauge> {
        let Instruments { client_queues, server_queues, .. } = &*self.telemetry.0;
        let queues = if self.side() == Role::Server { server_queues } else { client_queues }.clone();
        Some(Arc::new(move |bytes| queues.add(bytes, &[])))
    }

    /// Only legacy revisions have sessions.
    fn ended(&self, after: Duration, error: Option<&io::Error>) {
        let revision = self.rules.peer_info().map(|peer_info| peer_info.revision);
        let Some(revision) = revision.filter(|revision| revision.is_legacy()) else { return };
        let Instruments { client_sessions, server_sessions, .. } = &*self.telemetry.0;
        let sessions = if self.side() == Role::Server { server_sessions } else { client_sessions };
        let mut attributes = vec![KeyValue::new("mcp.protocol.version", revision.as_str())];
        attributes.extend(error.map(|_| KeyValue::new("error.type", "io_error")));
        sessions.record(after.as_secs_f64(), &attributes);
    }
}

/// A request or notification with a span, until its outcome is known.
///
/// If dropped before its outcome is known, it counts as cancelled.
struct Operation {
    context: Context,
    durations: Histogram<f64>,
    attributes: Vec<KeyValue>,
    started: Instant,
    is_tool_call: bool,
    has_ended: bool,
    /// Counts the request by method until it ends.
    active: Option<(UpDownCounter<i64>, KeyValue)>,
}

impl Operation {
    /// Writes the trace context into `_meta` of the params. An array has no `_meta` and stays as it is.
    fn inject(&self, params: Option<Json>) -> Option<Json> {
        let mut injector = MetaInjector::default();
        global::get_text_map_propagator(|propagator| propagator.inject_context(&self.context, &mut injector));
        if injector.0.is_empty() {
            return params;
        }
        let members: Vec<(&str, String)> =
            injector.0.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        meta::with_meta(params.clone(), &members, true).unwrap_or(params)
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

impl observer::Operation for Operation {
    fn enter(&self, poll: &mut dyn FnMut()) {
        let _current = self.context.clone().attach();
        poll();
    }

    fn end(mut self: Box<Self>, outcome: Outcome<'_>) {
        match outcome {
            Outcome::Result(result) if self.is_tool_call && is_error(result) => {
                self.fail("tool_error".into(), None, "");
            }
            Outcome::Error(error) => self.fail(error.code.0.to_string().into(), Some(error.code.0), &error.message),
            Outcome::Failed(error) => self.fail(error_type(error).into(), None, &error.to_string()),
            Outcome::HandlerFailed(why) => self.fail(why.into(), None, ""),
            _ => self.finish(Vec::new()),
        }
    }
}

fn error_type(error: &CallError) -> &'static str {
    match error {
        CallError::Invalid(_) => "invalid_result",
        CallError::Timeout { .. } => "timeout",
        CallError::NotAllowed(_) => "not_allowed",
        CallError::Undelivered(_) => "undelivered",
        CallError::Protocol(_) if error.downcast_ref::<InputNotProvided>().is_some() => "input_not_provided",
        CallError::Protocol(_) if error.downcast_ref::<ToolFailed>().is_some() => "tool_error",
        CallError::Protocol(_) => "protocol_error",
        CallError::SubscriptionEnded => "subscription_ended",
        _ => "connection_closed",
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if !self.has_ended {
            self.fail("cancelled".into(), None, "");
        }
    }
}

/// What a message is about.
#[derive(Clone, Copy)]
struct Subject<'a> {
    /// Attribute and name of a tool or prompt.
    name: Option<(&'static str, &'a str)>,
    uri: Option<&'a str>,
}

/// The method name recorded for methods that no revision has.
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

/// Attributes of an HTTP request's network connection.
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

fn is_error(result: &Json) -> bool {
    let is_error = result.read(|result| {
        let [is_error] = Picked::values(result, &["isError"]);
        is_error.is_some_and(|is_error| is_error.text() == "true")
    });
    is_error.unwrap_or_default()
}
