//! Errors of loading, reading and verifying skills.

use std::io;
use std::path::PathBuf;

use mcpgen_runtime::peer::CallError;
use mcpgen_types::counted;

use super::frontmatter::FrontmatterError;

/// Why a folder of skills cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// A file or directory cannot be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A `SKILL.md` breaks a rule of the Agent Skills specification.
    #[error("{}: {reason}", path.display())]
    Skill {
        /// The file.
        path: PathBuf,
        /// The rule and a remedy.
        reason: String,
    },
    /// The front matter of a `SKILL.md` is missing or invalid.
    #[error("{}", path.display())]
    Frontmatter {
        /// The file.
        path: PathBuf,
        /// The reason, with the line.
        source: FrontmatterError,
    },
    /// A file or directory cannot be served because of its kind or name.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// The reason and a remedy.
        reason: String,
    },
    /// A folder exceeds a limit.
    #[error("{}: {reason}", path.display())]
    Limit {
        /// The file or directory.
        path: PathBuf,
        /// The limit and a remedy.
        reason: String,
    },
}

impl FolderError {
    /// Creates the error for files that exceed [`MAX_TOTAL_BYTES`](super::limits::MAX_TOTAL_BYTES).
    pub(super) fn too_large(path: PathBuf) -> Self {
        let reason = "the files have more than 256 MiB in total; serve fewer skills, or move large files elsewhere";
        Self::Limit { path, reason: reason.to_owned() }
    }
}

/// Why a client does not use a skill or one of its files. Content that fails verification is discarded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// The server did not declare the extension, or the part of it that the request needs.
    #[error("the server has not declared {0}")]
    NotDeclared(&'static str),
    /// A request failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A skill's entry is invalid.
    #[error("{uri}: the entry of the skill is invalid: {reason}")]
    Entry {
        /// The URI in the entry.
        uri: String,
        /// The reason.
        reason: String,
    },
    /// A skill's entry exceeds the client's limits.
    #[error("{uri}: the skill has more than {}; call `load_skill_within` with other `SkillLimits`", counted(*limit, unit))]
    Limit {
        /// The URI of the skill.
        uri: String,
        /// The limit.
        limit: u64,
        /// `files` or `bytes`.
        unit: &'static str,
    },
    /// The skill's content is generated, so it cannot be verified.
    #[error(
        "{0}: the skill has no digests; call `load_skill_within` with `SkillLimits::allow_dynamic` to load it unverified"
    )]
    Dynamic(String),
    /// The file is not part of the skill. If the server may have added it since, request the entry again.
    #[error("{reference}: not a file of the skill {skill}")]
    Unlisted {
        /// The URI or the path of the file.
        reference: String,
        /// The URI of the skill.
        skill: String,
    },
    /// The server did not return the file as one text or one blob.
    #[error("{uri}: {reason}")]
    Content {
        /// The URI of the file.
        uri: String,
        /// The reason.
        reason: String,
    },
    /// A file's size differs from the entry. The file may have changed since the entry was requested.
    #[error("{uri}: the file has {}, but its entry has {expected}; request the skill again", counted(*found, "bytes"))]
    Size {
        /// The URI of the file.
        uri: String,
        /// The size in the entry.
        expected: u64,
        /// The actual size.
        found: u64,
    },
    /// A file's digest differs from the entry. The file may have changed since the entry was requested.
    #[error("{uri}: the digest of the file is {found}, but its entry has {expected:?}; request the skill again")]
    Digest {
        /// The URI of the file.
        uri: String,
        /// The digest in the entry.
        expected: String,
        /// The actual digest.
        found: String,
    },
    /// The front matter of a `SKILL.md` is invalid.
    #[error("{uri}: {source}")]
    Frontmatter {
        /// The URI of the file.
        uri: String,
        /// The reason, with the line.
        source: FrontmatterError,
    },
    /// The front matter of a `SKILL.md` differs from the entry.
    #[error("{uri}: the field {field:?} of the front matter differs from the entry")]
    FrontmatterDiffers {
        /// The URI of the file.
        uri: String,
        /// The first field that differs.
        field: String,
    },
}
