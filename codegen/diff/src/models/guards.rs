//! Finds the variant that a reader's union selects.

use mcpgen_model::{Condition, Content, Decision, Guard, JsonTypes, Protocol, Type};
use mcpgen_schema::json::Json;
use mcpgen_schema::json::pointer::escape;
use mcpgen_schema::text::pattern;

use crate::models::resolved::{Choice, MAX_DEPTH, Resolve, Resolved, types, types_of_resolved};

/// Whether a condition holds for all documents of a type, for none, or perhaps for some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Always,
    Never,
    Perhaps,
}

impl Holds {
    fn and(self, other: Holds) -> Holds {
        match (self, other) {
            (Holds::Never, _) | (_, Holds::Never) => Holds::Never,
            (Holds::Always, Holds::Always) => Holds::Always,
            _ => Holds::Perhaps,
        }
    }

    fn or_apart(all: impl Iterator<Item = Holds>) -> Holds {
        all.reduce(|a, b| if a == b { a } else { Holds::Perhaps }).unwrap_or(Holds::Never)
    }
}

/// Facts about a document that follow from the variant that its sender's union selected.
#[derive(Clone, Debug, Default)]
pub(super) struct DocumentFacts<'d> {
    /// The conditions that hold.
    holding: &'d [Condition],
    /// Lists of conditions. In each list, at least one does not hold.
    failing: Vec<&'d [Condition]>,
}

impl<'d> DocumentFacts<'d> {
    /// Returns the facts for a variant, one for each guard that leads to it.
    pub(super) fn of(decision: Option<&'d Decision>, variant: usize) -> Vec<DocumentFacts<'d>> {
        let Some(Decision { guards, .. }) = decision else { return vec![DocumentFacts::default()] };
        let leading = guards.iter().enumerate().filter(|(_, guard)| guard.variant == variant);
        let facts = leading.map(|(index, guard)| DocumentFacts {
            holding: &guard.when,
            failing: guards[..index].iter().map(|guard| guard.when.as_slice()).collect(),
        });
        facts.collect()
    }
}

/// A variant that a reader's union may select.
#[derive(Debug, PartialEq)]
pub(super) struct Reached<'d> {
    pub(super) variant: usize,
    /// Keys that the document does not have, because otherwise an earlier guard would hold.
    pub(super) without: Vec<&'d str>,
}

/// Returns the variants that a reader's union may select for a document of this type, and whether it may reject the
/// document.
///
/// This assumes that a document has no undeclared member whose name either revision declares. So a key that only the
/// reader's type declares is absent.
pub(super) fn reachable<'d>(
    reader: &Protocol,
    choice: &Choice<'d>,
    sender: &Protocol,
    content: &Type,
    facts: &DocumentFacts<'_>,
) -> (Vec<Reached<'d>>, bool) {
    let mut reached = Vec::new();
    let Some(decision) = choice.decision else {
        let types = types(sender, content, 0);
        let mut taken = JsonTypes::NONE;
        for (index, variant) in choice.variants.iter().enumerate() {
            let theirs = self::types(reader, variant, 0);
            if theirs.intersects(types) {
                reached.push(Reached { variant: index, without: Vec::new() });
            }
            taken = taken | theirs;
        }
        return (reached, !taken.contains(types));
    };
    let mut without = Vec::new();
    for Guard { when, variant } in &decision.guards {
        let refuted = facts.failing.iter().any(|failing| failing.iter().all(|f| when.iter().any(|w| implies(w, f))));
        if refuted {
            continue;
        }
        let each = when.iter().map(|condition| {
            let holds = known(condition, facts).unwrap_or_else(|| holds(sender, content, condition));
            (condition, holds)
        });
        let open: Vec<(&Condition, Holds)> = each.filter(|(_, holds)| *holds != Holds::Always).collect();
        if open.iter().any(|(_, holds)| *holds == Holds::Never) {
            continue;
        }
        reached.push(Reached { variant: *variant, without: without.clone() });
        match open.as_slice() {
            [] => return (reached, false),
            // Documents that reach the next guard do not have the key.
            [(Condition::Present(path), _)] if path.len() == 1 => without.push(path[0].as_str()),
            _ => {}
        }
    }
    (reached, true)
}

/// Returns whether a condition holds, if the facts alone decide it.
fn known(condition: &Condition, facts: &DocumentFacts<'_>) -> Option<Holds> {
    if facts.holding.iter().any(|fact| implies(fact, condition)) {
        return Some(Holds::Always);
    }
    let refuted = facts.holding.iter().any(|fact| excludes(fact, condition))
        || facts.failing.iter().any(|failing| matches!(failing, [only] if implies(condition, only)));
    refuted.then_some(Holds::Never)
}

