//! Reads source values: turns JSON text into nodes, compares nodes with constants, and selects variants of unions.

use std::borrow::Cow;

use crate::codec::{self, Condition, Cursor, Document, Elements, Encode, Guard, JsonTypes, Literal, Node, Object};
use crate::{Error, Number};

use super::shape::Respelled;

/// A JSON value that preserves the order of members and the spelling of numbers.
pub(super) enum Tree<'a> {
    Null,
    Bool(bool),
    /// The text of the number.
    Number(&'a str),
    String(Cow<'a, str>),
    Array(List<'a>),
    /// Read from the document each time, because a tree of small objects would take many times the memory of its text.
    Object(CursorMembers<'a>),
    Respelled(Fields<'a>),
}

pub(super) struct CursorMembers<'a>(Cursor<'a>);

pub(super) struct List<'a>(Vec<Tree<'a>>);

pub(super) struct Fields<'a>(Vec<(Cow<'a, str>, Tree<'a>)>);

impl<'a> Tree<'a> {
    /// Creates the tree of a value. Objects stay in the document, and are read from it each time.
    pub(super) fn of(json: Cursor<'a>) -> Self {
        if let Some(text) = json.as_str() {
            return Self::String(text);
        }
        if let Ok(elements) = json.elements() {
            return Self::Array(List(elements.map(Self::of).collect()));
        }
        if json.is_object() {
            return Self::Object(CursorMembers(json));
        }
        match json.slice() {
            "null" => Self::Null,
            "true" => Self::Bool(true),
            "false" => Self::Bool(false),
            number => Self::Number(number),
        }
    }

    /// Rewrites an object according to a rule: a list of objects becomes a list for each member.
    ///
    /// Returns `None` if the objects lack these members.
    pub(super) fn respelled(json: Cursor<'a>, rule: &Respelled) -> Option<Self> {
        let mut fields = Vec::new();
        for (name, value) in json.members().ok()? {
            if !name.is_str(rule.member) {
                fields.push((name.as_str()?, Self::of(value)));
                continue;
            }
            for (from, to) in rule.columns {
                let cells = value.elements().ok()?.map(|row| row.get(from).map(Self::of));
                fields.push((Cow::Borrowed(*to), Self::Array(List(cells.collect::<Option<_>>()?))));
            }
        }
        Some(Self::Respelled(Fields(fields)))
    }
}

impl Encode for Tree<'_> {
    fn encode(&self) -> Node<'_> {
        match self {
            Self::Null => Node::Null,
            Self::Bool(value) => Node::Bool(*value),
            Self::Number(text) => Node::Json(text),
            Self::String(text) => Node::Str(text),
            Self::Array(elements) => Node::Array(elements),
            Self::Object(members) => Node::Object(members),
            Self::Respelled(fields) => Node::Object(fields),
        }
    }
}

impl Elements for List<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn element(&self, index: usize) -> Node<'_> {
        self.0.get(index).map_or(Node::Null, Encode::encode)
    }
}

impl Object for CursorMembers<'_> {
    fn members(&self, out: &mut codec::Members<'_>) {
        for (name, value) in self.0.members().into_iter().flatten() {
            out.member(&name.as_str().unwrap_or_default(), &Tree::of(value));
        }
    }
}

impl Object for Fields<'_> {
    fn members(&self, out: &mut codec::Members<'_>) {
        for (name, value) in &self.0 {
            out.member(name, value);
        }
    }
}

/// Calls `read` with the node. JSON text is parsed first, unless it is a number.
///
/// # Errors
///
/// Returns an error if the text is not JSON, or nested too deeply.
pub(super) fn read<R>(node: Node<'_>, read: impl FnOnce(Node<'_>) -> R) -> Result<R, Error> {
    match node {
        Node::Json(text) if !is_number(text) => {
            let document = Document::read(text)?;
            let tree = Tree::of(document.root());
            Ok(read(tree.encode()))
        }
        node => Ok(read(node)),
    }
}

pub(super) fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

pub(super) fn number(node: Node<'_>) -> Option<Number> {
    match node {
        Node::Unsigned(integer) => Some(integer.into()),
        Node::Signed(integer) => Some(integer.into()),
        Node::Float(float) => float.try_into().ok(),
        Node::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(integer), _) => Some(integer.into()),
            (None, Some(integer)) => Some(integer.into()),
            (None, None) => number.as_f64()?.try_into().ok(),
        },
        Node::Json(text) if is_number(text.trim()) => Number::parse(text.trim()),
        _ => None,
    }
}

/// Returns the JSON type of a value, or all types for text that is not JSON.
pub(super) fn json_type(node: Node<'_>) -> JsonTypes {
    match node {
        Node::Null => JsonTypes::NULL,
        Node::Bool(_) => JsonTypes::BOOLEAN,
        Node::Str(_) => JsonTypes::STRING,
        Node::Array(_) => JsonTypes::ARRAY,
        Node::Object(_) => JsonTypes::OBJECT,
        node => match number(node) {
            Some(number) if number.is_integer() => JsonTypes::INTEGER,
            Some(_) => JsonTypes::FRACTION,
            None => read(node, |node| if matches!(node, Node::Json(_)) { JsonTypes::ALL } else { json_type(node) })
                .unwrap_or(JsonTypes::ALL),
        },
    }
}

