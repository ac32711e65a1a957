//! Merges types that are equal in several revisions, and indexes them by definition and method.

use std::collections::{BTreeMap, HashMap};

use mcpgen_schema::Error;
use mcpgen_schema::containment::{Budget, Scoped, contains};

use crate::conversions::nodes::{Checks, Graph, Node, ObjectNode, Others};
use crate::conversions::rules::{Rules, usage};
use crate::{Protocol, Shape, Type};

/// The types of all revisions. Types with the same members that accept the same documents share a class.
#[derive(Debug)]
pub struct Conversions {
    /// The classes. References between them are indexes into this list.
    pub classes: Vec<Node>,
    /// For each definition or inline type, by name: its class in each revision, if it exists there.
    pub definitions: BTreeMap<String, Vec<Option<usize>>>,
    /// For each method: the classes of its params and its result in each revision, if it exists there.
    pub methods: BTreeMap<String, Vec<Option<(usize, usize)>>>,
    /// The Rust types of each revision.
    pub types: Vec<Vec<RustType>>,
}

/// A generated type.
#[derive(Debug)]
pub struct RustType {
    /// The Rust name.
    pub name: String,
    /// Its class. Types of one class are equal.
    pub class: usize,
    /// The key in [`Conversions::definitions`].
    pub definition: String,
}

/// Collects the types of all revisions.
///
/// # Errors
/// Returns [`Error::Usage`] if a rule matches nothing.
pub fn conversions(models: &[Protocol], rules: &Rules) -> Result<Conversions, Error> {
    let mut graph = Graph::new(rules);
    let mut conversions =
        Conversions { classes: Vec::new(), definitions: BTreeMap::new(), methods: BTreeMap::new(), types: Vec::new() };
    let names: Vec<Vec<Type>> =
        models.iter().map(|protocol| (0..protocol.types.len()).map(Type::Named).collect()).collect();
    for (index, protocol) in models.iter().enumerate() {
        let mut nodes = graph.revision(protocol);
        let mut types = Vec::new();
        for (def, name) in protocol.types.iter().zip(&names[index]) {
            let class = nodes.of(name);
            if !matches!(def.shape, Shape::Alias(..) | Shape::Core(_)) {
                types.push(RustType { name: def.rust.clone(), class, definition: def.name.clone() });
            }
            set(&mut conversions.definitions, &def.name, models.len(), index, class);
        }
        types.sort_by(|a, b| a.name.cmp(&b.name));
        conversions.types.push(types);
        for message in protocol.messages() {
            let params = message.params.map_or(0, |params| nodes.of(&params.content));
            let result = message.request.map_or(0, |request| nodes.of(&request.result));
            set(&mut conversions.methods, message.method, models.len(), index, (params, result));
        }
    }
    check_rules(&graph, rules, &conversions)?;
    let classes = classes(&graph.nodes, &classes_of_checks(&graph));
    conversions.merge(&graph.nodes, &classes);
    Ok(conversions)
}

/// Sets the value for a name and a revision unless it is set. Definitions come first, so they take precedence over
/// inline types.
fn set<T: Clone>(table: &mut BTreeMap<String, Vec<Option<T>>>, name: &str, count: usize, index: usize, value: T) {
    let row = table.entry(name.to_owned()).or_insert_with(|| vec![None; count]);
    row[index].get_or_insert(value);
}

fn check_rules(graph: &Graph<'_>, rules: &Rules, conversions: &Conversions) -> Result<(), Error> {
    let is_renamed = |name: &str| {
        let has = |definition: &str| conversions.definitions.contains_key(definition);
        rules.renamed.iter().any(|rule| rule.name() == name && has(&rule.from) && has(&rule.to))
    };
    match rules.names().find(|name| !graph.used_rules.contains(*name) && !is_renamed(name)) {
        None => Ok(()),
        Some(name) => Err(usage(format!("the rule `{name}` matches nothing; correct or remove it"))),
    }
}

const BUDGET: Budget = Budget { steps: 20_000 };

/// Returns the class of each node's checks. Checks are equal if each provably accepts what the other accepts.
fn classes_of_checks(graph: &Graph<'_>) -> HashMap<usize, usize> {
    let is_same = |a: &Checks<'_>, b: &Checks<'_>| {
        let contains = |large: &Checks<'_>, small: &Checks<'_>| {
            let [large, small] = [large, small].map(|it| Scoped { check: &it.all, definitions: it.definitions });
            contains(large, small, BUDGET).is_proved()
        };
        (a.all == b.all && a.definitions == b.definitions) || (contains(a, b) && contains(b, a))
    };
    let mut first: Vec<&Checks<'_>> = Vec::new();
    let mut classes = HashMap::new();
    for (id, checks) in (0..graph.nodes.len()).filter_map(|id| Some((id, graph.checks.get(&id)?))) {
        let known = first.iter().position(|known| is_same(known, checks));
        classes.insert(id, known.unwrap_or(first.len()));
        if known.is_none() {
            first.push(checks);
        }
    }
    classes
}

