//! Functions that handle calls, with up to six arguments in any order.
//!
//! A function is checked in three steps, so that a compile error points at the wrong argument rather than at the whole
//! function: [`Function`] finds the argument types, [`Arguments`] requires that each can be taken from a call, and
//! [`Handler`] combines the two.

use std::future::Future;

use tower::BoxError;

use super::error::DefinitionError;
use super::extract::{CONTEXT, Call, FromCall};

/// A function that handles calls `C` of a server with the state `S`: an async function, a closure that returns a
/// future, or a method of `S`. [`FromCall`] lists the arguments that it can take. `M` is inferred.
///
/// Implemented for all such functions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot handle `{C}`",
    note = "a handler is an async function with up to six arguments, such as `Args<T>`, `State<T>` and `RequestContext`"
)]
pub trait Handler<C: Call, M, S>: Send + Sync + 'static {
    /// What the function returns.
    type Output;
    /// The future that a call of the function returns.
    #[doc(hidden)]
    type Future: Future<Output = Self::Output> + Send + 'static;

    /// Adds what the argument types define, such as a tool's schema.
    #[doc(hidden)]
    fn define(definition: &mut C::Definition) -> Result<(), DefinitionError>;

    /// Calls the function.
    #[doc(hidden)]
    fn call(&self, call: &mut C, state: &S) -> Result<Self::Future, BoxError>;
}

impl<C, S, F, A, K> Handler<C, (A, K), S> for F
where
    C: Call,
    F: Function<A> + Send + Sync + 'static,
    F::Return: Future + Send + 'static,
    A: Arguments<C, S, K>,
{
    type Output = <F::Return as Future>::Output;
    type Future = F::Return;

    fn define(definition: &mut C::Definition) -> Result<(), DefinitionError> {
        A::define(definition)
    }

    fn call(&self, call: &mut C, state: &S) -> Result<F::Return, BoxError> {
        Ok(self.apply(A::from_call(call, state)?))
    }
}

/// A function whose arguments are the tuple `A`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a handler",
    note = "a handler is an async function with up to six arguments, such as `Args<T>`, `State<T>` and `RequestContext`"
)]
pub trait Function<A> {
    #[doc(hidden)]
    type Return;

    #[doc(hidden)]
    fn apply(&self, arguments: A) -> Self::Return;
}

/// A handler's arguments as a tuple. `K` is the kind of the first one, and is inferred.
pub trait Arguments<C: Call, S, K>: Sized {
    #[doc(hidden)]
    fn define(definition: &mut C::Definition) -> Result<(), DefinitionError>;

    #[doc(hidden)]
    fn from_call(call: &mut C, state: &S) -> Result<Self, BoxError>;
}

/// A handler's first argument: one that implements [`FromCall`], or the state itself.
pub trait FirstArgument<C: Call, S, K>: Sized {
    #[doc(hidden)]
    const TAKES: u8;

    #[doc(hidden)]
    fn define(definition: &mut C::Definition) -> Result<(), DefinitionError>;

    #[doc(hidden)]
    fn from_call(call: &mut C, state: &S) -> Result<Self, BoxError>;
}

/// The first argument implements [`FromCall`].
#[derive(Debug)]
pub struct ByCall;

/// The first argument is the server's state, such as `self` of a method.
#[derive(Debug)]
pub struct ByState;

impl<C: Call, S, A: FromCall<C, S>> FirstArgument<C, S, ByCall> for A {
    const TAKES: u8 = A::TAKES;

    fn define(definition: &mut C::Definition) -> Result<(), DefinitionError> {
        A::define(definition)
    }

    fn from_call(call: &mut C, state: &S) -> Result<Self, BoxError> {
        A::from_call(call, state)
    }
}

impl<C: Call, S: Clone> FirstArgument<C, S, ByState> for S {
    const TAKES: u8 = 0;

    fn define(_: &mut C::Definition) -> Result<(), DefinitionError> {
        Ok(())
    }

    fn from_call(_: &mut C, state: &S) -> Result<Self, BoxError> {
        Ok(state.clone())
    }
}

impl<F: Fn() -> R, R> Function<()> for F {
    type Return = R;

