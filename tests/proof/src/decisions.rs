//! Tables written by hand that complement the released schemas.
//!
//! [`FIXUPS`] repairs mistakes in the schemas. [`decisions`] determines which member of an overlapping union a document
//! belongs to. [`repeated`] lists the definitions that inline schemas repeat. These tables were written from the
//! schemas alone. The generator has separate tables, and the tests prove that they agree. An `at` is a JSON pointer
//! below the schema's definitions, without the leading slash.

/// The released revisions, oldest first.
pub const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// The vendored extensions, by name.
pub const EXTENSIONS: [&str; 5] = ["apps", "registry", "server-card", "skills", "tasks"];

/// A repair of a schema.
#[derive(Debug, Clone, Copy)]
pub struct Fixup {
    /// The name of the repair in messages.
    pub name: &'static str,
    /// The revisions and extensions that need it.
    pub revisions: &'static [&'static str],
    /// The repaired place.
    pub at: &'static str,
    /// The expected value before the repair as JSON text, or `None` if there must be no value.
    pub expected: Option<&'static str>,
    /// The value after the repair, as JSON text.
    pub becomes: &'static str,
}

/// The repairs of all released revisions.
pub const FIXUPS: &[Fixup] = &[
    Fixup {
        name: "a JSON value may be null or a fraction",
        revisions: &["2026-07-28", "skills", "tasks"],
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
        revisions: &["2025-11-25", "2026-07-28", "tasks"],
        at: "ElicitResult/properties/content/additionalProperties/anyOf/1/type",
        expected: Some(r#"["string", "integer", "boolean"]"#),
        becomes: r#"["string", "number", "boolean"]"#,
    },
    Fixup {
        name: "an input-required result has a constant resultType",
        revisions: &["2026-07-28"],
        at: "InputRequiredResult/properties/resultType/const",
        expected: None,
        becomes: r#""input_required""#,
    },
    Fixup {
        name: "a container has a width and a height",
        revisions: &["apps"],
        at: "McpUiHostContext/properties/containerDimensions",
        expected: Some(CONTAINER_DIMENSIONS),
        becomes: SIZES,
    },
    Fixup {
        name: "a host need not set all style variables",
        revisions: &["apps"],
        at: "McpUiStyles/required",
        expected: Some(ANYTHING),
        becomes: "[]",
    },
    Fixup {
        name: "a style variable is text",
        revisions: &["apps"],
        at: "McpUiStyles/additionalProperties",
        expected: Some(r#"{"anyOf": [{"type": "string"}, {}]}"#),
        becomes: r#"{"type": "string"}"#,
    },
];

/// The expected value of a fixup that replaces any value.
pub const ANYTHING: &str = r#""anything""#;

/// An inline schema that repeats a definition of the extension itself or of the revision that it extends.
#[derive(Debug, Clone, Copy)]
pub enum Repeated {
    /// Every inline object with exactly these members. `type=text` means that `type` is the constant `text`.
    Object(&'static [&'static str]),
    /// Every union of exactly these definitions.
    Union(&'static [&'static str]),
    /// The schema at this place.
    At(&'static str),
}

/// Returns the definitions that inline schemas of an extension repeat, from the innermost to the outermost.
#[must_use]
pub fn repeated(extension: &str) -> &'static [(&'static str, Repeated)] {
    match extension {
        "apps" => &[
            ("Annotations", Repeated::Object(&["audience", "lastModified", "priority"])),
            ("Icon", Repeated::Object(&["mimeType", "sizes", "src", "theme"])),
            ("TextResourceContents", Repeated::Object(&["_meta", "mimeType", "text", "uri"])),
            ("BlobResourceContents", Repeated::Object(&["_meta", "blob", "mimeType", "uri"])),
            ("TextContent", Repeated::Object(&["_meta", "annotations", "text", "type=text"])),
            ("ImageContent", Repeated::Object(&["_meta", "annotations", "data", "mimeType", "type=image"])),
            ("AudioContent", Repeated::Object(&["_meta", "annotations", "data", "mimeType", "type=audio"])),
            ("EmbeddedResource", Repeated::Object(&["_meta", "annotations", "resource", "type=resource"])),
            ("ResourceLink", Repeated::Object(RESOURCE_LINK)),
            ("ContentBlock", Repeated::Union(CONTENT)),
            ("Implementation", Repeated::Object(IMPLEMENTATION)),
            ("ResultMetaObject", Repeated::Object(&["io.modelcontextprotocol/serverInfo"])),
            ("Tool", Repeated::Object(TOOL)),
            ("RequestId", Repeated::At("McpUiHostContext/properties/toolInfo/properties/id")),
            ("McpUiHostStyles", Repeated::Object(&["css", "variables"])),
            ("McpUiStyles", Repeated::At("McpUiHostStyles/properties/variables")),
            ("McpUiHostContext", Repeated::Object(HOST_CONTEXT)),
        ],
        _ => &[],
    }
}

