//! Checks as formulas. Equal parts are stored once, and negation is a sign bit.

use std::collections::HashMap;
use std::fmt::{self, Write as _};

use serde_json::Number;

use super::verdict::{Reason, Scoped};
use crate::check::{Check, Definitions, MemberChecks};
use crate::json::Json;
use crate::json_types::JsonTypes;
use crate::limits::{Bounds, Length};

/// A node or its negation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Formula(u32);

impl fmt::Debug for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Formula {
    pub(super) const TRUE: Formula = Formula(0);
    pub(super) const FALSE: Formula = Formula(1);

    pub(super) fn not(self) -> Formula {
        Formula(self.0 ^ 1)
    }

    pub(super) fn is_positive(self) -> bool {
        self.0 & 1 == 0
    }
}

/// An assertion without `not`. As in JSON Schema, assertions about one JSON type accept all values of other types.
#[derive(Clone, Debug)]
pub(super) enum Node {
    True,
    Any(Vec<Formula>),
    /// Exactly one formula holds.
    One(Vec<Formula>),
    /// A reference that is expanded only when needed.
    Definition(usize),
    /// An assertion that this module cannot express.
    Opaque(Reason),
    Type(JsonTypes),
    /// Sorted by key.
    Values(Vec<Json>),
    Bounds(Bounds),
    MultipleOf(Number),
    Length(Length),
    Pattern(String),
    ItemCount(Length),
    UniqueItems,
    /// Every item in a range of indexes satisfies the formula.
    Items(Range, Formula),
    /// Limits how many items may satisfy the formula.
    Contains(Formula, Length),
    MemberCount(Length),
    /// Every member whose name is in the set satisfies the formula.
    Members(Names, Formula),
}

/// Array indexes; `to` is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) from: usize,
    pub(super) to: Option<usize>,
}

impl Range {
    pub(super) fn contains(self, index: usize) -> bool {
        index >= self.from && self.to.is_none_or(|to| index < to)
    }
}

#[derive(Clone, Debug)]
pub(super) enum Names {
    One(String),
    Pattern(String),
    /// All names except the listed ones and those that match a pattern.
    Others(Vec<String>, Vec<String>),
    /// Names that satisfy the formula.
    Where(Formula),
}

impl Names {
    /// Returns the names that the set mentions literally.
    pub(super) fn listed(&self) -> &[String] {
        match self {
            Names::One(name) => std::slice::from_ref(name),
            Names::Others(names, _) => names,
            Names::Pattern(_) | Names::Where(_) => &[],
        }
    }
}

pub(super) struct Formulas<'a> {
    nodes: Vec<Node>,
    known: HashMap<String, Formula>,
    key: String,
    definitions: Vec<Definition<'a>>,
    numbers: HashMap<(usize, &'a str), usize>,
    /// The depth of the check that is being read, and the depth up to which references are expanded at once.
    depth: u32,
    max_depth: u32,
}

struct Definition<'a> {
    check: &'a Check,
    scope: &'a Definitions,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Unread,
    Reading,
    Read(Formula),
}

/// References that nest deeper are expanded only when needed.
const MAX_NESTED: u32 = 64;

