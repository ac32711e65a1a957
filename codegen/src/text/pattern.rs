//! Regular expressions of ECMA-262, as JSON Schema uses them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use regress::Regex;

/// Compiles a pattern, or returns it from a cache.
///
/// # Errors
/// Returns the reason if the pattern is invalid.
pub(crate) fn compile(pattern: &str) -> Result<Arc<Regex>, String> {
    static COMPILED: LazyLock<Mutex<HashMap<String, Arc<Regex>>>> = LazyLock::new(Mutex::default);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = compiled.get(pattern) {
        return Ok(Arc::clone(known));
    }
    // JSON Schema requires the flag `u`, but many patterns in use are valid only without it.
    let regex = Regex::with_flags(pattern, "u").or_else(|_| Regex::new(pattern)).map_err(|error| error.to_string())?;
    let regex = Arc::new(regex);
    compiled.insert(pattern.to_owned(), Arc::clone(&regex));
    Ok(regex)
}

/// Returns whether a part of the text matches. An invalid pattern matches nothing.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    compile(pattern).is_ok_and(|regex| regex.find(text).is_some())
}

#[cfg(test)]
mod tests {
    use super::{compile, matches};

    #[test]
    fn follows_ecma_262() {
        for (pattern, text, expected) in [
            ("^a+$", "aaa", true),
            ("^a+$", "aab", false),
            ("b", "abc", true),
            (r"^\d$", "\u{7f1}", false),
            (r"^\p{Letter}+$", "π", true),
            ("^🐲*$", "🐲🐲", true),
            (r"^[\w\-]+$", "a-b", true),
            (r"(?<=x)y", "xy", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
        assert!(compile("(").is_err());
    }
}
