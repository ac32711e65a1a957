//! Rewrites schemas for `jsonschema` so that their evaluation is bounded.
//!
//! Each subschema that may be costly becomes a definition that is only entered if the budget allows it:
//!
//! ```json
//! { "if": { "mcpgen:cost": [3, 0, 0, 0, 0] }, "then": { "allOf": [{ "$ref": "#/$defs/2" }] }, "else": false }
//! ```
//!
//! The subschema, and all references to it, become references to the definition. IDs, anchors and annotations are
//! removed.

use jsonschema::Draft;
use mcpgen_types::Value;
use serde_json::{Map, json};

use crate::budget::{self, Cost};
use crate::error::SchemaError;
use crate::graph::{AppliesTo, Graph, Holds, holder, is_metaschema};
use crate::pattern::{backtracking, weight};
use crate::size::expanded_sizes;

const MAX_PATTERNS: usize = 250;

/// What a metaschema costs per value inside the instance.
const METASCHEMA: u64 = 100;

/// How many subschemas a schema's `unevaluatedProperties` and `unevaluatedItems` may inspect in total.
const MAX_UNEVALUATED: u64 = 5_000;

/// Returns a schema that charges its cost, and the draft to evaluate it with.
///
/// # Errors
///
/// Fails if the schema exceeds a limit or uses something unsupported.
pub(crate) fn rewrite(schema: &Value) -> Result<(Value, Draft), SchemaError> {
    let graph = Graph::new(schema)?;
    let sizes = expanded_sizes(&graph)?;
    let rewriter = Rewriter { graph, sizes };
    rewriter.check_counts()?;
    let mut definitions = Map::new();
    for node in 0..rewriter.graph.nodes.len() {
        definitions.insert(node.to_string(), rewriter.definition(node)?);
    }
    let root = match rewriter.graph.nodes.is_empty() {
        true => schema.clone(),
        false => json!({ "allOf": [reference(0)], "$defs": definitions }),
    };
    // Keywords in which these drafts differ from draft 7 were translated or removed.
    let draft = match rewriter.graph.draft {
        Draft::Draft4 | Draft::Draft6 => Draft::Draft7,
        draft => draft,
    };
    Ok((root, draft))
}

struct Rewriter<'s> {
    graph: Graph<'s>,
    sizes: Vec<u64>,
}

fn reference(node: usize) -> Value {
    json!({ "$ref": format!("#/$defs/{node}") })
}

enum Role {
    Subschemas(Holds, AppliesTo),
    Reference,
    /// Takes constant time, or time proportional to its own length.
    Cheap,
    /// Takes time that depends on the instance.
    Costly,
    /// Has no effect on validity.
    None,
}

