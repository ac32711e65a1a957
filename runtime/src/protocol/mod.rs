//! The rules of the Model Context Protocol, without I/O.

pub mod cache_hints;
pub mod change;
pub mod config;
pub mod dual;
pub mod header_params;
pub mod info;
pub(crate) mod input_requests;
pub mod legacy;
mod log_level;
pub(crate) mod methods;
pub mod modern;
pub(crate) mod params;
mod role;
mod rules;

pub use log_level::Level;
pub use role::Role;
pub use rules::{Admission, FixedRevision, IncomingRequest, Protocol, RequestInfo, RequestScope};
