//! Solves arrays: what each item must satisfy, and how many items must match a formula.

use std::collections::{HashMap, HashSet};

use super::formula::{Formula, Node, Range};
use super::search::{Goal, Outcome, Search};
use super::verdict::Reason;
use crate::json::Json;
use crate::limits::Length;

#[derive(Default)]
struct Array {
    /// What every item in a range must satisfy.
    each: Vec<(Range, Formula)>,
    counts: Vec<Count>,
    length: Length,
    /// `Some(true)`: all items differ. `Some(false)`: at least two are equal.
    unique: Option<bool>,
    /// No solution needs more items than this.
    longest: usize,
}

struct Count {
    range: Range,
    formula: Formula,
    length: Length,
}

/// A partial array, with the number of matches that each count still needs and still allows.
#[derive(Clone)]
struct Progress {
    items: Vec<Goal>,
    missing: Vec<u64>,
    left: Vec<Option<u64>>,
}

/// A [`Progress`] without the items. Equal states can be extended in the same ways.
type Rest = (usize, Vec<u64>, Vec<Option<u64>>);

const MAX_ITEMS: usize = 200;

impl Search<'_> {
    pub(super) fn array(&mut self, formulas: &[Formula]) -> Outcome {
        let mut array = Array::default();
        for formula in formulas {
            let is_positive = formula.is_positive();
            match self.formulas.node(*formula).clone() {
                Node::Items(range, of) if is_positive => array.each.push((range, of)),
                Node::Items(range, of) => {
                    array.counts.push(Count { range, formula: of.not(), length: Length { min: 1, max: None } });
                }
                Node::Contains(of, length) => {
                    array.counts.push(Count { range: Range { from: 0, to: None }, formula: of, length });
                }
                Node::ItemCount(length) => array.length = array.length.and(&length),
                Node::UniqueItems => array.unique = Some(is_positive),
                _ => {}
            }
        }
        // Apart from the positions that some formula names, the counts determine how many items are needed.
        let ranges = array.each.iter().map(|(range, _)| range).chain(array.counts.iter().map(|count| &count.range));
        let first = ranges.map(|range| range.to.unwrap_or(range.from)).max().unwrap_or(0) as u64;
        let needed: u64 = array.counts.iter().map(|count| count.length.min).fold(0, u64::saturating_add);
        let pair = if array.unique == Some(false) { 2 } else { 0 };
        let longest = array.length.min.max(first.saturating_add(needed).saturating_add(pair));
        let longest = array.length.max.map_or(longest, |max| max.min(longest));
        if array.length.is_empty() {
            return Outcome::Empty;
        }
        if array.length.min > MAX_ITEMS as u64 {
            return Outcome::Unknown(Reason::Budget);
        }
        array.longest = usize::try_from(longest).unwrap_or(usize::MAX);
        let progress = Progress {
            items: Vec::new(),
            missing: array.counts.iter().map(|count| count.length.min).collect(),
            left: array.counts.iter().map(|count| count.length.max).collect(),
        };
        self.extend(&array, progress, &mut HashSet::new()).unwrap_or_else(Outcome::Unknown)
    }

    /// Tries to end the array here. If that fails, adds another item.
    fn extend(&mut self, array: &Array, progress: Progress, failed: &mut HashSet<Rest>) -> Result<Outcome, Reason> {
        self.spend(1)?;
        let index = progress.items.len();
        let mut unknown = None;
        if index as u64 >= array.length.min && progress.missing.iter().all(|missing| *missing == 0) {
            match self.finish(array, &progress.items)? {
                Outcome::Empty => {}
                Outcome::Unknown(reason) => unknown = Some(reason),
                found => return Ok(found),
            }
        }
        let state = (index, progress.missing.clone(), progress.left.clone());
        if index == array.longest || failed.contains(&state) {
            return Ok(unknown.map_or(Outcome::Empty, Outcome::Unknown));
        }
        if index == MAX_ITEMS {
            return Err(Reason::Budget);
        }
        for next in array.next(&progress) {
            let goal = next.items[index].clone();
            let outcome = match self.solve(goal) {
                Outcome::Found(_) => self.extend(array, next, failed)?,
                other => other,
            };
            match outcome {
                Outcome::Empty => {}
                Outcome::Unknown(reason) => unknown = Some(reason),
                found => return Ok(found),
            }
        }
        if unknown.is_none() && array.unique.is_none() {
            // Only the state matters from here on, not which items led to it.
            failed.insert(state);
        }
        Ok(unknown.map_or(Outcome::Empty, Outcome::Unknown))
    }

    fn finish(&mut self, array: &Array, items: &[Goal]) -> Result<Outcome, Reason> {
        match array.unique {
            Some(true) if items.len() > 1 => return self.distinct(items),
            Some(false) => return self.with_pair(items),
            _ => {}
        }
        let mut values = Vec::new();
        for goal in items {
            match self.solve(goal.iter().copied()) {
                Outcome::Found(value) => values.push((*value).clone()),
                other => return Ok(other),
            }
        }
        Ok(Outcome::found(Json::Array(values)))
    }

    /// Solves the items so that at least two of them are equal.
    fn with_pair(&mut self, items: &[Goal]) -> Result<Outcome, Reason> {
        let mut unknown = None;
        for first in 0..items.len() {
            for second in first + 1..items.len() {
                self.spend(1)?;
                let both = [items[first].as_slice(), &items[second]].concat();
                let mut merged = items.to_vec();
                (merged[first], merged[second]) = (both.clone(), both);
                match self.finish(&Array::default(), &merged)? {
                    Outcome::Empty => {}
                    Outcome::Unknown(reason) => unknown = Some(reason),
                    found => return Ok(found),
                }
            }
        }
        Ok(unknown.map_or(Outcome::Empty, Outcome::Unknown))
    }

    /// Solves the items so that all differ. With `n` items, `n` candidates per item are enough: the other items take at
    /// most `n - 1` of them.
    fn distinct(&mut self, items: &[Goal]) -> Result<Outcome, Reason> {
        let mut known: HashMap<&Goal, Vec<Json>> = HashMap::new();
        for goal in items {
            if !known.contains_key(goal) {
                let values = self.several(goal, items.len())?;
                known.insert(goal, values);
            }
        }
        let options: Vec<&[Json]> = items.iter().map(|goal| known[goal].as_slice()).collect();
        // The item that took each value, by the value's key.
        let mut taken: HashMap<String, (usize, &Json)> = HashMap::new();
        for item in 0..items.len() {
            if !assign(item, &options, &mut taken, &mut HashSet::new()) {
                return Ok(Outcome::Empty);
            }
        }
        let mut chosen: Vec<(usize, &Json)> = taken.into_values().collect();
        chosen.sort_by_key(|(item, _)| *item);
        Ok(Outcome::found(Json::Array(chosen.into_iter().map(|(_, value)| value.clone()).collect())))
    }

    /// Returns up to `count` different solutions.
    fn several(&mut self, goal: &Goal, count: usize) -> Result<Vec<Json>, Reason> {
        let mut values = Vec::new();
        while values.len() < count {
            let others = self.formulas.values(&values).not();
            match self.solve(goal.iter().copied().chain([others])) {
                Outcome::Found(value) => values.push((*value).clone()),
                Outcome::Empty => break,
                Outcome::Unknown(reason) => return Err(reason),
            }
        }
        Ok(values)
    }
}

