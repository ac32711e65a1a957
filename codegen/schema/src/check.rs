//! Checks: assertions of JSON Schema as data, and their evaluation on a document.
//!
//! As in JSON Schema, a check for one JSON type accepts all values of other types. `generated/src/codec/check.rs`
//! evaluates the same checks on an index of JSON text.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use indexmap::IndexMap;
use serde_json::Number;

use crate::failure::{Failure, describe, json_text, literal, number_text, one_of};
use crate::json::{Json, compare};
use crate::json_types::JsonTypes;
use crate::limits::{Bounds, Length};
use crate::text::{counted, pattern};

/// An assertion.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    /// Accepts every value.
    Anything,
    /// Accepts no value.
    Nothing,
    /// All checks hold.
    All(Vec<Check>),
    /// At least one check holds.
    Any(Vec<Check>),
    /// Exactly one check holds.
    One(Vec<Check>),
    /// The check does not hold.
    Not(Box<Check>),
    /// The second check holds if the first one does, otherwise the third.
    If(Box<[Check; 3]>),
    /// The check of the definition with this name holds.
    Definition(String),
    /// The JSON type is one of these.
    Type(JsonTypes),
    /// The value is one of these.
    Values(Vec<Json>),
    /// A number is within bounds.
    Bounds(Bounds),
    /// A number is a multiple of this number.
    MultipleOf(Number),
    /// The number of code points of a string is within limits.
    Length(Length),
    /// A part of a string matches this ECMA-262 regular expression.
    Pattern(String),
    /// The number of items of an array is within limits.
    ItemCount(Length),
    /// The checks on the first items of an array hold, and the check on all other items.
    Items(Vec<Check>, Option<Box<Check>>),
    /// No two items of an array are equal.
    UniqueItems,
    /// The number of items of an array that the check accepts is within limits.
    Contains(Box<Check>, Length),
    /// The number of members of an object is within limits.
    MemberCount(Length),
    /// An object has these members.
    Required(Vec<String>),
    /// The check holds for the name of each member of an object.
    Names(Box<Check>),
    /// Checks on the members of an object hold.
    Members(Box<Members>),
    /// If an object has this member, the check on the object holds.
    IfPresent(String, Box<Check>),
    /// A check holds, and so do checks on the members and items that it did not evaluate.
    Unevaluated(Box<Unevaluated>),
}

/// Checks on the members of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members {
    /// The checks on members with these names.
    pub named: Vec<(String, Check)>,
    /// The checks on members whose names match these patterns.
    pub patterns: Vec<(String, Check)>,
    /// The check on all other members.
    pub others: Option<Check>,
}

/// Checks on the members and items that another check did not evaluate.
#[derive(Clone, Debug, PartialEq)]
pub struct Unevaluated {
    /// The check that is evaluated first.
    pub base: Check,
    /// The check on members.
    pub members: Option<Check>,
    /// The check on items.
    pub items: Option<Check>,
}

/// The checks of the definitions that other checks refer to, by name.
pub type Definitions = IndexMap<String, Check>;

/// The definitions, and the results of those that were evaluated. Without the results, nested alternatives would take
/// exponential time.
struct Scope<'d> {
    definitions: &'d Definitions,
    /// The results by the addresses of the definition and the value, and by whether the caller needs the evaluated
    /// members and items.
    known: RefCell<HashMap<(usize, usize, bool), Known>>,
}

/// The result of a definition, with the members and items that it evaluated.
type Known = Result<Rc<HashSet<usize>>, Failure>;

impl<'d> Scope<'d> {
    fn new(definitions: &'d Definitions) -> Self {
        Scope { definitions, known: RefCell::default() }
    }

    fn definition(&self, name: &str, value: &Json, seen: Evaluated<'_>) -> Result<(), Failure> {
        let Some(check) = self.definitions.get(name) else { return Ok(()) };
        let key = (std::ptr::from_ref(check) as usize, address(value), seen.is_some());
        let known = self.known.borrow().get(&key).cloned();
        let known = known.unwrap_or_else(|| {
            let mut evaluated = HashSet::new();
            let result = check.eval(value, self, seen.is_some().then_some(&mut evaluated));
            let result = result.map(|()| Rc::new(evaluated));
            self.known.borrow_mut().insert(key, result.clone());
            result
        });
        let evaluated = known?;
        if let Some(seen) = seen {
            seen.extend(evaluated.iter());
        }
        Ok(())
    }
}

