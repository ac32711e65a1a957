//! Compares the annotations of two schemas: texts that models read, defaults, and formats that programs may check
//! although schemas do not enforce them.

use indexmap::IndexMap;
use mcpgen_schema::json::Json;
use mcpgen_schema::json::pointer::escape;

/// A difference between the annotations of two schemas.
#[derive(Clone, Debug)]
pub(super) struct Annotation {
    pub(super) kind: AnnotationKind,
    pub(super) keyword: String,
    /// The names that lead to the value, such as `.users[].name`, relative to the root.
    pub(super) path: String,
    /// JSON pointer of the schema, relative to the root.
    pub(super) pointer: String,
    pub(super) old: Option<Json>,
    pub(super) new: Option<Json>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnnotationKind {
    /// A text that models read.
    Text,
    /// A format that programs may check.
    Format,
    /// The value that applies if a member is absent.
    Default,
}

/// Keywords with text or examples, which models read.
const TEXTS: [&str; 6] = ["title", "description", "$comment", "example", "examples", "enumDescriptions"];
/// Keywords that programs may check.
const FORMATS: [&str; 6] = ["format", "contentEncoding", "contentMediaType", "contentSchema", "readOnly", "writeOnly"];

/// The number of characters that an excerpt shows before the first difference, and after it.
const BEFORE: usize = 24;
const AFTER: usize = 72;

/// Keywords with a schema or an array of schemas.
const SCHEMAS: [&str; 15] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "propertyNames",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
    "prefixItems",
    "anyOf",
    "oneOf",
    "allOf",
];
/// Keywords with an object of schemas.
const NAMED_SCHEMAS: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Describes the change to a text that models read. Quotes the text, because reviewers look for instructions.
pub(super) fn text_change(old: Option<&Json>, new: Option<&Json>) -> String {
    match (old, new) {
        (Some(Json::String(old)), Some(Json::String(new))) => {
            let (old, new) = excerpts(old, new);
            format!("changed from \"{old}\" to \"{new}\"")
        }
        (None, Some(Json::String(new))) => format!("is new: \"{}\"", excerpts("", new).1),
        (None, _) => "is new".to_owned(),
        (_, None) => "was removed".to_owned(),
        _ => "changed".to_owned(),
    }
}

/// Returns excerpts of two texts around their first difference.
fn excerpts(old: &str, new: &str) -> (String, String) {
    let same = old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count();
    let (begin, end) = (same.saturating_sub(BEFORE), same + AFTER);
    let excerpt = |text: &str| {
        let inner: String = text.chars().take(end).skip(begin).collect();
        let before = if begin > 0 { "…" } else { "" };
        let after = if text.chars().nth(end).is_some() { "…" } else { "" };
        format!("{before}{inner}{after}")
    };
    (excerpt(old), excerpt(new))
}

/// Finds the subschemas that both schemas have, and compares their annotations.
pub(super) fn compare(old: &Json, new: &Json) -> Vec<Annotation> {
    let (old, new) = (subschemas(old), subschemas(new));
    let mut found = Vec::new();
    for (pointer, Subschema { path, keywords: was }) in &old {
        let Some(Subschema { keywords: is, .. }) = new.get(pointer) else { continue };
        let removed = was.keys().filter(|keyword| !is.contains_key(*keyword));
        for keyword in is.keys().chain(removed) {
            let (before, after) = (was.get(keyword), is.get(keyword));
            if let Some(kind) = kind(keyword).filter(|_| before != after) {
                let (old, new) = (before.cloned(), after.cloned());
                let (keyword, path, pointer) = (keyword.clone(), path.clone(), pointer.clone());
                found.push(Annotation { kind, keyword, path, pointer, old, new });
            }
        }
    }
    found
}

/// A schema, or a subschema inside it.
pub(super) struct Subschema<'s> {
    /// The names that lead to its values, such as `.users[].name`, relative to the root.
    pub(super) path: String,
    pub(super) keywords: &'s IndexMap<String, Json>,
}

/// Returns a schema and all schemas inside it, by JSON pointer. Outer schemas come first.
pub(super) fn subschemas(root: &Json) -> IndexMap<String, Subschema<'_>> {
    fn collect<'s>(schema: &'s Json, path: String, pointer: String, found: &mut IndexMap<String, Subschema<'s>>) {
        let Json::Object(keywords) = schema else { return };
        found.insert(pointer.clone(), Subschema { path: path.clone(), keywords });
        for (keyword, value) in keywords {
            let down = format!("{pointer}/{}", escape(keyword));
            match (keyword.as_str(), value) {
                (it, Json::Object(named)) if NAMED_SCHEMAS.contains(&it) => {
                    for (name, schema) in named {
                        let path = match it {
                            "$defs" | "definitions" => format!("#{name}"),
                            _ => format!("{path}.{name}"),
                        };
                        collect(schema, path, format!("{down}/{}", escape(name)), found);
                    }
                }
                (it, value) if SCHEMAS.contains(&it) => {
                    let path = match it {
                        "items" | "prefixItems" | "contains" => format!("{path}[]"),
                        "additionalProperties" => format!("{path}.*"),
                        _ => path.clone(),
                    };
                    match value {
                        Json::Array(items) => items
                            .iter()
                            .enumerate()
                            .for_each(|(at, item)| collect(item, path.clone(), format!("{down}/{at}"), found)),
                        schema => collect(schema, path, down, found),
                    }
                }
                _ => {}
            }
        }
    }
    let mut found = IndexMap::new();
    collect(root, String::new(), String::new(), &mut found);
    found
}

fn kind(keyword: &str) -> Option<AnnotationKind> {
    match keyword {
        "default" => Some(AnnotationKind::Default),
        it if TEXTS.contains(&it) || it.starts_with("x-") => Some(AnnotationKind::Text),
        it if FORMATS.contains(&it) => Some(AnnotationKind::Format),
        _ => None,
    }
}

/// Returns a schema without annotations, except defaults.
pub(super) fn assertions(schema: &Json) -> Json {
    let mut kept = schema.clone();
    for pointer in subschemas(schema).keys() {
        if let Some(Json::Object(keywords)) = kept.pointer_mut(pointer) {
            keywords.retain(|keyword, _| matches!(kind(keyword), None | Some(AnnotationKind::Default)));
        }
    }
    kept
}

/// Returns all texts and formats in a schema, sorted.
pub(super) fn texts(schema: &Json) -> Vec<String> {
    let subschemas = subschemas(schema);
    let members = subschemas.values().flat_map(|subschema| subschema.keywords);
    let texts = members.filter(|(name, _)| kind(name).is_some_and(|kind| kind != AnnotationKind::Default));
    let mut texts: Vec<String> = texts.map(|(name, value)| format!("{name} {}", value.key())).collect();
    texts.sort_unstable();
    texts
}

#[cfg(test)]
mod tests {
    use super::excerpts;

    #[test]
    fn shows_the_first_difference() {
        let long = "x".repeat(200);
        for (old, new, expected) in [
            ("Adds.", "Adds numbers.", ("Adds.", "Adds numbers.")),
            ("", "ä", ("", "ä")),
            (&format!("{long}a"), &format!("{long}b"), (&format!("…{}a", &long[..24]), &format!("…{}b", &long[..24]))),
            (&format!("a{long}"), "b", (&format!("a{}…", &long[..71]), "b")),
            (&long[..72], &long[..10], (&long[..72], &long[..10])),
        ] {
            let (old, new) = excerpts(old, new);
            assert_eq!((old.as_str(), new.as_str()), expected);
        }
    }
}
