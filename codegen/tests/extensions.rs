//! Compares verdicts on MCP's extension schemas with an independent validator, on random documents. `MCPGEN_INSTANCES`
//! sets how many per definition, 200 by default.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use mcpgen::{Document, Protocol};
use mcpgen_diff::{Axis, Verdict, diff};
use mcpgen_model::validate::validate;
use mcpgen_model::{Json, Origin, Shape};
use serde_json::Value;

use documents::{Random, document, extensions, judged, mutate, of_definition};

#[path = "support/documents.rs"]
mod documents;

/// Returns whether a type contains a union whose guards may reject what `anyOf` accepts, because variants overlap.
fn is_decided(protocol: &Protocol, id: usize) -> bool {
    let (mut seen, mut stack) = (BTreeSet::from([id]), vec![id]);
    while let Some(id) = stack.pop() {
        if matches!(&protocol.types[id].shape, Shape::Union(union) if union.decision.overlapping) {
            return true;
        }
        stack.extend(protocol.uses(id).into_iter().filter(|used| seen.insert(*used)));
    }
    false
}

/// The number of documents that were compared.
#[derive(Debug, Default)]
struct Tally {
    valid: usize,
    not_valid: usize,
    /// Valid documents that the guards of a union reject.
    decided: usize,
}

fn compare(file: &str, schema: &Value, protocol: &Protocol, count: u64, wrong: &mut Vec<String>) -> Tally {
    let mut tally = Tally::default();
    let definitions = protocol.types.iter().enumerate().filter(|(_, def)| def.origin == Origin::Definition);
    for (id, def) in definitions {
        let subject = of_definition(schema, &def.pointer);
        // `format` is only an annotation.
        let options = jsonschema::options().should_validate_formats(false);
        let judge = options.build(&subject).unwrap_or_else(|error| panic!("{file} {}: {error}", def.name));
        for seed in 0..count {
            let document = document(schema, &def.pointer, id, seed);
            let expected = judge.is_valid(&document);
            let text = document.to_string();
            let answer = validate(protocol, id, &Json::parse(&text).expect("JSON"));
            if expected {
                tally.valid += 1;
            } else {
                tally.not_valid += 1;
            }
            if expected && answer.is_err() && is_decided(protocol, id) {
                tally.decided += 1;
            } else if answer.is_ok() != expected {
                let why = answer.err().map_or("accepted".to_owned(), |failure| failure.to_string());
                wrong.push(format!(
                    "{file} {} ({}): {why}\n  {text}",
                    def.name,
                    if expected { "valid" } else { "not valid" }
                ));
            }
        }
    }
    tally
}

