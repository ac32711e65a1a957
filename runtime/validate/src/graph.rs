//! A schema's subschemas and the links between them.

use std::collections::HashMap;

use jsonschema::Draft;
use mcpgen_types::Value;
use serde_json::Map;

use crate::error::SchemaError;

const MAX_SUBSCHEMAS: usize = 20_000;

/// All subschemas reachable from the root, which is the first node.
pub(crate) struct Graph<'s> {
    pub(crate) draft: Draft,
    pub(crate) nodes: Vec<Node<'s>>,
    /// Index of each node by its object's address.
    places: HashMap<usize, usize>,
    resources: Vec<Resource<'s>>,
}

/// A subschema that is an object.
pub(crate) struct Node<'s> {
    pub(crate) keywords: &'s Map<String, Value>,
    resource: usize,
    /// Subschemas in keywords and targets of references, except boolean schemas.
    pub(crate) links: Vec<Link<'s>>,
}

pub(crate) struct Link<'s> {
    pub(crate) keyword: &'s str,
    pub(crate) applies_to: AppliesTo,
    pub(crate) target: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppliesTo {
    /// The same value as the enclosing schema.
    Same,
    /// An item, a member, or a member's name.
    Child,
    /// No value, unless a reference leads to the subschema.
    Nothing,
}

/// A schema with an `$id`, or the whole document.
struct Resource<'s> {
    id: Option<&'s str>,
    root: &'s Value,
    anchors: HashMap<&'s str, &'s Value>,
}

/// How a keyword contains subschemas.
#[derive(Clone, Copy)]
pub(crate) enum Holds {
    /// A schema, or an array of them.
    Schemas,
    /// An object of schemas.
    Map,
}

/// Returns how a keyword contains subschemas and what they apply to. `None` for all other keywords.
pub(crate) fn holder(keyword: &str) -> Option<(Holds, AppliesTo)> {
    Some(match keyword {
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => (Holds::Schemas, AppliesTo::Same),
        "dependentSchemas" | "dependencies" => (Holds::Map, AppliesTo::Same),
        "items"
        | "prefixItems"
        | "additionalItems"
        | "unevaluatedItems"
        | "contains"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames" => (Holds::Schemas, AppliesTo::Child),
        "properties" | "patternProperties" => (Holds::Map, AppliesTo::Child),
        "$defs" | "definitions" => (Holds::Map, AppliesTo::Nothing),
        _ => return None,
    })
}

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

impl<'s> Graph<'s> {
    pub(crate) fn new(schema: &'s Value) -> Result<Self, SchemaError> {
        let draft = draft_of(schema.get("$schema"))?;
        let root = Resource { id: None, root: schema, anchors: HashMap::new() };
        let mut graph = Self { draft, nodes: Vec::new(), places: HashMap::new(), resources: vec![root] };
        graph.add(schema, 0)?;
        let mut resolved = 0;
        while resolved < graph.nodes.len() {
            graph.resolve(resolved)?;
            resolved += 1;
        }
        graph.check_dynamic_scopes()?;
        Ok(graph)
    }

    pub(crate) fn node_of(&self, object: &Map<String, Value>) -> Option<usize> {
        self.places.get(&std::ptr::from_ref(object).addr()).copied()
    }

    /// Whether the draft ignores keywords next to `$ref`.
    pub(crate) fn ignores_siblings_of_ref(&self) -> bool {
        matches!(self.draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7)
    }

    /// Adds a schema and its subschemas. `None` unless the schema is an object.
    fn add(&mut self, schema: &'s Value, resource: usize) -> Result<Option<usize>, SchemaError> {
        let Value::Object(keywords) = schema else { return Ok(None) };
        if let Some(known) = self.node_of(keywords) {
            return Ok(Some(known));
        }
        if self.nodes.len() >= MAX_SUBSCHEMAS {
            return Err(SchemaError::TooManySubschemas(MAX_SUBSCHEMAS));
        }
        let resource = self.identify(schema, keywords, resource)?;
        let node = self.nodes.len();
        self.places.insert(std::ptr::from_ref(keywords).addr(), node);
        self.nodes.push(Node { keywords, resource, links: Vec::new() });
        for (keyword, value) in keywords {
            let Some((holds, applies_to)) = holder(keyword) else { continue };
            let applies_to = match self.ignores_siblings_of_ref() && keywords.contains_key("$ref") {
                true => AppliesTo::Nothing,
                false => applies_to,
            };
            for subschema in held(holds, value) {
                if let Some(target) = self.add(subschema, resource)? {
                    self.nodes[node].links.push(Link { keyword, applies_to, target });
                }
            }
        }
        Ok(Some(node))
    }

