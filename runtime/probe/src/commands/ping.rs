//! `mcpgen-probe ping`.

use std::time::Instant;

use mcpgen_sdk::protocol::PeerExt;
use mcpgen_types::{Json, JsonObject, JsonRef};

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
            let info = client.peer().peer_info();
            let member =
                |name: &str| info.as_ref().and_then(|info| info.implementation.get(name).map(JsonRef::to_json));
            Ok(JsonObject::from([
                ("revision", client.revision().as_str().into()),
                ("name", member("name").into()),
                ("version", member("version").into()),
                ("capabilities", info.as_ref().map(|info| Json::from(&info.capabilities)).into()),
                ("milliseconds", ((milliseconds * 1000.0).round() / 1000.0).into()),
            ]))
        })
        .await?;
    match args.format {
        Format::Json => output::print_json(report.as_ref()),
        Format::Text => {
            let text = |name: &str| plain(&report.get(name).and_then(JsonRef::as_str).unwrap_or("?".into()));
            let capabilities = report.get("capabilities").into_iter().flat_map(JsonRef::members);
            let names: Vec<_> = capabilities.map(|(name, _)| name).collect();
            output::print(&format!(
                "{} {} {}, revision {}, {:.1} ms\n  capabilities: {}\n",
                styled(GREEN, "ok"),
                styled(BOLD, &text("name")),
                text("version"),
                text("revision"),
                report.get("milliseconds").and_then(JsonRef::as_f64).unwrap_or_default(),
                if names.is_empty() { "none".to_owned() } else { plain(&names.join(", ")) },
            ))
        }
    }
}
