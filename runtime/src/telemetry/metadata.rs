//! Trace context in `_meta`.

use mcpgen_types::{JsonObject, Value};
use opentelemetry::propagation::{Extractor, Injector};

/// Reads trace context from `_meta` of an incoming message.
pub(super) struct MetaExtractor<'a>(pub(super) &'a JsonObject);

impl Extractor for MetaExtractor<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }
}

/// Collects the members to add to `_meta` of an outgoing message, each as a name and JSON text.
#[derive(Default)]
pub(super) struct MetaInjector(pub(super) Vec<(String, String)>);

impl Injector for MetaInjector {
    fn set(&mut self, key: &str, value: String) {
        // An empty `tracestate` or `baggage` carries no information.
        if !value.is_empty() {
            self.0.push((key.to_owned(), Value::from(value).to_string()));
        }
    }
}
