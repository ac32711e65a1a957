//! The arguments that handlers can take.

use mcpgen_runtime::context::Context;
use mcpgen_runtime::peer::Peer;
use tower::BoxError;

use super::error::DefinitionError;
use super::state::RequestContext;

/// What a handler handles: [`CallTool`](super::CallTool), [`ReadResource`](super::ReadResource),
/// [`ReadTemplate`](super::ReadTemplate), [`GetPrompt`](super::GetPrompt) or [`Complete`](super::Complete).
pub trait Call: Sealed {
    /// What a handler's argument types define, such as a tool's schema.
    #[doc(hidden)]
    type Definition;

    /// Returns the context of the request.
    fn context(&self) -> &Context;
}

/// Restricts [`Call`] to the types of this crate.
pub trait Sealed {}

/// An argument type of handlers.
///
/// | argument | handlers |
/// |---|---|
/// | [`Args<T>`](Args) | of tools and prompts, whose arguments `T` also defines, and of resource templates |
/// | [`JsonObject`](mcpgen_types::JsonObject) | of tools: the arguments as JSON |
/// | `BTreeMap<String, String>` | of prompts and resource templates: the arguments or the variables by name |
/// | [`State<T>`](State) | all: the state of the server, or a part of it |
/// | [`RequestContext`] | all except completions: the context, which can also ask the user |
/// | [`Context`], [`Peer`] | all |
/// | [`Uri`] | of resources and resource templates |
/// | [`CompleteRequestParams`](mcpgen_types::v2026_07_28::CompleteRequestParams) | of completions |
///
/// Handlers are async functions or closures with up to six of these, in any order. The first parameter may also be the
/// server's state itself, so that methods with `self` are handlers: `Store::add_note`.
///
/// Implement this trait for your own types, such as the user of a request:
///
/// ```
/// use mcpgen_sdk::prelude::*;
/// use mcpgen_sdk::server::{Call, FromCall};
///
/// struct User(String);
///
/// impl<C: Call, S> FromCall<C, S> for User {
///     fn from_call(call: &mut C, _state: &S) -> Result<Self, BoxError> {
///         let log_in = || ErrorObject::new(ErrorCode::INVALID_REQUEST, "log in first");
///         let principal = call.context().principal().ok_or_else(log_in)?;
///         Ok(Self(principal.name().to_owned()))
///     }
/// }
///
/// let server = Server::builder("greeter", "1.0.0").tool("greet", |User(name)| async move { format!("hello, {name}") }).build();
/// # let _ = server;
/// ```
#[diagnostic::on_unimplemented(
    message = "a handler of `{C}` cannot take `{Self}`",
    label = "this handler takes `{Self}`",
    note = "handlers can take `State<T>`, `Context` and `Peer`; all except completions can take `RequestContext`",
    note = "the first parameter can be the state that `ServerBuilder::state` has set before, which is `{S}`",
    note = "tools can also take `Args<T>`, for a `T` that implements `Deserialize` and `JsonSchema`, or `JsonObject`",
    note = "prompts and resource templates can also take `Args<T>` or `BTreeMap<String, String>`, resources and resource \
            templates `Uri`, and completions `CompleteRequestParams`"
)]
pub trait FromCall<C: Call, S>: Sized {
    /// The parts that this takes out of the call. A handler can take each part once.
    #[doc(hidden)]
    const TAKES: u8 = 0;

    /// Adds what this argument type defines, such as a tool's schema.
    #[doc(hidden)]
    fn define(definition: &mut C::Definition) -> Result<(), DefinitionError> {
        let _ = definition;
        Ok(())
    }

    /// Creates the argument for a call.
    ///
    /// # Errors
    ///
    /// Fails if the call cannot provide it. The handler is then not called, and the error is treated like one that the
    /// handler returned: a tool shows it to the model; other handlers respond with the error if it is an
    /// [`ErrorObject`](mcpgen_types::ErrorObject), and otherwise with an internal error.
    fn from_call(call: &mut C, state: &S) -> Result<Self, BoxError>;
}

/// [`FromCall::TAKES`] for the call's arguments.
pub(super) const ARGUMENTS: u8 = 1;
/// [`FromCall::TAKES`] for the [`RequestContext`]. It is taken last, because it contains the arguments.
pub(super) const CONTEXT: u8 = 2;

