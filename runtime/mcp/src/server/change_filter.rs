//! Decides which changes a caller may be notified of.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mcpgen_runtime::context::Context;

use super::visibility::{Affected, Viewer, Visibility};
use crate::protocol::change::Change;

/// Whether a caller may be notified of a change.
pub(super) type ChangeFilter = Arc<dyn Fn(&str, &Change) -> bool + Send + Sync>;

/// The server's filters for one caller. The default allows all changes.
#[derive(Clone, Default)]
pub(super) struct CallerFilter {
    changes: Option<(ChangeFilter, String)>,
    /// The context outlives the caller's request.
    visibility: Option<(Visibility, Context)>,
}

impl CallerFilter {
    pub(super) fn new(changes: Option<(ChangeFilter, String)>, visibility: Option<(Visibility, Context)>) -> Self {
        Self { changes, visibility }
    }

    pub(super) fn notifies(&self, change: &Change, affected: &Affected) -> bool {
        let sees = |(visibility, context): &(_, _)| affected.concerns(Viewer::new(Some(visibility), context));
        self.visibility.as_ref().is_none_or(sees) && self.allows(change)
    }

    pub(super) fn allows(&self, change: &Change) -> bool {
        let Some((filter, caller)) = &self.changes else { return true };
        // A panic must neither end the task that passes on changes nor keep others from being notified.
        catch_unwind(AssertUnwindSafe(|| filter(caller, change))).unwrap_or_else(|_| {
            tracing::error!(?change, "the change filter panicked; the change is not sent to the caller");
            false
        })
    }
}

impl fmt::Debug for CallerFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let caller = self.changes.as_ref().map(|(_, caller)| caller);
        f.debug_struct("CallerFilter").field("caller", &caller).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allows_what_the_filter_allows_and_nothing_if_it_panics() {
        let filter: ChangeFilter = Arc::new(|caller, change| match change {
            Change::Tools => true,
            Change::Prompts => panic!("a filter with a defect"),
            _ => caller == "ann",
        });
        for (caller, change, expected) in [
            (Some("ann"), Change::Resources, true),
            (Some("bob"), Change::Resources, false),
            (Some("bob"), Change::Tools, true),
            (Some("ann"), Change::Prompts, false),
            (None, Change::Prompts, true),
        ] {
            let changes = caller.map(|caller| (Arc::clone(&filter), caller.to_owned()));
            let filter = CallerFilter::new(changes, None);
            assert_eq!(filter.allows(&change), expected, "{caller:?} {change:?}");
        }
    }
}
