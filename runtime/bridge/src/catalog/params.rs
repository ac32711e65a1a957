//! Reads the params that say which item is meant.

use mcpgen_runtime::jsonrpc::errors;
use mcpgen_types::{ErrorObject, Json, JsonObject};

/// Maximum length of a member's name in an error, in characters.
const MAX_NAME: usize = 100;

/// Returns the params with each member only once. Of duplicates, a server may read the first, and a gateway the last.
///
/// # Errors
///
/// Fails if a name differs from one of `members` only in case. Some servers ignore case, and would read a value that no
/// rule has checked.
pub fn unambiguous(params: Option<Json>, members: &[&str]) -> Result<JsonObject, ErrorObject> {
    let Some(params) = params else { return Ok(JsonObject::new()) };
    // Upper case first: `ſ` and the Kelvin sign are equal to `s` and `k` for some servers.
    let fold = |name: &str| name.to_uppercase().to_lowercase();
    let mut unique = Vec::new();
    for (name, value) in params.members() {
        let folded = fold(&name);
        if members.iter().any(|member| *member == folded && *member != name) {
            let name: String = name.chars().take(MAX_NAME).collect();
            return Err(errors::invalid_params_in_words(&format!("params.{name}: write {folded:?}")));
        }
        unique.push((name.into_owned(), value.to_json()));
    }
    Ok(unique.into_iter().collect())
}
