//! Exposes a server over HTTP, and describes it to clients that have not connected yet.

use std::sync::Arc;

use mcpgen_mcp::Server;
use mcpgen_mcp::protocol::info::HandlerCapabilities;
use mcpgen_mcp::server::ServeError;
use mcpgen_types::Error;
use mcpgen_types::ext::registry::ServerDetail;
use mcpgen_types::ext::server_card::ServerCard;

use super::current_config::CurrentConfig;
use super::listing::{self, Listing};
use super::{Endpoint, EndpointOptions};

/// Methods of [`Server`] for HTTP.
pub trait ServeHttp {
    /// Creates the server's HTTP endpoint, a service for axum or hyper; see [`http::server`](crate::server).
    ///
    /// # Errors
    ///
    /// Fails if the server has invalid definitions, or if no key for the request state could be generated.
    fn http(&self, options: EndpointOptions) -> Result<Endpoint, ServeError>;

    /// Returns the server's card, with its version, title, icons, website and supported revisions. Set other members
    /// with the type's setters.
    ///
    /// # Errors
    ///
    /// Fails if a value does not match the schema of server cards. The error has the value's path.
    fn card(&self, listing: &Listing) -> Result<ServerCard, Error>;

    /// Returns the server's registry entry, the contents of `server.json`. Set other members, such as the packages,
    /// with the type's setters.
    ///
    /// # Errors
    ///
    /// Fails if a value does not match the registry's schema. The error has the value's path.
    fn registry_entry(&self, listing: &Listing) -> Result<ServerDetail, Error>;
}

impl ServeHttp for Server {
    fn http(&self, mut options: EndpointOptions) -> Result<Endpoint, ServeError> {
        self.connect_to_bus();
        let (router, config) = (self.router(), self.config()?);
        let (this, versioned, tools) = (self.clone(), self.clone(), self.clone());
        let read = move || this.config().unwrap_or_else(|_| config.clone());
        // The handlers work in every revision.
        let handled = HandlerCapabilities::default();
        let config = CurrentConfig::new(read, move || versioned.config_version(), handled)
            .with_reported_mismatches(self.reports_header_mismatches());
        options.tool_headers.get_or_insert_with(|| Arc::new(move |tool| tools.tool_headers(tool)));
        options.replicas = options.replicas.or_else(|| self.replicas().cloned());
        Ok(Endpoint::of(config, router.clone(), router, options))
    }

    fn card(&self, listing: &Listing) -> Result<ServerCard, Error> {
        listing::card(&self.local_info(), listing)
    }

    fn registry_entry(&self, listing: &Listing) -> Result<ServerDetail, Error> {
        listing::registry_entry(&self.local_info(), listing)
    }
}
