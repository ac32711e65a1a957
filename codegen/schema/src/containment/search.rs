//! Finds a value that satisfies a set of formulas, or proves that no value does.
//!
//! The search tries one JSON type at a time. For each, it branches on `anyOf` and the like until only assertions about
//! that type are left, which `texts`, `numbers`, `arrays` and `objects` solve. Items and members are searched
//! recursively.
//!
//! Schemas may be recursive. A search that runs into its own goal treats it as empty: a smallest solution never
//! contains another solution of the same goal, so none is missed. Results derived from such an assumption are
//! provisional until the outer search ends.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::formula::{Formula, Formulas, Names, Node};
use super::verdict::Reason;
use crate::json::Json;
use crate::json_types::JsonTypes;
use crate::limits::{Bound, Bounds, Length};

#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// Proven to have no value.
    Empty,
    Found(Rc<Json>),
    Unknown(Reason),
}

impl Outcome {
    pub(super) fn found(value: Json) -> Outcome {
        Outcome::Found(Rc::new(value))
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Outcome::Empty)
    }
}

impl From<Reason> for Outcome {
    fn from(reason: Reason) -> Outcome {
        Outcome::Unknown(reason)
    }
}

/// Formulas to satisfy together, sorted.
pub(super) type Goal = Vec<Formula>;

/// The result depends on no running search.
const NONE: usize = usize::MAX;
/// Bounds the nesting of searches and alternatives, which limits the stack.
const MAX_DEPTH: u32 = 120;

pub(super) struct Search<'a> {
    pub(super) formulas: Formulas<'a>,
    steps: u64,
    depth: u32,
    /// The known results, each with the outermost running search that it depends on.
    results: HashMap<Goal, (Outcome, usize)>,
    /// The goals of the running searches, with their depths.
    running: HashMap<Goal, usize>,
    provisional: Vec<Goal>,
    /// The outermost running search that the current one depends on.
    used: usize,
    /// The names found for a language, by the language's key.
    pub(super) names: HashMap<String, Result<Vec<String>, Reason>>,
}

#[derive(Clone)]
pub(super) struct Case {
    pub(super) types: JsonTypes,
    asserted: BTreeSet<Formula>,
    /// The formulas about this type that must hold.
    pub(super) atoms: Vec<Formula>,
    /// One alternative of each choice must hold.
    pub(super) choices: Vec<Vec<Goal>>,
}

impl<'a> Search<'a> {
    pub(super) fn new(formulas: Formulas<'a>, steps: u64) -> Self {
        Search {
            formulas,
            steps,
            depth: 0,
            results: HashMap::new(),
            running: HashMap::new(),
            provisional: Vec::new(),
            used: NONE,
            names: HashMap::new(),
        }
    }

    pub(super) fn spend(&mut self, steps: u64) -> Result<(), Reason> {
        let left = self.steps.checked_sub(steps);
        self.steps = left.unwrap_or(0);
        left.map(drop).ok_or(Reason::Budget)
    }

    /// Returns how many of the `given` steps are used up.
    pub(super) fn spent(&self, given: u64) -> u64 {
        given - self.steps
    }

    pub(super) fn solve(&mut self, formulas: impl IntoIterator<Item = Formula>) -> Outcome {
        let goal: BTreeSet<Formula> = formulas.into_iter().filter(|formula| *formula != Formula::TRUE).collect();
        if goal.iter().any(|formula| *formula == Formula::FALSE || goal.contains(&formula.not())) {
            return Outcome::Empty;
        }
        let goal: Goal = goal.into_iter().collect();
        if let Some((outcome, depends_on)) = self.results.get(&goal) {
            self.used = self.used.min(*depends_on);
            return outcome.clone();
        }
        if let Some(&index) = self.running.get(&goal) {
            self.used = self.used.min(index);
            return Outcome::Empty;
        }
        if self.depth > MAX_DEPTH || self.spend(1).is_err() {
            return Outcome::Unknown(Reason::Budget);
        }
        let index = self.running.len();
        let (outer, started) = (std::mem::replace(&mut self.used, NONE), self.provisional.len());
        self.running.insert(goal.clone(), index);
        self.depth += 1;
        let outcome = self.by_type(&goal);
        self.depth -= 1;
        self.running.remove(&goal);
        let used = std::mem::replace(&mut self.used, outer);
        let depends_on = if outcome.is_empty() && used < index { used } else { NONE };
        self.settle(started, outcome.is_empty().then_some(depends_on));
        self.used = self.used.min(depends_on);
        if depends_on != NONE {
            self.provisional.push(goal.clone());
        }
        self.results.insert(goal, (outcome.clone(), depends_on));
        outcome
    }

