//! Evaluates checks.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::words::{MAX_CHECKS, is_multiple, json_text};
use super::{Check, Cursor, Definitions, Error, MemberChecks, Place, Unevaluated, as_number, definition, source};

/// Collects the evaluated members and items, for `unevaluated…`. `None` if the caller does not need them.
type Evaluated<'e> = Option<&'e mut HashSet<Place>>;

struct Scope<'c> {
    definitions: Definitions<'c>,
    /// The results by definition, value, and whether evaluated members and items are wanted. Without them, nested
    /// alternatives take exponential time.
    results: RefCell<HashMap<(usize, Place, bool), KnownResult>>,
    depth: Cell<usize>,
}

/// The result for a definition, with the members and items it evaluated.
type KnownResult = Result<Rc<HashSet<Place>>, Error>;

impl<'c> Scope<'c> {
    fn definition(&self, check: &'c Check, json: Cursor<'_>, seen: Evaluated<'_>) -> Result<(), Error> {
        let key = (std::ptr::from_ref(check) as usize, json.place(), seen.is_some());
        let known = self.results.borrow().get(&key).cloned();
        let known = known.unwrap_or_else(|| {
            let mut evaluated = HashSet::new();
            let result = check.eval(json, self, seen.is_some().then_some(&mut evaluated));
            let result = result.map(|()| Rc::new(evaluated));
            self.results.borrow_mut().insert(key, result.clone());
            result
        });
        let evaluated = known?;
        if let Some(seen) = seen {
            seen.extend(evaluated.iter());
        }
        Ok(())
    }
}

impl Check {
    /// Returns the first violation. Gives up, with an error, at a pattern that takes too many steps or at deep nesting.
    pub(super) fn evaluate<'c>(&'c self, json: Cursor<'_>, definitions: Definitions<'c>) -> Result<(), Error> {
        self.eval(json, &Scope { definitions, results: RefCell::default(), depth: Cell::new(0) }, None)
    }

    /// Evaluates the check, unless it nests so deeply that the stack could overflow.
    fn eval<'c>(&'c self, json: Cursor<'_>, scope: &Scope<'c>, seen: Evaluated<'_>) -> Result<(), Error> {
        let depth = scope.depth.get();
        if depth == MAX_CHECKS {
            return Err(json.too_many_checks());
        }
        scope.depth.set(depth + 1);
        let result = self.apply(json, scope, seen);
        scope.depth.set(depth);
        result
    }

    fn apply<'c>(&'c self, json: Cursor<'_>, scope: &Scope<'c>, mut seen: Evaluated<'_>) -> Result<(), Error> {
        match self {
            Self::Anything => Ok(()),
            Self::Nothing => Err(json.no_value()),
            Self::All(checks) => checks.iter().try_for_each(|check| check.eval(json, scope, seen.as_deref_mut())),
            Self::Any(checks) => any(checks, json, scope, seen),
            Self::One(checks) => one(checks, json, scope, seen),
            Self::Not(check) if holds(check.eval(json, scope, None))? => Err(rejected(json)),
            Self::Not(_) => Ok(()),
            Self::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                let is_valid = holds(collect(condition, json, scope, seen.as_deref_mut()))?;
                if is_valid { then } else { otherwise }.eval(json, scope, seen)
            }
            Self::Definition(name) => match definition(name, scope.definitions) {
                Some(check) => scope.definition(check, json, seen),
                None => Ok(()),
            },
            Self::Type(types) => json.check_type(*types),
            Self::Values(values) => json.literal(values).map(drop),
            Self::Unevaluated(unevaluated) => unevaluated.eval(json, scope, seen),
            // As in JSON Schema, a check for one JSON type accepts all values of other types.
            _ if json.is_object() => self.object(json, scope, seen),
            _ if json.is_array() => self.array(json, scope, seen),
            _ => self.scalar(json),
        }
    }

    fn scalar(&self, json: Cursor<'_>) -> Result<(), Error> {
        match self {
            Self::Bounds(bounds) => match json.as_number() {
                Some(number) => bounds.check_number(number).map_err(|error| json.locate(error)),
                None => Ok(()),
            },
            Self::MultipleOf(divisor) => match (json.as_number(), as_number(divisor)) {
                (Some(number), Some(divisor)) if !is_multiple(&number.magnitude(), &divisor.magnitude()) => {
                    Err(json.violation(format_args!("a multiple of {divisor}"), number))
                }
                _ => Ok(()),
            },
            Self::Length(length) => match json.as_str() {
                Some(text) => {
                    let count = text.chars().count();
                    length.check_length(count, "characters").map_err(|error| json.locate(error))
                }
                None => Ok(()),
            },
            Self::Pattern(pattern) => match json.as_str() {
                Some(text) if !json.matches(pattern, &text)? => {
                    let expected = format!("a string that matches {}", json_text(source(pattern)));
                    Err(json.violation(expected, json_text(&text)))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn array<'c>(&'c self, json: Cursor<'_>, scope: &Scope<'c>, mut seen: Evaluated<'_>) -> Result<(), Error> {
        let items = json.elements()?;
        match self {
            Self::ItemCount(length) => length.check_length(items.count(), "items").map_err(|error| json.locate(error)),
            Self::UniqueItems => match json.duplicate() {
                Some(item) => Err(item.violation("unique items", "a duplicate")),
                None => Ok(()),
            },
            Self::Contains(check, length) => {
                let mut found = 0;
                for item in items {
                    if holds(check.eval(item, scope, None))? {
                        found += 1;
                        mark(&mut seen, item);
                    }
                }
                let unit = "items that `contains` accepts";
                length.check_length(found, unit).map_err(|error| json.locate(error))
            }
            Self::Items(first, rest) => {
                for (index, item) in items.enumerate() {
                    let Some(check) = first.get(index).or(rest.as_deref()) else { break };
                    check.eval(item, scope, None)?;
                    mark(&mut seen, item);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn object<'c>(&'c self, json: Cursor<'_>, scope: &Scope<'c>, mut seen: Evaluated<'_>) -> Result<(), Error> {
        match self {
            Self::MemberCount(length) => {
                let count = json.members_by_name()?.len();
                length.check_length(count, "members").map_err(|error| json.locate(error))
            }
            Self::Required(names) => match names.iter().find(|name| json.get(name).is_none()) {
                Some(name) => Err(json.missing(name)),
                None => Ok(()),
            },
            Self::Names(check) => json
                .members()?
                .try_for_each(|(name, value)| check.eval(name, scope, None).map_err(|error| value.wrong_name(&error))),
            Self::Members(checks) => json
                .members_by_name()?
                .into_iter()
                .try_for_each(|(name, value)| checks.eval(json, (name, value), scope, &mut seen)),
            Self::IfPresent(name, check) if json.get(name).is_some() => check.eval(json, scope, seen),
            _ => Ok(()),
        }
    }
}

impl MemberChecks {
    fn eval<'c>(
        &'c self,
        object: Cursor<'_>,
        (name, value): (Cursor<'_>, Cursor<'_>),
        scope: &Scope<'c>,
        seen: &mut Evaluated<'_>,
    ) -> Result<(), Error> {
        let mut is_known = false;
        for (_, check) in self.named.iter().filter(|(known, _)| name.is_str(known)) {
            is_known = true;
            check.eval(value, scope, None)?;
        }
        if !self.patterns.is_empty() {
            let text = name.as_str().unwrap_or_default();
            for (pattern, check) in self.patterns.iter() {
                if value.matches(pattern, &text)? {
                    is_known = true;
                    check.eval(value, scope, None)?;
                }
            }
        }
        if !is_known {
            match &self.others {
                Some(check) if !object.is_envelope_of(name) => other(check, value, scope)?,
                _ => return Ok(()),
            }
        }
        mark(seen, value);
        Ok(())
    }
}

impl Unevaluated {
    fn eval<'c>(&'c self, json: Cursor<'_>, scope: &Scope<'c>, seen: Evaluated<'_>) -> Result<(), Error> {
        let mut evaluated = HashSet::new();
        self.base.eval(json, scope, Some(&mut evaluated))?;
        if let Some(check) = self.members.as_ref().filter(|_| json.is_object()) {
            for (_, value) in json.members_by_name()? {
                if evaluated.insert(value.place()) {
                    other(check, value, scope)?;
                }
            }
        }
        if let Some(check) = self.items.as_ref().filter(|_| json.is_array()) {
            for item in json.elements()? {
                if evaluated.insert(item.place()) {
                    check.eval(item, scope, None)?;
                }
            }
        }
        if let Some(seen) = seen {
            seen.extend(evaluated);
        }
        Ok(())
    }
}

/// Evaluates the check on a member that neither a name nor a pattern covers.
fn other<'c>(check: &'c Check, value: Cursor<'_>, scope: &Scope<'c>) -> Result<(), Error> {
    match check {
        Check::Nothing => Err(value.unexpected()),
        check => check.eval(value, scope, None),
    }
}

fn mark(seen: &mut Evaluated<'_>, value: Cursor<'_>) {
    if let Some(seen) = seen {
        seen.insert(value.place());
    }
}

/// Returns whether a check holds. Fails only if evaluation gives up.
fn holds(result: Result<(), Error>) -> Result<bool, Error> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.is_given_up() => Err(error),
        Err(_) => Ok(false),
    }
}

