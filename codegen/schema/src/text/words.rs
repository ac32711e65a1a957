//! The words of error messages, and checks of lengths, bounds and multiples.

use std::fmt::Display;

/// The maximum number of characters of a string in a message.
const WIDTH: usize = 60;
/// The maximum number of characters at each end of a path in a message.
const PATH_END_WIDTH: usize = 150;
/// The maximum number of nested checks. Without optimisation, each takes up to 2 KB of stack.
pub(crate) const MAX_CHECKS: usize = 640;

/// The message for a value under more than [`MAX_CHECKS`] nested checks.
pub(crate) fn too_many_checks() -> String {
    format!("not decided: more than {MAX_CHECKS} nested checks apply; nest values or schemas less deeply")
}

/// Returns a string as JSON text, cut after [`WIDTH`] characters.
pub(crate) fn json_text(text: &str) -> String {
    let (mut quoted, mut width) = (String::from('"'), 0);
    for c in text.chars() {
        if width >= WIDTH {
            quoted.push('…');
            break;
        }
        let start = quoted.len();
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
        width += quoted[start..].chars().count();
    }
    quoted.push('"');
    quoted
}

/// Returns a single value as it is, and several as `one of a, b, c`.
pub(crate) fn one_of(values: &[String]) -> String {
    match values {
        [value] => value.clone(),
        _ => format!("one of {}", values.join(", ")),
    }
}

/// Formats a count with its unit, which is given as a plural: `2 items`, but `1 item`.
#[doc(hidden)]
#[must_use]
pub fn counted(count: u64, unit: &str) -> String {
    match unit.strip_suffix("ies") {
        Some(stem) if count == 1 => format!("1 {stem}y"),
        None if count == 1 => format!("1 {}", unit.strip_suffix('s').unwrap_or(unit)),
        _ => format!("{count} {unit}"),
    }
}

/// Returns the violated limit, such as `at least 2 items`. `unit` is a plural.
pub(crate) fn violated_length(found: u64, min: u64, max: Option<u64>, unit: &str) -> Option<String> {
    let (relation, limit) = match max {
        _ if found < min => ("at least", min),
        Some(max) if found > max => ("at most", max),
        _ => return None,
    };
    // A unit may continue after the noun: `items that …`.
    let (noun, rest) = unit.split_at(unit.find(' ').unwrap_or(unit.len()));
    Some(format!("{relation} {}{rest}", counted(limit, noun)))
}

/// Returns the violated bound, such as `more than 5`. The flag of a bound says whether it is exclusive.
pub(crate) fn violated_bound<N: Display + PartialOrd>(
    number: &N,
    min: Option<(N, bool)>,
    max: Option<(N, bool)>,
) -> Option<String> {
    match (min, max) {
        (Some((min, false)), _) if *number < min => Some(format!("at least {min}")),
        (Some((min, true)), _) if *number <= min => Some(format!("more than {min}")),
        (_, Some((max, false))) if *number > max => Some(format!("at most {max}")),
        (_, Some((max, true))) if *number >= max => Some(format!("less than {max}")),
        _ => None,
    }
}

/// Returns whether a number is an integer multiple of the divisor. Both are decimal, without sign or exponent.
pub(crate) fn is_multiple(number: &str, divisor: &str) -> bool {
    let (Some((digits, exponent)), Some((unit, unit_exponent))) = (decimal(number), decimal(divisor)) else {
        return false;
    };
    if digits == 0 || unit == 0 {
        return digits == 0;
    }
    let power = exponent - unit_exponent;
    if power < 0 {
        // If this overflows, the scaled divisor is larger than the number.
        let scale = 10_u128.checked_pow(power.unsigned_abs());
        return scale.and_then(|scale| scale.checked_mul(unit)).is_some_and(|unit| digits % unit == 0);
    }
    (0..power).fold(digits % unit, |rest, _| rest * 10 % unit) == 0
}

fn decimal(text: &str) -> Option<(u128, i32)> {
    let (integral, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{integral}{fraction}");
    let significant = digits.trim_end_matches('0');
    let zeros = i32::try_from(digits.len() - significant.len()).ok()?;
    let exponent = zeros - i32::try_from(fraction.len()).ok()?;
    if significant.is_empty() { Some((0, 0)) } else { Some((significant.parse().ok()?, exponent)) }
}

/// Joins path segments, outermost first. Elides the middle of a long path.
pub(crate) fn path_text(mut segments: Vec<String>) -> String {
    if let Some(first) = segments.first_mut().filter(|first| first.starts_with('.')) {
        first.remove(0);
    }
    let begin = fitting(segments.iter());
    let end = segments.len() - fitting(segments.iter().rev());
    if begin >= end {
        return segments.concat();
    }
    format!("{}…{}", segments[..begin].concat(), segments[end..].concat())
}

fn fitting<'a>(segments: impl Iterator<Item = &'a String>) -> usize {
    let widths = segments.scan(0, |width, segment| {
        *width += segment.chars().count();
        Some(*width)
    });
    widths.take_while(|width| *width <= PATH_END_WIDTH).count()
}

/// Returns `.key` for a simple key, otherwise the key in brackets.
pub(crate) fn key_text(key: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    if (1..=WIDTH).contains(&key.len()) && key.chars().all(is_word) {
        format!(".{key}")
    } else {
        format!("[{}]", json_text(key))
    }
}
