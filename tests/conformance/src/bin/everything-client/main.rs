//! A client that does everything that the official conformance suite asks a client for, in both eras.
//!
//! It is written as any client would be, with what `mcpgen-runtime` offers to everybody; only the names and the values are
//! the suite's.

#![allow(deprecated, reason = "what the newest revision deprecates is still served")]

mod answers;
mod scenarios;
#[cfg(test)]
mod tests;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::anyhow;
use clap::Parser;
use mcpgen_runtime::http::client::Options;
use mcpgen_runtime::{Client, ClientBuilder};
use mcpgen_types::Revision;

use crate::scenarios::{Given, Visit};

/// Visits a server of the official conformance suite, and does there what a scenario asks for.
#[derive(Parser)]
struct Arguments {
    /// The address of the server.
    url: String,
    /// What is to be done.
    #[arg(long, env = "MCP_CONFORMANCE_SCENARIO")]
    scenario: String,
    /// The only revision that is spoken; without it, whichever is the best.
    #[arg(long, env = "MCP_CONFORMANCE_PROTOCOL_VERSION")]
    revision: Option<Revision>,
    /// What the scenario gives to do it with, as JSON.
    #[arg(long, env = "MCP_CONFORMANCE_CONTEXT", value_parser = Given::from_json, default_value = "{}")]
    context: Given,
}

/// How long a scenario may last; somewhat less than what the suite waits for.
const LONGEST: Duration = Duration::from_secs(25);

#[tokio::main]
async fn main() -> ExitCode {
    let visited = tokio::time::timeout(LONGEST, visit(Arguments::parse())).await;
    match visited.unwrap_or_else(|_| Err(anyhow!("it is not over after {LONGEST:?}"))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("everything-client: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Plays the scenario, and takes leave.
async fn visit(Arguments { url, scenario, revision, context }: Arguments) -> anyhow::Result<()> {
    let play = scenarios::find(&scenario)?;
    let client = visitor(revision).connect_http(&url, Options::default()).await?;
    let visit = Visit { client, given: context };
    play(&visit).await?;
    Ok(visit.client.close().await?)
}

/// A client that answers whatever a server may ask.
fn visitor(revision: Option<Revision>) -> ClientBuilder {
    Client::builder("everything-client", env!("CARGO_PKG_VERSION"))
        .options(|options| {
            options.local_info.revisions.retain(|spoken| revision.is_none_or(|revision| revision == *spoken))
        })
        .on_elicitation(|_, asked| async move { Ok(answers::filled_in(&asked)) })
        .on_sampling(|_, _| async { Ok(answers::said()) })
        .roots([answers::root()])
}
