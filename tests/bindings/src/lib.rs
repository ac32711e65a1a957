//! The functions that `mcpgen bindings` writes for several servers.

#![deny(warnings, missing_docs)]

include!(concat!(env!("OUT_DIR"), "/everything.include.rs"));
include!(concat!(env!("OUT_DIR"), "/filesystem.include.rs"));
include!(concat!(env!("OUT_DIR"), "/git.include.rs"));
include!(concat!(env!("OUT_DIR"), "/memory.include.rs"));
include!(concat!(env!("OUT_DIR"), "/server_everything.include.rs"));
include!(concat!(env!("OUT_DIR"), "/shapes.include.rs"));
include!(concat!(env!("OUT_DIR"), "/web.include.rs"));
