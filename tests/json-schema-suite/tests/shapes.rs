//! Tests generated types that no schema of MCP needs: members that match a pattern, tuples, open enumerations, and
//! messages of other protocols. The modules are generated from the groups in `sample/shapes.json`.

use mcpgen_json_schema_suite as types;
use mcpgen_types::{ErrorKind, Map, Notification, Request, from_str, to_string};

#[test]
fn separates_members_that_match_the_pattern() {
    let mut value = types::draft2020_12_shapes_0::Root::new("a").x_id("1");
    value.matching.insert("x-b", "b").expect("it matches");
    value.extra.insert("other", 1).expect("it does not match");
    let error = value.matching.insert("y", "b").expect_err("it does not match");
    assert_eq!(error.to_string(), "`y` is not allowed in this field, because of the pattern of the type");
    let error = value.extra.insert("x-c", 5).expect_err("it matches");
    assert_eq!(error.to_string(), "`x-c` is not allowed in this field, because of the pattern of the type");
    let error = value.matching.insert("x-id", "b").expect_err("it has a field");
    assert_eq!(error.to_string(), "`x-id` is a known member, not an extra one");
    assert_eq!(to_string(&value), r#"{"name":"a","x-id":"1","x-b":"b","other":1}"#);
}

#[test]
fn checks_the_names_of_a_map() {
    use types::draft2020_12_shapes_2::Root;
    let map = Map::from([("HOME".to_owned(), "/".to_owned())]);
    assert_eq!(to_string(&Root::try_from(map).expect("a valid name")), r#"{"HOME":"/"}"#);
    let error = Root::try_from(Map::from([("home".to_owned(), "/".to_owned())])).expect_err("the name does not match");
    assert_eq!(error.to_string(), r#"home: name: expected a string that matches "^[A-Z_]+$", found "home""#);
}

#[test]
fn tuples_have_fields() {
    let types::draft2020_12_shapes_5::Root(name, number) = from_str(r#"["a", 1]"#).expect("a tuple");
    assert_eq!((name.as_str(), number), ("a", 1));
    assert_eq!(to_string(&types::draft2020_12_shapes_5::Root("b".into(), 2)), r#"["b",2]"#);
}

#[test]
fn open_enumerations_accept_other_values() {
    use types::draft2020_12_shapes_12::Root;
    assert_eq!(Root::from("step"), Root::Step);
    assert_eq!(Root::from("jump"), Root::Other("jump".into()));
    assert_eq!(Root::KNOWN.len(), 5);
    assert_eq!(Root::from("Other").to_string(), "Other");
}

#[test]
fn constants_determine_messages() {
    use types::draft2020_12_shapes_16::{NextArguments, NextBody, NextRequest, StoppedEvent, StoppedEventBody};
    fn request<R: Request<Params = NextArguments, Result = NextBody>>() -> &'static str {
        R::METHOD
    }
    fn notification<N: Notification<Params = StoppedEventBody>>() -> &'static str {
        N::METHOD
    }
    assert_eq!((request::<NextRequest>(), notification::<StoppedEvent>()), ("next", "stopped"));
}

/// If a match is given up, validity is unknown, so neither `not` nor another alternative may hide the error.
#[test]
fn a_pattern_that_takes_too_many_steps_is_an_error() {
    use types::draft2020_12_patterns_1::Root;
    let text = format!("{}!", "a".repeat(60));
    let object = format!(r#"{{"{text}":1}}"#);
    let array = format!(r#"["b","{text}"]"#);
    let string = format!("{text:?}");
    for (member, value, below) in [
        ("pattern", &string, ""),
        ("not", &string, ""),
        ("any", &string, ""),
        ("one", &string, ""),
        ("if", &string, ""),
        ("contains", &array, "/1"),
        ("names", &object, &*format!("/{text}")),
        ("notNames", &object, &*format!("/{text}")),
        ("members", &object, &*format!("/{text}")),
        ("closed", &object, &*format!("/{text}")),
        ("notMembers", &object, &*format!("/{text}")),
    ] {
        let error = from_str::<Root>(&format!(r#"{{"{member}":{value}}}"#)).expect_err(member);
        assert_eq!(error.kind(), &ErrorKind::PatternTooExpensive { pattern: r"^(a+)+\1$" }, "{member}: {error}");
        assert_eq!(error.path(), format!("/{member}{below}"));
    }
    let error = from_str::<Root>(&format!(r#"{{"pattern":{string}}}"#)).expect_err("too expensive");
    assert_eq!(
        error.to_string(),
        "Root: pattern: pattern too expensive: \"^(a+)+\\\\1$\" takes too many steps; shorten the text, or simplify the pattern"
    );
    // All patterns of a document together may take a limited number of steps.
    let cheap = "a".repeat(12);
    let one = format!(r#"{{"pattern":"{cheap}!"}}"#);
    let error = from_str::<Root>(&one).expect_err("it does not match");
    assert!(matches!(error.kind(), ErrorKind::Assertion { .. }), "{error}");
    let many = vec![format!("\"{cheap}!\""); 1000].join(",");
    let error = from_str::<Root>(&format!(r#"{{"contains":[{many}]}}"#)).expect_err("too expensive");
    assert!(matches!(error.kind(), ErrorKind::PatternTooExpensive { .. }), "{error}");
}

#[test]
fn compares_many_items_in_linear_time() {
    let items: Vec<String> = (0..200_000).map(|item| item.to_string()).collect();
    let text = format!("[{}]", items.join(","));
    let start = std::time::Instant::now();
    let value: types::draft2020_12_shapes_7::Root = from_str(&text).expect("unique items");
    assert_eq!(to_string(&value).len(), text.len());
    let error = from_str::<types::draft2020_12_shapes_7::Root>(&format!("[{},7]", items.join(","))).expect_err("twice");
    assert!(error.to_string().contains("unique items"), "{error}");
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
