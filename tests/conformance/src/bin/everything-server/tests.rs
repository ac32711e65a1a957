//! Calls the server from legacy and modern clients.

use mcpgen_sdk::tasks::CallTasks;
use mcpgen_sdk::{Client, ClientBuilder, serve, transport};
use mcpgen_types::v2026_07_28::{
    CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitResultAction, ElicitResultContentValue,
    PromptReference, Role, Root, TextContent,
};
use mcpgen_types::{JsonObject, Revision};
use serde_json::{Value, json};

use super::*;

const REVISIONS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

fn everything() -> Server {
    let builder = server(&RequestStateCodec::of_this_process(STATE_LIFETIME).expect("a codec"));
    let server = tasks::tools(builder, InMemoryTaskStore::default()).build();
    events::add_changing_tools(&server).expect("new tools");
    server
}

/// Returns a client that answers all input requests. It fills in each form field with its default, or else with its
/// name.
fn accepting_client() -> ClientBuilder {
    Client::builder("test-client", "1")
        .on_elicitation(|_, params| async move {
            Ok(ElicitResult::new(ElicitResultAction::Accept).with_content(form_values(&params)))
        })
        .on_sampling(|_, _| async {
            Ok(CreateMessageResult::new(Role::Assistant, TextContent::new("Hello"), "test-model"))
        })
        .roots([Root::new("file:///test/root")])
}

fn form_values(params: &ElicitRequestParams) -> std::collections::BTreeMap<String, ElicitResultContentValue> {
    let params = mcpgen_types::to_value(params).expect("valid JSON");
    let fields = params["requestedSchema"]["properties"].as_object().expect("properties").clone();
    let values = fields.into_iter().map(|(name, schema)| {
        let example = if schema["type"] == "boolean" { json!(true) } else { json!(name) };
        let value = schema.get("default").cloned().unwrap_or(example);
        (name, mcpgen_types::from_value(value).expect("a valid field value"))
    });
    values.collect()
}

async fn connect(server: &Server, builder: ClientBuilder, revision: Revision) -> Client {
    let (client, peer) = transport::duplex();
    let server = server.clone();
    tokio::spawn(async move { serve(server, peer).await });
    let builder = builder.revisions([revision]);
    builder.connect(client.0, client.1).await.expect("the client connects")
}

async fn call(client: &Client, name: &str, arguments: Value) -> Value {
    let arguments: JsonObject = arguments.try_into().expect("arguments are an object");
    let result = client.call_tool(name, arguments).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    mcpgen_types::to_value(&result).expect("valid JSON")
}

