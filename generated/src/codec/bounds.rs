//! Limits on numbers and lengths.

use crate::{Error, ErrorKind, Number};

use super::Literal;

/// The range of a number.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The lower end, if there is one.
    pub minimum: Option<Bound>,
    /// The upper end, if there is one.
    pub maximum: Option<Bound>,
}

/// One end of a range.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The end: [`Literal::Integer`], [`Literal::Unsigned`] or [`Literal::Float`]; another literal bounds nothing.
    pub value: Literal,
    /// Whether the end itself lies outside.
    pub exclusive: bool,
}

/// How long a string (in Unicode code points) or an array (in elements) may be.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// The least length.
    pub min: u64,
    /// The greatest length, if there is one.
    pub max: Option<u64>,
}

impl Bounds {
    /// Insists that `number` lies within the bounds.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Bound`] with the bound that does not hold, and the number.
    pub fn check_number(&self, number: Number) -> Result<(), Error> {
        let minimum = self.minimum.and_then(Bound::end);
        let maximum = self.maximum.and_then(Bound::end);
        match (minimum, maximum) {
            (Some((false, end)), _) if number < end => Err(violation("at least", end, number)),
            (Some((true, end)), _) if number <= end => Err(violation("more than", end, number)),
            (_, Some((false, end))) if number > end => Err(violation("at most", end, number)),
            (_, Some((true, end))) if number >= end => Err(violation("less than", end, number)),
            _ => Ok(()),
        }
    }
}

impl Bound {
    fn end(self) -> Option<(bool, Number)> {
        self.value.as_number().map(|end| (self.exclusive, end))
    }
}

pub(super) fn violation(relation: &str, end: Number, found: Number) -> Error {
    Error::new(ErrorKind::Bound { expected: format!("{relation} {end}"), found: found.to_string() })
}

impl Length {
    /// Insists that `length` (so many of `unit`, a plural such as `items`) is within the limits.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Length`] with the limit that does not hold, and the length.
    pub fn check_length(&self, length: usize, unit: &str) -> Result<(), Error> {
        let found = length as u64;
        let (relation, limit) = match self.max {
            _ if found < self.min => ("at least", self.min),
            Some(max) if found > max => ("at most", max),
            _ => return Ok(()),
        };
        let unit = if limit == 1 { unit.trim_end_matches('s') } else { unit };
        let expected = format!("{relation} {limit} {unit}");
        Err(Error::new(ErrorKind::Length { expected, found }))
    }

    /// Insists that `text` has a length within the limits, in Unicode code points.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Length`] with the limit that does not hold, and the length.
    pub fn check_str(&self, text: &str) -> Result<(), Error> {
        self.check_length(text.chars().count(), "characters")
    }
}
