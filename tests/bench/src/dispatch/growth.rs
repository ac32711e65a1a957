//! Whether a call costs more when many others are in flight.

use anyhow::{Context, Result};
use echo_driver::{Dialect, Within};
use mcpgen_runtime::transport::lines;
use mcpgen_runtime::{Server, serve};
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use tokio::sync::watch;

use super::worked;
use crate::report::{Case, Goal, OURS, Section};
use crate::sample::median;

const DEPTHS: [usize; 5] = [1, 10, 100, 1_000, 10_000];

/// What the others are compared with.
const USUAL: usize = 100;
const USUALLY: &str = "100 in flight";

/// With many calls in flight, one may cost so much more than with the usual number of them.
const MORE: f64 = 1.5;

pub(crate) fn run(quick: bool) -> Result<Section> {
    let mut server = Held::start()?;
    let turns = if quick { 3 } else { 21 };
    let mut times = DEPTHS.map(|_| Vec::new());
    for turn in 0..=turns {
        for (depth, times) in DEPTHS.into_iter().zip(&mut times) {
            let time = server.per_call(depth, quick).with_context(|| format!("{depth} calls in flight"))?;
            // The first turn only warms up.
            times.extend((turn > 0).then_some(time));
        }
    }
    let medians = times.map(median);
    let usual = DEPTHS.into_iter().zip(medians).find_map(|(depth, time)| (depth == USUAL).then_some(time));
    let usual = usual.context("the usual number is measured")?;
    let cases = DEPTHS.into_iter().zip(medians).map(|(depth, time)| {
        let figures = vec![(USUALLY.to_owned(), usual), (OURS.to_owned(), time)];
        let case = Case::new(format!("{depth} in flight"), "ns", figures);
        if depth > USUAL { case.goal(Goal::at_most(MORE, USUALLY)) } else { case }
    });
    Ok(Section {
        name: "growth",
        title: "tools/call in process, per call, by how many are in flight".to_owned(),
        cases: cases.collect(),
        notes: vec![
            "All calls are made before the tool lets any of them go; a ping that is answered shows that the \
             server has taken them. It runs 256 at a time and lets the others wait, as it does by default; none \
             is refused. The time is that which the thread of server and client worked; the ping is in it."
                .to_owned(),
        ],
    })
}

/// A server whose tool waits until it may go on.
struct Held {
    server: Within,
    open: watch::Sender<bool>,
}

impl Held {
    fn start() -> Result<Self> {
        // Open for the call that shows what answers look like.
        let (open, opened) = watch::channel(true);
        let tool = Tool::new(ToolInputSchema::new(), "echo");
        let held = Server::builder("held", "1.0.0")
            .tool_with_schema(tool, move |_, mut arguments| {
                let mut opened = opened.clone();
                async move {
                    // It ends when nobody can open it any more.
                    let _ = opened.wait_for(|open| *open).await;
                    arguments.remove("text").and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default()
                }
            })
            .build();
        let server = Within::of(Dialect::Handshake, |(reader, writer)| {
            let (incoming, outgoing) = (lines::receive(reader, lines::LONGEST), lines::send(writer));
            tokio::spawn(async move { serve(held, (incoming, outgoing)).await.is_ok() });
        })?;
        Ok(Self { server, open })
    }

    /// The median of some rounds; there are more of them where a round is short.
    fn per_call(&mut self, depth: usize, quick: bool) -> Result<f64> {
        let rounds = if quick { 3 } else { (1_000 / depth).clamp(3, 100) };
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            self.server.client.prepare(depth);
            self.open.send_replace(false);
            let began = worked()?;
            self.server.held(|| {
                self.open.send_replace(true);
            })?;
            times.push((worked()? - began).as_nanos() as f64 / depth as f64);
        }
        Ok(median(times))
    }
}
