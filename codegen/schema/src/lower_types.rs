//! Lowers the keywords that apply to one JSON type: those that shape a Rust type, and limits.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use serde_json::Number;

use crate::compile;
use crate::dialect::Dialect;
use crate::json::{Json, integer};
use crate::json_types::JsonTypes;
use crate::lower::{Lower, SchemaPath};
use crate::normal::{Array, Bounds, Kind, Length, Object, PatternProperty, Property, Schema};
use crate::text::pattern;

/// The JSON types, in the order of the variants of a schema without `type`.
const TYPES: &[&str] = &["null", "boolean", "number", "string", "array", "object"];

/// The maximum number of values of an `enum`.
const MAX_VALUES: usize = 5_000;
/// The maximum number of named members of an object.
const MAX_PROPERTIES: usize = 20_000;

impl Lower<'_> {
    /// Lowers the assertions of an object, except `$ref` and combinators.
    pub(crate) fn own_assertions(&mut self, keywords: &IndexMap<String, Json>, path: &SchemaPath<'_>) -> Schema {
        let types = self.types(keywords, path);
        let mut kinds = Vec::new();
        let mut constrained = types.len() < TYPES.len() || types.contains(&"integer");
        for name in &types {
            let (kind, is_constrained) = self.one_type(name, keywords, path);
            constrained |= is_constrained;
            kinds.push(Schema::at(&path.pointer, kind));
        }
        let base = if constrained { Kind::union(kinds) } else { Kind::Any };
        let base = Schema::at(&path.pointer, base);
        match self.values(keywords, path) {
            None => base,
            Some(values) => {
                let values = Schema::at(&path.pointer, Kind::Values(values));
                self.and(base, values, path)
            }
        }
    }

    fn types(&mut self, keywords: &IndexMap<String, Json>, path: &SchemaPath<'_>) -> Vec<&'static str> {
        let here = path.down("type");
        let named: Vec<&Json> = match keywords.get("type") {
            None => return TYPES.to_vec(),
            Some(Json::Array(names)) => names.iter().collect(),
            Some(name) => vec![name],
        };
        if named.is_empty() {
            self.problem(&here, "type", "the list is empty", "add a type");
        }
        let mut types = Vec::new();
        for name in named {
            match TYPES.iter().chain(&["integer"]).find(|known| name.as_str() == Some(known)) {
                Some(known) if !types.contains(known) => types.push(*known),
                Some(_) => {}
                None => {
                    let why = format!("{name} is not a JSON type");
                    self.problem(&here, "type", why, format!("use one of integer, {}", TYPES.join(", ")));
                }
            }
        }
        if types.contains(&"number") {
            types.retain(|name| *name != "integer");
        }
        types
    }

    /// Lowers the assertions on values of one type. The flag is `true` if there are any.
    fn one_type(&mut self, name: &str, keywords: &IndexMap<String, Json>, path: &SchemaPath<'_>) -> (Kind, bool) {
        match name {
            "null" => (Kind::Null, false),
            "boolean" => (Kind::Boolean, false),
            "string" => {
                let length = self.length(keywords, "minLength", "maxLength", path);
                let constrained = !length.is_free();
                self.with_checks(Kind::String(length), constrained, JsonTypes::STRING, keywords, path)
            }
            "array" => {
                let (array, constrained) = self.array(keywords, path);
                self.with_checks(Kind::Array(Box::new(array)), constrained, JsonTypes::ARRAY, keywords, path)
            }
            "object" => {
                let (kind, constrained) = self.object(keywords, path);
                self.with_checks(kind, constrained, JsonTypes::OBJECT, keywords, path)
            }
            number => {
                let bounds = self.bounds(keywords, path);
                let constrained = !bounds.is_free();
                let kind = if number == "integer" { Kind::Integer(bounds) } else { Kind::Number(bounds) };
                self.with_checks(kind, constrained, JsonTypes::NUMBER, keywords, path)
            }
        }
    }

    pub(crate) fn count(
        &mut self,
        keywords: &IndexMap<String, Json>,
        keyword: &str,
        path: &SchemaPath<'_>,
    ) -> Option<u64> {
        let number = self.number(keywords, keyword, path)?;
        let count = integer(&number).and_then(|count| u64::try_from(count).ok());
        if count.is_none() {
            let why = format!("expected an integer of at least 0, found {number}");
            self.problem(&path.down(keyword), keyword, why, "write an integer of at least 0");
        }
        count
    }

    fn array(&mut self, keywords: &IndexMap<String, Json>, path: &SchemaPath<'_>) -> (Array, bool) {
        let length = self.length(keywords, "minItems", "maxItems", path);
        let any = Schema::at(&path.pointer, Kind::Any);
        let (list, rest) =
            if self.dialect.has_item_lists() { ("items", "additionalItems") } else { ("prefixItems", "items") };
        let (first, items) = match keywords.get(list) {
            Some(Json::Array(listed)) => {
                let here = path.down(list);
                let listed = listed.iter().enumerate();
                let first = listed.map(|(index, json)| self.schema(json, &here.down(&index.to_string()))).collect();
                let items = keywords.get(rest).map(|json| self.schema(json, &path.down(rest)));
                // Next to a reference, the schemas of the items become a check, so that the reference is kept.
                if is_refinement(keywords) { (Vec::new(), None) } else { (first, items) }
            }
            _ => (Vec::new(), keywords.get("items").map(|json| self.schema(json, &path.down("items")))),
        };
        let constrained = !first.is_empty() || items.is_some() || !length.is_free();
        (Array { first, items: items.unwrap_or(any), length }, constrained)
    }

    fn object(&mut self, keywords: &IndexMap<String, Json>, path: &SchemaPath<'_>) -> (Kind, bool) {
        let additional = match keywords.get("additionalProperties") {
            Some(json) => self.schema(json, &path.down("additionalProperties")),
            None => Schema::at(&path.pointer, Kind::Any),
        };
        let (pattern, additional) = self.pattern_properties(additional, keywords, path);
        let mut object = Object { properties: IndexMap::new(), pattern, additional };
        match keywords.get("properties") {
            None => {}
            Some(Json::Object(members)) if members.len() > MAX_PROPERTIES => {
                let why = format!("{} members are more than the limit of {MAX_PROPERTIES}", members.len());
                self.problem(&path.down("properties"), "properties", why, "use additionalProperties");
            }
            Some(Json::Object(members)) => {
                for (name, json) in members {
                    let mut schema = self.schema(json, &path.down("properties").down(name));
                    if let Some(it) = &object.pattern {
                        match pattern::matches(&it.pattern, name) {
                            Ok(false) => {}
                            Ok(true) => {
                                let note = schema.note.clone();
                                schema = Schema { note, ..self.and(schema, it.schema.clone(), path) };
                            }
                            Err(error) => {
                                let why =
                                    format!("{error}: {} on the member {name:?}", Json::String(it.pattern.clone()));
                                self.problem(path, "patternProperties", why, "simplify the pattern");
                            }
                        }
                    }
                    object.properties.insert(name.clone(), Property { required: false, schema });
                }
            }
            Some(other) => {
                let why = format!("expected an object of schemas, found {}", other.type_name());
                self.problem(&path.down("properties"), "properties", why, "write an object of schemas by name");
            }
        }
        self.required(keywords, &mut object, path);
        let constrained = object.pattern.is_some()
            || ["additionalProperties", "properties", "required"].iter().any(|k| keywords.contains_key(*k));
        (Kind::Object(Box::new(object)), constrained)
    }

    /// Returns the members whose names match a pattern, and the schema of the others. Several patterns become
    /// a check, and the returned schema then allows all other members.
    fn pattern_properties(
        &mut self,
        additional: Schema,
        keywords: &IndexMap<String, Json>,
        path: &SchemaPath<'_>,
    ) -> (Option<PatternProperty>, Schema) {
        let Some(Json::Object(patterns)) = keywords.get("patternProperties") else { return (None, additional) };
        let here = path.down("patternProperties");
        let mut schemas: Vec<Schema> =
            patterns.iter().map(|(name, json)| self.schema(json, &here.down(name))).collect();
        match (shaping_pattern(keywords), schemas.pop()) {
            (Some(pattern), Some(schema)) => {
                (Some(PatternProperty { pattern: pattern.to_owned(), schema }), additional)
            }
            _ if patterns.is_empty() => (None, additional),
            _ => (None, Schema::at(&path.pointer, Kind::Any)),
        }
    }

    fn required(&mut self, keywords: &IndexMap<String, Json>, object: &mut Object, path: &SchemaPath<'_>) {
        let here = path.down("required");
        let names = match keywords.get("required") {
            None => return,
            Some(Json::Array(names)) if names.len() > MAX_PROPERTIES => {
                let why = format!("{} names are more than the limit of {MAX_PROPERTIES}", names.len());
                return self.problem(&here, "required", why, "use additionalProperties");
            }
            Some(Json::Array(names)) => names,
            Some(other) => {
                let why = format!("expected an array of names, found {}", other.type_name());
                return self.problem(&here, "required", why, "write an array of member names");
            }
        };
        for name in names {
            match name.as_str() {
                // A required member without a schema is described by `patternProperties` or `additionalProperties`.
                Some(name) => {
                    let schema = object.schema_of(name).clone();
                    let property = Property { required: true, schema };
                    object.properties.entry(name.to_owned()).or_insert(property).required = true;
                }
                None => {
                    let why = format!("{name} is not the name of a member");
                    self.problem(&here, "required", why, "write an array of member names");
                }
            }
        }
    }

    fn bounds(&mut self, keywords: &IndexMap<String, Json>, path: &SchemaPath<'_>) -> Bounds {
        for keyword in ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"] {
            let is_flag = self.dialect == Dialect::Draft04 && keyword.starts_with("exclusive");
            if !(is_flag && matches!(keywords.get(keyword), Some(Json::Bool(_)))) {
                self.number(keywords, keyword, path);
            }
        }
        compile::bounds(keywords, self.dialect)
    }

    fn number(&mut self, keywords: &IndexMap<String, Json>, keyword: &str, path: &SchemaPath<'_>) -> Option<Number> {
        match keywords.get(keyword)? {
            Json::Number(number) => Some(number.clone()),
            other => {
                let why = format!("expected a number, found {}", other.type_name());
                self.problem(&path.down(keyword), keyword, why, "write a number");
                None
            }
        }
    }

    fn length(&mut self, keywords: &IndexMap<String, Json>, min: &str, max: &str, path: &SchemaPath<'_>) -> Length {
        let (min, max) = (self.count(keywords, min, path), self.count(keywords, max, path));
        Length { min: min.unwrap_or(0), max }
    }

    fn values(&mut self, keywords: &IndexMap<String, Json>, path: &SchemaPath<'_>) -> Option<Vec<Json>> {
        let constant = keywords.get("const").map(|value| vec![value.clone()]);
        let listed = match keywords.get("enum") {
            None => None,
            Some(Json::Array(values)) => {
                if values.len() > MAX_VALUES {
                    let why = format!("{} values are more than the limit of {MAX_VALUES}", values.len());
                    self.problem(&path.down("enum"), "enum", why, "use the type of the values instead");
                    return None;
                }
                let mut seen = BTreeSet::new();
                let distinct: Vec<Json> = values.iter().filter(|value| seen.insert(value.key())).cloned().collect();
                Some(distinct)
            }
            Some(other) => {
                let why = format!("expected an array of values, found {}", other.type_name());
                self.problem(&path.down("enum"), "enum", why, "write an array of values");
                None
            }
        };
        match (constant, listed) {
            (Some(constant), Some(listed)) => {
                Some(constant.into_iter().filter(|value| listed.contains(value)).collect())
            }
            (constant, listed) => constant.or(listed),
        }
    }
}

/// Returns whether the schema only narrows other schemas. Its checks then apply to the whole schema, which keeps the
/// references in it.
pub(crate) fn is_refinement(keywords: &IndexMap<String, Json>) -> bool {
    !keywords.contains_key("type")
        && ["$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf"]
            .iter()
            .any(|keyword| keywords.contains_key(*keyword))
}

/// Returns the pattern of `patternProperties` if it shapes the type: if it is the only one and allows its members.
pub(crate) fn shaping_pattern(keywords: &IndexMap<String, Json>) -> Option<&str> {
    let patterns = keywords.get("patternProperties")?.as_object()?;
    let (pattern, schema) = patterns.first().filter(|_| patterns.len() == 1 && !is_refinement(keywords))?;
    (*schema != Json::Bool(false)).then_some(pattern)
}
