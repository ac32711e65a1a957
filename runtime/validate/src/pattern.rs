//! Estimates the cost of regular expressions.

/// Estimates a pattern's number of states, which bounds the time to match a byte of text.
///
/// Repetitions multiply: `(a{10}){10}` has a hundred states. The pattern need not be valid.
pub(crate) fn weight(pattern: &str) -> u64 {
    let mut characters = pattern.chars();
    let (mut group, mut outer) = (Group::default(), Vec::new());
    while let Some(character) = characters.next() {
        match character {
            '(' => outer.push(std::mem::take(&mut group)),
            ')' => {
                let inner = group.size();
                let Some(enclosing) = outer.pop() else { return LARGEST };
                group = enclosing;
                group.push(inner);
            }
            '{' => {
                let bounds: String = characters.by_ref().take_while(|character| *character != '}').collect();
                let bounds = bounds.split(',').filter_map(|bound| bound.trim().parse::<u64>().ok());
                group.repeat(bounds.max().unwrap_or(1));
            }
            '[' => {
                skip_class(&mut characters);
                group.push(4);
            }
            '\\' => {
                // A property, such as `\p{L}`, is a large class.
                let is_property = matches!(characters.next(), Some('p' | 'P'));
                group.push(if is_property { 64 } else { 2 });
            }
            '.' => group.push(8),
            '*' | '+' | '?' | '|' | '^' | '$' => {}
            _ => group.push(1),
        }
    }
    outer.iter().fold(group.size().saturating_add(1), |sum, group| sum.saturating_add(group.size())).min(LARGEST)
}

/// Maximum number of backtracking steps for a pattern with look-around or backreferences. Other patterns take linear
/// time.
pub(crate) const MAX_BACKTRACKS: u16 = 10_000;

/// Estimates how much look-around and backreferences add to the cost of each part of the text: each backtracking step
/// may read the rest of the text.
pub(crate) fn backtracking(pattern: &str) -> u64 {
    let has_reference =
        |it: &str| it.split('\\').skip(1).any(|after| after.starts_with(|it| matches!(it, '1'..='9' | 'k')));
    let looks_around = ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|group| pattern.contains(group));
    if looks_around || has_reference(pattern) { MAX_BACKTRACKS.into() } else { 0 }
}

fn skip_class(characters: &mut std::str::Chars<'_>) {
    while let Some(character) = characters.next() {
        match character {
            ']' => return,
            '\\' => drop(characters.next()),
            _ => {}
        }
    }
}

/// The maximum number of states. The size limit for compiled patterns allows no more.
const LARGEST: u64 = 10_000;

#[derive(Default)]
struct Group {
    before: u64,
    last: u64,
}

impl Group {
    fn size(&self) -> u64 {
        self.before.saturating_add(self.last)
    }

    fn push(&mut self, part: u64) {
        self.before = self.size();
        self.last = part;
    }

    fn repeat(&mut self, times: u64) {
        self.last = self.last.saturating_mul(times.max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::weight;

    #[test]
    fn repetitions_multiply() {
        for (pattern, expected) in [
            ("", 1),
            ("abc", 4),
            ("^[a-z]+$", 5),
            ("a{3}-b{2,4}", 9),
            ("(a{10}){10}", 101),
            ("(((a{100}){100}){100}){10}", 10_000),
            ("[0-9a-f]{8}-[0-9a-f]{4}", 50),
            (r"\{9\}", 6),
            (")", 10_000),
            ("((", 1),
        ] {
            assert_eq!(weight(pattern), expected, "{pattern}");
        }
    }
}
