//! Lowers `allOf`, `anyOf`, `oneOf`, `not`, and `if` with `then` and `else`.

use super::{Keywords, Lower, Lowered, OneOf, below};
use crate::check::Check;
use crate::json::Json;
use crate::normal::{Kind, Schema};

/// To decide a union, every variant is compared with every other, so their number must be limited.
const MAX_SUBSCHEMAS: usize = 500;

impl Lower<'_> {
    pub(super) fn subschemas(&mut self, of: Keywords<'_>, keyword: &str) -> Option<(Vec<Schema>, Vec<Check>)> {
        match of.get(keyword)? {
            Json::Array(items) if items.len() > MAX_SUBSCHEMAS => {
                let why = format!("{} subschemas exceed the limit of {MAX_SUBSCHEMAS}", items.len());
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

    pub(super) fn list(&mut self, schemas: &[Json], pointer: &str) -> (Vec<Schema>, Vec<Check>) {
        let lowered = schemas.iter().enumerate();
        let lowered = lowered.map(|(index, json)| self.schema(json, &below(pointer, &index.to_string())));
        lowered.map(|Lowered { schema, check }| (schema, check)).unzip()
    }

    /// Lowers `oneOf` as `anyOf` plus a placeholder check. Whether the check is needed depends on whether the
    /// subschemas are disjoint, which is known only once all definitions are lowered.
    pub(super) fn one_of(&mut self, subschemas: Vec<Schema>, check: Check, of: Keywords<'_>) -> Schema {
        let mut union = Schema::at(of.pointer, Kind::union(subschemas.clone()));
        if subschemas.len() == 1 {
            return union;
        }
        union.note.discriminator = of.discriminator();
        let marker = format!("{}/oneOf", of.pointer);
        self.one_ofs.push(OneOf { marker: marker.clone(), subschemas, check });
        union.checked(vec![Check::Definition(marker)])
    }

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
