//! What clients see, and what is logged.

use std::fs;
use std::path::Path;
use std::time::Duration;

use mcpgen_gateway::{Annotations, Config, Gateway, Rules, WhenChanged};
use mcpgen_types::v2026_07_28::PromptReference;
use mcpgen_types::{JsonObject, Revision};
use serde_json::{Value, json};

use crate::support::{DEADLINE, ERAS, call, client, connect, gateway, in_time, text, tool_names, two_servers};

fn rules(rules: Value) -> Rules {
    serde_json::from_value(rules).expect("rules")
}

#[tokio::test]
async fn hides_what_the_rules_deny() {
    for revision in ERAS {
        let mut config = two_servers(revision);
        config.tools = rules(json!({ "deny": ["b__greet", "b__link", "c*"] }));
        let a = config.servers.get_mut("a").expect("a server");
        a.tools = rules(json!({ "deny": ["greet", "wait"] }));
        a.resources = rules(json!({ "allow": ["a:*"] }));
        let client = connect(&gateway(config), client(revision)).await;
        let mut names = tool_names(&client).await;
        names.sort();
        assert_eq!(names, ["a__link", "echo", "elicit", "only_a", "only_b", "sample"]);
        // A hidden tool is like one that does not exist.
        for hidden in ["a__greet", "b__greet", "crash"] {
            let error = call(&client, hidden).await.expect_err(hidden).to_string();
            assert!(error.contains(&format!("unknown tool {hidden:?}")), "{error}");
        }
        let resources = in_time(client.resources()).await.expect("resources");
        let uris: Vec<_> = resources.iter().map(|resource| &*resource.uri).collect();
        assert_eq!(uris, ["a:///note", "b:///note", "b+file:///shared"]);
        for (uri, is_visible) in [("a+file:///shared", false), ("b+file:///shared", true), ("row://1", false)] {
            assert_eq!(in_time(client.read_resource(uri)).await.is_ok(), is_visible, "{uri}");
        }
    }
}

#[tokio::test]
async fn rules_hold_for_both_forms_of_a_uri() {
    let mut config = two_servers(Revision::LATEST);
    config.resources = rules(json!({ "deny": ["b:///*"] }));
    let client = connect(&gateway(config), client(Revision::LATEST)).await;
    for (uri, is_visible) in [("a:///note", true), ("a+a:///note", true), ("b:///note", false), ("b+b:///note", false)]
    {
        assert_eq!(in_time(client.read_resource(uri)).await.is_ok(), is_visible, "{uri}");
    }
}

