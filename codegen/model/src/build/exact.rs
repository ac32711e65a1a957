//! Proves that a decision is exact, or finds a document that it wrongly rejects.

use indexmap::IndexMap;
use mcpgen_schema::JsonTypes;
use mcpgen_schema::algebra::Algebra;
use mcpgen_schema::check::Check;
use mcpgen_schema::containment::{Budget, Scoped, Verdict, contains};
use mcpgen_schema::evaluate::choose;
use mcpgen_schema::guard::{at_path, decided};
use mcpgen_schema::normal::{Array, Bounds, Kind, Length, Object, Property, Schema};

use crate::build::unions::{Conflict, example_of_both};
use crate::decision::{Condition, Decision};

/// Which documents to ignore because nobody would write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conventions {
    /// All documents count.
    None,
    /// Ignores objects that happen to contain another variant's members or tag. Schemas leave objects open so that
    /// later versions can add members, not so that people mix variants.
    Open,
}

const BUDGET: Budget = Budget { steps: 20_000 };

/// Returns two variants that the decision confuses, or `None` if it provably accepts every document that some variant
/// accepts.
pub(super) fn conflict(
    decision: &Decision,
    variants: &[Schema],
    conventions: Conventions,
    algebra: &Algebra<'_>,
) -> Option<Conflict> {
    if is_exact(decision, variants, conventions, algebra) {
        return None;
    }
    let decided = decided(&decision.guards, &variants.iter().map(Schema::to_check).collect::<Vec<_>>());
    let usual: Vec<Check> =
        (0..variants.len()).map(|index| usual(index, decision, variants, conventions, algebra)).collect();
    let all = Check::Any(usual.clone());
    let [large, small] = [&decided, &all].map(|check| Scoped { check, definitions: algebra.checks() });
    let (a, b) = match contains(large, small, BUDGET) {
        Verdict::Proved => return None,
        Verdict::Refuted(document) => (
            usual.iter().position(|check| check.accepts(&document, algebra.checks())).unwrap_or(0),
            choose(&decision.guards, &document).unwrap_or(0),
        ),
        Verdict::Unknown(_) => (0, 1),
    };
    Some(Conflict { a, b, example: example_of_both(&variants[a], &variants[b], algebra) })
}

/// Returns a check for those documents of a variant that `conventions` do not ignore.
fn usual(
    index: usize,
    decision: &Decision,
    variants: &[Schema],
    conventions: Conventions,
    algebra: &Algebra<'_>,
) -> Check {
    let others = decision.guards.iter().filter(|guard| guard.variant != index && conventions == Conventions::Open);
    let usual = others.flat_map(|guard| &guard.when).filter_map(|it| is_usual(it, &variants[index], algebra));
    Check::All([variants[index].to_check()].into_iter().chain(usual).collect())
}

/// Returns a check that rejects documents that satisfy a guard for another variant by accident.
fn is_usual(guard: &Condition, variant: &Schema, algebra: &Algebra<'_>) -> Option<Check> {
    let (path, values) = match guard {
        Condition::Present(path) => (path, None),
        Condition::Value(path, values) => (path, Some(values)),
        Condition::Type(_) | Condition::Absent(_) => return None,
    };
    let unusual = match (said(variant, path, algebra, 0), values) {
        (Said::Nothing, _) => Check::Anything,
        (Said::Something, Some(values)) => Check::Values(values.clone()),
        _ => return None,
    };
    Some(Check::Not(Box::new(at_path(path, unusual))))
}

/// How much a schema says about the value at a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Said {
    /// Nothing, or only that the member is forbidden.
    Nothing,
    /// The member is named, but its values are not listed.
    Something,
    /// The values are listed, or unnamed members have a schema.
    All,
}

/// A schema that nests deeper counts as unknown.
const MAX_DEPTH: u32 = 48;

