//! Configures and connects clients.

use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt;
use mcpgen_runtime::connection::Limits;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::router::Router;
use mcpgen_runtime::transport::{Incoming, Outgoing};
use mcpgen_types::v2026_07_28::{
    CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult, ElicitRequest, ElicitRequestParams,
    ElicitResult, ListRootsRequest, ListRootsResult, LoggingMessageNotification, LoggingMessageNotificationParams,
    Root,
};
use mcpgen_types::{ErrorObject, Json, Params, Request, Revision};

use super::connect::connect;
use super::decoder::ResultDecoder;
use super::handle::Client;
use super::handshake::{ConnectOptions, HandshakeError};
use super::lenient::{DecodePolicy, Repair};
use super::task_results::TaskResults;
use crate::protocol::conversion::{ConversionError, Revisions};
use crate::protocol::extension::Extension;
use crate::protocol::info::LocalInfo;
use crate::protocol::{ContextExt, Level, RouterExt};
use crate::validation::Validator;

/// Configures a [`Client`] and connects it to a server.
///
/// A builder holds the client's local info and handlers. Handlers use the types of the newest revision, whatever
/// revision the connection negotiates.
///
/// ```
/// use mcpgen_sdk::{Client, Server, serve, transport};
/// use mcpgen_sdk::types::{Tool, ToolInputSchema};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let (here, there) = transport::duplex();
/// # let greet = Tool::new("greet", ToolInputSchema::new());
/// # let server = Server::builder("greeter", "1").tool(greet, || async { "hello" }).build();
/// # tokio::spawn(serve(server, there));
/// # let (incoming, outgoing) = here;
/// let client = Client::builder("visitor", "1.0.0").connect(incoming, outgoing).await?;
/// for tool in client.tools().await?.iter() {
///     let result = client.call_tool(&tool.name, Default::default()).await?;
///     assert_ne!(result.is_error, Some(true));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "it is not connected yet"]
pub struct ClientBuilder {
    pub(super) options: ConnectOptions,
    pub(super) handlers: Router,
    pub(super) limits: Limits,
    pub(super) decoder: ResultDecoder,
    pub(super) validator: Option<Arc<dyn Validator>>,
    pub(super) task_results: Option<Arc<dyn TaskResults>>,
    #[cfg(feature = "stdio")]
    pub(super) process: crate::client::process::ProcessOptions,
}

impl Client<Router> {
    /// Creates a builder for a client with this name and version.
    pub fn builder(name: &str, version: &str) -> ClientBuilder {
        ClientBuilder {
            options: LocalInfo::new(name, version).into(),
            handlers: Router::new(),
            limits: Limits::default(),
            decoder: ResultDecoder::default(),
            validator: None,
            task_results: None,
            #[cfg(feature = "stdio")]
            process: Default::default(),
        }
    }
}

