//! The table of methods. The facts that the schemas contain are generated; see [`MethodSpec`].

use mcpgen_types::{MethodSpec, Revision};

use super::Role;

/// Returns whether the response to a request of this method is sent only when something else ends, such as a
/// subscription or a task. The schemas do not contain this fact.
pub(crate) fn is_long_lived(method: &str) -> bool {
    matches!(method, "subscriptions/listen" | "tasks/result")
}

/// Returns the facts about a method in the newest revision that defines it.
pub(crate) fn newest(method: &str) -> Option<&'static MethodSpec> {
    Revision::ALL.iter().rev().find_map(|revision| revision.method(method))
}

/// Returns the facts about a method in a revision or, if the revision does not define it, in the newest one that does.
pub(crate) fn in_or_near(revision: Revision, method: &str) -> Option<&'static MethodSpec> {
    revision.method(method).or_else(|| newest(method))
}

/// Returns whether a request is for this role. Requests that neither side may send are input requests for clients.
pub(crate) fn is_received_by(spec: &MethodSpec, role: Role) -> bool {
    match role {
        Role::Server => spec.sent_by_client,
        Role::Client => spec.sent_by_server || !spec.sent_by_client,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the methods of a revision that satisfy a condition.
    fn methods(revision: Revision, holds: impl Fn(&MethodSpec) -> bool) -> Vec<&'static str> {
        let mut methods: Vec<_> =
            revision.methods().iter().filter(|spec| holds(spec)).map(|spec| spec.method).collect();
        methods.sort_unstable();
        methods
    }

    #[test]
    fn methods_have_the_capabilities_of_the_specification() {
        let newest = Revision::V2026_07_28;
        let cacheable = [
            "prompts/list",
            "resources/list",
            "resources/read",
            "resources/templates/list",
            "server/discover",
            "tools/list",
        ];
        assert_eq!(methods(newest, |spec| spec.cacheable), cacheable);
        let interactive = ["prompts/get", "resources/read", "tools/call"];
        assert_eq!(methods(newest, |spec| spec.may_require_input), interactive);
        let as_tasks = ["elicitation/create", "sampling/createMessage", "tools/call"];
        assert_eq!(methods(Revision::V2025_11_25, |spec| spec.may_run_as_task), as_tasks);
        let inputs = ["elicitation/create", "roots/list", "sampling/createMessage"];
        assert_eq!(methods(newest, |spec| spec.is_request && is_received_by(spec, Role::Client)), inputs);
        for (revision, method, capability) in [
            (Revision::V2024_11_05, "completion/complete", &[][..]),
            (Revision::V2025_03_26, "completion/complete", &["completions"]),
            (Revision::V2025_03_26, "ping", &[]),
            (Revision::V2025_06_18, "notifications/message", &["logging"]),
            (Revision::V2025_06_18, "notifications/roots/list_changed", &["roots", "listChanged"]),
            (Revision::V2025_06_18, "resources/unsubscribe", &["resources", "subscribe"]),
            (Revision::V2025_11_25, "notifications/elicitation/complete", &[]),
            (Revision::V2025_11_25, "tasks/list", &["tasks", "list"]),
            (Revision::V2025_11_25, "tasks/result", &["tasks"]),
        ] {
            assert_eq!(revision.method(method).map(|spec| spec.capability), Some(capability), "{revision} {method}");
        }
    }
}