/// The addresses of the members and items that were evaluated. `None` if the caller does not need them.
type Evaluated<'e> = Option<&'e mut HashSet<usize>>;

impl Check {
    /// Returns whether the check holds for a value.
    pub fn accepts(&self, value: &Json, definitions: &Definitions) -> bool {
        self.check(value, definitions).is_ok()
    }

    /// Checks a value.
    ///
    /// # Errors
    /// Returns the first violation.
    pub fn check(&self, value: &Json, definitions: &Definitions) -> Result<(), Failure> {
        self.eval(value, &Scope::new(definitions), None)
    }

    /// Collects the definitions that the check applies to the same value.
    pub fn direct<'c>(&'c self, names: &mut Vec<&'c str>) {
        match self {
            Check::Definition(name) => names.push(name),
            Check::All(checks) | Check::Any(checks) | Check::One(checks) => {
                checks.iter().for_each(|check| check.direct(names));
            }
            Check::Not(check) | Check::IfPresent(_, check) => check.direct(names),
            Check::If(parts) => parts.iter().for_each(|check| check.direct(names)),
            Check::Unevaluated(unevaluated) => unevaluated.base.direct(names),
            _ => {}
        }
    }

    /// Collects all definitions that the check refers to.
    pub fn definitions<'c>(&'c self, names: &mut Vec<&'c str>) {
        match self {
            Check::Items(first, rest) => {
                first.iter().chain(rest.as_deref()).for_each(|check| check.definitions(names));
            }
            Check::Contains(check, _) | Check::Names(check) | Check::Not(check) | Check::IfPresent(_, check) => {
                check.definitions(names);
            }
            Check::Members(members) => {
                let checks = members.named.iter().chain(&members.patterns).map(|(_, check)| check);
                checks.chain(&members.others).for_each(|check| check.definitions(names));
            }
            Check::Unevaluated(it) => {
                let checks = [Some(&it.base), it.members.as_ref(), it.items.as_ref()];
                checks.into_iter().flatten().for_each(|check| check.definitions(names));
            }
            Check::All(checks) | Check::Any(checks) | Check::One(checks) => {
                checks.iter().for_each(|check| check.definitions(names));
            }
            Check::If(parts) => parts.iter().for_each(|check| check.definitions(names)),
            other => other.direct(names),
        }
    }

    /// Returns whether the check contains a regular expression. Definitions that it refers to are not searched.
    pub fn has_patterns(&self) -> bool {
        let any = |checks: &[Check]| checks.iter().any(Check::has_patterns);
        match self {
            Check::Pattern(_) => true,
            Check::All(checks) | Check::Any(checks) | Check::One(checks) => any(checks),
            Check::If(parts) => any(&parts[..]),
            Check::Items(first, rest) => any(first) || rest.as_deref().is_some_and(Check::has_patterns),
            Check::Contains(check, _) | Check::Names(check) | Check::Not(check) | Check::IfPresent(_, check) => {
                check.has_patterns()
            }
            Check::Members(members) => {
                let mut checks = members.named.iter().map(|(_, check)| check).chain(&members.others);
                !members.patterns.is_empty() || checks.any(Check::has_patterns)
            }
            Check::Unevaluated(it) => {
                let others = [it.members.as_ref(), it.items.as_ref()];
                it.base.has_patterns() || others.into_iter().flatten().any(Check::has_patterns)
            }
            _ => false,
        }
    }

    fn eval(&self, value: &Json, scope: &Scope<'_>, mut seen: Evaluated<'_>) -> Result<(), Failure> {
        match (self, value) {
            (Check::Anything, _) => Ok(()),
            (Check::Nothing, _) => Err(Failure::new("no value is valid here")),
            (Check::All(checks), _) => {
                checks.iter().try_for_each(|check| check.eval(value, scope, seen.as_deref_mut()))
            }
            (Check::Any(checks), _) => any(checks, value, scope, seen),
            (Check::One(checks), _) => one(checks, value, scope, seen),
            (Check::Not(check), _) => match holds(check.eval(value, scope, None))? {
                true => Err(Failure::expected("a value that the schema in `not` rejects", describe(value))),
                false => Ok(()),
            },
            (Check::If(parts), _) => {
                let [condition, then, otherwise] = &**parts;
                let is_valid = holds(collect(condition, value, scope, seen.as_deref_mut()))?;
                let next = if is_valid { then } else { otherwise };
                next.eval(value, scope, seen)
            }
            (Check::Definition(name), _) => scope.definition(name, value, seen),
            (Check::Type(types), _) => check_type(*types, value),
            (Check::Values(values), _) => match values.contains(value) {
                true => Ok(()),
                false => {
                    let expected: Vec<String> = values.iter().map(literal).collect();
                    Err(Failure::expected(one_of(&expected), describe(value)))
                }
            },
            (Check::Bounds(bounds), Json::Number(number)) => check_bounds(bounds, number),
            (Check::MultipleOf(divisor), Json::Number(number)) if !is_multiple(number, divisor) => {
                Err(Failure::expected(format_args!("a multiple of {}", number_text(divisor)), number_text(number)))
            }
            (Check::Length(length), Json::String(text)) => check_length(length, text.chars().count(), "characters"),
            (Check::Pattern(pattern), Json::String(text)) if !matches(pattern, text)? => {
                Err(Failure::expected(format_args!("a string that matches {}", json_text(pattern)), json_text(text)))
            }
            (Check::ItemCount(length), Json::Array(items)) => check_length(length, items.len(), "items"),
            (Check::UniqueItems, Json::Array(items)) => unique(items),
            (Check::Contains(check, count), Json::Array(items)) => contains(check, count, items, scope, seen),
            (Check::Items(first, rest), Json::Array(items)) => check_items(first, rest.as_deref(), items, scope, seen),
            (Check::MemberCount(length), Json::Object(members)) => check_length(length, members.len(), "members"),
            (Check::Required(names), Json::Object(members)) => {
                match names.iter().find(|name| !members.contains_key(*name)) {
                    Some(name) => Err(Failure::new("missing required member").at_key(name)),
                    None => Ok(()),
                }
            }
            (Check::Names(check), Json::Object(members)) => members.keys().try_for_each(|name| {
                // Uses a new scope, because results are stored by address and the value of the name is temporary.
                let result = check.check(&Json::String(name.clone()), scope.definitions);
                result.map_err(|failure| failure.in_name().at_key(name))
            }),
            (Check::Members(checks), Json::Object(members)) => {
                by_name(members).into_iter().try_for_each(|(name, member)| {
                    checks.eval(name, member, scope, seen.as_deref_mut()).map_err(|failure| failure.at_key(name))
                })
            }
            (Check::IfPresent(name, check), Json::Object(members)) if members.contains_key(name) => {
                check.eval(value, scope, seen)
            }
            (Check::Unevaluated(unevaluated), _) => unevaluated.eval(value, scope, seen),
            _ => Ok(()),
        }
    }
}

