//! Lowers the keywords of JSON Schema into the normal form of [`crate::schema::normal`]. The grammar is closed: a
//! keyword that is not listed here is an error with its JSON pointer.

use std::borrow::Cow;
use std::collections::BTreeSet;

use indexmap::IndexMap;
use serde_json::Number;

use crate::error::Problem;
use crate::json::pointer::{escape, unescape};
use crate::json::{Json, integer};
use crate::schema::document::Dialect;
use crate::schema::normal::{Array, Bound, Bounds, Kind, Length, Note, Object, Property, Schema};

/// Keywords that do not affect what is accepted.
const ANNOTATIONS: &[&str] = &[
    "title",
    "description",
    "$comment",
    "examples",
    "default",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "contentEncoding",
    "contentMediaType",
];

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
    /// All definitions. References are checked against them.
    pub definitions: &'a IndexMap<String, Json>,
    /// The problems found so far.
    pub problems: Vec<Problem>,
    /// The `oneOf`s found so far. They are checked later, when references can be followed.
    pub one_ofs: Vec<OneOf>,
}

/// A `oneOf`. It is read as `anyOf`, which is equivalent if its subschemas are disjoint.
pub(crate) struct OneOf {
    /// The definition that contains it.
    pub definition: String,
    /// Its JSON pointer.
    pub pointer: String,
    /// Its subschemas.
    pub subschemas: Vec<Schema>,
}

/// The definition and the pointer of a schema.
#[derive(Clone)]
struct SchemaPath<'a> {
    definition: &'a str,
    pointer: String,
}

impl SchemaPath<'_> {
    fn down(&self, token: &str) -> Self {
        SchemaPath { definition: self.definition, pointer: format!("{}/{}", self.pointer, escape(token)) }
    }
}

impl Lower<'_> {
    /// Lowers one definition.
    pub(crate) fn definition(&mut self, name: &str, json: &Json) -> Schema {
        let pointer = format!("/{}/{}", self.dialect.container(), escape(name));
        self.schema(json, &SchemaPath { definition: name, pointer })
    }

    fn problem(&mut self, path: &SchemaPath<'_>, keyword: &str, why: impl Into<String>, remedy: impl Into<String>) {
        self.problems.push(Problem {
            file: self.file.to_owned(),
            definition: path.definition.to_owned(),
            pointer: path.pointer.clone(),
            keyword: keyword.to_owned(),
            why: why.into(),
            remedy: remedy.into(),
        });
    }

    fn schema(&mut self, json: &Json, path: &SchemaPath<'_>) -> Schema {
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
        let beside_ref_is_ignored = self.dialect == Dialect::Draft07 && keywords.contains_key("$ref");
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
            for (keyword, combine) in [("allOf", true), ("anyOf", false), ("oneOf", false)] {
                if let Some(subschemas) = self.subschemas(keywords, keyword, path) {
                    schema = self.combine(schema, subschemas, combine, keyword, path);
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
        const ASSERTIONS: &[&str] = &[
            "type",
            "const",
            "enum",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "anyOf",
            "oneOf",
            "allOf",
            "$ref",
        ];
        for keyword in keywords.keys() {
            if !ASSERTIONS.contains(&keyword.as_str()) && !ANNOTATIONS.contains(&keyword.as_str()) {
                self.problem(
                    &path.down(keyword),
                    keyword,
                    "mcpgen does not implement this keyword",
                    "use keywords that mcpgen implements, or remove it",
                );
            }
        }
    }

    fn reference(&mut self, target: &Json, path: &SchemaPath<'_>) -> Schema {
        let prefix = format!("#/{}/", self.dialect.container());
        let name = target
            .as_str()
            .and_then(|target| target.strip_prefix(&prefix))
            .map(|token| unescape(&percent_decoded(token)));
        let kind = match name {
            Some(name) if self.definitions.contains_key(&name) => Kind::Ref(name),
            Some(name) => {
                let why = format!("there is no definition `{name}`{}", self.nearest(&name));
                self.problem(&path.down("$ref"), "$ref", why, "define it, or correct the reference");
                Kind::Any
            }
            None => {
                let remedy = format!("write \"{prefix}NAME\"");
                let why = format!("{target} is not a reference to a definition of this document");
                self.problem(&path.down("$ref"), "$ref", why, remedy);
                Kind::Any
            }
        };
        Schema::at(&path.pointer, kind)
    }

    fn nearest(&self, name: &str) -> String {
        let lower = name.to_lowercase();
        self.definitions
            .keys()
            .find(|candidate| candidate.to_lowercase() == lower)
            .map_or(String::new(), |candidate| format!(" (there is `{candidate}`)"))
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
        path: &SchemaPath<'_>,
    ) -> Schema {
        if all {
            return subschemas.into_iter().fold(base, |schema, subschema| self.and(schema, subschema, path));
        }
        let subschemas =
            subschemas.into_iter().map(|subschema| self.and(base.clone(), subschema, path)).collect::<Vec<_>>();
        if keyword == "oneOf" {
            // With disjoint subschemas, `oneOf` and `anyOf` are the same. That is checked after everything is lowered.
            let definition = path.definition.to_owned();
            self.one_ofs.push(OneOf {
                definition,
                pointer: format!("{}/oneOf", path.pointer),
                subschemas: subschemas.clone(),
            });
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
                (Kind::String(length), constrained)
            }
            "array" => {
                let length = self.length(keywords, "minItems", "maxItems", path);
                let items = keywords.get("items").map(|items| self.schema(items, &path.down("items")));
                let constrained = items.is_some() || !length.is_free();
                let items = items.unwrap_or_else(|| Schema::at(&path.pointer, Kind::Any));
                (Kind::Array(Box::new(Array { items, length })), constrained)
            }
            "object" => self.object(keywords, path),
            number => {
                let bounds = self.bounds(keywords, path);
                let constrained = !bounds.is_free();
                (if number == "integer" { Kind::Integer(bounds) } else { Kind::Number(bounds) }, constrained)
            }
        }
    }

    fn object(&mut self, keywords: &IndexMap<String, Json>, path: &SchemaPath<'_>) -> (Kind, bool) {
        let additional = match keywords.get("additionalProperties") {
            Some(json) => self.schema(json, &path.down("additionalProperties")),
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
        let mut bounds = Bounds::default();
        for (keyword, exclusive, upper) in [
            ("minimum", false, false),
            ("exclusiveMinimum", true, false),
            ("maximum", false, true),
            ("exclusiveMaximum", true, true),
        ] {
            let Some(value) = self.number(keywords, keyword, path) else { continue };
            let bound = Some(Bound { value, exclusive });
            let limit = if upper { Bounds { min: None, max: bound } } else { Bounds { min: bound, max: None } };
            bounds = bounds.and(&limit);
        }
        bounds
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
        let mut limit = |keyword: &str| {
            let number = self.number(keywords, keyword, path)?;
            let count = integer(&number).and_then(|count| u64::try_from(count).ok());
            if count.is_none() {
                let why = format!("{number} is not a count");
                self.problem(&path.down(keyword), keyword, why, "write an integer of at least 0");
            }
            count
        };
        Length { min: limit(min).unwrap_or(0), max: limit(max) }
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

/// Decodes a reference, which is a URI.
fn percent_decoded(text: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(text).decode_utf8().unwrap_or(Cow::Borrowed(text))
}
