//! Elicitation forms, and what users enter in them.

use mcpgen_types::v2026_07_28::{
    BooleanSchema, ElicitRequestFormParams, ElicitRequestFormParamsRequestedSchema, ElicitRequestParams, ElicitResult,
    LegacyTitledEnumSchema, NumberSchema, NumberSchemaType, PrimitiveSchemaDefinition, StringSchema,
    TitledMultiSelectEnumSchema, TitledMultiSelectEnumSchemaItems, TitledMultiSelectEnumSchemaItemsAnyOfItem,
    TitledSingleSelectEnumSchema, TitledSingleSelectEnumSchemaOneOfItem, UntitledMultiSelectEnumSchema,
    UntitledMultiSelectEnumSchemaItems, UntitledSingleSelectEnumSchema,
};
use mcpgen_types::{NotFinite, Number};

/// A field of a form: its name, whether it is required, and its schema.
pub(crate) type Field = (&'static str, bool, PrimitiveSchemaDefinition);

pub(crate) fn required(name: &'static str, schema: impl Into<PrimitiveSchemaDefinition>) -> Field {
    (name, true, schema.into())
}

fn optional(name: &'static str, schema: impl Into<PrimitiveSchemaDefinition>) -> Field {
    (name, false, schema.into())
}

pub(crate) fn form<const N: usize>(message: impl Into<String>, fields: [Field; N]) -> ElicitRequestParams {
    let required: Vec<String> = fields.iter().filter(|field| field.1).map(|field| field.0.to_owned()).collect();
    let schema = ElicitRequestFormParamsRequestedSchema::new(fields.map(|(name, _, schema)| (name.to_owned(), schema)));
    let schema = if required.is_empty() { schema } else { schema.with_required(required) };
    ElicitRequestFormParams::new(message, schema).into()
}

pub(crate) fn name(message: &str) -> ElicitRequestParams {
    form(message, [required("name", StringSchema::new())])
}

pub(crate) fn confirmation() -> ElicitRequestParams {
    form("Please confirm", [required("ok", BooleanSchema::new())])
}

pub(crate) fn defaults() -> Result<[Field; 5], NotFinite> {
    let status = UntitledSingleSelectEnumSchema::new(words(["active", "inactive", "pending"])).with_default("active");
    Ok([
        optional("name", StringSchema::new().with_default("John Doe")),
        optional("age", NumberSchema::new(NumberSchemaType::Integer).with_default(30)),
        optional("score", NumberSchema::new(NumberSchemaType::Number).with_default(Number::try_from(95.5)?)),
        optional("status", status),
        optional("verified", BooleanSchema::new().with_default(true)),
    ])
}

pub(crate) fn choices() -> [Field; 5] {
    let options = words(["option1", "option2", "option3"]);
    let one = |value, title| TitledSingleSelectEnumSchemaOneOfItem::new(value).title(title);
    let many = |value, title| TitledMultiSelectEnumSchemaItemsAnyOfItem::new(value).title(title);
    let titled = [one("value1", "First Option"), one("value2", "Second Option"), one("value3", "Third Option")];
    let several = [many("value1", "First Choice"), many("value2", "Second Choice"), many("value3", "Third Choice")];
    let legacy = LegacyTitledEnumSchema::new(words(["opt1", "opt2", "opt3"])).with_enum_names(words([
        "Option One",
        "Option Two",
        "Option Three",
    ]));
    [
        optional("untitledSingle", UntitledSingleSelectEnumSchema::new(options.clone())),
        optional("titledSingle", TitledSingleSelectEnumSchema::new(titled)),
        optional("legacyEnum", legacy),
        optional("untitledMulti", UntitledMultiSelectEnumSchema::new(UntitledMultiSelectEnumSchemaItems::new(options))),
        optional("titledMulti", TitledMultiSelectEnumSchema::new(TitledMultiSelectEnumSchemaItems::new(several))),
    ]
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// Describes the result of an elicitation as the suite expects it.
pub(crate) fn describe(result: &ElicitResult) -> String {
    let content = result.content.as_ref().map_or_else(|| "{}".to_owned(), mcpgen_types::to_string);
    format!("action={}, content={content}", result.action)
}

pub(crate) fn field(result: &ElicitResult, name: &str) -> String {
    let value = result.content.as_ref().and_then(|content| content.get(name));
    let value = value.and_then(|value| mcpgen_types::to_value(value).ok()).unwrap_or_default();
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
