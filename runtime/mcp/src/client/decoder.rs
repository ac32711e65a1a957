//! Decodes results of any revision as the newest types.

use std::fmt;
use std::sync::Arc;

use mcpgen_runtime::jsonrpc::json::Edit;
use mcpgen_runtime::peer::CallError;
use mcpgen_types::codec::Decode;
use mcpgen_types::{ErrorKind, Json, MethodSpec, Revision};

use super::lenient::{self, DecodePolicy, Problem, Repair, decode_with};
use crate::protocol::TYPES;
use crate::protocol::conversion::Revisions;

#[derive(Clone)]
pub(super) struct ResultDecoder {
    pub(super) policy: DecodePolicy,
    pub(super) on_repair: OnRepair,
}

/// Called for each repair, with the method of the request.
pub(super) type OnRepair = Arc<dyn Fn(&str, &Repair) + Send + Sync>;

impl ResultDecoder {
    /// Decodes a result of `revision`.
    pub(super) fn decode<T: Decode>(&self, revision: Revision, method: &str, result: &Json) -> Result<T, CallError> {
        let revisions = Revisions { from: revision, to: TYPES };
        let named = |error: mcpgen_types::Error| error.with_type_name(format!("{method} result"));
        let decoded = if revisions.from == revisions.to {
            lenient::decode(result, self.policy).map_err(|error| named(error).into())
        } else {
            decode_with(result, self.policy, |result| {
                revisions.check_result(method, result)?;
                let converted = revisions.result(method, result).map_err(Problem::converting)?;
                let completed = completed::<T>(method, &converted);
                let result = completed.as_ref().unwrap_or(&converted);
                result.decode().map_err(|error| Problem::from(named(error)))
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

/// Result members that the newest revision requires and legacy revisions lack, with their defaults.
const NEW_MEMBERS: [(&str, &str); 3] = [("resultType", "\"complete\""), ("ttlMs", "0"), ("cacheScope", "\"private\"")];

/// Adds the [`NEW_MEMBERS`] that `T` requires but the result of an extension's method lacks. Conversion tables cover
/// only the protocol's own methods. Returns `None` if nothing is missing.
fn completed<T: Decode>(method: &str, result: &Json) -> Option<Json> {
    if MethodSpec::newest(method).is_some() {
        return None;
    }
    let mut completed = None;
    for _ in NEW_MEMBERS {
        let Err(error) = completed.as_ref().unwrap_or(result).decode::<T>() else { break };
        let path = error.path();
        let name = path.strip_prefix('/').filter(|_| matches!(error.kind(), ErrorKind::Missing));
        let Some((name, default)) = NEW_MEMBERS.iter().find(|(known, _)| Some(*known) == name) else { break };
        completed = Some(with_member(completed.as_ref().unwrap_or(result), name, default)?);
    }
    completed
}

fn with_member(object: &Json, name: &str, value: &str) -> Option<Json> {
    let edited = object.read(|object| {
        let mut edit = Edit::of(object);
        edit.add(name, value);
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
