//! Metrics of what servers hold at the moment, and of the stores that they share, as OpenTelemetry's in-memory exporter
//! records them. This is a separate program, because the providers are global.

#[path = "../../sdk/tests/it/support/http_server.rs"]
mod http_server;
#[path = "../../sdk/tests/it/support/requests.rs"]
mod requests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use mcpgen_cluster::MemoryHub;
use mcpgen_sdk::Server;
use mcpgen_sdk::http::server::{Endpoint, EndpointOptions, ServeHttp};
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::replicas::Replicas;
use opentelemetry::{KeyValue, global};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use serde_json::json;

use crate::http_server::{Observed, server};
use crate::requests::{call, read, send, session};

/// The last exported metrics, by name and attributes such as `error.type=full`.
struct Metrics {
    exporter: InMemoryMetricExporter,
    provider: SdkMeterProvider,
}

impl Metrics {
    fn new() -> Self {
        let exporter = InMemoryMetricExporter::default();
        let reader = PeriodicReader::builder(exporter.clone()).build();
        let provider = SdkMeterProvider::builder().with_reader(reader).build();
        global::set_meter_provider(provider.clone());
        mcpgen_otel::install().expect("no other telemetry");
        Self { exporter, provider }
    }

    /// Returns the current values of up-down counters, and the counts of histograms, with their units.
    fn read(&self) -> BTreeMap<String, (i64, String)> {
        self.exporter.reset();
        self.provider.force_flush().expect("metrics are exported");
        let finished = self.exporter.get_finished_metrics().expect("metrics");
        let mut found = BTreeMap::new();
        for metric in finished.iter().flat_map(|resource| resource.scope_metrics()).flat_map(|scope| scope.metrics()) {
            let mut add = |attributes: Vec<&KeyValue>, value: i64| {
                let mut attributes: Vec<_> = attributes.iter().map(|it| format!("{}={}", it.key, it.value)).collect();
                attributes.sort();
                let name = format!("{} {}", metric.name(), attributes.join(" "));
                found.insert(name.trim_end().to_owned(), (value, metric.unit().to_owned()));
            };
            match metric.data() {
                AggregatedMetrics::I64(MetricData::Sum(sum)) => {
                    assert!(!sum.is_monotonic(), "{}", metric.name());
                    sum.data_points().for_each(|point| add(point.attributes().collect(), point.value()));
                }
                AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                    let count = |count: u64| i64::try_from(count).expect("a small count");
                    histogram.data_points().for_each(|point| add(point.attributes().collect(), count(point.count())));
                }
                _ => panic!("{} is neither a counter nor a histogram", metric.name()),
            }
        }
        found
    }

    /// Returns a value. Metrics that were not recorded are 0.
    fn value(&self, name: &str, unit: &str) -> i64 {
        match self.read().get(name) {
            Some((value, found)) => {
                assert_eq!(found, unit, "{name}");
                *value
            }
            None => 0,
        }
    }

    /// Waits until a metric has a value.
    async fn wait_for(&self, name: &str, unit: &str, expected: i64) {
        for _ in 0..500 {
            if self.value(name, unit) == expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{name} is {}, not {expected}; all: {:#?}", self.value(name, unit), self.read());
    }
}

fn replica(hub: &MemoryHub, observed: &Arc<Observed>) -> (Server, Endpoint) {
    let stores = hub.replica();
    let server = server(observed).change_bus(stores.clone()).replicas(Replicas::new(stores)).build();
    let mut options = EndpointOptions::default();
    options.limits.drain_timeout = Duration::from_millis(200);
    let endpoint = server.http(options).expect("a sound server");
    (server, endpoint)
}

const SESSIONS: &str = "mcp.server.active_sessions";
const CALLS: &str = "mcp.server.active_requests mcp.method.name=tools/call";
const QUEUED: &str = "mcp.server.send_queue.size";

#[tokio::test]
async fn counts_what_a_server_holds_and_what_its_stores_do() {
    let metrics = Metrics::new();
    let (hub, observed) = (MemoryHub::new(1, 64 << 10), Arc::<Observed>::default());
    let ((server, a), (_b_server, b)) = (replica(&hub, &observed), replica(&hub, &observed));
    let operations = |operation: &str, error: Option<&str>| {
        let error = error.map(|error| format!("error.type={error} ")).unwrap_or_default();
        metrics.value(&format!("mcp.server.store.operation.duration {error}mcp.store.operation={operation}"), "s")
    };

    let id = session(&a, "2025-11-25").await;
    metrics.wait_for(SESSIONS, "{session}", 1).await;
    assert_eq!(operations("session.create", None), 1);
    let (status, ..) = read(send(&b, "POST", &[("mcp-session-id", &id)], &call(1, "echo", json!({}))).await).await;
    assert_eq!(status, 200);
    assert_eq!((operations("session.locate", None), operations("exchange.forward", None)), (1, 1));
    read(send(&b, "POST", &[("mcp-session-id", &id)], &call(1, "echo", json!({}))).await).await;
    assert_eq!(operations("session.locate", None), 1, "the home is remembered");
    assert_eq!(operations("exchange.forward", None), 2);

    // A request in flight.
    let waiting = {
        let (a, id, body) = (a.clone(), id.clone(), call(2, "wait", json!({})));
        tokio::spawn(async move { read(send(&a, "POST", &[("mcp-session-id", &id)], &body).await).await.0 })
    };
    observed.started.notified().await;
    assert_eq!(metrics.value(CALLS, "{request}"), 1);
    observed.proceed.notify_one();
    assert_eq!(waiting.await.expect("no panic"), 200);
    metrics.wait_for(CALLS, "{request}", 0).await;

    // A message that the client does not read.
    metrics.wait_for(QUEUED, "By", 0).await;
    let mut stream = send(&a, "GET", &[("mcp-session-id", &id)], "").await;
    server.changed(&Change::Tools);
    let message = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    metrics.wait_for(QUEUED, "By", i64::try_from(message.len()).expect("small")).await;
    while metrics.value(QUEUED, "By") > 0 {
        let frame = tokio::time::timeout(Duration::from_secs(10), stream.body_mut().frame()).await;
        frame.expect("the message").expect("the stream goes on").expect("a frame");
    }
    drop(stream);
    assert_eq!(operations("change.publish", None), 1);

    // The store is full.
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let initialize = requests::request(0, "initialize", params);
    assert_eq!(send(&b, "POST", &[], &initialize).await.status(), 503);
    assert_eq!(operations("session.create", Some("full")), 1);

    // Nothing is left.
    assert_eq!(send(&b, "DELETE", &[("mcp-session-id", &id)], "").await.status(), 204);
    metrics.wait_for(SESSIONS, "{session}", 0).await;
    assert_eq!(operations("session.remove", None), 1);
    for (name, (value, _)) in metrics.read() {
        let is_current = name.contains(".active_") || name.contains("_queue");
        assert!(!is_current || value == 0, "{name} is {value}");
    }
}
