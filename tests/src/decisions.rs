//! What the project decided by hand on top of the released schemas.
//!
//! [`FIXUPS`] repairs what a schema says by mistake, [`decisions`] says which member of an
//! overlapping union a document belongs to. Both are data, written from the schemas and from
//! nothing else: the generator has tables of its own, and the proof is that the two agree.
//! An `at` is a JSON pointer below the schema's definitions, without its leading slash.

/// The released revisions, oldest first.
pub const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// One repair of the schema text.
#[derive(Debug, Clone, Copy)]
pub struct Fixup {
    /// What the repair is called in messages.
    pub name: &'static str,
    /// The revisions that need it.
    pub revisions: &'static [&'static str],
    /// The repaired place.
    pub at: &'static str,
    /// What must stand there before, as JSON text; `None` where nothing may stand.
    pub expected: Option<&'static str>,
    /// What stands there afterwards, as JSON text.
    pub becomes: &'static str,
}

/// Every repair of every released revision.
pub const FIXUPS: &[Fixup] = &[
    Fixup {
        name: "a JSON value may be null or a fraction",
        revisions: &["2026-07-28"],
        at: "JSONValue/anyOf/2/type",
        expected: Some(r#"["string", "integer", "boolean"]"#),
        becomes: r#"["string", "number", "boolean", "null"]"#,
    },
    Fixup {
        name: "an elicited number may be a fraction",
        revisions: &["2025-06-18"],
        at: "ElicitResult/properties/content/additionalProperties/type",
        expected: Some(r#"["string", "integer", "boolean"]"#),
        becomes: r#"["string", "number", "boolean"]"#,
    },
    Fixup {
        name: "an elicited number may be a fraction",
        revisions: &["2025-11-25", "2026-07-28"],
        at: "ElicitResult/properties/content/additionalProperties/anyOf/1/type",
        expected: Some(r#"["string", "integer", "boolean"]"#),
        becomes: r#"["string", "number", "boolean"]"#,
    },
    Fixup {
        name: "an input-required result says so",
        revisions: &["2026-07-28"],
        at: "InputRequiredResult/properties/resultType/const",
        expected: None,
        becomes: r#""input_required""#,
    },
];

/// How one overlapping union is told apart: the first rule whose guards all hold names the member,
/// and the union accepts a document if and only if that member does. No rule: refused.
#[derive(Debug, Clone, Copy)]
pub struct Decision {
    /// The schema that holds the `anyOf`.
    pub at: &'static str,
    /// The ordered rules.
    pub rules: &'static [Rule],
}

impl Decision {
    /// Whether one member stands for the whole union, because it accepts all that the others do.
    #[must_use]
    pub fn absorbs(&self) -> bool {
        matches!(self.rules, [Rule { when: [], .. }])
    }
}

/// If all guards hold, the document belongs to this member.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The conditions; none means "otherwise".
    pub when: &'static [Guard],
    /// Where they lead.
    pub member: Member,
}

/// A condition on the document. Paths are dotted; a number is an index into an array.
#[derive(Debug, Clone, Copy)]
pub enum Guard {
    /// There is a value at the path, be it `null`.
    Present(&'static str),
    /// There is no value at the path.
    Absent(&'static str),
    /// The value at the path is one of these strings.
    OneOf(&'static str, &'static [&'static str]),
    /// The document has this JSON type.
    Type(&'static str),
}

/// A member of an `anyOf`.
#[derive(Debug, Clone, Copy)]
pub enum Member {
    /// The member that is a `$ref` to this definition.
    Ref(&'static str),
    /// The member at this index, for those that have no name.
    Nth(usize),
}

use Guard::{OneOf, Present, Type};
use Member::{Nth, Ref};

const fn rule(when: &'static [Guard], member: &'static str) -> Rule {
    Rule { when, member: Ref(member) }
}

const fn otherwise(member: &'static str) -> Rule {
    rule(&[], member)
}

const fn decision(at: &'static str, rules: &'static [Rule]) -> Decision {
    Decision { at, rules }
}

/// The decisions of a released revision.
///
/// # Panics
///
/// If the revision was never released.
#[must_use]
pub fn decisions(revision: &str) -> &'static [Decision] {
    match revision {
        "2024-11-05" => V2024_11_05,
        "2025-03-26" => V2025_03_26,
        "2025-06-18" => V2025_06_18,
        "2025-11-25" => V2025_11_25,
        "2026-07-28" => V2026_07_28,
        other => panic!("{other} is not a released revision: decide its unions first"),
    }
}

const V2024_11_05: &[Decision] = &[
    decision("ClientResult", RESULT),
    decision("EmbeddedResource/properties/resource", CONTENTS),
    decision("JSONRPCMessage", MESSAGE),
    decision("ReadResourceResult/properties/contents/items", CONTENTS),
    decision("ServerResult", RESULT),
];

const V2025_03_26: &[Decision] = &[
    decision("ClientResult", RESULT),
    decision("EmbeddedResource/properties/resource", CONTENTS),
    decision("JSONRPCBatchRequest/items", BATCHED_REQUEST),
    decision("JSONRPCBatchResponse/items", BATCHED_RESPONSE),
    decision("JSONRPCMessage", MESSAGE_OR_BATCH),
    decision("JSONRPCMessage/anyOf/2/items", BATCHED_REQUEST),
    decision("JSONRPCMessage/anyOf/5/items", BATCHED_RESPONSE),
    decision("ReadResourceResult/properties/contents/items", CONTENTS),
    decision("ServerResult", RESULT),
];

const V2025_06_18: &[Decision] = &[
    decision("ClientResult", RESULT),
    decision("EmbeddedResource/properties/resource", CONTENTS),
    decision("JSONRPCMessage", MESSAGE),
    decision("PrimitiveSchemaDefinition", PRIMITIVE_WITH_ONE_ENUM),
    decision("ReadResourceResult/properties/contents/items", CONTENTS),
    decision("ServerResult", RESULT),
];

const V2025_11_25: &[Decision] = &[
    decision("ClientResult", RESULT),
    decision("EmbeddedResource/properties/resource", CONTENTS),
    decision("EnumSchema", ENUM),
    decision("JSONRPCMessage", MESSAGE_OR_NAMED_RESPONSE),
    decision("JSONRPCResponse", RESPONSE),
    decision("MultiSelectEnumSchema", MULTI_SELECT),
    decision("PrimitiveSchemaDefinition", PRIMITIVE),
    decision("ReadResourceResult/properties/contents/items", CONTENTS),
    decision("ServerResult", RESULT),
    decision("SingleSelectEnumSchema", SINGLE_SELECT),
];

const V2026_07_28: &[Decision] = &[
    decision("CallToolResultResponse/properties/result", INPUT_REQUIRED_OR_TOOL),
    decision("EmbeddedResource/properties/resource", CONTENTS),
    decision("EnumSchema", ENUM),
    decision("GetPromptResultResponse/properties/result", INPUT_REQUIRED_OR_PROMPT),
    decision("InputResponse", INPUT_RESPONSE),
    decision("JSONRPCMessage", MESSAGE_OR_NAMED_RESPONSE),
    decision("JSONRPCResponse", RESPONSE),
    decision("MultiSelectEnumSchema", MULTI_SELECT),
    decision("PrimitiveSchemaDefinition", PRIMITIVE),
    decision("ReadResourceResult/properties/contents/items", CONTENTS),
    decision("ReadResourceResultResponse/properties/result", INPUT_REQUIRED_OR_RESOURCE),
    decision("ServerResult", RESULT),
    decision("SingleSelectEnumSchema", SINGLE_SELECT),
];

/// Every result is a `Result`, so the union is.
const RESULT: &[Rule] = &[otherwise("Result")];

const CONTENTS: &[Rule] =
    &[rule(&[Present("text")], "TextResourceContents"), rule(&[Present("blob")], "BlobResourceContents")];

const MESSAGE: &[Rule] = &[
    rule(&[Present("method"), Present("id")], "JSONRPCRequest"),
    rule(&[Present("method")], "JSONRPCNotification"),
    rule(&[Present("result")], "JSONRPCResponse"),
    rule(&[Present("error")], "JSONRPCError"),
];

const MESSAGE_OR_NAMED_RESPONSE: &[Rule] = &[
    rule(&[Present("method"), Present("id")], "JSONRPCRequest"),
    rule(&[Present("method")], "JSONRPCNotification"),
    rule(&[Present("result")], "JSONRPCResultResponse"),
    rule(&[Present("error")], "JSONRPCErrorResponse"),
];

const MESSAGE_OR_BATCH: &[Rule] = &[
    Rule { when: &[Type("array"), Present("0.method")], member: Nth(2) },
    Rule { when: &[Type("array")], member: Nth(5) },
    rule(&[Present("method"), Present("id")], "JSONRPCRequest"),
    rule(&[Present("method")], "JSONRPCNotification"),
    rule(&[Present("result")], "JSONRPCResponse"),
    rule(&[Present("error")], "JSONRPCError"),
];

const BATCHED_REQUEST: &[Rule] = &[rule(&[Present("id")], "JSONRPCRequest"), otherwise("JSONRPCNotification")];

const BATCHED_RESPONSE: &[Rule] =
    &[rule(&[Present("result")], "JSONRPCResponse"), rule(&[Present("error")], "JSONRPCError")];

const RESPONSE: &[Rule] =
    &[rule(&[Present("result")], "JSONRPCResultResponse"), rule(&[Present("error")], "JSONRPCErrorResponse")];

const SINGLE_SELECT: &[Rule] = &[
    rule(&[Present("enum")], "UntitledSingleSelectEnumSchema"),
    rule(&[Present("oneOf")], "TitledSingleSelectEnumSchema"),
];

const MULTI_SELECT: &[Rule] = &[
    rule(&[Present("items.enum")], "UntitledMultiSelectEnumSchema"),
    rule(&[Present("items.anyOf")], "TitledMultiSelectEnumSchema"),
];

const STRING: Guard = OneOf("type", &["string"]);
const ARRAY: Guard = OneOf("type", &["array"]);
const NUMBER: Guard = OneOf("type", &["number", "integer"]);
const BOOLEAN: Guard = OneOf("type", &["boolean"]);

const ENUM: &[Rule] = &[
    rule(&[STRING, Present("enum"), Present("enumNames")], "LegacyTitledEnumSchema"),
    rule(&[STRING, Present("enum")], "UntitledSingleSelectEnumSchema"),
    rule(&[STRING, Present("oneOf")], "TitledSingleSelectEnumSchema"),
    rule(&[ARRAY, Present("items.enum")], "UntitledMultiSelectEnumSchema"),
    rule(&[ARRAY, Present("items.anyOf")], "TitledMultiSelectEnumSchema"),
];

const PRIMITIVE_WITH_ONE_ENUM: &[Rule] = &[
    rule(&[STRING, Present("enum")], "EnumSchema"),
    rule(&[STRING], "StringSchema"),
    rule(&[NUMBER], "NumberSchema"),
    rule(&[BOOLEAN], "BooleanSchema"),
];

const PRIMITIVE: &[Rule] = &[
    rule(&[STRING, Present("enum"), Present("enumNames")], "LegacyTitledEnumSchema"),
    rule(&[STRING, Present("enum")], "UntitledSingleSelectEnumSchema"),
    rule(&[STRING, Present("oneOf")], "TitledSingleSelectEnumSchema"),
    rule(&[STRING], "StringSchema"),
    rule(&[ARRAY, Present("items.enum")], "UntitledMultiSelectEnumSchema"),
    rule(&[ARRAY, Present("items.anyOf")], "TitledMultiSelectEnumSchema"),
    rule(&[NUMBER], "NumberSchema"),
    rule(&[BOOLEAN], "BooleanSchema"),
];

const INPUT_RESPONSE: &[Rule] = &[
    rule(&[Present("model")], "CreateMessageResult"),
    rule(&[Present("roots")], "ListRootsResult"),
    rule(&[Present("action")], "ElicitResult"),
];

const INPUT_REQUIRED: Rule = rule(&[OneOf("resultType", &["input_required"])], "InputRequiredResult");
const INPUT_REQUIRED_OR_TOOL: &[Rule] = &[INPUT_REQUIRED, otherwise("CallToolResult")];
const INPUT_REQUIRED_OR_PROMPT: &[Rule] = &[INPUT_REQUIRED, otherwise("GetPromptResult")];
const INPUT_REQUIRED_OR_RESOURCE: &[Rule] = &[INPUT_REQUIRED, otherwise("ReadResourceResult")];
