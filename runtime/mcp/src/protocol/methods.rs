//! Facts about methods. Those that the schemas contain are generated; see [`MethodSpec`].

use mcpgen_runtime::transport::FreeForm;
use mcpgen_types::{MethodSpec, Revision};

use super::Role;

/// Requests that last until something else ends, such as a subscription or a task. The schemas do not mark them.
pub(crate) const LONG_LIVED: [&str; 2] = ["subscriptions/listen", "tasks/result"];

/// Returns whether a server may respond to this method even if it has not declared the capability for it. Several
/// clients request these lists from every server, and fail on an error response.
pub(crate) fn may_be_undeclared(method: &str) -> bool {
    matches!(method, "prompts/list" | "resources/list" | "resources/templates/list" | "tools/list")
}

/// Returns where a method's messages contain free-form JSON in the newest revision, to which others are converted.
#[must_use]
pub fn free_form(method: &str) -> FreeForm {
    let spec = MethodSpec::newest(method);
    spec.map_or_else(FreeForm::default, |spec| FreeForm {
        params: spec.free_form_params,
        result: spec.free_form_result,
    })
}

/// Returns the `params` field that names a request's target: the name of a tool or prompt, or the URI of a resource.
#[must_use]
pub fn subject_member(method: &str) -> Option<&'static str> {
    MethodSpec::newest(method)?.subject
}

/// Returns whether a revision lets the sender of this request ask for it to run as a task.
#[must_use]
pub fn may_run_as_task(revision: Revision, method: &str) -> bool {
    revision.method(method).is_some_and(|spec| spec.may_run_as_task)
}

/// Returns the facts about a method in a revision or, if it is not defined there, in the newest one that has it.
pub(crate) fn in_or_near(revision: Revision, method: &str) -> Option<&'static MethodSpec> {
    revision.method(method).or_else(|| MethodSpec::newest(method))
}

/// Returns whether the side with this role receives the request. A request that neither side sends directly is an input
/// request, which clients receive.
pub(crate) fn is_received_by(spec: &MethodSpec, role: Role) -> bool {
    match role {
        Role::Server => spec.sent_by_client,
        Role::Client => spec.sent_by_server || !spec.sent_by_client,
    }
}
