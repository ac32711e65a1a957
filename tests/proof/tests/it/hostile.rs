//! Tests the generator with documents that are huge, deep, circular or not schemas. It must end with code or
//! with an error that gives a reason.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use mcpgen::{Document, Error, Options};
use mcpgen_proof::settings::is_thorough;

/// The time after which a case counts as hanging. It is long because tests run unoptimized, beside other tests, and on
/// any machine. The benchmarks measure the actual times.
const TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Generated code.
    Code,
    Problems,
    NoJson,
    /// Code or problems, depending on the limits of the generator.
    Either,
}

struct Case {
    name: &'static str,
    document: fn() -> Vec<u8>,
    end: End,
    error: &'static str,
}

const CASES: &[Case] = &[
    Case { name: "many definitions chained by $ref", document: chained_by_reference, end: End::Either, error: "" },
    Case { name: "many definitions chained by properties", document: chained_by_property, end: End::Code, error: "" },
    Case { name: "many definitions chained backwards", document: chained_backwards, end: End::Either, error: "" },
    Case { name: "many definitions in one anyOf", document: wide_union, end: End::Either, error: "" },
    Case { name: "many tagged definitions in one anyOf", document: wide_tagged_union, end: End::Either, error: "" },
    Case { name: "many strings in one anyOf", document: wide_scalar_union, end: End::Either, error: "" },
    Case {
        name: "many definitions in one cycle of properties",
        document: circle_of_properties,
        end: End::Code,
        error: "",
    },
    Case {
        name: "many definitions in one cycle of references",
        document: circle_of_references,
        end: End::Problems,
        error: "cycle",
    },
    Case { name: "many unions of all earlier ones", document: unions_of_all_before, end: End::Either, error: "" },
    Case { name: "many equal inline objects", document: equal_inline_objects, end: End::Code, error: "" },
    Case { name: "many inline objects under one name", document: contested_names, end: End::Code, error: "" },
    Case { name: "many names that differ in case", document: equal_names, end: End::Code, error: "" },
    Case { name: "2,000 levels of properties", document: deep_properties, end: End::NoJson, error: "recursion limit" },
    Case { name: "2,000 levels of arrays", document: deep_arrays, end: End::NoJson, error: "recursion limit" },
    Case { name: "100,000 brackets", document: brackets, end: End::NoJson, error: "recursion limit" },
    Case { name: "60 levels of properties", document: nested_properties, end: End::Either, error: "" },
    Case { name: "40 levels of anyOf of anyOf", document: nested_unions, end: End::Either, error: "" },
    Case { name: "a duplicate key", document: duplicate_key, end: End::NoJson, error: "duplicate key" },
    Case { name: "a byte order mark", document: byte_order_mark, end: End::Code, error: "" },
    Case { name: "UTF-16", document: utf16, end: End::NoJson, error: "" },
    Case { name: "invalid UTF-8", document: no_utf8, end: End::NoJson, error: "" },
    Case { name: "an empty document", document: Vec::new, end: End::NoJson, error: "" },
    Case { name: "a cycle of references", document: circular, end: End::Problems, error: "cycle" },
    Case { name: "a cycle through anyOf", document: circular_union, end: End::Problems, error: "cycle" },
    Case { name: "allOf with itself", document: self_all_of, end: End::Problems, error: "cycle" },
    Case { name: "allOf of recursive objects", document: recursive_all_of, end: End::Either, error: "" },
    Case {
        name: "allOf that contains itself",
        document: self_holding_all_of,
        end: End::Problems,
        error: "cannot be computed",
    },
    Case { name: "allOf that doubles 64 times", document: doubling_all_of, end: End::Either, error: "" },
    Case { name: "allOf of unions that doubles 24 times", document: doubling_unions, end: End::Either, error: "" },
    Case { name: "properties that double 64 times", document: doubling_properties, end: End::Code, error: "" },
    Case { name: "anyOf of objects that double 64 times", document: doubling_overlap, end: End::Either, error: "" },
    Case { name: "empty anyOf", document: empty_union, end: End::Problems, error: "the list is empty" },
    Case { name: "dangling $ref", document: dangling, end: End::Problems, error: "there is no definition `Nothing`" },
    Case { name: "an enum of 100,000 values", document: wide_enum, end: End::Either, error: "" },
    Case { name: "enums of 20,000 values in one anyOf", document: union_of_wide_enums, end: End::Either, error: "" },
    Case { name: "100,000 required members", document: wide_required, end: End::Either, error: "" },
    Case { name: "many properties", document: wide_object, end: End::Code, error: "" },
    Case { name: "allOf of two objects with many properties", document: wide_all_of, end: End::Either, error: "" },
    Case { name: "a constant of 1 MB", document: long_constant, end: End::Code, error: "" },
    Case { name: "a name of 1 MB", document: long_name, end: End::Either, error: "" },
    Case { name: "many problems", document: many_problems, end: End::Problems, error: "… and" },
    Case { name: "33 MB", document: large, end: End::Problems, error: "more than the limit" },
    Case { name: "4 MB of description", document: prose, end: End::Code, error: "" },
];

