//! Trace context in `_meta`.

use std::borrow::Cow;

use mcpgen_types::{JsonObject, Value};
use opentelemetry::propagation::{Extractor, Injector};

/// The strings in an incoming message's `_meta`, which include the trace context.
pub(super) struct MetaExtractor<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> MetaExtractor<'a> {
    pub(super) fn new(meta: &'a JsonObject) -> Self {
        Self(meta.iter().filter_map(|(key, value)| Some((key, value.as_str()?))).collect())
    }
}

impl Extractor for MetaExtractor<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| &**value)
    }

    fn keys(&self) -> Vec<&str> {
        self.0.iter().map(|(key, _)| &**key).collect()
    }
}

/// Collects members to add to an outgoing message's `_meta`, each as a name and JSON text.
#[derive(Default)]
pub(super) struct MetaInjector(pub(super) Vec<(String, String)>);

impl Injector for MetaInjector {
    fn set(&mut self, key: &str, value: String) {
        // An empty `tracestate` or `baggage` says nothing.
        if !value.is_empty() {
            self.0.push((key.to_owned(), Value::from(value).to_string()));
        }
    }
}
