//! Traces and metrics, as OpenTelemetry's in-memory exporters record them. This is a separate program, because the
//! providers are global.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mcpgen_sdk::client::ClientBuilder;
use mcpgen_sdk::http::client::{ClientOptions, ConnectHttp};
use mcpgen_sdk::http::server::ServeHttp;
use mcpgen_sdk::server::ToolError;
use mcpgen_sdk::transport::lines;
use mcpgen_sdk::{CallError, Client, LocalInfo, Server, serve};
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use mcpgen_types::{JsonObject, Revision};
use opentelemetry::baggage::BaggageExt;
use opentelemetry::context::FutureExt;
use opentelemetry::propagation::TextMapCompositePropagator;
use opentelemetry::trace::{SpanContext, SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue, global};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};

/// The transport between a client and a server.
#[derive(Clone, Copy, Debug)]
enum Over {
    /// Lines over pipes, as on standard input and output.
    Pipes,
    Http,
}

fn builder(revision: Revision) -> ClientBuilder {
    Client::builder("client", "1").options(|options| {
        let ours = std::mem::replace(&mut options.local_info, LocalInfo::new("", ""));
        options.local_info = ours.retain_revisions(|known| known == revision);
    })
}

/// Serves a server and connects a client to it.
async fn connected(server: Server, over: Over, revision: Revision) -> Client {
    match over {
        Over::Pipes => {
            let pipe = || tokio::net::unix::pipe::pipe().expect("a pipe");
            let ((to_server, from_client), (to_client, from_server)) = (pipe(), pipe());
            let limit = lines::DEFAULT_LINE_LIMIT;
            let transport = (lines::receive(from_client, limit), lines::send(to_client));
            tokio::spawn(async move { serve(server, transport).await.map_err(|error| error.to_string()) });
            builder(revision)
                .connect(lines::receive(from_server, limit), lines::send(to_server))
                .await
                .expect("a server")
        }
        Over::Http => {
            let endpoint = server.http(Default::default()).expect("a valid server");
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
            let app = axum::Router::new().fallback_service(endpoint);
            tokio::spawn(async move { axum::serve(listener, app).await });
            builder(revision).connect_http(&url, ClientOptions::default()).await.expect("a server")
        }
    }
}

fn tool(name: &str) -> Tool {
    Tool::new(name, ToolInputSchema::new())
}

/// A server whose tool returns the call's baggage, and fails without any.
fn origin() -> Server {
    let read = || async {
        let user = Context::current().baggage().get("user").map(ToString::to_string);
        user.ok_or_else(|| ToolError::failed("no user"))
    };
    Server::builder("origin", "1").tool(tool("read"), read).build()
}

/// A server that passes its calls on to another one.
fn relay(origin: Client) -> Server {
    let origin = Arc::new(origin);
    let pass_on = move |arguments: JsonObject| {
        let origin = Arc::clone(&origin);
        async move {
            let result = origin.call_tool("read", arguments).await;
            result.map_err(|error| ToolError::failed(error.to_string()))
        }
    };
    Server::builder("relay", "1").tool(tool("pass_on"), pass_on).build()
}

/// The recorded spans by name, and what they show.
struct Recorded(Vec<SpanData>);

impl Recorded {
    fn children(&self, parent: &SpanContext) -> Vec<&SpanData> {
        self.0.iter().filter(|span| span.parent_span_id == parent.span_id()).collect()
    }

    /// Returns the tree below a span: the kind and the name of each, by depth.
    fn chain(&self, root: &SpanContext) -> Vec<(SpanKind, String)> {
        let mut chain = Vec::new();
        let mut parent = root.clone();
        while let [only] = self.children(&parent)[..] {
            assert_eq!(only.span_context.trace_id(), root.trace_id());
            chain.push((only.span_kind.clone(), only.name.to_string()));
            parent = only.span_context.clone();
        }
        assert!(self.children(&parent).is_empty(), "a span has several children");
        chain
    }

