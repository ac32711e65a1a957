//! The rules, as data: what each means, and its verdict for messages either way.

use crate::diff::Bump::{self, Major, Minor, Patch};
use crate::diff::Verdict::{self, Breaking, Compatible, Dangerous};

/// A kind of difference.
#[derive(Debug)]
pub struct Rule {
    /// A stable name in kebab case.
    pub id: &'static str,
    /// What the difference is, and why its verdicts are what they are: a sentence or two.
    pub meaning: &'static str,
    /// For a message from an old sender to a new reader.
    pub old_to_new: Verdict,
    /// For a message from a new sender to an old reader.
    pub new_to_old: Verdict,
    /// For code that uses the generated types.
    pub rust_api: Bump,
    /// An example: JSON text of an object with `old` and `new`, the definitions of two schemas.
    pub example: &'static str,
}

/// Each rule stands beside its example in `codegen/rules/`.
macro_rules! rules {
    ($($id:literal: $old_to_new:expr, $new_to_old:expr, $rust_api:expr, $meaning:literal;)*) => {
        /// All rules, in the order of `mcpgen explain`.
        pub const RULES: &[Rule] = &[$(Rule {
            id: $id,
            meaning: $meaning,
            old_to_new: $old_to_new,
            new_to_old: $new_to_old,
            rust_api: $rust_api,
            example: include_str!(concat!("../../rules/", $id, ".json")),
        }),*];
    };
}

