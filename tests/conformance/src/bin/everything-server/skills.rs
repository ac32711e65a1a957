//! Skills: one with files in folders, and one whose path has two segments.

use mcpgen_sdk::ServerBuilder;
use mcpgen_sdk::skills::{FolderError, ServeSkills, Skills};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/skills");

pub(crate) fn skills(server: ServerBuilder) -> Result<ServerBuilder, FolderError> {
    Ok(server.skills(Skills::from_folder(FOLDER)?))
}
