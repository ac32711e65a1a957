//! How extensions prepare a server.

use mcpgen_runtime::router::Router;
use mcpgen_runtime::transport::Extensions;
use mcpgen_types::Json;

use super::error::DefinitionError;
use super::state::{Server, ServerSetup};
use super::subscriptions::SubscriptionSource;
use crate::protocol::extension::Extension;
use crate::protocol::info::LocalInfo;

impl ServerSetup {
    /// Adds routes that need the server. The function is called per connection or HTTP endpoint.
    pub fn routes(&mut self, add: impl Fn(&Server, Router) -> Router + Send + Sync + 'static) {
        self.state.config.routes.push(Box::new(add));
    }

    /// Returns the values that extensions store with the server, by type. Once the server is built, use
    /// [`Server::extensions`].
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.state.extensions
    }

    /// Declares an extension in the server's capabilities, and allows its values of `resultType`. Adds no handlers.
    pub fn declare<E: Extension>(&mut self, extension: &E) {
        let config = &mut self.state.config;
        config.info = std::mem::replace(&mut config.info, LocalInfo::new("", "")).extension(extension);
        config.result_types.extend(extension.result_types());
    }

    /// Declares a capability, in any revision, unless it is already declared.
    pub fn declare_capability(&mut self, name: &str, details: impl Into<Json>) {
        self.state.config.info.capabilities.insert_if_absent(name, details);
    }

    /// Declares the `resources` capability, even if the server has no resources yet.
    pub fn declare_resources(&mut self) {
        self.state.resources.declare();
    }

    /// Lets clients subscribe to an extension's notifications. Replaces an earlier source.
    pub fn subscription_source(&mut self, source: impl SubscriptionSource) {
        self.state.subscriptions = self.state.subscriptions.with_source(source);
    }

    /// Records an invalid definition. It is reported when the server starts.
    pub fn invalid(&mut self, error: DefinitionError) {
        self.state.config.invalid.push(error);
    }
}
