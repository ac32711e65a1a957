//! Measures how much work a schema can cause per value.

use crate::error::SchemaError;
use crate::graph::{AppliesTo, Graph};

pub(crate) const MAX_EXPANDED: u64 = 10_000;

/// How deeply subschemas that apply to one value may be nested.
const MAX_NESTED: usize = 100;

/// For each node, returns how many subschemas apply to the same value, including the node itself, with references
/// expanded.
///
/// This bounds the work of schemas whose references multiply: `{"allOf": [{"$ref": "#/$defs/a"}, {"$ref":
/// "#/$defs/a"}]}` counts `a` twice. Subschemas for items and members do not count, because the size of the instance
/// bounds them.
///
/// # Errors
///
/// Fails if more than [`MAX_EXPANDED`] subschemas apply to one value, or if more than [`MAX_NESTED`] are nested, as in
/// a reference loop.
pub(crate) fn expanded_sizes(graph: &Graph<'_>) -> Result<Vec<u64>, SchemaError> {
    let mut sizes = Sizes { graph, of: vec![None; graph.nodes.len()] };
    (0..graph.nodes.len()).map(|node| sizes.measure(node, 0).map(|measured| measured.size)).collect()
}

struct Sizes<'g, 's> {
    graph: &'g Graph<'s>,
    of: Vec<Option<Measured>>,
}

#[derive(Clone, Copy)]
struct Measured {
    size: u64,
    height: usize,
}

impl Sizes<'_, '_> {
    fn measure(&mut self, node: usize, depth: usize) -> Result<Measured, SchemaError> {
        if let Some(measured) = self.of[node] {
            return Ok(measured);
        }
        // The chain exceeds the limit, as every reference loop does eventually.
        if depth > MAX_NESTED {
            return Err(SchemaError::TooNested(MAX_NESTED));
        }
        let (mut size, mut height) = (1_u64, 1);
        for link in self.graph.nodes[node].links.iter().filter(|link| link.applies_to == AppliesTo::Same) {
            let inner = self.measure(link.target, depth + 1)?;
            size = size.saturating_add(inner.size);
            height = height.max(inner.height + 1);
        }
        if size > MAX_EXPANDED {
            return Err(SchemaError::TooLarge(MAX_EXPANDED));
        }
        if height > MAX_NESTED {
            return Err(SchemaError::TooNested(MAX_NESTED));
        }
        let measured = Measured { size, height };
        self.of[node] = Some(measured);
        Ok(measured)
    }
}