/// Whether a name has a prefix depends on the other servers, so rules are matched against both forms.
#[tokio::test]
async fn rules_hold_for_both_forms_of_a_name() {
    let only = |config: &mut Config, name: &str| config.servers.retain(|known, _| known == name);
    for (tools, both, alone) in [
        (json!({ "allow": ["*greet"] }), vec!["a__greet", "b__greet"], vec!["greet"]),
        (json!({ "allow": ["*greet"], "deny": ["b__greet"] }), vec!["a__greet"], vec![]),
        (json!({ "allow": ["*greet"], "deny": ["greet"] }), vec![], vec![]),
        (json!({ "allow": ["b__greet"] }), vec!["b__greet"], vec!["greet"]),
        (json!({ "allow": ["b__only_b"] }), vec!["only_b"], vec!["only_b"]),
        (json!({ "allow": ["only_b"] }), vec!["only_b"], vec!["only_b"]),
        (json!({ "allow": ["*only_*"], "deny": ["b__*"] }), vec!["only_a"], vec![]),
    ] {
        let mut config = two_servers(Revision::LATEST);
        config.tools = rules(tools.clone());
        let gateway = gateway(config.clone());
        let client = connect(&gateway, client(Revision::V2025_11_25)).await;
        assert_eq!(tool_names(&client).await, both, "{tools}");
        // The clash goes away, and the prefix with it.
        only(&mut config, "b");
        gateway.reload(config, Path::new("")).expect("a valid configuration");
        let found = async {
            while tool_names(&client).await != alone {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(DEADLINE, found).await.unwrap_or_else(|_| panic!("{tools}"));
        for name in ["greet", "b__greet"] {
            assert_eq!(call(&client, name).await.is_ok(), alone.contains(&"greet"), "{tools} {name}");
        }
    }
}

#[tokio::test]
async fn shows_tools_with_the_annotations_only() {
    let mut config = two_servers(Revision::LATEST);
    let mut only_readers = Annotations::default();
    only_readers.read_only = Some(true);
    config.tools.annotations = only_readers;
    let client = connect(&gateway(config), client(Revision::LATEST)).await;
    assert_eq!(tool_names(&client).await, ["only_a", "only_b"]);
    assert!(call(&client, "echo").await.is_err());
}

#[tokio::test]
async fn logs_calls_without_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = two_servers(Revision::LATEST);
    config.calls.log = Some("calls.jsonl".into());
    config.calls.arguments = true;
    let gateway = Gateway::new(config, folder.path()).expect("a gateway");
    let client = connect(&gateway, client(Revision::V2025_11_25)).await;
    let arguments: JsonObject = mcpgen_types::from_value(json!({ "text": "x", "password": "p" })).expect("an object");
    in_time(client.call_tool("echo", arguments)).await.expect("a result");
    assert_eq!(text(&client, "b__greet").await, "hello from b");
    call(&client, "nothing").await.expect_err("an unknown tool");
    call(&client, "crash").await.expect_err("the server ends");
    let log = fs::read_to_string(folder.path().join("calls.jsonl")).expect("a log");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let facts = |line: &Value| json!([line["name"], line["server"], line["client"], line["outcome"]]);
    assert_eq!(
        lines.iter().map(facts).collect::<Vec<_>>(),
        [
            json!(["echo", "a", "in front", "ok"]),
            json!(["b__greet", "b", "in front", "ok"]),
            json!(["nothing", null, "in front", "error"]),
            json!(["crash", "a", "in front", "error"]),
        ]
    );
    let metrics = gateway.metrics();
    for (labels, count) in [
        (r#"server="a",outcome="ok""#, 1),
        (r#"server="a",outcome="error""#, 1),
        (r#"server="b",outcome="ok""#, 1),
        (r#"server="",outcome="error""#, 1),
    ] {
        let line = format!("mcpgen_gateway_call_duration_seconds_count{{{labels}}} {count}\n");
        assert!(metrics.contains(&line), "{line}{metrics}");
    }
    assert!(metrics.contains("\nmcpgen_gateway_clients 1\n"), "{metrics}");
    assert_eq!(lines[0]["arguments"], json!({ "text": "x", "password": "[redacted]" }));
    assert!(lines[3]["error"]["message"].as_str().expect("a text").contains("server `a`"));
}

#[tokio::test]
async fn limits_the_rate_of_calls() {
    let mut config = two_servers(Revision::LATEST);
    config.calls.per_minute = Some(3);
    let client = connect(&gateway(config), client(Revision::LATEST)).await;
    for _ in 0..3 {
        assert_eq!(text(&client, "only_a").await, "only");
    }
    let completed = in_time(client.complete_argument(PromptReference::new("review"), "language", "r")).await;
    for error in [call(&client, "only_a").await.map(drop), completed.map(drop)] {
        let error = error.expect_err("too many calls").to_string();
        assert!(error.contains("too many calls; try again in"), "{error}");
    }
}

/// Methods of extensions are relayed only if there is a single server.
#[tokio::test]
async fn limits_and_logs_methods_of_extensions() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = two_servers(Revision::V2025_11_25);
    config.servers.retain(|name, _| name == "a");
    config.calls.log = Some("calls.jsonl".into());
    config.calls.per_minute = Some(1);
    let gateway = Gateway::new(config, folder.path()).expect("a gateway");
    let client = connect(&gateway, client(Revision::V2025_11_25)).await;
    for expected in ["-32601", "too many calls"] {
        let error = in_time(client.peer().raw_request("acme/do", None)).await.expect_err(expected);
        assert!(format!("{error:?} {error}").contains(expected), "{error:?}");
    }
    let log = fs::read_to_string(folder.path().join("calls.jsonl")).expect("a log");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let facts = |line: &Value| json!([line["method"], line["server"], line["outcome"]]);
    let expected = [json!(["acme/do", "a", "error"]), json!(["acme/do", null, "error"])];
    assert_eq!(lines.iter().map(facts).collect::<Vec<_>>(), expected);
}

/// A tool that differs from its pin, and one that has none.
#[tokio::test]
async fn notices_tools_that_have_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let pins = gateway(two_servers(Revision::LATEST)).pin().await.expect("pins");
    let mut pins: Value = serde_json::from_str(&pins).expect("JSON");
    for (when, names, refused) in [
        (WhenChanged::Warn, vec!["only_a", "only_b"], None),
        (WhenChanged::Hide, vec![], Some("unknown tool \"only_a\"")),
        (WhenChanged::Refuse, vec!["only_a", "only_b"], Some("has changed since it was pinned")),
    ] {
        let of = |pins: &mut Value, server: &str| {
            let tools = pins[server].as_array_mut().expect("tools");
            let at = tools.iter().position(|tool| tool["name"] == format!("only_{server}"));
            (std::mem::take(tools), at)
        };
        let (mut a, at) = of(&mut pins, "a");
        if let Some(at) = at {
            // When the tool was pinned, it had another required argument, and an output schema.
            a[at]["inputSchema"] =
                json!({ "type": "object", "properties": { "x": { "type": "string" } }, "required": ["x"] });
            a[at]["outputSchema"] = json!({ "type": "object", "required": ["y"] });
        }
        let (mut b, at) = of(&mut pins, "b");
        at.map(|at| b.remove(at));
        (pins["a"], pins["b"]) = (a.into(), b.into());
        fs::write(folder.path().join("pins.json"), pins.to_string()).expect("written");
        let mut config = two_servers(Revision::LATEST);
        let pinning = json!({ "file": "pins.json", "when_changed": format!("{when:?}").to_lowercase() });
        config.pins = Some(serde_json::from_value(pinning).expect("settings"));
        config.tools = rules(json!({ "allow": ["only_*", "echo"] }));
        let gateway = Gateway::new(config, folder.path()).expect("a gateway");
        let client = connect(&gateway, client(Revision::V2025_11_25)).await;
        let mut expected = vec!["echo"];
        expected.extend(names);
        assert_eq!(tool_names(&client).await, expected, "{when:?}");
        assert_eq!(text(&client, "echo").await, "");
        for tool in ["only_a", "only_b"] {
            match (call(&client, tool).await, refused) {
                (Ok(_), None) => {}
                (Err(error), Some(expected)) if tool == "only_a" || when == WhenChanged::Refuse => {
                    assert!(error.to_string().contains(expected), "{error}");
                }
                (Err(error), Some(_)) => assert!(error.to_string().contains("unknown tool"), "{error}"),
                (result, _) => panic!("{when:?} {tool}: {result:?}"),
            }
        }
    }
}
