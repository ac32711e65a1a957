//! Skills: directories of instructions and files for models (extension `io.modelcontextprotocol/skills`).
//!
//! A skill is a directory with a `SKILL.md`, whose YAML front matter names and describes the skill. The [Agent Skills
//! specification](https://agentskills.io/specification) defines the format. A server lists its skills, with the digests
//! of all their files, and serves the files as resources. A client fetches a file when it is needed, and verifies it.
//!
//! * A server adds [`Skills`], from a folder or from files in the program, with [`ServeSkills::skills`].
//! * A client lists skills with [`SkillsClient::skills`], loads one with [`SkillsClient::load_skill`], and reads its
//!   files with [`SkillsClient::read_skill_file`]. Errors name the file.
//!
//! The client executes nothing. A skill is untrusted input for the model: show which server it comes from, ask the user
//! before the model acts on it, and ignore its `allowed-tools` unless the user has approved them. A digest proves that
//! a file matches its entry, not that either can be trusted.
//!
//! # Files
//!
//! * `folder` reads a server's files, and `catalog` finds the skills in them. `frontmatter` reads a `SKILL.md`'s front
//!   matter with `yaml`, and `rules` checks it. `uri`, `mime` and `digest` compute facts about files.
//! * `verify` checks what a client receives, within the `limits`.
//! * `server` serves skills, and `client` loads them.

mod catalog;
mod client;
mod digest;
mod error;
mod extension;
mod folder;
mod frontmatter;
mod limits;
mod mime;
mod rules;
mod server;
mod uri;
mod verify;
mod yaml;

pub use catalog::Skills;
pub use client::{LoadedSkill, SkillContent, SkillsClient};
pub use error::{FolderError, SkillError};
pub use extension::SkillsExtension;
pub use frontmatter::FrontmatterError;
pub use limits::{MAX_BYTES, MAX_FILES, SkillLimits};
pub use server::{ReplaceSkills, ServeSkills, SkillsError};
pub use verify::is_same_content;
