//! Solves numbers: bounds, multiples and integers, in exact decimal arithmetic.

use serde_json::Number;

use super::formula::{Formula, Node};
use super::search::{Outcome, Search};
use super::verdict::Reason;
use crate::json::Json;
use crate::json_types::JsonTypes;
use crate::limits::Bound;

/// What a number must satisfy, in units of `10^-scale`.
#[derive(Default)]
struct Grid {
    scale: u32,
    min: Option<i128>,
    max: Option<i128>,
    /// Whether `min` and `max` are exclusive.
    is_open: [bool; 2],
    /// The number must be a multiple of every step, and of no gap.
    steps: Vec<i128>,
    gaps: Vec<i128>,
    excluded: Vec<i128>,
}

/// Numbers with more decimal places are left out.
const MAX_SCALE: u32 = 20;
const MAX_TRIES: i128 = 20_000;

impl Search<'_> {
    /// Finds an integer or a fraction, depending on `types`.
    pub(super) fn number(&mut self, formulas: &[Formula], types: JsonTypes) -> Outcome {
        let grid = self.grid(formulas, types == JsonTypes::INTEGER);
        let mut failed = None;
        let candidates = match grid.candidates() {
            Ok(candidates) => candidates,
            Err(reason) => return Outcome::Unknown(reason),
        };
        for candidate in candidates {
            let Some(number) = grid.number(candidate) else { continue };
            // Converting to a double may round, and `grid` drops requirements it cannot represent.
            let is_type = JsonTypes::of(&number).contains(types);
            match is_type && formulas.iter().all(|formula| self.holds(*formula, &number) == Some(true)) {
                true => return Outcome::found(number),
                false => failed = Some(Outcome::Unknown(Reason::Number)),
            }
        }
        failed.unwrap_or(Outcome::Empty)
    }

    /// Collects the requirements, except those that [`decimal`] cannot represent.
    fn grid(&self, formulas: &[Formula], is_integer: bool) -> Grid {
        let nodes: Vec<(&Node, bool)> = formulas.iter().map(|it| (self.formulas.node(*it), it.is_positive())).collect();
        let numbers = nodes.iter().flat_map(|(node, _)| match node {
            Node::Bounds(bounds) => bounds.min.iter().chain(&bounds.max).map(|bound| &bound.value).collect(),
            Node::MultipleOf(divisor) => vec![divisor],
            Node::Values(values) => values.iter().filter_map(of_json).collect(),
            _ => Vec::new(),
        });
        let scale = numbers.filter_map(decimal).map(|(_, scale)| scale).max().unwrap_or(0);
        let mut grid = Grid { scale, ..Grid::default() };
        let one = 10_i128.pow(scale);
        if is_integer { &mut grid.steps } else { &mut grid.gaps }.push(one);
        for (node, is_positive) in nodes {
            match node {
                Node::Bounds(bounds) => grid.limit(bounds.min.as_ref(), bounds.max.as_ref()),
                Node::MultipleOf(divisor) => {
                    let list = if is_positive { &mut grid.steps } else { &mut grid.gaps };
                    list.extend(scaled(divisor, scale));
                }
                Node::Values(values) => {
                    grid.excluded.extend(values.iter().filter_map(of_json).filter_map(|it| scaled(it, scale)));
                }
                _ => {}
            }
        }
        grid
    }
}

impl Grid {
    fn limit(&mut self, min: Option<&Bound>, max: Option<&Bound>) {
        let at = |bound: Option<&Bound>| bound.and_then(|it| Some((scaled(&it.value, self.scale)?, it.exclusive)));
        if let Some((min, is_open)) = at(min) {
            match self.min {
                Some(known) if known > min => {}
                Some(known) if known == min => self.is_open[0] |= is_open,
                _ => (self.min, self.is_open[0]) = (Some(min), is_open),
            }
        }
        if let Some((max, is_open)) = at(max) {
            match self.max {
                Some(known) if known < max => {}
                Some(known) if known == max => self.is_open[1] |= is_open,
                _ => (self.max, self.is_open[1]) = (Some(max), is_open),
            }
        }
    }

    fn admits(&self, value: i128) -> bool {
        let [is_open_min, is_open_max] = self.is_open;
        self.min.is_none_or(|min| value > min || (value == min && !is_open_min))
            && self.max.is_none_or(|max| value < max || (value == max && !is_open_max))
            && self.gaps.iter().all(|gap| value % gap != 0)
            && !self.excluded.contains(&value)
    }

    /// Returns numbers to try, simplest first. An empty list proves that no number fits.
    fn candidates(&self) -> Result<Vec<Candidate>, Reason> {
        let Some(step) = self.steps.iter().try_fold(None, |all: Option<i128>, step| {
            Some(Some(match all {
                None => *step,
                Some(all) => lcm(all, *step)?,
            }))
        }) else {
            return Err(Reason::Number);
        };
        match step {
            Some(step) => self.multiples(step),
            None => self.fractions(),
        }
    }