impl Array {
    fn next(&self, progress: &Progress) -> Vec<Progress> {
        let index = progress.items.len();
        let mut next = progress.clone();
        next.items.push(self.each.iter().filter(|(range, _)| range.contains(index)).map(|(_, of)| *of).collect());
        let mut ways = vec![next];
        for (number, count) in self.counts.iter().enumerate().filter(|(_, count)| count.range.contains(index)) {
            let is_counted = |mut way: Progress| {
                way.items[index].push(count.formula);
                way.missing[number] = way.missing[number].saturating_sub(1);
                way.left[number] = way.left[number].map(|left| left.checked_sub(1)).unwrap_or_default();
                way
            };
            let is_not = |mut way: Progress| {
                way.items[index].push(count.formula.not());
                way
            };
            ways = ways
                .into_iter()
                .flat_map(|way| match (way.missing[number], way.left[number]) {
                    (0, None) => vec![way],
                    (_, None) => vec![is_counted(way.clone()), way],
                    (_, Some(0)) => vec![is_not(way)],
                    (0, Some(_)) => vec![is_not(way.clone()), is_counted(way)],
                    (_, Some(_)) => vec![is_counted(way.clone()), is_not(way)],
                })
                .collect();
        }
        ways
    }
}

/// Assigns a value to an item, moving other items to another value if necessary (augmenting path of a bipartite
/// matching).
fn assign<'v>(
    item: usize,
    options: &[&'v [Json]],
    taken: &mut HashMap<String, (usize, &'v Json)>,
    tried: &mut HashSet<String>,
) -> bool {
    if let Some(free) = options[item].iter().find(|value| !taken.contains_key(&value.key())) {
        taken.insert(free.key(), (item, free));
        return true;
    }
    options[item].iter().any(|value| {
        let key = value.key();
        if !tried.insert(key.clone()) {
            return false;
        }
        let owner = taken.get(&key).map(|(owner, _)| *owner);
        let is_free = owner.is_none_or(|owner| assign(owner, options, taken, tried));
        if is_free {
            taken.insert(key, (item, value));
        }
        is_free
    })
}
