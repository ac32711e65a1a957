//! Extensions of the protocol: what each side declares, and handlers that run only if both sides have the extension.

use std::pin::Pin;
use std::sync::Arc;

use mcpgen_types::{ErrorObject, Json, JsonObject};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::jsonrpc::errors;
use crate::mcp::config::ServerConfig;
use crate::mcp::info::{LocalInfo, PeerInfo, can};
use crate::mcp::modern::CLIENT_CAPABILITIES;
use crate::peer::Peer;
use crate::router::{AnyNotification, AnyRequest, ResponseFuture, Router};

/// The capability that contains the settings of all extensions.
const CAPABILITY: &str = "extensions";

/// An extension of the protocol: its identifier, its settings, and the handlers of its methods.
///
/// Add it to a server with [`ServerBuilder::extension`](crate::ServerBuilder::extension), and to a client with
/// [`ClientBuilder::extension`](crate::ClientBuilder::extension). This declares the extension, and adds its handlers.
/// The handlers receive only messages from peers that have declared the extension as well. In modern revisions, clients
/// declare it in each request.
///
/// Notifications of modern clients have no capabilities, unless the client repeats them in `_meta`. Without them, the
/// notification reaches its handler if this side has declared the extension: its method belongs to the extension, so its
/// sender has it. In such a handler, [`Context::extension`] returns `None`, and the settings of the client are not known.
/// Use a request if they matter.
///
/// ```
/// use mcpgen_runtime::{Client, Extension, Router, Server, serve, transport};
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
/// let settings = client.peer.extension::<Clock>()?;
/// assert_eq!(settings, Some(ClockSettings { zone: "UTC".to_owned() }));
/// let now: Value = client.peer.custom_request("clock/now", &json!({}))?.send().await?;
/// assert_eq!(now["time"], "12:00");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Extension: Send + Sync + 'static {
    /// The identifier, such as `io.modelcontextprotocol/tasks`.
    const IDENTIFIER: &'static str;

    /// The type of the settings that each side declares, or [`JsonObject`] for an extension without settings.
    type Settings: Serialize + DeserializeOwned;

    /// Returns the settings of this side. They must be a JSON object.
    fn settings(&self) -> Self::Settings;

    /// Returns the values of `resultType` that the extension adds to those of the protocol.
    fn result_types(&self) -> &'static [&'static str] {
        &[]
    }

    /// Adds the handlers of the extension's methods to an empty router.
    fn handlers(&self, router: Router) -> Router {
        router
    }
}

/// Returns the settings that a peer has declared for an extension, or `None` if it has not declared the extension.
fn settings<E: Extension>(peer_info: Option<&PeerInfo>) -> Result<Option<E::Settings>, ErrorObject> {
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

impl Context {
    /// Returns the settings that the sender of this request has declared for an extension, or `None` if it has not
    /// declared the extension.
    ///
    /// # Errors
    ///
    /// Fails if the settings do not have the type of the extension's settings. Return the error to reject the request.
    pub fn extension<E: Extension>(&self) -> Result<Option<E::Settings>, ErrorObject> {
        settings::<E>(self.peer_info().map(Arc::as_ref))
    }

    /// Checks that the sender of this request has declared an extension.
    ///
    /// # Errors
    ///
    /// Fails if it has not. Return the error to reject the request.
    pub fn require_extension<E: Extension>(&self) -> Result<(), ErrorObject> {
        require(self, E::IDENTIFIER)
    }
}

impl Peer {
    /// Returns the settings that the peer has declared for an extension, or `None` if it has not declared the extension.
    /// In modern revisions, servers do not know the client's capabilities outside a request; see
    /// [`Context::extension`].
    ///
    /// # Errors
    ///
    /// Fails if the settings do not have the type of the extension's settings.
    pub fn extension<E: Extension>(&self) -> Result<Option<E::Settings>, ErrorObject> {
        settings::<E>(self.revision_rules().peer_info().as_deref())
    }
}

impl Router {
    /// Adds the handlers of an extension.
    ///
    /// They run only if both sides have declared the extension: this side in its [`ServerConfig`] or [`LocalInfo`], and the
    /// peer in the handshake or, in modern revisions, in the request. Other requests get an error, and other notifications are
    /// ignored.
    #[must_use]
    pub fn extension<E: Extension>(self, extension: &E) -> Self {
        let handlers = extension.handlers(Self::new()).map_handlers(
            |handler| {
                Arc::new(move |request: AnyRequest| -> ResponseFuture {
                    match admit(&request.context, &request.method, E::IDENTIFIER) {
                        Ok(()) => handler(request),
                        Err(error) => Box::pin(std::future::ready(Err(error))),
                    }
                })
            },
            |handler| {
                Arc::new(move |message: AnyNotification| -> Pin<Box<dyn Future<Output = ()> + Send>> {
                    match is_known(&message.context, E::IDENTIFIER) {
                        true => handler(message),
                        false => Box::pin(std::future::ready(())),
                    }
                })
            },
        );
        self.with_handlers_of(&handlers)
    }
}

/// Checks whether a request of an extension may be handled.
fn admit(context: &Context, method: &str, identifier: &'static str) -> Result<(), ErrorObject> {
    if !context.peer().revision_rules().has_declared(&[CAPABILITY, identifier]) {
        return Err(errors::method_not_found(method));
    }
    match require(context, identifier) {
        // Legacy revisions have no error for missing capabilities.
        Err(_) if context.revision().is_legacy() => Err(errors::method_not_found(method)),
        admitted => admitted,
    }
}

fn require(context: &Context, identifier: &'static str) -> Result<(), ErrorObject> {
    context.require(&[CAPABILITY, identifier])
}

/// Returns whether a notification of an extension may be handled.
fn is_known(context: &Context, identifier: &str) -> bool {
    let path = [CAPABILITY, identifier];
    let peer = context.peer();
    let protocol = peer.revision_rules();
    if !protocol.has_declared(&path) {
        return false;
    }
    match context.peer_info().cloned().or_else(|| protocol.peer_info()) {
        Some(peer_info) => peer_info.can(&path),
        // A notification of a modern client, whose `_meta` can repeat the capabilities of the client. If it does not, the
        // notification itself shows that the client has the extension.
        None => match context.meta().get(CLIENT_CAPABILITIES).filter(|declared| declared.is_object()) {
            Some(declared) => can(declared, &path),
            None => true,
        },
    }
}
