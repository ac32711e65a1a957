//! Limits of numbers and lengths.

use std::fmt;

use serde_json::Number;

use crate::json::{compare, integer};

/// The range of a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The lower limit, if any.
    pub min: Option<Bound>,
    /// The upper limit, if any.
    pub max: Option<Bound>,
}

/// One end of a [`Bounds`].
#[derive(Clone, Debug)]
pub struct Bound {
    /// The limit itself.
    pub value: Number,
    /// Whether the limit itself is excluded.
    pub exclusive: bool,
}

/// The range of a length, in code points, items or members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Length {
    /// The minimum.
    pub min: u64,
    /// The maximum, if any.
    pub max: Option<u64>,
}

impl PartialEq for Bound {
    fn eq(&self, other: &Bound) -> bool {
        self.exclusive == other.exclusive && compare(&self.value, &other.value).is_eq()
    }
}

impl Bounds {
    /// Returns whether every number is allowed.
    pub fn is_free(&self) -> bool {
        self.min.is_none() && self.max.is_none()
    }

    /// Returns the intersection.
    pub fn and(&self, other: &Bounds) -> Bounds {
        let tighter = |a: &Option<Bound>, b: &Option<Bound>, upper: bool| match (a, b) {
            (None, x) | (x, None) => x.clone(),
            (Some(a), Some(b)) => {
                let order = if upper { compare(&b.value, &a.value) } else { compare(&a.value, &b.value) };
                Some(if order.is_gt() || (order.is_eq() && a.exclusive) { a.clone() } else { b.clone() })
            }
        };
        Bounds { min: tighter(&self.min, &other.min, false), max: tighter(&self.max, &other.max, true) }
    }

    /// Returns whether a number is within the bounds.
    pub fn contain(&self, number: &Number) -> bool {
        let only = Some(Bound { value: number.clone(), exclusive: false });
        self.include(&Bounds { min: only.clone(), max: only })
    }

    /// Returns whether nothing is within the bounds: no number, or no integer if `integers` is set.
    pub fn is_empty(&self, integers: bool) -> bool {
        let (Some(min), Some(max)) = (&self.min, &self.max) else { return false };
        match compare(&min.value, &max.value) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => min.exclusive || max.exclusive || (integers && integer(&min.value).is_none()),
            std::cmp::Ordering::Less => integers && first_integer(min) > last_integer(max),
        }
    }

    /// Returns whether every number within `other` is within these bounds too.
    pub fn include(&self, other: &Bounds) -> bool {
        self.and(other) == *other
    }
}

/// Describes the bounds, as in `at least 1 and less than 5`.
impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |bound: &Option<Bound>, inclusive: &str, exclusive: &str| {
            bound.as_ref().map(|it| format!("{} {}", if it.exclusive { exclusive } else { inclusive }, it.value))
        };
        let sides = [side(&self.min, "at least", "more than"), side(&self.max, "at most", "less than")];
        f.write_str(&sides.into_iter().flatten().collect::<Vec<_>>().join(" and "))
    }
}

/// Returns the smallest integer that a lower bound allows.
pub fn first_integer(bound: &Bound) -> i128 {
    match integer(&bound.value) {
        Some(value) => value + i128::from(bound.exclusive),
        None => bound.value.as_f64().unwrap_or(0.0).ceil() as i128,
    }
}

/// Returns the largest integer that an upper bound allows.
pub fn last_integer(bound: &Bound) -> i128 {
    match integer(&bound.value) {
        Some(value) => value - i128::from(bound.exclusive),
        None => bound.value.as_f64().unwrap_or(0.0).floor() as i128,
    }
}

impl Length {
    /// Returns whether every length is allowed.
    pub fn is_free(&self) -> bool {
        self.min == 0 && self.max.is_none()
    }

    /// Returns the intersection.
    pub fn and(&self, other: &Length) -> Length {
        let max = match (self.max, other.max) {
            (None, x) | (x, None) => x,
            (Some(a), Some(b)) => Some(a.min(b)),
        };
        Length { min: self.min.max(other.min), max }
    }

    /// Returns whether no length is allowed.
    pub fn is_empty(&self) -> bool {
        self.max.is_some_and(|max| max < self.min)
    }

    /// Returns whether a length is allowed.
    pub fn contains(&self, length: u64) -> bool {
        length >= self.min && self.max.is_none_or(|max| length <= max)
    }

    /// Returns whether every length within `other` is allowed here too.
    pub fn includes(&self, other: &Length) -> bool {
        self.and(other) == *other
    }
}
