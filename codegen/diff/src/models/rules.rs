//! The rules, as data: each file in `codegen/diff/rules` has the meaning of one rule, its verdicts, and an example. The files
//! in `codegen/diff/rules/lists` are for the lists of a server.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::models::verdict::{Bump, ListVerdicts, Verdict};

/// A kind of difference.
#[derive(Debug)]
pub struct Rule {
    /// A stable name in kebab case.
    pub id: &'static str,
    /// Explains the difference and its verdicts, in one or two sentences.
    pub meaning: String,
    /// What users of the old schema or list have to do.
    pub action: Action,
    /// The verdict on a message from an old sender to a new reader.
    pub old_to_new: Verdict,
    /// The verdict on a message from a new sender to an old reader.
    pub new_to_old: Verdict,
    /// The version bump for crates that use the generated types.
    pub rust_api: Bump,
    /// An example.
    pub example: RuleExample,
    /// The verdicts on a change of a server's lists. If they are present, the others do not apply.
    pub lists: Option<ListVerdicts>,
    /// The rules of schemas that it replaces for the arguments of tools.
    pub replaces: Vec<String>,
}

/// The former names of rules, with their successors. Policies and baselines may still have them.
#[cfg(feature = "report")]
pub(crate) const RETIRED: [(&str, &str); 1] = [("incomparable", "check-changed")];

/// What users of an old schema or list have to do after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Send something that is now required.
    Send,
    /// Stop sending something that is no longer accepted.
    StopSending,
    /// Replace something that was removed.
    Replace,
    /// Use another name.
    Rename,
    /// Adapt to another type or meaning.
    Adapt,
    /// Handle something that may now be received.
    Handle,
    /// Check whether the change matters.
    Review,
    /// Plan for a removal.
    Plan,
    /// Nothing, but something new can be used.
    Use,
    /// Nothing.
    None,
}

/// The definitions of two schemas, or two lists of tools, that differ by a rule, as JSON text.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleExample {
    /// The old definitions or tools.
    pub old: String,
    /// The new definitions or tools.
    pub new: String,
}

impl Rule {
    /// Returns the rule with this name.
    pub fn find(id: &str) -> Option<&'static Rule> {
        RULES.iter().chain(LIST_RULES.iter()).find(|rule| rule.id == id).copied()
    }

    /// Reads the text of a file in `codegen/diff/rules`.
    fn parse(id: &'static str, text: &str) -> Rule {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            meaning: String,
            action: Action,
            old_to_new: Verdict,
            new_to_old: Verdict,
            rust_api: Bump,
            example: RuleExample,
        }
        let file = toml::from_str(text);
        let File { meaning, action, old_to_new, new_to_old, rust_api, example } = file
            .unwrap_or_else(|error| panic!("the file of the rule {id} is compiled in, and a test reads it: {error}"));
        Rule { id, meaning, action, old_to_new, new_to_old, rust_api, example, lists: None, replaces: Vec::new() }
    }

    /// Reads the text of a file in `codegen/diff/rules/lists`.
    fn parse_list_rule(id: &'static str, text: &str) -> Rule {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            meaning: String,
            action: Action,
            verdicts: ListVerdicts,
            #[serde(default)]
            replaces: Vec<String>,
            example: RuleExample,
        }
        let file = toml::from_str(text);
        let File { meaning, action, verdicts, replaces, example } = file
            .unwrap_or_else(|error| panic!("the file of the rule {id} is compiled in, and a test reads it: {error}"));
        let (old_to_new, new_to_old, rust_api) = (Verdict::Compatible, Verdict::Compatible, Bump::Patch);
        Rule { id, meaning, action, old_to_new, new_to_old, rust_api, example, lists: Some(verdicts), replaces }
    }

    /// Returns the worst verdict that the rule can have on messages or calls.
    pub fn worst(&self) -> Verdict {
        match self.lists {
            Some(lists) => lists.remembered_list.max(lists.stored_workflow),
            None => self.old_to_new.max(self.new_to_old),
        }
    }
}

