//! Which messages change the state of a session.

/// Returns the key of the part of a session's state that a message of this method changes, and whether the message
/// resets that part. `uri` returns the URI in the params. The schemas do not contain this fact.
pub(super) fn state_change(method: &str, uri: impl FnOnce() -> Option<String>) -> Option<(String, bool)> {
    match method {
        "initialize" | "notifications/initialized" | "logging/setLevel" => Some((method.to_owned(), false)),
        "resources/subscribe" => Some((subscription(&uri()?), false)),
        "resources/unsubscribe" => Some((subscription(&uri()?), true)),
        _ => None,
    }
}

/// Returns the key of the part of a session's state that is the subscription to a resource.
fn subscription(uri: &str) -> String {
    format!("{SUBSCRIPTION}{uri}")
}

/// Returns the URI of a key that is the subscription to a resource.
pub(super) fn subscribed_uri(key: &str) -> Option<&str> {
    key.strip_prefix(SUBSCRIPTION)
}

const SUBSCRIPTION: &str = "resources/subscribe ";
