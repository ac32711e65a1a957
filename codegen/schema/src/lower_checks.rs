//! Lowers the keywords that become checks: reports their problems, and compiles them.

use indexmap::IndexMap;
use serde_json::Number;

use crate::check::Check;
use crate::failure::describe;
use crate::json::{Json, compare};
use crate::json_types::JsonTypes;
use crate::lower::{Lower, SchemaPath};
use crate::lower_types::{is_refinement, shaping_pattern};
use crate::normal::{Kind, Schema};
use crate::text::pattern;

impl Lower<'_> {
    /// Adds the checks for one JSON type. Does nothing for a refinement, whose checks [`Self::checks`] returns.
    pub(crate) fn with_checks(
        &mut self,
        kind: Kind,
        constrained: bool,
        of: JsonTypes,
        keywords: &IndexMap<String, Json>,
        path: &SchemaPath<'_>,
    ) -> (Kind, bool) {
        if is_refinement(keywords) {
            return (kind, constrained);
        }
        let checks = self.typed_checks(of, keywords, path);
        let constrained = constrained || !checks.is_empty();
        (Schema::at(&path.pointer, kind).checked(checks).kind, constrained)
    }

    /// Returns the checks for one JSON type.
    fn typed_checks(&self, of: JsonTypes, keywords: &IndexMap<String, Json>, path: &SchemaPath<'_>) -> Vec<Check> {
        let (compile, pointer) = (self.compile(), path.pointer.as_str());
        if of == JsonTypes::STRING {
            return compile.pattern(keywords).into_iter().collect();
        }
        if of == JsonTypes::NUMBER {
            return compile.multiple_of(keywords).into_iter().collect();
        }
        if of == JsonTypes::ARRAY {
            let items = is_refinement(keywords).then(|| self.first_items(keywords, pointer)).flatten();
            return items.into_iter().chain(compile.array(keywords, pointer)).collect();
        }
        let is_check = keywords.contains_key("patternProperties") && shaping_pattern(keywords).is_none();
        let members = is_check.then(|| compile.members(keywords, pointer)).flatten();
        members.into_iter().chain(compile.object(keywords, pointer)).collect()
    }

    /// Returns the check on the items of an array whose first items have separate schemas.
    fn first_items(&self, keywords: &IndexMap<String, Json>, pointer: &str) -> Option<Check> {
        let list = if self.dialect.has_item_lists() { "items" } else { "prefixItems" };
        matches!(keywords.get(list)?, Json::Array(_)).then(|| self.compile().items(keywords, pointer)).flatten()
    }

    /// Returns the checks that do not belong to one JSON type. Reports the problems of all keywords that become checks.
    pub(crate) fn checks(&mut self, keywords: &IndexMap<String, Json>, path: &SchemaPath<'_>) -> Vec<Check> {
        self.check_schemas(keywords, path);
        let mut checks = Vec::new();
        if is_refinement(keywords) {
            for of in [JsonTypes::STRING, JsonTypes::NUMBER, JsonTypes::ARRAY, JsonTypes::OBJECT] {
                checks.extend(self.typed_checks(of, keywords, path));
            }
        }
        if ["unevaluatedProperties", "unevaluatedItems"].iter().any(|keyword| keywords.contains_key(*keyword)) {
            checks.push(self.compile().schema(&Json::Object(keywords.clone()), &path.pointer));
        } else {
            checks.extend(self.compile().logic(keywords, &path.pointer));
        }
        checks.retain(|check| *check != Check::Anything);
        checks
    }

    /// Reports the problems of keywords that become checks.
    fn check_schemas(&mut self, keywords: &IndexMap<String, Json>, path: &SchemaPath<'_>) {
        const SCHEMAS: &[&str] = &[
            "additionalItems",
            "contains",
            "else",
            "if",
            "not",
            "propertyNames",
            "then",
            "unevaluatedItems",
            "unevaluatedProperties",
        ];
        const COUNTS: &[&str] = &["maxContains", "maxProperties", "minContains", "minProperties"];
        for (keyword, value) in keywords {
            let here = path.down(keyword);
            let problem = match (keyword.as_str(), value) {
                (key, json) if SCHEMAS.contains(&key) => {
                    self.schema(json, &here);
                    None
                }
                (key, _) if COUNTS.contains(&key) => {
                    self.count(keywords, key, path);
                    None
                }
                ("pattern", Json::String(text)) => {
                    self.pattern(text, keyword, &here);
                    None
                }
                ("pattern", other) => Some(("a regular expression", other)),
                ("multipleOf", Json::Number(number)) if compare(number, &Number::from(0)).is_gt() => None,
                ("multipleOf", other) => Some(("a number above 0", other)),
                ("uniqueItems", Json::Bool(_)) => None,
                ("uniqueItems", other) => Some(("true or false", other)),
                ("prefixItems", Json::Array(_)) => None,
                ("prefixItems", other) => Some(("an array of schemas", other)),
                (
                    "patternProperties" | "dependentSchemas" | "dependencies" | "dependentRequired",
                    Json::Object(members),
                ) => {
                    for (name, json) in members {
                        if keyword == "patternProperties" {
                            self.pattern(name, keyword, &here);
                        }
                        self.member_schema(keyword, json, &here.down(name));
                    }
                    None
                }
                ("patternProperties" | "dependentSchemas" | "dependencies" | "dependentRequired", other) => {
                    Some(("an object", other))
                }
                _ => None,
            };
            if let Some((expected, found)) = problem {
                let why = format!("expected {expected}, found {}", describe(found));
                self.problem(&here, keyword, why, format!("write {expected}"));
            }
        }
    }

    fn member_schema(&mut self, keyword: &str, json: &Json, path: &SchemaPath<'_>) {
        match json {
            Json::Array(names) if keyword == "dependencies" || keyword == "dependentRequired" => {
                if let Some(name) = names.iter().find(|name| name.as_str().is_none()) {
                    let why = format!("{name} is not the name of a member");
                    self.problem(path, keyword, why, "write an array of member names");
                }
            }
            other if keyword == "dependentRequired" => {
                let why = format!("expected an array of names, found {}", other.type_name());
                self.problem(path, keyword, why, "write an array of member names");
            }
            json => drop(self.schema(json, path)),
        }
    }

    fn pattern(&mut self, text: &str, keyword: &str, path: &SchemaPath<'_>) {
        if let Err(error) = pattern::compile(text) {
            let why = format!(
                "{} cannot be compiled as a regular expression of ECMA-262: {error}",
                Json::String(text.to_owned())
            );
            self.problem(path, keyword, why, "correct the expression");
        }
    }
}
