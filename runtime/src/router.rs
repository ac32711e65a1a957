//! Routes requests and notifications to handlers by method and version.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use mcpgen_types::codec::Encode;
use mcpgen_types::{ErrorObject, Json, Notification, Params, Request, Version};
use serde::{Serialize, de::DeserializeOwned};
use tower::{BoxError, Layer, Service, ServiceExt};

use crate::context::Context;
use crate::jsonrpc::{errors, json};
use crate::protocol::Received;

/// An incoming request whose params are not decoded yet.
#[derive(Clone, Debug)]
pub struct AnyRequest {
    /// The method.
    pub method: Cow<'static, str>,
    /// The undecoded params, or `None` if absent.
    pub params: Option<Json>,
    /// The context: ID, peer, extensions and so on.
    pub context: Context,
}

/// An incoming notification whose params are not decoded yet.
#[derive(Clone, Debug)]
pub struct AnyNotification {
    /// The method.
    pub method: Cow<'static, str>,
    /// The undecoded params, or `None` if absent.
    pub params: Option<Json>,
    /// The context: peer, extensions and so on.
    pub context: Context,
}

impl AnyRequest {
    pub(crate) fn received(&self) -> Received<'_> {
        received(&self.context, &self.method, self.params.as_ref())
    }
}

impl AnyNotification {
    pub(crate) fn received(&self) -> Received<'_> {
        received(&self.context, &self.method, self.params.as_ref())
    }
}

fn received<'a>(context: &'a Context, method: &'a str, params: Option<&'a Json>) -> Received<'a> {
    Received { id: context.id(), method, params, in_batch: false, open: None, extensions: context.extensions() }
}

/// A service that handles requests, such as a [`Router`] or a router wrapped in middleware.
///
/// You do not implement this trait. Every cloneable tower [`Service`] with these types implements it.
pub trait RequestService:
    Service<AnyRequest, Response = Json, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static
{
}

impl<S> RequestService for S where
    S: Service<AnyRequest, Response = Json, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static
{
}

/// The future that a handler returns. It resolves to the result as JSON, or to an error for the peer.
pub type ResponseFuture = Pin<Box<dyn Future<Output = Result<Json, ErrorObject>> + Send>>;

pub(super) type RequestFn = Arc<dyn Fn(AnyRequest) -> ResponseFuture + Send + Sync>;
pub(super) type NotificationFn = Arc<dyn Fn(AnyNotification) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// An async function that handles requests of type `R`.
///
/// You do not implement this trait. Any async function or closure qualifies if it takes a [`Context`] and the params,
/// and returns a `Result` with the request's result. The error can be any type that converts into [`ErrorObject`].
pub trait RequestHandler<R: Request>:
    Fn(Context, R::Params) -> <Self as RequestHandler<R>>::Future + Send + Sync + 'static
{
    /// The future that the function returns.
    type Future: Future<Output = Result<R::Result, <Self as RequestHandler<R>>::Error>> + Send + 'static;
    /// The error that the future returns.
    type Error: Into<ErrorObject>;
}

impl<R, F, Fut, E> RequestHandler<R> for F
where
    R: Request,
    F: Fn(Context, R::Params) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R::Result, E>> + Send + 'static,
    E: Into<ErrorObject>,
{
    type Future = Fut;
    type Error = E;
}

/// An async function that handles notifications of type `N`.
///
/// You do not implement this trait. Any async function or closure qualifies if it takes a [`Context`] and the params.
pub trait NotificationHandler<N: Notification>:
    Fn(Context, N::Params) -> <Self as NotificationHandler<N>>::Future + Send + Sync + 'static
{
    /// The future that the function returns.
    type Future: Future<Output = ()> + Send + 'static;
}

impl<N, F, Fut> NotificationHandler<N> for F
where
    N: Notification,
    F: Fn(Context, N::Params) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    type Future = Fut;
}

/// Routes requests and notifications to their handlers by version and method.
///
/// A router is a [`Service`] for requests. Clones are cheap and independent: a handler added to a clone does not appear
/// in the original.
#[derive(Clone, Default)]
pub struct Router(Arc<Routes>);

