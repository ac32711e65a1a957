//! Lowers schemas: a single walk over the keywords yields the normal form and the check. Any keyword that `keywords`
//! does not list is an error with its JSON pointer, unless the caller declared it as an annotation.
//!
//! Each keyword is read, and its problems are reported, in one place: `type`, `enum` and `const` in `types`; keywords
//! of one JSON type in `scalars`, `arrays` and `objects`; `allOf`, `not`, `if` and the like in `combinators`; `$ref`
//! and `unevaluated…` here. `annotations` reads the keywords that assert nothing.

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
use crate::failure::describe;
use crate::json::Json;
use crate::json::pointer::escape;
use crate::keywords::refusal;
use crate::normal::{Kind, Schema};
use crate::references::{Definition, References};

/// All later stages recurse into schemas, so their nesting is limited.
const MAX_NESTED: usize = 48;

pub(crate) struct Lower<'a> {
    document: &'a Document,
    dialect: Dialect,
    references: &'a References<'a>,
    definition: &'a str,
    depth: usize,
    pub problems: Vec<Problem>,
    /// Settled later, when references can be followed.
    pub one_ofs: Vec<OneOf>,
}

pub(crate) struct Lowered {
    /// The normal form: types, and checks for everything that types cannot express.
    pub schema: Schema,
    /// A check equivalent to the whole schema.
    pub check: Check,
}

impl Lowered {
    fn at(pointer: &str, kind: Kind, check: Check) -> Self {
        Lowered { schema: Schema::at(pointer, kind), check }
    }
}

/// A `oneOf`, lowered as `anyOf`. That is equivalent if the subschemas are disjoint; otherwise `check` is added.
pub(crate) struct OneOf {
    /// The name of the placeholder check in the lowered schema.
    pub marker: String,
    pub subschemas: Vec<Schema>,
    pub check: Check,
}

struct Typed {
    kind: Kind,
    /// Whether no keyword affects the kind.
    is_free: bool,
    /// Assertions that `kind` expresses.
    expressed: Vec<Check>,
    /// Assertions that `kind` cannot express.
    others: Vec<Check>,
}

impl Typed {
    fn new(kind: Kind, expressed: impl IntoIterator<Item = Check>, others: impl IntoIterator<Item = Check>) -> Self {
        let (expressed, others) = (Vec::from_iter(expressed), Vec::from_iter(others));
        Typed { kind, is_free: expressed.is_empty(), expressed, others }
    }
}

#[derive(Clone, Copy)]
struct Keywords<'k> {
    json: &'k IndexMap<String, Json>,
    pointer: &'k str,
}

impl<'k> Keywords<'k> {
    fn get(self, keyword: &str) -> Option<&'k Json> {
        self.json.get(keyword)
    }

    fn at(self, keyword: &str) -> String {
        below(self.pointer, keyword)
    }

    /// Returns whether the schema only narrows the schemas that it references or combines. Its checks are then added to
    /// theirs, so that references survive.
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
        Lower { document, dialect, references, definition: "", depth: 0, problems: Vec::new(), one_ofs: Vec::new() }
    }

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
        if self.depth == MAX_NESTED {
            let why = format!("schemas are nested more than {MAX_NESTED} levels deep");
            self.problem_at(pointer, "", why, "move inner schemas to definitions");
            return Lowered::at(pointer, Kind::Any, Check::Anything);
        }
        self.depth += 1;
        let mut lowered = self.assertions(of);
        self.depth -= 1;
        lowered.schema.note = of.note();
        lowered
    }

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
        // `checks` gets all assertions. `untyped` gets those that `schema` does not express yet.
        let (mut checks, mut untyped) = (Vec::new(), Vec::new());
        let mut schema = self.types(of, &mut checks, &mut untyped);
        for reference in references {
            schema = and(schema, reference.schema, of.pointer);
            checks.push(reference.check);
        }
        let [(all_of, all), (any_of, any), (one_of, one)] =
            ["allOf", "anyOf", "oneOf"].map(|keyword| self.subschemas(of, keyword).unzip());
        let (one, logic) = (one.map(Check::One), self.logic(of));
        checks.extend(all.map(Check::all).into_iter().chain(any.map(Check::any)).chain(one.clone()));
        checks.extend(logic.iter().cloned());
        let mut check = Check::all(checks);
        match ["unevaluatedProperties", "unevaluatedItems"].map(|keyword| self.subschema(of, keyword)) {
            [None, None] => untyped.extend(logic),
            others => {
                let [members, items] = others.map(|lowered| Some(lowered?.check));
                // All other checks affect what is unevaluated, so the schema needs them too.
                check = Check::Unevaluated(Box::new(Unevaluated { base: check, members, items }));
                untyped.push(check.clone());
            }
        }
        untyped.retain(|check| *check != Check::Anything);
        if untyped.contains(&Check::Nothing) {
            schema = Schema::at(of.pointer, Kind::Never);
        }
        schema = and(schema, Schema::at(of.pointer, Kind::Any).checked(untyped), of.pointer);
        let each = |base: &Schema, schemas: Vec<Schema>| -> Vec<Schema> {
            schemas.into_iter().map(|schema| and(base.clone(), schema, of.pointer)).collect()
        };
        schema = all_of.into_iter().flatten().fold(schema, |all, schema| and(all, schema, of.pointer));
        if let Some(schemas) = any_of {
            schema = Schema::at(of.pointer, Kind::union(each(&schema, schemas)));
        }
        if let (Some(schemas), Some(check)) = (one_of, one) {
            schema = self.one_of(each(&schema, schemas), check, of);
        }
        Lowered { schema, check }
    }

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

    fn refuse_unknown(&mut self, of: Keywords<'_>) {
        for keyword in of.json.keys().filter(|keyword| !self.document.annotations.contains(keyword)) {
            if let Some((why, remedy)) = refusal(keyword, self.dialect) {
                self.problem(of, keyword, why, remedy);
            }
        }
    }

    /// Reads a keyword's value. Reports a problem if `read` rejects it.
    fn read<'k, T>(
        &mut self,
        of: Keywords<'k>,
        keyword: &str,
        expected: &str,
        read: impl FnOnce(&'k Json) -> Option<T>,
    ) -> Option<T> {
        let value = of.get(keyword)?;
        let read = read(value);
        if read.is_none() {
            self.expected(of, keyword, expected, describe(value));
        }
        read
    }

    fn expected(&mut self, of: Keywords<'_>, keyword: &str, expected: &str, found: impl fmt::Display) {
        let why = format!("expected {expected}, found {found}");
        self.problem(of, keyword, why, format!("write {expected}"));
    }

    fn problem(&mut self, of: Keywords<'_>, keyword: &str, why: impl Into<String>, remedy: impl Into<String>) {
        self.problem_at(&of.at(keyword), keyword, why, remedy);
    }

    fn problem_at(&mut self, pointer: &str, keyword: &str, why: impl Into<String>, remedy: impl Into<String>) {
        let problem = Problem::new(&self.document.file, pointer, why, remedy);
        let (definition, keyword) = (self.definition.to_owned(), keyword.to_owned());
        self.problems.push(Problem { definition, keyword, ..problem });
    }
}

/// Returns the intersection of two schemas. It is computed later, once references can be followed.
fn and(a: Schema, b: Schema, pointer: &str) -> Schema {
    match (a.kind, b.kind) {
        (Kind::Any, kind) => Schema { kind, note: b.note },
        (kind, Kind::Any) => Schema { kind, note: a.note },
        // The list stays flat, because the algebra limits nesting.
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
