//! Suggests the name that a peer probably meant.

/// Maximum length of a name, and maximum number of names to compare. Peers choose how many times to ask, so each
/// comparison must stay cheap.
const LIMITS: (usize, usize) = (128, 1000);

/// The minimum similarity of a suggested name. 1 means equal.
const SIMILAR: f64 = 0.85;

/// Returns `; did you mean "…"?` with the known name most similar to `name`, or an empty string.
#[must_use]
pub fn did_you_mean<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    if name.len() > LIMITS.0 {
        return String::new();
    }
    let lower = name.to_lowercase();
    let rated = known.into_iter().take(LIMITS.1).filter(|known| known.len() <= LIMITS.0);
    let rated = rated.map(|known| (strsim::jaro_winkler(&lower, &known.to_lowercase()), known));
    match rated.max_by(|(a, _), (b, _)| a.total_cmp(b)) {
        Some((similarity, known)) if similarity >= SIMILAR => format!("; did you mean {known:?}?"),
        _ => String::new(),
    }
}
