//! Compares models with numbers counted in the contracts themselves, and decodes and encodes recorded traffic.

use std::collections::BTreeSet;
use std::path::Path;

use mcpgen_model::{Contract, Mapping, Protocol, Side};
use mcpgen_protocols as protocols;
use mcpgen_schema::Document;
use mcpgen_types::codec::{Decode, Encode};
use serde_json::Value;

/// A message: its method, its sender, and whether it is a request.
type Message = (String, &'static str, bool);

/// Returns the JSON of a contract, and its model.
fn contract(file: &str) -> Option<(Value, Protocol)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = [here.join("contracts").join(file), here.join("../../../shared/family").join(file)];
    let Some(path) = path.iter().find(|path| path.is_file()) else {
        eprintln!("NOTE: ../../../shared/family/{file} is missing, so it is not tested");
        return None;
    };
    let json = serde_json::from_str(&std::fs::read_to_string(path).expect("a contract")).expect("JSON");
    let mut contract = Contract::from(Document::read(path).expect("a document"));
    let messages = here.join("contracts").join(file.split('-').next().unwrap_or_default()).with_extension("toml");
    contract.mapping = messages.is_file().then(|| Mapping::read(&messages).expect("a mapping"));
    Some((json, mcpgen_model::model(contract, "test", false).expect("a model")))
}

/// Returns the messages of a model, once for each sender.
fn messages(protocol: &Protocol) -> BTreeSet<Message> {
    let requests = protocol.requests.iter().map(|it| (&it.method, &it.senders, true));
    let notifications = protocol.notifications.iter().map(|it| (&it.method, &it.senders, false));
    let all = requests.chain(notifications);
    all.flat_map(|(method, senders, is_request)| {
        senders.iter().map(move |sender| (method.clone(), sender.as_str(), is_request))
    })
    .collect()
}

fn senders(direction: &str) -> &'static [&'static str] {
    match direction {
        "clientToServer" | "agent" => &["client"],
        "serverToClient" | "client" => &["server"],
        "both" | "protocol" => &["client", "server"],
        other => panic!("unknown direction {other}"),
    }
}

#[track_caller]
fn check(file: &str, count: usize, expected: impl Fn(&Value) -> Vec<(String, &'static [&'static str], bool)>) {
    let Some((json, protocol)) = contract(file) else { return };
    let expected: BTreeSet<Message> = expected(&json)
        .into_iter()
        .flat_map(|(method, senders, is_request)| senders.iter().map(move |it| (method.clone(), *it, is_request)))
        .collect();
    assert_eq!(messages(&protocol), expected, "{file}");
    assert_eq!(protocol.requests.len() + protocol.notifications.len(), count, "{file}");
}

/// Returns the messages of definitions with `x-method`.
fn by_keyword(json: &Value) -> Vec<(String, &'static [&'static str], bool)> {
    let definitions = json["$defs"].as_object().expect("definitions");
    let methods = definitions.iter().filter(|(name, it)| it.get("x-method").is_some() && !name.ends_with("Response"));
    methods
        .map(|(name, it)| {
            let method = it["x-method"].as_str().expect("a method").to_owned();
            (method, senders(it["x-side"].as_str().expect("a side")), name.ends_with("Request"))
        })
        .collect()
}

fn by_direction(json: &Value) -> Vec<(String, &'static [&'static str], bool)> {
    let of = |key: &str, is_request| {
        let items = json[key].as_array().expect("messages").clone();
        items.into_iter().map(move |it| {
            let method = it["method"].as_str().expect("a method").to_owned();
            (method, senders(it["messageDirection"].as_str().expect("a direction")), is_request)
        })
    };
    of("requests", true).chain(of("notifications", false)).collect()
}

/// OpenRPC has no directions. Clients send all methods except the one in `contracts/sums.toml`.
fn by_methods(json: &Value) -> Vec<(String, &'static [&'static str], bool)> {
    let methods = json["methods"].as_array().expect("methods").iter();
    let message = |method: &Value| {
        let name = method["name"].as_str().expect("a name").to_owned();
        let senders = if name == "overflow" { &["server"][..] } else { &["client"] };
        (name, senders, method.get("result").is_some())
    };
    methods.map(message).collect()
}