impl Members {
    fn eval(&self, name: &str, member: &Json, scope: &Scope<'_>, mut seen: Evaluated<'_>) -> Result<(), Failure> {
        let mut is_known = false;
        for (_, check) in self.named.iter().filter(|(known, _)| known == name) {
            is_known = true;
            check.eval(member, scope, None)?;
        }
        for (pattern, check) in &self.patterns {
            if matches(pattern, name)? {
                is_known = true;
                check.eval(member, scope, None)?;
            }
        }
        if !is_known {
            let Some(check) = &self.others else { return Ok(()) };
            if *check == Check::Nothing {
                return Err(Failure::new("unexpected member"));
            }
            check.eval(member, scope, None)?;
        }
        mark(&mut seen, member);
        Ok(())
    }
}

impl Unevaluated {
    fn eval(&self, value: &Json, scope: &Scope<'_>, seen: Evaluated<'_>) -> Result<(), Failure> {
        let mut evaluated = HashSet::new();
        self.base.eval(value, scope, Some(&mut evaluated))?;
        match (value, &self.members, &self.items) {
            (Json::Object(members), Some(check), _) => {
                for (name, member) in by_name(members) {
                    if evaluated.insert(address(member)) {
                        let result = match check {
                            Check::Nothing => Err(Failure::new("unexpected member")),
                            check => check.eval(member, scope, None),
                        };
                        result.map_err(|failure| failure.at_key(name))?;
                    }
                }
            }
            (Json::Array(items), _, Some(check)) => {
                for (index, item) in items.iter().enumerate() {
                    if evaluated.insert(address(item)) {
                        check.eval(item, scope, None).map_err(|failure| failure.at_index(index))?;
                    }
                }
            }
            _ => {}
        }
        if let Some(seen) = seen {
            seen.extend(evaluated);
        }
        Ok(())
    }
}

