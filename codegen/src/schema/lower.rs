//! Lowers the keywords of JSON Schema into the normal form of [`crate::schema::normal`]. The grammar is closed: a
//! keyword that is not listed here is an error with its JSON pointer.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use serde_json::Number;

use crate::error::Problem;
use crate::json::pointer::escape;
use crate::json::{Json, integer};
use crate::schema::check::Check;
use crate::schema::compile::{self, Compile};
use crate::schema::dialect::Dialect;
use crate::schema::json_types::JsonTypes;
use crate::schema::normal::{Array, Bounds, Kind, Length, Note, Object, Property, Schema};
use crate::schema::references::{Definition, References};

/// Keywords that do not affect which values are accepted. Keywords that begin with `x-` are annotations, too.
const ANNOTATIONS: &[&str] = &[
    "title",
    "description",
    "$comment",
    "example",
    "examples",
    "default",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "enumDescriptions",
    // The decision of a union is derived from its variants.
    "discriminator",
    // The root determines the dialect.
    "$schema",
];

/// Keywords that contain definitions.
const LOCATIONS: &[&str] = &["$defs", "definitions"];

/// The JSON types, in the order of the variants of a schema without `type`.
const TYPES: &[&str] = &["null", "boolean", "number", "string", "array", "object"];

/// The maximum number of values of an `enum`.
const MAX_VALUES: usize = 5_000;
/// The maximum number of named members of an object.
const MAX_PROPERTIES: usize = 20_000;
/// The maximum number of subschemas. To decide a union, every variant is compared with every other.
const MAX_SUBSCHEMAS: usize = 500;

/// Lowers the schemas of one document.
pub(crate) struct Lower<'a> {
    /// The name of the document in messages.
    pub file: &'a str,
    /// The dialect, which determines whether keywords next to `$ref` apply.
    pub dialect: Dialect,
    /// All definitions, and the targets of references.
    pub references: &'a References<'a>,
    /// The problems found so far.
    pub problems: Vec<Problem>,
    /// The `oneOf`s found so far. They are checked later, when references can be followed.
    pub one_ofs: Vec<OneOf>,
}

/// A `oneOf`. It is lowered like `anyOf`, which is equivalent if the subschemas are disjoint. Otherwise, a check is
/// added.
pub(crate) struct OneOf {
    /// The name of a placeholder for the check. It is replaced when it is known whether the check is needed.
    pub marker: String,
    /// Its subschemas.
    pub subschemas: Vec<Schema>,
    /// The check.
    pub check: Check,
}

/// The definition and the pointer of a schema.
#[derive(Clone)]
pub(super) struct SchemaPath<'a> {
    pub(super) definition: &'a str,
    pub(super) pointer: String,
}

impl SchemaPath<'_> {
    pub(super) fn down(&self, token: &str) -> Self {
        SchemaPath { definition: self.definition, pointer: format!("{}/{}", self.pointer, escape(token)) }
    }
}

