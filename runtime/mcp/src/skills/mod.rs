//! Skills: directories of instructions and files for models (extension `io.modelcontextprotocol/skills`).
//!
//! A skill is a directory with a `SKILL.md`, whose YAML front matter has the skill's name and a description. The
//! [Agent Skills specification](https://agentskills.io/specification) defines the format. A server lists its skills, each
//! with the digests of all its files, and serves the files as resources. A client fetches a file when it is needed, and
//! verifies it.
//!
//! * A server adds [`Skills`], from a folder or from files in the program, with
//!   [`ServerBuilder::skills`](crate::ServerBuilder::skills).
//! * A client lists skills with [`Client::skills`](crate::Client::skills), loads one with
//!   [`Client::load_skill`](crate::Client::load_skill), and reads its files with
//!   [`Client::read_skill_file`](crate::Client::read_skill_file). Errors name the file.
//!
//! The client executes nothing. A skill is untrusted input for the model: name its server when you show it, ask the user
//! before the model acts on it, and ignore its `allowed-tools` unless the user has approved them. A digest proves that a file
//! matches its entry, not that either can be trusted.
//!
//! # Files
//!
//! `folder` reads the files of a server, and `catalog` finds the skills in them. `frontmatter` reads the front matter of a
//! `SKILL.md` with `yaml`, and `rules` checks it. `uri`, `mime` and `digest` are facts about files. `verify` checks what a
//! client receives, within the `limits`.

mod catalog;
mod digest;
mod error;
mod extension;
mod folder;
mod frontmatter;
mod limits;
mod mime;
mod rules;
pub(crate) mod uri;
pub(crate) mod verify;
mod yaml;

pub use catalog::Skills;
pub(crate) use catalog::{Conflict, SkillFile};
pub use error::{FolderError, SkillError};
pub use extension::SkillsExtension;
pub use frontmatter::FrontmatterError;
pub use limits::{MAX_BYTES, MAX_FILES, SkillLimits};
pub(crate) use mime::DIRECTORY;
pub use verify::is_same_content;
