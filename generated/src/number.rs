//! JSON numbers.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::Error;

/// A JSON number: a signed or unsigned 64-bit integer, or a finite double.
///
/// A number keeps its form: `1` stays `1`, `1.0` stays `1.0`, and `-0.0` stays `-0.0`. As in JSON Schema, comparisons
/// use the exact mathematical value: `1 == 1.0`, and `u64::MAX` is less than `18446744073709551616.0`.
///
/// ```
/// use mcpgen_types::Number;
/// assert_eq!(Number::from(1), Number::try_from(1.0).unwrap());
/// assert_eq!(Number::try_from(1.0).unwrap().to_string(), "1.0");
/// ```
#[derive(Clone, Copy)]
pub struct Number(Repr);

/// `Negative` contains only integers below 0, so that each integer has one representation.
#[derive(Clone, Copy)]
enum Repr {
    Unsigned(u64),
    Negative(i64),
    Float(f64),
}

impl Number {
    /// Returns the number as `i64`, if it is integral and fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.integer().and_then(|integer| integer.try_into().ok())
    }

    /// Returns the number as `u64`, if it is integral and fits.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.integer().and_then(|integer| integer.try_into().ok())
    }

    /// Returns the nearest double.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "returns the nearest double")]
    pub fn as_f64(&self) -> f64 {
        match self.0 {
            Repr::Unsigned(integer) => integer as f64,
            Repr::Negative(integer) => integer as f64,
            Repr::Float(float) => float,
        }
    }

    /// Returns whether the value is integral, like `1`, `1.0` and `1e300`.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        match self.0 {
            Repr::Unsigned(_) | Repr::Negative(_) => true,
            Repr::Float(float) => float.fract() == 0.0,
        }
    }

    /// Returns the value, if it is integral and fits `i64` or `u64`.
    fn integer(self) -> Option<i128> {
        match self.0 {
            Repr::Unsigned(integer) => Some(integer.into()),
            Repr::Negative(integer) => Some(integer.into()),
            Repr::Float(float) if float.fract() != 0.0 => None,
            Repr::Float(float) => exact(float).filter(|integer| (i64::MIN.into()..=u64::MAX.into()).contains(integer)),
        }
    }

    pub(crate) fn node(self) -> crate::codec::Node<'static> {
        match self.0 {
            Repr::Unsigned(integer) => crate::codec::Node::Unsigned(integer),
            Repr::Negative(integer) => crate::codec::Node::Signed(integer),
            Repr::Float(float) => crate::codec::Node::Float(float),
        }
    }

    /// Parses a valid JSON number. As in serde_json, `-0` and integers beyond 64 bits become doubles. Returns `None` if
    /// the number is too large for a double.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let integer = text.parse::<u64>().map(Self::from).or_else(|_| text.parse::<i64>().map(Self::from));
        match integer {
            Ok(integer) if text != "-0" => Some(integer),
            _ => parse_double(text)?.try_into().ok(),
        }
    }
}

/// Returns the double nearest to a JSON number. It is infinite if the number is out of range.
pub(crate) fn parse_double(text: &str) -> Option<f64> {
    // `str::parse` ignores the rest of an exponent from 65,536 on. That is wrong only for numbers with about as many
    // digits, since fewer digits cannot bring such an exponent back into range.
    if text.len() < 60_000 { text.parse().ok() } else { parse_long_double(text) }
}

/// Like [`parse_double`], for long numbers. Moves leading zeros and the decimal point's position into the exponent.
#[cold]
fn parse_long_double(text: &str) -> Option<f64> {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (digits, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (integral, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let digits = [integral, fraction].concat();
    let significant = digits.trim_start_matches('0');
    let zeros = digits.len() - significant.len();
    let limit = if exponent.starts_with('-') { i32::MIN } else { i32::MAX };
    let exponent = i64::from(exponent.parse().unwrap_or(limit)) + integral.len() as i64 - zeros as i64;
    format!("{sign}0.{significant}0e{exponent}").parse().ok()
}

/// Returns the integral part of a double whose magnitude is below 2^100.
#[expect(clippy::cast_possible_truncation, reason = "the magnitude is checked before")]
fn exact(float: f64) -> Option<i128> {
    const LIMIT: f64 = (1_u128 << 100) as f64;
    (float.abs() < LIMIT).then_some(float as i128)
}

/// The error for a double that JSON cannot represent: infinite or NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotFinite;

impl std::error::Error for NotFinite {}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON has no infinite numbers and no NaN")
    }
}

/// Returns zero.
impl Default for Number {
    fn default() -> Self {
        Self::from(0)
    }
}

impl From<NotFinite> for Error {
    fn from(error: NotFinite) -> Self {
        Self::json(&error.to_string())
    }
}

impl TryFrom<f64> for Number {
    type Error = NotFinite;

    fn try_from(float: f64) -> Result<Self, NotFinite> {
        if float.is_finite() { Ok(Self(Repr::Float(float))) } else { Err(NotFinite) }
    }
}

macro_rules! from_integer {
    ($($integer:ty)*) => {$(
        impl From<$integer> for Number {
            fn from(integer: $integer) -> Self {
                Self(u64::try_from(integer).map_or(Repr::Negative(integer as i64), Repr::Unsigned))
            }
        }
    )*};
}

from_integer!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0, other.0) {
            // Neither double can be NaN.
            (Repr::Float(a), Repr::Float(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            (Repr::Float(a), _) => other.integer().map_or(Ordering::Equal, |b| compare(a, b)),
            (_, Repr::Float(b)) => self.integer().map_or(Ordering::Equal, |a| compare(b, a).reverse()),
            _ => self.integer().cmp(&other.integer()),
        }
    }
}

/// Compares exactly, without rounding the integer, which has at most 65 bits.
fn compare(float: f64, integer: i128) -> Ordering {
    match exact(float) {
        Some(whole) => whole.cmp(&integer).then(float.fract().partial_cmp(&0.0).unwrap_or(Ordering::Equal)),
        None if float > 0.0 => Ordering::Greater,
        None => Ordering::Less,
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.integer() {
            Some(integer) => integer.hash(state),
            // Such a double equals no 64-bit integer, and equals another such double only if their bits are equal.
            None => self.as_f64().to_bits().hash(state),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Unsigned(integer) => integer.fmt(f),
            Repr::Negative(integer) => integer.fmt(f),
            // `Debug` keeps the `.0`, and writes large numbers with an exponent. `Display` does neither.
            Repr::Float(float) => write!(f, "{float:?}"),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Number> for serde_json::Value {
    fn from(number: Number) -> Self {
        match number.0 {
            Repr::Unsigned(integer) => integer.into(),
            Repr::Negative(integer) => integer.into(),
            Repr::Float(float) => float.into(),
        }
    }
}

crate::codec::serde_impls!(Number);