/// Evaluates a check. Unless it holds, its members and items do not count as evaluated.
fn collect<'c>(check: &'c Check, json: Cursor<'_>, scope: &Scope<'c>, seen: Evaluated<'_>) -> Result<(), Error> {
    let Some(seen) = seen else { return check.eval(json, scope, None) };
    let mut evaluated = HashSet::new();
    check.eval(json, scope, Some(&mut evaluated))?;
    seen.extend(evaluated);
    Ok(())
}

fn any<'c>(checks: &'c [Check], json: Cursor<'_>, scope: &Scope<'c>, mut seen: Evaluated<'_>) -> Result<(), Error> {
    let (mut is_valid, mut failure) = (false, None);
    for check in checks {
        match collect(check, json, scope, seen.as_deref_mut()) {
            // One success is enough, unless the evaluated members and items are wanted.
            Ok(()) if seen.is_none() => return Ok(()),
            Ok(()) => is_valid = true,
            Err(error) if error.is_given_up() => return Err(error),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match (is_valid, checks, failure) {
        (true, ..) => Ok(()),
        (false, [_], Some(failure)) => Err(failure),
        _ => Err(none(checks, json)),
    }
}

fn one<'c>(checks: &'c [Check], json: Cursor<'_>, scope: &Scope<'c>, mut seen: Evaluated<'_>) -> Result<(), Error> {
    let mut holding = 0_usize;
    for check in checks {
        holding += usize::from(holds(collect(check, json, scope, seen.as_deref_mut()))?);
    }
    match holding {
        1 => Ok(()),
        0 => Err(none(checks, json)),
        _ => {
            let expected = format!("a value that exactly one of {} alternatives accepts", checks.len());
            Err(json.violation(expected, format_args!("one that {holding} accept")))
        }
    }
}

#[cold]
fn rejected(json: Cursor<'_>) -> Error {
    json.violation("a value that the schema in `not` rejects", json.describe())
}

#[cold]
fn none(checks: &[Check], json: Cursor<'_>) -> Error {
    json.violation(format_args!("a value that one of {} alternatives accepts", checks.len()), json.describe())
}
