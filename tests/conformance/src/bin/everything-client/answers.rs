//! What servers are answered: the user who is asked here takes every form as it comes.

use std::collections::BTreeMap;

use mcpgen_types::v2026_07_28::{
    CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitResultAction, ElicitResultContentValue,
    PrimitiveSchemaDefinition, Role, Root, TextContent,
};

/// A form with the values that its fields have already; what is no form is declined.
pub(crate) fn filled_in(asked: &ElicitRequestParams) -> ElicitResult {
    let ElicitRequestParams::ElicitRequestFormParams(form) = asked else {
        return ElicitResult::new(ElicitResultAction::Decline);
    };
    let fields = form.requested_schema.properties.iter();
    let filled = fields.filter_map(|(name, schema)| Some((name.clone(), default(schema)?)));
    ElicitResult::new(ElicitResultAction::Accept).with_content(filled.collect::<BTreeMap<_, _>>())
}

/// The value that a field has before anybody fills it in.
fn default(schema: &PrimitiveSchemaDefinition) -> Option<ElicitResultContentValue> {
    let schema = mcpgen_types::to_value(schema).ok()?;
    mcpgen_types::from_value(schema.get("default")?.clone()).ok()
}

/// What the model says.
pub(crate) fn said() -> CreateMessageResult {
    CreateMessageResult::new(TextContent::new("I am no model."), "no-model", Role::Assistant)
}

/// The folder that servers may see.
pub(crate) fn root() -> Root {
    Root::new("file:///everything")
}
