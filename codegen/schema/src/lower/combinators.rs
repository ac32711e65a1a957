//! Lowers `allOf`, `anyOf`, `oneOf`, `not`, and `if` with `then` and `else`.

use super::{Keywords, Lower, Lowered, and, annotations, below};
use crate::check::Check;
use crate::json::Json;
use crate::normal::{Kind, Schema};

/// The maximum number of subschemas. To decide a union, every variant is compared with every other.
const MAX_SUBSCHEMAS: usize = 500;

/// The subschemas of a combinator.
pub(super) enum Combination {
    All(Vec<Schema>),
    Any(Vec<Schema>),
    /// With the check that exactly one of them accepts the value.
    One(Vec<Schema>, Check),
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

impl Lower<'_> {
    /// Lowers `allOf`, `anyOf` and `oneOf`, and adds their checks.
    pub(super) fn combinations(&mut self, of: Keywords<'_>, checks: &mut Vec<Check>) -> Vec<Combination> {
        let mut combinations = Vec::new();
        if let Some((schemas, all)) = self.subschemas(of, "allOf") {
            combinations.push(Combination::All(schemas));
            checks.push(Check::all(all));
        }
        if let Some((schemas, any)) = self.subschemas(of, "anyOf") {
            combinations.push(Combination::Any(schemas));
            checks.push(Check::any(any));
        }
        if let Some((schemas, one)) = self.subschemas(of, "oneOf") {
            let check = Check::One(one);
            combinations.push(Combination::One(schemas, check.clone()));
            checks.push(check);
        }
        combinations
    }

    fn subschemas(&mut self, of: Keywords<'_>, keyword: &str) -> Option<(Vec<Schema>, Vec<Check>)> {
        match of.get(keyword)? {
            Json::Array(items) if items.len() > MAX_SUBSCHEMAS => {
                let why = format!("{} subschemas are more than the limit of {MAX_SUBSCHEMAS}", items.len());
                self.problem(of, keyword, why, "write fewer subschemas");
            }
            Json::Array(items) if items.is_empty() => {
                self.problem(of, keyword, "the list is empty", "add a subschema, or write `false`");
            }
            Json::Array(items) => return Some(self.list(items, &of.at(keyword))),
            other => self.expected(of, keyword, "an array of schemas", other.type_name()),
        }
        None
    }

    /// Lowers a list of schemas.
    pub(super) fn list(&mut self, schemas: &[Json], pointer: &str) -> (Vec<Schema>, Vec<Check>) {
        let lowered = schemas.iter().enumerate();
        let lowered = lowered.map(|(index, json)| self.schema(json, &below(pointer, &index.to_string())));
        lowered.map(|Lowered { schema, check }| (schema, check)).unzip()
    }

    /// Combines the subschemas of a combinator with the schema of the keywords next to it.
    pub(super) fn combine(&mut self, base: Schema, combination: Combination, of: Keywords<'_>) -> Schema {
        let each = |schemas: Vec<Schema>| -> Vec<Schema> {
            schemas.into_iter().map(|schema| and(base.clone(), schema, of.pointer)).collect()
        };
        match combination {
            Combination::All(schemas) => schemas.into_iter().fold(base, |all, schema| and(all, schema, of.pointer)),
            Combination::One(schemas, check) if schemas.len() > 1 => {
                let subschemas = each(schemas);
                // Whether the subschemas are disjoint is known only after all definitions are lowered.
                let marker = format!("{}/oneOf", of.pointer);
                self.one_ofs.push(OneOf { marker: marker.clone(), subschemas: subschemas.clone(), check });
                let mut union = Schema::at(of.pointer, Kind::union(subschemas));
                union.note.discriminator = annotations::discriminator(of);
                union.checked(vec![Check::Definition(marker)])
            }
            Combination::Any(schemas) | Combination::One(schemas, _) => {
                Schema::at(of.pointer, Kind::union(each(schemas)))
            }
        }
    }

    /// Lowers `not`, and `if` with `then` and `else`.
    pub(super) fn logic(&mut self, of: Keywords<'_>) -> Vec<Check> {
        let [not, condition, then, otherwise] =
            ["not", "if", "then", "else"].map(|keyword| Some(self.subschema(of, keyword)?.check));
        let not = not.map(|check| match check {
            Check::Anything => Check::Nothing,
            Check::Nothing => Check::Anything,
            check => Check::Not(Box::new(check)),
        });
        let condition = condition.map(|condition| {
            let [then, otherwise] = [then, otherwise].map(|branch| branch.unwrap_or(Check::Anything));
            Check::If(Box::new([condition, then, otherwise]))
        });
        not.into_iter().chain(condition).collect()
    }
}