/// Returns members sorted by name.
fn by_name(members: &IndexMap<String, Json>) -> Vec<(&String, &Json)> {
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by_key(|(name, _)| *name);
    members
}

fn address(value: &Json) -> usize {
    std::ptr::from_ref(value) as usize
}

fn mark(seen: &mut Evaluated<'_>, value: &Json) {
    if let Some(seen) = seen {
        seen.insert(address(value));
    }
}

/// Returns whether a part of the text matches.
pub fn matches(pattern: &str, text: &str) -> Result<bool, Failure> {
    pattern::matches(pattern, text).map_err(|_| Failure::too_expensive(pattern))
}

/// Returns whether a check holds, unless a pattern was given up.
fn holds(result: Result<(), Failure>) -> Result<bool, Failure> {
    match result {
        Ok(()) => Ok(true),
        Err(failure) if failure.is_given_up => Err(failure),
        Err(_) => Ok(false),
    }
}

/// Evaluates a check. If it fails, its members and items do not count as evaluated.
fn collect(check: &Check, value: &Json, scope: &Scope<'_>, seen: Evaluated<'_>) -> Result<(), Failure> {
    let Some(seen) = seen else { return check.eval(value, scope, None) };
    let mut evaluated = HashSet::new();
    check.eval(value, scope, Some(&mut evaluated))?;
    seen.extend(evaluated);
    Ok(())
}

fn any(checks: &[Check], value: &Json, scope: &Scope<'_>, mut seen: Evaluated<'_>) -> Result<(), Failure> {
    let (mut is_valid, mut failure) = (false, None);
    for check in checks {
        match collect(check, value, scope, seen.as_deref_mut()) {
            Ok(()) => is_valid = true,
            Err(error) if error.is_given_up => return Err(error),
            Err(error) => failure = failure.or(Some(error)),
        }
        // If the caller does not need the evaluated members and items, one check that holds is enough.
        if is_valid && seen.is_none() {
            return Ok(());
        }
    }
    match (is_valid, checks, failure) {
        (true, ..) => Ok(()),
        (false, [_], Some(failure)) => Err(failure),
        _ => Err(Failure::expected(
            format_args!("a value that one of {} alternatives accepts", checks.len()),
            describe(value),
        )),
    }
}

fn one(checks: &[Check], value: &Json, scope: &Scope<'_>, mut seen: Evaluated<'_>) -> Result<(), Failure> {
    let mut holding = 0_usize;
    for check in checks {
        holding += usize::from(holds(collect(check, value, scope, seen.as_deref_mut()))?);
    }
    match holding {
        1 => Ok(()),
        0 => Err(Failure::expected(
            format_args!("a value that one of {} alternatives accepts", checks.len()),
            describe(value),
        )),
        _ => Err(Failure::expected(
            format_args!("a value that exactly one of {} alternatives accepts", checks.len()),
            format_args!("one that {holding} accept"),
        )),
    }
}

fn check_type(types: JsonTypes, value: &Json) -> Result<(), Failure> {
    if types.contains(JsonTypes::of(value)) {
        return Ok(());
    }
    Err(Failure::mismatch(&types.words(), value))
}

fn check_items(
    first: &[Check],
    rest: Option<&Check>,
    items: &[Json],
    scope: &Scope<'_>,
    mut seen: Evaluated<'_>,
) -> Result<(), Failure> {
    for (index, item) in items.iter().enumerate() {
        let Some(check) = first.get(index).or(rest) else { break };
        check.eval(item, scope, None).map_err(|failure| failure.at_index(index))?;
        mark(&mut seen, item);
    }
    Ok(())
}

fn contains(
    check: &Check,
    count: &Length,
    items: &[Json],
    scope: &Scope<'_>,
    mut seen: Evaluated<'_>,
) -> Result<(), Failure> {
    let mut found = 0;
    for (index, item) in items.iter().enumerate() {
        if holds(check.eval(item, scope, None)).map_err(|failure| failure.at_index(index))? {
            found += 1;
            mark(&mut seen, item);
        }
    }
    check_length(count, found, "items that `contains` accepts")
}

