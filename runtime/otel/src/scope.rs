//! The instrumentation scope of all spans and metrics.

use opentelemetry::InstrumentationScope;

pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder(env!("CARGO_PKG_NAME")).with_version(env!("CARGO_PKG_VERSION")).build()
}
