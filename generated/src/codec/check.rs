//! Checks: assertions of JSON Schema that Rust types do not express.
//!
//! As in JSON Schema, a check for one JSON type accepts all values of other types.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::rc::Rc;

use crate::error::json_text;
use crate::{Error, ErrorKind, Number};

use super::index::{Document, Kind};
use super::pattern::Pattern;
use super::{Bounds, Cursor, Decode, Encode, JsonTypes, Length, Literal};

/// An assertion of a schema.
#[derive(Clone, Copy)]
pub enum Check {
    /// Accepts every value.
    Anything,
    /// Accepts no value.
    Nothing,
    /// All checks hold.
    All(&'static [Check]),
    /// At least one check holds.
    Any(&'static [Check]),
    /// Exactly one check holds.
    One(&'static [Check]),
    /// The check does not hold.
    Not(&'static Check),
    /// The second check holds if the first one does, otherwise the third.
    If(&'static [Check; 3]),
    /// The check of a definition holds.
    Definition(fn() -> &'static Check),
    /// The JSON type is one of these.
    Type(JsonTypes),
    /// The value is one of these.
    Values(&'static [Literal]),
    /// A number is within bounds.
    Bounds(Bounds),
    /// A number is a multiple of this number.
    MultipleOf(Literal),
    /// The number of code points of a string is within limits.
    Length(Length),
    /// A part of a string matches this regular expression.
    Pattern(&'static Pattern),
    /// The number of items of an array is within limits.
    ItemCount(Length),
    /// The checks on the first items of an array hold, and the check on all other items.
    Items(&'static [Check], Option<&'static Check>),
    /// No two items of an array are equal.
    UniqueItems,
    /// The number of items of an array that the check accepts is within limits.
    Contains(&'static Check, Length),
    /// The number of members of an object is within limits.
    MemberCount(Length),
    /// An object has these members.
    Required(&'static [&'static str]),
    /// The check holds for the name of each member of an object.
    Names(&'static Check),
    /// Checks on the members of an object hold.
    Members(&'static MemberChecks),
    /// If an object has this member, the check on the object holds.
    IfPresent(&'static str, &'static Check),
    /// A check holds, and so do checks on the members and items that it did not evaluate.
    Unevaluated(&'static Unevaluated),
}

/// Checks on the members of an object.
pub struct MemberChecks {
    /// The checks on members with these names.
    pub named: &'static [(&'static str, Check)],
    /// The checks on members whose names match these patterns.
    pub patterns: &'static [(&'static Pattern, Check)],
    /// The check on all other members.
    pub others: Option<&'static Check>,
}

/// Checks on the members and items that another check did not evaluate.
pub struct Unevaluated {
    /// The check that is evaluated first.
    pub base: Check,
    /// The check on members.
    pub members: Option<&'static Check>,
    /// The check on items.
    pub items: Option<&'static Check>,
}

/// The members and items that were evaluated, by their tokens in the document.
#[derive(Default)]
struct Evaluated(Vec<u32>);

impl Evaluated {
    fn insert(&mut self, value: Cursor<'_>) {
        if !self.contains(value) {
            self.0.push(value.place().0);
        }
    }

    fn contains(&self, value: Cursor<'_>) -> bool {
        self.0.contains(&value.place().0)
    }
}

type Seen<'e> = Option<&'e mut Evaluated>;

/// The results of definitions that were evaluated. Without them, nested alternatives would take exponential time.
#[derive(Default)]
struct Known {
    /// The results by the address of the definition, the place of the value, and whether the caller needs the evaluated
    /// members and items.
    results: RefCell<HashMap<(usize, u32, bool), KnownResult>>,
}

/// The result of a definition, with the members and items that it evaluated.
type KnownResult = Result<Rc<[u32]>, Error>;

impl Known {
    fn definition(&self, check: &'static Check, json: Cursor<'_>, seen: Seen<'_>) -> Result<(), Error> {
        let key = (std::ptr::from_ref(check) as usize, json.place().0, seen.is_some());
        let known = self.results.borrow().get(&key).cloned();
        let known = known.unwrap_or_else(|| {
            let mut evaluated = Evaluated::default();
            let result = check.eval(json, self, seen.is_some().then_some(&mut evaluated));
            let result = result.map(|()| evaluated.0.into());
            self.results.borrow_mut().insert(key, result.clone());
            result
        });
        let evaluated = known?;
        if let Some(seen) = seen {
            seen.0.extend(evaluated.iter());
        }
        Ok(())
    }
}

impl Check {
    /// Checks a value.
    ///
    /// # Errors
    ///
    /// Returns the first violation, with its place, or [`ErrorKind::PatternTooExpensive`].
    pub fn check(&self, json: Cursor<'_>) -> Result<(), Error> {
        self.eval(json, &Known::default(), None)
    }

    /// Checks a value that has not been decoded from a document.
    ///
    /// # Errors
    ///
    /// Returns the first violation, with its path.
    pub fn check_value<T: Encode + ?Sized>(&self, value: &T) -> Result<(), Error> {
        let text = crate::to_string(value);
        let document = Document::read(&text)?;
        let root = document.root();
        self.check(root).map_err(|error| error.located_from(root).without_position())
    }

    fn eval(&self, json: Cursor<'_>, known: &Known, mut seen: Seen<'_>) -> Result<(), Error> {
        match *self {
            Self::Anything => Ok(()),
            Self::Nothing => Err(json.error(ErrorKind::Uninhabited)),
            Self::All(checks) => checks.iter().try_for_each(|check| check.eval(json, known, seen.as_deref_mut())),
            Self::Any(checks) => any(checks, json, known, seen),
            Self::One(checks) => one(checks, json, known, seen),
            Self::Not(check) => match holds(check.eval(json, known, None))? {
                true => Err(violation(json, "a value that the schema in `not` rejects", json.describe())),
                false => Ok(()),
            },
            Self::If([condition, then, otherwise]) => {
                if holds(collect(condition, json, known, seen.as_deref_mut()))? {
                    then.eval(json, known, seen)
                } else {
                    otherwise.eval(json, known, seen)
                }
            }
            Self::Definition(check) => known.definition(check(), json, seen),
            Self::Type(types) => json.has_type(types),
            Self::Values(values) => json.literal(values).map(drop),
            Self::Unevaluated(unevaluated) => unevaluated.eval(json, known, seen),
            _ => match json.kind() {
                Kind::Number => self.number(json),
                Kind::Plain | Kind::Escaped => self.string(json),
                Kind::Array => self.array(json, known, seen),
                Kind::Object => self.object(json, known, seen),
                _ => Ok(()),
            },
        }
    }

    fn number(&self, json: Cursor<'_>) -> Result<(), Error> {
        match self {
            Self::Bounds(bounds) => bounds.check_number(json.number()?).map_err(|error| json.locate(error)),
            Self::MultipleOf(divisor) => {
                let number = json.number()?;
                match divisor.as_number() {
                    Some(divisor) if !is_multiple(number, divisor) => {
                        Err(violation(json, format_args!("a multiple of {divisor}"), number))
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn string(&self, json: Cursor<'_>) -> Result<(), Error> {
        let text = json.as_str().unwrap_or_default();
        match self {
            Self::Length(length) => length.check_str(&text).map_err(|error| json.locate(error)),
            Self::Pattern(pattern) if !pattern.matches_in(json, &text)? => {
                let expected = format!("a string that matches {}", json_text(pattern.source()));
                Err(violation(json, expected, json_text(&text)))
            }
            _ => Ok(()),
        }
    }

    fn array(&self, json: Cursor<'_>, known: &Known, mut seen: Seen<'_>) -> Result<(), Error> {
        let items = json.elements()?;
        match self {
            Self::ItemCount(length) => length.check_length(items.count(), "items").map_err(|error| json.locate(error)),
            Self::UniqueItems => {
                // Only items with the same hash are compared.
                let (state, mut first) = (RandomState::new(), HashMap::<u64, Vec<Cursor<'_>>>::new());
                for item in items {
                    let mut hasher = state.build_hasher();
                    item.hash(&mut hasher);
                    let alike = first.entry(hasher.finish()).or_default();
                    if alike.iter().any(|other| other.is_same(item)) {
                        return Err(violation(item, "unique items", "a duplicate"));
                    }
                    alike.push(item);
                }
                Ok(())
            }
            Self::Contains(check, length) => {
                let mut found = 0;
                for item in items {
                    if holds(check.eval(item, known, None))? {
                        found += 1;
                        mark(&mut seen, item);
                    }
                }
                let unit = "items that `contains` accepts";
                length.check_length(found, unit).map_err(|error| json.locate(error))
            }
            Self::Items(first, rest) => {
                for (index, item) in items.enumerate() {
                    let Some(check) = first.get(index).or(*rest) else { break };
                    check.eval(item, known, None)?;
                    mark(&mut seen, item);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn object(&self, json: Cursor<'_>, known: &Known, mut seen: Seen<'_>) -> Result<(), Error> {
        match self {
            Self::MemberCount(length) => {
                let count = json.members_by_name()?.len();
                length.check_length(count, "members").map_err(|error| json.locate(error))
            }
            Self::Required(names) => match names.iter().find(|name| json.get(name).is_none()) {
                Some(name) => Err(json.missing(name)),
                None => Ok(()),
            },
            Self::Names(check) => json.members()?.try_for_each(|(name, value)| {
                check.eval(name, known, None).map_err(|error| match error.kind() {
                    kind @ ErrorKind::PatternTooExpensive { .. } => value.error(kind.clone()),
                    kind => value.error(ErrorKind::Assertion { message: format!("name: {kind}") }),
                })
            }),
            Self::Members(checks) => {
                for (name, value) in json.members_by_name()? {
                    checks.eval((json, name, value), known, &mut seen)?;
                }
                Ok(())
            }
            Self::IfPresent(name, check) if json.get(name).is_some() => check.eval(json, known, seen),
            _ => Ok(()),
        }
    }
}

impl MemberChecks {
    fn eval(
        &self,
        (object, name, value): (Cursor<'_>, Cursor<'_>, Cursor<'_>),
        known: &Known,
        seen: &mut Seen<'_>,
    ) -> Result<(), Error> {
        let mut is_known = false;
        for (_, check) in self.named.iter().filter(|(named, _)| name.is_str(named)) {
            is_known = true;
            check.eval(value, known, None)?;
        }
        if !self.patterns.is_empty() {
            let text = name.as_str().unwrap_or_default();
            for (pattern, check) in self.patterns {
                if pattern.matches_in(value, &text)? {
                    is_known = true;
                    check.eval(value, known, None)?;
                }
            }
        }
        match self.others {
            None if !is_known => return Ok(()),
            Some(_) if !is_known && object.is_body && name.is_of_envelope() => return Ok(()),
            Some(check) if !is_known => other(check, value, known)?,
            _ => {}
        }
        mark(seen, value);
        Ok(())
    }
}

impl Unevaluated {
    fn eval(&self, json: Cursor<'_>, known: &Known, mut seen: Seen<'_>) -> Result<(), Error> {
        let mut evaluated = Evaluated::default();
        self.base.eval(json, known, Some(&mut evaluated))?;
        if let (Kind::Object, Some(check)) = (json.kind(), self.members) {
            for (_, value) in json.members_by_name()? {
                if !evaluated.contains(value) {
                    other(check, value, known)?;
                    evaluated.insert(value);
                }
            }
        }
        if let (Kind::Array, Some(check)) = (json.kind(), self.items) {
            for item in json.elements()? {
                if !evaluated.contains(item) {
                    check.eval(item, known, None)?;
                    evaluated.insert(item);
                }
            }
        }
        if let Some(seen) = &mut seen {
            seen.0.extend(evaluated.0);
        }
        Ok(())
    }
}

/// Checks a member that neither a name nor a pattern selects.
fn other(check: &Check, value: Cursor<'_>, known: &Known) -> Result<(), Error> {
    match check {
        Check::Nothing => Err(value.error(ErrorKind::Unexpected)),
        check => check.eval(value, known, None),
    }
}

fn mark(seen: &mut Seen<'_>, value: Cursor<'_>) {
    if let Some(seen) = seen {
        seen.insert(value);
    }
}

/// Returns whether a check holds, unless a pattern was given up.
fn holds(result: Result<(), Error>) -> Result<bool, Error> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if is_given_up(&error) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Returns whether a pattern was given up, so that the value may be valid or not.
fn is_given_up(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::PatternTooExpensive { .. })
}

/// Evaluates a check. If it fails, its members and items do not count as evaluated.
fn collect(check: &Check, json: Cursor<'_>, known: &Known, seen: Seen<'_>) -> Result<(), Error> {
    let Some(seen) = seen else { return check.eval(json, known, None) };
    let mut evaluated = Evaluated::default();
    check.eval(json, known, Some(&mut evaluated))?;
    seen.0.extend(evaluated.0);
    Ok(())
}

fn any(checks: &[Check], json: Cursor<'_>, known: &Known, mut seen: Seen<'_>) -> Result<(), Error> {
    let (mut is_valid, mut failure) = (false, None);
    for check in checks {
        match collect(check, json, known, seen.as_deref_mut()) {
            // If the caller does not need the evaluated members and items, one check that holds is enough.
            Ok(()) if seen.is_none() => return Ok(()),
            Ok(()) => is_valid = true,
            Err(error) if is_given_up(&error) => return Err(error),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match (is_valid, checks, failure) {
        (true, ..) => Ok(()),
        (false, [_], Some(failure)) => Err(failure),
        _ => Err(none(checks, json)),
    }
}

fn one(checks: &[Check], json: Cursor<'_>, known: &Known, mut seen: Seen<'_>) -> Result<(), Error> {
    let mut holding = 0_usize;
    for check in checks {
        holding += usize::from(holds(collect(check, json, known, seen.as_deref_mut()))?);
    }
    match holding {
        1 => Ok(()),
        0 => Err(none(checks, json)),
        _ => {
            let expected = format!("a value that exactly one of {} alternatives accepts", checks.len());
            Err(violation(json, expected, format_args!("one that {holding} accept")))
        }
    }
}

#[cold]
fn none(checks: &[Check], json: Cursor<'_>) -> Error {
    violation(json, format_args!("a value that one of {} alternatives accepts", checks.len()), json.describe())
}

#[cold]
fn violation(json: Cursor<'_>, expected: impl fmt::Display, found: impl fmt::Display) -> Error {
    json.error(ErrorKind::Assertion { message: format!("expected {expected}, found {found}") })
}

/// Returns whether a number is an integer multiple of the divisor. Uses decimal arithmetic.
fn is_multiple(number: Number, divisor: Number) -> bool {
    let (Some((digits, exponent)), Some((unit, unit_exponent))) = (decimal(number), decimal(divisor)) else {
        return false;
    };
    if digits == 0 || unit == 0 {
        return digits == 0;
    }
    let power = exponent - unit_exponent;
    if power < 0 {
        let scale = 10_u128.checked_pow(power.unsigned_abs());
        // If the scaled divisor overflows, it is larger than the number.
        return scale.and_then(|scale| scale.checked_mul(unit)).is_some_and(|unit| digits % unit == 0);
    }
    (0..power).fold(digits % unit, |rest, _| rest * 10 % unit) == 0
}

/// Returns the digits and the exponent of a number's absolute value.
fn decimal(number: Number) -> Option<(u128, i32)> {
    let text = match (number.as_u64(), number.as_i64()) {
        (Some(value), _) => value.to_string(),
        (None, Some(value)) => value.unsigned_abs().to_string(),
        (None, None) => number.as_f64().abs().to_string(),
    };
    let (integral, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits = format!("{integral}{fraction}");
    let significant = digits.trim_end_matches('0');
    let zeros = i32::try_from(digits.len() - significant.len()).ok()?;
    let exponent = zeros - i32::try_from(fraction.len()).ok()?;
    if significant.is_empty() { Some((0, 0)) } else { Some((significant.parse().ok()?, exponent)) }
}

/// Decodes a JSON value as an alternative of a union.
///
/// # Errors
///
/// Returns an error if the value is not valid for the type.
pub fn from_json<T: Decode>(value: &crate::Json) -> Result<T, Error> {
    value.decode().map_err(Error::without_position)
}

/// Implements the traits of a type with checks. The type must have a function `checks`, which returns them.
#[doc(hidden)]
#[macro_export]
macro_rules! __checked {
    ($name:ident($inner:ty) $(is_empty $is_empty:tt)?) => {
        impl $name {
            /// Returns the value.
            #[must_use]
            pub const fn get(&self) -> &$inner {
                &self.0
            }

            /// Returns the inner value.
            #[must_use]
            pub fn into_inner(self) -> $inner {
                self.0
            }
        }
        impl ::std::convert::TryFrom<$inner> for $name {
            type Error = $crate::Error;
            fn try_from(value: $inner) -> $crate::codec::Result<Self> {
                Self::checks().check_value(&value)?;
                ::core::result::Result::Ok(Self(value))
            }
        }
        impl ::std::convert::From<$name> for $inner {
            fn from(value: $name) -> Self {
                value.0
            }
        }
        impl $crate::codec::Decode for $name {
            const NAME: &'static str = stringify!($name);
            fn decode(json: $crate::codec::Cursor<'_>) -> $crate::codec::Result<Self> {
                let value: $inner = $crate::codec::Decode::decode(json)?;
                Self::checks().check(json)?;
                ::core::result::Result::Ok(Self(value))
            }
        }
        impl $crate::codec::DecodeInPlace for $name {
            $(const IS_EMPTY: bool = $is_empty;)?
            #[inline]
            fn blank(unread: $crate::codec::Unread) -> Self {
                Self($crate::codec::DecodeInPlace::blank(unread))
            }
            fn read(&mut self, json: $crate::codec::Cursor<'_>, _: $crate::codec::Unread) -> $crate::codec::Result<()> {
                $crate::codec::replace(self, json)
            }
        }
        impl $crate::codec::Encode for $name {
            fn encode(&self) -> $crate::codec::Node<'_> {
                $crate::codec::Encode::encode(&self.0)
            }
        }
    };
}