/// Returns the requests in the union `A2ARequest`, which clients send.
fn by_union(json: &Value) -> Vec<(String, &'static [&'static str], bool)> {
    let definitions = &json["definitions"];
    let requests = definitions["A2ARequest"]["anyOf"].as_array().expect("requests").iter();
    requests
        .map(|it| {
            let name = it["$ref"].as_str().expect("a reference").rsplit('/').next().expect("a name");
            let method = definitions[name]["properties"]["method"]["const"].as_str().expect("a method");
            (method.to_owned(), &["client"][..], true)
        })
        .collect()
}

#[test]
fn models_have_all_messages_of_the_contracts() {
    check("chat.json", 4, by_keyword);
    check("queue.json", 6, by_direction);
    check("sums.json", 5, by_methods);
    check("acp-v1.json", 25, by_keyword);
    check("lsp-3.17-metaModel.json", 93, by_direction);
    check("starknet-openrpc.json", 25, by_methods);
    check("a2a-0.3.0.json", 10, by_union);
}

#[test]
fn each_side_has_unions_of_its_messages() {
    for file in ["chat.json", "queue.json", "sums.json", "acp-v1.json", "lsp-3.17-metaModel.json", "a2a-0.3.0.json"] {
        let Some((_, protocol)) = contract(file) else { continue };
        for set in mcpgen_model::MessageSet::ALL {
            let union = protocol.types.iter().position(|def| def.message_set() == Some(set));
            let union = union.unwrap_or_else(|| panic!("{file}: no union for {set:?}"));
            let sent = messages(&protocol).into_iter().filter(|(_, sender, is_request)| {
                *sender == set.sender.as_str() && *is_request == (set.kind == mcpgen_model::MessageKind::Request)
            });
            assert_eq!(protocol.uses(union).len(), sent.count(), "{file}: {set:?}");
        }
    }
}

/// A result is what the method returns, not the whole response.
#[test]
fn results_are_not_responses() {
    let Some((_, protocol)) = contract("a2a-0.3.0.json") else { return };
    let result = |method: &str| {
        let request = protocol.requests.iter().find(|it| it.method == method && it.senders == [Side::Client]);
        match &request.unwrap_or_else(|| panic!("{method}")).result {
            mcpgen_model::Type::Named(id) => protocol.types[*id].rust.clone(),
            other => format!("{other:?}"),
        }
    };
    assert_eq!(result("message/send"), "TaskOrMessage");
    assert_eq!(result("tasks/get"), "Task");
    assert_eq!(result("agent/getAuthenticatedExtendedCard"), "AgentCard");
}

/// Decodes and encodes each line of a file in `traffic`.
#[track_caller]
fn round_trips<T: Decode + Encode + PartialEq + std::fmt::Debug>(file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("traffic").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(text.lines().count() > 1, "{file}");
    for line in text.lines() {
        let message: T = mcpgen_types::from_str(line).unwrap_or_else(|error| panic!("{file}: {error}\n{line}"));
        let encoded = mcpgen_types::to_string(&message);
        let [before, after] = [line, encoded.as_str()].map(|it| serde_json::from_str::<Value>(it).expect("JSON"));
        assert_eq!(after, before, "{file}");
        assert_eq!(mcpgen_types::from_str::<T>(&encoded).ok(), Some(message), "{file}");
    }
}

#[test]
fn traffic_survives_decoding_and_encoding() {
    round_trips::<protocols::chat::ClientMessage>("chat.client.jsonl");
    round_trips::<protocols::chat::ServerMessage>("chat.server.jsonl");
    round_trips::<protocols::queue::ClientMessage>("queue.client.jsonl");
    round_trips::<protocols::queue::ServerMessage>("queue.server.jsonl");
    round_trips::<protocols::sums::ClientMessage>("sums.client.jsonl");
}