    /// Registers a schema's ID and anchors, and returns the resource that it belongs to.
    fn identify(
        &mut self,
        schema: &'s Value,
        keywords: &'s Map<String, Value>,
        mut resource: usize,
    ) -> Result<usize, SchemaError> {
        if keywords.contains_key("$schema") && draft_of(keywords.get("$schema"))? != self.draft {
            return Err(SchemaError::Unsupported("a schema with more than one dialect".to_owned()));
        }
        let id = if self.draft == Draft::Draft4 { "id" } else { "$id" };
        let mut anchors = Vec::new();
        if let Some(Value::String(id)) = keywords.get(id) {
            match id.strip_prefix('#') {
                Some(anchor) => anchors.push(anchor),
                None if self.nodes.is_empty() => self.resources[0].id = Some(id.trim_end_matches('#')),
                None => {
                    resource = self.resources.len();
                    let id = Some(id.trim_end_matches('#'));
                    self.resources.push(Resource { id, root: schema, anchors: HashMap::new() });
                }
            }
        }
        anchors.extend(["$anchor", "$dynamicAnchor"].iter().filter_map(|anchor| keywords.get(*anchor)?.as_str()));
        for anchor in anchors {
            self.resources[resource].anchors.entry(anchor).or_insert(schema);
        }
        Ok(resource)
    }

    /// Links a node to the targets of its references, and adds targets that are new.
    fn resolve(&mut self, node: usize) -> Result<(), SchemaError> {
        let Node { keywords, resource, .. } = self.nodes[node];
        for keyword in REFERENCES {
            let Some(Value::String(reference)) = keywords.get(keyword) else { continue };
            if is_metaschema(reference) {
                continue;
            }
            let (resource, target) = self.target(reference, resource)?;
            if let Some(target) = self.add(target, resource)? {
                self.nodes[node].links.push(Link { keyword, applies_to: AppliesTo::Same, target });
            }
        }
        Ok(())
    }

    /// The schema that a reference leads to, and its resource.
    fn target(&self, reference: &str, resource: usize) -> Result<(usize, &'s Value), SchemaError> {
        let unresolved = || SchemaError::Unresolved(reference.to_owned());
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = match uri {
            "" => resource,
            uri => self.resources.iter().position(|resource| resource.id == Some(uri)).ok_or_else(unresolved)?,
        };
        let Resource { root, anchors, .. } = &self.resources[resource];
        let fragment = percent_decoded(fragment).ok_or_else(unresolved)?;
        let target = match fragment.is_empty() || fragment.starts_with('/') {
            true => root.pointer(&fragment),
            false => anchors.get(fragment.as_str()).copied(),
        };
        let target = target.filter(|target| target.is_object() || target.is_boolean()).ok_or_else(unresolved)?;
        Ok((resource, target))
    }

    /// Rejects dynamic anchors that occur more than once. Dynamic references are resolved like static ones, which is
    /// only correct for unique names.
    fn check_dynamic_scopes(&self) -> Result<(), SchemaError> {
        let mut names = HashMap::new();
        for Node { keywords, .. } in &self.nodes {
            let name = keywords.get("$dynamicAnchor").and_then(Value::as_str);
            let recursive = (keywords.get("$recursiveAnchor") == Some(&Value::Bool(true))).then_some("");
            for name in name.into_iter().chain(recursive) {
                let count = names.entry(name).or_insert(0_u32);
                *count += 1;
                if *count > 1 {
                    return Err(SchemaError::Unsupported(format!("more than one dynamic anchor {name:?}")));
                }
            }
        }
        Ok(())
    }

    /// The target of a node's reference, a boolean or an object.
    pub(crate) fn referenced(&self, node: usize, reference: &str) -> Result<&'s Value, SchemaError> {
        self.target(reference, self.nodes[node].resource).map(|(_, target)| target)
    }
}

fn held(holds: Holds, value: &Value) -> Vec<&Value> {
    match (holds, value) {
        (Holds::Schemas, Value::Array(schemas)) => schemas.iter().collect(),
        (Holds::Schemas, schema) => vec![schema],
        (Holds::Map, Value::Object(schemas)) => schemas.values().collect(),
        (Holds::Map, _) => Vec::new(),
    }
}

fn draft_of(dialect: Option<&Value>) -> Result<Draft, SchemaError> {
    let Some(dialect) = dialect else { return Ok(Draft::Draft202012) };
    let uri = dialect.as_str().unwrap_or_default();
    let path = uri.trim_end_matches('#').trim_start_matches("https://").trim_start_matches("http://");
    match path.strip_prefix("json-schema.org/") {
        Some("draft/2020-12/schema") => Ok(Draft::Draft202012),
        Some("draft/2019-09/schema") => Ok(Draft::Draft201909),
        Some("draft-07/schema") => Ok(Draft::Draft7),
        Some("draft-06/schema") => Ok(Draft::Draft6),
        Some("draft-04/schema") => Ok(Draft::Draft4),
        _ => Err(SchemaError::Unsupported(format!("the dialect {dialect}"))),
    }
}

/// Whether the target is an official metaschema, which is built into `jsonschema`.
pub(crate) fn is_metaschema(reference: &str) -> bool {
    reference.starts_with("https://json-schema.org/draft/") || reference.starts_with("http://json-schema.org/draft-0")
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        match (byte, after) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
                rest = after;
            }
            _ => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok()
}