// Name: old sender to new reader, new sender to old reader, Rust, meaning.
rules! {
    "request-added": Compatible, Breaking, Major,
    "There is a new request. An old peer that receives it answers that it does not know the method.";
    "request-removed": Breaking, Compatible, Major,
    "A request is gone. A new peer that receives it answers that it does not know the method.";
    "request-moved": Breaking, Breaking, Major,
    "A request is now sent by the other side. Whoever sends it the old way meets a peer that does not expect it.";
    "request-embedded": Breaking, Compatible, Major,
    "A request no longer travels by itself but inside other messages. A new peer that receives it by itself does \
     not expect it.";
    "request-unembedded": Compatible, Breaking, Major,
    "A request that stood inside other messages now travels by itself. An old peer does not expect that.";
    "notification-added": Compatible, Dangerous, Major,
    "There is a new notification. An old peer that receives it ignores it, as JSON-RPC wants it.";
    "notification-removed": Dangerous, Compatible, Major,
    "A notification is gone. A new peer that receives it ignores it.";
    "notification-moved": Dangerous, Dangerous, Major,
    "A notification is now sent by the other side. A peer that receives it the old way ignores it.";
    "result-type-changed": Compatible, Compatible, Major,
    "A request is answered by a type of another name. Where the two differ, that is reported by itself.";
    "task-result-added": Compatible, Compatible, Minor,
    "A request may be answered by a task, if it asks for one; nobody asks who does not know.";
    "task-result-removed": Compatible, Compatible, Major,
    "A request is no longer answered by a task. The member that asks for one is reported by itself.";
    "type-added": Compatible, Compatible, Minor,
    "There is a new definition. On the wire it matters where it is used.";
    "type-removed": Compatible, Compatible, Major,
    "A definition is gone. On the wire it matters where it was used.";
    "type-renamed": Compatible, Compatible, Major,
    "A definition has another name and the same structure.";
    "type-renamed-in-use": Compatible, Compatible, Major,
    "A member, or a variant of a union, is a type of another name. Where the two differ, that is reported by \
     itself.";
    "member-added-optional": Compatible, Compatible, Major,
    "There is a new member, which may be absent. An old reader keeps it as a member that it does not know. In \
     Rust a struct literal must name it.";
    "member-added-required": Breaking, Compatible, Major,
    "There is a new member, which must be there. An old sender does not send it.";
    "member-removed-optional": Dangerous, Compatible, Major,
    "A member that may be absent is gone. A new reader does not act on it any more when an old sender sends it.";
    "member-removed-required": Dangerous, Breaking, Major,
    "A member that must be there is gone. An old reader insists on it; a new reader does not act on it any more.";
    "member-became-required": Breaking, Compatible, Major,
    "A member that could be absent must be there. An old sender may leave it out.";
    "member-became-optional": Compatible, Breaking, Major,
    "A member that had to be there may be absent. An old reader insists on it.";
    "member-refused-by-old": Compatible, Breaking, Patch,
    "An old reader refuses the new member, because its object admits no other members, or only those of another \
     type.";
    "member-refused-by-new": Breaking, Compatible, Patch,
    "A new reader refuses the member that is gone, because its object admits no other members, or only those of \
     another type.";
    "envelope-stated": Compatible, Compatible, Major,
    "Messages name `jsonrpc` and `id` in their own definition now. On the wire both were there before, as \
     JSON-RPC wants it.";
    "envelope-unstated": Compatible, Compatible, Major,
    "Messages leave `jsonrpc` and `id` to the general definitions. On the wire both are there as before, as \
     JSON-RPC wants it.";
    "type-changed": Breaking, Breaking, Major,
    "A value has another type.";
    "type-widened": Compatible, Breaking, Major,
    "A value may be of more types. An old reader does not take them all.";
    "type-narrowed": Breaking, Compatible, Major,
    "A value may be of fewer types. An old sender may send others.";
    "null-allowed": Compatible, Breaking, Major,
    "A value may be null. An old reader does not take that.";
    "null-forbidden": Breaking, Compatible, Major,
    "A value may no longer be null. An old sender may send that.";
    "constant-changed": Breaking, Breaking, Patch,
    "A constant has another value.";
    "enum-value-added": Compatible, Breaking, Major,
    "An enumeration has a new value. An old reader does not take it.";
    "enum-value-removed": Breaking, Compatible, Major,
    "A value of an enumeration is gone. An old sender may send it.";
    "values-opened": Compatible, Breaking, Major,
    "A value that was one of a few may be any of its type. An old reader does not take that.";
    "values-closed": Breaking, Compatible, Major,
    "A value that could be any of its type is one of a few. An old sender may send others.";
    "limit-added": Breaking, Compatible, Major,
    "A value is limited. An old sender does not keep to that.";
    "limit-removed": Compatible, Breaking, Major,
    "A value is no longer limited. An old reader insists on the limit.";
    "limit-loosened": Compatible, Breaking, Patch,
    "A limit is wider. An old reader insists on the narrow one.";
    "limit-tightened": Breaking, Compatible, Patch,
    "A limit is narrower. An old sender does not keep to that.";
    "limit-shifted": Breaking, Breaking, Patch,
    "Of two limits neither contains the other. An integer that may not be negative reaches to 2^64 - 1, another \
     one to 2^63 - 1.";
    "default-changed": Dangerous, Dangerous, Patch,
    "An absent member stands for another value. What is left out is understood differently by the other side.";
    "union-variant-added": Compatible, Breaking, Major,
    "A union has a new variant. An old reader does not take it.";
    "union-variant-removed": Breaking, Compatible, Major,
    "A variant of a union is gone. An old sender may send it.";
    "union-redecided-by-new": Breaking, Compatible, Patch,
    "What an old sender means as one variant of a union, a new reader may take for another one that does not \
     accept it.";
    "union-redecided-by-old": Compatible, Breaking, Patch,
    "What a new sender means as one variant of a union, an old reader may take for another one that does not \
     accept it.";
    "object-closed": Breaking, Compatible, Major,
    "An object admits no members any more that the schema does not name. An old sender may send some.";
    "object-opened": Compatible, Breaking, Major,
    "An object admits members that the schema does not name. An old reader refuses them.";
    "error-code-added": Compatible, Dangerous, Minor,
    "The schema states a new error code. An old reader knows it only as a number.";
    "error-code-removed": Dangerous, Compatible, Major,
    "The schema no longer states an error code. A new reader knows it only as a number.";
    "deprecated": Compatible, Compatible, Minor,
    "A type or a member is deprecated: it will go away.";
    "undeprecated": Compatible, Compatible, Patch,
    "A type or a member is no longer deprecated.";
    "documentation-changed": Compatible, Compatible, Patch,
    "A type or a member is described in other words. Only schemas that carry descriptions can tell.";
    "fixup-differs": Compatible, Compatible, Patch,
    "One schema has a defect that mcpgen corrects before it looks, the other does not have it.";
}

impl Rule {
    /// The rule of this name.
    pub fn find(id: &str) -> Option<&'static Rule> {
        RULES.iter().find(|rule| rule.id == id)
    }
}
