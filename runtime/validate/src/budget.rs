//! Limits how much work an evaluation may do.
//!
//! The `jsonschema` crate has no such limit. Schemas are therefore rewritten so that each costly subschema is entered
//! through an `if` with the keyword [`KEYWORD`], which charges its cost to the running evaluation. Once the budget is
//! used up, no further subschema is entered, and the evaluation ends as soon as the current loops do.

use std::cell::Cell;
use std::time::{Duration, Instant};

use jsonschema::paths::Location;
use jsonschema::{Keyword, ValidationError};
use mcpgen_types::Value;
use serde_json::Map;

/// The keyword that charges the budget. Its value is a [`Cost`].
pub(crate) const KEYWORD: &str = "mcpgen:cost";

/// Limits for one evaluation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Units of work. One unit takes 3 to 100 ns.
    pub(crate) steps: u64,
    /// Bytes of stack, measured from the start of the evaluation.
    pub(crate) stack: usize,
    /// A time limit, in case the work takes longer than its units suggest.
    pub(crate) time: Duration,
}

/// The budget was used up, so the evaluation's outcome is meaningless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

#[derive(Clone, Copy)]
struct Meter {
    steps: u64,
    deadline: Option<Instant>,
    stack: usize,
    stack_start: usize,
    exhausted: bool,
}

thread_local! {
    /// The budget of the evaluation running on this thread.
    static METER: Cell<Option<Meter>> = const { Cell::new(None) };
}

/// How many units are charged between checks of the clock.
const CLOCK_INTERVAL: u64 = 4096;

impl Budget {
    /// Runs an evaluation within this budget.
    ///
    /// # Errors
    ///
    /// Fails if the budget is used up.
    pub(crate) fn run<T>(self, evaluate: impl FnOnce() -> T) -> Result<T, Exhausted> {
        let meter = Meter {
            steps: self.steps,
            deadline: Instant::now().checked_add(self.time),
            stack: self.stack,
            stack_start: stack_position(),
            exhausted: false,
        };
        let _restored = Restored(METER.replace(Some(meter)));
        let outcome = evaluate();
        match METER.get() {
            Some(Meter { exhausted: false, .. }) => Ok(outcome),
            _ => Err(Exhausted),
        }
    }
}

/// Restores the outer meter when dropped, even after a panic.
struct Restored(Option<Meter>);

impl Drop for Restored {
    fn drop(&mut self) {
        METER.set(self.0);
    }
}

/// An address near the top of the stack.
#[inline(never)]
fn stack_position() -> usize {
    let local = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&local)).addr()
}

impl Meter {
    /// Returns `false` once the budget is used up.
    fn charge(&mut self, steps: u64) -> bool {
        let before = self.steps;
        let (left, overdrawn) = before.overflowing_sub(steps);
        if self.exhausted || overdrawn || self.stack_start.abs_diff(stack_position()) > self.stack {
            self.exhausted = true;
            return false;
        }
        self.steps = left;
        if before / CLOCK_INTERVAL != left / CLOCK_INTERVAL {
            self.exhausted = self.deadline.is_some_and(|deadline| deadline <= Instant::now());
        }
        !self.exhausted
    }
}

/// The cost of entering a subschema, excluding those that it enters in turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Units for any instance.
    pub(crate) base: u64,
    /// Units per item or member.
    pub(crate) per_child: u64,
    /// Units per 64 bytes of a string.
    pub(crate) per_text: u64,
    /// Units per 64 bytes of member names.
    pub(crate) per_names: u64,
    /// Units per value inside an array or object, at any depth.
    pub(crate) per_value: u64,
}

impl Cost {
    pub(crate) fn to_value(self) -> Value {
        [self.base, self.per_child, self.per_text, self.per_names, self.per_value].as_slice().into()
    }

    fn from_value(value: &Value) -> Option<Self> {
        let [base, per_child, per_text, per_names, per_value] = value.as_array()?.as_slice() else { return None };
        Some(Self {
            base: base.as_u64()?,
            per_child: per_child.as_u64()?,
            per_text: per_text.as_u64()?,
            per_names: per_names.as_u64()?,
            per_value: per_value.as_u64()?,
        })
    }

    fn of(self, instance: &Value) -> u64 {
        let size = |size: usize, cost: u64| (size as u64).saturating_mul(cost);
        let inner = match instance {
            Value::String(text) => size(text.len(), self.per_text) / 64,
            Value::Array(items) => size(items.len(), self.per_child),
            Value::Object(members) if self.per_names > 0 => {
                let names = members.keys().map(String::len).sum();
                size(members.len(), self.per_child).saturating_add(size(names, self.per_names) / 64)
            }
            Value::Object(members) => size(members.len(), self.per_child),
            _ => 0,
        };
        let deep = if self.per_value > 0 { values(instance).saturating_mul(self.per_value) } else { 0 };
        self.base.saturating_add(inner).saturating_add(deep)
    }
}

/// Counts values, including this one. Every 64 bytes of a string or member name count as one more.
pub(crate) fn values(value: &Value) -> u64 {
    let text = |text: &str| text.len() as u64 / 64;
    1 + match value {
        Value::String(string) => text(string),
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| text(name) + values(value)).sum(),
        _ => 0,
    }
}

/// Implements [`KEYWORD`].
struct Charge(Cost);

impl<'i> Keyword<'i> for Charge {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if Keyword::is_valid(self, instance) { Ok(()) } else { Err(ValidationError::custom("the budget is used up")) }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        let Some(mut meter) = METER.get() else { return true };
        let entered = meter.charge(self.0.of(instance));
        METER.set(Some(meter));
        entered
    }
}

/// Creates a [`Charge`] for `jsonschema`.
pub(crate) fn keyword<'a>(
    _schema: &'a Map<String, Value>,
    value: &'a Value,
    _path: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    let cost = Cost::from_value(value).ok_or_else(|| ValidationError::custom("invalid cost"))?;
    Ok(Box::new(Charge(cost)))
}
