//! Decodes results of any revision as types of the newest one.

use std::fmt;
use std::sync::Arc;

use mcpgen_types::codec::Decode;
use mcpgen_types::{RawJson, Revision};

use super::lenient::{self, DecodePolicy, Problem, Repair, decode_with};
use crate::peer::CallError;
use crate::protocol::TYPES;
use crate::protocol::conversion::Revisions;

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
            decode_with(result, self.policy, |result| {
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
