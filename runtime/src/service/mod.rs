//! Request and notification handlers: the router that selects them and the context that they receive.

pub mod context;
pub mod router;