#[derive(Clone, Default)]
struct Routes {
    requests: Handlers<RequestFn>,
    notifications: Handlers<NotificationFn>,
    fallback: Option<RequestFn>,
    notification_fallback: Option<NotificationFn>,
    /// Whether versions without handlers are supported, too.
    is_for_every_version: bool,
}

/// Handlers by method. Those of custom methods have no version. The peer cannot add keys, so a fast hash function is
/// safe.
type Handlers<H> = HashMap<Cow<'static, str>, Vec<(Option<Version>, H)>, foldhash::fast::RandomState>;

fn add<H>(handlers: &mut Handlers<H>, version: Option<Version>, method: Cow<'static, str>, handler: H) {
    let of_method = handlers.entry(method).or_default();
    of_method.retain(|(known, _)| *known != version);
    of_method.push((version, handler));
}

fn find<'h, H>(handlers: &'h Handlers<H>, version: Version, method: &str) -> Option<&'h H> {
    let of_method = handlers.get(method)?;
    let of = |wanted| of_method.iter().find(|(known, _)| *known == wanted).map(|(_, handler)| handler);
    of(Some(version)).or_else(|| of(None))
}

/// Decodes a request's params. Invalid params may be repaired by the protocol.
///
/// # Errors
///
/// Fails if the params are not valid.
pub fn params<R: Request>(request: &AnyRequest) -> Result<R::Params, mcpgen_types::Error> {
    let AnyRequest { params, context, .. } = request;
    R::Params::from_member(params.as_ref()).or_else(|error| {
        match context.peer().erased_protocol().repair_params(context, params.as_ref(), &error) {
            Some(repaired) => R::Params::from_member(Some(&repaired)),
            None => Err(error),
        }
    })
}

/// Encodes what a handler's future returns.
pub fn encode_response<T: Encode, E: Into<ErrorObject>>(
    result: impl Future<Output = Result<T, E>> + Send + 'static,
) -> ResponseFuture {
    Box::pin(async move { result.await.map(|result| Json::from(&result)).map_err(Into::into) })
}

impl Router {
    /// Creates a router without handlers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives mutable access to the routes. If a clone shares them, they are copied first.
    fn routes(&mut self) -> &mut Routes {
        Arc::make_mut(&mut self.0)
    }

    /// Adds a handler for requests of type `R`. Replaces an earlier handler of the same method and version.
    #[must_use]
    pub fn request<R: Request>(self, handler: impl RequestHandler<R>) -> Self {
        self.encoded_request::<R, R::Result, _, _, _>(handler)
    }

    /// Like [`request`](Self::request), but for any type that encodes as `R`'s result.
    #[must_use]
    pub fn encoded_request<R, T, F, Fut, E>(self, handler: F) -> Self
    where
        R: Request,
        T: Encode,
        F: Fn(Context, R::Params) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        E: Into<ErrorObject>,
    {
        self.raw_request(Some(R::VERSION), R::METHOD, move |request| match params::<R>(&request) {
            Ok(params) => encode_response(handler(request.context, params)),
            Err(error) => Box::pin(ready(Err(errors::invalid_params(&error)))),
        })
    }

    /// Adds a handler that receives undecoded params, for one version or, with `None`, for all.
    #[must_use]
    pub fn raw_request(
        mut self,
        version: Option<Version>,
        method: &'static str,
        handler: impl Fn(AnyRequest) -> ResponseFuture + Send + Sync + 'static,
    ) -> Self {
        add(&mut self.routes().requests, version, method.into(), Arc::new(handler));
        self
    }

    /// Adds a handler for notifications of type `N`. Replaces an earlier handler of the same method and version.
    #[must_use]
    pub fn notification<N: Notification>(mut self, handler: impl NotificationHandler<N>) -> Self {
        let handle = move |message: AnyNotification| -> Pin<Box<dyn Future<Output = ()> + Send>> {
            match N::Params::from_member(message.params.as_ref()) {
                Ok(params) => Box::pin(handler(message.context, params)),
                Err(error) => {
                    tracing::warn!(method = N::METHOD, %error, "ignoring an invalid notification");
                    Box::pin(ready(()))
                }
            }
        };
        add(&mut self.routes().notifications, Some(N::VERSION), N::METHOD.into(), Arc::new(handle));
        self
    }