/// The arguments of a call as a Rust type.
///
/// A tool's arguments can be any struct or enum that is an object in JSON. Arguments of a prompt and variables of a
/// resource template are text, numbers, booleans and enums without data.
///
/// ```
/// use mcpgen_sdk::prelude::*;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Add {
///     a: i64,
///     b: i64,
/// }
///
/// async fn subtract(Args(numbers): Args<Add>) -> i64 {
///     numbers.a - numbers.b
/// }
///
/// let server = Server::builder("calculator", "1.0.0")
///     .tool("add", |Args(Add { a, b })| async move { a + b })
///     .tool("subtract", subtract)
///     .build();
/// # let _ = server;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Args<T>(pub T);

/// The server's state or a part of it, as set with [`ServerBuilder::state`](super::ServerBuilder::state). Each call
/// gets a clone.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use mcpgen_sdk::prelude::*;
///
/// async fn count(State(calls): State<Arc<AtomicU64>>) -> u64 {
///     calls.fetch_add(1, Ordering::Relaxed) + 1
/// }
///
/// let server = Server::builder("counter", "1.0.0").state(Arc::new(AtomicU64::new(0))).tool("count", count).build();
/// # let _ = server;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State<T>(pub T);

/// A part of the server's state `S`, which handlers can take as [`State`]. Every type is a part of itself.
///
/// ```
/// use mcpgen_sdk::prelude::*;
/// use mcpgen_sdk::server::FromRef;
///
/// #[derive(Clone)]
/// struct Greeting(&'static str);
///
/// #[derive(Clone)]
/// struct App {
///     greeting: Greeting,
/// }
///
/// impl FromRef<App> for Greeting {
///     fn from_ref(app: &App) -> Self {
///         app.greeting.clone()
///     }
/// }
///
/// let app = App { greeting: Greeting("hello") };
/// let server = Server::builder("greeter", "1.0.0")
///     .state(app)
///     .tool("greet", |State(Greeting(text)): State<Greeting>| async move { text })
///     .build();
/// # let _ = server;
/// ```
#[diagnostic::on_unimplemented(
    message = "the state of this server is `{S}`, which has no part `{Self}`",
    label = "this handler takes `State<{Self}>`",
    note = "set the state before you add handlers that take it: `Server::builder(..).state(..).tool(..)`",
    note = "take `State<{S}>`, or implement `FromRef<{S}>` for `{Self}`"
)]
pub trait FromRef<S> {
    /// Clones the part.
    fn from_ref(state: &S) -> Self;
}

impl<T: Clone> FromRef<T> for T {
    fn from_ref(state: &T) -> Self {
        state.clone()
    }
}

impl<C: Call, S, T: FromRef<S>> FromCall<C, S> for State<T> {
    fn from_call(_: &mut C, state: &S) -> Result<Self, BoxError> {
        Ok(Self(T::from_ref(state)))
    }
}

impl<C: Call, S> FromCall<C, S> for Context {
    fn from_call(call: &mut C, _: &S) -> Result<Self, BoxError> {
        Ok(call.context().clone())
    }
}

impl<C: Call, S> FromCall<C, S> for Peer {
    fn from_call(call: &mut C, _: &S) -> Result<Self, BoxError> {
        Ok(call.context().peer())
    }
}

/// A call that has a [`RequestContext`].
#[diagnostic::on_unimplemented(
    message = "a handler of `{Self}` cannot take `RequestContext`",
    label = "this handler takes `RequestContext`",
    note = "take `Context` instead; it cannot ask the user"
)]
pub trait HasRequestContext: Call {
    /// Takes the context out of the call.
    #[doc(hidden)]
    fn take_request_context(&mut self) -> Option<RequestContext>;
}

impl<C: HasRequestContext, S> FromCall<C, S> for RequestContext {
    const TAKES: u8 = CONTEXT;

    fn from_call(call: &mut C, _: &S) -> Result<Self, BoxError> {
        call.take_request_context().ok_or_else(taken)
    }
}

/// Returns the error for an argument whose part of the call has already been taken by a type outside this crate.
pub(super) fn taken() -> BoxError {
    "another argument of the handler has already taken this part of the call".into()
}

/// The URI of the resource to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri(pub String);
