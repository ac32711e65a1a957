//! Compares the behaviour that tools promise.

use mcpgen_model::snapshot::Item;
use mcpgen_schema::json::Json;

use crate::models::Rule;

/// The hints of a tool. Absent hints have their defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hints {
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    open_world: bool,
}

impl Hints {
    /// Reads the hints of a tool. A read-only tool counts as idempotent and not destructive, whatever its other hints
    /// state.
    fn of(tool: &Item) -> Hints {
        let hint = |name: &str, default: bool| match tool.get("annotations").and_then(|all| all.get(name)) {
            Some(Json::Bool(hint)) => *hint,
            _ => default,
        };
        let read_only = hint("readOnlyHint", false);
        Hints {
            read_only,
            destructive: !read_only && hint("destructiveHint", true),
            idempotent: read_only || hint("idempotentHint", false),
            open_world: hint("openWorldHint", true),
        }
    }
}

/// A difference: the rule, a detail that identifies it, and the end of the message.
pub(super) type Behaviour = (Rule, &'static str, &'static str);

/// Compares the hints of two tools.
pub(super) fn compare(old: &Item, new: &Item) -> Vec<Behaviour> {
    let (old, new) = (Hints::of(old), Hints::of(new));
    let mut found: Vec<Behaviour> = Vec::new();
    match (old.destructive, new.destructive) {
        (false, true) => found.push((Rule::ToolBecameDestructive, "", "may now destroy data")),
        (true, false) => found.push((Rule::ToolBecameSafer, "destructive", "says that it does not destroy data")),
        _ if old.read_only && !new.read_only => {
            found.push((Rule::ToolBecameWriting, "", "is no longer read-only"));
        }
        _ if new.read_only && !old.read_only => {
            found.push((Rule::ToolBecameSafer, "read-only", "says that it is read-only"));
        }
        _ => {}
    }
    // Read-only tools count as idempotent: repeating a call without effects does not matter.
    match (old.idempotent, new.idempotent) {
        (true, false) => {
            found.push((Rule::ToolBecameNonIdempotent, "", "may now have further effects if a call is repeated"));
        }
        (false, true) => {
            found.push((Rule::ToolBecameSafer, "idempotent", "says that a repeated call has no further effects"));
        }
        _ => {}
    }
    match (old.open_world, new.open_world) {
        (false, true) => found.push((Rule::ToolBecameOpenWorld, "", "may now interact with external entities")),
        (true, false) => {
            found.push((Rule::ToolBecameSafer, "open-world", "says that it does not interact with external entities"));
        }
        _ => {}
    }
    found
}

/// Compares whether two tools can be called as tasks. By default, a tool cannot.
pub(super) fn compare_task_support(old: &Item, new: &Item) -> Vec<Behaviour> {
    let support = |tool: &Item| {
        let support = tool.get("execution").and_then(|execution| execution.get("taskSupport")).and_then(Json::as_str);
        (support == Some("required"), matches!(support, Some("required" | "optional")))
    };
    let ((was_required, was_allowed), (is_required, is_allowed)) = (support(old), support(new));
    let mut found: Vec<Behaviour> = Vec::new();
    if is_required && !was_required {
        found.push((Rule::ToolRequiresTask, "", "can only be called as a task"));
    }
    if was_allowed && !is_allowed {
        found.push((Rule::ToolRefusesTask, "", "can no longer be called as a task"));
    }
    if is_allowed && !was_allowed && !is_required {
        found.push((Rule::ToolAllowsTask, "task", "can also be called as a task"));
    }
    if was_required && !is_required {
        found.push((Rule::ToolAllowsTask, "call", "no longer has to be called as a task"));
    }
    found
}
