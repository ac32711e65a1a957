//! Fixups: corrections of defects in official schemas. Only `inline` makes exceptions for certain schemas as well.

use mcpgen_schema::json::Json;
use mcpgen_schema::text::hex;
use mcpgen_schema::{Document, Error, Problem};
use sha2::{Digest, Sha256};

/// A correction of a schema. It is applied before the schema is interpreted.
#[derive(Debug)]
pub struct Fixup {
    /// A stable name.
    pub name: &'static str,
    /// The revisions and extensions whose schema is known to have the defect. In other schemas, such as those of new
    /// revisions, the fixup is applied where it matches.
    pub revisions: &'static [&'static str],
    /// The definition, or `*` for every definition that has the expected value at the pointer.
    pub definition: &'static str,
    /// JSON pointer inside the definition.
    pub pointer: &'static str,
    /// JSON text of the value that the fixup replaces. For a long value, `sha256:` and the digest of its compact text.
    pub expects: &'static str,
    /// JSON text of the replacement. References to `$defs` are adapted to the dialect of the document.
    pub becomes: &'static str,
    /// The reason.
    pub reason: &'static str,
    /// A link to the evidence.
    pub link: &'static str,
}

/// All fixups.
pub const FIXUPS: &[Fixup] = &[
    Fixup {
        name: "json-value-null-and-fractions",
        revisions: &["2026-07-28", "skills", "tasks"],
        definition: "JSONValue",
        pointer: "/anyOf/2/type",
        expects: r#"["string", "integer", "boolean"]"#,
        becomes: r#"["string", "number", "boolean", "null"]"#,
        reason: "JSONValue is any JSON value; the schema exporter writes TypeScript's `number` as `integer` in \
                 a type list and drops `null`, so `{\"pi\": 3.14}` and `null` would not be JSON",
        link: "https://modelcontextprotocol.io/specification/2026-07-28/schema#jsonvalue",
    },
    Fixup {
        name: "elicit-content-fractions",
        revisions: &["2025-11-25", "2026-07-28", "tasks"],
        definition: "ElicitResult",
        pointer: "/properties/content/additionalProperties/anyOf/1/type",
        expects: r#"["string", "integer", "boolean"]"#,
        becomes: r#"["string", "number", "boolean"]"#,
        reason: "an elicitation may request a `number`, so the response may have a fraction; the exporter writes \
                 TypeScript's `number` as `integer` in a type list",
        link: "https://modelcontextprotocol.io/specification/2025-11-25/schema#elicitresult",
    },
    Fixup {
        name: "elicit-content-fractions-scalar",
        revisions: &["2025-06-18"],
        definition: "ElicitResult",
        pointer: "/properties/content/additionalProperties/type",
        expects: r#"["string", "integer", "boolean"]"#,
        becomes: r#"["string", "number", "boolean"]"#,
        reason: "like elicit-content-fractions, for the revision whose content has no lists",
        link: "https://modelcontextprotocol.io/specification/2025-06-18/schema#elicitresult",
    },
    Fixup {
        name: "input-required-result-type",
        revisions: &["2026-07-28"],
        definition: "InputRequiredResult",
        pointer: "/properties/resultType",
        expects: r#"{"type": "string"}"#,
        becomes: r#"{"const": "input_required", "type": "string"}"#,
        reason: "clients recognise this result by its `resultType`; without the constant, \
                 every result is also a valid InputRequiredResult",
        link: "https://modelcontextprotocol.io/specification/2026-07-28/schema#inputrequiredresult",
    },
    Fixup {
        name: "result-type-default",
        revisions: &["2026-07-28"],
        definition: "*",
        pointer: "/properties/resultType",
        expects: r#"{"type": "string"}"#,
        becomes: r##"{"$ref": "#/$defs/ResultType", "default": "complete"}"##,
        reason: "a result that is not InputRequiredResult is `complete` unless an extension defines another type, so \
                 constructors set it; it does not affect what is accepted",
        link: "https://modelcontextprotocol.io/specification/2026-07-28/schema#resulttype",
    },
    Fixup {
        name: "container-dimensions",
        revisions: &["apps"],
        definition: "McpUiHostContext",
        pointer: "/properties/containerDimensions",
        expects: CONTAINER_DIMENSIONS,
        becomes: SIZES,
        reason: "an intersection of closed objects accepts only `{}`, because each rejects the members of the other; the \
                 TypeScript type has a height or a maximum height, and a width or a maximum width",
        link: "https://github.com/modelcontextprotocol/ext-apps/blob/v2.0.4/src/spec.types.ts",
    },
    Fixup {
        name: "style-variables-optional",
        revisions: &["apps"],
        definition: "McpUiStyles",
        pointer: "/required",
        expects: "sha256:96c42befcba7f22ef81eb1220243362273c0b89f6f99a38c144ff018aeee4fe8",
        becomes: "[]",
        reason: "a host sets the variables that it has; the exporter lists all keys of a TypeScript `Record` as required, \
                 although their values may be `undefined`",
        link: "https://github.com/modelcontextprotocol/ext-apps/blob/v2.0.4/src/spec.types.ts",
    },
    Fixup {
        name: "style-variables-text",
        revisions: &["apps"],
        definition: "McpUiStyles",
        pointer: "/additionalProperties",
        expects: r#"{"anyOf": [{"type": "string"}, {}]}"#,
        becomes: r#"{"type": "string"}"#,
        reason: "the value of a variable is text; the exporter writes TypeScript's `undefined`, which JSON does not have, \
                 as a schema that accepts everything",
        link: "https://github.com/modelcontextprotocol/ext-apps/blob/v2.0.4/src/spec.types.ts",
    },
];

