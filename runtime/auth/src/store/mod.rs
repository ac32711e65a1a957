//! Stores for clients' credentials and registrations.
//!
//! `entry` defines the trait. `memory` keeps entries until the process ends, `file` in a file that only the user can
//! read, and `keyring` (feature `keyring`) in the system's keyring.

mod entry;
mod file;
#[cfg(feature = "keyring")]
mod keyring;
mod memory;

pub use entry::{CredentialStore, EntryKind, StoreError, StoreKey, StoreLock};
pub use file::FileStore;
#[cfg(feature = "keyring")]
pub use keyring::KeyringStore;
pub use memory::MemoryStore;