impl ClientBuilder {
    /// Changes the options of the connection, such as the client's local info.
    pub fn options(mut self, change: impl FnOnce(&mut ConnectOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// Sets the supported revisions, preferred first. Defaults to all.
    pub fn revisions(mut self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.options.local_info.revisions = revisions.into_iter().collect();
        self
    }

    /// Sets the limits of the connection.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Tolerates servers that deviate from the schema in known ways: repairs their results instead of failing the call.
    /// `on_repair` is called for each repair, with the method of the request.
    pub fn lenient(mut self, on_repair: impl Fn(&str, &Repair) + Send + Sync + 'static) -> Self {
        self.decoder = ResultDecoder { policy: DecodePolicy::Lenient, on_repair: Arc::new(on_repair) };
        self
    }

    /// Handles sampling requests from the server, and declares the `sampling` capability.
    pub fn on_sampling<F, Fut>(self, handler: F) -> Self
    where
        F: Fn(Context, CreateMessageRequestParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CreateMessageResult, ErrorObject>> + Send + 'static,
    {
        self.handle_request::<CreateMessageRequest, _, _, _>(handler)
    }

    /// Handles elicitation requests from the server, and declares the `elicitation` capability for forms. To support
    /// other modes, declare the capability yourself.
    pub fn on_elicitation<F, Fut>(self, handler: F) -> Self
    where
        F: Fn(Context, ElicitRequestParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ElicitResult, ErrorObject>> + Send + 'static,
    {
        self.handle_request::<ElicitRequest, _, _, _>(handler)
    }

    /// Sets the roots that the server can list, and declares the `roots` capability.
    pub fn roots(self, roots: impl Into<Vec<Root>>) -> Self {
        let roots = roots.into();
        self.handle_request::<ListRootsRequest, _, _, _>(move |_, _| {
            std::future::ready(Ok(ListRootsResult::new(roots.clone())))
        })
    }

    /// Handles log messages from the server at this level and above. In 2026-07-28 every request carries the level. A
    /// legacy server that declares the `logging` capability gets the level once, when the client connects.
    pub fn on_log<F, Fut>(mut self, level: Level, handler: F) -> Self
    where
        F: Fn(LoggingMessageNotificationParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.options.local_info.level = Some(level);
        let method = <LoggingMessageNotification as mcpgen_types::Notification>::METHOD;
        self.handlers = self.handlers.custom_notification(method, move |_, params: Json| {
            let handled = params.decode().map(&handler);
            async move {
                match handled {
                    Ok(handled) => handled.await,
                    Err(error) => tracing::warn!(%error, "ignoring an invalid log message"),
                }
            }
        });
        self
    }

    /// Checks structured results against the output schemas of the tools that [`Client::tools`] has listed.
    /// `mcpgen-validate` provides a validator.
    pub fn validate(mut self, validator: impl Validator) -> Self {
        self.validator = Some(Arc::new(validator));
        self
    }

    /// Adds a protocol extension: declares it, and adds its handlers. See [`Extension`].
    pub fn extension(mut self, extension: impl Extension) -> Self {
        let info = &mut self.options.local_info;
        *info = std::mem::replace(info, LocalInfo::new("", "")).extension(&extension);
        let result_types = &mut self.options.result_rules.result_types;
        result_types.extend(extension.result_types().iter().map(|kind| (*kind).to_owned()));
        self.handlers = self.handlers.extension(&extension);
        self
    }

    /// Lets tool calls run as tasks, whose results `task_results` awaits. Usually set by the `tasks` method of
    /// `mcpgen-tasks`, which also declares the extension of 2026-07-28.
    pub fn task_results(mut self, task_results: impl TaskResults) -> Self {
        self.task_results = Some(Arc::new(task_results));
        self
    }

    /// Adds handlers for other requests and notifications.
    pub fn handlers(mut self, add: impl FnOnce(Router) -> Router) -> Self {
        self.handlers = add(self.handlers);
        self
    }

    /// Connects to a server over a transport.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the handshake, does not respond, or supports no revision that this client supports.
    pub async fn connect(self, incoming: impl Incoming, outgoing: impl Outgoing) -> Result<Client, HandshakeError> {
        self.connect_again(incoming, outgoing).await
    }

    /// Like [`connect`](Self::connect), but keeps the builder for another attempt.
    ///
    /// # Errors
    ///
    /// Fails like [`connect`](Self::connect).
    pub async fn connect_again(
        &self,
        incoming: impl Incoming,
        outgoing: impl Outgoing,
    ) -> Result<Client, HandshakeError> {
        let (options, handlers, limits) = (self.options.clone(), self.handlers.clone(), self.limits.clone());
        let client = connect(options, handlers.clone(), handlers, incoming, outgoing, limits).await?;
        Ok(self.configure(client))
    }

    /// Gives a connected client the settings that only its own calls need.
    pub(super) fn configure(&self, client: Client) -> Client {
        let (decoder, validator) = (self.decoder.clone(), self.validator.clone());
        let client = Client { decoder, validator, task_results: self.task_results.clone(), ..client };
        client.request_log_level(self.options.local_info.level);
        client
    }

    fn handle_request<R, T, F, Fut>(mut self, handler: F) -> Self
    where
        R: Request,
        T: mcpgen_types::codec::Encode,
        F: Fn(Context, R::Params) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, ErrorObject>> + Send + 'static,
    {
        self.handlers = self.handlers.raw_request(None, R::METHOD, move |request| {
            let revisions = Revisions { from: request.context.revision(), to: Revision::of(R::VERSION) };
            match decode::<R>(revisions, request.params.as_ref()) {
                Ok(params) => {
                    let result = handler(request.context, params);
                    async move {
                        let encoded = revisions.reversed().result(R::METHOD, &result.await?);
                        encoded.map_err(ConversionError::into_response)
                    }
                    .boxed()
                }
                Err(error) => std::future::ready(Err(error)).boxed(),
            }
        });
        self
    }
}

/// Converts the params of a server's request to the newest types.
fn decode<R: Request>(revisions: Revisions, params: Option<&Json>) -> Result<R::Params, ErrorObject> {
    let params = params.map(|params| revisions.params(R::METHOD, params)).transpose();
    let params = params.map_err(ConversionError::into_response)?;
    R::Params::from_member(params.as_ref()).map_err(|error| errors::invalid_params(&error))
}