#[inline(never)]
pub(super) fn is_literal(node: Node<'_>, literal: &Literal) -> bool {
    match (literal, node) {
        (Literal::Str(text), Node::Str(found)) => *text == found,
        (Literal::Null, Node::Null) => true,
        (Literal::Bool(value), Node::Bool(found)) => *value == found,
        (Literal::Json("{}"), Node::Object(object)) => {
            let mut is_empty = true;
            object.members(&mut codec::Members::new(&mut |_, _| is_empty = false));
            is_empty
        }
        (Literal::Json(_), Node::Array(_) | Node::Object(_)) | (_, Node::Json(_)) => {
            let text = crate::to_string(&Encoded(node));
            Document::read(text).is_ok_and(|document| literal.is(document.root()))
        }
        (literal, node) => literal.as_number().is_some_and(|literal| number(node) == Some(literal)),
    }
}

pub(super) struct Encoded<'a>(pub(super) Node<'a>);

impl Encode for Encoded<'_> {
    fn encode(&self) -> Node<'_> {
        self.0
    }
}

/// A tag that selects a variant: its path and its value.
#[derive(Clone, Copy)]
pub(super) struct Tag {
    path: &'static [&'static str],
    value: &'static str,
}

/// Selects the variant of a value. Also returns the tag if it alone decides.
pub(super) fn variant_and_tag(node: Node<'_>, guards: &'static [Guard]) -> Option<(usize, Option<Tag>)> {
    let index = variant(node, guards)?;
    let mut deciding = guards.iter().filter(|guard| guard.variant == index);
    let tag = match (deciding.next().map(|guard| guard.when), deciding.next()) {
        (Some([Condition::Value(path, [Literal::Str(value)])]), None) => Some(Tag { path, value }),
        _ => None,
    };
    Some((index, tag))
}

/// Selects a variant by tag, or returns `None` if the tag alone does not decide.
pub(super) fn tagged_variant(known: Tag, guards: &[Guard]) -> Option<usize> {
    for guard in guards {
        let is_value = |literal: &Literal| is_literal(Node::Str(known.value), literal);
        if tag(guard, known.path)?.iter().any(is_value) {
            return Some(guard.variant);
        }
    }
    None
}

pub(super) fn variant(node: Node<'_>, guards: &[Guard]) -> Option<usize> {
    let mut rest = guards;
    while let Some(guard) = rest.first() {
        // Most unions have a guard for each value of a tag, so the tag is looked up only once.
        let [Condition::Value(path, _)] = guard.when else {
            if guard.when.iter().all(|condition| holds(node, condition)) {
                return Some(guard.variant);
            }
            rest = &rest[1..];
            continue;
        };
        let tagged = rest.iter().map_while(|guard| Some((guard.variant, tag(guard, path)?)));
        let mut chosen = None;
        at(node, path, &mut |node| {
            let is_tag = |literals: &[Literal]| literals.iter().any(|literal| is_literal(node, literal));
            chosen = tagged.clone().find(|(_, literals)| is_tag(literals)).map(|(variant, _)| variant);
            chosen.is_some()
        });
        if chosen.is_some() {
            return chosen;
        }
        rest = &rest[tagged.count()..];
    }
    None
}

/// Returns the values that the guard accepts at the path, if it checks nothing else.
fn tag(guard: &Guard, path: &[&str]) -> Option<&'static [Literal]> {
    match guard.when {
        // Equal paths usually have the same address.
        [Condition::Value(other, literals)] if std::ptr::eq(*other, path) || *other == path => Some(literals),
        _ => None,
    }
}

fn holds(node: Node<'_>, condition: &Condition) -> bool {
    match *condition {
        Condition::Type(types) => types.contains(json_type(node)),
        Condition::Value(path, literals) => {
            at(node, path, &mut |node| literals.iter().any(|literal| is_literal(node, literal)))
        }
        Condition::Present(path) => at(node, path, &mut |_| true),
        Condition::Absent(path) => !at(node, path, &mut |_| true),
    }
}

/// Returns whether there is a value at the path that passes `test`.
fn at(node: Node<'_>, path: &[&str], test: &mut dyn FnMut(Node<'_>) -> bool) -> bool {
    let Some((step, rest)) = path.split_first() else { return test(node) };
    match node {
        Node::Object(object) => {
            let mut found = None;
            object.members(&mut codec::Members::new(&mut |name, node| {
                if found.is_none() && name == *step {
                    found = Some(at(node, rest, test));
                }
            }));
            found.unwrap_or(false)
        }
        Node::Array(elements) => match step.parse::<usize>() {
            Ok(index) if index < elements.len() => at(elements.element(index), rest, test),
            _ => false,
        },
        Node::Json(_) => read(node, |node| !matches!(node, Node::Json(_)) && at(node, path, test)).unwrap_or(false),
        _ => false,
    }
}