/// The sizes of a container as the schema of apps states them.
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

/// The sizes of a container as the specification of apps describes them.
const SIZES: &str = r#"{"type": "object", "properties": {
    "height": {"type": "number"}, "maxHeight": {"type": "number"},
    "width": {"type": "number"}, "maxWidth": {"type": "number"}
}}"#;

/// A correction of the capability that a method needs, if it cannot be derived from the names in the schema.
#[derive(Debug)]
pub struct CapabilityFixup {
    /// A stable name.
    pub name: &'static str,
    /// The method. Revisions without it are not affected.
    pub method: &'static str,
    /// The path of the capability.
    pub capability: &'static [&'static str],
    /// The reason.
    pub reason: &'static str,
    /// A link to the evidence.
    pub link: &'static str,
}

/// All corrections of capabilities.
pub const CAPABILITIES: &[CapabilityFixup] = &[
    CapabilityFixup {
        name: "logging-messages",
        method: "notifications/message",
        capability: &["logging"],
        reason: "log messages need the capability `logging`, which the method's name does not contain",
        link: "https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging",
    },
    CapabilityFixup {
        name: "resource-updates",
        method: "notifications/resources/updated",
        capability: &["resources", "subscribe"],
        reason: "updates of a resource are sent to its subscribers, so they need the capability to subscribe",
        link: "https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions",
    },
    CapabilityFixup {
        name: "resource-unsubscribe",
        method: "resources/unsubscribe",
        capability: &["resources", "subscribe"],
        reason: "a client unsubscribes with the capability to subscribe; there is no capability `unsubscribe`",
        link: "https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions",
    },
];

/// The result of a fixup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The fixup's name.
    pub name: &'static str,
    /// The pointers that it changed. Empty if it did not match.
    pub pointers: Vec<String>,
}

impl Applied {
    /// Returns whether the schema of this revision or extension is known to have the defect.
    pub fn is_for(&self, name: &str) -> bool {
        FIXUPS.iter().any(|fixup| fixup.name == self.name && fixup.revisions.contains(&name))
    }
}

