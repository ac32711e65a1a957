//! A client for the scenarios of the official conformance suite, in legacy and modern revisions.
//!
//! It uses only the public API of `mcpgen-sdk` and `mcpgen-auth`. The suite determines the names and the values.

#![allow(deprecated, reason = "the client supports features that the newest revision deprecates")]

mod auth;
mod responses;
mod scenarios;
#[cfg(test)]
mod tests;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use clap::Parser;
use mcpgen_sdk::http::client::{Authorize, ClientOptions, ConnectHttp};
use mcpgen_sdk::{Client, ClientBuilder};
use mcpgen_types::Revision;

use crate::scenarios::{Run, ScenarioContext};

/// Connects to a server of the official conformance suite and runs a scenario.
#[derive(Parser)]
struct Arguments {
    /// The URL of the server.
    url: String,
    /// The name of the scenario.
    #[arg(long, env = "MCP_CONFORMANCE_SCENARIO")]
    scenario: String,
    /// The only supported revision. Default: all revisions.
    #[arg(long, env = "MCP_CONFORMANCE_PROTOCOL_VERSION")]
    revision: Option<Revision>,
    /// The context of the scenario, as JSON.
    #[arg(long, env = "MCP_CONFORMANCE_CONTEXT", value_parser = ScenarioContext::from_json, default_value = "{}")]
    context: ScenarioContext,
}

/// The time limit of a scenario. The suite's own limit is longer.
const TIME_LIMIT: Duration = Duration::from_secs(25);

#[tokio::main]
async fn main() -> ExitCode {
    let result = tokio::time::timeout(TIME_LIMIT, run(Arguments::parse())).await;
    match result.unwrap_or_else(|_| Err(anyhow!("the scenario did not complete within {TIME_LIMIT:?}"))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("everything-client: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(Arguments { url, scenario, revision, context }: Arguments) -> anyhow::Result<()> {
    let authorization = auth::oauth_client(&scenario, &url, &context.auth).await?;
    let authorization = authorization.map(|client| Arc::new(client) as Arc<dyn Authorize>);
    let mut options = ClientOptions::default();
    options.authorization = authorization;
    let scenario = scenarios::find(&scenario)?;
    let client = builder(revision).connect_http(&url, options).await?;
    let run = Run { client, context };
    scenario(&run).await?;
    Ok(run.client.close().await?)
}

/// Returns a client that handles all requests of a server.
fn builder(revision: Option<Revision>) -> ClientBuilder {
    Client::builder("everything-client", env!("CARGO_PKG_VERSION"))
        .options(|options| {
            options.local_info.revisions.retain(|supported| revision.is_none_or(|revision| revision == *supported))
        })
        .on_elicitation(|_, params| async move { Ok(responses::elicitation(&params)) })
        .on_sampling(|_, _| async { Ok(responses::sampling()) })
        .roots([responses::root()])
}
