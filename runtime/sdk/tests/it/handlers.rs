//! The arguments of handlers, and the state of a server.

use std::collections::BTreeMap;

use mcpgen_sdk::prelude::*;
use mcpgen_sdk::server::{Call, FromCall, FromRef, Uri, with_state};
use mcpgen_types::v2026_07_28::{
    CompleteRequestParams, Prompt, PromptReference, Resource, ResourceTemplate, ResourceTemplateReference,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// The arguments of all tools, prompts and templates here.
#[derive(Deserialize, JsonSchema)]
struct Item {
    id: u32,
}

#[derive(Clone)]
struct Store {
    name: &'static str,
    part: Part,
}

#[derive(Clone)]
struct Part(&'static str);

impl FromRef<Store> for Part {
    fn from_ref(store: &Store) -> Self {
        store.part.clone()
    }
}

const STORE: Store = Store { name: "store", part: Part("part") };

impl Store {
    async fn tool(self, Args(item): Args<Item>, context: RequestContext) -> String {
        format!("{} {} {}", self.name, item.id, context.method())
    }

    async fn resource(self) -> &'static str {
        self.name
    }

    async fn template(self, Uri(uri): Uri, Args(item): Args<Item>) -> String {
        format!("{} {uri} {}", self.name, item.id)
    }

    async fn prompt(self, Args(item): Args<Item>) -> String {
        format!("{} {}", self.name, item.id)
    }

    async fn complete(self, params: CompleteRequestParams) -> Result<Vec<String>, ToolError> {
        Ok(vec![format!("{} {}", self.name, params.argument.value)])
    }
}

/// An argument that fails if the caller is unknown, as that of a server with users.
struct User;

impl<C: Call, S> FromCall<C, S> for User {
    fn from_call(call: &mut C, _: &S) -> Result<Self, ToolError> {
        call.context().principal().map(|_| Self).ok_or_else(|| "sign in first".into())
    }
}

fn server() -> Server {
    let prompt = || Prompt::new("prompt");
    Server::builder("store", "1")
        .tool("stateless", |_: State<()>| async { "no state" })
        .state("first")
        .tool("first", |State(state): State<&'static str>| async move { state })
        .state(STORE)
        .tool("method", Store::tool)
        .tool("context_first", |context: RequestContext, Args(item): Args<Item>| async move {
            format!("{} {}", context.method(), item.id)
        })
        .tool("all", all)
        .tool("raw", |_: RequestContext, _: Peer, arguments: JsonObject, State(Part(part)): State<Part>| async move {
            format!("{part} {}", mcpgen_types::to_string(&arguments))
        })
        .tool("add", |context: RequestContext, State(store): State<Store>| async move {
            context.server().add_tool("added", with_state(store, Store::tool))
        })
        .tool("user", |_: User| async { "known" })
        .resource(Resource::new("item:///", "items"), Store::resource)
        .resource(Resource::new("item:///uri", "uri"), |Uri(uri)| async move { uri })
        .resource(Resource::new("item:///user", "user"), |_: User| async { "known" })
        .resource_template(ResourceTemplate::new("item:///typed/{id}", "typed"), Store::template)
        .resource_template(
            ResourceTemplate::new("item:///raw/{id}", "raw"),
            |variables: BTreeMap<String, String>, _: RequestContext| async move { format!("{variables:?}") },
        )
        .prompt(prompt(), Store::prompt)
        .prompt(Prompt::new("raw"), |arguments: BTreeMap<String, String>| async move { format!("{arguments:?}") })
        .prompt(Prompt::new("user"), |_: User| async { "known" })
        .prompt_completion("prompt", "id", Store::complete)
        .template_completion("item:///typed/{id}", "id", |_: User| async { vec![] })
        .build()
}

async fn all(
    Args(item): Args<Item>,
    State(store): State<Store>,
    context: Context,
    request: RequestContext,
    State(part): State<Part>,
    _: Peer,
) -> String {
    format!("{} {} {} {} {}", item.id, store.name, context.method(), request.method(), part.0)
}

#[tokio::test]
async fn handlers_take_their_arguments_in_any_order() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = Client::builder("test", "1").options(|options| options.local_info.revisions = vec![revision]);
        let client = server().in_process(client).await.expect("a connection");
        let call = async |name: &str| client.tool(name).arguments(json!({ "id": 7 })).text().await;
        client.tool("add").successful().await.expect("a new tool");
        for (tool, expected) in [
            ("stateless", "no state"),
            ("first", "first"),
            ("method", "store 7 tools/call"),
            ("context_first", "tools/call 7"),
            ("all", "7 store tools/call tools/call part"),
            ("raw", r#"part {"id":7}"#),
            ("added", "store 7 tools/call"),
        ] {
            assert_eq!(call(tool).await.expect(tool), expected, "{revision}");
        }
        let read = async |uri: &str| match client.read_resource(uri).await {
            Ok(read) => mcpgen_types::to_value(&read.contents).expect("JSON")[0]["text"].clone(),
            Err(error) => error.to_string().into(),
        };
        for (uri, expected) in [
            ("item:///", "store"),
            ("item:///uri", "item:///uri"),
            ("item:///typed/7", "store item:///typed/7 7"),
            ("item:///raw/7", r#"{"id": "7"}"#),
        ] {
            assert_eq!(read(uri).await, expected, "{revision}");
        }
        let unknown = read("item:///unknown").await.to_string();
        assert_eq!(read("item:///typed/x").await.to_string(), unknown.replace("unknown", "typed/x"), "{revision}");
        for (prompt, expected) in [("prompt", "store 7"), ("raw", r#"{"id": "7"}"#)] {
            let messages =
                client.prompt(prompt, [("id".to_owned(), "7".to_owned())].into()).await.expect(prompt).messages;
            let messages = mcpgen_types::to_value(&messages).expect("JSON");
            assert_eq!(messages[0]["content"]["text"], expected, "{revision}");
        }
        let values = client.complete_argument(PromptReference::new("prompt"), "id", "7").await.expect("values").values;
        assert_eq!(values.get(), &["store 7"], "{revision}");
    }
}

/// The error of an argument is reported like an error of the handler.
#[tokio::test]
async fn arguments_can_fail() {
    let client = server().in_process(Client::builder("test", "1")).await.expect("a connection");
    let template = ResourceTemplateReference::new("item:///typed/{id}");
    for error in [
        client.tool("user").text().await.map(drop),
        client.read_resource("item:///user").await.map(drop),
        client.prompt("user", BTreeMap::new()).await.map(drop),
        client.complete_argument(template, "id", "").await.map(drop),
    ] {
        let error = error.expect_err("no user").to_string();
        assert!(error.contains("sign in first"), "{error}");
    }
}

#[tokio::test]
async fn a_tool_without_arguments_accepts_none() {
    let client = server().in_process(Client::builder("test", "1")).await.expect("a connection");
    for tool in client.tools().await.expect("tools").iter() {
        let schema: Value = mcpgen_types::to_value(&tool.input_schema).expect("JSON");
        let expected = match tool.name.as_str() {
            "raw" => json!({ "type": "object", "properties": {} }),
            "stateless" | "first" | "add" | "user" => {
                json!({ "type": "object", "additionalProperties": false, "properties": {} })
            }
            _ => json!("Item"),
        };
        match expected {
            Value::String(_) => assert_eq!(schema["required"], json!(["id"]), "{}", tool.name),
            expected => assert_eq!(schema, expected, "{}", tool.name),
        }
    }
}

#[test]
fn a_template_has_the_variables_that_its_handler_requires() {
    for (template, expected) in [
        ("item:///{id}", None),
        ("item:///{id}/{other}", None),
        ("item:///{name}", Some(r#"it has no variable "id", which its handler requires"#)),
    ] {
        let template = ResourceTemplate::new(template, "item");
        let server = Server::builder("s", "1").resource_template(template, |_: Args<Item>| async { "" }).build();
        let error = server.config().err().map(|error| mcpgen_runtime::util::error_chain(&error));
        assert_eq!(error.as_deref().map(|error| error.contains(expected.unwrap_or_default())), expected.map(|_| true));
    }
}
