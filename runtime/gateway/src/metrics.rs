//! Counts calls, for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The calls that have ended, by server and outcome.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<BTreeMap<(String, &'static str), Calls>>);

#[derive(Clone, Copy, Debug, Default)]
struct Calls {
    count: u64,
    duration: Duration,
}

impl Metrics {
    /// Returns the metrics in the text format of Prometheus. `gauges` are further metrics: their names, descriptions
    /// and values.
    pub(crate) fn text(&self, gauges: &[(&str, &str, usize)]) -> String {
        let calls = self.0.lock().clone();
        let mut text = "# HELP mcpgen_gateway_call_duration_seconds Calls, prompts and reads.\n\
                        # TYPE mcpgen_gateway_call_duration_seconds summary\n"
            .to_owned();
        for ((server, outcome), Calls { count, duration }) in calls {
            let labels = format!("{{server=\"{server}\",outcome=\"{outcome}\"}}");
            let seconds = duration.as_secs_f64();
            let _ = writeln!(text, "mcpgen_gateway_call_duration_seconds_sum{labels} {seconds}");
            let _ = writeln!(text, "mcpgen_gateway_call_duration_seconds_count{labels} {count}");
        }
        for (name, help, value) in gauges {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
        text
    }
}

/// Counts a call when it ends, even if it is cancelled.
pub(crate) struct Measured<'m> {
    metrics: &'m Metrics,
    began: Instant,
    /// The name of the server, if the gateway knows it.
    pub(crate) server: Option<&'m str>,
    pub(crate) outcome: &'static str,
}

impl<'m> Measured<'m> {
    pub(crate) fn begin(metrics: &'m Metrics) -> Self {
        Self { metrics, began: Instant::now(), server: None, outcome: "cancelled" }
    }
}

impl Drop for Measured<'_> {
    fn drop(&mut self) {
        let key = (self.server.unwrap_or_default().to_owned(), self.outcome);
        let mut calls = self.metrics.0.lock();
        let ended = calls.entry(key).or_default();
        ended.count += 1;
        ended.duration += self.began.elapsed();
    }
}
