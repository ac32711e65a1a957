//! `mcpgen-probe ping`.

use std::time::Instant;

use mcpgen_sdk::protocol::PeerExt;
use serde_json::json;

use crate::cli::{Format, PingArgs};
use crate::failure::Failure;
use crate::output::{self, BOLD, GREEN, plain, styled};

pub(crate) async fn run(args: &PingArgs) -> Result<(), Failure> {
    let report = args
        .connection
        .run(async |client, activity| {
            activity.message("ping: waiting for the response");
            let start = Instant::now();
            client.ping().await.map_err(|error| Failure::call("ping", error))?;
            let milliseconds = start.elapsed().as_secs_f64() * 1e3;
            let info = client.peer.peer_info();
            let member =
                |name: &str| info.as_ref().and_then(|info| info.implementation.get(name).map(|value| value.to_value()));
            Ok(json!({
                "revision": client.revision().as_str(),
                "name": member("name"),
                "version": member("version"),
                "capabilities": info.as_ref().map(|info| &info.capabilities),
                "milliseconds": (milliseconds * 1000.0).round() / 1000.0,
            }))
        })
        .await?;
    match args.format {
        Format::Json => output::print_json(&report),
        Format::Text => {
            let text = |name: &str| plain(report[name].as_str().unwrap_or("?"));
            let capabilities = report["capabilities"].as_object();
            let names: Vec<&str> = capabilities.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            output::print(&format!(
                "{} {} {}, revision {}, {:.1} ms\n  capabilities: {}\n",
                styled(GREEN, "ok"),
                styled(BOLD, &text("name")),
                text("version"),
                text("revision"),
                report["milliseconds"].as_f64().unwrap_or_default(),
                if names.is_empty() { "none".to_owned() } else { plain(&names.join(", ")) },
            ))
        }
    }
}
