//! The rules that decide the overlapping unions in our schemas. Written by hand from the schemas alone, as for the
//! official revisions.

use mcpgen_proof::decisions::Guard::{self, Absent, OneOf, Present, Type};
use mcpgen_proof::decisions::{Decision, Member, Rule};

/// Returns the decisions of a schema. A union that is not listed accepts the same documents as its `anyOf`.
#[must_use]
pub fn decisions(schema: &str) -> &'static [Decision] {
    match schema {
        "unions" => UNIONS,
        "names" => NAMES,
        _ => &[],
    }
}

const fn decision(at: &'static str, rules: &'static [Rule]) -> Decision {
    Decision { at, rules }
}

const fn rule(when: &'static [Guard], member: usize) -> Rule {
    Rule { when, member: Member::Nth(member) }
}

const fn otherwise(member: usize) -> Rule {
    rule(&[], member)
}

const UNIONS: &[Decision] = &[
    decision("ShapeOrAnimal", &[rule(&[OneOf("shape", &["circle", "square"])], 0), otherwise(1)]),
    decision("SharedTag", SHARED_TAG),
    decision("OptionalTags", OPTIONAL_TAGS),
    decision("OpenTag", OPEN_TAG),
    decision("TwoKeysOrMap", &[rule(&[Present("a")], 0), otherwise(1)]),
    decision("NestedKey", &[rule(&[Present("items.enum")], 0), otherwise(1)]),
    decision("KeyPresence", &[rule(&[Present("a")], 0), rule(&[Present("b")], 1), otherwise(2)]),
    decision("KeyEven", KEY_EVEN),
    decision("ArraysByFirst", &[rule(&[OneOf("0.shape", &["circle"])], 0), otherwise(1)]),
    decision("OwnKey", &[rule(&[Present("name"), Present("nick")], 1), rule(&[Present("name")], 0), otherwise(2)]),
    decision(
        "AbsorbedAmongOthers",
        &[rule(&[Type("integer")], 3), rule(&[OneOf("shape", &["circle"])], 2), otherwise(0)],
    ),
    decision("RequestOrNotification", &[rule(&[Present("id")], 1), otherwise(0)]),
];

const SHARED_TAG: &[Rule] = &[rule(&[Present("a")], 0), otherwise(1)];

const OPTIONAL_TAGS: &[Rule] = &[
    rule(&[OneOf("mode", &["a"])], 0),
    rule(&[OneOf("mode", &["b"])], 1),
    rule(&[OneOf("mode", &["c"])], 2),
    rule(&[Absent("mode"), Present("x")], 0),
    rule(&[Absent("mode")], 1),
];

const OPEN_TAG: &[Rule] = &[rule(&[OneOf("type", &["text"])], 0), rule(&[OneOf("type", &["image"])], 1), otherwise(2)];

const KEY_EVEN: &[Rule] = &[
    rule(&[Present("method"), Present("id")], 0),
    rule(&[Present("method")], 1),
    rule(&[Present("result")], 2),
    otherwise(3),
];

const NAMES: &[Decision] = &[decision("UnionOfPrelude", UNION_OF_PRELUDE)];

const UNION_OF_PRELUDE: &[Rule] = &[
    rule(&[Type("string")], 2),
    rule(&[Type("array")], 3),
    rule(&[Type("boolean")], 4),
    rule(&[Present("items")], 0),
    otherwise(1),
];
