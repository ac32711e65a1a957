//! Decodes results of any revision as types of the newest one.

use std::fmt;
use std::sync::Arc;

use mcpgen_types::codec::Decode;
use mcpgen_types::{RawJson, Revision};

use super::lenient::{self, DecodePolicy, Problem, Repair, decode_with};
use crate::jsonrpc::json::{Edit, Picked};
use crate::peer::CallError;
use crate::protocol::conversion::Revisions;
use crate::protocol::{TYPES, methods};

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
        let revisions = Revisions { from: revision, to: TYPES };
        let named = |error: mcpgen_types::Error| error.with_type_name(format!("{method} result"));
        let decoded = if revisions.from == revisions.to {
            lenient::decode(result, self.policy).map_err(|error| named(error).into())
        } else {
            let completed = completed(method, result);
            decode_with(completed.as_ref().unwrap_or(result), self.policy, |result| {
                let converted = revisions.result(method, result).map_err(Problem::converting)?;
                converted.decode().map_err(|error| Problem::from(named(error)))
            })
        };
        let (decoded, repairs) = decoded.map_err(CallError::Invalid)?;
        for repair in repairs {
            tracing::warn!(method, %repair, "repaired a result");
            (self.on_repair)(method, &repair);
        }
        Ok(decoded)
    }
}

/// Adds the members that results of the newest revision have, and results of legacy revisions lack, to the result of an
/// extension's method. The tables of conversions have only the methods of the protocol. Returns `None` if nothing is
/// missing.
fn completed(method: &str, result: &RawJson) -> Option<RawJson> {
    const REQUIRED: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];
    const DEFAULTS: [&str; 3] = ["\"complete\"", "0", "\"private\""];
    if methods::newest(method).is_some() {
        return None;
    }
    let edited = result.read(|result| {
        let mut edit = Edit::of(result);
        let missing = Picked::values(result, &REQUIRED).map(|value| value.is_none());
        for ((name, default), _) in REQUIRED.iter().zip(DEFAULTS).zip(missing).filter(|(_, is_missing)| *is_missing) {
            edit.add(name, default);
        }
        edit.done().ok().flatten()
    });
    edited.ok().flatten()
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
