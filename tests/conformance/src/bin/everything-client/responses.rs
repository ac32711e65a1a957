//! The client's answers to a server's requests. It accepts forms with their defaults.

use std::collections::BTreeMap;

use mcpgen_types::v2026_07_28::{
    CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitResultAction, ElicitResultContentValue,
    PrimitiveSchemaDefinition, Role, Root, TextContent,
};

/// Accepts a form with the default values of its fields. Declines a URL.
pub(crate) fn elicitation(params: &ElicitRequestParams) -> ElicitResult {
    let ElicitRequestParams::ElicitRequestFormParams(form) = params else {
        return ElicitResult::new(ElicitResultAction::Decline);
    };
    let fields = form.requested_schema.properties.iter();
    let values = fields.filter_map(|(name, schema)| Some((name.clone(), default(schema)?)));
    ElicitResult::new(ElicitResultAction::Accept).with_content(values.collect::<BTreeMap<_, _>>())
}

fn default(schema: &PrimitiveSchemaDefinition) -> Option<ElicitResultContentValue> {
    let schema = mcpgen_types::to_value(schema).ok()?;
    mcpgen_types::from_value(schema.get("default")?.clone()).ok()
}

pub(crate) fn sampling() -> CreateMessageResult {
    CreateMessageResult::new(Role::Assistant, TextContent::new("There is no model."), "no-model")
}

pub(crate) fn root() -> Root {
    Root::new("file:///everything")
}
