//! The arguments of a call.

use mcpgen_runtime::jsonrpc::errors;
use mcpgen_types::{ErrorObject, Json, JsonObject};

/// The arguments of a call: an object that is not decoded yet, or `None` if the call has none.
#[derive(Clone, Debug, Default)]
pub(super) struct Arguments(pub(super) Option<Json>);

impl From<JsonObject> for Arguments {
    fn from(arguments: JsonObject) -> Self {
        Self(Some(arguments.into()))
    }
}

impl Arguments {
    pub(super) fn object(&self) -> Result<JsonObject, ErrorObject> {
        let object = self.0.as_ref().map_or(Ok(JsonObject::new()), Json::decode);
        object.map_err(|error| errors::invalid_params(&error.at_key("arguments").at_key("params")))
    }

    /// Returns the JSON text of the object.
    pub(super) fn text(&self) -> String {
        self.0.as_ref().map_or_else(|| "{}".to_owned(), |arguments| arguments.text().to_owned())
    }
}
