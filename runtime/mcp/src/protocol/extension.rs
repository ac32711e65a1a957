//! Protocol extensions: each side's declaration, and handlers that run only if both sides have the extension.

use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::router::Router;
use mcpgen_types::{ErrorObject, Json, JsonObject};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::protocol::config::ServerConfig;
use crate::protocol::info::{LocalInfo, PeerInfo};

pub(super) const CAPABILITY: &str = "extensions";

/// A protocol extension: its identifier, settings and handlers.
///
/// [`ServerBuilder::extension`](crate::ServerBuilder::extension) adds it to a server, and
/// [`ClientBuilder::extension`](crate::ClientBuilder::extension) to a client. Both declare the extension and add its
/// handlers, which only receive messages from peers that have declared it, too. In modern revisions, clients declare it
/// in each request.
///
/// Notifications of modern clients carry no capabilities unless the client repeats them in `_meta`. Without them, a
/// notification still reaches its handler if this side has declared the extension: a client that sends the extension's
/// method evidently has it. In such a handler, [`ContextExt::extension`](super::ContextExt::extension) returns `None`,
/// because the client's settings are unknown. If they matter, use a request.
///
/// ```
/// use mcpgen_sdk::protocol::PeerExt;
/// use mcpgen_sdk::{Client, Extension, Router, Server, serve, transport};
/// use mcpgen_types::ErrorObject;
/// use serde::{Deserialize, Serialize};
/// use serde_json::{Value, json};
///
/// /// Tells clients the time.
/// struct Clock;
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct ClockSettings {
///     zone: String,
/// }
///
/// impl Extension for Clock {
///     const IDENTIFIER: &'static str = "com.example/clock";
///     type Settings = ClockSettings;
///
///     fn settings(&self) -> ClockSettings {
///         ClockSettings { zone: "UTC".to_owned() }
///     }
///
///     fn handlers(&self, router: Router) -> Router {
///         router.custom_request("clock/now", |_context, _params: Value| async {
///             Ok::<_, ErrorObject>(json!({ "time": "12:00" }))
///         })
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let (here, there) = transport::duplex();
/// tokio::spawn(serve(Server::builder("clock", "1.0.0").extension(Clock).build(), there));
/// let client = Client::builder("visitor", "1.0.0").extension(Clock).connect(here.0, here.1).await?;
///
/// let settings = client.peer().extension::<Clock>()?;
/// assert_eq!(settings, Some(ClockSettings { zone: "UTC".to_owned() }));
/// let now: Value = client.peer().custom_request("clock/now", &json!({}))?.send().await?;
/// assert_eq!(now["time"], "12:00");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Extension: Send + Sync + 'static {
    /// The identifier, such as `io.modelcontextprotocol/tasks`.
    const IDENTIFIER: &'static str;

    /// The settings that each side declares, or [`JsonObject`] for an extension without settings.
    type Settings: Serialize + DeserializeOwned;

    /// Returns this side's settings, which must be a JSON object.
    fn settings(&self) -> Self::Settings;

    /// Returns the values of `resultType` that the extension adds.
    fn result_types(&self) -> &'static [&'static str] {
        &[]
    }

    /// Adds the handlers of the extension's methods to an empty router.
    fn handlers(&self, router: Router) -> Router {
        router
    }
}

/// Returns a peer's settings for an extension, or `None` if it did not declare the extension.
pub(super) fn settings<E: Extension>(peer_info: Option<&PeerInfo>) -> Result<Option<E::Settings>, ErrorObject> {
    let Some(peer_info) = peer_info.filter(|peer_info| peer_info.can(&[CAPABILITY, E::IDENTIFIER])) else {
        return Ok(None);
    };
    let settings = peer_info.capabilities.get(CAPABILITY).and_then(|extensions| extensions.get(E::IDENTIFIER));
    settings.map(|settings| settings.deserialize()).transpose().map_err(|error| {
        errors::invalid_params_in_words(&format!("the settings of the extension {}: {error}", E::IDENTIFIER))
    })
}

impl LocalInfo {
    /// Declares an extension with its settings.
    #[must_use]
    pub fn extension<E: Extension>(mut self, extension: &E) -> Self {
        let settings = Json::serialize(&extension.settings()).unwrap_or_default();
        let declared = self.capabilities.get(CAPABILITY).map_or(Ok(JsonObject::new()), JsonObject::try_from);
        if let Ok(mut declared) = declared {
            declared.insert(E::IDENTIFIER, settings);
            self.capabilities.insert(CAPABILITY, declared);
        }
        self
    }
}

impl ServerConfig {
    /// Declares an extension with its settings, and allows its values of `resultType`.
    #[must_use]
    pub fn extension<E: Extension>(mut self, extension: &E) -> Self {
        self.local_info = self.local_info.extension(extension);
        self.result_types.extend(extension.result_types().iter().map(|kind| (*kind).to_owned()));
        self
    }
}