    fn apply(&self, (): ()) -> R {
        self()
    }
}

impl<C: Call, S> Arguments<C, S, ByCall> for () {
    fn define(_: &mut C::Definition) -> Result<(), DefinitionError> {
        Ok(())
    }

    fn from_call(_: &mut C, _: &S) -> Result<Self, BoxError> {
        Ok(())
    }
}

macro_rules! functions {
    ($($first:ident $($rest:ident)*;)*) => {$(
        impl<F: Fn($first, $($rest),*) -> R, R, $first, $($rest),*> Function<($first, $($rest,)*)> for F {
            type Return = R;

            #[allow(non_snake_case)]
            fn apply(&self, ($first, $($rest,)*): ($first, $($rest,)*)) -> R {
                self($first, $($rest),*)
            }
        }

        impl<C, S, K, $first, $($rest),*> Arguments<C, S, K> for ($first, $($rest,)*)
        where
            C: Call,
            $first: FirstArgument<C, S, K>,
            $($rest: FromCall<C, S>,)*
        {
            fn define(definition: &mut C::Definition) -> Result<(), DefinitionError> {
                $first::define(definition)?;
                $($rest::define(definition)?;)*
                Ok(())
            }

            #[allow(non_snake_case)]
            fn from_call(call: &mut C, state: &S) -> Result<Self, BoxError> {
                const {
                    assert!(
                        $first::TAKES $(+ $rest::TAKES)* == $first::TAKES $(| $rest::TAKES)*,
                        "a handler takes the arguments of a call once, and its context once"
                    );
                }
                let $first = if $first::TAKES == CONTEXT { None } else { Some($first::from_call(call, state)?) };
                $(let $rest = if $rest::TAKES == CONTEXT { None } else { Some($rest::from_call(call, state)?) };)*
                Ok((
                    match $first {
                        Some(argument) => argument,
                        None => $first::from_call(call, state)?,
                    },
                    $(match $rest {
                        Some(argument) => argument,
                        None => $rest::from_call(call, state)?,
                    },)*
                ))
            }
        }
    )*};
}

functions! {
    A1;
    A1 A2;
    A1 A2 A3;
    A1 A2 A3 A4;
    A1 A2 A3 A4 A5;
    A1 A2 A3 A4 A5 A6;
}

/// Gives a handler its own state. Use it to add handlers to a server that is already running.
///
/// A [`ServerBuilder`](super::ServerBuilder) passes its state to handlers itself.
///
/// ```
/// use mcpgen_sdk::prelude::*;
/// use mcpgen_sdk::server::with_state;
///
/// #[derive(Clone)]
/// struct Shop;
///
/// impl Shop {
///     async fn unlock(self, context: RequestContext) -> ToolResult<()> {
///         Ok(context.server().add_tool("drill", with_state(self, Self::drill))?)
///     }
///
///     async fn drill(self) -> &'static str {
///         "done"
///     }
/// }
///
/// let server = Server::builder("workshop", "1.0.0").state(Shop).tool("unlock", Shop::unlock).build();
/// # let _ = server;
/// ```
pub fn with_state<S, H>(state: S, handler: H) -> WithState<S, H> {
    WithState { state, handler }
}

/// A handler with its state, created by [`with_state`].
#[derive(Clone, Copy, Debug)]
pub struct WithState<S, H> {
    state: S,
    handler: H,
}

/// Distinguishes [`WithState`] from functions.
#[derive(Debug)]
pub struct ByHandler<S, M>(std::marker::PhantomData<(S, M)>);

#[diagnostic::do_not_recommend]
impl<C, S, H, M> Handler<C, ByHandler<S, M>, ()> for WithState<S, H>
where
    C: Call,
    S: Send + Sync + 'static,
    H: Handler<C, M, S>,
{
    type Output = H::Output;
    type Future = H::Future;

    fn define(definition: &mut C::Definition) -> Result<(), DefinitionError> {
        H::define(definition)
    }

    fn call(&self, call: &mut C, (): &()) -> Result<H::Future, BoxError> {
        self.handler.call(call, &self.state)
    }
}
