//! The JSON Schema keywords that mcpgen knows.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use crate::dialect::{CONTAINERS, Dialect};

/// Keywords that do not affect which values are accepted. Those starting with `x-` do not either.
const ANNOTATIONS: &[&str] = &[
    // Standard annotations, JSON Hyper-Schema and OpenAPI.
    "title description $comment example examples default deprecated readOnly writeOnly format",
    "contentEncoding contentMediaType contentSchema links",
    // Used as a comment before `$comment` existed.
    "//",
    // For VS Code extensions and other editors.
    "allowComments allowTrailingCommas defaultSnippets deprecationMessage doNotSuggest editPresentation",
    "enumDescriptions enumItemLabels enumNames errorMessage ignoreSync markdownDeprecationMessage markdownDescription",
    "markdownEnumDescriptions meta:enum patternErrorMessage suggestSortText",
    // For TypeScript and Java generators.
    "tsEnumNames tsType existingJavaType javaEnumNames javaInterfaces javaName javaType",
    // Names the member that decides a union.
    "discriminator",
    // Known values of an open enum, as in the Debug Adapter Protocol.
    "_enum",
    // Significant only at the root.
    "$schema",
    // Concerns schemas that use this one as their `$schema`.
    "$vocabulary",
    // Replaced by `$id` in draft-06, but still common.
    "id",
];

/// All other keywords, with the range of [`Dialect::ALL`] that has them.
const ASSERTIONS: &[(Range<usize>, &str)] = &[
    (0..5, "type enum properties required additionalProperties patternProperties items minimum maximum"),
    (0..5, "exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern minItems maxItems uniqueItems"),
    (0..5, "minProperties maxProperties anyOf oneOf allOf not $ref dependencies"),
    (0..4, "additionalItems"),
    (1..5, "$id const contains propertyNames"),
    (2..5, "if then else"),
    (3..5, "dependentRequired dependentSchemas unevaluatedProperties unevaluatedItems minContains maxContains $anchor"),
    (3..4, "$recursiveAnchor $recursiveRef"),
    (4..5, "prefixItems $dynamicAnchor $dynamicRef"),
];

fn is_annotation(keyword: &str) -> bool {
    static NAMES: LazyLock<HashSet<&str>> =
        LazyLock::new(|| ANNOTATIONS.iter().flat_map(|names| names.split(' ')).chain(CONTAINERS).collect());
    NAMES.contains(keyword) || keyword.starts_with("x-")
}

/// Returns whether any dialect has this keyword.
pub fn is_keyword(keyword: &str) -> bool {
    is_annotation(keyword) || dialects_of(keyword).is_some()
}

/// Returns the dialects that have the keyword, or `None` if mcpgen does not implement it.
fn dialects_of(keyword: &str) -> Option<&'static [Dialect]> {
    static DIALECTS: LazyLock<HashMap<&str, &[Dialect]>> = LazyLock::new(|| {
        let rows = ASSERTIONS.iter().map(|(dialects, names)| (&Dialect::ALL[dialects.clone()], names.split(' ')));
        rows.flat_map(|(dialects, names)| names.map(move |name| (name, dialects))).collect()
    });
    DIALECTS.get(keyword).copied()
}

/// Returns why the dialect rejects the keyword, and a remedy. Returns `None` if it accepts the keyword.
pub(crate) fn refusal(keyword: &str, dialect: Dialect) -> Option<(String, String)> {
    let (why, remedy) = match dialects_of(keyword) {
        _ if is_annotation(keyword) => return None,
        Some(since) if since.contains(&dialect) => return None,
        Some(since) => {
            let nearest = if since[0] > dialect { since.first() } else { since.last() }.unwrap_or(&dialect);
            let remedy = format!("write the schema in {nearest} and declare it in `$schema`, or remove it");
            return Some((format!("the dialect {dialect} does not have this keyword"), remedy));
        }
        None if keyword == "nullable" => (
            "mcpgen does not read this keyword of OpenAPI",
            "add \"null\" to `type`, or an alternative of the type `null`, and remove it",
        ),
        None => (
            "mcpgen does not implement this keyword",
            "remove it or, if it is an annotation, name it (`--annotation`, `ReadOptions::annotations`)",
        ),
    };
    Some((why.to_owned(), remedy.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::ANNOTATIONS;

    #[test]
    fn annotations_are_documented() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
        let text = std::fs::read_to_string(path).expect("a page");
        let names = ANNOTATIONS.iter().flat_map(|names| names.split(' '));
        let undocumented: Vec<_> = names.filter(|name| !text.contains(&format!("`{name}`"))).collect();
        assert!(undocumented.is_empty(), "{undocumented:?}");
    }
}
