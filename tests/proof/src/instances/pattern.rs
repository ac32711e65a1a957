//! Makes strings that match a regular expression.

use fastrand::Rng;
use regex_syntax::hir::{Hir, HirKind};

/// Makes a string that matches the pattern, or `None` if the crate `regex` does not support the pattern.
pub(super) fn matching(rng: &mut Rng, pattern: &str) -> Option<String> {
    let hir = regex_syntax::parse(pattern).ok()?;
    let mut text = String::new();
    write(rng, &hir, &mut text, 0);
    let text: String = text.chars().take(MAX_LENGTH).collect();
    Some(text)
}

pub(super) fn is_match(pattern: &str, text: &str) -> bool {
    regex::Regex::new(pattern).is_ok_and(|regex| regex.is_match(text))
}

const MAX_LENGTH: usize = 1_000;
/// The number of repetitions that may follow the required ones.
const MORE: u32 = 3;

fn write(rng: &mut Rng, hir: &Hir, text: &mut String, depth: u32) {
    if depth > 50 || text.len() > MAX_LENGTH {
        return;
    }
    match hir.kind() {
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => text.extend(character(rng, class)),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX).min(repetition.min.saturating_add(MORE));
            for _ in 0..rng.u32(repetition.min..=most) {
                write(rng, &repetition.sub, text, depth + 1);
            }
        }
        HirKind::Capture(capture) => write(rng, &capture.sub, text, depth + 1),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(rng, part, text, depth + 1)),
        HirKind::Alternation(parts) => {
            if let Some(part) = rng.choice(parts) {
                write(rng, part, text, depth + 1);
            }
        }
        HirKind::Empty | HirKind::Look(_) => {}
    }
}

/// Chooses a character of a class, if possible an ASCII one.
fn character(rng: &mut Rng, class: &regex_syntax::hir::Class) -> Option<char> {
    let ranges: Vec<(u32, u32)> = match class {
        regex_syntax::hir::Class::Unicode(class) => {
            class.ranges().iter().map(|range| (range.start() as u32, range.end() as u32)).collect()
        }
        regex_syntax::hir::Class::Bytes(class) => {
            class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect()
        }
    };
    let ascii: Vec<(u32, u32)> =
        ranges.iter().filter(|(start, _)| *start < 127).map(|(start, end)| (*start, (*end).min(126))).collect();
    let ranges = if ascii.is_empty() || rng.u8(0..8) == 0 { ranges } else { ascii };
    let (start, end) = rng.choice(ranges)?;
    char::from_u32(rng.u32(start..=end)).or(char::from_u32(start))
}
