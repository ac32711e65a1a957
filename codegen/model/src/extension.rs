//! Vendored extensions and companion formats.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::revision::Status;
use crate::text::names::module_name;
use crate::types::TypeId;

/// A row of `schema/extensions.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    /// The name, such as `tasks` or `server-card`.
    pub name: String,
    /// The version of the upstream file: a release, a date or a commit.
    pub version: String,
    /// Whether upstream may still change this version.
    pub status: Status,
    /// The revision to share equal types with.
    pub core: String,
    /// Repository and path of the upstream file.
    pub upstream: String,
    /// SHA-256 of the upstream file, in hexadecimal digits.
    pub sha256: String,
    /// The Rust module below `ext`.
    pub module: String,
    /// The cargo feature of the generated crate.
    pub feature: String,
}

impl Extension {
    /// Returns the default module name.
    pub fn module_of(name: &str) -> String {
        module_name(name)
    }

    /// Returns whether a version is a Git commit.
    pub fn is_commit(version: &str) -> bool {
        version.len() == 40 && version.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    /// Returns the default feature name.
    pub fn feature_of(name: &str) -> String {
        format!("ext-{}", name.to_lowercase())
    }
}

/// The revision that an extension builds on, and the types they have in common.
#[derive(Clone, Debug)]
pub struct Extends {
    /// The extension's version, or `None` if it is not vendored.
    pub version: Option<String>,
    /// The revision's name.
    pub revision: String,
    /// The revision's module.
    pub module: String,
    /// SHA-256 of the revision's definitions without prose, in hexadecimal digits.
    pub digest: String,
    /// Types taken from the revision, with their Rust names there.
    pub shared: BTreeMap<TypeId, String>,
}

/// Returns the path of an extension's schema, relative to the root.
pub fn extension_path(name: &str) -> String {
    format!("schema/extensions/{name}/schema.json")
}
