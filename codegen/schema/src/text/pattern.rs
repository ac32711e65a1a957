//! ECMA-262 regular expressions, as JSON Schema uses them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use mcpgen_pattern::{Regex, TooExpensive};

/// Compiles a pattern, or takes it from a cache.
///
/// # Errors
/// Returns why the pattern is invalid.
pub fn compile(pattern: &str) -> Result<Arc<Regex>, String> {
    static COMPILED: LazyLock<Mutex<HashMap<String, Arc<Regex>>>> = LazyLock::new(Mutex::default);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = compiled.get(pattern) {
        return Ok(Arc::clone(known));
    }
    let regex = Arc::new(Regex::new(pattern).map_err(|error| error.to_string())?);
    compiled.insert(pattern.to_owned(), Arc::clone(&regex));
    Ok(regex)
}

/// Returns whether some part of the text matches. An invalid pattern matches nothing.
///
/// # Errors
/// Fails if matching takes too many steps.
pub fn matches(pattern: &str, text: &str) -> Result<bool, TooExpensive> {
    compile(pattern).map_or(Ok(false), |regex| regex.is_match(text))
}
