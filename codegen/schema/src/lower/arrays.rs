//! Lowers array keywords.

use super::{Keywords, Lower, Lowered, Typed};
use crate::check::Check;
use crate::dialect::Dialect;
use crate::failure::describe;
use crate::json::Json;
use crate::normal::{Array, Kind, Length, Schema};

impl Lower<'_> {
    pub(super) fn array(&mut self, of: Keywords<'_>) -> Typed {
        let any = Schema::at(of.pointer, Kind::Any);
        let length = self.length(of, "minItems", "maxItems");
        let mut expressed = Vec::from_iter(Check::of_length(&length, Check::ItemCount));
        let mut others = Vec::new();
        let (first, checks, rest) = self.items(of);
        let (items, rest) = rest.map(|Lowered { schema, check }| (schema, Box::new(check))).unzip();
        let mut array = Array { first, items: items.unwrap_or_else(|| any.clone()), length };
        if !checks.is_empty() || rest.is_some() {
            let check = Check::Items(checks, rest);
            // Beside a reference, item schemas become a check, so that the reference survives.
            if of.is_refinement() && !array.first.is_empty() {
                array = Array { first: Vec::new(), items: any, ..array };
                others.push(check);
            } else {
                expressed.push(check);
            }
        }
        let unique = self.read(of, "uniqueItems", "true or false", |json| match json {
            Json::Bool(unique) => Some(*unique),
            _ => None,
        });
        others.extend((unique == Some(true)).then_some(Check::UniqueItems));
        others.extend(self.contains(of));
        Typed::new(Kind::Array(Box::new(array)), expressed, others)
    }

    /// Lowers `prefixItems`, `items` and `additionalItems` into leading items and the rest.
    fn items(&mut self, of: Keywords<'_>) -> (Vec<Schema>, Vec<Check>, Option<Lowered>) {
        let has_item_lists = self.dialect.has_item_lists();
        let (list, rest) = if has_item_lists { ("items", "additionalItems") } else { ("prefixItems", "items") };
        let mut rest = self.subschema(of, rest);
        let (first, checks) = match of.get(list) {
            Some(Json::Array(listed)) => self.list(listed, &of.at(list)),
            _ if has_item_lists => {
                // `additionalItems` has no effect unless `items` is a list.
                rest = self.subschema(of, list);
                Default::default()
            }
            None => Default::default(),
            Some(other) => {
                self.expected(of, list, "an array of schemas", describe(other));
                Default::default()
            }
        };
        (first, checks, rest)
    }

    fn contains(&mut self, of: Keywords<'_>) -> Option<Check> {
        let count = Length { min: self.count(of, "minContains").unwrap_or(1), max: self.count(of, "maxContains") };
        let check = Check::Contains(Box::new(self.subschema(of, "contains")?.check), count);
        Some(match self.dialect {
            // In 2019-09, `contains` does not evaluate items. A double `not` discards what was evaluated.
            Dialect::Draft201909 => Check::Not(Box::new(Check::Not(Box::new(check)))),
            _ => check,
        })
    }
}
