//! Counts calls, for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use parking_lot::Mutex;

/// The number and total duration of ended calls, by server and outcome.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<BTreeMap<(String, &'static str), Calls>>);

#[derive(Clone, Copy, Debug, Default)]
struct Calls {
    count: u64,
    duration: Duration,
}

impl Metrics {
    /// Counts a call that has ended.
    pub(crate) fn count(&self, server: &str, outcome: &'static str, duration: Duration) {
        let mut calls = self.0.lock();
        let ended = calls.entry((server.to_owned(), outcome)).or_default();
        ended.count += 1;
        ended.duration += duration;
    }

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