/// The size of most large cases.
fn many() -> usize {
    if is_thorough() { 10_000 } else { 2_000 }
}

/// The size of cases whose generated code takes most of the time. One such case with `many()` is enough.
fn fewer() -> usize {
    if is_thorough() { 2_000 } else { 500 }
}

fn schema(definitions: impl Iterator<Item = (String, String)>) -> Vec<u8> {
    let definitions: Vec<String> = definitions.map(|(name, schema)| format!("{name:?}:{schema}")).collect();
    format!("{{\"$defs\":{{{}}}}}", definitions.join(",")).into_bytes()
}

fn one(text: &str) -> Vec<u8> {
    schema(std::iter::once(("A".to_owned(), text.to_owned())))
}

fn reference(index: usize) -> String {
    format!("{{\"$ref\":\"#/$defs/D{index}\"}}")
}

fn object_of(member: &str) -> String {
    format!("{{\"type\":\"object\",\"properties\":{{\"next\":{member}}}}}")
}

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(",")
}

fn definitions(count: usize, schema_of: impl Fn(usize) -> String) -> Vec<u8> {
    schema((0..count).map(|index| (format!("D{index}"), schema_of(index))))
}

fn and_union(count: usize, schema_of: impl Fn(usize) -> String) -> Vec<u8> {
    let union = format!("{{\"anyOf\":[{}]}}", list(count, reference));
    schema((0..count).map(|index| (format!("D{index}"), schema_of(index))).chain([("Union".to_owned(), union)]))
}

fn chained_by_reference() -> Vec<u8> {
    definitions(many(), |index| if index + 1 < many() { reference(index + 1) } else { "{\"type\":\"string\"}".into() })
}

fn chained_by_property() -> Vec<u8> {
    definitions(many(), |index| object_of(&if index + 1 < many() { reference(index + 1) } else { "{}".into() }))
}

fn chained_backwards() -> Vec<u8> {
    definitions(many(), |index| if index > 0 { reference(index - 1) } else { object_of("{}") })
}

fn wide_union() -> Vec<u8> {
    and_union(many(), |index| {
        format!("{{\"type\":\"object\",\"properties\":{{\"p{index}\":{{}}}},\"required\":[\"p{index}\"]}}")
    })
}

fn wide_tagged_union() -> Vec<u8> {
    and_union(many(), |index| {
        format!(
            "{{\"type\":\"object\",\"properties\":{{\"type\":{{\"const\":\"t{index}\"}}}},\"required\":[\"type\"]}}"
        )
    })
}

fn wide_scalar_union() -> Vec<u8> {
    one(&format!("{{\"anyOf\":[{}]}}", list(many(), |index| format!("{{\"type\":\"string\",\"maxLength\":{index}}}"))))
}

fn circle_of_properties() -> Vec<u8> {
    definitions(fewer(), |index| object_of(&reference((index + 1) % fewer())))
}

fn circle_of_references() -> Vec<u8> {
    definitions(many(), |index| reference((index + 1) % many()))
}

fn unions_of_all_before() -> Vec<u8> {
    definitions(many(), |index| match index {
        0 => "{\"type\":\"string\"}".into(),
        index => format!("{{\"anyOf\":[{},{{\"type\":\"integer\"}}]}}", reference(index - 1)),
    })
}

fn equal_inline_objects() -> Vec<u8> {
    let inline = "{\"type\":\"object\",\"properties\":{\"a\":{\"enum\":[\"x\",\"y\"]}}}";
    definitions(fewer(), |_| format!("{{\"type\":\"object\",\"properties\":{{\"same\":{inline}}}}}"))
}

fn contested_names() -> Vec<u8> {
    definitions(fewer(), |index| {
        format!(
            "{{\"type\":\"object\",\"properties\":{{\"same\":{{\"type\":\"object\",\"properties\":{{\"p{index}\":{{}}}}}}}}}}"
        )
    })
}

