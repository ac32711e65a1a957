//! Spans of `tracing`: the method of each request, and its tool, prompt or resource.
//!
//! This test has a process of its own, because `tracing` caches which spans are enabled, for all threads.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use mcpgen_sdk::{Client, Server};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Records the name and the fields of each span.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!(" {field}={value:?}");
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().starts_with("mcpgen")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Fields(attributes.metadata().name().to_owned());
        attributes.record(&mut fields);
        self.0.lock().expect("not poisoned").push(fields.0);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn requests_have_spans_with_their_method_and_subject() {
    let spans = Spans::default();
    let _recorded = tracing::subscriber::set_default(spans.clone());
    let server = Server::builder("server", "1").tool("greet", || async { "hello" }).build();
    let client = server.in_process(Client::builder("client", "1")).await.expect("connected");
    client.tools().await.expect("tools");
    client.tool("greet").await.expect("a result");
    let spans = spans.0.lock().expect("not poisoned");
    let of = |method: &str| {
        let prefix = format!("request method={method:?} ");
        spans.iter().find_map(|span| span.strip_prefix(&prefix)).unwrap_or_else(|| panic!("{method}: {spans:?}"))
    };
    assert!(of("tools/list").starts_with("id="), "{spans:?}");
    assert!(of("tools/call").starts_with("subject=\"greet\" id="), "{spans:?}");
    assert!(spans.iter().all(|span| !span.contains("Some(")), "{spans:?}");
}