#[test]
fn extensions_agree_with_a_published_validator() {
    let count = std::env::var("MCPGEN_INSTANCES").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let mut wrong = Vec::new();
    for (file, path) in extensions() {
        let text = std::fs::read_to_string(&path).expect("a file");
        let document = Document::parse(&*file, text.as_bytes()).expect("a schema");
        let protocol = mcpgen::model(document, "proof", false).unwrap_or_else(|error| panic!("{error}"));
        let schema = judged(&text);
        let before = wrong.len();
        let tally = compare(&file, &schema, &protocol, count, &mut wrong);
        println!("{file}: {tally:?}, {} wrong", wrong.len() - before);
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

/// The generator either accepts a mutant or reports problems, and never panics. `MCPGEN_MUTANTS` sets how many per
/// schema, 20 by default.
#[test]
fn generates_or_rejects_mutants() {
    let count = std::env::var("MCPGEN_MUTANTS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let (mut generated, mut refused) = (0, 0);
    for (_, path) in extensions() {
        let schema: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect("a file")).expect("JSON");
        for seed in 0..count {
            let mut random = Random((seed + 1_u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
            let mutant = mutate(&schema, &mut random).to_string();
            let options = mcpgen::Options {
                support: "::mcpgen_types".into(),
                command: "cargo test".into(),
                source: "mutant.json".into(),
                vendored: None,
            };
            let model = Document::parse("mutant.json", mutant.as_bytes())
                .and_then(|document| mcpgen::model(document, "mutant", false));
            match model.and_then(|protocol| mcpgen::emit(&protocol, &options)) {
                Ok(_) => generated += 1,
                Err(mcpgen::Error::Schema(problems)) if !problems.is_empty() => refused += 1,
                Err(error) => panic!("{} seed {seed}: {error}\n{mutant}", path.display()),
            }
        }
    }
    println!("{generated} mutants generated, {refused} rejected");
}

/// Rules of `diff`, each with the places where it applies.
type Findings = [(&'static str, &'static [&'static str])];

/// Breaking and dangerous changes between versions of the registry's schema, listed by hand from the schemas and from
/// the changelog, which is incomplete. Comments quote the changelog.
const REGISTRY: &[(&str, &str, &Findings)] = &[
    (
        // "Field names: snake_case -> camelCase", with a list of members. `Package` is closed, so each version rejects
        // the other's names.
        "2025-07-09",
        "2025-09-16",
        &[
            ("member-added-required", &["Package.registryType"]),
            ("member-removed-required", &["Package.registry_type"]),
            (
                "member-refused-by-old",
                &[
                    "Package.registryType",
                    "Package.registryBaseUrl",
                    "Package.fileSha256",
                    "Package.runtimeHint",
                    "Package.runtimeArguments",
                    "Package.packageArguments",
                    "Package.environmentVariables",
                ],
            ),
            (
                "member-refused-by-new",
                &[
                    "Package.registry_type",
                    "Package.registry_base_url",
                    "Package.file_sha256",
                    "Package.runtime_hint",
                    "Package.runtime_arguments",
                    "Package.package_arguments",
                    "Package.environment_variables",
                ],
            ),
            (
                "member-removed-optional",
                &[
                    "ServerDetail.website_url",
                    "Server.website_url",
                    "Package.registry_base_url",
                    "Package.file_sha256",
                    "Package.runtime_hint",
                    "Package.runtime_arguments",
                    "Package.package_arguments",
                    "Package.environment_variables",
                    "Input.is_required",
                    "Input.is_secret",
                    "InputWithVariables.is_required",
                    "InputWithVariables.is_secret",
                    "NamedArgument.is_required",
                    "NamedArgument.is_secret",
                    "NamedArgument.is_repeated",
                    "KeyValueInput.is_required",
                    "KeyValueInput.is_secret",
                ],
            ),
            // `value_hint` and `is_repeated` belong to an undecided union.
            ("check-changed", &["PositionalArgument"]),
        ],
    ),
    (
        // "Removed `status`, and `io.modelcontextprotocol.registry/official` from `_meta`."
        "2025-09-16",
        "2025-09-29",
        &[(
            "member-removed-optional",
            &["ServerDetail.status", "Server.status", "ServerDetail._meta.io.modelcontextprotocol.registry/official"],
        )],
    ),
    (
        // "`version` is now optional." `Package` is no longer closed either.
        "2025-09-29",
        "2025-10-11",
        &[("member-became-optional", &["Package.version"]), ("object-opened", &["Package"])],
    ),
    // "`version` is optional for MCPB packages" is a rule of the registry. The schemas differ only in `$id` and an
    // example.
    ("2025-10-11", "2025-10-17", &[]),
    (
        // "URL template variables for remote servers." The URLs also gained a pattern.
        "2025-10-17",
        "2025-12-11",
        &[("check-added", &["SseTransport.url", "StreamableHttpTransport.url"])],
    ),
];

#[test]
fn finds_the_changes_of_the_registry() {
    let schemas: BTreeMap<String, PathBuf> = extensions().into_iter().collect();
    let model = |version: &str| {
        let path = schemas.get(&format!("registry-{version}")).unwrap_or(&schemas["registry"]);
        let document = Document::read(path).expect("a schema");
        mcpgen::model(document, version, false).expect("a model")
    };
    for (old, new, expected) in REGISTRY {
        let found = diff(&model(old), &model(new)).findings;
        let found = found.iter().filter(|it| it.verdicts.worst(&Axis::WIRE) > Verdict::Compatible);
        let found: BTreeSet<(&str, &str)> = found.map(|it| (it.rule.id(), it.subject.as_str())).collect();
        let expected = expected.iter().flat_map(|(rule, subjects)| subjects.iter().map(|subject| (*rule, *subject)));
        assert_eq!(found, expected.collect(), "{old} -> {new}");
    }
}