#[cfg(published)]
#[test]
fn traffic_of_published_contracts_survives_decoding_and_encoding() {
    round_trips::<protocols::acp::ClientMessage>("acp.client.jsonl");
    round_trips::<protocols::acp::ServerMessage>("acp.server.jsonl");
    round_trips::<protocols::lsp::ClientMessage>("lsp.client.jsonl");
    round_trips::<protocols::lsp::ServerMessage>("lsp.server.jsonl");
    round_trips::<protocols::starknet::ClientMessage>("starknet.client.jsonl");
    round_trips::<protocols::a2a::ClientMessage>("a2a.client.jsonl");
}

/// The page has an example of each kind of contract.
#[test]
fn examples_of_the_page_are_contracts() {
    let page = include_str!("../../../codegen/docs/own-schemas.md");
    let (_, section) = page.split_once("## Contracts that mcpgen reads\n").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("the end of the section");
    let examples = section.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    let read = examples.map(|text| {
        let document = Document::parse("page.json", text.as_bytes()).expect("a document");
        let protocol = mcpgen_model::model(document, "test", false).expect("a contract");
        let requests: Vec<String> = protocol.requests.into_iter().map(|request| request.method).collect();
        (protocol.contract, requests.join(", "))
    });
    let expected = [("OpenRPC", "add"), ("JSON Schema with x-method", "room/join"), ("LSP metaModel", "shutdown")];
    assert_eq!(read.collect::<Vec<_>>(), expected.map(|(kind, method)| (kind, method.to_owned())));
    let messages =
        section.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block of TOML");
    assert_eq!(Mapping::parse("jobs.toml", messages).expect("a mapping").messages.len(), 1);
}

#[test]
fn messages_of_other_methods_are_errors() {
    let error = mcpgen_types::from_str::<protocols::chat::ClientRequestMessage>(
        r#"{"jsonrpc": "2.0", "id": 1, "method": "room/leave", "params": {}}"#,
    );
    let error = error.expect_err("an unknown method").to_string();
    assert!(error.contains("room/leave") || error.contains("method"), "{error}");
}

