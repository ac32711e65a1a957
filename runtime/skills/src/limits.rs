//! Limits of skills.

/// The number of files per skill that every client supports, including `SKILL.md` and the files of nested skills.
pub const MAX_FILES: usize = 512;
/// The total size of a skill's files that every client supports, in bytes: 16 MiB.
pub const MAX_BYTES: u64 = 16 << 20;

/// Maximum total size of all skills of a server, which are kept in memory: 256 MiB.
pub(super) const MAX_TOTAL_BYTES: u64 = 256 << 20;

/// Limits which skills a client loads, with
/// [`SkillsClient::load_skill_within`](crate::SkillsClient::load_skill_within).
#[derive(Clone, Copy, Debug, PartialEq, Eq, derive_setters::Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct SkillLimits {
    /// Maximum number of files of a skill. Defaults to [`MAX_FILES`], the least that the extension allows.
    pub files: usize,
    /// Maximum total size of a skill's files in bytes. Defaults to [`MAX_BYTES`], the least that the extension allows.
    pub bytes: u64,
    /// Whether to load skills with generated content. Without digests, their files cannot be verified, and a user's
    /// approval cannot be tied to them. Defaults to `false`.
    pub allow_dynamic: bool,
}

impl Default for SkillLimits {
    fn default() -> Self {
        Self { files: MAX_FILES, bytes: MAX_BYTES, allow_dynamic: false }
    }
}