    /// Settles provisional results after a search. If the search has proved that its goal is empty, they stay and
    /// depend on what that search depends on (`NONE` means that they are final). Otherwise, their assumption was wrong,
    /// and they are dropped.
    fn settle(&mut self, started: usize, depends_on: Option<usize>) {
        let ended = self.provisional.split_off(started);
        for goal in ended {
            match (depends_on, self.results.get_mut(&goal)) {
                (Some(depends_on), Some((_, own))) => {
                    *own = depends_on.min(if depends_on == NONE { NONE } else { *own });
                    if depends_on != NONE {
                        self.provisional.push(goal);
                    }
                }
                _ => drop(self.results.remove(&goal)),
            }
        }
    }

    fn by_type(&mut self, goal: &[Formula]) -> Outcome {
        let mut unknown = None;
        for types in JsonTypes::ALL.each() {
            let case = Case { types, asserted: BTreeSet::new(), atoms: Vec::new(), choices: Vec::new() };
            match self.assume(case, goal) {
                Some(case) => match self.case(case) {
                    Outcome::Empty => {}
                    Outcome::Unknown(reason) => unknown = Some(reason),
                    found => return found,
                },
                None => continue,
            }
        }
        unknown.map_or(Outcome::Empty, Outcome::Unknown)
    }

    fn case(&mut self, case: Case) -> Outcome {
        if self.depth > MAX_DEPTH || self.spend(1).is_err() {
            return Outcome::Unknown(Reason::Budget);
        }
        let Some(mut case) = self.propagate(case) else { return Outcome::Empty };
        match self.leaf(&case) {
            Outcome::Found(value) if case.choices.is_empty() || self.meets(&case, &value) => {
                return Outcome::Found(value);
            }
            Outcome::Unknown(reason) if case.choices.is_empty() => return Outcome::Unknown(reason),
            Outcome::Empty => return Outcome::Empty,
            _ => {}
        }
        if case.choices.len() > 1 {
            match self.look_ahead(case) {
                Ok(remaining) => case = remaining,
                Err(outcome) => return outcome,
            }
        }
        let Some(shortest) = (0..case.choices.len()).min_by_key(|index| case.choices[*index].len()) else {
            return self.case(case);
        };
        let choice = case.choices.swap_remove(shortest);
        let mut unknown = None;
        self.depth += 1;
        for alternative in choice {
            let Some(next) = self.assume(case.clone(), &alternative) else { continue };
            match self.case(next) {
                Outcome::Empty => {}
                Outcome::Unknown(Reason::Budget) => {
                    unknown = Some(Reason::Budget);
                    break;
                }
                Outcome::Unknown(reason) => unknown = Some(reason),
                found => {
                    self.depth -= 1;
                    return found;
                }
            }
        }
        self.depth -= 1;
        unknown.map_or(Outcome::Empty, Outcome::Unknown)
    }

    /// Drops alternatives that contradict the case. If one alternative of a choice remains, it must hold. Returns
    /// `None` on a contradiction.
    fn propagate(&mut self, mut case: Case) -> Option<Case> {
        loop {
            let mut single = None;
            for mut choice in std::mem::take(&mut case.choices) {
                let holds = |formula: &Formula| case.asserted.contains(formula);
                if choice.iter().any(|alternative| alternative.iter().all(holds)) {
                    continue;
                }
                choice.retain(|alternative| !alternative.iter().any(|it| *it == Formula::FALSE || holds(&it.not())));
                match choice.len() {
                    0 => return None,
                    1 if single.is_none() => single = choice.pop(),
                    _ => case.choices.push(choice),
                }
            }
            let Some(alternative) = single else { return Some(case) };
            case = self.assume(case, &alternative)?;
        }
    }

