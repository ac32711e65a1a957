//! Trees of JSON that a peer has sent.

use mcpgen_types::{Json, Value};

/// The maximum number of entries in the index of a value whose tree the runtime builds. The tree takes at most about 80 MB, in
/// addition to its strings.
const MAX_TREE_ENTRIES: usize = 400_000;

/// Builds the tree of a value from the peer. Returns `None` if the value is too large: small objects take 90 times their
/// text.
#[must_use]
pub fn tree(json: &Json) -> Option<Value> {
    json.entries().is_ok_and(|entries| entries <= MAX_TREE_ENTRIES).then(|| json.to_value())
}