impl Rewriter<'_> {
    fn role(&self, keyword: &str) -> Role {
        let draft = self.graph.draft;
        match keyword {
            "if" | "then" | "else" if matches!(draft, Draft::Draft4 | Draft::Draft6) => Role::None,
            "const" | "contains" | "propertyNames" if draft == Draft::Draft4 => Role::None,
            "$defs" | "definitions" => Role::None,
            "$ref" | "$dynamicRef" | "$recursiveRef" => Role::Reference,
            "type" | "enum" | "const" | "multipleOf" | "maximum" | "exclusiveMaximum" | "minimum"
            | "exclusiveMinimum" | "maxItems" | "minItems" | "maxContains" | "minContains" | "maxProperties"
            | "minProperties" | "required" | "dependentRequired" => Role::Cheap,
            // `maxLength` and `minLength` count characters, which takes time proportional to the text.
            "maxLength" | "minLength" | "pattern" | "uniqueItems" | "format" | "contentEncoding"
            | "contentMediaType" => Role::Costly,
            keyword => holder(keyword).map_or(Role::None, |(holds, applies_to)| Role::Subschemas(holds, applies_to)),
        }
    }

    fn check_counts(&self) -> Result<(), SchemaError> {
        let (mut patterns, mut unevaluated) = (0_usize, 0_u64);
        for (node, size) in self.graph.nodes.iter().zip(&self.sizes) {
            patterns += usize::from(node.keywords.contains_key("pattern"));
            patterns += node.keywords.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len);
            for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
                if node.keywords.contains_key(keyword) {
                    unevaluated = unevaluated.saturating_add(*size);
                }
            }
        }
        if patterns > MAX_PATTERNS {
            return Err(SchemaError::TooManyPatterns(MAX_PATTERNS));
        }
        if unevaluated > MAX_UNEVALUATED {
            return Err(SchemaError::TooManyUnevaluated(MAX_UNEVALUATED));
        }
        Ok(())
    }

    /// A node's definition, which charges its cost unless the node is light.
    fn definition(&self, node: usize) -> Result<Value, SchemaError> {
        let body = self.body(node)?;
        if self.is_light(node) {
            return Ok(body);
        }
        Ok(json!({ "if": { (budget::KEYWORD): self.cost(node).to_value() }, "then": body, "else": false }))
    }

    /// The node with its subschemas replaced by references.
    fn body(&self, node: usize) -> Result<Value, SchemaError> {
        let keywords = self.graph.nodes[node].keywords;
        let (mut body, mut references) = (Map::new(), Vec::new());
        for (keyword, value) in keywords {
            match self.role(keyword) {
                Role::Reference => references.push(self.resolved(node, value)?),
                _ if self.graph.ignores_siblings_of_ref() && keywords.contains_key("$ref") => {}
                Role::Subschemas(holds, _) => {
                    body.insert(keyword.clone(), self.subschemas(holds, value)?);
                }
                Role::Cheap | Role::Costly => {
                    body.extend(self.assertion(keywords, keyword, value));
                }
                Role::None => {}
            }
        }
        if !references.is_empty() {
            let all = body.entry("allOf").or_insert_with(|| json!([]));
            match all {
                Value::Array(all) => all.extend(references),
                _ => return Err(SchemaError::Unsupported("an `allOf` that is not an array".to_owned())),
            }
        }
        Ok(Value::Object(body))
    }

    fn assertion(&self, keywords: &Map<String, Value>, keyword: &str, value: &Value) -> Option<(String, Value)> {
        if self.graph.draft != Draft::Draft4 {
            return Some((keyword.to_owned(), value.clone()));
        }
        // In draft 4, `exclusiveMinimum` is a flag that modifies `minimum`.
        let is_set = |flag: &str| keywords.get(flag) == Some(&Value::Bool(true));
        match keyword {
            "exclusiveMinimum" | "exclusiveMaximum" => None,
            "minimum" if is_set("exclusiveMinimum") => Some(("exclusiveMinimum".to_owned(), value.clone())),
            "maximum" if is_set("exclusiveMaximum") => Some(("exclusiveMaximum".to_owned(), value.clone())),
            keyword => Some((keyword.to_owned(), value.clone())),
        }
    }

    fn resolved(&self, node: usize, value: &Value) -> Result<Value, SchemaError> {
        match value {
            Value::String(uri) if is_metaschema(uri) => Ok(json!({ "$ref": uri })),
            Value::String(uri) => self.subschema(self.graph.referenced(node, uri)?),
            _ => Err(SchemaError::Unresolved(value.to_string())),
        }
    }

    fn subschemas(&self, holds: Holds, value: &Value) -> Result<Value, SchemaError> {
        match (holds, value) {
            (Holds::Schemas, Value::Array(schemas)) => schemas.iter().map(|schema| self.subschema(schema)).collect(),
            (Holds::Schemas, schema) => self.subschema(schema),
            (Holds::Map, Value::Object(schemas)) => {
                let schemas = schemas.iter().map(|(name, schema)| Ok((name.clone(), self.subschema(schema)?)));
                schemas.collect::<Result<Map<_, _>, _>>().map(Value::Object)
            }
            (Holds::Map, other) => Ok(other.clone()),
        }
    }

    fn subschema(&self, schema: &Value) -> Result<Value, SchemaError> {
        match schema.as_object().and_then(|object| self.graph.node_of(object)) {
            Some(node) if self.is_light(node) => self.body(node),
            Some(node) => Ok(reference(node)),
            None => Ok(schema.clone()),
        }
    }

    /// Whether a node is so cheap that, rather than charging its own cost, it adds to the cost of the node that applies
    /// it.
    fn is_light(&self, node: usize) -> bool {
        let cheap = |keyword: &String| match self.role(keyword) {
            // `format` is an annotation since draft 2019-09.
            Role::Costly => keyword == "format" && !self.graph.ignores_siblings_of_ref(),
            Role::Cheap | Role::None => true,
            Role::Subschemas(..) | Role::Reference => false,
        };
        self.graph.nodes[node].keywords.keys().all(cheap) && self.cost(node).base <= 64
    }

    fn cost(&self, node: usize) -> Cost {
        let mut cost = Cost { base: 1, ..Cost::default() };
        for (keyword, value) in self.graph.nodes[node].keywords {
            cost.base += 1;
            match self.role(keyword) {
                Role::Subschemas(_, applies_to) => self.charge_subschemas(node, keyword, value, applies_to, &mut cost),
                Role::Cheap => cost.base += budget::values(value),
                Role::Costly => match (keyword.as_str(), value) {
                    ("pattern", Value::String(pattern)) => {
                        cost.per_text += weight(pattern) + backtracking(pattern);
                    }
                    ("uniqueItems", _) => cost.per_value += 4,
                    ("maxLength" | "minLength", _) => cost.per_text += 1,
                    _ => cost.per_text += 64,
                },
                // Metaschemas are not rewritten, so they charge nothing themselves.
                Role::Reference if value.as_str().is_some_and(is_metaschema) => cost.per_value += METASCHEMA,
                Role::Reference | Role::None => {}
            }
        }
        cost
    }

    /// Adds the cost of looping over subschemas and members.
    fn charge_subschemas(&self, node: usize, keyword: &str, value: &Value, applies_to: AppliesTo, cost: &mut Cost) {
        let light: u64 = self.light_costs(node, keyword);
        let count = match value {
            Value::Array(schemas) => schemas.len() as u64,
            Value::Object(schemas) if matches!(holder(keyword), Some((Holds::Map, _))) => schemas.len() as u64,
            _ => 1,
        };
        match keyword {
            "unevaluatedProperties" | "unevaluatedItems" => cost.per_child += self.sizes[node] + light,
            "patternProperties" => {
                cost.per_child += count + light;
                let patterns = value.as_object().into_iter().flat_map(Map::keys);
                cost.per_names += patterns.map(|pattern| weight(pattern) + backtracking(pattern)).sum::<u64>();
            }
            "properties" | "prefixItems" => cost.base += count + light,
            _ if applies_to == AppliesTo::Child => cost.per_child += 1 + light,
            _ => cost.base += count + light,
        }
    }

    /// Total cost of a keyword's light subschemas, which charge nothing themselves.
    fn light_costs(&self, node: usize, keyword: &str) -> u64 {
        let links = self.graph.nodes[node].links.iter().filter(|link| link.keyword == keyword);
        links.filter(|link| self.is_light(link.target)).map(|link| self.cost(link.target).base).sum()
    }
}
