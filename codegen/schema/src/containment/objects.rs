//! Solves objects: which members must exist, and what their values must satisfy.
//!
//! Names that no formula tells apart are interchangeable and form a cell. Names that a formula mentions are treated one
//! by one.

use indexmap::IndexMap;
use mcpgen_pattern::Language;

use super::formula::{Formula, Names, Node};
use super::search::{Goal, Outcome, Search};
use super::texts::matching;
use super::verdict::Reason;
use crate::json::Json;
use crate::limits::Length;

struct Object {
    /// For each entry, every member with such a name must satisfy the formula.
    each: Vec<(Names, Formula)>,
    /// For each entry, some member with such a name and value must exist.
    some: Vec<(Names, Formula)>,
    count: Length,
    listed: Vec<String>,
}

/// Interchangeable names, and what the value of such a member must satisfy.
struct Cell {
    names: Vec<String>,
    goal: Goal,
}

#[derive(Clone)]
struct Member {
    name: String,
    goal: Goal,
}

/// The search gives up if it would need more members or cells.
const MAX_MEMBERS: u64 = 1_000;
const MAX_CELLS: usize = 64;

impl Search<'_> {
    pub(super) fn object(&mut self, formulas: &[Formula]) -> Outcome {
        let mut object = Object { each: Vec::new(), some: Vec::new(), count: Length::default(), listed: Vec::new() };
        for formula in formulas {
            match self.formulas.node(*formula).clone() {
                Node::Members(names, of) if formula.is_positive() => object.each.push((names, of)),
                Node::Members(names, of) => object.some.push((names, of.not())),
                Node::MemberCount(length) => object.count = object.count.and(&length),
                _ => {}
            }
        }
        if object.count.is_empty() {
            return Outcome::Empty;
        }
        let all = object.each.iter().chain(&object.some);
        object.listed = all.flat_map(|(names, _)| names.listed().iter().cloned()).collect();
        object.listed.sort();
        object.listed.dedup();
        // Members with a fixed name come first, because they leave no choice.
        object.some.sort_by_key(|(names, _)| !matches!(names, Names::One(_)));
        self.place(&object, 0, &mut Vec::new()).unwrap_or_else(Outcome::Unknown)
    }

    /// Places the required members from `index` on. Tries every option for each.
    fn place(&mut self, object: &Object, index: usize, members: &mut Vec<Member>) -> Result<Outcome, Reason> {
        self.spend(1)?;
        if object.count.max.is_some_and(|max| members.len() as u64 > max) {
            return Ok(Outcome::Empty);
        }
        let Some((names, formula)) = object.some.get(index) else { return self.fill(object, members) };
        let mut unknown = None;
        for option in self.options(object, names, members)? {
            let before = members.clone();
            let member = match members.iter_mut().find(|member| member.name == option.name) {
                Some(known) => known,
                None => {
                    members.push(option);
                    let last = members.len() - 1;
                    &mut members[last]
                }
            };
            member.goal.push(*formula);
            let goal = member.goal.clone();
            let outcome = match self.solve(goal) {
                Outcome::Found(_) => self.place(object, index + 1, members)?,
                other => other,
            };
            match outcome {
                Outcome::Empty => {}
                Outcome::Unknown(reason) => unknown = Some(reason),
                found => return Ok(found),
            }
            *members = before;
        }
        Ok(unknown.map_or(Outcome::Empty, Outcome::Unknown))
    }

    /// Returns the members that could satisfy a requirement: new ones first, then existing ones.
    fn options(&mut self, object: &Object, names: &Names, members: &[Member]) -> Result<Vec<Member>, Reason> {
        if let Names::One(name) = names {
            return Ok(vec![Member { name: name.clone(), goal: self.goal_of(object, name)? }]);
        }
        let mut options = Vec::new();
        for cell in self.cells(object, members.len() + 1)? {
            let Some(first) = cell.names.first() else { continue };
            if self.has_name(names, first).ok_or(Reason::Pattern)? {
                let fresh = cell.names.iter().find(|name| members.iter().all(|member| member.name != **name));
                options.extend(fresh.map(|name| Member { name: name.clone(), goal: cell.goal.clone() }));
            }
        }
        let known = members.iter().map(|member| &member.name).filter(|name| !object.listed.contains(name));
        for name in known.chain(&object.listed) {
            if self.has_name(names, name).ok_or(Reason::Pattern)? {
                options.push(Member { name: name.clone(), goal: self.goal_of(object, name)? });
            }
        }
        Ok(options)
    }

    fn goal_of(&self, object: &Object, name: &str) -> Result<Goal, Reason> {
        let mut goal = Vec::new();
        for (names, formula) in &object.each {
            if self.has_name(names, name).ok_or(Reason::Pattern)? {
                goal.push(*formula);
            }
        }
        Ok(goal)
    }

    /// Divides the names that no formula mentions into cells. Returns up to `count` names of each.
    fn cells(&mut self, object: &Object, count: usize) -> Result<Vec<Cell>, Reason> {
        let mut sets: IndexMap<String, Language> = IndexMap::new();
        for (names, _) in object.each.iter().chain(&object.some) {
            match names {
                Names::One(_) => {}
                Names::Pattern(text) => drop(sets.insert(format!("~{text}"), matching(text))),
                Names::Others(_, patterns) => {
                    sets.extend(patterns.iter().map(|text| (format!("~{text}"), matching(text))));
                }
                Names::Where(formula) => drop(sets.insert(format!("{formula:?}"), self.texts(*formula))),
            }
        }
        // Each set contains a cell entirely or not at all.
        let mut cells: Vec<(String, Vec<Language>)> = vec![Default::default()];
        // One more than needed, because the empty name is used last.
        let wanted = count + object.listed.len() + 1;
        for (key, language) in sets {
            let mut next = Vec::new();
            for (name, all) in cells {
                for (sign, side) in [("+", language.clone()), ("-", Language::Not(Box::new(language.clone())))] {
                    let cell = (format!("{name}{sign}{key}\0"), all.iter().cloned().chain([side]).collect());
                    if !self.names_in(&cell, 1)?.is_empty() {
                        next.push(cell);
                    }
                }
            }
            cells = next;
            if cells.len() > MAX_CELLS {
                return Err(Reason::Budget);
            }
        }
        let mut found = Vec::new();
        for cell in cells {
            let mut names = self.names_in(&cell, wanted)?;
            names.retain(|name| object.listed.binary_search(name).is_err());
            names.truncate(count);
            if let Some(first) = names.first() {
                let goal = self.goal_of(object, first)?;
                found.push(Cell { names, goal });
            }
        }
        Ok(found)
    }

    fn names_in(&mut self, (key, all): &(String, Vec<Language>), count: usize) -> Result<Vec<String>, Reason> {
        let key = format!("{count}{key}");
        if let Some(known) = self.names.get(&key) {
            return known.clone();
        }
        let mut names = self.words(&Language::All(all.clone()), count);
        if let Ok(names) = &mut names {
            // An empty name looks odd in a witness.
            names.sort_by_key(String::is_empty);
        }
        self.names.insert(key, names.clone());
        names
    }

    /// Adds members until the minimum is met, then solves their values.
    fn fill(&mut self, object: &Object, members: &[Member]) -> Result<Outcome, Reason> {
        let mut members = members.to_vec();
        let missing = object.count.min.saturating_sub(members.len() as u64);
        if missing > MAX_MEMBERS {
            return Err(Reason::Budget);
        }
        let wanted = object.count.min.max(members.len() as u64) as usize;
        if missing > 0 {
            let mut unknown = None;
            let cells = self.cells(object, wanted)?;
            let cells = cells
                .into_iter()
                .flat_map(|cell| cell.names.into_iter().map(move |name| Member { name, goal: cell.goal.clone() }));
            let mut more: Vec<Member> = cells.collect();
            for name in &object.listed {
                more.push(Member { name: name.clone(), goal: self.goal_of(object, name)? });
            }
            for member in more {
                if members.len() == wanted {
                    break;
                }
                if members.iter().all(|known| known.name != member.name) {
                    match self.solve(member.goal.iter().copied()) {
                        Outcome::Found(_) => members.push(member),
                        Outcome::Unknown(reason) => unknown = Some(reason),
                        Outcome::Empty => {}
                    }
                }
            }
            if members.len() < wanted {
                return Ok(unknown.map_or(Outcome::Empty, Outcome::Unknown));
            }
        }
        let mut values = IndexMap::new();
        for Member { name, goal } in members {
            match self.solve(goal) {
                Outcome::Found(value) => drop(values.insert(name, (*value).clone())),
                other => return Ok(other),
            }
        }
        Ok(Outcome::found(Json::Object(values)))
    }
}
