//! Edits to JSON texts, keys that serde_json reserves, and suggestions for misspelt names.

use mcpgen_runtime::jsonrpc::envelope::{Envelope, scan};
use mcpgen_runtime::jsonrpc::json::{Edit, Picked};
use mcpgen_runtime::util::did_you_mean;
use mcpgen_types::codec::Document;
use serde_json::{Value, json};

#[test]
fn adds_and_replaces_members_and_keeps_the_rest() {
    for (text, expected) in [
        ("{}", json!({ "a": 1, "b": 2 })),
        (" { } ", json!({ "a": 1, "b": 2 })),
        (r#"{"c":{"d":[]}}"#, json!({ "a": 1, "b": 2, "c": { "d": [] } })),
        (r#"{"m":{},"o":"old"}"#, json!({ "a": 1, "b": 2, "m": { "x": 3, "y": 4 }, "o": "new" })),
        (r#"{"m":{"z": 5},"o":[{}]}"#, json!({ "a": 1, "b": 2, "m": { "x": 3, "y": 4, "z": 5 }, "o": "new" })),
    ] {
        let document = Document::read(text).expect("JSON");
        let picked = Picked::from(document.root(), &["m", "o"]).expect("an object");
        let mut edit = Edit::of(document.root());
        edit.add("a", "1");
        edit.add("b", "2");
        if let [Some(m), Some(o)] = picked.values {
            edit.add_to(Some(m), "x", "3");
            edit.add_to(Some(m), "y", "4");
            edit.replace(o, json!("new").to_string());
        }
        let done = edit.done().expect("JSON").expect("the edit has changes");
        assert_eq!(serde_json::from_str::<Value>(done.text()).expect("JSON"), expected, "{text}");
    }
    let read = |text: &'static str| Document::read(text).expect("JSON");
    assert!(Edit::of(read("{}").root()).done().expect("JSON").is_none());
    assert!(Picked::from(read("[]").root(), &["a"]).is_err());
    assert_eq!(Picked::from(read(r#"{"a":1,"a":2}"#).root(), &["a"]).expect("an object").twice, Some("a"));
}

#[test]
fn suggests_only_similar_names() {
    let known = ["add_note", "delete_note", "books/list", "authors/list"];
    for (name, expected) in [
        ("addNote", "; did you mean \"add_note\"?"),
        ("add-note", "; did you mean \"add_note\"?"),
        ("book/list", "; did you mean \"books/list\"?"),
        ("books.list", "; did you mean \"books/list\"?"),
        ("weather", ""),
        ("", ""),
        (&"books/list".repeat(100), ""),
    ] {
        assert_eq!(did_you_mean(name, known), expected, "{name}");
    }
    assert_eq!(did_you_mean("a", []), "");
}

#[test]
fn finds_reserved_keys_in_any_spelling() {
    let table = [
        (r#"{"$serde_json::private::Number":"1"}"#, Some("[\"$serde_json::private::Number\"]")),
        (r#"{"a":1,"$serde_json::private::RawValue" : 1}"#, Some("[\"$serde_json::private::RawValue\"]")),
        (
            r#"[0,[],{"a":"x","b":[{"\u0024serde_json::private::Number":1}]}]"#,
            Some("[2].b[0][\"$serde_json::private::Number\"]"),
        ),
        (r#"{"\u0061":{"$serde_json::private\u003a:RawValue":1}}"#, Some(".a[\"$serde_json::private::RawValue\"]")),
        (r#"{"a":"$serde_json::private::Number"}"#, None),
        (r#"{"$serde_json::private::Numbers":1,"x$serde_json::private::Number":1}"#, None),
        (r#"["$serde_json::private::Number",{"\\":"\u0024"}]"#, None),
        (r#"{"\"$serde_json::private::Number\"":1}"#, None),
    ];
    for (json, expected) in table {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{json}}}"#);
        let document = scan(&*text).expect("JSON");
        let found = Envelope::read(&document).err().map(|invalid| invalid.error.message);
        let place =
            found.as_deref().and_then(|found| found.strip_prefix("params")?.split_once(": ")).map(|(place, _)| place);
        assert_eq!(place, expected, "{json}: {found:?}");
    }
}
