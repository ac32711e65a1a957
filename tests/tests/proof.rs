//! The types against the judge: for every definition of every revision, what is accepted, what comes back, and what
//! constructors build.

use mcpgen_tests::registry::{Entry, REGISTRY};
use mcpgen_tests::{Kind, Proof, Tally, check, decisions::REVISIONS, json_equal};
use serde_json::Value;

/// Instances per definition and kind; `MCPGEN_INSTANCES` asks for more.
fn count() -> u64 {
    std::env::var("MCPGEN_INSTANCES").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

fn seed() -> u64 {
    std::env::var("MCPGEN_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_261_121)
}

/// Decodes by every entrance, which must agree, and encodes.
fn recode(entry: &Entry, document: &Value) -> Result<Value, String> {
    let text = document.to_string();
    let by_value = (entry.value)(document.clone()).map_err(|error| error.to_string());
    // serde_json's own `Value` reads objects that use its private key names as something else; the generator's does not.
    let parse = |text: &str| {
        let json = mcpgen::json::Json::parse(text).expect("what is encoded is JSON");
        serde_json::to_value(json).expect("JSON is a value")
    };
    let by_text = (entry.text)(&text).map(|text| parse(&text)).map_err(|error| error.to_string());
    let by_bytes = (entry.bytes)(text.as_bytes()).map(|bytes| parse(&String::from_utf8_lossy(&bytes)));
    let by_reader = (entry.reader)(&mut text.as_bytes()).map(|text| parse(&text));
    let by_serde = (entry.serde)(&text).map(|text| parse(&text)).map_err(|error| error.to_string());
    // An alias of serde_json's `Value` is decoded by serde_json there, which reads its private key names as more than data.
    let by_serde = if text.contains("$serde_json::private") { by_text.clone() } else { by_serde };
    let entrances = [by_text.as_ref().ok(), by_bytes.as_ref().ok(), by_reader.as_ref().ok(), by_serde.as_ref().ok()];
    for (name, other) in ["text", "bytes", "reader", "serde"].iter().zip(entrances) {
        let agree = match (by_value.as_ref().ok(), other) {
            (Some(a), Some(b)) => json_equal(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        if !agree {
            return Err(format!("from_value says {by_value:?}, {name} says {other:?} ({by_text:?})"));
        }
    }
    if by_value.is_ok() && !(entry.stable)(&text).is_ok_and(|equal| equal) {
        return Err("decode(encode(x)) is not x".to_owned());
    }
    by_value
}

fn prove(revision: &str) {
    let (mut total, mut definitions) = (Tally::default(), 0);
    for entry in REGISTRY.iter().filter(|entry| entry.revision == revision) {
        total += check(revision, entry.definition, seed(), count(), |document| recode(entry, document));
        definitions += 1;
    }
    println!("{revision}: {definitions} definitions, {total:?}, 0 disagreements");
}

#[test]
fn exact_and_lossless_2024_11_05() {
    prove("2024-11-05");
}

#[test]
fn exact_and_lossless_2025_03_26() {
    prove("2025-03-26");
}

#[test]
fn exact_and_lossless_2025_06_18() {
    prove("2025-06-18");
}

#[test]
fn exact_and_lossless_2025_11_25() {
    prove("2025-11-25");
}

#[test]
fn exact_and_lossless_2026_07_28() {
    prove("2026-07-28");
}

/// Every definition of the vendored schemas is in the registry, so that every check above sees it.
#[test]
fn no_definition_is_forgotten() {
    for revision in REVISIONS {
        let schema = mcpgen_tests::schema(revision);
        let definitions = schema.get("$defs").or_else(|| schema.get("definitions")).and_then(Value::as_object);
        let definitions = definitions.expect("a schema has definitions");
        for name in definitions.keys() {
            assert!(Entry::find(revision, name).is_some(), "{revision} {name}");
        }
        assert_eq!(REGISTRY.iter().filter(|entry| entry.revision == revision).count(), definitions.len());
        let (mut accepted, mut refused) = (0, 0);
        for name in definitions.keys() {
            let proof = Proof::of(revision);
            for (_, kind, document) in proof.documents(name, seed(), 20) {
                match (kind, proof.accepts(name, &document)) {
                    (Kind::Valid, true) => accepted += 1,
                    (_, false) => refused += 1,
                    _ => {}
                }
            }
        }
        assert!(
            accepted > 15 * definitions.len() && refused > 10 * definitions.len(),
            "{revision}: {accepted}, {refused}"
        );
    }
}

/// `new`, the setters and `extra.insert` build every valid object, and nothing else is needed.
#[test]
fn constructors_build_what_decodes() {
    for entry in REGISTRY {
        let Some(rebuild) = entry.rebuild else { continue };
        let proof = Proof::of(entry.revision);
        let mut built = 0;
        for (index, kind, document) in proof.documents(entry.definition, seed(), 30) {
            if kind != Kind::Valid || (entry.value)(document.clone()).is_err() {
                continue;
            }
            let value = rebuild(&document)
                .unwrap_or_else(|error| panic!("{} {} {index}: {error}\n{document}", entry.revision, entry.definition));
            assert!(
                json_equal(&value, &document),
                "{} {} {index}:\n{document}\n{value}",
                entry.revision,
                entry.definition
            );
            built += 1;
        }
        assert!(built > 10, "{} {}: only {built} instances", entry.revision, entry.definition);
    }
}
