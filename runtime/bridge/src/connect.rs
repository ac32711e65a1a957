//! Connects to a server on behalf of a client.

use std::sync::Arc;

use mcpgen_mcp::client::{Client, ClientBuilder};
use mcpgen_runtime::connection::Limits;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::router::Router;
use mcpgen_types::JsonObject;
use tokio::sync::watch;

use super::capabilities::{TASK_RESULT, with_task_extension};
use super::downstream::Downstream;
use super::greeting::Greeting;
use super::relay::{Relay, RelayOptions, Slot};

impl Relay {
    /// Connects to a server on behalf of a client. `connect` connects a builder that has the client's name and
    /// capabilities.
    ///
    /// # Errors
    ///
    /// Fails if `connect` fails.
    pub async fn connect<F, E>(
        client: Arc<Downstream>,
        options: RelayOptions,
        limits: Limits,
        connect: impl FnOnce(ClientBuilder) -> F,
    ) -> Result<Arc<Self>, E>
    where
        F: Future<Output = Result<Client, E>>,
    {
        let (slot, connected) = watch::channel(None);
        let server = connect(builder(client.greeting(), &connected).limits(limits)).await?;
        let relay = Arc::new(Self::new(server, client, options));
        slot.send_replace(Some(Arc::downgrade(&relay)));
        relay.start().await;
        Ok(relay)
    }
}

/// Returns a builder with the client's name and capabilities. Messages of the server wait until `slot` has a relay.
pub(super) fn builder(greeting: &Greeting, slot: &Slot) -> ClientBuilder {
    let (requests, notifications) = (slot.clone(), slot.clone());
    Client::builder("bridge", env!("CARGO_PKG_VERSION"))
        .options(|options| {
            let local_info = &mut options.local_info;
            local_info.capabilities = capabilities(greeting);
            if !greeting.implementation.is_empty() {
                local_info.implementation.clone_from(&greeting.implementation);
            }
            options.result_rules.result_types.push(TASK_RESULT.to_owned());
        })
        .handlers(move |router: Router| {
            router
                .fallback(move |request| {
                    let slot = requests.clone();
                    async move {
                        let relay = Relay::of(slot).await.ok_or_else(errors::internal)?;
                        relay.ask_client(request).await
                    }
                })
                .notification_fallback(move |notification| {
                    let slot = notifications.clone();
                    async move {
                        if let Some(relay) = Relay::of(slot).await {
                            relay.notify_client(notification).await;
                        }
                    }
                })
        })
}

/// Returns what the bridge declares to a server: what the client has declared, and the tasks extension. Each request of
/// the client declares only what the client itself has.
fn capabilities(greeting: &Greeting) -> JsonObject {
    let mut capabilities = greeting.capabilities.clone();
    if !greeting.is_legacy {
        // Otherwise a legacy server would ask the client to run tasks.
        capabilities.remove("tasks");
    }
    with_task_extension(capabilities)
}
