//! The arguments of a tool's call.

use mcpgen_runtime::jsonrpc::errors;
use mcpgen_types::{ErrorObject, Json, JsonObject};

/// The arguments of a call.
#[derive(Clone, Debug)]
pub(super) enum Arguments {
    Object(JsonObject),
    /// An undecoded object.
    Raw(Json),
}

impl Arguments {
    pub(super) fn none() -> Self {
        Self::Object(JsonObject::new())
    }

    pub(super) fn object(self) -> Result<JsonObject, ErrorObject> {
        match self {
            Self::Object(object) => Ok(object),
            Self::Raw(arguments) => {
                arguments.decode().map_err(|error| errors::invalid_params(&error.at_key("arguments").at_key("params")))
            }
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Object(object) => mcpgen_types::to_string(object),
            Self::Raw(arguments) => arguments.text().to_owned(),
        }
    }
}