macro_rules! rules {
    ($(#[$doc:meta])* $all:ident = $parse:ident in $folder:literal; $($name:ident = $id:literal;)*) => {
        $(pub(crate) static $name: LazyLock<Rule> =
            LazyLock::new(|| Rule::$parse($id, include_str!(concat!("../../rules/", $folder, $id, ".toml"))));)*

        $(#[$doc])*
        pub static $all: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| vec![$(&*$name),*]);
    };
}

rules! {
    /// The rules of schemas, in the order of `mcpgen explain`.
    RULES = parse in "";
    REQUEST_ADDED = "request-added";
    REQUEST_REMOVED = "request-removed";
    REQUEST_MOVED = "request-moved";
    REQUEST_EMBEDDED = "request-embedded";
    REQUEST_UNEMBEDDED = "request-unembedded";
    NOTIFICATION_ADDED = "notification-added";
    NOTIFICATION_REMOVED = "notification-removed";
    NOTIFICATION_MOVED = "notification-moved";
    RESULT_TYPE_CHANGED = "result-type-changed";
    TASK_RESULT_ADDED = "task-result-added";
    TASK_RESULT_REMOVED = "task-result-removed";
    TYPE_ADDED = "type-added";
    TYPE_REMOVED = "type-removed";
    TYPE_RENAMED = "type-renamed";
    TYPE_RENAMED_IN_USE = "type-renamed-in-use";
    MEMBER_ADDED_OPTIONAL = "member-added-optional";
    MEMBER_ADDED_REQUIRED = "member-added-required";
    MEMBER_REMOVED_OPTIONAL = "member-removed-optional";
    MEMBER_REMOVED_REQUIRED = "member-removed-required";
    MEMBER_BECAME_REQUIRED = "member-became-required";
    MEMBER_BECAME_OPTIONAL = "member-became-optional";
    MEMBER_REFUSED_BY_OLD = "member-refused-by-old";
    MEMBER_REFUSED_BY_NEW = "member-refused-by-new";
    ENVELOPE_STATED = "envelope-stated";
    ENVELOPE_UNSTATED = "envelope-unstated";
    TYPE_CHANGED = "type-changed";
    TYPE_WIDENED = "type-widened";
    TYPE_NARROWED = "type-narrowed";
    NULL_ALLOWED = "null-allowed";
    NULL_FORBIDDEN = "null-forbidden";
    CONSTANT_CHANGED = "constant-changed";
    ENUM_VALUE_ADDED = "enum-value-added";
    ENUM_VALUE_REMOVED = "enum-value-removed";
    KNOWN_VALUE_ADDED = "known-value-added";
    KNOWN_VALUE_REMOVED = "known-value-removed";
    VALUES_OPENED = "values-opened";
    VALUES_CLOSED = "values-closed";
    LIMIT_ADDED = "limit-added";
    LIMIT_REMOVED = "limit-removed";
    LIMIT_LOOSENED = "limit-loosened";
    LIMIT_TIGHTENED = "limit-tightened";
    LIMIT_SHIFTED = "limit-shifted";
    CHECK_ADDED = "check-added";
    CHECK_REMOVED = "check-removed";
    CHECK_CHANGED = "check-changed";
    DEFAULT_CHANGED = "default-changed";
    UNION_VARIANT_ADDED = "union-variant-added";
    UNION_VARIANT_REMOVED = "union-variant-removed";
    UNION_REDECIDED_BY_NEW = "union-redecided-by-new";
    UNION_REDECIDED_BY_OLD = "union-redecided-by-old";
    OBJECT_CLOSED = "object-closed";
    OBJECT_OPENED = "object-opened";
    ERROR_CODE_ADDED = "error-code-added";
    ERROR_CODE_REMOVED = "error-code-removed";
    DEPRECATED = "deprecated";
    UNDEPRECATED = "undeprecated";
    DOCUMENTATION_CHANGED = "documentation-changed";
    FIXUP_DIFFERS = "fixup-differs";
}

rules! {
    /// The rules of a server's lists, in the order of `mcpgen explain`.
    LIST_RULES = parse_list_rule in "lists/";
    TOOL_ADDED = "tool-added";
    TOOL_REMOVED = "tool-removed";
    TOOL_RENAMED = "tool-renamed";
    TOOL_BECAME_DESTRUCTIVE = "tool-became-destructive";
    TOOL_BECAME_WRITING = "tool-became-writing";
    TOOL_BECAME_NON_IDEMPOTENT = "tool-became-non-idempotent";
    TOOL_BECAME_OPEN_WORLD = "tool-became-open-world";
    TOOL_BECAME_SAFER = "tool-became-safer";
    TOOL_REQUIRES_TASK = "tool-requires-task";
    TOOL_REFUSES_TASK = "tool-refuses-task";
    TOOL_ALLOWS_TASK = "tool-allows-task";
    ARGUMENT_ADDED_REQUIRED = "argument-added-required";
    ARGUMENT_ADDED_OPTIONAL = "argument-added-optional";
    ARGUMENT_REMOVED = "argument-removed";
    ARGUMENT_REFUSED = "argument-refused";
    ARGUMENT_BECAME_REQUIRED = "argument-became-required";
    ARGUMENT_BECAME_OPTIONAL = "argument-became-optional";
    ARGUMENT_VALUE_ADDED = "argument-value-added";
    ARGUMENT_VALUE_REMOVED = "argument-value-removed";
    ARGUMENT_DEFAULT_CHANGED = "argument-default-changed";
    ARGUMENT_DESCRIPTION_CHANGED = "argument-description-changed";
    RESULT_SCHEMA_ADDED = "result-schema-added";
    RESULT_SCHEMA_REMOVED = "result-schema-removed";
    RESULT_DESCRIPTION_CHANGED = "result-description-changed";
    FORMAT_CHANGED = "format-changed";
    SCHEMA_REWRITTEN = "schema-rewritten";
    SCHEMA_NOT_COMPARED = "schema-not-compared";
    DOCUMENT_REFUSED = "document-refused";
    TITLE_CHANGED = "title-changed";
    DESCRIPTION_CHANGED = "description-changed";
    METADATA_CHANGED = "metadata-changed";
    RESOURCE_ADDED = "resource-added";
    RESOURCE_REMOVED = "resource-removed";
    RESOURCE_TYPE_CHANGED = "resource-type-changed";
    RESOURCE_TEMPLATE_ADDED = "resource-template-added";
    RESOURCE_TEMPLATE_REMOVED = "resource-template-removed";
    PROMPT_ADDED = "prompt-added";
    PROMPT_REMOVED = "prompt-removed";
}