    fn attributes(&self, kind: &SpanKind, name: &str) -> BTreeMap<String, String> {
        let span = self.0.iter().find(|span| span.span_kind == *kind && span.name == name).expect("a span");
        span.attributes.iter().map(|it| (it.key.to_string(), it.value.to_string())).collect()
    }
}

/// How many times a duration was recorded, with these attributes.
type Point = (u64, BTreeMap<String, String>);

fn histograms(metrics: &InMemoryMetricExporter) -> BTreeMap<String, Vec<Point>> {
    let mut found: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    let finished = metrics.get_finished_metrics().expect("metrics");
    // Every export contains all values since the start.
    let last = finished.last().into_iter().flat_map(|resource| resource.scope_metrics());
    for metric in last.flat_map(|scope| scope.metrics()) {
        // `metrics.rs` tests the other metrics.
        let AggregatedMetrics::F64(MetricData::Histogram(histogram)) = metric.data() else { continue };
        assert_eq!(metric.unit(), "s");
        for point in histogram.data_points() {
            let attributes = point.attributes().map(|it| (it.key.to_string(), it.value.to_string())).collect();
            found.entry(metric.name().to_owned()).or_default().push((point.count(), attributes));
        }
    }
    found
}

#[tokio::test]
async fn one_trace_spans_client_relay_and_server() {
    let exporter = InMemorySpanExporter::default();
    let tracers = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let metrics = InMemoryMetricExporter::default();
    let meters = SdkMeterProvider::builder().with_reader(PeriodicReader::builder(metrics.clone()).build()).build();
    global::set_tracer_provider(tracers);
    global::set_meter_provider(meters.clone());
    global::set_text_map_propagator(TextMapCompositePropagator::new(vec![
        Box::new(TraceContextPropagator::new()),
        Box::new(BaggagePropagator::new()),
    ]));
    mcpgen_otel::install().expect("no other telemetry");
    let eras = [Revision::V2025_11_25, Revision::V2026_07_28];
    for (front, back) in [(Over::Pipes, Over::Http), (Over::Http, Over::Pipes)] {
        for (revision, other) in eras.into_iter().zip(eras.into_iter().rev()) {
            let case = format!("{front:?} {revision}, {back:?} {other}");
            let client = connected(relay(connected(origin(), back, other).await), front, revision).await;
            exporter.reset();
            let root = global::tracer("test").start("user request");
            let context = Context::new().with_span(root).with_baggage([KeyValue::new("user", "alice")]);
            let called = client.call_tool("pass_on", JsonObject::new()).with_context(context.clone()).await;
            let result = called.expect("a result");
            assert!(mcpgen_types::to_string(&result).contains("alice"), "{case}: {result:?}");
            let recorded = Recorded(exporter.get_finished_spans().expect("spans"));
            let call = |kind: SpanKind, tool: &str| (kind, format!("tools/call {tool}"));
            let expected = [
                call(SpanKind::Client, "pass_on"),
                call(SpanKind::Server, "pass_on"),
                call(SpanKind::Client, "read"),
                call(SpanKind::Server, "read"),
            ];
            assert_eq!(recorded.chain(context.span().span_context()), expected, "{case}");
            for (kind, tool, revision, over) in [
                (SpanKind::Client, "pass_on", revision, None),
                (SpanKind::Server, "pass_on", revision, Some(front)),
                (SpanKind::Client, "read", other, None),
                (SpanKind::Server, "read", other, Some(back)),
            ] {
                let attributes = recorded.attributes(&kind, &format!("tools/call {tool}"));
                let attribute = |name: &str| attributes.get(name).map(String::as_str);
                assert_eq!(attribute("mcp.method.name"), Some("tools/call"), "{case}");
                assert_eq!(attribute("mcp.protocol.version"), Some(revision.as_str()), "{case}");
                assert_eq!(attribute("gen_ai.tool.name"), Some(tool), "{case}");
                assert_eq!(attribute("gen_ai.operation.name"), Some("execute_tool"), "{case}");
                assert!(attribute("jsonrpc.request.id").is_some(), "{case}");
                let is_http = matches!(over, Some(Over::Http));
                assert_eq!(attribute("network.transport"), is_http.then_some("tcp"), "{case}");
                assert_eq!(attribute("mcp.session.id").is_some(), is_http && revision.is_legacy(), "{case}");
                assert!(attribute("error.type").is_none(), "{case}");
            }
        }
    }
    failures(&exporter).await;
    meters.force_flush().expect("metrics are exported");
    let found = histograms(&metrics);
    let names: BTreeSet<&str> = found.keys().map(String::as_str).collect();
    let expected = ["client.operation", "client.session", "server.operation", "server.session"];
    assert_eq!(
        names,
        expected.iter().map(|it| format!("mcp.{it}.duration")).collect::<Vec<_>>().iter().map(String::as_str).collect()
    );
    let calls = |side: &str| -> u64 {
        let points = &found[&format!("mcp.{side}.operation.duration")];
        let of_calls = points.iter().filter(|(_, attributes)| attributes["mcp.method.name"] == "tools/call");
        of_calls.map(|(count, _)| count).sum()
    };
    // Two calls for each of the four cases, and four calls that fail.
    assert_eq!((calls("client"), calls("server")), (12, 12));
    for attributes in found.values().flatten().map(|(_, attributes)| attributes) {
        assert!(!attributes.contains_key("jsonrpc.request.id") && !attributes.contains_key("mcp.session.id"));
    }
}

