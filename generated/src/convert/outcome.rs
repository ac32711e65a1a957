//! What a conversion returns: the value, what was lost, and errors.

use std::fmt;

use crate::{Error, ErrorKind, Revision};

/// What to do with members and values that the target revision cannot express.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// Fail.
    Strict,
    /// Drop them if they are optional.
    #[default]
    Omit,
    /// Keep members that the target does not define as unknown members, if it allows those. Drop other optional
    /// members.
    KeepUnknown,
}

/// A converted value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Converted<T> {
    /// The value, in terms of the target revision.
    pub value: T,
    /// What the target revision cannot express, in document order.
    pub lost: Vec<Lost>,
}

/// A member that the target revision cannot express.
///
/// `Display` writes one sentence with the path and the revision:
///
/// ```text
/// /tools/0/icons: not defined in revision 2025-06-18
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The path in the source document, as a JSON Pointer (RFC 6901).
    pub path: String,
    /// Why the target cannot express it.
    pub reason: LostReason,
    /// The target revision.
    pub revision: Revision,
}

/// Why a member was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostReason {
    /// The target does not define the member, so it was dropped.
    Undefined,
    /// The target does not define the member, so it was kept as an unknown member.
    Unknown,
    /// The target does not accept the value, so the optional member was dropped.
    Value(ErrorKind),
}

/// Why a value could not be converted.
///
/// `Display` writes one sentence with the revision and the path:
///
/// ```text
/// cannot convert to revision 2025-06-18: /resultType: expected constant "complete", found "input_required"
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConvertError {
    path: String,
    kind: ConvertErrorKind,
    revision: Revision,
}

/// The kind of a [`ConvertError`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConvertErrorKind {
    /// The target does not define the member, which may not be dropped.
    Undefined,
    /// The target does not accept the value, which may not be dropped.
    Value(ErrorKind),
}

impl ConvertError {
    pub(super) fn new(path: String, kind: ConvertErrorKind, revision: Revision) -> Self {
        Self { path, kind, revision }
    }

    /// Creates the error for a converted value that the target type rejects.
    pub(super) fn decoding(error: &Error, revision: Revision) -> Self {
        Self { path: error.path(), kind: ConvertErrorKind::Value(error.kind().clone()), revision }
    }

    /// Returns the path as a JSON Pointer (RFC 6901). For a missing member, it ends in the member's name.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the kind of error.
    #[must_use]
    pub fn kind(&self) -> &ConvertErrorKind {
        &self.kind
    }

    /// Returns the target revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    pub(super) fn into_reason(self) -> LostReason {
        match self.kind {
            ConvertErrorKind::Undefined => LostReason::Undefined,
            ConvertErrorKind::Value(kind) => LostReason::Value(kind),
        }
    }
}

impl std::error::Error for ConvertError {}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot convert to revision {}: ", self.revision)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        match &self.kind {
            ConvertErrorKind::Undefined => f.write_str("the revision does not define this member"),
            ConvertErrorKind::Value(kind) => kind.fmt(f),
        }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, reason, revision } = self;
        match reason {
            LostReason::Undefined => write!(f, "{path}: not defined in revision {revision}"),
            LostReason::Unknown => write!(f, "{path}: unknown in revision {revision}"),
            LostReason::Value(kind) => write!(f, "{path}: not valid in revision {revision}: {kind}"),
        }
    }
}
