//! An HTTP server with tools for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcpgen_sdk::http::server::{Endpoint, EndpointOptions, ServeHttp};
use mcpgen_sdk::protocol::ContextExt;
use mcpgen_sdk::server::RequestContext;
use mcpgen_sdk::{Context, Limits, Server, ServerBuilder};
use mcpgen_types::v2026_07_28::{
    ElicitRequestFormParams, ElicitRequestFormParamsRequestedSchema, Tool, ToolInputSchema,
};
use mcpgen_types::{JsonObject, JsonRef};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Creates a server with tools for tests.
pub(crate) fn server(observed: &Arc<Observed>) -> ServerBuilder {
    let tool = |name: &str, schema: Value| {
        Tool::new(name, mcpgen_types::from_value::<ToolInputSchema>(schema).expect("a schema"))
    };
    let plain = || json!({ "type": "object" });
    let region = json!({
        "type": "object",
        "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
    });
    let (waits, long, all) = (Arc::clone(observed), Arc::clone(observed), Arc::clone(observed));
    Server::builder("http", "1")
        .logging()
        .tool(tool("echo", plain()), |arguments: JsonObject| async move { mcpgen_types::to_string(&arguments) })
        .tool(tool("region", region), || async { "stored" })
        .tool(tool("progress", plain()), |context: RequestContext| async move {
            for step in 1..=3 {
                context.progress(f64::from(step), Some(3.0), None).await;
            }
            "done"
        })
        .tool(tool("wait", plain()), move || {
            let observed = Arc::clone(&waits);
            async move {
                let _counter = DropCounter(Arc::clone(&observed));
                observed.started.notify_one();
                observed.proceed.notified().await;
                "waited"
            }
        })
        .tool(tool("later", plain()), move |context: RequestContext| {
            let observed = Arc::clone(&long);
            async move {
                context.close_sse_stream(Duration::from_millis(20));
                observed.proceed.notified().await;
                "at last"
            }
        })
        .tool(tool("ask", plain()), move |context: RequestContext| async move {
            let schema = ElicitRequestFormParamsRequestedSchema::new(std::collections::BTreeMap::new());
            let response = context.elicit("name", ElicitRequestFormParams::new("who are you?", schema)).await?;
            Ok::<_, mcpgen_sdk::server::ToolError>(response.action.as_str().to_owned())
        })
        .tool(tool("who", plain()), move |context: RequestContext| {
            let all = Arc::clone(&all);
            async move {
                let parts = context.context().extensions().get::<http::request::Parts>();
                all.calls.fetch_add(1, Ordering::SeqCst);
                parts.and_then(|parts| parts.headers.get("x-user")?.to_str().ok()).unwrap_or("nobody").to_owned()
            }
        })
        .tool(tool("headers", plain()), |context: Context| async move {
            let parts = context.extensions().get::<http::request::Parts>();
            let names = parts.iter().flat_map(|parts| parts.headers.keys()).map(http::HeaderName::as_str);
            names.collect::<Vec<_>>().join(" ")
        })
}

/// The calls and HTTP requests that a test has observed.
#[derive(Default)]
pub(crate) struct Observed {
    pub(crate) started: Notify,
    pub(crate) proceed: Notify,
    pub(crate) ended: AtomicUsize,
    pub(crate) calls: AtomicUsize,
    /// The number of GET requests that resume a stream.
    #[allow(dead_code, reason = "not every test counts")]
    pub(crate) resumed_streams: AtomicUsize,
    /// The number of GET requests that open a stream.
    #[allow(dead_code, reason = "not every test counts")]
    pub(crate) opened_streams: AtomicUsize,
}

/// Counts calls of `wait` that have completed or were cancelled.
struct DropCounter(Arc<Observed>);

impl Drop for DropCounter {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }
}

/// Creates an endpoint of [`server`].
#[allow(dead_code, reason = "not every test file needs it")]
pub(crate) fn endpoint(change: impl FnOnce(&mut EndpointOptions)) -> (Endpoint, Arc<Observed>) {
    let observed = Arc::<Observed>::default();
    (serve(&server(&observed).build(), change), observed)
}

/// Creates an endpoint with one more tool, `big`. The tool reports progress with a text of `before` bytes, waits for
/// `ms` milliseconds, and returns a text of `size` bytes.
#[allow(dead_code, reason = "not every test file needs it")]
pub(crate) fn big_endpoint(change: impl FnOnce(&mut EndpointOptions)) -> (Endpoint, Arc<Observed>) {
    let observed = Arc::<Observed>::default();
    let server = server(&observed).tool(
        Tool::new("big", ToolInputSchema::new()),
        |context: RequestContext, arguments: JsonObject| async move {
            let number = |name: &str| arguments.get(name).and_then(JsonRef::as_u64).unwrap_or(0);
            let message = "x".repeat(usize::try_from(number("before")).unwrap_or(0));
            context.progress(1.0, None, Some(&message)).await;
            tokio::time::sleep(Duration::from_millis(number("ms"))).await;
            "x".repeat(usize::try_from(number("size")).unwrap_or(0))
        },
    );
    (serve(&server.build(), change), observed)
}

fn serve(server: &Server, change: impl FnOnce(&mut EndpointOptions)) -> Endpoint {
    let mut options =
        EndpointOptions::default().with_limits(Limits::default().with_drain_timeout(Duration::from_millis(200)));
    change(&mut options);
    server.http(options).expect("a sound server")
}

/// Waits up to 5 seconds for a condition.
#[allow(dead_code, reason = "not every test file waits")]
pub(crate) async fn until(done: impl Fn() -> bool) {
    for _ in 0..500 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the condition was not met in time");
}