/// Calls fail as errors of the tool, as JSON-RPC errors and by cancellation.
async fn failures(exporter: &InMemorySpanExporter) {
    let server = Server::builder("origin", "1")
        .tool(tool("fail"), || async { Err::<String, _>(ToolError::failed("no")) })
        .tool(tool("wait"), || async { std::future::pending::<String>().await })
        .build();
    let client = connected(server, Over::Pipes, Revision::V2025_11_25).await;
    let outcome = |kind: SpanKind, name: &str| {
        let spans = Recorded(exporter.get_finished_spans().expect("spans"));
        let attributes = spans.attributes(&kind, name);
        let status = spans.0.iter().find(|span| span.span_kind == kind && span.name == name).map(|it| &it.status);
        assert!(matches!(status, Some(Status::Error { .. })), "{status:?}");
        (attributes.get("error.type").cloned(), attributes.get("rpc.response.status_code").cloned())
    };
    exporter.reset();
    client.call_tool("fail", JsonObject::new()).await.expect("a result");
    assert_eq!(outcome(SpanKind::Client, "tools/call fail"), (Some("tool_error".to_owned()), None));
    assert_eq!(outcome(SpanKind::Server, "tools/call fail"), (Some("tool_error".to_owned()), None));
    client.call_tool("unknown", JsonObject::new()).await.expect_err("no such tool");
    let code = || Some("-32602".to_owned());
    assert_eq!(outcome(SpanKind::Client, "tools/call unknown"), (code(), code()));
    assert_eq!(outcome(SpanKind::Server, "tools/call unknown"), (code(), code()));
    let waiting =
        tokio::time::timeout(std::time::Duration::from_millis(100), client.call_tool("wait", JsonObject::new()));
    waiting.await.expect_err("the tool waits");
    let ended =
        || exporter.get_finished_spans().expect("spans").iter().filter(|it| it.name == "tools/call wait").count();
    while ended() < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(outcome(SpanKind::Client, "tools/call wait"), (Some("cancelled".to_owned()), None));
    assert_eq!(outcome(SpanKind::Server, "tools/call wait"), (Some("cancelled".to_owned()), None));
    // An array has no `_meta` for the trace context, and is sent unchanged.
    let request = client.peer().custom_request::<_, serde_json::Value>("sum", &[1, 2]).expect("params");
    let error = request.await.expect_err("no such method");
    assert!(matches!(error, CallError::ErrorResponse(_)), "{error}");
    let again = client.call_tool("fail", JsonObject::new()).await;
    assert!(again.is_ok_and(|result| result.is_error == Some(true)));
    client.close().await.expect("the connection closes");
}