fn said(schema: &Schema, path: &[String], algebra: &Algebra<'_>, depth: u32) -> Said {
    let Some((name, rest)) = path.split_first() else {
        let is_listed = algebra.follow(schema).is_none_or(|it| matches!(it.unchecked().kind, Kind::Values(_)));
        return if is_listed { Said::All } else { Said::Something };
    };
    let depth = depth + 1;
    match &schema.kind {
        _ if depth > MAX_DEPTH => Said::All,
        Kind::Ref(target) => said(algebra.target(target), path, algebra, depth),
        Kind::Checked(inner, _) => said(inner, path, algebra, depth),
        Kind::Union(variants) | Kind::All(variants) => {
            variants.iter().map(|variant| said(variant, path, algebra, depth)).max().unwrap_or(Said::Nothing)
        }
        Kind::Object(object) => match object.properties.get(name) {
            Some(property) => said(&property.schema, rest, algebra, depth),
            None if matches!(object.schema_of_other(name).kind, Kind::Any | Kind::Never) => Said::Nothing,
            None => Said::All,
        },
        Kind::Array(array) if name == "0" => said(array.schema_of(0), rest, algebra, depth),
        _ => Said::Nothing,
    }
}

/// A quick version of [`conflict`] that proves less. It also holds if a guard selects another variant that accepts the
/// document.
fn is_exact(decision: &Decision, variants: &[Schema], conventions: Conventions, algebra: &Algebra<'_>) -> bool {
    let guards: Vec<Option<Schema>> = decision.guards.iter().map(|guard| guarded(&guard.when)).collect();
    variants.iter().enumerate().all(|(index, variant)| {
        for (guard, schema) in decision.guards.iter().zip(&guards) {
            let is_other = guard.variant != index && conventions == Conventions::Open;
            if is_other && guard.when.iter().any(|it| is_usual(it, variant, algebra).is_some()) {
                continue;
            }
            let Some(schema) = schema else { return false };
            let is_sent_here = algebra.contains(schema, variant);
            let fits = guard.variant == index
                || algebra.disjoint(variant, schema)
                || algebra.contains(&variants[guard.variant], variant);
            if !fits {
                return false;
            }
            // This guard selects all documents of the variant, so later guards do not matter.
            if is_sent_here {
                return true;
            }
        }
        false
    })
}

/// Returns the schema of documents that satisfy a guard, or `None` if the guard tests several members.
fn guarded(when: &[Condition]) -> Option<Schema> {
    let mut all = Vec::new();
    for condition in when {
        let kind = match condition {
            Condition::Type(types) => {
                let kinds = types.each().map(|one| match one {
                    JsonTypes::NULL => Some(Kind::Null),
                    JsonTypes::BOOLEAN => Some(Kind::Boolean),
                    JsonTypes::INTEGER => Some(Kind::Integer(Bounds::default())),
                    JsonTypes::FRACTION => Some(Kind::Number(Bounds::default())),
                    JsonTypes::STRING => Some(Kind::String(Length::default())),
                    JsonTypes::ARRAY => Some(Kind::Array(Box::new(Array {
                        first: Vec::new(),
                        items: Schema::any(),
                        length: Length::default(),
                    }))),
                    _ => Some(object(IndexMap::new())),
                });
                Kind::union(kinds.map(|kind| kind.map(|kind| Schema::at("", kind))).collect::<Option<_>>()?)
            }
            Condition::Value(path, values) => member(path, true, Kind::Values(values.clone()))?,
            Condition::Present(path) => member(path, true, Kind::Any)?,
            Condition::Absent(path) => member(path, false, Kind::Never)?,
        };
        all.push(Schema::at("", kind));
    }
    Some(match all.len() {
        0 => Schema::any(),
        1 => all.remove(0),
        _ => Schema::at("", Kind::All(all)),
    })
}

/// Returns the schema of objects that have a member at the path.
fn member(path: &[String], required: bool, kind: Kind) -> Option<Kind> {
    let (name, rest) = path.split_first()?;
    let kind = if rest.is_empty() { kind } else { member(rest, required, kind)? };
    // `0` may also be an index of an array, so it does not imply an object.
    (name != "0").then(|| {
        let schema = Schema::at("", kind);
        object([(name.clone(), Property { required, schema })].into_iter().collect())
    })
}

fn object(properties: IndexMap<String, Property>) -> Kind {
    Kind::Object(Box::new(Object { properties, pattern: None, additional: Schema::any() }))
}
