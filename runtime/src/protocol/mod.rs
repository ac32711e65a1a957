//! The rules of the Model Context Protocol, without I/O.

pub mod cache_hints;
pub mod change;
pub mod config;
pub mod conversion;
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

use mcpgen_types::v2026_07_28::DiscoverRequest;
use mcpgen_types::{Request, Revision};

/// The revision of the types that servers and clients use, on connections of any revision.
pub(crate) const TYPES: Revision = Revision::of(DiscoverRequest::VERSION);

pub use log_level::Level;
pub use role::Role;
pub use rules::{Admission, FixedRevision, IncomingRequest, Protocol, RequestInfo, RequestScope};