impl<'a> Formulas<'a> {
    /// If both schemas share their definitions, equal references are equal nodes and stay unexpanded. Otherwise,
    /// references are expanded at once, so that equal schemas in different documents become equal nodes.
    pub(super) fn new(has_one_scope: bool) -> Self {
        let (nodes, known, key) = (vec![Node::True], HashMap::new(), String::new());
        let max_depth = if has_one_scope { 0 } else { MAX_NESTED };
        Formulas { nodes, known, key, definitions: Vec::new(), numbers: HashMap::new(), depth: 0, max_depth }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node(&self, formula: Formula) -> &Node {
        &self.nodes[formula.0 as usize / 2]
    }

    pub(super) fn add(&mut self, node: Node) -> Formula {
        self.key.clear();
        let _ = write!(self.key, "{node:?}");
        if let Some(known) = self.known.get(&self.key) {
            return *known;
        }
        let formula = Formula(u32::try_from(self.nodes.len() * 2).expect("fewer than 2^31 nodes fit into memory"));
        self.nodes.push(node);
        self.known.insert(self.key.clone(), formula);
        formula
    }

    pub(super) fn any(&mut self, formulas: impl IntoIterator<Item = Formula>) -> Formula {
        let mut flat = Vec::new();
        for formula in formulas {
            match self.node(formula) {
                Node::Any(parts) if formula.is_positive() => flat.extend(parts.iter().copied()),
                _ => flat.push(formula),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        flat.retain(|formula| *formula != Formula::FALSE);
        // After sorting, a formula is next to its negation.
        if flat.contains(&Formula::TRUE) || flat.windows(2).any(|pair| pair[0].not() == pair[1]) {
            return Formula::TRUE;
        }
        match flat.as_slice() {
            [] => Formula::FALSE,
            [only] => *only,
            _ => self.add(Node::Any(flat)),
        }
    }

    pub(super) fn all(&mut self, formulas: impl IntoIterator<Item = Formula>) -> Formula {
        self.any(formulas.into_iter().map(Formula::not).collect::<Vec<_>>()).not()
    }

    fn one(&mut self, mut formulas: Vec<Formula>) -> Formula {
        formulas.sort_unstable();
        formulas.retain(|formula| *formula != Formula::FALSE);
        match formulas.as_slice() {
            [] => Formula::FALSE,
            [only] => *only,
            [Formula::TRUE, rest @ ..] => self.all(rest.iter().copied().map(Formula::not).collect::<Vec<_>>()),
            _ => self.add(Node::One(formulas)),
        }
    }

    pub(super) fn types(&mut self, types: JsonTypes) -> Formula {
        match types {
            JsonTypes::ALL => Formula::TRUE,
            JsonTypes::NONE => Formula::FALSE,
            _ => self.add(Node::Type(types)),
        }
    }

    pub(super) fn values(&mut self, values: &[Json]) -> Formula {
        let mut values: Vec<(String, Json)> = values.iter().map(|value| (value.key(), value.clone())).collect();
        values.sort_by(|(a, _), (b, _)| a.cmp(b));
        values.dedup_by(|(a, _), (b, _)| a == b);
        if values.is_empty() {
            return Formula::FALSE;
        }
        self.add(Node::Values(values.into_iter().map(|(_, value)| value).collect()))
    }

    pub(super) fn items(&mut self, from: usize, to: Option<usize>, formula: Formula) -> Formula {
        match formula {
            Formula::TRUE => formula,
            _ => self.add(Node::Items(Range { from, to }, formula)),
        }
    }

    pub(super) fn members(&mut self, names: Names, formula: Formula) -> Formula {
        match formula {
            Formula::TRUE => formula,
            _ => self.add(Node::Members(names, formula)),
        }
    }

    pub(super) fn present(&mut self, name: &str) -> Formula {
        self.members(Names::One(name.to_owned()), Formula::FALSE).not()
    }

    pub(super) fn definition(&mut self, number: usize) -> Formula {
        let Definition { check, scope, state } = self.definitions[number];
        if let State::Read(formula) = state {
            return formula;
        }
        self.definitions[number].state = State::Reading;
        let formula = self.read(check, scope);
        self.definitions[number].state = State::Read(formula);
        formula
    }

    /// Returns the definition behind a [`Node::Definition`], as a check.
    pub(super) fn scoped(&self, number: usize) -> Scoped<'a> {
        let Definition { check, scope, .. } = self.definitions[number];
        Scoped { check, definitions: scope }
    }

    fn reference(&mut self, name: &'a str, scope: &'a Definitions) -> Formula {
        // The evaluator ignores missing definitions too.
        let Some(check) = scope.get(name) else { return Formula::TRUE };
        let key = (std::ptr::from_ref(scope) as usize, name);
        let number = *self.numbers.entry(key).or_insert(self.definitions.len());
        if number == self.definitions.len() {
            self.definitions.push(Definition { check, scope, state: State::Unread });
        }
        match self.definitions[number].state {
            State::Read(formula) => formula,
            State::Unread if self.depth < self.max_depth => self.definition(number),
            _ => self.add(Node::Definition(number)),
        }
    }

    pub(super) fn read(&mut self, check: &'a Check, scope: &'a Definitions) -> Formula {
        self.depth += 1;
        let formula = self.read_at_depth(check, scope);
        self.depth -= 1;
        formula
    }

    fn read_at_depth(&mut self, check: &'a Check, scope: &'a Definitions) -> Formula {
        match check {
            Check::Anything => Formula::TRUE,
            Check::Nothing => Formula::FALSE,
            Check::All(checks) => {
                let all = self.read_all(checks, scope);
                self.all(all)
            }
            Check::Any(checks) => {
                let all = self.read_all(checks, scope);
                self.any(all)
            }
            Check::One(checks) => {
                let all = self.read_all(checks, scope);
                self.one(all)
            }
            Check::Not(check) => self.read(check, scope).not(),
            Check::If(parts) => {
                let [condition, then, otherwise] = [0, 1, 2].map(|part| self.read(&parts[part], scope));
                let branches = [self.any([condition.not(), then]), self.any([condition, otherwise])];
                self.all(branches)
            }
            Check::Definition(name) => self.reference(name, scope),
            Check::Type(types) => self.types(*types),
            Check::Values(values) => self.values(values),
            Check::Bounds(bounds) => self.add(Node::Bounds(bounds.clone())),
            Check::MultipleOf(divisor) => self.add(Node::MultipleOf(divisor.clone())),
            Check::Length(length) => self.add(Node::Length(length.clone())),
            Check::Pattern(pattern) => self.add(Node::Pattern(pattern.clone())),
            Check::ItemCount(length) => self.add(Node::ItemCount(length.clone())),
            Check::UniqueItems => self.add(Node::UniqueItems),
            Check::Items(first, rest) => {
                let first = self.read_all(first, scope);
                let end = first.len();
                let mut all: Vec<Formula> =
                    first.into_iter().enumerate().map(|(index, it)| self.items(index, Some(index + 1), it)).collect();
                if let Some(rest) = rest {
                    let rest = self.read(rest, scope);
                    all.push(self.items(end, None, rest));
                }
                self.all(all)
            }
            Check::Contains(check, length) => {
                let formula = self.read(check, scope);
                self.contains(formula, length.clone())
            }
            Check::MemberCount(length) => self.add(Node::MemberCount(length.clone())),
            Check::Required(names) => {
                let present: Vec<Formula> = names.iter().map(|name| self.present(name)).collect();
                let all = self.all(present);
                self.if_object(all)
            }
            Check::Names(check) => {
                let formula = self.read(check, scope);
                self.members(Names::Where(formula.not()), Formula::FALSE)
            }
            Check::Members(members) => self.read_members(members, scope),
            Check::IfPresent(name, check) => {
                let (present, check) = (self.present(name), self.read(check, scope));
                self.any([present.not(), check])
            }
            Check::Unevaluated(unevaluated) => self.unevaluated(unevaluated, scope),
        }
    }

    pub(super) fn contains(&mut self, formula: Formula, length: Length) -> Formula {
        match length {
            Length { min: 0, max: None } => Formula::TRUE,
            Length { min: 0, max: Some(0) } => self.items(0, None, formula.not()),
            _ => self.add(Node::Contains(formula, length)),
        }
    }

    fn if_object(&mut self, formula: Formula) -> Formula {
        let object = self.types(JsonTypes::OBJECT);
        self.any([object.not(), formula])
    }

    fn read_all(&mut self, checks: &'a [Check], scope: &'a Definitions) -> Vec<Formula> {
        checks.iter().map(|check| self.read(check, scope)).collect()
    }

    fn read_members(&mut self, members: &'a MemberChecks, scope: &'a Definitions) -> Formula {
        let mut all = Vec::new();
        for (name, check) in &members.named {
            let formula = self.read(check, scope);
            all.push(self.members(Names::One(name.clone()), formula));
        }
        for (pattern, check) in &members.patterns {
            let formula = self.read(check, scope);
            all.push(self.members(Names::Pattern(pattern.clone()), formula));
        }
        if let Some(others) = &members.others {
            let [names, patterns] =
                [&members.named, &members.patterns].map(|known| known.iter().map(|(name, _)| name.clone()).collect());
            let formula = self.read(others, scope);
            all.push(self.others(names, patterns, formula));
        }
        self.all(all)
    }

    /// Requires `formula` of all members except those with these names or matching these patterns.
    pub(super) fn others(&mut self, mut names: Vec<String>, mut patterns: Vec<String>, formula: Formula) -> Formula {
        for list in [&mut names, &mut patterns] {
            list.sort();
            list.dedup();
        }
        self.members(Names::Others(names, patterns), formula)
    }
}
