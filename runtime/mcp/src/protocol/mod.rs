//! The Model Context Protocol: its revisions' rules, without I/O, and [`Mcp`], which applies them to a connection.

pub mod cache_hints;
pub mod change;
pub(crate) mod change_listeners;
pub mod config;
pub mod context;
pub mod conversion;
pub mod dual;
pub mod errors;
pub mod extension;
pub(crate) mod form;
pub mod header_params;
pub mod info;
pub mod input_requests;
pub mod legacy;
mod log_level;
mod mcp;
pub mod meta;
pub mod methods;
pub mod modern;
mod not_allowed;
pub mod params;
pub(crate) mod peer;
mod progress;
mod role;
mod router;
mod rules;
pub(crate) mod scope;
pub mod task_scope;

use mcpgen_types::v2026_07_28::DiscoverRequest;
use mcpgen_types::{Request, Revision};

/// The revision of the types that servers and clients use, on connections of any revision.
pub const TYPES: Revision = Revision::of(DiscoverRequest::VERSION);

pub use context::{ContextExt, Trace};
pub use log_level::Level;
pub use mcp::Mcp;
pub use not_allowed::NotAllowed;
pub use peer::PeerExt;
pub use progress::Progress;
pub use role::Role;
pub use router::RouterExt;
pub use rules::{Admission, FixedRevision, IncomingRequest, RequestInfo, RequestScope, RevisionRules};
pub use scope::{Scope, request_scope};
