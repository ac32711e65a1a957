//! The containment test suite of the University of Passau.

use std::collections::BTreeMap;

use mcpgen_schema::containment::Verdict;
use mcpgen_schema::{Dialect, Json};

use super::{SHARED, ask, read, validator};

/// Groups that interpret keywords differently: `format` and the keywords for content are assertions, and `\d` and `\w`
/// match beyond ASCII.
const OTHER_MEANINGS: [&str; 3] = ["/optional/format/", "/optional/content.json", "/optional/unicode.json"];

/// Questions whose expected answer is wrong. The suite derives them from a schema and its negation. In these, the
/// negation keeps `type`, `additionalItems` or `required`, or renames an identifier even inside an `enum`.
const MISTAKES: [&str; 9] = [
    "draft7/nonvalid/ref.json 16",
    "draft7/universal/items.json 6",
    "draft7/universal/ref.json 13",
    "draft7/universal/ref.json 17",
    "draft2020-12/universal/items.json 4",
    "draft2020-12/unsatisfiable/anchor.json 4",
    "draft2020-12/unsatisfiable/id.json 2",
    "draft2020-12/unsatisfiable/ref.json 12",
    "draft2020-12/unsatisfiable/ref.json 15",
];

#[derive(Default)]
struct Row {
    right: usize,
    wrong: usize,
    unknown: usize,
    /// The suite interprets the schema differently, or is wrong.
    differs: usize,
}

#[test]
fn answers_the_published_suite() {
    let mut table: BTreeMap<String, Row> = BTreeMap::new();
    for (file, dialect) in [("draft7.json", Dialect::Draft07), ("draft2020-12.json", Dialect::Draft202012)] {
        let path = format!("{SHARED}/schema-containment/{file}");
        let Ok(text) = std::fs::read_to_string(&path) else {
            println!("SKIPPED: {path} is absent");
            return;
        };
        let Ok(Json::Array(entries)) = Json::parse(&text) else { panic!("{file} is no list") };
        entries.iter().for_each(|entry| answer(entry, dialect, &mut table));
    }
    let mut all = Row::default();
    println!("{:15} {:>6} {:>6} {:>8} {:>8}", "", "right", "wrong", "unknown", "differs");
    for (category, row) in &table {
        println!("{category:15} {:6} {:6} {:8} {:8}", row.right, row.wrong, row.unknown, row.differs);
        all.right += row.right;
        all.wrong += row.wrong;
        all.unknown += row.unknown;
        all.differs += row.differs;
    }
    println!("{:15} {:6} {:6} {:8} {:8}", "all", all.right, all.wrong, all.unknown, all.differs);
    assert_eq!(all.wrong, 0);
    assert!(all.unknown * 50 < all.right, "less than 98 % are decided");
}

fn answer(entry: &Json, dialect: Dialect, table: &mut BTreeMap<String, Row>) {
    let group = entry.get("group").and_then(Json::as_str).expect("a group");
    let name = format!("{group} {}", entry.get("id").expect("an ID"));
    let schemas = ["schema1", "schema2"].map(|key| entry.get(key).expect("a schema"));
    let [a, b] = schemas.map(|schema| read(schema, dialect));
    for (key, [small, large]) in [("s1SubsetEqOfs2", [0, 1]), ("s2SubsetEqOfs1", [1, 0])] {
        let Some(Json::Bool(expected)) = entry.get("tests").and_then(|it| it.get(key)) else { continue };
        let row = table.entry(group.split('/').nth(1).unwrap_or_default().to_owned()).or_default();
        let (Ok(a), Ok(b)) = (&a, &b) else {
            row.unknown += 1;
            continue;
        };
        let sides = [a, b];
        let verdict = ask(sides[large], sides[small]);
        if let Verdict::Refuted(witness) = &verdict {
            let accepts = |side: usize| {
                validator(schemas[side], dialect)
                    .is_none_or(|it| it.is_valid(&super::value(witness)) == (side == small))
            };
            assert!(accepts(small) && accepts(large), "{name}: {witness} is no witness");
        }
        match (verdict, expected) {
            (Verdict::Proved, true) | (Verdict::Refuted(_), false) => row.right += 1,
            (Verdict::Unknown(reason), _) => {
                println!("{name}: {reason}");
                row.unknown += 1;
            }
            _ if MISTAKES.contains(&name.as_str()) || OTHER_MEANINGS.iter().any(|part| group.contains(part)) => {
                row.differs += 1;
            }
            (verdict, _) => {
                println!("{name} {key}: {verdict:?} {entry}");
                row.wrong += 1;
            }
        }
    }
}
