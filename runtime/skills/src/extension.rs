//! The extension `io.modelcontextprotocol/skills`.

use mcpgen_mcp::protocol::extension::Extension;
use mcpgen_types::ext::skills::SkillsExtensionCapability;

/// The extension `io.modelcontextprotocol/skills`, which servers declare.
///
/// [`ServeSkills::skills`](crate::ServeSkills::skills) declares it. For a client,
/// [`Peer::extension`](mcpgen_mcp::protocol::PeerExt::extension) returns the settings of a server. Clients do not declare it, and servers
/// respond to all clients.
#[derive(Clone, Copy, Debug)]
pub struct SkillsExtension(());

impl SkillsExtension {
    pub(crate) const SERVER: Self = Self(());
}

impl Extension for SkillsExtension {
    const IDENTIFIER: &'static str = "io.modelcontextprotocol/skills";
    type Settings = SkillsExtensionCapability;

    fn settings(&self) -> SkillsExtensionCapability {
        SkillsExtensionCapability::new().with_directory_read(true)
    }
}
