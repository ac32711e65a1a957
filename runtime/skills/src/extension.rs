//! The extension `io.modelcontextprotocol/skills`.

use mcpgen_mcp::protocol::extension::Extension;
use mcpgen_types::ext::skills::SkillsExtensionCapability;

/// The extension `io.modelcontextprotocol/skills`, declared by servers.
///
/// [`ServeSkills::skills`](crate::ServeSkills::skills) declares it. A client reads a server's settings with
/// [`Peer::extension`](mcpgen_mcp::protocol::PeerExt::extension). Clients do not declare the extension; servers
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
