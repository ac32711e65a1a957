//! Complete programs for common tasks.
//!
//! This module exists only in the documentation. The crate's tests run the programs.

#[doc = include_str!("../docs/blocking.md")]
pub mod blocking {}

#[doc = include_str!("../docs/changes.md")]
pub mod changes {}

#[cfg(feature = "stdio")]
#[doc = include_str!("../docs/client.md")]
pub mod client {}

#[doc = include_str!("../docs/host.md")]
pub mod host {}

#[doc = include_str!("../docs/logging.md")]
pub mod logging {}

#[doc = include_str!("../docs/server.md")]
pub mod server {}

#[cfg(all(feature = "stdio", feature = "http-server"))]
#[doc = include_str!("../docs/shutdown.md")]
pub mod shutdown {}

#[doc = include_str!("../docs/testing.md")]
pub mod testing {}

#[cfg(all(feature = "http-server", feature = "http-client"))]
#[doc = include_str!("../docs/users.md")]
pub mod users {}
