//! Names of keys and channels.
//!
//! All keys of a session, task or owner share a hash tag, so that scripts also work on a cluster.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

#[derive(Clone, Debug)]
pub(crate) struct Keys(String);

impl Keys {
    pub(crate) fn new(prefix: &str) -> Self {
        Self(prefix.to_owned())
    }

    pub(crate) fn lease(&self, replica: &str) -> String {
        format!("{}:replica:{{{}}}", self.0, tag(replica))
    }

    /// The channel for messages to a replica.
    pub(crate) fn inbox(&self, replica: &str) -> String {
        format!("{}:replica:{{{}}}:inbox", self.0, tag(replica))
    }

    /// IDs of all sessions by expiry.
    pub(crate) fn sessions(&self) -> String {
        format!("{}:sessions", self.0)
    }

    pub(crate) fn session(&self, id: &str) -> String {
        format!("{}:session:{{{}}}", self.0, tag(id))
    }

    /// A session's streams, without events.
    pub(crate) fn streams(&self, session: &str) -> String {
        format!("{}:streams", self.session(session))
    }

    /// A stream's events. Append the stream's number.
    pub(crate) fn events(&self, session: &str) -> String {
        format!("{}:events:", self.session(session))
    }

    /// The latest changes, and their counter.
    pub(crate) fn changes(&self) -> [String; 2] {
        ["log", "count"].map(|name| format!("{}:{{changes}}:{name}", self.0))
    }

    pub(crate) fn task(&self, id: &str) -> String {
        format!("{}:task:{{{}}}", self.0, tag(id))
    }

    /// IDs of an owner's tasks, in alphabetical order and by expiry.
    pub(crate) fn owner(&self, owner: &str) -> [String; 2] {
        ["ids", "expiry"].map(|name| format!("{}:owner:{{{}}}:{name}", self.0, tag(owner)))
    }

    pub(crate) fn rate(&self, limit: &str, caller: &str) -> String {
        format!("{}:rate:{limit}:{{{}}}", self.0, tag(caller))
    }

    /// A used state, named by its nonce, or the floor of all states.
    pub(crate) fn used_state(&self, name: &str) -> String {
        format!("{}:{{used-states}}:{name}", self.0)
    }

    pub(crate) fn request_state_keys(&self) -> String {
        format!("{}:request-state-keys", self.0)
    }
}

/// Encodes names that contain special characters. The result begins with `=`, which no other name does.
fn tag(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    match !name.is_empty() && name.bytes().all(is_plain) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(format!("={}", URL_SAFE_NO_PAD.encode(name))),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn different_names_have_different_keys_in_one_slot() {
        let names = ["", "a", "a}", "{a}", "a}:streams", "=YQ", "é", "a:b", "}", "a\n"];
        let keys = Keys::new("p");
        let all: Vec<_> = names.iter().flat_map(|name| [keys.session(name), keys.streams(name)]).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 2 * names.len());
        for pair in all.chunks(2) {
            let slots = pair.iter().map(|key| key.split(['{', '}']).nth(1)).collect::<BTreeSet<_>>();
            assert!(slots.len() == 1 && !slots.contains(&Some("")), "{pair:?}");
        }
    }
}