#[test]
fn keys_of_maps_have_the_type_of_the_contract() {
    let decode = |text| mcpgen_types::from_str::<protocols::queue::PushParams>(text);
    assert!(decode(r#"{"jobs": [], "limits": {"-1": 5}}"#).is_ok());
    let error = decode(r#"{"jobs": [], "limits": {"one": 5}}"#).expect_err("a key that is no integer").to_string();
    assert!(error.contains("limits.one: name: expected a string that matches"), "{error}");
}

#[test]
fn enumerations_have_the_names_of_the_contract() {
    assert_eq!(mcpgen_types::to_string(&protocols::queue::Priority::High), "2");
}

#[test]
fn errors_have_the_codes_of_the_contract() {
    assert_eq!(protocols::chat::ROOM_IS_FULL_ERROR.0, -32001);
    assert_eq!(protocols::queue::PARSE_ERROR.0, -32700);
    assert_eq!(protocols::queue::QUEUE_FULL_ERROR.0, -32800);
    assert_eq!(protocols::sums::TOO_LARGE_ERROR.0, 7);
    assert_eq!(protocols::sums::SUMS_ARE_LOCKED_ERROR.0, 8);
}

/// Every message names the place and says what is expected there.
#[test]
fn contracts_with_mistakes_are_refused() {
    let cases = [
        (
            r#"{"$defs": {"A": {"type": "object", "x-method": "a", "x-side": "nobody"}}}"#,
            r#"/$defs/A: expected the name of a method, and "agent", "client" or "both" as `x-side`"#,
        ),
        (r#"{"$defs": {"A": {"x-method": 1, "x-side": "agent"}}}"#, "/$defs/A: expected the name of a method"),
        (
            r#"{"$defs": {"ARequest": {"x-method": "a", "x-side": "agent"}, "AResponse": {"x-method": "a", "x-side": "client"}}}"#,
            "/$defs/ARequest: no definition `…Response` has the method \"a\" of this request",
        ),
        (
            r#"{"$defs": {"AResponse": {"x-method": "a", "x-side": "agent"}}}"#,
            "/$defs/AResponse: no definition `…Request` has the method \"a\"",
        ),
        (
            r#"{"$defs": {"SayNotification": {"x-method": "a", "x-side": "both"}, "CryNotification": {"x-method": "a", "x-side": "agent"}}}"#,
            "/$defs/CryNotification: another message of the client has the method \"a\"",
        ),
        (r#"{"openrpc": "1.3.2"}"#, "/methods: expected an array of methods"),
        (
            r#"{"openrpc": "1.3.2", "methods": [{"name": "a", "params": []}, {"name": "a", "params": []}]}"#,
            "/methods/1: another message of the client has the method \"a\"",
        ),
        (
            r#"{"openrpc": "1.3.2", "methods": [{"name": "a", "params": [{"name": "b"}]}]}"#,
            "/methods/0/params/0: expected a content descriptor with a `name` and a `schema`",
        ),
        (
            r##"{"openrpc": "1.3.2", "methods": [{"name": "a", "params": [{"$ref": "#/components/x"}]}]}"##,
            "/methods/0/params/0/$ref: \"#/components/x\" leads to nothing in this document, or to itself",
        ),
        (
            r##"{"openrpc": "1.3.2", "methods": [{"$ref": "#/methods/0"}]}"##,
            "/methods/0/$ref: \"#/methods/0\" leads to",
        ),
        (
            r#"{"openrpc": "1.3.2", "methods": [{"name": "a", "paramStructure": "any", "params": [{"name": "b", "schema": {}}]}]}"#,
            "/methods/0/paramStructure: expected \"by-name\", \"by-position\" or \"either\"",
        ),
        (
            r#"{"openrpc": "1.3.2", "methods": [{"name": "a", "paramStructure": 1, "params": [{"name": "b", "schema": {}}]}]}"#,
            "/methods/0/paramStructure: expected \"by-name\", \"by-position\" or \"either\"",
        ),
        (
            r#"{"openrpc": "1.3.2", "methods": [{"name": "a", "params": [{"name": "b", "schema": {}}, {"name": "b", "schema": {}}]}]}"#,
            "/methods/0/params/1/name: another param has the name \"b\"",
        ),
        (
            r#"{"openrpc": "1.3.2", "methods": [{"name": "a", "params": [{"name": "b", "required": "true", "schema": {}}]}]}"#,
            "/methods/0/params/0/required: expected true or false",
        ),
        (
            r#"{"openrpc": "1.3.2", "methods": [], "components": {"errors": {"A": {"code": 1.5, "message": ""}}}}"#,
            "/components/errors/A/code: expected an integer",
        ),
        (
            r#"{"openrpc": "1.3.2", "methods": [{"name": "a", "params": [], "errors": [{"message": ""}]}]}"#,
            "/methods/0/errors/0/code: expected an integer",
        ),
        (
            r#"{"openrpc": "1.3.2", "methods": [], "components": {"schemas": {"A": {"minimun": 1}}}}"#,
            "a.json#/components/schemas/A/minimun: ",
        ),
        (
            r#"{"openrpc": "1.3.2", "methods": [{"name": "a", "params": [{"name": "b/c", "schema": {"minimun": 1}}]}]}"#,
            "a.json#/methods/0/params/0/schema/minimun: ",
        ),
        (
            r#"{"openrpc": "1.3.2", "methods": [{"name": "a", "params": [], "result": {"name": "b", "schema": {"minimun": 1}}}]}"#,
            "a.json#/methods/0/result/schema/minimun: ",
        ),
        (
            r##"{"openrpc": "1.3.2", "methods": [{"name": "a", "params": [{"$ref": "#/components/contentDescriptors/B"}]}], "components": {"contentDescriptors": {"B": {"name": "b", "schema": {"items": {"minimun": 1}}}}}}"##,
            "a.json#/components/contentDescriptors/B/schema/items/minimun: ",
        ),
        (
            r#"{"requests": [], "structures": [{"name": "A", "properties": [{"name": "b", "type": {"kind": "reference", "name": "C"}}]}]}"#,
            "a.json#/structures/0/properties/0/type: ",
        ),
        (
            r#"{"requests": [{"method": "a", "messageDirection": "both", "params": {"kind": "reference", "name": "C"}}], "structures": []}"#,
            "a.json#/requests/0/params: there is no definition \"C\"",
        ),
        (
            r#"{"requests": [], "notifications": [{"method": "a", "messageDirection": "up"}], "structures": []}"#,
            "/notifications/0/messageDirection: expected clientToServer, serverToClient or both, found \"up\"",
        ),
        (
            r#"{"requests": [], "notifications": [{"method": "a", "messageDirection": "both", "result": {"kind": "base", "name": "null"}}]}"#,
            "/notifications/0/result: a notification has no result",
        ),
        (
            r#"{"requests": [], "notifications": [], "structures": [{"name": "A", "properties": [{"name": "b", "type": {"kind": "list"}}]}]}"#,
            "/structures/0/properties/0/type/kind: \"list\" is not a kind of type",
        ),
        (
            r#"{"requests": [], "structures": [{"name": "A", "properties": [{"name": "b", "type": {"kind": "stringLiteral"}}]}]}"#,
            "/structures/0/properties/0/type/value: expected a value",
        ),
        (
            r#"{"requests": [], "structures": [{"name": "A", "extends": [{"kind": "reference", "name": "B"}], "properties": []}]}"#,
            "/structures/0/extends/0: there is no structure \"B\"",
        ),
        (
            r#"{"requests": [], "structures": [{"name": "A", "properties": []}, {"name": "A", "properties": []}]}"#,
            "/structures/1/name: another type has the name \"A\"",
        ),
        (
            r#"{"requests": [], "structures": [], "enumerations": [{"name": "A", "type": {"kind": "base", "name": "string"}, "values": [{"value": "b"}]}]}"#,
            "/enumerations/0/values/0/name: expected a text",
        ),
    ];
    for (text, expected) in cases {
        let document = Document::parse("a.json", text.as_bytes()).expect("a document");
        let error = mcpgen_model::model(document, "test", false).expect_err(text).to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("help: "), "{error}");
    }
}

/// The copies of inherited members are limited.
#[test]
fn many_inherited_members_are_refused() {
    let member = |index: usize| format!(r#"{{"name": "m{index}", "type": {{"kind": "base", "name": "string"}}}}"#);
    let members: Vec<String> = (0..2_000).map(member).collect();
    let heir = |index: usize| {
        format!(r#"{{"name": "S{index}", "extends": [{{"kind": "reference", "name": "A"}}], "properties": []}}"#)
    };
    let heirs: Vec<String> = (0..2_000).map(heir).collect();
    let text = format!(
        r#"{{"requests": [], "structures": [{{"name": "A", "properties": [{}]}}, {}]}}"#,
        members.join(","),
        heirs.join(",")
    );
    let document = Document::parse("a.json", text.as_bytes()).expect("a document");
    let error = mcpgen_model::model(document, "test", false).expect_err("too many members").to_string();
    let expected = "a.json#/structures/50: all structures together have more than 100000 members\n  help: inherit less";
    assert_eq!(error, expected);
}

/// Reading a chain of 10,000 structures does not overflow the stack, and does not take long.
#[test]
fn long_chains_are_refused() {
    let structure = |index: usize| {
        let parent = format!(r#"{{"kind": "reference", "name": "S{}"}}"#, index + 1);
        format!(r#"{{"name": "S{index}", "extends": [{parent}], "properties": []}}"#)
    };
    let structures: Vec<String> = (0..10_000).map(structure).collect();
    let text = format!(r#"{{"requests": [], "notifications": [], "structures": [{}]}}"#, structures.join(","));
    let document = Document::parse("a.json", text.as_bytes()).expect("a document");
    let error = mcpgen_model::model(document, "test", false).expect_err("a long chain").to_string();
    assert!(error.contains("it inherits from more than 100 structures\n  help: merge structures"), "{error:.300}");
}