    fn multiples(&self, step: i128) -> Result<Vec<Candidate>, Reason> {
        // The pattern of the gaps repeats.
        let mut period = 1_i128;
        for gap in &self.gaps {
            let every = gap / gcd(step, *gap);
            if every == 1 {
                return Ok(Vec::new());
            }
            period = lcm(period, every).unwrap_or(i128::MAX);
        }
        let enough = period.saturating_mul(self.excluded.len() as i128 + 2).saturating_mul(2);
        let first = self.min.map(|min| min.div_euclid(step) + i128::from(min.rem_euclid(step) != 0));
        let last = self.max.map(|max| max.div_euclid(step));
        let start = 0.max(first.unwrap_or(0)).min(last.unwrap_or(i128::MAX));
        let mut found = Vec::new();
        for index in 0..enough.min(MAX_TRIES) {
            // 0, 1, -1, 2, …
            let offset = if index % 2 == 1 { index / 2 + 1 } else { -index / 2 };
            let Some(count) = start.checked_add(offset) else { continue };
            let is_within = first.is_none_or(|first| count >= first) && last.is_none_or(|last| count <= last);
            match count.checked_mul(step).filter(|value| is_within && self.admits(*value)) {
                Some(value) => found.push(Candidate { value, scale: self.scale }),
                None => continue,
            }
            if found.len() == 4 {
                return Ok(found);
            }
        }
        let size = first.zip(last).map(|(first, last)| last.saturating_sub(first));
        let is_whole = enough <= MAX_TRIES || size.is_some_and(|size| size < MAX_TRIES / 2 - 1);
        if found.is_empty() && !is_whole { Err(Reason::Budget) } else { Ok(found) }
    }

    /// Returns numbers for requirements without a step: everything within the limits, except multiples of the gaps.
    fn fractions(&self) -> Result<Vec<Candidate>, Reason> {
        if let (Some(min), Some(max)) = (self.min, self.max)
            && min >= max
        {
            let only = Candidate { value: min, scale: self.scale };
            return Ok(if min == max && self.admits(min) { vec![only] } else { Vec::new() });
        }
        let start = 0.max(self.min.unwrap_or(0)).min(self.max.unwrap_or(i128::MAX));
        let mut found = Vec::new();
        for digits in 1..=self.scale + 6 {
            // Tries smaller units.
            let more = digits.max(self.scale) - self.scale;
            let Some(fine) = self.times(10_i128.checked_pow(more)) else { break };
            let Some(start) = start.checked_mul(10_i128.pow(more)) else { break };
            let unit = 10_i128.pow(fine.scale - digits);
            for tenths in [5, 1, 2, 3, 4, 6, 7, 8, 9, 11, 13, 17, 19] {
                let values = [start.checked_add(tenths * unit), start.checked_sub(tenths * unit)];
                let values = values.into_iter().flatten().filter(|value| fine.admits(*value));
                found.extend(values.map(|value| Candidate { value, scale: fine.scale }));
            }
            if found.len() >= 4 {
                break;
            }
        }
        if found.is_empty() { Err(Reason::Number) } else { Ok(found) }
    }

    fn times(&self, factor: Option<i128>) -> Option<Grid> {
        let factor = factor?;
        let all = |list: &[i128]| list.iter().map(|value| value.checked_mul(factor)).collect::<Option<Vec<_>>>();
        let limit = |limit: Option<i128>| limit.map_or(Some(None), |limit| limit.checked_mul(factor).map(Some));
        Some(Grid {
            scale: self.scale + factor.ilog10(),
            min: limit(self.min)?,
            max: limit(self.max)?,
            is_open: self.is_open,
            steps: all(&self.steps)?,
            gaps: all(&self.gaps)?,
            excluded: all(&self.excluded)?,
        })
    }

    fn number(&self, candidate: Candidate) -> Option<Json> {
        let Candidate { value, scale } = candidate;
        let digits = format!("{:0width$}", value.unsigned_abs(), width = scale as usize + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
        let fraction = fraction.trim_end_matches('0');
        let sign = if value < 0 { "-" } else { "" };
        let text = if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") };
        text.parse().ok().map(Json::Number)
    }
}

#[derive(Clone, Copy)]
struct Candidate {
    value: i128,
    scale: u32,
}

fn of_json(json: &Json) -> Option<&Number> {
    match json {
        Json::Number(number) => Some(number),
        _ => None,
    }
}

/// Returns a number in units of `10^-scale`, and its scale. Doubles beyond 2^53 have no exact short decimal form, so
/// they give `None`.
fn decimal(number: &Number) -> Option<(i128, u32)> {
    if let Some(value) = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from)) {
        return Some((value, 0));
    }
    number.as_f64().filter(|value| value.abs() < 9_007_199_254_740_992.0)?;
    let text = number.to_string();
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    let value: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = i64::try_from(fraction.len()).ok()? - exponent.parse::<i64>().ok()?;
    match u32::try_from(scale) {
        Ok(scale) => (scale <= MAX_SCALE).then_some((value, scale)),
        Err(_) => Some((value.checked_mul(10_i128.checked_pow(u32::try_from(-scale).ok()?)?)?, 0)),
    }
}

fn scaled(number: &Number, scale: u32) -> Option<i128> {
    let (value, own) = decimal(number)?;
    // This leaves room for sums and smaller units.
    value.checked_mul(10_i128.checked_pow(scale.checked_sub(own)?)?).filter(|value| value.abs() < 1 << 110)
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

fn lcm(a: i128, b: i128) -> Option<i128> {
    (a / gcd(a, b)).checked_mul(b)
}
