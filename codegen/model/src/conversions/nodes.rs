//! Flattens the types of all revisions into one graph that has neither names nor aliases.

use std::collections::{BTreeSet, HashMap};

use mcpgen_schema::check::{Check, Definitions};
use mcpgen_schema::normal::{Bounds, Length};
use mcpgen_schema::{Json, JsonTypes};

use crate::conversions::rules::Rules;
use crate::{
    Bounded, Condition, Content, CoreType, Guard, Limit, Protocol, Rest, Shape, Struct, Type, TypeId, Undecided,
};

pub(super) type NodeId = usize;

/// The set of values that a type accepts.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Every value.
    Any,
    /// No value.
    Never,
    /// A boolean.
    Boolean,
    /// A string.
    String(Length),
    /// An integer.
    Integer {
        /// Whether the Rust type is `u64`.
        unsigned: bool,
        /// The limits in the schema.
        bounds: Bounds,
    },
    /// A number.
    Number(Bounds),
    /// Exactly these values.
    Values(Vec<Json>),
    /// An array.
    List(NodeId, Length),
    /// An array with leading items, then any number of others if a type is given for them.
    Tuple(Vec<NodeId>, Option<NodeId>),
    /// An object.
    Object(ObjectNode),
    /// A union: guards, and the variants they select.
    Union(Vec<Guard>, Vec<NodeId>),
}

/// An object type.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectNode {
    /// The named members.
    pub members: Vec<MemberNode>,
    /// The members whose names match a pattern, and the type of their values.
    pub pattern: Option<(String, NodeId)>,
    /// All other members.
    pub others: Others,
    /// The rule that rewrites the object in another form, and the type of that form.
    pub respelled: Option<(usize, NodeId)>,
}

/// A named member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberNode {
    /// The name.
    pub name: String,
    /// Whether it must be present.
    pub required: bool,
    /// Its value.
    pub content: NodeId,
    /// The index of the rule for the member.
    pub rule: Option<usize>,
}

/// What is known about members that an object does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Any value is allowed.
    Open,
    /// Values have this type.
    Typed(NodeId),
    /// They are not allowed.
    Closed,
}

pub(super) struct Graph<'m> {
    pub(super) nodes: Vec<Node>,
    /// Assertions that the nodes do not express.
    pub(super) checks: HashMap<NodeId, Checks<'m>>,
    rules: &'m Rules,
    pub(super) used_rules: BTreeSet<String>,
}

pub(super) struct Checks<'m> {
    pub(super) all: Check,
    pub(super) definitions: &'m Definitions,
}

pub(super) struct Nodes<'g, 'm> {
    graph: &'g mut Graph<'m>,
    protocol: &'m Protocol,
    known: HashMap<Type, NodeId>,
    constants: HashMap<String, NodeId>,
}

impl<'m> Graph<'m> {
    pub(super) fn new(rules: &'m Rules) -> Self {
        Graph { nodes: vec![Node::Any], checks: HashMap::new(), rules, used_rules: BTreeSet::new() }
    }

    pub(super) fn revision<'g>(&'g mut self, protocol: &'m Protocol) -> Nodes<'g, 'm> {
        Nodes { graph: self, protocol, known: HashMap::from([(Type::Any, 0)]), constants: HashMap::new() }
    }
}