/// Returns whether the first condition implies the second.
fn implies(one: &Condition, other: &Condition) -> bool {
    match (one, other) {
        (Condition::Type(a), Condition::Type(b)) => b.contains(*a),
        (Condition::Value(a, few), Condition::Value(b, many)) => a == b && few.iter().all(|value| many.contains(value)),
        (Condition::Value(a, _), Condition::Present(b)) => a == b,
        (one, other) => one == other,
    }
}

/// Returns whether the two conditions exclude each other.
fn excludes(one: &Condition, other: &Condition) -> bool {
    match (one, other) {
        (Condition::Type(a), Condition::Type(b)) => !a.intersects(*b),
        (Condition::Value(a, these), Condition::Value(b, those)) => {
            a == b && !these.iter().any(|value| those.contains(value))
        }
        (Condition::Present(a) | Condition::Value(a, _), Condition::Absent(b))
        | (Condition::Absent(a), Condition::Present(b) | Condition::Value(b, _)) => a == b,
        _ => false,
    }
}

/// Returns whether a condition holds for the documents of a type.
fn holds(protocol: &Protocol, content: &Type, condition: &Condition) -> Holds {
    match condition {
        Condition::Type(wanted) => match types(protocol, content, 0) {
            types if !wanted.intersects(types) => Holds::Never,
            types if wanted.contains(types) => Holds::Always,
            _ => Holds::Perhaps,
        },
        Condition::Present(path) => at(protocol, protocol.resolved(content), path, None, 0),
        Condition::Absent(path) => match at(protocol, protocol.resolved(content), path, None, 0) {
            Holds::Always => Holds::Never,
            Holds::Never => Holds::Always,
            Holds::Perhaps => Holds::Perhaps,
        },
        Condition::Value(path, values) => at(protocol, protocol.resolved(content), path, Some(values), 0),
    }
}

/// Returns whether there is a value at the path, and if `values` is given, whether it is one of these.
fn at(protocol: &Protocol, resolved: Resolved<'_>, path: &[String], values: Option<&[Json]>, depth: usize) -> Holds {
    if depth > MAX_DEPTH {
        return Holds::Perhaps;
    }
    let down = |content: &Type, path: &[String]| at(protocol, protocol.resolved(content), path, values, depth + 1);
    if let Resolved::Union(choice) = &resolved {
        return Holds::or_apart(choice.variants.iter().map(|variant| down(variant, path)));
    }
    let Some((step, rest)) = path.split_first() else {
        return values.map_or(Holds::Always, |values| is_one_of(&resolved, values));
    };
    match resolved {
        Resolved::Any => Holds::Perhaps,
        // A key that the type does not declare is assumed to be absent, as described at `reachable`.
        Resolved::Object(object) => match object.members.iter().find(|member| member.wire == *step) {
            None if object.pattern.is_some_and(|it| pattern::matches(&it.pattern, step) != Ok(false)) => Holds::Perhaps,
            None => Holds::Never,
            Some(member) => {
                let inside = match &member.content {
                    Content::Constant(value) => {
                        at(protocol, Resolved::Values(vec![value.clone()]), rest, values, depth + 1)
                    }
                    Content::Value(content) => down(content, rest),
                };
                inside.and(if member.required { Holds::Always } else { Holds::Perhaps })
            }
        },
        Resolved::List(items, length) if step == "0" => {
            down(items, rest).and(if length.min > 0 { Holds::Always } else { Holds::Perhaps })
        }
        Resolved::Tuple(tuple) => match step.parse::<usize>().ok().and_then(|index| tuple.first.get(index)) {
            Some(item) => down(&item.content, rest),
            None => Holds::Perhaps,
        },
        Resolved::Values(fixed) => Holds::or_apart(fixed.iter().map(|value| {
            let pointer: String = path.iter().map(|step| format!("/{}", escape(step))).collect();
            match (value.pointer(&pointer), values) {
                (None, _) => Holds::Never,
                (Some(_), None) => Holds::Always,
                (Some(found), Some(values)) if values.contains(found) => Holds::Always,
                _ => Holds::Never,
            }
        })),
        _ => Holds::Never,
    }
}

fn is_one_of(resolved: &Resolved<'_>, values: &[Json]) -> Holds {
    match resolved {
        Resolved::Values(found) => {
            Holds::or_apart(found.iter().map(|value| if values.contains(value) { Holds::Always } else { Holds::Never }))
        }
        resolved => match values.iter().any(|value| types_of_resolved(resolved).contains(JsonTypes::of(value))) {
            true => Holds::Perhaps,
            false => Holds::Never,
        },
    }
}
