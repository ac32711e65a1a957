//! Helpers that add-ons share: error chains, and suggestions for misspelt names.

mod error_chain;
mod similar;

pub use error_chain::error_chain;
pub use similar::did_you_mean;