const RESOURCE_LINK: &[&str] =
    &["_meta", "annotations", "description", "icons", "mimeType", "name", "size", "title", "type=resource_link", "uri"];
const CONTENT: &[&str] = &["AudioContent", "EmbeddedResource", "ImageContent", "ResourceLink", "TextContent"];
const IMPLEMENTATION: &[&str] = &["description", "icons", "name", "title", "version", "websiteUrl"];
const TOOL: &[&str] =
    &["_meta", "annotations", "description", "execution", "icons", "inputSchema", "name", "outputSchema", "title"];
const HOST_CONTEXT: &[&str] = &[
    "availableDisplayModes",
    "containerDimensions",
    "deviceCapabilities",
    "displayMode",
    "locale",
    "platform",
    "safeAreaInsets",
    "styles",
    "theme",
    "timeZone",
    "toolInfo",
    "userAgent",
];

const CONTAINER_DIMENSIONS: &str = r#"{"allOf": [
    {"anyOf": [
        {"type": "object", "properties": {"height": {"type": "number"}}, "required": ["height"], "additionalProperties": false},
        {"type": "object", "properties": {"maxHeight": {"anyOf": [{"type": "number"}, {}]}}, "additionalProperties": false}
    ]},
    {"anyOf": [
        {"type": "object", "properties": {"width": {"type": "number"}}, "required": ["width"], "additionalProperties": false},
        {"type": "object", "properties": {"maxWidth": {"anyOf": [{"type": "number"}, {}]}}, "additionalProperties": false}
    ]}
]}"#;

const SIZES: &str = r#"{"type": "object", "properties": {
    "height": {"type": "number"}, "maxHeight": {"type": "number"},
    "width": {"type": "number"}, "maxWidth": {"type": "number"}
}}"#;

/// The rules that decide an overlapping union. The first rule whose guards all hold names a member, and the union
/// accepts the document if that member accepts it. If no rule matches, the union rejects the document.
#[derive(Debug, Clone, Copy)]
pub struct Decision {
    /// The schema that has the `anyOf`.
    pub at: &'static str,
    /// The rules, in order.
    pub rules: &'static [Rule],
}

impl Decision {
    /// Returns whether one member accepts every document that the others accept, so that it absorbs them.
    #[must_use]
    pub fn absorbs(&self) -> bool {
        matches!(self.rules, [Rule { when: [], .. }])
    }
}

/// A rule: if all guards hold, the document belongs to the member.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The guards. A rule without guards always matches.
    pub when: &'static [Guard],
    /// The member that the rule chooses.
    pub member: Member,
}

/// A condition on the document. Dots separate the steps of a path, and a number is an index into an array.
#[derive(Debug, Clone, Copy)]
pub enum Guard {
    /// The path has a value, which may be `null`.
    Present(&'static str),
    /// The path has no value.
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
    /// The member at this index, if it is not a reference.
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

/// Returns the decisions of a released revision or an extension.
///
/// # Panics
///
/// Panics if the argument is neither.
#[must_use]
pub fn decisions(revision: &str) -> &'static [Decision] {
    match revision {
        "2024-11-05" => V2024_11_05,
        "2025-03-26" => V2025_03_26,
        "2025-06-18" => V2025_06_18,
        "2025-11-25" => V2025_11_25,
        "2026-07-28" => V2026_07_28,
        "tasks" => TASKS,
        "apps" => APPS,
        "registry" | "server-card" | "skills" => &[],
        other => panic!("revision {other} has no decisions: add them to `decisions`"),
    }
}

const APPS: &[Decision] = &[decision("EmbeddedResource/properties/resource", CONTENTS)];

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

const TASKS: &[Decision] = &[
    decision("EmbeddedResource/properties/resource", CONTENTS),
    decision("InputResponse", INPUT_RESPONSE),
    decision("PrimitiveSchemaDefinition", PRIMITIVE),
];

/// Every result is a `Result`, so `Result` absorbs all members.
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
