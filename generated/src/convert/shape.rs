//! The types of all revisions, as rows of the generated tables.

use super::source::is_literal;
use crate::Revision;
use crate::codec::{Bounds, Condition, Guard, Length, Literal, Node};
use crate::conversions::{DEFINITIONS, METHODS, RENAMED, RESPELLED, RULES, SHAPES};

/// The number of a type. Types that are equal in several revisions have the same number.
pub type TypeId = u16;

/// In a table, a type that a revision does not have.
pub(crate) const NO_TYPE: TypeId = TypeId::MAX;

/// The type that accepts every value.
pub(super) const ANY: TypeId = 0;

/// The values that a type accepts.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "not every set of schemas has all shapes")]
pub(crate) enum Shape {
    Any,
    Never,
    Boolean,
    String(Length),
    /// Integers within bounds, and whether they have no sign.
    Integer(bool, Bounds),
    Number(Bounds),
    Values(&'static [Literal]),
    List(TypeId, Length),
    /// The types of the first items, and of the others, if the array may have more.
    Tuple(&'static [TypeId], Option<TypeId>),
    /// The named members, the others, and if the object has another form, the rule and the type of that form.
    Object(&'static [Member], Others, Option<(usize, TypeId)>),
    Union(&'static [Guard], &'static [TypeId]),
}

/// A named member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(super) name: &'static str,
    pub(super) is_required: bool,
    pub(super) content: TypeId,
    /// The rule, by its index.
    rule: Option<usize>,
}

/// Members that an object does not name.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "not every set of schemas has closed objects")]
pub(crate) enum Others {
    Open,
    Typed(TypeId),
    Closed,
}

/// A named rule for members.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "not every set of schemas needs all rules")]
pub(crate) enum Rule {
    /// Revisions without the member behave as if it had this value.
    Default(Literal, OtherValues),
    /// The member is the name of the target revision.
    Revision,
    /// The member is a random identifier.
    Unique,
    /// The member stays if the target does not define it.
    Kept,
    /// The member may not be left out.
    Needed,
    /// The constant is not added.
    Given,
    /// A list with one element is the same as the element.
    Unwrapped,
}

/// What happens to other values than the default if the target does not define the member.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "not every set of schemas needs all rules")]
pub(crate) enum OtherValues {
    Lost,
    Refused,
    Kept,
}

/// A rule that writes a list of objects as one list for each of their members.
#[derive(Debug)]
pub(crate) struct Respelled {
    /// The member with the list of objects.
    pub(crate) member: &'static str,
    /// The members of these objects, with the members that list their values.
    pub(crate) columns: &'static [(&'static str, &'static str)],
}

pub(crate) const fn required(name: &'static str, content: TypeId) -> Member {
    Member { name, is_required: true, content, rule: None }
}

pub(crate) const fn optional(name: &'static str, content: TypeId) -> Member {
    Member { name, is_required: false, content, rule: None }
}

pub(crate) const fn guard(when: &'static [Condition], variant: usize) -> Guard {
    Guard { when, variant }
}

impl Member {
    /// Sets the rule for the member.
    pub(crate) const fn by(self, rule: usize) -> Self {
        Self { rule: Some(rule), ..self }
    }

    /// Returns whether the member's value is the same in the target.
    #[inline]
    pub(super) fn is_copied(&self, target: &Self) -> bool {
        self.content == target.content && self.rule.is_none()
    }

    /// Returns whether revisions without the member behave as if it had this value.
    #[inline]
    pub(super) fn is_default(&self, node: Node<'_>) -> bool {
        matches!(self.rule(), Some(Rule::Default(default, _)) if is_literal(node, &default))
    }

    pub(super) fn rule(&self) -> Option<Rule> {
        self.rule.and_then(|rule| RULES.get(rule)).copied()
    }
}

impl Shape {
    pub(super) fn of(id: TypeId) -> &'static Self {
        SHAPES.get(usize::from(id)).unwrap_or(&Self::Any)
    }

    /// Returns whether objects of the type may have a member with this name.
    pub(super) fn names(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Object(members, ..) => members.iter().any(|member| member.name == name),
            // Variants of variants are unions only in unusual schemas.
            Self::Union(_, variants) => variants.iter().any(|variant| match Self::of(*variant) {
                Self::Object(members, ..) => members.iter().any(|member| member.name == name),
                _ => false,
            }),
            _ => false,
        }
    }

    /// Returns whether the type may accept arrays.
    pub(super) fn has_arrays(&self) -> bool {
        match self {
            Self::Any | Self::List(..) | Self::Tuple(..) => true,
            Self::Union(_, variants) => variants
                .iter()
                .any(|variant| matches!(Self::of(*variant), Self::Any | Self::List(..) | Self::Tuple(..))),
            _ => false,
        }
    }
}

/// Returns the rule that writes a type in another form.
pub(super) fn respelling(rule: usize) -> Option<&'static Respelled> {
    RESPELLED.get(rule)
}

/// Returns the row of a definition or an inline type.
pub(super) fn definition(name: &str) -> Option<usize> {
    DEFINITIONS.binary_search_by(|(known, _)| (*known).cmp(name)).ok()
}

/// Returns the type of a row in a revision.
pub(super) fn type_in(row: usize, revision: Revision) -> Option<TypeId> {
    let (_, types) = DEFINITIONS.get(row)?;
    types.get(revision.index?).copied().filter(|id| *id != NO_TYPE)
}

/// Returns the type of a row in another revision, where it may have another name.
pub(super) fn counterpart(row: usize, revision: Revision) -> Option<TypeId> {
    type_in(row, revision).or_else(|| {
        let (name, _) = DEFINITIONS.get(row)?;
        let other = RENAMED.iter().find_map(|(old, new)| match () {
            () if old == name => Some(*new),
            () if new == name => Some(*old),
            () => None,
        });
        type_in(definition(other?)?, revision)
    })
}

/// Returns the types of the params and the result of a method in two revisions. Returns `None` if one of them does not have
/// the method.
pub(super) fn method(name: &str, from: Revision, to: Revision) -> Option<[(TypeId, TypeId); 2]> {
    let row = METHODS.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
    let (_, types) = METHODS.get(row)?;
    let of = |revision: Revision| types.get(revision.index?).copied().filter(|(params, _)| *params != NO_TYPE);
    Some([of(from)?, of(to)?])
}
