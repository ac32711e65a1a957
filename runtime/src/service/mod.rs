//! Request and notification handlers: the router that selects them, the context that they receive, and extensions.

pub mod context;
pub mod extension;
pub mod router;
