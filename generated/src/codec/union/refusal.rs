//! Why no member of a union is responsible for a value.

use crate::codec::describe;
use crate::error::one_of;
use crate::{Error, ErrorKind};

use super::seen::{Place, Root, Seen};
use super::{Condition, Guard, JsonTypes};

impl Seen<'_, '_> {
    #[cold]
    pub(super) fn refusal(&self, guards: &[Guard]) -> Error {
        let types = guards.iter().fold(JsonTypes::NONE, |types, guard| types | guard.types());
        if !types.contains(self.types) {
            return no_member(types.words(), Some(self.found_type(types)));
        }
        let possible = guards.iter().filter(|guard| guard.types().contains(self.types));
        let failed = possible.filter_map(|guard| {
            let place = guard.when.iter().position(|condition| self.holds(condition) != Some(true))?;
            Some((place, &guard.when[place]))
        });
        let failed: Vec<_> = failed.collect();
        // A guard of which more holds is nearer to what was meant.
        let nearest = failed.iter().map(|(place, _)| *place).max();
        let failed: Vec<_> =
            failed.into_iter().filter(|(place, _)| Some(*place) == nearest).map(|(_, condition)| condition).collect();
        self.wrong_value(&failed).unwrap_or_else(|| wrong_members(&failed))
    }

    /// Guards looked for values at a path.
    fn wrong_value(&self, failed: &[&'static Condition]) -> Option<Error> {
        let (path, _) = failed.iter().find_map(|condition| condition.value())?;
        let values = failed.iter().filter_map(|condition| condition.value()).filter(|(other, _)| *other == path);
        let mut expected = Vec::new();
        for value in values.flat_map(|(_, any_of)| any_of).map(ToString::to_string) {
            if !expected.contains(&value) {
                expected.push(value);
            }
        }
        let found = match (self.place(path), &self.root) {
            (Place::Inside(tree), _) => Some(tree.describe()),
            (Place::Root, Root::Scalar(event)) => Some(describe(event)),
            (Place::Root, _) => Some(self.types.words()),
            _ => None,
        };
        let error = no_member(one_of(&expected), found);
        Some(path.iter().rev().fold(error, |error, segment| match segment.parse() {
            Ok(index) => error.at_index(index),
            Err(_) => error.at_key(*segment),
        }))
    }

    fn found_type(&self, expected: JsonTypes) -> String {
        match self.root {
            // The type alone would not explain it.
            Root::Scalar(event) if expected.contains(JsonTypes::INTEGER) => match event.as_number() {
                Some(number) => format!("number {number}"),
                None => event.type_name().to_owned(),
            },
            Root::Scalar(event) => event.type_name().to_owned(),
            _ => self.types.words(),
        }
    }
}

/// Guards looked for members to be there, or not to be there.
fn wrong_members(failed: &[&Condition]) -> Error {
    let mut wanted = Vec::new();
    let mut unwanted = Vec::new();
    for condition in failed {
        let (names, path) = match condition {
            Condition::Present { path } => (&mut wanted, path),
            Condition::Absent { path } => (&mut unwanted, path),
            _ => continue,
        };
        let name = format!("`{}`", path.join("."));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match (wanted.is_empty(), unwanted.is_empty()) {
        (false, _) => no_member(format!("a member {}", or(&wanted)), Some("none".to_owned())),
        (true, false) => no_member(format!("no member {}", or(&unwanted)), Some("one".to_owned())),
        (true, true) => no_member("nothing".to_owned(), Some("a value".to_owned())),
    }
}

fn or(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.concat(),
    }
}

fn no_member(expected: String, found: Option<String>) -> Error {
    Error::new(ErrorKind::NoMember { expected, found })
}
