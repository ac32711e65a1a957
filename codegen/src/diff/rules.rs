//! The rules, as data: each file in `codegen/rules` has the meaning of one rule, its verdicts, and an example.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::diff::verdict::{Bump, Verdict};

/// A kind of difference.
#[derive(Debug)]
pub struct Rule {
    /// A stable name in kebab case.
    pub id: &'static str,
    /// Explains the difference and its verdicts, in one or two sentences.
    pub meaning: String,
    /// The verdict on a message from an old sender to a new reader.
    pub old_to_new: Verdict,
    /// The verdict on a message from a new sender to an old reader.
    pub new_to_old: Verdict,
    /// The version bump for crates that use the generated types.
    pub rust_api: Bump,
    /// An example.
    pub example: RuleExample,
}

/// The definitions of two schemas that differ by a rule, as JSON text.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleExample {
    /// The definitions of the old schema.
    pub old: String,
    /// The definitions of the new schema.
    pub new: String,
}

impl Rule {
    /// Returns the rule with this name.
    pub fn find(id: &str) -> Option<&'static Rule> {
        RULES.iter().find(|rule| rule.id == id).copied()
    }

    /// Reads the text of a file in `codegen/rules`.
    fn parse(id: &'static str, text: &str) -> Rule {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            meaning: String,
            old_to_new: Verdict,
            new_to_old: Verdict,
            rust_api: Bump,
            example: RuleExample,
        }
        let file = toml::from_str(text);
        let File { meaning, old_to_new, new_to_old, rust_api, example } = file
            .unwrap_or_else(|error| panic!("the file of the rule {id} is compiled in, and a test reads it: {error}"));
        Rule { id, meaning, old_to_new, new_to_old, rust_api, example }
    }
}

macro_rules! rules {
    ($($name:ident = $id:literal;)*) => {
        $(pub(super) static $name: LazyLock<Rule> =
            LazyLock::new(|| Rule::parse($id, include_str!(concat!("../../rules/", $id, ".toml"))));)*

        /// All rules, in the order of `mcpgen explain`.
        pub static RULES: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| vec![$(&*$name),*]);
    };
}

rules! {
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
    INCOMPARABLE = "incomparable";
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