fn equal_names() -> Vec<u8> {
    schema(
        (0..fewer()).map(|index| (format!("a{}", "_".repeat(index % 100) + &"-".repeat(index / 100)), object_of("{}"))),
    )
}

fn nest(levels: usize, open: &str, close: &str, inner: &str) -> String {
    open.repeat(levels) + inner + &close.repeat(levels)
}

fn deep_properties() -> Vec<u8> {
    one(&nest(2000, "{\"type\":\"object\",\"properties\":{\"a\":", "}}", "{}"))
}

fn deep_arrays() -> Vec<u8> {
    one(&nest(2000, "{\"type\":\"array\",\"items\":", "}", "{}"))
}

fn brackets() -> Vec<u8> {
    "[".repeat(100_000).into_bytes()
}

fn nested_properties() -> Vec<u8> {
    one(&nest(60, "{\"type\":\"object\",\"properties\":{\"a\":", "}}", "{}"))
}

fn nested_unions() -> Vec<u8> {
    one(&nest(40, "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"array\",\"items\":", "}]}", "{\"type\":\"null\"}"))
}

fn duplicate_key() -> Vec<u8> {
    one("{\"type\":\"object\",\"type\":\"string\"}")
}

fn byte_order_mark() -> Vec<u8> {
    [b"\xef\xbb\xbf".to_vec(), one("{\"type\":\"string\"}")].concat()
}

fn utf16() -> Vec<u8> {
    one("{}").into_iter().flat_map(|byte| [byte, 0]).collect()
}

fn no_utf8() -> Vec<u8> {
    b"{\"$defs\":{\"A\xff\":{}}}".to_vec()
}

fn circular() -> Vec<u8> {
    definitions(3, |index| reference((index + 1) % 3))
}

fn circular_union() -> Vec<u8> {
    definitions(2, |index| format!("{{\"anyOf\":[{{\"type\":\"null\"}},{}]}}", reference(1 - index)))
}

fn self_all_of() -> Vec<u8> {
    one("{\"allOf\":[{\"$ref\":\"#/$defs/A\"},{\"type\":\"object\"}]}")
}

fn recursive_all_of() -> Vec<u8> {
    definitions(3, |index| match index {
        2 => format!("{{\"allOf\":[{},{}]}}", reference(0), reference(1)),
        index => format!("{{\"type\":\"object\",\"properties\":{{\"a\":{},\"p{index}\":{{}}}}}}", reference(index)),
    })
}

fn doubling_all_of() -> Vec<u8> {
    definitions(65, |index| match index {
        64 => object_of("{}"),
        index => format!("{{\"allOf\":[{0},{0}]}}", object_of(&reference(index + 1))),
    })
}

fn doubling_unions() -> Vec<u8> {
    let factor = |index: usize| {
        format!(
            "{{\"anyOf\":[{{\"type\":\"object\",\"properties\":{{\"a{index}\":{{\"const\":1}}}},\"required\":[\"a{index}\"]}},\
             {{\"type\":\"object\",\"properties\":{{\"b{index}\":{{\"const\":1}}}},\"required\":[\"b{index}\"]}}]}}"
        )
    };
    one(&format!("{{\"allOf\":[{}]}}", list(24, factor)))
}

fn doubling_properties() -> Vec<u8> {
    definitions(65, |index| match index {
        64 => object_of("{}"),
        index => format!("{{\"type\":\"object\",\"properties\":{{\"a\":{0},\"b\":{0}}}}}", reference(index + 1)),
    })
}

fn doubling_overlap() -> Vec<u8> {
    definitions(65, |index| match index {
        64 => "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}}}".into(),
        index => format!(
            "{{\"anyOf\":[{{\"type\":\"object\",\"properties\":{{\"a\":{0}}}}},{{\"type\":\"object\",\"properties\":{{\"a\":{0}}},\"required\":[\"a\"]}}]}}",
            reference(index + 1)
        ),
    })
}

fn empty_union() -> Vec<u8> {
    one("{\"anyOf\":[]}")
}

fn dangling() -> Vec<u8> {
    one("{\"$ref\":\"#/$defs/Nothing\"}")
}

fn wide_enum() -> Vec<u8> {
    one(&format!("{{\"enum\":[{}]}}", list(100_000, |index| format!("\"v{index}\""))))
}

fn union_of_wide_enums() -> Vec<u8> {
    let values = |first: usize| format!("{{\"enum\":[{}]}}", list(20_000, |index| format!("\"v{}\"", first + index)));
    one(&format!("{{\"anyOf\":[{},{}]}}", values(0), values(10_000)))
}

