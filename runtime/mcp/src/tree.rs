//! Turns a peer's JSON into trees, within limits.

use mcpgen_types::{Json, Value};

/// The maximum number of [index entries](Json::entries) of a value that is turned into a tree. The tree takes at most
/// about 80 MB, plus its strings.
const MAX_TREE_ENTRIES: usize = 400_000;

/// Builds a tree from a peer's JSON. `None` if it is too large: as trees, small objects take 90 times the memory of
/// their text.
#[must_use]
pub fn tree(json: &Json) -> Option<Value> {
    json.entries().is_ok_and(|entries| entries <= MAX_TREE_ENTRIES).then(|| json.to_value())
}