/// Applies the fixups to a document where they match.
///
/// # Errors
/// [`Error::Schema`] if a fixup for a released revision does not find the value that it expects.
pub fn apply(document: &mut Document, revision: &str, released: bool) -> Result<Vec<Applied>, Error> {
    let mut applied = Vec::new();
    let mut problems = Vec::new();
    for fixup in FIXUPS {
        let pointers = fixup.apply(document);
        if pointers.is_empty() && released {
            if !fixup.revisions.contains(&revision) {
                continue;
            }
            let pointer = match fixup.definition {
                "*" => String::new(),
                name => format!("{}{}", document.pointer(name), fixup.pointer),
            };
            let why =
                format!("the fixup `{}` for {revision} does not find {} at this place", fixup.name, fixup.expects);
            let remedy = format!(
                "check that this is the schema of {revision}; if upstream corrected it, remove the revision from the fixup"
            );
            let definition = fixup.definition.replace('*', "");
            problems.push(Problem { definition, ..Problem::new(&document.file, pointer, why, remedy) });
        }
        applied.push(Applied { name: fixup.name, pointers });
    }
    if problems.is_empty() { Ok(applied) } else { Err(Error::Schema(problems)) }
}

impl Fixup {
    fn apply(&self, document: &mut Document) -> Vec<String> {
        let container = document.container();
        let parse = |text: &str| Json::parse(text).expect("fixups hold JSON; a test reads them all");
        let is_expected = |found: Json| match self.expects.strip_prefix("sha256:") {
            Some(digest) => hex(&Sha256::digest(found.to_string())) == digest,
            None => found == parse(self.expects),
        };
        let becomes = parse(&self.becomes.replace("#/$defs/", &format!("#/{container}/")));
        if becomes
            .get("$ref")
            .and_then(Json::as_str)
            .is_some_and(|target| document.root.pointer(&target[1..]).is_none())
        {
            return Vec::new();
        }
        let names: Vec<String> = match self.definition {
            "*" => document.definitions().keys().cloned().collect(),
            name => vec![name.to_owned()],
        };
        let mut changed = Vec::new();
        for name in names {
            let pointer = format!("{}{}", document.pointer(&name), self.pointer);
            if let Some(place) = document.root.pointer_mut(&pointer)
                && is_expected(without_prose(place))
            {
                *place = keeping_prose(place, becomes.clone());
                changed.push(pointer);
            }
        }
        changed
    }
}

/// Removes descriptions, which official files have and vendored ones do not.
fn without_prose(json: &Json) -> Json {
    match json {
        Json::Object(members) => Json::Object(
            members.iter().filter(|(key, _)| *key != "description").map(|(k, v)| (k.clone(), v.clone())).collect(),
        ),
        other => other.clone(),
    }
}

fn keeping_prose(old: &Json, new: Json) -> Json {
    match (old.get("description"), new) {
        (Some(description), Json::Object(mut members)) => {
            members.insert("description".into(), description.clone());
            Json::Object(members)
        }
        (_, new) => new,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn fixups_are_valid() {
        for fixup in FIXUPS {
            for text in [fixup.expects, fixup.becomes].into_iter().filter(|text| !text.starts_with("sha256:")) {
                Json::parse(text).unwrap_or_else(|error| panic!("{}: {text}: {error}", fixup.name));
            }
            assert!(fixup.reason.len() > 40 && fixup.link.starts_with("https://"), "{}", fixup.name);
        }
        let names: Vec<&str> =
            FIXUPS.iter().map(|fixup| fixup.name).chain(CAPABILITIES.iter().map(|fixup| fixup.name)).collect();
        let distinct: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(distinct.len(), names.len(), "names are unique: {names:?}");
        for fixup in CAPABILITIES {
            assert!(fixup.reason.len() > 40 && fixup.link.starts_with("https://"), "{}", fixup.name);
        }
    }
}
