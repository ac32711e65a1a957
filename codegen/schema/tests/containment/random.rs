//! Random pairs of schemas, built from pieces of the official JSON Schema test suite. An independent validator checks
//! the verdicts on the suite's documents and on the witnesses.

use std::collections::{BTreeSet, HashSet};

use mcpgen_schema::containment::{Budget, Verdict, contains};
use mcpgen_schema::{Checks, Dialect, Json};

use super::{SHARED, read, validator, value};

const DIALECT: Dialect = Dialect::Draft202012;

/// A schema from the suite, or a variation of one.
struct Fragment {
    json: Json,
    validator: jsonschema::Validator,
    /// Which of the documents it accepts.
    accepted: Vec<bool>,
    /// The index of the fragment that it was derived from.
    origin: usize,
}

enum Composed {
    Fragment(usize),
    Not(Box<Composed>),
    Several(&'static str, Vec<Composed>),
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }
}

#[derive(Default)]
struct Figures {
    proved: usize,
    refuted: usize,
    unknown: usize,
}

#[test]
fn agrees_with_a_published_validator() {
    let Some((schemas, mut documents)) = suite() else {
        println!("SKIPPED: {SHARED}/json-schema-test-suite is absent");
        return;
    };
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let pairs =
        number("MCPGEN_PAIRS").unwrap_or(if std::env::var_os("MCPGEN_THOROUGH").is_some() { 20_000 } else { 200 });
    let mut random = Random(number("MCPGEN_SEED").unwrap_or(1) as u64 * 0x9e37_79b9_7f4a_7c15);
    let mut fragments = fragments(&schemas, &documents, &mut random);
    let mut figures = Figures::default();
    let mut witnesses = BTreeSet::new();
    // The first witnesses become additional documents.
    for index in 0..pairs {
        let witness = check(&fragments, &mut random, &mut figures);
        witnesses.extend(witness.map(|witness| witness.to_string()));
        if index == pairs / 20 {
            let more = std::mem::take(&mut witnesses).into_iter().take(500);
            let more: Vec<Json> = more.map(|text| Json::parse(&text).expect("JSON")).collect();
            for fragment in &mut fragments {
                fragment.accepted.extend(more.iter().map(|document| fragment.validator.is_valid(&value(document))));
            }
            documents.extend(more);
        }
    }
    let Figures { proved, refuted, unknown } = figures;
    println!(
        "{} fragments, {} documents: {proved} proved, {refuted} refuted, {unknown} unknown",
        fragments.len(),
        documents.len()
    );
    assert!(unknown * 20 < pairs, "less than 95 % are decided");
}

/// Checks one pair and returns its witness.
fn check(fragments: &[Fragment], random: &mut Random, figures: &mut Figures) -> Option<Json> {
    let small = random.below(fragments.len());
    let large = match random.below(2) {
        0 => random.below(fragments.len()),
        _ => {
            // Prefer a variation of the same schema: the verdict is less obvious.
            let alike: Vec<usize> =
                (0..fragments.len()).filter(|index| fragments[*index].origin == fragments[small].origin).collect();
            alike[random.below(alike.len())]
        }
    };
    let [small, large] = [small, large].map(|index| compose(index, fragments, random, 2));
    let [a, b] = [&small, &large].map(|it| it.json(fragments));
    let [Ok(of_small), Ok(of_large)] = [&a, &b].map(|json| read(json, DIALECT)) else { return None };
    match ask(&of_large, &of_small) {
        Verdict::Proved => {
            figures.proved += 1;
            let both = small.accepted(fragments).into_iter().zip(large.accepted(fragments));
            assert!(both.into_iter().all(|(small, large)| !small || large), "wrong proof: {a} in {b}");
            None
        }
        Verdict::Refuted(witness) => {
            figures.refuted += 1;
            let document = value(&witness);
            let [accepted, refused] = [&small, &large].map(|it| it.accepts(fragments, &document));
            assert!(accepted && !refused, "wrong witness: {witness} for {a} in {b}");
            Some(witness)
        }
        Verdict::Unknown(_) => {
            figures.unknown += 1;
            None
        }
    }
}

fn ask(large: &Checks, small: &Checks) -> Verdict {
    contains(large.into(), small.into(), Budget { steps: 5_000 })
}

fn suite() -> Option<(Vec<Json>, Vec<Json>)> {
    let mut files: Vec<_> =
        std::fs::read_dir(format!("{SHARED}/json-schema-test-suite/tests/draft2020-12")).ok()?.flatten().collect();
    files.sort_by_key(std::fs::DirEntry::path);
    let (mut schemas, mut documents) = (Vec::new(), Vec::new());
    for file in files.iter().filter(|file| file.path().extension().is_some_and(|it| it == "json")) {
        let text = std::fs::read_to_string(file.path()).ok()?;
        let Ok(Json::Array(cases)) = Json::parse(&text) else { continue };
        for case in &cases {
            schemas.extend(case.get("schema").cloned());
            let Some(Json::Array(tests)) = case.get("tests") else { continue };
            documents.extend(tests.iter().filter_map(|test| test.get("data").cloned()));
        }
    }
    let mut seen = HashSet::new();
    documents.retain(|document| seen.insert(document.key()));
    Some((schemas, documents))
}

