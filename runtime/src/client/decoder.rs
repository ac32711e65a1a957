//! Decodes results of any revision as types of the newest one.

use std::fmt;
use std::sync::Arc;

use mcpgen_types::codec::Decode;
use mcpgen_types::{RawJson, Revision};

use super::lenient::{DecodePolicy, Repair, decode};
use crate::jsonrpc::json::{Edit, Picked};
use crate::peer::CallError;

/// Decodes a client's results.
#[derive(Clone)]
pub(super) struct ResultDecoder {
    pub(super) policy: DecodePolicy,
    pub(super) on_repair: OnRepair,
}

/// A callback for each repair, with the method of the request.
pub(super) type OnRepair = Arc<dyn Fn(&str, &Repair) + Send + Sync>;

impl ResultDecoder {
    /// Decodes a result of this revision.
    pub(super) fn decode<T: Decode>(&self, revision: Revision, method: &str, result: &RawJson) -> Result<T, CallError> {
        let newest = if revision.is_legacy() { with_newer_members(result) } else { None };
        let (decoded, repairs) = decode(newest.as_ref().unwrap_or(result), self.policy)
            .map_err(|error| CallError::Invalid(error.with_type_name(format!("{method} result")).into()))?;
        for repair in repairs {
            tracing::warn!(method, %repair, "repaired a result");
            (self.on_repair)(method, &repair);
        }
        Ok(decoded)
    }
}

impl Default for ResultDecoder {
    fn default() -> Self {
        Self { policy: DecodePolicy::Strict, on_repair: Arc::new(|_, _| {}) }
    }
}

impl fmt::Debug for ResultDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultDecoder").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// Adds the members that the newest revision requires and legacy results lack. Returns `None` if none is missing.
fn with_newer_members(result: &RawJson) -> Option<RawJson> {
    let defaults = [("resultType", "\"complete\""), ("ttlMs", "0"), ("cacheScope", "\"private\"")];
    let edited = result.read(|result| {
        let picked = Picked::from(result, &["resultType", "ttlMs", "cacheScope"])?;
        let mut edit = Edit::of(result);
        for ((name, value), present) in defaults.into_iter().zip(picked.values) {
            if present.is_none() {
                edit.add(name, value);
            }
        }
        edit.done()
    });
    edited.and_then(|edited| edited).ok().flatten()
}
