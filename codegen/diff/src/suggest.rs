//! Suggests similar names in messages about unknown names.

/// Only names that are more similar than this are suggested. Others merely share some letters.
const SIMILAR: f64 = 0.8;

/// Returns ``did you mean `name`?`` with up to three names, or `None` if no known name is similar.
pub fn did_you_mean<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    let word = word.to_lowercase();
    let similarity = |name: &str| strsim::jaro_winkler(&name.to_lowercase(), &word);
    let mut similar: Vec<(f64, &str)> = known.into_iter().map(|name| (similarity(name), name)).collect();
    similar.retain(|(similarity, _)| *similarity > SIMILAR);
    similar.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    similar.dedup_by_key(|(_, name)| *name);
    let names: Vec<String> = similar.iter().take(3).map(|(_, name)| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| format!("did you mean {}?", names.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn suggests_similar_names() {
        let known = ["request-added", "request-removed", "Tool", "Tool"];
        for (word, expected) in [
            ("request-aded", Some("did you mean `request-added` or `request-removed`?")),
            ("tol", Some("did you mean `Tool`?")),
            ("xyz", None),
        ] {
            assert_eq!(did_you_mean(word, known).as_deref(), expected, "{word}");
        }
    }
}
