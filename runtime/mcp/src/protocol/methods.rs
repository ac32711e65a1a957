//! The table of methods. The facts that the schemas contain are generated; see [`MethodSpec`].

use mcpgen_runtime::transport::FreeForm;
use mcpgen_types::{MethodSpec, Revision};

use super::Role;

/// The requests whose response is sent only when something else ends, such as a subscription or a task. The schemas do
/// not contain this fact.
pub(crate) const LONG_LIVED: [&str; 2] = ["subscriptions/listen", "tasks/result"];

/// Returns whether a server may respond to a request of this method although it has not declared the capability: several
/// clients request these lists from every server, and fail if the response is an error.
pub(crate) fn may_be_undeclared(method: &str) -> bool {
    matches!(method, "prompts/list" | "resources/list" | "resources/templates/list" | "tools/list")
}

/// Returns where the messages of a method have free-form JSON in the newest revision, to which those of others are
/// converted.
#[must_use]
pub fn free_form(method: &str) -> FreeForm {
    let spec = MethodSpec::newest(method);
    spec.map_or_else(FreeForm::default, |spec| FreeForm {
        params: spec.free_form_params,
        result: spec.free_form_result,
    })
}

/// Returns the member of the params that names the subject of a request: the name of a tool or a prompt, or the URI of a
/// resource.
#[must_use]
pub fn subject_member(method: &str) -> Option<&'static str> {
    MethodSpec::newest(method)?.subject
}

/// Returns whether clients of a revision can request that a request of this method runs as a task.
#[must_use]
pub fn may_run_as_task(revision: Revision, method: &str) -> bool {
    revision.method(method).is_some_and(|spec| spec.may_run_as_task)
}

/// Returns the facts about a method in a revision or, if the revision does not define it, in the newest one that does.
pub(crate) fn in_or_near(revision: Revision, method: &str) -> Option<&'static MethodSpec> {
    revision.method(method).or_else(|| MethodSpec::newest(method))
}

/// Returns whether a request is for this role. Requests that neither side may send are input requests for clients.
pub(crate) fn is_received_by(spec: &MethodSpec, role: Role) -> bool {
    match role {
        Role::Server => spec.sent_by_client,
        Role::Client => spec.sent_by_server || !spec.sent_by_client,
    }
}