    /// Drops alternatives that fail even without the other choices. Returns `Err` if this decides the case.
    fn look_ahead(&mut self, mut case: Case) -> Result<Case, Outcome> {
        let mut index = 0;
        while let Some(choice) = case.choices.get(index).cloned() {
            let mut kept = Vec::new();
            let count = choice.len();
            for alternative in choice {
                self.spend(1)?;
                let Some(next) = self.assume(case.clone(), &alternative) else { continue };
                match self.leaf(&next) {
                    Outcome::Empty => continue,
                    Outcome::Found(value) if self.meets(&next, &value) => return Err(Outcome::Found(value)),
                    _ => kept.push(alternative),
                }
            }
            match kept.len() {
                0 => return Err(Outcome::Empty),
                1 => {
                    case.choices.swap_remove(index);
                    case = self.assume(case, &kept[0]).ok_or(Outcome::Empty)?;
                    case = self.propagate(case).ok_or(Outcome::Empty)?;
                    index = 0;
                }
                left => {
                    case.choices[index] = kept;
                    index = if left < count && index > 0 { index } else { index + 1 };
                }
            }
        }
        Ok(case)
    }

    /// Solves the formulas about one JSON type and ignores the choices.
    fn leaf(&mut self, case: &Case) -> Outcome {
        if let Err(reason) = self.spend(1) {
            return Outcome::Unknown(reason);
        }
        let listed = case.atoms.iter().find_map(|it| match self.formulas.node(*it) {
            Node::Values(values) if it.is_positive() => Some(values.clone()),
            _ => None,
        });
        let listed = listed.or_else(|| match case.types {
            JsonTypes::NULL => Some(vec![Json::Null]),
            JsonTypes::BOOLEAN => Some(vec![Json::Bool(false), Json::Bool(true)]),
            _ => None,
        });
        if let Some(values) = listed {
            return self.listed(case, values);
        }
        if let Some(reason) = case.atoms.iter().find_map(|it| match self.formulas.node(*it) {
            Node::Opaque(reason) => Some(reason.clone()),
            _ => None,
        }) {
            let mut rest = case.clone();
            rest.atoms.retain(|it| !matches!(self.formulas.node(*it), Node::Opaque(_)));
            return if self.leaf(&rest).is_empty() { Outcome::Empty } else { Outcome::Unknown(reason) };
        }
        match case.types {
            JsonTypes::INTEGER | JsonTypes::FRACTION => self.number(&case.atoms, case.types),
            JsonTypes::STRING => self.string(&case.atoms),
            JsonTypes::ARRAY => self.array(&case.atoms),
            _ => self.object(&case.atoms),
        }
    }

    /// Adds formulas that must hold. Returns `None` on a contradiction.
    fn assume(&mut self, mut case: Case, formulas: &[Formula]) -> Option<Case> {
        let mut stack = formulas.to_vec();
        while let Some(formula) = stack.pop() {
            if formula == Formula::TRUE || !case.asserted.insert(formula) {
                continue;
            }
            if formula == Formula::FALSE || case.asserted.contains(&formula.not()) {
                return None;
            }
            let is_positive = formula.is_positive();
            match self.formulas.node(formula).clone() {
                Node::Type(types) if types.contains(case.types) == is_positive => {}
                Node::Type(_) => return None,
                Node::Definition(number) => {
                    let target = self.formulas.definition(number);
                    stack.push(if is_positive { target } else { target.not() });
                }
                Node::Any(parts) if is_positive => {
                    case.choices.push(parts.into_iter().map(|part| vec![part]).collect());
                }
                Node::Any(parts) => stack.extend(parts.into_iter().map(Formula::not)),
                Node::One(parts) => case.choices.push(one(&parts, is_positive)),
                Node::Opaque(_) => case.atoms.push(formula),
                Node::Values(values) if is_positive => match values.iter().any(|it| JsonTypes::of(it) == case.types) {
                    true => case.atoms.push(formula),
                    false => return None,
                },
                Node::Values(values) if matches!(case.types, JsonTypes::ARRAY | JsonTypes::OBJECT) => {
                    for value in values.iter().filter(|it| JsonTypes::of(it) == case.types) {
                        let choice = self.other_than(value);
                        case.choices.push(choice);
                    }
                }
                Node::Values(_) => case.atoms.push(formula),
                node if type_of(&node).contains(case.types) => match self.complement(&node).filter(|_| !is_positive) {
                    Some(choice) => case.choices.push(choice),
                    None => case.atoms.push(formula),
                },
                _ if is_positive => {}
                _ => return None,
            }
        }
        Some(case)
    }

