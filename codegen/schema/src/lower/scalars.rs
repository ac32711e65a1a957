//! Lowers string and number keywords.

use serde_json::Number;

use super::{Keywords, Lower, Typed};
use crate::check::Check;
use crate::dialect::Dialect;
use crate::json::{Json, compare, integer};
use crate::normal::{Bound, Bounds, Kind, Length};
use crate::text::pattern;

impl Lower<'_> {
    pub(super) fn string(&mut self, of: Keywords<'_>) -> Typed {
        let length = self.length(of, "minLength", "maxLength");
        let expressed = Check::of_length(&length, Check::Length);
        let pattern = self.read(of, "pattern", "a regular expression", Json::as_str);
        let pattern = pattern.map(|text| self.pattern(text, of, "pattern"));
        Typed::new(Kind::String(length), expressed, pattern.map(Check::Pattern))
    }

    /// Returns the pattern unchanged, and reports a problem if it does not compile.
    pub(super) fn pattern(&mut self, text: &str, of: Keywords<'_>, keyword: &str) -> String {
        if let Err(error) = pattern::compile(text) {
            let text = Json::String(text.to_owned());
            let why = format!("{text} cannot be compiled as a regular expression of ECMA-262: {error}");
            self.problem(of, keyword, why, "correct the expression");
        }
        text.to_owned()
    }

    pub(super) fn number(&mut self, of: Keywords<'_>, kind: fn(Bounds) -> Kind) -> Typed {
        let bounds = self.bounds(of);
        let expressed = Check::of_bounds(&bounds);
        let divisor = self.read(of, "multipleOf", "a number above 0", |json| match json {
            Json::Number(number) if compare(number, &Number::from(0)).is_gt() => Some(number.clone()),
            _ => None,
        });
        Typed::new(kind(bounds), expressed, divisor.map(Check::MultipleOf))
    }

    fn bounds(&mut self, of: Keywords<'_>) -> Bounds {
        let [min, max] =
            [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")].map(|(limit, exclusive)| {
                // In draft-04, `exclusiveMinimum` is a flag that makes `minimum` exclusive.
                let flag = match of.get(exclusive) {
                    Some(Json::Bool(flag)) if self.dialect == Dialect::Draft04 => Some(*flag),
                    _ => None,
                };
                let limit = self.number_of(of, limit).map(|value| Bound { value, exclusive: flag == Some(true) });
                let exclusive = if flag.is_none() { self.number_of(of, exclusive) } else { None };
                [limit, exclusive.map(|value| Bound { value, exclusive: true })]
            });
        let [a, b] = [0, 1].map(|index| Bounds { min: min[index].clone(), max: max[index].clone() });
        a.and(&b)
    }

    /// Reads a pair of keywords such as `minItems` and `maxItems`.
    pub(super) fn length(&mut self, of: Keywords<'_>, min: &str, max: &str) -> Length {
        Length { min: self.count(of, min).unwrap_or(0), max: self.count(of, max) }
    }

    pub(super) fn count(&mut self, of: Keywords<'_>, keyword: &str) -> Option<u64> {
        let number = self.number_of(of, keyword)?;
        let count = integer(&number).and_then(|count| u64::try_from(count).ok());
        if count.is_none() {
            self.expected(of, keyword, "an integer of at least 0", number);
        }
        count
    }

    fn number_of(&mut self, of: Keywords<'_>, keyword: &str) -> Option<Number> {
        match of.get(keyword)? {
            Json::Number(number) => Some(number.clone()),
            other => {
                self.expected(of, keyword, "a number", other.type_name());
                None
            }
        }
    }
}
