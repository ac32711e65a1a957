//! Checks that no definition gets lost. Each definition has a Rust name, and a known reason if it has no separate type.

use std::collections::{BTreeMap, BTreeSet};

use mcpgen_schema::{Error, Problem};

use crate::{AliasRule, Origin, Protocol, Shape};

/// What became of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Outcome {
    /// A type of this kind.
    Emitted(&'static str),
    /// An alias of a type expression.
    Aliased,
    /// An alias, due to this rule.
    Absorbed(&'static str),
}

impl Outcome {
    /// Returns the outcome for a definition with this shape.
    pub fn of(shape: &Shape) -> Outcome {
        match shape {
            Shape::Core(_) => Outcome::Absorbed("core type"),
            Shape::Alias(_, AliasRule::AnyJson) => Outcome::Absorbed("any JSON"),
            Shape::Alias(_, AliasRule::Absorbed(_)) => Outcome::Absorbed("union absorbed"),
            Shape::Alias(_, AliasRule::Plain) => Outcome::Aliased,
            emitted => Outcome::Emitted(emitted.kind()),
        }
    }

    /// Returns `emitted`, `aliased` or `absorbed`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the kind of the type, or the name of the rule.
    pub fn detail(self) -> Option<&'static str> {
        match self {
            Outcome::Emitted(detail) | Outcome::Absorbed(detail) => Some(detail),
            Outcome::Aliased => None,
        }
    }
}

/// Counts definitions by outcome.
///
/// # Errors
/// Returns [`Error::Schema`] with every definition that has no type or no unique Rust name. Either is a bug in mcpgen.
pub fn conservation(protocol: &Protocol) -> Result<BTreeMap<Outcome, usize>, Error> {
    let mut outcomes = BTreeMap::new();
    let mut problems = Vec::new();
    let mut lost: BTreeSet<&str> = protocol.facts.keys().map(String::as_str).collect();
    let mut rust_names = BTreeSet::new();
    for def in protocol.types.iter() {
        let is_named = rust_names.insert(&def.rust) && !def.rust.is_empty();
        if def.origin == Origin::Definition {
            let is_expected = lost.remove(def.name.as_str());
            if is_expected && is_named {
                *outcomes.entry(Outcome::of(&def.shape)).or_default() += 1;
                continue;
            }
        } else if is_named {
            continue;
        }
        let why = format!("the Rust name `{}` is not unique", def.rust);
        problems.push(problem(protocol, &def.name, &def.pointer, &why));
    }
    problems.extend(lost.into_iter().map(|name| problem(protocol, name, "", "it has no type")));
    if problems.is_empty() { Ok(outcomes) } else { Err(Error::Schema(problems)) }
}

fn problem(protocol: &Protocol, definition: &str, pointer: &str, why: &str) -> Problem {
    let why = format!("{why}, which is a defect of mcpgen");
    let problem = Problem::new(&protocol.file, pointer, why, "please report this with the schema");
    Problem { definition: definition.to_owned(), ..problem }
}
