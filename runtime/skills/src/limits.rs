//! The limits of skills.

/// The number of files of a skill that every client supports, with `SKILL.md` and the files of nested skills.
pub const MAX_FILES: usize = 512;
/// The total size of a skill's files that every client supports, in bytes: 16 MiB.
pub const MAX_BYTES: u64 = 16 << 20;

/// The maximum total size of the files of all skills of a server, which are in memory: 256 MiB.
pub(super) const MAX_TOTAL_BYTES: u64 = 256 << 20;

/// Limits which skills a client loads. Pass it to [`SkillsClient::load_skill_within`](crate::SkillsClient::load_skill_within).
#[derive(Clone, Copy, Debug, PartialEq, Eq, derive_setters::Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct SkillLimits {
    /// The maximum number of files of a skill. Default: [`MAX_FILES`], the least that the extension allows.
    pub files: usize,
    /// The maximum total size of a skill's files, in bytes. Default: [`MAX_BYTES`], the least that the extension allows.
    pub bytes: u64,
    /// Whether to load skills whose content is generated. Their files have no digests, so they cannot be verified, and an
    /// approval of the user cannot be bound to them. Default: `false`.
    pub allow_dynamic: bool,
}

impl Default for SkillLimits {
    fn default() -> Self {
        Self { files: MAX_FILES, bytes: MAX_BYTES, allow_dynamic: false }
    }
}
