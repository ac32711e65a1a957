//! Runs the JSON-Schema-Test-Suite against the model. Each group passes, or is rejected for one of [`REASONS`].
//!
//! The suite is not part of the repository. Set `MCPGEN_JSON_SCHEMA_SUITE` to the folder of its tests;
//! otherwise it is skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcpgen::{Dialect, Document, Error, ReadOptions};
use mcpgen_model::Json;
use mcpgen_model::validate::validate;

/// Accepted reasons for rejecting a group, each with a part of the message.
const REASONS: &[(&str, &str)] = &[
    ("remote reference", "is not a reference to a definition of this document"),
    ("unknown keyword", "mcpgen does not implement this keyword"),
    ("keyword of another dialect", "does not have this keyword"),
    ("dynamic reference", "depending on where it is reached from"),
    ("unknown dialect", "is not a dialect that mcpgen reads"),
    ("recursive intersection", "the intersection of recursive or deeply nested definitions"),
    ("reference to itself", "refers to itself without an array or an object in between"),
    ("missing target", "there is no definition"),
];

#[derive(Default)]
struct Counts {
    passed: usize,
    refused: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
}

fn model(schema: &Json, dialect: Dialect) -> Result<mcpgen::Protocol, Error> {
    let options = ReadOptions { dialect: Some(dialect), root_name: Some("Root".into()), ..ReadOptions::default() };
    let options = if schema.get("$schema").is_some() { ReadOptions { dialect: None, ..options } } else { options };
    mcpgen::model(Document::parse_with("group.json", schema.to_string().as_bytes(), &options)?, "suite", false)
}

fn group(group: &Json, file: &str, dialect: Dialect, counts: &mut Counts) {
    let text = |json: &Json, key: &str| json.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    let name = format!("{file}: {}", text(group, "description"));
    let protocol = match model(group.get("schema").expect("a schema"), dialect) {
        Ok(protocol) => protocol,
        Err(error) => {
            let error = error.to_string();
            match REASONS.iter().find(|(_, text)| error.contains(text)) {
                Some((reason, _)) => *counts.refused.entry(reason).or_default() += 1,
                None => counts.wrong.push(format!("{name}: refused: {error}")),
            }
            return;
        }
    };
    let root = protocol.types.iter().position(|def| def.name == "Root").expect("the root");
    let Some(Json::Array(tests)) = group.get("tests") else { panic!("{name}: no tests") };
    let before = counts.wrong.len();
    for test in tests {
        let expected = matches!(test.get("valid"), Some(Json::Bool(true)));
        let result = validate(&protocol, root, test.get("data").expect("data"));
        if result.is_ok() != expected {
            let why = result.err().map_or("accepted".to_owned(), |failure| failure.to_string());
            counts.wrong.push(format!("{name}: {}: {why}", text(test, "description")));
        }
    }
    counts.passed += usize::from(counts.wrong.len() == before);
}

fn run(folder: &Path, dialect: Dialect) -> Counts {
    let mut counts = Counts::default();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    // Of the optional files, only these test a promise of mcpgen: patterns follow ECMA-262.
    let optional = ["ecmascript-regex", "non-bmp-regex"].map(|name| folder.join(format!("optional/{name}.json")));
    files.extend(optional.into_iter().filter(|path| path.is_file()));
    for path in files {
        let file = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a file");
        let Json::Array(groups) = Json::parse(&text).unwrap_or_else(|error| panic!("{file}: {error}")) else {
            panic!("{file}: no groups")
        };
        groups.iter().for_each(|it| group(it, &file, dialect, &mut counts));
    }
    println!(
        "{dialect}: {} groups passed, {} wrong, rejected: {:?}",
        counts.passed,
        counts.wrong.len(),
        counts.refused
    );
    counts
}

#[test]
fn no_group_is_wrong() {
    let Some(folder) = std::env::var_os("MCPGEN_JSON_SCHEMA_SUITE").map(PathBuf::from) else {
        println!("MCPGEN_JSON_SCHEMA_SUITE is not set, so the suite did not run");
        return;
    };
    let mut wrong = Vec::new();
    for (name, dialect) in [("draft7", Dialect::Draft07), ("draft2020-12", Dialect::Draft202012)] {
        wrong.extend(run(&folder.join(name), dialect).wrong.into_iter().map(|it| format!("{name}/{it}")));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn unusable_patterns_are_refused() {
    let name = format!("{}!", "a".repeat(60));
    let on_member = format!(r#"{{"properties": {{"{name}": {{}}}}, "patternProperties": {{"^(a+)+\\1$": {{}}}}}}"#);
    for (schema, expected) in [
        (&*on_member, r#"pattern too expensive: "^(a+)+\\1$" on the member"#),
        (
            r#"{"pattern": "("}"#,
            r#""(" cannot be compiled as a regular expression of ECMA-262: Unbalanced parenthesis"#,
        ),
        (r#"{"pattern": "(a{999}){999}"}"#, "the pattern has more than 32768 states; use fewer or smaller repetitions"),
    ] {
        let error = model(&Json::parse(schema).expect("JSON"), Dialect::Draft202012).expect_err(schema).to_string();
        assert!(error.contains(expected), "{error}");
    }
}
