//! Checks that the generated types accept what the suite accepts, lose no data, and agree with `mcpgen::validate`.

use mcpgen::{Document, ReadOptions};
use mcpgen_json_schema_suite::GROUPS;
use mcpgen_model::Json;
use mcpgen_model::validate::validate;

#[test]
fn generated_types_agree_with_the_suite() {
    let (mut wrong, mut other_words, mut tests) = (Vec::new(), Vec::new(), 0);
    for group in GROUPS {
        let text = std::fs::read_to_string(group.file).expect("a file");
        let Json::Array(groups) = Json::parse(&text).expect("JSON") else { panic!("no groups") };
        let json = &groups[group.index];
        let schema = json.get("schema").expect("a schema");
        let dialect = (schema.get("$schema").is_none()).then(|| group.dialect.parse().expect("a dialect"));
        let options = ReadOptions { dialect, root_name: Some("Root".into()), ..ReadOptions::default() };
        let document = Document::parse_with("group.json", schema.to_string().as_bytes(), &options).expect("a schema");
        let protocol = mcpgen::model(document, "suite", false).expect("a model");
        let root = protocol.types.iter().position(|def| def.name == "Root").expect("a root");
        let Some(Json::Array(cases)) = json.get("tests") else { panic!("no tests") };
        for case in cases {
            tests += 1;
            let name = format!("{} {}: {}", group.file, group.index, case.get("description").expect("a description"));
            let data = case.get("data").expect("data");
            let valid = matches!(case.get("valid"), Some(Json::Bool(true)));
            let interpreted = validate(&protocol, root, data);
            match ((group.decode)(&data.to_string()), interpreted) {
                (Ok(_), _) if !valid => wrong.push(format!("{name}: accepted")),
                (Err(error), _) if valid => wrong.push(format!("{name}: rejected: {error}")),
                (Ok(text), Ok(())) => {
                    let again = Json::parse(&text).expect("JSON");
                    if again != *data {
                        wrong.push(format!("{name}: {data} became {again}"));
                    }
                }
                (Err(error), Err(failure)) => {
                    let own = error.split_once(": ").map_or(error.as_str(), |(_, message)| message);
                    if own != failure.to_string() {
                        other_words.push(format!("{name}:\n  types: {own}\n  model: {failure}"));
                    }
                }
                _ => wrong.push(format!("{name}: the model and the types disagree")),
            }
        }
    }
    println!("{} groups, {tests} tests, {} other messages", GROUPS.len(), other_words.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(other_words.is_empty(), "{} other messages:\n{}", other_words.len(), other_words.join("\n"));
}
