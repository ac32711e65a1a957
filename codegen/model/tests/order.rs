//! The order of a schema must not influence which JSON value gets which Rust name.

use std::collections::BTreeMap;

use mcpgen_model::{Shape, model};
use mcpgen_schema::Document;

/// Returns the Rust names of all types, members and values, by their JSON names.
fn names(schema: &str) -> BTreeMap<String, String> {
    let document = Document::parse("order.json", schema.as_bytes()).expect("a schema");
    let mut names = BTreeMap::new();
    for def in model(document, "draft", false).expect("a model").types.iter() {
        names.insert(def.name.clone(), def.rust.clone());
        let inner: Vec<(String, &str)> = match &def.shape {
            Shape::Struct(body) => body.members.iter().map(|it| (it.wire.clone(), it.rust.as_str())).collect(),
            Shape::Enum(values) => values.iter().map(|it| (it.json.to_string(), it.rust.as_str())).collect(),
            _ => Vec::new(),
        };
        names.extend(inner.into_iter().map(|(json, rust)| (format!("{} {json}", def.name), rust.to_owned())));
    }
    names
}

#[test]
fn names_do_not_depend_on_the_order() {
    let schema = |is_reversed: bool| {
        let join = |mut items: [&str; 3]| {
            if is_reversed {
                items.reverse();
            }
            items.join(",")
        };
        let members = join([r#""id": {"type": "string"}"#, r#""ID": {"type": "number"}"#, r#""-1": true"#]);
        let values = join([r#""+1""#, r#""-1""#, r#""1""#]);
        let object = format!(r#""Object": {{"type": "object", "properties": {{{members}}}}}"#);
        let definitions = [&*object, r#""object": {"type": "string"}"#, &format!(r#""Sign": {{"enum": [{values}]}}"#)];
        format!(r#"{{"$defs": {{{}}}}}"#, join(definitions))
    };
    let found = names(&schema(false));
    assert_eq!(found, names(&schema(true)));
    for (json, rust) in [
        ("Object", "Object"),
        ("object", "Object2"),
        ("Object id", "id"),
        ("Object ID", "id2"),
        ("Object -1", "minus_1"),
        ("Sign \"+1\"", "Plus1"),
        ("Sign \"-1\"", "Minus1"),
        ("Sign \"1\"", "Type1"),
    ] {
        assert_eq!(found.get(json).map(String::as_str), Some(rust), "{json}");
    }
}