/// Tools whose first content is text: the name, the arguments and the text.
const TEXTS: &[(&str, &str, &str)] = &[
    ("test_simple_text", "{}", "This is a simple text response for testing."),
    ("test_multiple_content_types", "{}", "Multiple content types test:"),
    ("test_tool_with_logging", "{}", "Three events were logged."),
    ("test_logging_tool", "{}", "Three events were logged."),
    ("test_tool_with_progress", "{}", "The work is done."),
    ("test_reconnection", "{}", "The client has reconnected."),
    ("test_sampling", r#"{"prompt": "?"}"#, "LLM response: Hello"),
    (
        "test_elicitation",
        r#"{"message": "?"}"#,
        r#"User response: action=accept, content={"email":"email","username":"username"}"#,
    ),
    (
        "test_elicitation_sep1034_defaults",
        "{}",
        r#"Elicitation completed: action=accept, content={"age":30,"name":"John Doe","score":95.5,"status":"active","verified":true}"#,
    ),
    ("test_missing_capability", "{}", "LLM response: Hello"),
    ("test_streaming_elicitation", "{}", r#"action=accept, content={"ok":true}"#),
    ("test_input_required_result_elicitation", "{}", "Hello, name!"),
    ("test_input_required_result_sampling", "{}", "Hello"),
    ("test_input_required_result_list_roots", "{}", "The roots are file:///test/root."),
    ("test_input_required_result_request_state", "{}", r#"state-ok: action=accept, content={"ok":true}"#),
    ("test_input_required_result_tampered_state", "{}", r#"state-ok: action=accept, content={"ok":true}"#),
    ("test_input_required_result_multi_round", "{}", "name likes color."),
    (
        "test_input_required_result_capabilities",
        "{}",
        r#"action=accept, content={"name":"name"}; Hello; file:///test/root"#,
    ),
    ("test_input_required_result_multiple_inputs", "{}", "Hello name; file:///test/root"),
    ("greet", r#"{"name": "World"}"#, "Hello, World!"),
    ("slow_compute", r#"{"seconds": 0, "label": "zero"}"#, "zero: computed for 0 s"),
    ("confirm_delete", "{}", "There is nothing to delete."),
    ("confirm_delete", r#"{"filename": "a"}"#, r#"a: action=accept, content={"confirm":true}"#),
    ("multi_input", "{}", r#"action=accept, content={"name":"name"}; action=accept, content={"ok":true}"#),
    ("test_header_parameters", r#"{"region": "here"}"#, "region=here priority=0 dry_run=false"),
    ("json_schema_2020_12_tool", r#"{"phone": "1"}"#, r#"{"phone":"1"}"#),
];

#[tokio::test]
async fn tools_return_the_same_in_legacy_and_modern_revisions() {
    for revision in REVISIONS {
        let client = connect(&everything(), accepting_client(), revision).await;
        for (name, arguments, expected) in TEXTS {
            let result = call(&client, name, serde_json::from_str(arguments).expect("valid JSON")).await;
            assert_eq!(result["content"][0]["text"], *expected, "{revision} {name}");
            assert_eq!(result.get("isError"), None, "{revision} {name}");
        }
        let failed = call(&client, "test_error_handling", json!({})).await;
        assert_eq!(failed["isError"], true);
        for (name, kind, mime_type) in
            [("test_image_content", "image", "image/png"), ("test_audio_content", "audio", "audio/wav")]
        {
            let content = call(&client, name, json!({})).await["content"][0].clone();
            assert_eq!((&content["type"], &content["mimeType"]), (&json!(kind), &json!(mime_type)));
        }
        let content = call(&client, "test_embedded_resource", json!({})).await["content"][0].clone();
        assert_eq!(content["resource"]["uri"], "test://embedded-resource");
    }
}

#[tokio::test]
async fn tests_every_tool() {
    let client = connect(&everything(), accepting_client(), Revision::V2026_07_28).await;
    let tools = client.tools().await.expect("tools");
    assert_eq!(tools[0].name, "confirm_delete");
    // The suite calls the first tool in the list without arguments, and expects a result.
    call(&client, "confirm_delete", json!({})).await;
    let tested_elsewhere = [
        "test_error_handling",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_elicitation_sep1330_enums",
        "test_trigger_tool_change",
        "test_trigger_prompt_change",
        "failing_job",
        "protocol_error_job",
        "test_tool_with_task",
    ];
    for tool in tools.iter() {
        assert!(tool.description.is_some(), "{}", tool.name);
        let is_tested =
            TEXTS.iter().any(|(name, ..)| *name == tool.name) || tested_elsewhere.contains(&tool.name.as_str());
        assert!(is_tested, "{}", tool.name);
    }
}

#[tokio::test]
async fn elicits_each_kind_of_enum() {
    for revision in REVISIONS {
        let declining = Client::builder("test-client", "1").on_elicitation(|_, params| async move {
            let params = mcpgen_types::to_value(&params).expect("valid JSON");
            let fields = &params["requestedSchema"]["properties"];
            assert_eq!(
                fields["untitledSingle"],
                json!({ "type": "string", "enum": ["option1", "option2", "option3"] })
            );
            assert_eq!(fields["titledSingle"]["oneOf"][0], json!({ "const": "value1", "title": "First Option" }));
            assert_eq!(fields["legacyEnum"]["enumNames"].as_array().map(Vec::len), Some(3));
            assert_eq!(fields["untitledMulti"]["items"]["enum"][2], "option3");
            assert_eq!(fields["titledMulti"]["items"]["anyOf"][2]["title"], "Third Choice");
            Ok(ElicitResult::new(ElicitResultAction::Decline))
        });
        let client = connect(&everything(), declining, revision).await;
        let result = call(&client, "test_elicitation_sep1330_enums", json!({})).await;
        assert_eq!(result["content"][0]["text"], "Elicitation completed: action=decline, content={}");
    }
}

#[tokio::test]
async fn does_not_request_unsupported_input() {
    for revision in REVISIONS {
        let client = connect(&everything(), Client::builder("test-client", "1"), revision).await;
        let outcome = client.call_tool("test_missing_capability", JsonObject::new()).await;
        match revision.is_legacy() {
            true => assert_eq!(outcome.expect("a result").is_error, Some(true)),
            false => assert!(outcome.expect_err("an error response").to_string().contains("sampling")),
        }
        let result = call(&client, "test_input_required_result_capabilities", json!({})).await;
        assert_eq!(result["content"][0]["text"], "");
    }
}

#[tokio::test]
async fn serves_resources_and_prompts() {
    for revision in REVISIONS {
        let client = connect(&everything(), accepting_client(), revision).await;
        let read =
            async |uri| mcpgen_types::to_value(&client.read_resource(uri).await.expect(uri)).expect("valid JSON");
        let text = read("test://static-text").await["contents"][0].clone();
        assert_eq!(text["text"], "This is the content of the static text resource.");
        assert_eq!(read("test://static-binary").await["contents"][0]["mimeType"], "image/png");
        let data = read("test://template/123/data").await["contents"][0]["text"].clone();
        assert!(data.as_str().expect("text").contains(r#""id":"123""#), "{data}");
        assert!(client.read_resource("test://nowhere").await.is_err());

        let get = async |name, arguments: &[(&str, &str)]| {
            let arguments = arguments.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            mcpgen_types::to_value(&client.prompt(name, arguments).await.expect(name)).expect("valid JSON")["messages"]
                .clone()
        };
        assert_eq!(get("test_simple_prompt", &[]).await[0]["content"]["text"], "This is a simple prompt for testing.");
        let messages = get("test_prompt_with_arguments", &[("arg1", "hello"), ("arg2", "world")]).await;
        assert_eq!(messages[0]["content"]["text"], "Prompt with arguments: arg1='hello', arg2='world'");
        let messages = get("test_prompt_with_embedded_resource", &[("resourceUri", "test://a")]).await;
        assert_eq!(messages[0]["content"]["resource"]["uri"], "test://a");
        assert_eq!(get("test_prompt_with_image", &[]).await[0]["content"]["type"], "image");
        let messages = get("test_input_required_result_prompt", &[]).await;
        assert_eq!(messages[0]["content"]["text"], "Use this context: context");

        let reference = PromptReference::new("test_prompt_with_arguments");
        let completion = client.complete_argument(reference, "arg1", "par").await.expect("values");
        assert_eq!(completion.values.get(), &["paris".to_owned(), "park".to_owned(), "party".to_owned()]);
    }
}

#[tokio::test]
async fn tools_return_the_same_as_tasks() {
    let codec = RequestStateCodec::of_this_process(STATE_LIFETIME).expect("a codec");
    let server = tasks::tools(server(&codec), InMemoryTaskStore::default()).build();
    let client = connect(&server, accepting_client().tasks(), Revision::V2026_07_28).await;
    let tools = ["greet", "slow_compute", "confirm_delete", "multi_input"];
    for (name, arguments, expected) in TEXTS.iter().filter(|(name, ..)| tools.contains(name)) {
        let result = call(&client, name, serde_json::from_str(arguments).expect("valid JSON")).await;
        assert_eq!(result["content"][0]["text"], *expected, "{name}");
    }
    let result = call(&client, "test_tool_with_task", json!({})).await;
    assert_eq!(result["content"][0]["text"], "Hello, name!");
    assert_eq!(call(&client, "failing_job", json!({})).await["isError"], true);
    let error = client.call_tool("protocol_error_job", JsonObject::new()).await.expect_err("an error");
    assert!(error.to_string().contains("protocol error"), "{error}");
    for id in ["", "../tasks", "00"] {
        let params = mcpgen_types::Json::from(&json!({ "taskId": id }));
        let unknown = client.peer().raw_request("tasks/get", Some(params)).await;
        assert!(unknown.expect_err("no task").to_string().contains("unknown"), "{id}");
    }
}

#[tokio::test]
async fn triggers_change_lists() {
    let client = connect(&everything(), accepting_client(), Revision::V2026_07_28).await;
    let (tools, prompts) = (client.tools().await.expect("tools").len(), client.prompts().await.expect("prompts").len());
    for more in [1, 0] {
        call(&client, "test_trigger_tool_change", json!({})).await;
        call(&client, "test_trigger_prompt_change", json!({})).await;
        assert_eq!(client.tools().await.expect("tools").len(), tools + more);
        assert_eq!(client.prompts().await.expect("prompts").len(), prompts + more);
    }
}
