//! Lowers schemas: one walk over the keywords of a schema yields its normal form and its check. The grammar is closed:
//! a keyword that `keywords` does not list is an error with its JSON pointer.
//!
//! Each keyword is read in one place, which reports its problems: those for one JSON type in `types`, `scalars`, `arrays` and
//! `objects`, those that combine subschemas in `combinators`, and `$ref` here. `annotations` reads what asserts nothing.

mod annotations;
mod arrays;
mod combinators;
mod objects;
mod scalars;
mod types;

use std::fmt;

use indexmap::IndexMap;

use crate::check::{Check, Unevaluated};
use crate::dialect::Dialect;
use crate::document::Document;
use crate::error::Problem;
use crate::json::Json;
use crate::json::pointer::escape;
use crate::keywords::{dialects_of, is_annotation};
use crate::normal::{Kind, Schema};
use crate::references::{Definition, References};

pub(crate) use combinators::OneOf;
use types::Assertions;

/// Lowers the schemas of one document.
pub(crate) struct Lower<'a> {
    document: &'a Document,
    dialect: Dialect,
    references: &'a References<'a>,
    /// The name of the definition that is being lowered.
    definition: &'a str,
    /// The problems found so far.
    pub problems: Vec<Problem>,
    /// The `oneOf`s found so far. They are checked later, when references can be followed.
    pub one_ofs: Vec<OneOf>,
}

/// A schema in both forms.
pub(crate) struct Lowered {
    /// The normal form: types, with the checks that they do not express.
    pub schema: Schema,
    /// The check that holds for exactly the values that the schema accepts.
    pub check: Check,
}

impl Lowered {
    fn at(pointer: &str, kind: Kind, check: Check) -> Self {
        Lowered { schema: Schema::at(pointer, kind), check }
    }
}

/// The keywords of a schema, and its JSON pointer.
#[derive(Clone, Copy)]
struct Keywords<'k> {
    json: &'k IndexMap<String, Json>,
    pointer: &'k str,
}

impl<'k> Keywords<'k> {
    fn get(self, keyword: &str) -> Option<&'k Json> {
        self.json.get(keyword)
    }

    /// Returns the JSON pointer of a keyword.
    fn at(self, keyword: &str) -> String {
        below(self.pointer, keyword)
    }

    /// Returns whether the schema only narrows other schemas. Checks then apply to the whole schema, which keeps the
    /// references in it.
    fn is_refinement(self) -> bool {
        const OTHERS: [&str; 6] = ["$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf"];
        self.get("type").is_none() && OTHERS.iter().any(|keyword| self.get(keyword).is_some())
    }
}

fn below(pointer: &str, token: &str) -> String {
    format!("{pointer}/{}", escape(token))
}

impl<'a> Lower<'a> {
    pub(crate) fn new(document: &'a Document, references: &'a References<'a>) -> Self {
        let dialect = document.dialect;
        Lower { document, dialect, references, definition: "", problems: Vec::new(), one_ofs: Vec::new() }
    }

    /// Lowers one definition.
    pub(crate) fn definition(&mut self, name: &'a str, definition: &Definition<'_>) -> Lowered {
        self.definition = name;
        self.schema(definition.json, &definition.pointer)
    }

    fn schema(&mut self, json: &Json, pointer: &str) -> Lowered {
        let of = match json {
            Json::Bool(true) => return Lowered::at(pointer, Kind::Any, Check::Anything),
            Json::Bool(false) => return Lowered::at(pointer, Kind::Never, Check::Nothing),
            Json::Object(json) => Keywords { json, pointer },
            other => {
                let why = format!("expected a schema (an object or a boolean), found {}", other.type_name());
                self.problem_at(pointer, "", why, "write a schema here");
                return Lowered::at(pointer, Kind::Any, Check::Anything);
            }
        };
        let mut lowered = self.assertions(of);
        lowered.schema.note = annotations::note(of);
        lowered
    }

    /// Lowers the schema that a keyword contains.
    fn subschema(&mut self, of: Keywords<'_>, keyword: &str) -> Option<Lowered> {
        Some(self.schema(of.get(keyword)?, &of.at(keyword)))
    }