fn wide_required() -> Vec<u8> {
    one(&format!("{{\"type\":\"object\",\"required\":[{}]}}", list(100_000, |index| format!("\"m{index}\""))))
}

fn wide(prefix: &str) -> String {
    let property = |index: usize| format!("\"{prefix}{index}\":{{\"type\":\"string\"}}");
    format!("{{\"type\":\"object\",\"properties\":{{{}}}}}", list(many(), property))
}

fn wide_object() -> Vec<u8> {
    one(&wide("m"))
}

fn wide_all_of() -> Vec<u8> {
    one(&format!("{{\"allOf\":[{},{}]}}", wide("a"), wide("b")))
}

fn long_constant() -> Vec<u8> {
    one(&format!("{{\"const\":\"{}\"}}", "x".repeat(1_000_000)))
}

fn long_name() -> Vec<u8> {
    schema(std::iter::once(("X".repeat(1_000_000), object_of("{}"))))
}

fn self_holding_all_of() -> Vec<u8> {
    br##"{"$defs":{"T":{"type":"object","properties":{"x":{"allOf":[{"$ref":"#/$defs/T"},{"$ref":"#/$defs/U"}]}}},
        "U":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}}"##
        .to_vec()
}

fn many_problems() -> Vec<u8> {
    definitions(many(), |_| "{\"type\":\"object\",\"unheardOf\":1}".into())
}

fn large() -> Vec<u8> {
    vec![b' '; 33 * 1024 * 1024]
}

fn prose() -> Vec<u8> {
    one(&format!("{{\"type\":\"string\",\"description\":\"{}\"}}", "x ".repeat(2 * 1024 * 1024)))
}

fn generate(bytes: &[u8]) -> Result<usize, Error> {
    let protocol = mcpgen::model(Document::parse("hostile.json", bytes)?, "hostile", false)?;
    let options = Options {
        support: "::mcpgen_types".into(),
        command: "cargo test".into(),
        source: "hostile.json".into(),
        vendored: None,
    };
    Ok(mcpgen::emit(&protocol, &options)?.values().map(String::len).sum())
}

/// The size of the code or an error, the text of a panic, or `None` if the time is up.
type Outcome = Option<Result<Result<usize, Error>, String>>;

/// Runs a case with 8 MiB of stack, like the main thread of a program.
fn run(case: &'static Case) -> (Duration, Outcome) {
    let bytes = (case.document)();
    let (send, receive) = mpsc::channel();
    let start = Instant::now();
    let thread = std::thread::Builder::new().name(case.name.to_owned()).stack_size(8 << 20).spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| generate(&bytes)));
        let panic = |panic: Box<dyn std::any::Any + Send>| panic.downcast_ref::<String>().cloned().unwrap_or_default();
        let _ = send.send(result.map_err(panic));
    });
    assert!(thread.is_ok(), "cannot start a thread");
    let result = receive.recv_timeout(TIMEOUT).ok();
    (start.elapsed(), result)
}

#[test]
fn generator_terminates_on_hostile_documents() {
    let only = std::env::var("MCPGEN_CASE").unwrap_or_default();
    let mut failures = Vec::new();
    for case in CASES.iter().filter(|case| case.name.contains(&only)) {
        let (elapsed, result) = run(case);
        let outcome = match &result {
            None => "timed out".to_owned(),
            Some(Err(panic)) => format!("panics: {panic}"),
            Some(Ok(Ok(size))) => format!("{size} bytes of code"),
            Some(Ok(Err(error))) => error.to_string().chars().take(300).collect(),
        };
        println!("{}: {elapsed:?}: {}", case.name, outcome.lines().next().unwrap_or_default());
        let (end, matches) = match result {
            Some(Ok(Ok(_))) => (Some(End::Code), true),
            Some(Ok(Err(error))) => {
                let end = match &error {
                    Error::Schema(problems) if !problems.is_empty() => Some(End::Problems),
                    Error::Json { .. } => Some(End::NoJson),
                    _ => None,
                };
                (end, error.to_string().contains(case.error))
            }
            _ => (None, false),
        };
        let expected =
            end == Some(case.end) || (case.end == End::Either && matches!(end, Some(End::Code | End::Problems)));
        if !expected || !matches {
            failures.push(format!("{}: expected {:?} with {:?}: {outcome}", case.name, case.end, case.error));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