impl<'m> Nodes<'_, 'm> {
    pub(super) fn of(&mut self, content: &'m Type) -> NodeId {
        let (content, checked) = self.resolve(content);
        let Some((own, checks)) = checked else {
            return self.node_of(content.clone(), |nodes| nodes.node(content));
        };
        let id = self.node_of(own.clone(), |nodes| nodes.node(content));
        let definitions = &self.protocol.checks;
        self.graph.checks.entry(id).or_insert_with(|| Checks { all: Check::All(checks), definitions });
        id
    }

    fn node_of(&mut self, content: Type, node: impl FnOnce(&mut Self) -> Node) -> NodeId {
        if let Some(known) = self.known.get(&content) {
            return *known;
        }
        // Types can be recursive, so the node is reserved before the content is read.
        let id = self.push(Node::Any);
        self.known.insert(content, id);
        self.graph.nodes[id] = node(self);
        id
    }

    fn push(&mut self, node: Node) -> NodeId {
        self.graph.nodes.push(node);
        self.graph.nodes.len() - 1
    }

    /// Follows aliases, newtypes, and types that differ only by checks. If there are checks, returns the first such
    /// type and all checks on the way.
    fn resolve(&self, mut content: &'m Type) -> (&'m Type, Option<(&'m Type, Vec<Check>)>) {
        let mut checked: Option<(&Type, Vec<Check>)> = None;
        for _ in 0..=self.protocol.types.len() {
            content = self.protocol.follow(content);
            let Type::Named(id) = content else { break };
            let shape = &self.protocol.types[*id].shape;
            if let Shape::Bounded(Bounded { checks, .. }) | Shape::Undecided(Undecided { checks, .. }) = shape
                && !checks.is_empty()
            {
                checked.get_or_insert((content, Vec::new())).1.extend(checks.iter().cloned());
            }
            match shape {
                Shape::Newtype(inner) | Shape::Bounded(Bounded { inner, limit: None, .. }) => content = inner,
                Shape::Undecided(_) => return (&Type::Any, checked),
                Shape::Bounded(Bounded { inner, .. }) => {
                    if let (_, Some((_, more))) = self.resolve(inner) {
                        checked.get_or_insert((content, Vec::new())).1.extend(more);
                    }
                    break;
                }
                _ => break,
            }
        }
        (content, checked)
    }

    fn node(&mut self, content: &'m Type) -> Node {
        let open = |others| Node::Object(ObjectNode { members: Vec::new(), pattern: None, others, respelled: None });
        match content {
            Type::Any => Node::Any,
            Type::Never => Node::Never,
            Type::Null => Node::Values(vec![Json::Null]),
            Type::Boolean => Node::Boolean,
            Type::String => Node::String(Length::default()),
            Type::Signed => Node::Integer { unsigned: false, bounds: Bounds::default() },
            Type::Unsigned => Node::Integer { unsigned: true, bounds: Bounds::default() },
            Type::Number => Node::Number(Bounds::default()),
            Type::Object => open(Others::Open),
            Type::Map(inner) => open(Others::Typed(self.of(inner))),
            Type::List(inner) => Node::List(self.of(inner), Length::default()),
            Type::Nullable(inner) => {
                let variants = vec![self.of(inner), self.of(&Type::Null)];
                let null = Guard { when: vec![Condition::Type(JsonTypes::NULL)], variant: 1 };
                Node::Union(vec![null, Guard { when: Vec::new(), variant: 0 }], variants)
            }
            Type::Named(id) => self.named(*id),
        }
    }

    fn named(&mut self, id: TypeId) -> Node {
        let protocol = self.protocol;
        match &protocol.types[id].shape {
            Shape::Struct(body) => Node::Object(self.object(&protocol.types[id].name, body)),
            Shape::Union(union) => {
                let variants = union.variants.iter().map(|variant| self.of(&variant.content)).collect();
                Node::Union(union.decision.guards.clone(), variants)
            }
            Shape::Tuple(tuple) => {
                let first = tuple.first.iter().map(|item| self.of(&item.content)).collect();
                Node::Tuple(first, tuple.rest.as_ref().map(|rest| self.of(rest)))
            }
            Shape::Enum(values) => Node::Values(values.iter().map(|value| value.json.clone()).collect()),
            Shape::OpenEnum(_) | Shape::Core(CoreType::ResultType) => Node::String(Length::default()),
            Shape::Core(CoreType::RequestId | CoreType::ProgressToken) => {
                let guard = |types, variant| Guard { when: vec![Condition::Type(types)], variant };
                let variants = vec![self.of(&Type::String), self.of(&Type::Signed)];
                Node::Union(vec![guard(JsonTypes::STRING, 0), guard(JsonTypes::INTEGER, 1)], variants)
            }
            Shape::Bounded(Bounded { inner, limit, .. }) => {
                let (inner, _) = self.resolve(inner);
                self.limited(inner, limit.as_ref())
            }
            Shape::Never => Node::Never,
            // After `resolve`, only recursive aliases remain.
            Shape::Undecided(_) | Shape::Alias(..) | Shape::Newtype(_) => Node::Any,
        }
    }

    fn limited(&mut self, inner: &'m Type, limit: Option<&Limit>) -> Node {
        match (self.node(inner), limit) {
            (Node::String(_), Some(Limit::Length(length))) => Node::String(length.clone()),
            (Node::List(items, _), Some(Limit::Length(length))) => Node::List(items, length.clone()),
            (Node::Integer { unsigned, .. }, Some(Limit::Bounds(bounds))) => {
                Node::Integer { unsigned, bounds: bounds.clone() }
            }
            (Node::Number(_), Some(Limit::Bounds(bounds))) => Node::Number(bounds.clone()),
            (other, _) => other,
        }
    }

    fn object(&mut self, name: &str, body: &'m Struct) -> ObjectNode {
        let mut members = Vec::new();
        for member in &body.members {
            let rule = self.graph.rules.member(name, &member.wire);
            if let Some(rule) = rule {
                self.graph.used_rules.insert(self.graph.rules.members[rule].name.clone());
            }
            let content = match &member.content {
                Content::Constant(value) => self.constant(value),
                Content::Value(content) => self.of(content),
            };
            members.push(MemberNode { name: member.wire.clone(), required: member.required, content, rule });
        }
        let pattern = body.pattern.as_ref().map(|it| (it.pattern.clone(), self.of(&it.content)));
        let others = match &body.rest {
            Rest::Open => Others::Open,
            Rest::Typed(content) => Others::Typed(self.of(content)),
            Rest::Closed => Others::Closed,
        };
        ObjectNode { members, pattern, others, respelled: self.respelled(name) }
    }

    /// Returns the rule that rewrites a type in another form, and that form.
    fn respelled(&mut self, name: &str) -> Option<(usize, NodeId)> {
        let rule = self.graph.rules.respelled.iter().position(|rule| rule.definition == name)?;
        let other = &self.graph.rules.respelled[rule].other;
        let other = self.protocol.types.named(other)?;
        self.graph.used_rules.insert(self.graph.rules.respelled[rule].name.clone());
        Some((rule, self.node_of(Type::Named(other), |nodes| nodes.named(other))))
    }

    fn constant(&mut self, value: &Json) -> NodeId {
        let text = value.to_string();
        if let Some(known) = self.constants.get(&text) {
            return *known;
        }
        let id = self.push(Node::Values(vec![value.clone()]));
        self.constants.insert(text, id);
        id
    }
}