    fn assertions(&mut self, of: Keywords<'_>) -> Lowered {
        let references = self.dialect.references().iter();
        let mut references: Vec<Lowered> = references.filter_map(|keyword| self.reference(of, keyword)).collect();
        if self.dialect.ignores_beside_ref()
            && let Some(reference) = references.pop()
        {
            return reference;
        }
        self.refuse_unknown(of);
        let Assertions { mut schema, mut checks, mut untyped } = self.types(of);
        for reference in references {
            schema = and(schema, reference.schema, of.pointer);
            checks.push(reference.check);
        }
        let combinations = self.combinations(of, &mut checks);
        let logic = self.logic(of);
        checks.extend(logic.iter().cloned());
        let mut check = Check::all(checks);
        match ["unevaluatedProperties", "unevaluatedItems"].map(|keyword| self.subschema(of, keyword)) {
            [None, None] => untyped.extend(logic),
            others => {
                let [members, items] = others.map(|lowered| Some(lowered?.check));
                check = Check::Unevaluated(Box::new(Unevaluated { base: check, members, items }));
                untyped.push(check.clone());
            }
        }
        untyped.retain(|check| *check != Check::Anything);
        if untyped.contains(&Check::Nothing) {
            schema = Schema::at(of.pointer, Kind::Never);
        }
        schema = and(schema, Schema::at(of.pointer, Kind::Any).checked(untyped), of.pointer);
        for combination in combinations {
            schema = self.combine(schema, combination, of);
        }
        Lowered { schema, check }
    }

    /// Lowers `$ref`, or another keyword that refers to a schema.
    fn reference(&mut self, of: Keywords<'_>, keyword: &str) -> Option<Lowered> {
        let target = of.get(keyword)?;
        let (why, remedy) = match self.references.target(of.pointer, keyword) {
            Some(Ok(name)) => {
                return Some(Lowered::at(of.pointer, Kind::Ref(name.clone()), Check::Definition(name.clone())));
            }
            Some(Err(unresolved)) => (unresolved.why.clone(), unresolved.remedy.clone()),
            None => (
                format!("{target} is not a reference to a definition of this document"),
                format!("write \"#/{}/NAME\"", self.dialect.container()),
            ),
        };
        self.problem(of, keyword, why, remedy);
        Some(Lowered::at(of.pointer, Kind::Any, Check::Anything))
    }

    /// Reports the keywords that the dialect does not have.
    fn refuse_unknown(&mut self, of: Keywords<'_>) {
        let dialect = self.dialect;
        for keyword in of.json.keys() {
            let since = dialects_of(keyword);
            let is_known = is_annotation(keyword) || since.is_some_and(|since| since.contains(&dialect));
            if is_known || self.document.annotations.contains(keyword) {
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
            self.problem(of, keyword, why, remedy);
        }
    }

    /// Reports a value that a keyword does not allow.
    fn expected(&mut self, of: Keywords<'_>, keyword: &str, expected: &str, found: impl fmt::Display) {
        let why = format!("expected {expected}, found {found}");
        self.problem(of, keyword, why, format!("write {expected}"));
    }

    fn problem(&mut self, of: Keywords<'_>, keyword: &str, why: impl Into<String>, remedy: impl Into<String>) {
        self.problem_at(&of.at(keyword), keyword, why, remedy);
    }

    fn problem_at(&mut self, pointer: &str, keyword: &str, why: impl Into<String>, remedy: impl Into<String>) {
        self.problems.push(Problem {
            file: self.document.file.clone(),
            definition: self.definition.to_owned(),
            pointer: pointer.to_owned(),
            keyword: keyword.to_owned(),
            why: why.into(),
            remedy: remedy.into(),
        });
    }
}

/// Returns the intersection of two schemas. It is computed later, when references can be followed.
fn and(a: Schema, b: Schema, pointer: &str) -> Schema {
    match (a.kind, b.kind) {
        (Kind::Any, kind) => Schema { kind, note: b.note },
        (kind, Kind::Any) => Schema { kind, note: a.note },
        // A list, because the algebra limits the depth.
        (Kind::All(mut schemas), kind) if a.note.pointer == pointer => {
            schemas.push(Schema { kind, note: b.note });
            Schema { kind: Kind::All(schemas), note: a.note }
        }
        (x, y) => {
            let schemas = vec![Schema { kind: x, note: a.note }, Schema { kind: y, note: b.note }];
            Schema::at(pointer, Kind::All(schemas))
        }
    }
}
