//! The arguments of a call.

use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::util::did_you_mean;
use mcpgen_types::{ErrorObject, Json, JsonObject};

/// A call's arguments: an object that is not decoded yet, or `None` if the call has none.
#[derive(Clone, Debug, Default)]
pub(super) struct Arguments(pub(super) Option<Json>);

/// The maximum number of unknown arguments to compare with the names in the schema.
const MAX_REMARKS: usize = 5;

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

    /// Returns a remark for each unknown argument that resembles a known one.
    pub(super) fn misspelt(&self, names: &[String]) -> Vec<String> {
        let Some(arguments) = &self.0 else { return Vec::new() };
        let known = || names.iter().map(String::as_str);
        let remark = |name: &str| {
            let hint = did_you_mean(name, known());
            (!hint.is_empty()).then(|| format!("unknown argument {name:?}{hint}"))
        };
        let remarks = arguments.read(|json| {
            let given = json.members().into_iter().flatten().filter_map(|(name, _)| name.as_str());
            let unknown = given.filter(|name| known().all(|known| known != name));
            unknown.take(MAX_REMARKS).filter_map(|name| remark(&name)).collect()
        });
        remarks.unwrap_or_default()
    }

    /// Returns the JSON text, `{}` if there are no arguments.
    pub(super) fn text(&self) -> String {
        self.0.as_ref().map_or_else(|| "{}".to_owned(), |arguments| arguments.text().to_owned())
    }
}
