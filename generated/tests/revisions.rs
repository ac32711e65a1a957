//! Checks the generated facts about revisions and their methods against tables written by hand from the specification.

use mcpgen_types::{MethodSpec, Revision, Version};

/// Returns the methods of a revision that satisfy a condition.
fn methods(revision: Revision, holds: impl Fn(&MethodSpec) -> bool) -> Vec<&'static str> {
    let mut methods: Vec<_> = revision.methods().iter().filter(|spec| holds(spec)).map(|spec| spec.method).collect();
    methods.sort_unstable();
    methods
}

#[test]
fn methods_have_the_capabilities_of_the_specification() {
    let modern = Revision::V2026_07_28;
    let cacheable = [
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "server/discover",
        "tools/list",
    ];
    assert_eq!(methods(modern, |spec| spec.cacheable), cacheable);
    let interactive = ["prompts/get", "resources/read", "tools/call"];
    assert_eq!(methods(modern, |spec| spec.may_require_input), interactive);
    let as_tasks = ["elicitation/create", "sampling/createMessage", "tools/call"];
    assert_eq!(methods(Revision::V2025_11_25, |spec| spec.may_run_as_task), as_tasks);
    let inputs = ["elicitation/create", "roots/list", "sampling/createMessage"];
    assert_eq!(methods(modern, |spec| spec.is_request && !spec.sent_by_client), inputs);
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

#[test]
fn revisions_have_the_rules_of_the_specification() {
    let of = |holds: fn(Revision) -> bool| {
        let names = Revision::ALL.iter().filter(|revision| holds(**revision)).map(|revision| revision.as_str());
        names.collect::<Vec<_>>()
    };
    let legacy = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
    assert_eq!(of(Revision::is_legacy), legacy);
    assert_eq!(of(Revision::has_batches), ["2025-03-26"]);
    assert_eq!(of(Revision::has_priming_events), ["2025-11-25"]);
    assert_eq!(of(Revision::has_resource_not_found_code), legacy);
    assert_eq!(of(Revision::has_standard_headers), ["2026-07-28"]);
    assert_eq!(Revision::LATEST, Revision::V2026_07_28);
    let custom = Revision::of(Version::new("2024-11-05-custom"));
    assert!(!custom.has_schema("") && Revision::ALL.iter().all(|revision| !revision.has_schema("")));
    let digest = "e26f29f8c461db9254d84b42f766a95e90da5866ff6b2d15495805dfecf99d44";
    assert_eq!(Revision::ALL.iter().filter(|revision| revision.has_schema(digest)).count(), 1);
    assert!(Revision::V2026_07_28.has_schema(digest));
    assert!(!custom.has_priming_events() && !custom.has_standard_headers());
    assert_eq!(Revision::of(Version::new("2025-11-25")), Revision::V2025_11_25, "a known name is the known revision");
    assert!(Revision::V2025_11_25 < Revision::of(Version::new("2026-01-01")));
    assert!(Revision::of(Version::new("2026-01-01")) < Revision::V2026_07_28);
}
