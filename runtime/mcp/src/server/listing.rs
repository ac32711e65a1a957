//! Server cards and entries of the registry: descriptions of a server for clients that are not connected to it.

use mcpgen_types::Error;
use mcpgen_types::codec::Decode;
use mcpgen_types::ext::registry::ServerDetail;
use mcpgen_types::ext::server_card::ServerCard;
use serde_json::{Map, Value, json};

use super::state::Server;

/// The schema of server cards. The type accepts no other.
const CARD_SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
/// The schema of the registry's `server.json`, in the version of [`ServerDetail`].
const REGISTRY_SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/// What a server card or an entry of the registry contains besides the server's own information.
///
/// ```
/// use mcpgen_sdk::Server;
/// use mcpgen_sdk::server::Listing;
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

    /// Sets the URL of the repository with the source code, and the service that hosts it, such as `github`.
    #[must_use]
    pub fn repository(mut self, url: impl Into<String>, source: impl Into<String>) -> Self {
        self.repository = Some((url.into(), source.into()));
        self
    }
}

impl Server {
    /// Returns the server's card, with its version, title, icons, website and supported revisions. Set other members
    /// with the setters of the type.
    ///
    /// # Errors
    ///
    /// Fails if a value does not match the schema of server cards. The error has its path.
    pub fn card(&self, listing: &Listing) -> Result<ServerCard, Error> {
        let revisions: Vec<&str> = self.0.config.info.revisions.iter().map(|revision| revision.as_str()).collect();
        self.listed(
            CARD_SCHEMA,
            listing,
            |url| json!({ "type": "streamable-http", "url": url, "supportedProtocolVersions": revisions }),
        )
    }

    /// Returns the server's entry of the registry, the contents of `server.json`. Set other members, such as the
    /// packages, with the setters of the type.
    ///
    /// # Errors
    ///
    /// Fails if a value does not match the schema of the registry. The error has its path.
    pub fn registry_entry(&self, listing: &Listing) -> Result<ServerDetail, Error> {
        self.listed(REGISTRY_SCHEMA, listing, |url| json!({ "type": "streamable-http", "url": url }))
    }

    fn listed<T: Decode>(&self, schema: &str, listing: &Listing, remote: impl Fn(&str) -> Value) -> Result<T, Error> {
        let Listing { name, description, remotes, repository } = listing;
        let described = |member: &str| ["version", "title", "icons", "websiteUrl"].contains(&member);
        let members = self.0.config.info.implementation.iter().filter(|(member, _)| described(member));
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
}
