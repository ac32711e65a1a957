//! Counts with units.

/// Returns a count with its unit, a plural: `2 items`, but `1 item`.
pub fn counted(count: u64, unit: &str) -> String {
    // Only -1 and its like do not fit, and they are no counts.
    match unit.strip_suffix("ies") {
        Some(stem) if count == 1 => format!("1 {stem}y"),
        None if count == 1 => format!("1 {}", unit.strip_suffix('s').unwrap_or(unit)),
        _ => format!("{count} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_has_no_plural() {
        for (count, unit, expected) in [
            (0, "items", "0 items"),
            (1, "items", "1 item"),
            (2, "items", "2 items"),
            (1, "entries", "1 entry"),
            (1, "invalid messages", "1 invalid message"),
        ] {
            assert_eq!(counted(count, unit), expected);
        }
    }
}