/// Returns the fragments and their variations, without those on which mcpgen and the independent validator disagree.
fn fragments(schemas: &[Json], documents: &[Json], random: &mut Random) -> Vec<Fragment> {
    let mut found: Vec<Json> = Vec::new();
    for schema in schemas {
        parts(schema, &mut found);
    }
    let mut seen = HashSet::new();
    found.retain(|json| seen.insert(json.key()));
    let values: Vec<serde_json::Value> = documents.iter().map(value).collect();
    let mut fragments = Vec::new();
    for (origin, json) in found.iter().enumerate() {
        let varied = (0..3).map(|_| vary(json, random));
        for json in [json.clone()].into_iter().chain(varied) {
            let (Ok(checks), Some(validator)) = (read(&json, DIALECT), validator(&json, DIALECT)) else { continue };
            let accepted: Vec<bool> = values.iter().map(|document| validator.is_valid(document)).collect();
            let own = documents.iter().map(|document| checks.root.accepts(document, &checks.definitions));
            if own.eq(accepted.iter().copied()) {
                fragments.push(Fragment { json, validator, accepted, origin });
            }
        }
    }
    fragments
}

/// Collects all subschemas without references.
fn parts(json: &Json, found: &mut Vec<Json>) {
    match json {
        Json::Object(members) => {
            let text = json.to_string();
            if !["$ref", "$dynamicRef", "$id", "$anchor"].iter().any(|keyword| text.contains(keyword)) {
                let members = members.iter().filter(|(key, _)| *key != "$schema");
                found.push(Json::Object(members.map(|(key, value)| (key.clone(), value.clone())).collect()));
            }
            members.values().for_each(|value| parts(value, found));
        }
        Json::Array(items) => items.iter().for_each(|item| parts(item, found)),
        _ => {}
    }
}

/// Returns a variation: wrapped, with another number or boolean, or without a keyword.
fn vary(json: &Json, random: &mut Random) -> Json {
    const AROUND: [&str; 10] = [
        r#"{"properties": {"foo": @}}"#,
        r#"{"properties": {"foo": @}, "required": ["foo"], "unevaluatedProperties": false}"#,
        r#"{"additionalProperties": @}"#,
        r#"{"patternProperties": {"^[fb]": @}}"#,
        r#"{"propertyNames": @}"#,
        r#"{"items": @}"#,
        r#"{"prefixItems": [true, @], "unevaluatedItems": {"type": "integer"}}"#,
        r#"{"contains": @}"#,
        r#"{"contains": @, "minContains": 2, "maxContains": 3}"#,
        r#"{"items": @, "uniqueItems": true, "minItems": 2}"#,
    ];
    let mut changed = json.clone();
    match (random.below(3), &mut changed) {
        (0, Json::Object(members)) if members.len() > 1 => {
            members.shift_remove_index(random.below(members.len()));
        }
        (1, Json::Object(members)) if !members.is_empty() => {
            let index = random.below(members.len());
            change(&mut members[index], random);
        }
        _ => {
            let around = AROUND[random.below(AROUND.len())].replace('@', &json.to_string());
            changed = Json::parse(&around).expect("JSON");
        }
    }
    changed
}

fn change(json: &mut Json, random: &mut Random) {
    match json {
        Json::Number(number) => {
            let changed = number.as_f64().unwrap_or_default() + [1.0, -1.0, 0.5][random.below(3)];
            *json = Json::parse(&changed.to_string()).expect("JSON");
        }
        Json::Bool(flag) => *flag = !*flag,
        Json::Array(items) if !items.is_empty() => {
            let index = random.below(items.len());
            change(&mut items[index], random);
        }
        Json::Object(members) if !members.is_empty() => {
            let index = random.below(members.len());
            change(&mut members[index], random);
        }
        _ => {}
    }
}

/// Wraps a fragment in random combinators.
fn compose(index: usize, fragments: &[Fragment], random: &mut Random, depth: u32) -> Composed {
    if depth == 0 {
        return Composed::Fragment(index);
    }
    let inner = compose(index, fragments, random, depth - 1);
    let keyword = match random.below(10) {
        0 => return Composed::Not(Box::new(inner)),
        1 => "allOf",
        2 => "anyOf",
        3 => "oneOf",
        _ => return inner,
    };
    let other = compose(random.below(fragments.len()), fragments, random, depth - 1);
    Composed::Several(keyword, vec![inner, other])
}

impl Composed {
    fn json(&self, fragments: &[Fragment]) -> Json {
        let (keyword, value) = match self {
            Composed::Fragment(index) => return fragments[*index].json.clone(),
            Composed::Not(inner) => ("not", inner.json(fragments)),
            Composed::Several(keyword, parts) => {
                (*keyword, Json::Array(parts.iter().map(|part| part.json(fragments)).collect()))
            }
        };
        Json::Object([(keyword.to_owned(), value)].into_iter().collect())
    }

    /// Evaluates the combinators, given an answer per fragment.
    fn combine(&self, answer: &dyn Fn(usize) -> bool) -> bool {
        match self {
            Composed::Fragment(index) => answer(*index),
            Composed::Not(inner) => !inner.combine(answer),
            Composed::Several(keyword, parts) => {
                let count = parts.iter().filter(|part| part.combine(answer)).count();
                match *keyword {
                    "allOf" => count == parts.len(),
                    "anyOf" => count > 0,
                    _ => count == 1,
                }
            }
        }
    }

    fn accepts(&self, fragments: &[Fragment], document: &serde_json::Value) -> bool {
        self.combine(&|index| fragments[index].validator.is_valid(document))
    }

    fn accepted(&self, fragments: &[Fragment]) -> Vec<bool> {
        (0..fragments[0].accepted.len())
            .map(|document| self.combine(&|index| fragments[index].accepted[document]))
            .collect()
    }
}
