//! Selects a union's variant by ordered guards, never by trial.

use super::words::one_of;
use super::{
    Condition, Cursor, Error, Guard, JsonTypes, Literal, Name, at_segment, literal_text, literal_types, no_variant,
};

impl<'a> Cursor<'a> {
    /// Returns the index of the variant that the value belongs to.
    ///
    /// # Errors
    /// Fails if no guard matches. The message says what the closest guards expect.
    #[doc(hidden)]
    pub fn union(self, guards: &[Guard]) -> Result<usize, Error> {
        // Most guards look at the same path as the one before.
        let mut last: (&[Name], Option<Cursor<'a>>) = (&[], Some(self));
        for guard in guards {
            let matches = guard.when.iter().all(|condition| {
                if condition.path() != last.0 {
                    last = (condition.path(), self.descend(condition.path()));
                }
                condition.holds(last.1)
            });
            if matches {
                return Ok(guard.variant);
            }
        }
        Err(self.refusal(guards))
    }

    fn descend(self, path: &[Name]) -> Option<Self> {
        path.iter().try_fold(self, |value, segment| value.get(segment))
    }

    #[cold]
    fn refusal(self, guards: &[Guard]) -> Error {
        let own = self.types();
        let types = guards.iter().fold(JsonTypes::NONE, |types, guard| types.union(guard.types()));
        if !types.contains(own) {
            return self.not_decided(types.words(), Some(self.describe_type(types.contains(JsonTypes::INTEGER))));
        }
        let possible = guards.iter().filter(|guard| guard.types().contains(own));
        let fails = |condition: &Condition| !condition.holds(self.descend(condition.path()));
        let failed = possible.filter_map(|guard| guard.when.iter().enumerate().find(|(_, condition)| fails(condition)));
        let failed: Vec<_> = failed.collect();
        // The guards that got furthest are closest to the intended variant.
        let most = failed.iter().map(|(first, _)| *first).max();
        let closest = failed.into_iter().filter(|(first, _)| Some(*first) == most).map(|(_, condition)| condition);
        let closest: Vec<_> = closest.collect();
        self.wrong_value(&closest).unwrap_or_else(|| self.wrong_members(&closest))
    }

    fn wrong_value(self, failed: &[&Condition]) -> Option<Error> {
        let (path, _) = failed.iter().find_map(|condition| condition.value())?;
        let values = failed.iter().filter_map(|condition| condition.value()).filter(|(other, _)| *other == path);
        let mut expected = Vec::new();
        for value in values.flat_map(|(_, any_of)| any_of).map(literal_text) {
            if !expected.contains(&value) {
                expected.push(value);
            }
        }
        let expected = one_of(&expected);
        if let Some(value) = self.descend(path) {
            return Some(value.not_decided(expected, Some(value.describe())));
        }
        Some(self.locate(path.iter().rev().fold(no_variant(expected, None), at_segment)))
    }

    fn wrong_members(self, failed: &[&Condition]) -> Error {
        let mut wanted = Vec::new();
        let mut unwanted = Vec::new();
        for condition in failed {
            let (names, path) = match condition {
                Condition::Present(path) => (&mut wanted, path),
                Condition::Absent(path) => (&mut unwanted, path),
                _ => continue,
            };
            let name = format!("`{}`", path.join("."));
            if !names.contains(&name) {
                names.push(name);
            }
        }
        match (wanted.is_empty(), unwanted.is_empty()) {
            (false, _) => self.not_decided(format!("a member {}", or(&wanted)), Some("none".to_owned())),
            (true, false) => self.not_decided(format!("no member {}", or(&unwanted)), Some("one".to_owned())),
            (true, true) => self.not_decided("nothing".to_owned(), Some("a value".to_owned())),
        }
    }

    fn not_decided(self, expected: String, found: Option<String>) -> Error {
        self.locate(no_variant(expected, found))
    }
}

fn or(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.concat(),
    }
}

impl Condition {
    fn value(&self) -> Option<(&[Name], &[Literal])> {
        match self {
            Self::Value(path, any_of) => Some((path, any_of)),
            _ => None,
        }
    }

    pub(crate) fn path(&self) -> &[Name] {
        match self {
            Self::Type(_) => &[],
            Self::Value(path, _) | Self::Present(path) | Self::Absent(path) => path,
        }
    }

    fn holds(&self, value: Option<Cursor<'_>>) -> bool {
        match self {
            Self::Type(types) => value.is_some_and(|value| types.contains(value.types())),
            Self::Present(_) => value.is_some(),
            Self::Absent(_) => value.is_none(),
            Self::Value(_, any_of) => value.is_some_and(|value| value.is_any_of(any_of)),
        }
    }

    /// Returns the JSON types that can satisfy the condition.
    fn types(&self) -> JsonTypes {
        match (self, self.path()) {
            (Self::Type(types), _) => *types,
            (Self::Value(_, any_of), []) => any_of.iter().fold(JsonTypes::NONE, |all, it| all.union(literal_types(it))),
            (Self::Value(..) | Self::Present(_), [head, ..]) => match head.parse::<usize>() {
                Ok(_) => JsonTypes::ARRAY,
                Err(_) => JsonTypes::OBJECT,
            },
            _ => JsonTypes::ALL,
        }
    }
}

impl Guard {
    fn types(&self) -> JsonTypes {
        self.when.iter().fold(JsonTypes::ALL, |types, condition| types.intersection(condition.types()))
    }
}
