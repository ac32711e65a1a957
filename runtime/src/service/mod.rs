//! Handlers: the router that finds them, and the context that they receive.

pub mod context;
pub mod router;