impl Lower<'_> {
    /// Lowers one definition.
    pub(crate) fn definition(&mut self, name: &str, definition: &Definition<'_>) -> Schema {
        self.schema(definition.json, &SchemaPath { definition: name, pointer: definition.pointer.clone() })
    }

    pub(super) fn compile(&self) -> Compile<'_> {
        Compile { dialect: self.dialect, references: self.references }
    }

    pub(super) fn problem(
        &mut self,
        path: &SchemaPath<'_>,
        keyword: &str,
        why: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.problems.push(Problem {
            file: self.file.to_owned(),
            definition: path.definition.to_owned(),
            pointer: path.pointer.clone(),
            keyword: keyword.to_owned(),
            why: why.into(),
            remedy: remedy.into(),
        });
    }

    pub(super) fn schema(&mut self, json: &Json, path: &SchemaPath<'_>) -> Schema {
        let keywords = match json {
            Json::Bool(true) => return Schema::at(&path.pointer, Kind::Any),
            Json::Bool(false) => return Schema::at(&path.pointer, Kind::Never),
            Json::Object(keywords) => keywords,
            other => {
                let why = format!("a schema is an object or a boolean, this is {}", other.type_name());
                self.problem(path, "", why, "write a schema here");
                return Schema::any();
            }
        };
        let note = self.note(keywords, path);
        let beside_ref_is_ignored = self.dialect.ignores_beside_ref() && keywords.contains_key("$ref");
        let mut schema = if beside_ref_is_ignored {
            Schema::any()
        } else {
            self.check_keywords(keywords, path);
            self.own_assertions(keywords, path)
        };
        if let Some(target) = keywords.get("$ref") {
            let reference = self.reference(target, path);
            schema = self.and(schema, reference, path);
        }
        if !beside_ref_is_ignored {
            let checks = self.checks(keywords, path);
            if checks.contains(&Check::Nothing) {
                schema = Schema::at(&path.pointer, Kind::Never);
            }
            if !checks.is_empty() {
                let checked = Schema::at(&path.pointer, Kind::Any).checked(checks);
                schema = self.and(schema, checked, path);
            }
            for (keyword, combine) in [("allOf", true), ("anyOf", false), ("oneOf", false)] {
                if let Some(subschemas) = self.subschemas(keywords, keyword, path) {
                    schema = self.combine(schema, subschemas, combine, keyword, (keywords, path));
                }
            }
        }
        Schema { kind: schema.kind, note }
    }

    fn note(&mut self, keywords: &IndexMap<String, Json>, path: &SchemaPath<'_>) -> Note {
        Note {
            pointer: path.pointer.clone(),
            description: keywords.get("description").and_then(Json::as_str).map(str::to_owned),
            default: keywords.get("default").cloned(),
            deprecated: matches!(keywords.get("deprecated"), Some(Json::Bool(true))),
        }
    }

    fn check_keywords(&mut self, keywords: &IndexMap<String, Json>, path: &SchemaPath<'_>) {
        let dialect = self.dialect;
        for keyword in keywords.keys() {
            let key = keyword.as_str();
            let since = keyword_dialects(key);
            let is_annotation = ANNOTATIONS.contains(&key) || LOCATIONS.contains(&key) || key.starts_with("x-");
            if is_annotation || key == dialect.id() || since.is_some_and(|since| since.contains(&dialect)) {
                continue;
            }
            let (why, remedy) = match since {
                Some(_) => (
                    format!("the dialect {dialect} does not have this keyword"),
                    "declare its dialect in `$schema`, or remove it",
                ),
                None => (
                    "mcpgen does not implement this keyword".to_owned(),
                    "use keywords that mcpgen implements, or remove it",
                ),
            };
            self.problem(&path.down(keyword), keyword, why, remedy);
        }
    }

    fn reference(&mut self, target: &Json, path: &SchemaPath<'_>) -> Schema {
        let kind = match self.references.target(&path.pointer) {
            Some(Ok(name)) => Kind::Ref(name.clone()),
            Some(Err(unresolved)) => {
                let unresolved = unresolved.clone();
                self.problem(&path.down("$ref"), "$ref", unresolved.why, unresolved.remedy);
                Kind::Any
            }
            None => {
                let remedy = format!("write \"#/{}/NAME\"", self.dialect.container());
                let why = format!("{target} is not a reference to a definition of this document");
                self.problem(&path.down("$ref"), "$ref", why, remedy);
                Kind::Any
            }
        };
        Schema::at(&path.pointer, kind)
    }

    /// Lowers the subschemas of `allOf`, `anyOf` or `oneOf`.
    fn subschemas(
        &mut self,
        keywords: &IndexMap<String, Json>,
        keyword: &str,
        path: &SchemaPath<'_>,
    ) -> Option<Vec<Schema>> {
        let here = path.down(keyword);
        match keywords.get(keyword)? {
            Json::Array(items) if items.len() > MAX_SUBSCHEMAS => {
                let why = format!("{} subschemas are more than the limit of {MAX_SUBSCHEMAS}", items.len());
                self.problem(&here, keyword, why, "write fewer subschemas");
                None
            }
            Json::Array(items) if !items.is_empty() => {
                Some(items.iter().enumerate().map(|(i, item)| self.schema(item, &here.down(&i.to_string()))).collect())
            }
            Json::Array(_) => {
                self.problem(&here, keyword, "the list is empty", "add a subschema, or write `false`");
                None
            }
            other => {
                let why = format!("expected an array of schemas, found {}", other.type_name());
                self.problem(&here, keyword, why, "write an array of schemas");
                None
            }
        }
    }

    fn combine(
        &mut self,
        base: Schema,
        subschemas: Vec<Schema>,
        all: bool,
        keyword: &str,
        (keywords, path): (&IndexMap<String, Json>, &SchemaPath<'_>),
    ) -> Schema {
        if all {
            return subschemas.into_iter().fold(base, |schema, subschema| self.and(schema, subschema, path));
        }
        let subschemas =
            subschemas.into_iter().map(|subschema| self.and(base.clone(), subschema, path)).collect::<Vec<_>>();
        if keyword == "oneOf"
            && subschemas.len() > 1
            && let Some(check) = self.compile().list(keywords, keyword, &path.pointer)
        {
            // Whether the subschemas are disjoint is known only after all definitions are lowered.
            let marker = format!("{}/oneOf", path.pointer);
            self.one_ofs.push(OneOf { marker: marker.clone(), subschemas: subschemas.clone(), check });
            let union = Schema::at(&path.pointer, Kind::union(subschemas));
            return union.checked(vec![Check::Definition(marker)]);
        }
        Schema::at(&path.pointer, Kind::union(subschemas))
    }

    /// Returns the intersection of two schemas. It is computed later, when references can be followed.
    fn and(&mut self, a: Schema, b: Schema, path: &SchemaPath<'_>) -> Schema {
        match (&a.kind, &b.kind) {
            (Kind::Any, _) => b,
            (_, Kind::Any) => a,
            _ => Schema::at(&path.pointer, Kind::All(vec![a, b])),
        }
    }

    /// Lowers the assertions of an object, except `$ref` and combinators.
    fn own_assertions(&mut self, keywords: &IndexMap<String, Json>, path: &SchemaPath<'_>) -> Schema {
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
                let length = self.length(keywords, "minItems", "maxItems", path);
                let items = match keywords.get("items") {
                    Some(items) if !has_first_items(keywords) => Some(self.schema(items, &path.down("items"))),
                    _ => None,
                };
                let constrained = items.is_some() || !length.is_free();
                let items = items.unwrap_or_else(|| Schema::at(&path.pointer, Kind::Any));
                let kind = Kind::Array(Box::new(Array { items, length }));
                self.with_checks(kind, constrained, JsonTypes::ARRAY, keywords, path)
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

    pub(super) fn count(
        &mut self,
        keywords: &IndexMap<String, Json>,
        keyword: &str,
        path: &SchemaPath<'_>,
    ) -> Option<u64> {
        let number = self.number(keywords, keyword, path)?;
        let count = integer(&number).and_then(|count| u64::try_from(count).ok());
        if count.is_none() {
            let why = format!("{number} is not a count");
            self.problem(&path.down(keyword), keyword, why, "write an integer of at least 0");
        }
        count
    }

    fn object(&mut self, keywords: &IndexMap<String, Json>, path: &SchemaPath<'_>) -> (Kind, bool) {
        let additional = match keywords.get("additionalProperties") {
            Some(json) => {
                let additional = self.schema(json, &path.down("additionalProperties"));
                self.beside_patterns(additional, keywords, path)
            }
            None => Schema::at(&path.pointer, Kind::Any),
        };
        let mut properties = IndexMap::new();
        match keywords.get("properties") {
            None => {}
            Some(Json::Object(members)) if members.len() > MAX_PROPERTIES => {
                let why = format!("{} members are more than the limit of {MAX_PROPERTIES}", members.len());
                self.problem(&path.down("properties"), "properties", why, "use additionalProperties");
            }
            Some(Json::Object(members)) => {
                for (name, json) in members {
                    let schema = self.schema(json, &path.down("properties").down(name));
                    properties.insert(name.clone(), Property { required: false, schema });
                }
            }
            Some(other) => {
                let why = format!("expected an object of schemas, found {}", other.type_name());
                self.problem(&path.down("properties"), "properties", why, "write an object of schemas by name");
            }
        }
        self.required(keywords, &mut properties, &additional, path);
        let constrained = ["additionalProperties", "properties", "required"].iter().any(|k| keywords.contains_key(*k));
        (Kind::Object(Box::new(Object { properties, additional })), constrained)
    }

    /// Returns a schema for the members that `properties` does not name. It also accepts the members that match
    /// `patternProperties`, which `additionalProperties` does not apply to.
    fn beside_patterns(
        &mut self,
        additional: Schema,
        keywords: &IndexMap<String, Json>,
        path: &SchemaPath<'_>,
    ) -> Schema {
        let Some(Json::Object(patterns)) = keywords.get("patternProperties") else { return additional };
        let here = path.down("patternProperties");
        let schemas: Vec<Schema> = patterns.iter().map(|(name, json)| self.schema(json, &here.down(name))).collect();
        match schemas.as_slice() {
            [one] if additional.kind == Kind::Never => one.clone(),
            _ => Schema::at(&path.pointer, Kind::Any),
        }
    }

    fn required(
        &mut self,
        keywords: &IndexMap<String, Json>,
        properties: &mut IndexMap<String, Property>,
        additional: &Schema,
        path: &SchemaPath<'_>,
    ) {
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
                // A required member without a schema is described by `additionalProperties`.
                Some(name) => {
                    properties
                        .entry(name.to_owned())
                        .or_insert_with(|| Property { required: true, schema: additional.clone() })
                        .required = true;
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

/// Returns whether the first items of an array have separate schemas.
pub(super) fn has_first_items(keywords: &IndexMap<String, Json>) -> bool {
    keywords.contains_key("prefixItems") || matches!(keywords.get("items"), Some(Json::Array(_)))
}

/// Returns the dialects that have an assertion keyword, or `None` if mcpgen does not implement it.
fn keyword_dialects(keyword: &str) -> Option<&'static [Dialect]> {
    let all = &Dialect::ALL;
    match keyword {
        "type"
        | "enum"
        | "properties"
        | "required"
        | "additionalProperties"
        | "patternProperties"
        | "items"
        | "minimum"
        | "maximum"
        | "exclusiveMinimum"
        | "exclusiveMaximum"
        | "multipleOf"
        | "minLength"
        | "maxLength"
        | "pattern"
        | "minItems"
        | "maxItems"
        | "uniqueItems"
        | "minProperties"
        | "maxProperties"
        | "anyOf"
        | "oneOf"
        | "allOf"
        | "not"
        | "$ref"
        | "dependencies" => Some(all),
        "additionalItems" => Some(&all[..3]),
        "const" | "contains" | "propertyNames" | "if" | "then" | "else" => Some(&all[1..]),
        "dependentRequired"
        | "dependentSchemas"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "minContains"
        | "maxContains"
        | "$anchor" => Some(&all[2..]),
        "prefixItems" | "$dynamicAnchor" => Some(&all[3..]),
        _ => None,
    }
}
