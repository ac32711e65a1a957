//! Measures how the time per call depends on the number of calls in flight.

use std::borrow::Cow;

use anyhow::{Context, Result};
use echo_driver::{Dialect, InProcess};
use mcpgen_sdk::transport::lines;
use mcpgen_sdk::{Server, serve};
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use mcpgen_types::{JsonObject, JsonRef};
use tokio::sync::watch;

use super::thread_cpu;
use crate::report::{Case, Goal, OURS, Section};
use crate::sample::median;

const DEPTHS: [usize; 5] = [1, 10, 100, 1_000, 10_000];

/// The number of calls in flight that the other numbers are compared with.
const BASE: usize = 100;
const BASE_NAME: &str = "100 in flight";

/// The goal for the time per call with more calls in flight, as a multiple of the time with [`BASE`] calls.
const GROWTH: f64 = 1.5;

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
    let base = DEPTHS.into_iter().zip(medians).find_map(|(depth, time)| (depth == BASE).then_some(time));
    let base = base.context("the base depth is not measured")?;
    let cases = DEPTHS.into_iter().zip(medians).map(|(depth, time)| {
        let figures = vec![(BASE_NAME.to_owned(), base), (OURS.to_owned(), time)];
        let case = Case::new(format!("{depth} in flight"), "ns", figures);
        if depth > BASE { case.goal(Goal::at_most(GROWTH, BASE_NAME)) } else { case }
    });
    Ok(Section {
        name: "growth",
        title: "tools/call in process: time per call, by the number of calls in flight".to_owned(),
        cases: cases.collect(),
        notes: vec![
            "The client makes all calls before the tool completes any of them; the response to a ping shows that the \
             server has read all calls. The server runs 256 at a time and queues the others, which is its default; it \
             rejects none. The time is the CPU time of the thread that server and client share, including the ping."
                .to_owned(),
        ],
    })
}

/// A server whose tool waits until it is released.
struct Held {
    server: InProcess,
    open: watch::Sender<bool>,
}

impl Held {
    fn start() -> Result<Self> {
        // The tool completes the first call immediately, because its response becomes the template.
        let (open, opened) = watch::channel(true);
        let tool = Tool::new("echo", ToolInputSchema::new());
        let held = Server::builder("held", "1.0.0")
            .tool(tool, move |arguments: JsonObject| {
                let mut opened = opened.clone();
                async move {
                    // If the sender is dropped, this fails, and the tool completes.
                    let _ = opened.wait_for(|open| *open).await;
                    arguments.get("text").and_then(JsonRef::as_str).map(Cow::into_owned).unwrap_or_default()
                }
            })
            .build();
        let server = InProcess::of(Dialect::Handshake, |(reader, writer)| {
            let (incoming, outgoing) = (lines::receive(reader, lines::DEFAULT_LINE_LIMIT), lines::send(writer));
            tokio::spawn(async move { serve(held, (incoming, outgoing)).await.is_ok() });
        })?;
        Ok(Self { server, open })
    }

    /// Returns the median time per call of several rounds. Runs more rounds if they are short.
    fn per_call(&mut self, depth: usize, quick: bool) -> Result<f64> {
        let rounds = if quick { 3 } else { (1_000 / depth).clamp(3, 100) };
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            self.server.client.prepare(depth);
            self.open.send_replace(false);
            let began = thread_cpu()?;
            self.server.held(|| {
                self.open.send_replace(true);
            })?;
            times.push((thread_cpu()? - began).as_nanos() as f64 / depth as f64);
        }
        Ok(median(times))
    }
}