    /// Adds a handler for a custom request method, in every version.
    ///
    /// Params and result can be any types that implement serde's traits. Absent params are decoded from `null`.
    #[must_use]
    pub fn custom_request<P, T, F, Fut, E>(mut self, method: impl Into<Cow<'static, str>>, handler: F) -> Self
    where
        P: DeserializeOwned,
        T: Serialize,
        F: Fn(Context, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        E: Into<ErrorObject>,
    {
        let handle = move |request: AnyRequest| -> ResponseFuture {
            match json::decode(request.params.as_ref()) {
                Ok(params) => {
                    let result = handler(request.context, params);
                    Box::pin(async move {
                        let result = result.await.map_err(Into::into)?;
                        json::encode(&result).map_err(|error| errors::of(error.into()))
                    })
                }
                Err(error) => Box::pin(ready(Err(errors::invalid_params_in_words(&error.to_string())))),
            }
        };
        add(&mut self.routes().requests, None, method.into(), Arc::new(handle));
        self
    }

    /// Adds a handler for a custom notification method, in every version.
    ///
    /// Params can be any type that implements serde's traits. Absent params are decoded from `null`.
    #[must_use]
    pub fn custom_notification<P, F, Fut>(mut self, method: impl Into<Cow<'static, str>>, handler: F) -> Self
    where
        P: DeserializeOwned,
        F: Fn(Context, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let method = method.into();
        let name = method.clone();
        let handle = move |message: AnyNotification| -> Pin<Box<dyn Future<Output = ()> + Send>> {
            match json::decode(message.params.as_ref()) {
                Ok(params) => Box::pin(handler(message.context, params)),
                Err(error) => {
                    tracing::warn!(method = &*name, %error, "ignoring an invalid notification");
                    Box::pin(ready(()))
                }
            }
        };
        add(&mut self.routes().notifications, None, method, Arc::new(handle));
        self
    }

    /// Sets the handler for requests that no other handler matches.
    #[must_use]
    pub fn fallback<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(AnyRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Json, ErrorObject>> + Send + 'static,
    {
        self.routes().fallback = Some(Arc::new(move |request| Box::pin(handler(request))));
        self
    }

    /// Sets the handler for notifications that no other handler matches.
    #[must_use]
    pub fn notification_fallback<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(AnyNotification) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.routes().notification_fallback = Some(Arc::new(move |message| Box::pin(handler(message))));
        self
    }

    /// Wraps the request handlers added so far, and the fallback, in a middleware layer. Notifications are not wrapped.
    ///
    /// The last layer added is the outermost. Layers also see requests without a handler.
    #[must_use]
    pub fn layer<L>(self, layer: L) -> Self
    where
        L: Layer<Self>,
        L::Service: RequestService + Sync,
    {
        let Routes { mut requests, notifications, notification_fallback, .. } = (*self.0).clone();
        let service = layer.layer(self);
        let call: RequestFn = Arc::new(move |request| {
            let service = service.clone();
            Box::pin(async move { service.oneshot(request).await.map_err(|error| errors::of(error.into())) })
        });
        for (_, handler) in requests.values_mut().flatten() {
            *handler = Arc::clone(&call);
        }
        Self(Arc::new(Routes {
            requests,
            notifications,
            fallback: Some(call),
            notification_fallback,
            is_for_every_version: false,
        }))
    }

    /// Replaces each request handler and each notification handler with what its function returns. Fallbacks stay.
    #[must_use]
    pub fn map_handlers(
        mut self,
        request: impl Fn(RequestFn) -> RequestFn,
        notification: impl Fn(NotificationFn) -> NotificationFn,
    ) -> Self {
        let routes = self.routes();
        for (_, handler) in routes.requests.values_mut().flatten() {
            *handler = request(Arc::clone(handler));
        }
        for (_, handler) in routes.notifications.values_mut().flatten() {
            *handler = notification(Arc::clone(handler));
        }
        self
    }

    /// Adds another router's handlers, but not its fallbacks. They replace handlers of the same method and version.
    #[must_use]
    pub fn with_handlers_of(mut self, other: &Self) -> Self {
        let routes = self.routes();
        routes.is_for_every_version |= other.0.is_for_every_version;
        for (method, handlers) in &other.0.requests {
            for (version, handler) in handlers {
                add(&mut routes.requests, *version, method.clone(), Arc::clone(handler));
            }
        }
        for (method, handlers) in &other.0.notifications {
            for (version, handler) in handlers {
                add(&mut routes.notifications, *version, method.clone(), Arc::clone(handler));
            }
        }
        self
    }

    /// Returns the method's name, shared with the router if it has a handler, which saves an allocation per message.
    #[must_use]
    pub fn intern_method(&self, method: &str) -> Cow<'static, str> {
        let Routes { requests, notifications, .. } = &*self.0;
        let known = requests.get_key_value(method).map(|(known, _)| known);
        let known = known.or_else(|| notifications.get_key_value(method).map(|(known, _)| known));
        known.cloned().unwrap_or_else(|| method.to_owned().into())
    }

    /// Declares that the handlers added so far work in every version. A handler added later for one version then does
    /// not rule out the others.
    #[must_use]
    pub fn for_every_version(mut self) -> Self {
        self.routes().is_for_every_version = true;
        self
    }

    /// Returns whether the router was [declared](Self::for_every_version) to work in every version.
    #[must_use]
    pub fn is_for_every_version(&self) -> bool {
        self.0.is_for_every_version
    }

    /// Returns the versions for which a request handler was added, ordered by name.
    #[must_use]
    pub fn versions(&self) -> Vec<Version> {
        let mut found: Vec<Version> = self.0.requests.values().flatten().filter_map(|(version, _)| *version).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns whether a request has a handler in this version.
    #[must_use]
    pub fn handles(&self, version: Version, method: &str) -> bool {
        find(&self.0.requests, version, method).is_some()
    }

    /// Handles a request, with the fallback if no handler matches. Without a fallback, fails with "method not found".
    pub fn handle_request(&self, request: AnyRequest) -> ResponseFuture {
        let known = find(&self.0.requests, request.context.version(), &request.method);
        match known.or(self.0.fallback.as_ref()) {
            Some(handle) => handle(request),
            None => Box::pin(ready(Err(self.unknown_method(&request)))),
        }
    }

    fn unknown_method(&self, request: &AnyRequest) -> ErrorObject {
        let version = request.context.version();
        let known = self.0.requests.keys().map(|method| &**method);
        errors::unknown_method(&request.method, known.filter(|method| self.handles(version, method)))
    }

    /// Returns whether a notification has a handler in this version.
    #[must_use]
    pub fn handles_notification(&self, version: Version, method: &str) -> bool {
        self.notification_handler(version, method).is_some()
    }

    /// Handles a notification. Ignores one without a handler.
    pub fn handle_notification(&self, message: AnyNotification) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        match self.notification_handler(message.context.version(), &message.method) {
            Some(handle) => handle(message),
            None => Box::pin(ready(())),
        }
    }

    fn notification_handler(&self, version: Version, method: &str) -> Option<&NotificationFn> {
        find(&self.0.notifications, version, method).or(self.0.notification_fallback.as_ref())
    }
}

impl Service<AnyRequest> for Router {
    type Response = Json;
    type Error = ErrorObject;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), ErrorObject>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: AnyRequest) -> ResponseFuture {
        self.handle_request(request)
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut methods: Vec<&str> =
            self.0.requests.keys().chain(self.0.notifications.keys()).map(Cow::as_ref).collect();
        methods.sort_unstable();
        f.debug_struct("Router").field("methods", &methods).finish_non_exhaustive()
    }
}
