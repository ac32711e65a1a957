//! Lowers the keywords of arrays.

use super::types::Typed;
use super::{Keywords, Lower, Lowered};
use crate::check::Check;
use crate::dialect::Dialect;
use crate::failure::describe;
use crate::json::Json;
use crate::normal::{Array, Kind, Length, Schema};

impl Lower<'_> {
    pub(super) fn array(&mut self, of: Keywords<'_>) -> Typed {
        let length = self.length(of, "minItems", "maxItems");
        let mut expressed: Vec<Check> = Check::of_length(&length, Check::ItemCount).into_iter().collect();
        let mut others = Vec::new();
        let any = Schema::at(of.pointer, Kind::Any);
        let (first, first_checks, rest) = self.items(of);
        let (items, rest) = rest.map(|Lowered { schema, check }| (schema, Box::new(check))).unzip();
        let mut array = Array { first, items: items.unwrap_or_else(|| any.clone()), length };
        if !first_checks.is_empty() || rest.is_some() {
            let check = Check::Items(first_checks, rest);
            // Next to a reference, the schemas of the first items become a check, so that the reference is kept.
            if of.is_refinement() && !array.first.is_empty() {
                array = Array { first: Vec::new(), items: any, ..array };
                others.push(check);
            } else {
                expressed.push(check);
            }
        }
        match of.get("uniqueItems") {
            None | Some(Json::Bool(false)) => {}
            Some(Json::Bool(true)) => others.push(Check::UniqueItems),
            Some(other) => self.expected(of, "uniqueItems", "true or false", describe(other)),
        }
        others.extend(self.contains(of));
        Typed { kind: Kind::Array(Box::new(array)), is_free: expressed.is_empty(), expressed, others }
    }

    /// Lowers `prefixItems`, `items` and `additionalItems`: the schemas of the first items, and that of all others.
    fn items(&mut self, of: Keywords<'_>) -> (Vec<Schema>, Vec<Check>, Option<Lowered>) {
        let has_item_lists = self.dialect.has_item_lists();
        let (list, rest) = if has_item_lists { ("items", "additionalItems") } else { ("prefixItems", "items") };
        let rest = self.subschema(of, rest);
        let (first, checks) = match of.get(list) {
            Some(Json::Array(listed)) => self.list(listed, &of.at(list)),
            // Without a list, `additionalItems` has no effect.
            _ if has_item_lists => return (Vec::new(), Vec::new(), self.subschema(of, list)),
            None => (Vec::new(), Vec::new()),
            Some(other) => {
                self.expected(of, list, "an array of schemas", describe(other));
                (Vec::new(), Vec::new())
            }
        };
        (first, checks, rest)
    }

    /// Lowers `contains`, `minContains` and `maxContains`.
    fn contains(&mut self, of: Keywords<'_>) -> Option<Check> {
        let count = Length { min: self.count(of, "minContains").unwrap_or(1), max: self.count(of, "maxContains") };
        let check = Check::Contains(Box::new(self.subschema(of, "contains")?.check), count);
        Some(match self.dialect {
            // In 2019-09, `contains` does not evaluate items. `not` discards evaluated items.
            Dialect::Draft201909 => Check::Not(Box::new(Check::Not(Box::new(check)))),
            _ => check,
        })
    }
}
