//! The types of all revisions, as rows of generated tables.

use super::source::is_literal;
use crate::Revision;
use crate::codec::{Bounds, Condition, Guard, Length, Literal, Node};
use crate::conversions::{DEFINITIONS, METHODS, RENAMED, RESPELLED, RULES, SHAPES};

/// The number of a type. Types that are equal in several revisions share it.
pub type TypeId = u16;

/// Placeholder for "no such type in this revision".
pub(crate) const NO_TYPE: TypeId = TypeId::MAX;

/// The type that accepts everything.
pub(super) const ANY: TypeId = 0;

#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "not every set of schemas has all shapes")]
pub(crate) enum Shape {
    Any,
    Never,
    Boolean,
    String(Length),
    /// Whether the integers are unsigned, and their range.
    Integer(bool, Bounds),
    Number(Bounds),
    Values(&'static [Literal]),
    List(TypeId, Length),
    /// The types of the leading items, and of further ones if there may be any.
    Tuple(&'static [TypeId], Option<TypeId>),
    /// Named members, other members, and, if the object can be written in another form, the rule and the type of that
    /// form.
    Object(&'static [Member], Others, Option<(usize, TypeId)>),
    Union(&'static [Guard], &'static [TypeId]),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(super) name: &'static str,
    pub(super) is_required: bool,
    pub(super) content: TypeId,
    /// An index into the rules.
    rule: Option<usize>,
}

/// How an object type treats members that it does not name.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "not every set of schemas has closed objects")]
pub(crate) enum Others {
    Open,
    Typed(TypeId),
    Closed,
}

/// What to do with a member that one of the revisions lacks.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "not every set of schemas needs all rules")]
pub(crate) enum Rule {
    /// A revision without the member behaves as if it had this value.
    Default(Literal, OtherValues),
    /// Set it to the name of the target revision.
    Revision,
    /// Set it to a random identifier.
    Unique,
    /// Keep it, even if the target does not define it.
    Kept,
    /// Fail instead of dropping it.
    Needed,
    /// If the source lacks it, fail instead of adding its constant.
    Given,
    /// A list of one element is equivalent to the element.
    Unwrapped,
}

/// What to do with a non-default value if the target does not define the member.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "not every set of schemas needs all rules")]
pub(crate) enum OtherValues {
    Lost,
    Refused,
    Kept,
}

/// A rule that turns a list of objects into one list per member.
#[derive(Debug)]
pub(crate) struct Respelled {
    /// The member that holds the list of objects.
    pub(crate) member: &'static str,
    /// Members of the objects, each with the member that lists its values.
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
    pub(crate) const fn by(self, rule: usize) -> Self {
        Self { rule: Some(rule), ..self }
    }

    /// Returns whether the value can be copied unchanged.
    #[inline]
    pub(super) fn is_copied(&self, target: &Self) -> bool {
        self.content == target.content && self.rule.is_none()
    }

    /// Returns whether a missing member means the same as this value.
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

    /// Returns whether objects of the type can have a member with this name.
    pub(super) fn names(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Object(members, ..) => members.iter().any(|member| member.name == name),
            // A union within a union is so rare that this ignores it.
            Self::Union(_, variants) => variants.iter().any(|variant| match Self::of(*variant) {
                Self::Object(members, ..) => members.iter().any(|member| member.name == name),
                _ => false,
            }),
            _ => false,
        }
    }

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

pub(super) fn respelling(rule: usize) -> Option<&'static Respelled> {
    RESPELLED.get(rule)
}

/// Returns the row of a definition or inline type.
pub(super) fn definition(name: &str) -> Option<usize> {
    DEFINITIONS.binary_search_by(|(known, _)| (*known).cmp(name)).ok()
}

/// Returns the type that a row has in a revision.
pub(super) fn type_in(row: usize, revision: Revision) -> Option<TypeId> {
    let (_, types) = DEFINITIONS.get(row)?;
    types.get(revision.index?).copied().filter(|id| *id != NO_TYPE)
}

/// Returns the type of a row in another revision, which may use another name for it.
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

/// Returns the types of a method's params and result in two revisions, or `None` if one of them lacks the method.
pub(super) fn method(name: &str, from: Revision, to: Revision) -> Option<[(TypeId, TypeId); 2]> {
    let row = METHODS.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
    let (_, types) = METHODS.get(row)?;
    let of = |revision: Revision| types.get(revision.index?).copied().filter(|(params, _)| *params != NO_TYPE);
    Some([of(from)?, of(to)?])
}