    /// Rewrites the negation of a limit as positive alternatives.
    fn complement(&mut self, node: &Node) -> Option<Vec<Goal>> {
        let limits = |length: &Length| {
            let below = length.min.checked_sub(1).map(|max| Length { min: 0, max: Some(max) });
            let above = length.max.and_then(|max| max.checked_add(1)).map(|min| Length { min, max: None });
            below.into_iter().chain(above).collect::<Vec<_>>()
        };
        let formulas: Vec<Formula> = match node {
            Node::Bounds(Bounds { min, max }) => {
                let flip = |bound: &Bound| Bound { value: bound.value.clone(), exclusive: !bound.exclusive };
                let below = min.as_ref().map(|min| Bounds { min: None, max: Some(flip(min)) });
                let above = max.as_ref().map(|max| Bounds { min: Some(flip(max)), max: None });
                below.into_iter().chain(above).map(|bounds| self.formulas.add(Node::Bounds(bounds))).collect()
            }
            Node::ItemCount(length) => {
                limits(length).into_iter().map(|it| self.formulas.add(Node::ItemCount(it))).collect()
            }
            Node::MemberCount(length) => {
                limits(length).into_iter().map(|it| self.formulas.add(Node::MemberCount(it))).collect()
            }
            Node::Contains(formula, length) => {
                limits(length).into_iter().map(|it| self.formulas.contains(*formula, it)).collect()
            }
            _ => return None,
        };
        Some(formulas.into_iter().map(|formula| vec![formula]).collect())
    }

    /// Returns alternatives that together cover every array or object other than `value`.
    fn other_than(&mut self, value: &Json) -> Vec<Goal> {
        let size = |count: usize| Length { min: count as u64, max: Some(count as u64) };
        let formulas: Vec<Formula> = match value {
            Json::Array(items) => {
                let count = self.formulas.add(Node::ItemCount(size(items.len())));
                let mut all = vec![count.not()];
                for (index, item) in items.iter().enumerate() {
                    let equal = self.formulas.values(std::slice::from_ref(item));
                    all.push(self.formulas.items(index, Some(index + 1), equal).not());
                }
                all
            }
            Json::Object(members) => {
                let count = self.formulas.add(Node::MemberCount(size(members.len())));
                let mut all = vec![count.not()];
                for (name, value) in members {
                    let equal = self.formulas.values(std::slice::from_ref(value));
                    all.push(self.formulas.members(Names::One(name.clone()), equal).not());
                    all.push(self.formulas.present(name).not());
                }
                all
            }
            _ => Vec::new(),
        };
        formulas.into_iter().map(|formula| vec![formula]).collect()
    }
}

/// Returns alternatives for "exactly one holds", or for its negation.
fn one(parts: &[Formula], is_positive: bool) -> Vec<Goal> {
    let only = |chosen: usize| {
        parts.iter().enumerate().map(|(index, part)| if index == chosen { *part } else { part.not() }).collect()
    };
    if is_positive {
        return (0..parts.len()).map(only).collect();
    }
    let pairs = (0..parts.len()).flat_map(|a| (a + 1..parts.len()).map(move |b| vec![parts[a], parts[b]]));
    [only(parts.len())].into_iter().chain(pairs).collect()
}

fn type_of(node: &Node) -> JsonTypes {
    match node {
        Node::Bounds(_) | Node::MultipleOf(_) => JsonTypes::NUMBER,
        Node::Length(_) | Node::Pattern(_) => JsonTypes::STRING,
        Node::ItemCount(_) | Node::UniqueItems | Node::Items(..) | Node::Contains(..) => JsonTypes::ARRAY,
        Node::MemberCount(_) | Node::Members(..) => JsonTypes::OBJECT,
        _ => JsonTypes::ALL,
    }
}
