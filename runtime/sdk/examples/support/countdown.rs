//! A protocol extension: a server counts down, and notifies the client of each step.

use std::sync::Arc;

use mcpgen_sdk::peer::CallError;
use mcpgen_sdk::protocol::ContextExt;
use mcpgen_sdk::{Context, Extension, Peer, Router};
use mcpgen_types::ErrorObject;
use serde::{Deserialize, Serialize};

/// The extension `com.example/countdown`. Servers handle the request and clients the notification, so each side has a
/// variant.
pub(crate) enum Countdown {
    /// Counts down from at most `max`.
    Server { max: u32 },
    /// Asks for at most `max` steps, and calls a function for each.
    Client { max: u32, on_step: Arc<dyn Fn(u32) + Send + Sync> },
}

/// What each side declares.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// The maximum number of steps that this side supports.
    pub(crate) max: u32,
}

#[derive(Serialize, Deserialize)]
struct Start {
    from: u32,
}

#[derive(Serialize, Deserialize)]
struct Finished {
    steps: u32,
}

#[derive(Serialize, Deserialize)]
struct Step {
    left: u32,
}

const START: &str = "countdown/start";
const STEP: &str = "notifications/countdown/step";

impl Countdown {
    /// Asks a server to count down. Returns the number of steps, which either side's limit may have reduced.
    pub(crate) async fn start(server: &Peer, from: u32) -> Result<u32, CallError> {
        let request =
            server.custom_request(START, &Start { from }).map_err(|error| CallError::Invalid(error.into()))?;
        let Finished { steps } = request.send().await?;
        Ok(steps)
    }
}

impl Extension for Countdown {
    // An identifier starts with its author's domain name, reversed.
    const IDENTIFIER: &'static str = "com.example/countdown";
    type Settings = Settings;

    fn settings(&self) -> Settings {
        match self {
            Self::Server { max } | Self::Client { max, .. } => Settings { max: *max },
        }
    }

    fn handlers(&self, router: Router) -> Router {
        match self {
            Self::Server { max } => {
                let max = *max;
                router.custom_request(START, move |context, params| count_down(context, params, max))
            }
            Self::Client { on_step, .. } => {
                let on_step = Arc::clone(on_step);
                router.custom_notification(STEP, move |_, step: Step| {
                    on_step(step.left);
                    async {}
                })
            }
        }
    }
}

/// Runs only if both sides have the extension.
async fn count_down(context: Context, Start { from }: Start, max: u32) -> Result<Finished, ErrorObject> {
    // In modern revisions, clients declare their settings in each request.
    let client = context.extension::<Countdown>()?.map_or(0, |settings| settings.max);
    let steps = from.min(max).min(client);
    for left in (0..steps).rev() {
        // Sending fails only if the client has disconnected.
        let _ = context.peer().custom_notify(STEP, &Step { left }).await;
    }
    Ok(Finished { steps })
}
