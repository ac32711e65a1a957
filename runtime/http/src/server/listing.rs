//! Server cards and registry entries, which describe a server to clients that are not connected.

use mcpgen_mcp::LocalInfo;
use mcpgen_types::Error;
use mcpgen_types::codec::Decode;
use mcpgen_types::ext::registry::ServerDetail;
use mcpgen_types::ext::server_card::ServerCard;
use serde_json::{Map, Value, json};

/// The schema of server cards, the only one that [`ServerCard`] accepts.
const CARD_SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
/// The schema of the registry's `server.json`, in the version that [`ServerDetail`] implements.
const REGISTRY_SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/// What a server card or registry entry says beyond the server's own information.
///
/// ```
/// use mcpgen_sdk::prelude::*;
/// use mcpgen_sdk::http::server::Listing;
///
/// let server = Server::builder("weather", "1.4.0").build();
/// let listing = Listing::new("com.example/weather", "Forecasts for every place.").remote("https://example.com/mcp");
/// let card = server.card(&listing)?;
/// assert_eq!(mcpgen_types::to_value(&card)?["version"], "1.4.0");
/// let entry = server.registry_entry(&listing)?;
/// assert_eq!(mcpgen_types::to_value(&entry)?["remotes"][0]["type"], "streamable-http");
/// # Ok::<(), mcpgen_types::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Listing {
    name: String,
    description: String,
    remotes: Vec<String>,
    repository: Option<(String, String)>,
}

impl Listing {
    /// Creates a listing. The name is a namespace in reverse DNS order, a slash and a name, such as
    /// `com.example/weather`. The description is for people, and has at most 100 characters.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { name: name.into(), description: description.into(), remotes: Vec::new(), repository: None }
    }

    /// Adds the URL of a Streamable HTTP endpoint.
    #[must_use]
    pub fn remote(mut self, url: impl Into<String>) -> Self {
        self.remotes.push(url.into());
        self
    }

    /// Sets the URL of the source repository, and the service that hosts it, such as `github`.
    #[must_use]
    pub fn repository(mut self, url: impl Into<String>, source: impl Into<String>) -> Self {
        self.repository = Some((url.into(), source.into()));
        self
    }
}

/// Creates the card of the server that `info` describes.
pub(super) fn card(info: &LocalInfo, listing: &Listing) -> Result<ServerCard, Error> {
    let revisions: Vec<&str> = info.revisions.iter().map(|revision| revision.as_str()).collect();
    let remote = |url: &str| json!({ "type": "streamable-http", "url": url, "supportedProtocolVersions": revisions });
    listed(info, CARD_SCHEMA, listing, remote)
}

pub(super) fn registry_entry(info: &LocalInfo, listing: &Listing) -> Result<ServerDetail, Error> {
    listed(info, REGISTRY_SCHEMA, listing, |url| json!({ "type": "streamable-http", "url": url }))
}

fn listed<T: Decode>(
    info: &LocalInfo,
    schema: &str,
    listing: &Listing,
    remote: impl Fn(&str) -> Value,
) -> Result<T, Error> {
    let Listing { name, description, remotes, repository } = listing;
    let described = |member: &str| ["version", "title", "icons", "websiteUrl"].contains(&member);
    let members = info.implementation.iter().filter(|(member, _)| described(member));
    let mut members: Map<_, _> = members.map(|(member, value)| (member.into_owned(), value.to_value())).collect();
    let mut set = |member: &str, value: Value| drop(members.insert(member.to_owned(), value));
    set("$schema", schema.into());
    set("name", name.as_str().into());
    set("description", description.as_str().into());
    if !remotes.is_empty() {
        set("remotes", remotes.iter().map(|url| remote(url)).collect());
    }
    if let Some((url, source)) = repository {
        set("repository", json!({ "url": url, "source": source }));
    }
    mcpgen_types::from_value(Value::Object(members))
}
