//! A vendored extension or companion format: its name, its version and its place in the generated crate.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::revision::Status;
use crate::text::names::module_name;
use crate::types::TypeId;

/// A row of `schema/extensions.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    /// The extension's name, `tasks` or `server-card`.
    pub name: String,
    /// The version of the upstream file: a release, a date or a commit.
    pub version: String,
    /// Whether upstream may still change this version.
    pub status: Status,
    /// The revision whose types the extension uses where its definitions are equal.
    pub core: String,
    /// The repository and the path of the upstream file.
    pub upstream: String,
    /// SHA-256 of the upstream file, in hex.
    pub sha256: String,
    /// The Rust module below `ext`.
    pub module: String,
    /// The feature of the generated crate.
    pub feature: String,
}

impl Extension {
    /// Returns the default module of an extension.
    pub fn module_of(name: &str) -> String {
        module_name(name)
    }

    /// Returns whether a version is a commit of upstream.
    pub fn is_commit(version: &str) -> bool {
        version.len() == 40 && version.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    /// Returns the default feature of an extension.
    pub fn feature_of(name: &str) -> String {
        format!("ext-{}", name.to_lowercase())
    }
}

/// The revision that an extension extends, and the types that both have.
#[derive(Clone, Debug)]
pub struct Extends {
    /// The version of the extension, or `None` if it is not vendored.
    pub version: Option<String>,
    /// The name of the revision.
    pub revision: String,
    /// The module of the revision.
    pub module: String,
    /// SHA-256 of the revision's definitions without prose, in hex.
    pub digest: String,
    /// The types that are equal to a type of the revision, with the Rust name of that type.
    pub shared: BTreeMap<TypeId, String>,
}

/// Returns the path of an extension's schema, below the root.
pub fn extension_path(name: &str) -> String {
    format!("schema/extensions/{name}/schema.json")
}
