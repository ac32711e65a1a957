//! Lowers the keywords of JSON Schema into the normal form of [`crate::normal`]. The grammar is closed: a
//! keyword that `keywords` does not list is an error with its JSON pointer.

use indexmap::IndexMap;

use crate::check::Check;
use crate::compile::Compile;
use crate::dialect::Dialect;
use crate::error::Problem;
use crate::json::Json;
use crate::json::pointer::{escape, unescape};
use crate::keywords::{dialects_of, is_annotation};
use crate::normal::{Discriminator, Kind, Note, Schema};
use crate::references::{Definition, References};

/// The maximum number of known values of an open enumeration.
const MAX_KNOWN_VALUES: usize = 1_000;
/// The maximum number of subschemas. To decide a union, every variant is compared with every other.
const MAX_SUBSCHEMAS: usize = 500;

/// Lowers the schemas of one document.
pub(crate) struct Lower<'a> {
    /// The name of the document in messages.
    pub file: &'a str,
    /// The dialect, which determines whether keywords next to `$ref` apply.
    pub dialect: Dialect,
    /// Keywords that the caller declares to be annotations.
    pub annotations: &'a [String],
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
pub(crate) struct SchemaPath<'a> {
    pub definition: &'a str,
    pub pointer: String,
}

impl SchemaPath<'_> {
    pub(crate) fn down(&self, token: &str) -> Self {
        SchemaPath { definition: self.definition, pointer: format!("{}/{}", self.pointer, escape(token)) }
    }
}

impl Lower<'_> {
    /// Lowers one definition.
    pub(crate) fn definition(&mut self, name: &str, definition: &Definition<'_>) -> Schema {
        self.schema(definition.json, &SchemaPath { definition: name, pointer: definition.pointer.clone() })
    }

    pub(crate) fn compile(&self) -> Compile<'_> {
        Compile { dialect: self.dialect, references: self.references }
    }

    pub(crate) fn problem(
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

    pub(crate) fn schema(&mut self, json: &Json, path: &SchemaPath<'_>) -> Schema {
        let keywords = match json {
            Json::Bool(true) => return Schema::at(&path.pointer, Kind::Any),
            Json::Bool(false) => return Schema::at(&path.pointer, Kind::Never),
            Json::Object(keywords) => keywords,
            other => {
                let why = format!("expected a schema (an object or a boolean), found {}", other.type_name());
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
        for keyword in self.dialect.references() {
            if let Some(target) = keywords.get(*keyword) {
                let reference = self.reference(keyword, target, path);
                schema = self.and(schema, reference, path);
            }
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
            known_values: known_values(keywords),
            discriminator: keywords.get("discriminator").and_then(discriminator),
        }
    }

    fn check_keywords(&mut self, keywords: &IndexMap<String, Json>, path: &SchemaPath<'_>) {
        let dialect = self.dialect;
        for keyword in keywords.keys() {
            let since = dialects_of(keyword);
            let is_known = is_annotation(keyword) || since.is_some_and(|since| since.contains(&dialect));
            if is_known || self.annotations.contains(keyword) {
                continue;
            }
            let (why, remedy) = match since {
                Some(since) => {
                    let nearest = if since[0] > dialect { since.first() } else { since.last() }.unwrap_or(&dialect);
                    let remedy = format!("write the schema in {nearest} and declare it in `$schema`, or remove it");
                    (format!("the dialect {dialect} does not have this keyword"), remedy)
                }
                None if keyword == "nullable" => (
                    "mcpgen does not read this keyword of OpenAPI".to_owned(),
                    "add \"null\" to `type`, or an alternative of the type `null`, and remove it".to_owned(),
                ),
                None => (
                    "mcpgen does not implement this keyword".to_owned(),
                    "remove it or, if it is an annotation, name it (`--annotation`, `ReadOptions::annotations`)"
                        .to_owned(),
                ),
            };
            self.problem(&path.down(keyword), keyword, why, remedy);
        }
    }

    fn reference(&mut self, keyword: &str, target: &Json, path: &SchemaPath<'_>) -> Schema {
        let kind = match self.references.target(&path.pointer, keyword) {
            Some(Ok(name)) => Kind::Ref(name.clone()),
            Some(Err(unresolved)) => {
                let unresolved = unresolved.clone();
                self.problem(&path.down(keyword), keyword, unresolved.why, unresolved.remedy);
                Kind::Any
            }
            None => {
                let remedy = format!("write \"#/{}/NAME\"", self.dialect.container());
                let why = format!("{target} is not a reference to a definition of this document");
                self.problem(&path.down(keyword), keyword, why, remedy);
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
            let mut union = Schema::at(&path.pointer, Kind::union(subschemas));
            union.note.discriminator = keywords.get("discriminator").and_then(discriminator);
            return union.checked(vec![Check::Definition(marker)]);
        }
        Schema::at(&path.pointer, Kind::union(subschemas))
    }

    /// Returns the intersection of two schemas. It is computed later, when references can be followed.
    pub(crate) fn and(&mut self, a: Schema, b: Schema, path: &SchemaPath<'_>) -> Schema {
        match (a.kind, b.kind) {
            (Kind::Any, kind) => Schema { kind, note: b.note },
            (kind, Kind::Any) => Schema { kind, note: a.note },
            // A list, because the algebra limits the depth.
            (Kind::All(mut schemas), kind) if a.note.pointer == path.pointer => {
                schemas.push(Schema { kind, note: b.note });
                Schema { kind: Kind::All(schemas), note: a.note }
            }
            (x, y) => {
                let schemas = vec![Schema { kind: x, note: a.note }, Schema { kind: y, note: b.note }];
                Schema::at(&path.pointer, Kind::All(schemas))
            }
        }
    }
}

/// Returns the strings of `_enum`.
fn known_values(keywords: &IndexMap<String, Json>) -> Vec<String> {
    let Some(Json::Array(values)) = keywords.get("_enum") else { return Vec::new() };
    let mut known: Vec<String> = Vec::new();
    for value in values.iter().filter_map(Json::as_str).take(MAX_KNOWN_VALUES) {
        if !known.iter().any(|other| other == value) {
            known.push(value.to_owned());
        }
    }
    known
}

/// Reads a `discriminator`, as OpenAPI defines it.
fn discriminator(json: &Json) -> Option<Discriminator> {
    let property = json.get("propertyName")?.as_str()?.to_owned();
    let mapping = json.get("mapping").and_then(Json::as_object).into_iter().flatten();
    let mapping = mapping.filter_map(|(value, target)| {
        let name = target.as_str()?.rsplit(['/', '#']).next()?;
        Some((value.clone(), unescape(name)))
    });
    Some(Discriminator { property, mapping: mapping.collect() })
}
