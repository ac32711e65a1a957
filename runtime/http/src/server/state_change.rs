//! Which messages change a session's state.

/// Returns the key of the part of the state that this method changes, and whether it resets that part. `uri` reads the
/// URI in the params. Listed by hand, because the schemas do not say this.
pub(super) fn state_change(method: &str, uri: impl FnOnce() -> Option<String>) -> Option<(String, bool)> {
    match method {
        "initialize" | "notifications/initialized" | "logging/setLevel" => Some((method.to_owned(), false)),
        "resources/subscribe" => Some((subscription(&uri()?), false)),
        "resources/unsubscribe" => Some((subscription(&uri()?), true)),
        _ => None,
    }
}

/// Returns the key for a resource subscription.
fn subscription(uri: &str) -> String {
    format!("{SUBSCRIPTION}{uri}")
}

/// Returns the URI in the key of a resource subscription.
pub(super) fn subscribed_uri(key: &str) -> Option<&str> {
    key.strip_prefix(SUBSCRIPTION)
}

const SUBSCRIPTION: &str = "resources/subscribe ";