/// Returns the class of each node, given the classes of all checks. Classes are numbered in the order in which they
/// occur.
///
/// At first, nodes that look alike without their nested nodes share a class. Then classes are split until nested nodes
/// agree too (partition refinement).
fn classes(nodes: &[Node], checks: &HashMap<usize, usize>) -> Vec<usize> {
    let flat = |node: &Node| format!("{:?}", map(node, &mut |_| 0));
    let mut classes = numbered(nodes.iter().enumerate().map(|(id, node)| (flat(node), checks.get(&id))));
    loop {
        let count = classes.iter().max().copied();
        let inside = |node: &Node| {
            let mut inside = Vec::new();
            map(node, &mut |id| {
                inside.push(classes[id]);
                0
            });
            inside
        };
        let split = numbered(nodes.iter().enumerate().map(|(id, node)| (classes[id], inside(node))));
        if split.iter().max().copied() == count {
            return split;
        }
        classes = split;
    }
}

fn numbered<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = K>) -> Vec<usize> {
    let mut numbers = HashMap::new();
    keys.map(|key| {
        let next = numbers.len();
        *numbers.entry(key).or_insert(next)
    })
    .collect()
}

fn map(node: &Node, new: &mut dyn FnMut(usize) -> usize) -> Node {
    match node {
        Node::List(items, length) => Node::List(new(*items), length.clone()),
        Node::Tuple(first, rest) => {
            let first = first.iter().map(|item| new(*item)).collect();
            Node::Tuple(first, rest.map(new))
        }
        Node::Union(guards, variants) => {
            Node::Union(guards.clone(), variants.iter().map(|variant| new(*variant)).collect())
        }
        Node::Object(ObjectNode { members, pattern, others, respelled }) => {
            let mut members = members.clone();
            members.iter_mut().for_each(|member| member.content = new(member.content));
            let pattern = pattern.as_ref().map(|(pattern, content)| (pattern.clone(), new(*content)));
            let others = match others {
                Others::Typed(content) => Others::Typed(new(*content)),
                others => *others,
            };
            let respelled = respelled.map(|(rule, other)| (rule, new(other)));
            Node::Object(ObjectNode { members, pattern, others, respelled })
        }
        other => other.clone(),
    }
}

impl Conversions {
    fn merge(&mut self, nodes: &[Node], classes: &[usize]) {
        for (node, class) in nodes.iter().zip(classes) {
            if *class == self.classes.len() {
                self.classes.push(map(node, &mut |id| classes[id]));
            }
        }
        self.definitions.values_mut().flatten().flatten().for_each(|node| *node = classes[*node]);
        for (params, result) in self.methods.values_mut().flatten().flatten() {
            (*params, *result) = (classes[*params], classes[*result]);
        }
        self.types.iter_mut().flatten().for_each(|ty| ty.class = classes[ty.class]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpgen_schema::Document;
    use mcpgen_schema::normal::Length;

    #[test]
    fn merges_equal_recursive_types() {
        let list = |items| Node::List(items, Length::default());
        let nodes = [list(1), list(0), list(3), Node::Boolean, list(0), Node::Boolean];
        assert_eq!(classes(&nodes, &HashMap::new()), [0, 0, 1, 2, 0, 2]);
    }

    /// A conversion between equal types skips all checks, so equal types must have equal checks.
    #[test]
    fn equal_types_accept_the_same_documents() {
        let model = |keywords: &str| {
            let schema = format!(
                r##"{{"$defs": {{"A": {{{keywords}}}, "B": {{"type": "array", "items": {{"$ref": "#/$defs/A"}}}}}}}}"##
            );
            let document = Document::parse("test.json", schema.as_bytes()).expect("a schema");
            crate::model(document, "draft", false).expect("a model")
        };
        for (old, new, expected) in [
            (r#""type": "string", "pattern": "^a""#, r#""type": "string", "pattern": "^a""#, true),
            (r#""type": "string", "pattern": "^a+$""#, r#""type": "string", "pattern": "^aa*$""#, true),
            (r#""type": "string", "pattern": "^a""#, r#""type": "string", "pattern": "^b""#, false),
            (r#""type": "string", "pattern": "^a""#, r#""type": "string""#, false),
            (r#""type": "integer", "multipleOf": 2"#, r#""type": "integer", "multipleOf": 3"#, false),
            (
                r#""type": "string", "maxLength": 3, "pattern": "^a""#,
                r#""type": "string", "maxLength": 3, "pattern": "b""#,
                false,
            ),
            (
                r#""type": "object", "patternProperties": {"^x-": {"type": "integer"}}"#,
                r#""type": "object", "patternProperties": {"^x-": {"type": "integer"}}"#,
                true,
            ),
            (
                r#""type": "object", "patternProperties": {"^x-": {"type": "integer"}}"#,
                r#""type": "object", "patternProperties": {"^x-": {"type": "string"}}"#,
                false,
            ),
            (
                r#""type": "object", "patternProperties": {"^x-": {"type": "integer"}}"#,
                r#""type": "object", "patternProperties": {"^y-": {"type": "integer"}}"#,
                false,
            ),
            (
                r#""type": "object", "patternProperties": {"^x-": {"type": "integer"}}"#,
                r#""type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": false"#,
                false,
            ),
        ] {
            let models = [model(old), model(new)];
            let found = conversions(&models, &Rules::default()).expect("conversions");
            for name in ["A", "B"] {
                let row = &found.definitions[name];
                assert_eq!(row[0] == row[1], expected, "{name}: {old} and {new}");
            }
        }
    }

    #[test]
    fn separates_types_with_different_content() {
        let list = |items| Node::List(items, Length::default());
        let nodes = [list(2), list(3), Node::Boolean, Node::String(Length::default()), list(0), list(1)];
        assert_eq!(classes(&nodes, &HashMap::new()), [0, 1, 2, 3, 4, 5]);
    }
}