/// Checks a number against bounds.
pub fn check_bounds(bounds: &Bounds, number: &Number) -> Result<(), Failure> {
    let (min, max) = (bounds.min.as_ref(), bounds.max.as_ref());
    let relation = match (
        min.map(|bound| (compare(number, &bound.value), bound)),
        max.map(|bound| (compare(number, &bound.value), bound)),
    ) {
        (Some((order, bound)), _) if order.is_lt() && !bound.exclusive => {
            format!("at least {}", number_text(&bound.value))
        }
        (Some((order, bound)), _) if order.is_le() && bound.exclusive => {
            format!("more than {}", number_text(&bound.value))
        }
        (_, Some((order, bound))) if order.is_gt() && !bound.exclusive => {
            format!("at most {}", number_text(&bound.value))
        }
        (_, Some((order, bound))) if order.is_ge() && bound.exclusive => {
            format!("less than {}", number_text(&bound.value))
        }
        _ => return Ok(()),
    };
    Err(Failure::expected(relation, number_text(number)))
}

/// Checks a number of characters, items or members.
pub fn check_length(length: &Length, found: usize, unit: &str) -> Result<(), Failure> {
    let (relation, limit) = match length.max {
        _ if (found as u64) < length.min => ("at least", length.min),
        Some(max) if found as u64 > max => ("at most", max),
        _ => return Ok(()),
    };
    // Some units go on after the noun: `items that …`.
    let (noun, rest) = unit.split_at(unit.find(' ').unwrap_or(unit.len()));
    Err(Failure::expected(format_args!("{relation} {}{rest}", counted(limit, noun)), found))
}

fn unique(items: &[Json]) -> Result<(), Failure> {
    let mut seen: HashSet<String> = HashSet::new();
    match items.iter().position(|item| !seen.insert(item.key())) {
        None => Ok(()),
        Some(index) => {
            let failure = Failure::expected("unique items", "a duplicate");
            Err(failure.at_index(index))
        }
    }
}

/// Returns whether a number is an integer multiple of the divisor. Uses decimal arithmetic.
pub fn is_multiple(number: &Number, divisor: &Number) -> bool {
    let (Some(number), Some(divisor)) = (decimal(number), decimal(divisor)) else { return false };
    let ((digits, exponent), (unit, unit_exponent)) = (number, divisor);
    if digits == 0 || unit == 0 {
        return digits == 0;
    }
    let power = exponent - unit_exponent;
    if power < 0 {
        // If the scaled divisor overflows, it is larger than the number.
        return 10_u128
            .checked_pow(power.unsigned_abs())
            .and_then(|scale| scale.checked_mul(unit))
            .is_some_and(|unit| digits % unit == 0);
    }
    (0..power).fold(digits % unit, |rest, _| rest * 10 % unit) == 0
}

/// Returns the digits and the exponent of a number's absolute value.
fn decimal(number: &Number) -> Option<(u128, i32)> {
    let text = match (number.as_u64(), number.as_i64()) {
        (Some(value), _) => value.to_string(),
        (None, Some(value)) => value.unsigned_abs().to_string(),
        (None, None) => number.as_f64()?.abs().to_string(),
    };
    let (integral, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits = format!("{integral}{fraction}");
    let significant = digits.trim_end_matches('0');
    let zeros = i32::try_from(digits.len() - significant.len()).ok()?;
    let exponent = zeros - i32::try_from(fraction.len()).ok()?;
    if significant.is_empty() { Some((0, 0)) } else { Some((significant.parse().ok()?, exponent)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_are_exact() {
        let number = |text: &str| text.parse::<Number>().expect("a number");
        for (value, divisor, expected) in [
            ("4.5", "1.5", true),
            ("35", "1.5", false),
            ("0.0075", "0.0001", true),
            ("0.00751", "0.0001", false),
            ("0.3", "0.1", true),
            ("1e300", "3", false),
            ("1e300", "10", true),
            ("12391239123", "1e-8", true),
            ("-7", "7", true),
            ("0", "5", true),
            ("18446744073709551615", "5", true),
            ("1", "2.0", false),
            ("1e308", "0.123456789", false),
            ("1e-300", "1e-301", true),
        ] {
            assert_eq!(is_multiple(&number(value), &number(divisor)), expected, "{value} of {divisor}");
        }
    }
}
