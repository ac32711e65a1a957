//! Conservation: checks that every definition has a Rust name, and a known reason if it is not a separate type.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Problem};
use crate::model::{AliasRule, Origin, Protocol, Shape};

/// How a definition is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// As a type of this kind.
    Emitted(&'static str),
    /// As an alias of a type expression.
    Aliased,
    /// As an alias, by this rule.
    Absorbed(&'static str),
}

impl Fate {
    /// Returns the fate of a definition of this shape.
    pub(crate) fn of(shape: &Shape) -> Fate {
        match shape {
            Shape::Core(_) => Fate::Absorbed("core type"),
            Shape::Alias(_, AliasRule::AnyJson) => Fate::Absorbed("any JSON"),
            Shape::Alias(_, AliasRule::Absorbed(_)) => Fate::Absorbed("union absorbed"),
            Shape::Alias(_, AliasRule::Plain) => Fate::Aliased,
            emitted => Fate::Emitted(kind(emitted)),
        }
    }

    /// Returns `emitted`, `aliased` or `absorbed`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Fate::Emitted(_) => "emitted",
            Fate::Aliased => "aliased",
            Fate::Absorbed(_) => "absorbed",
        }
    }

    /// Returns the kind of type or the name of the rule.
    pub(crate) fn detail(self) -> Option<&'static str> {
        match self {
            Fate::Emitted(detail) | Fate::Absorbed(detail) => Some(detail),
            Fate::Aliased => None,
        }
    }
}

/// Returns the kind of a shape in one word.
pub(crate) fn kind(shape: &Shape) -> &'static str {
    match shape {
        Shape::Struct(_) => "struct",
        Shape::Union(_) => "union",
        Shape::Tuple(_) => "tuple",
        Shape::Enum(_) => "enum",
        Shape::OpenEnum(_) => "open enum",
        Shape::Bounded(_) => "bounded",
        Shape::Undecided(_) => "undecided",
        Shape::Alias(..) => "alias",
        Shape::Newtype(_) => "newtype",
        Shape::Core(_) => "core",
        Shape::Never => "never",
    }
}

/// Counts the definitions by fate.
///
/// # Errors
/// [`Error::Schema`] with every definition that has no type, or whose Rust name is not unique. Both are defects of
/// mcpgen.
pub(crate) fn conservation(protocol: &Protocol) -> Result<BTreeMap<Fate, usize>, Error> {
    let mut fates = BTreeMap::new();
    let mut problems = Vec::new();
    let mut lost: BTreeSet<&str> = protocol.facts.keys().map(String::as_str).collect();
    let mut rust_names = BTreeSet::new();
    for def in &protocol.types {
        let is_named = rust_names.insert(&def.rust) && !def.rust.is_empty();
        if def.origin == Origin::Definition {
            let is_expected = lost.remove(def.name.as_str());
            if is_expected && is_named {
                *fates.entry(Fate::of(&def.shape)).or_default() += 1;
                continue;
            }
        } else if is_named {
            continue;
        }
        problems.push(problem(
            protocol,
            &def.name,
            &def.pointer,
            &format!("the Rust name `{}` is not unique", def.rust),
        ));
    }
    problems.extend(lost.into_iter().map(|name| problem(protocol, name, "", "it has no type")));
    if problems.is_empty() { Ok(fates) } else { Err(Error::Schema(problems)) }
}

fn problem(protocol: &Protocol, definition: &str, pointer: &str, why: &str) -> Problem {
    Problem {
        file: protocol.file.clone(),
        definition: definition.to_owned(),
        pointer: pointer.to_owned(),
        keyword: String::new(),
        why: format!("{why}, which is a defect of mcpgen"),
        remedy: "please report this with the schema".to_owned(),
    }
}
