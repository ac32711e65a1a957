//! The arguments of handlers, and the state of a server.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use mcpgen_sdk::prelude::*;
use mcpgen_sdk::server::{Call, FromCall, FromRef, InputError, Uri, with_state};
use mcpgen_types::v2026_07_28::{
    CompleteRequestParams, ElicitRequestFormParams, ElicitResult, ElicitResultAction, Prompt, PromptReference,
    Resource, ResourceTemplate, ResourceTemplateReference,
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
        format!("{} {} {}", self.name, item.id, context.context().method())
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

    async fn complete(self, params: CompleteRequestParams) -> Result<Vec<String>, BoxError> {
        Ok(vec![format!("{} {}", self.name, params.argument.value)])
    }
}

/// An argument for the handlers of a server with users: it fails if the caller is unknown.
struct User;

impl<C: Call, S> FromCall<C, S> for User {
    fn from_call(call: &mut C, _: &S) -> Result<Self, BoxError> {
        let sign_in = || ErrorObject::new(ErrorCode::INVALID_REQUEST, "sign in first").into();
        call.context().principal().map(|_| Self).ok_or_else(sign_in)
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
            format!("{} {}", context.context().method(), item.id)
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
    format!("{} {} {} {} {}", item.id, store.name, context.method(), request.context().method(), part.0)
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

/// The model reads why a tool failed. Other handlers report an internal error, unless they return an `ErrorObject`.
#[tokio::test]
async fn errors_are_internal_except_those_of_tools() {
    type Failure = fn() -> BoxError;
    let cases: [(Failure, &str, &str); 3] = [
        (|| std::io::Error::other("disk 7").into(), "the tool tool failed: disk 7", "internal error (-32603)"),
        (|| "disk 7".into(), "the tool tool failed: disk 7", "internal error (-32603)"),
        (|| ErrorObject::new(-7, "no such disk").into(), "no such disk (-7)", "no such disk (-7)"),
    ];
    for (failure, of_tools, of_others) in cases {
        let text = move || async move { Err::<String, _>(failure()) };
        let server = Server::builder("disks", "1")
            .tool("tool", text)
            .resource(Resource::new("disk:7", "disk"), text)
            .resource_template(ResourceTemplate::new("disk:{number}", "disk"), text)
            .resource_list(move |_, _| async move { Err(failure()) })
            .prompt(Prompt::new("prompt"), text)
            .prompt_fallback(move |_, _, _| async move { Some(Err::<String, _>(failure())) })
            .template_completion("disk:{number}", "number", move || async move { Err::<Vec<String>, _>(failure()) })
            .build();
        let client = server.in_process(Client::builder("test", "1")).await.expect("a connection");
        let error = client.tool("tool").text().await.expect_err(of_tools).to_string();
        assert_eq!(error, of_tools);
        let template = ResourceTemplateReference::new("disk:{number}");
        for error in [
            client.read_resource("disk:7").await.map(drop),
            client.read_resource("disk:8").await.map(drop),
            client.resources().await.map(drop),
            client.prompt("prompt", BTreeMap::new()).await.map(drop),
            client.prompt("other", BTreeMap::new()).await.map(drop),
            client.complete_argument(template, "number", "").await.map(drop),
        ] {
            assert_eq!(error.expect_err(of_others).to_string(), of_others);
        }
    }
}

/// An application's error about a failed question. Its source is the error of the question or, as with
/// `#[error(transparent)]` of `thiserror`, the source of that error.
#[derive(Debug)]
struct AskFailed {
    is_transparent: bool,
    source: InputError,
}

impl fmt::Display for AskFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot ask")
    }
}

impl Error for AskFailed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        if self.is_transparent { self.source.source() } else { Some(&self.source) }
    }
}

#[tokio::test]
async fn questions_reach_the_client_in_other_errors() {
    let form = || {
        let form = json!({ "message": "Who?", "requestedSchema": { "type": "object", "properties": {} } });
        mcpgen_types::from_value::<ElicitRequestFormParams>(form).expect("params")
    };
    for is_transparent in [false, true] {
        let ask = move |context: RequestContext| async move {
            let answer = context.elicit("who", form()).await.map_err(|source| AskFailed { is_transparent, source })?;
            Ok::<_, AskFailed>(answer.action.as_str().to_owned())
        };
        let server = Server::builder("s", "1")
            .tool("ask", ask)
            .resource(Resource::new("ask:", "ask"), ask)
            .prompt(Prompt::new("ask"), ask)
            .build();
        let answer = || async { Ok(ElicitResult::new(ElicitResultAction::Decline)) };
        for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
            let client = Client::builder("test", "1").options(|options| options.local_info.revisions = vec![revision]);
            let client = server.in_process(client.on_elicitation(move |_, _| answer())).await.expect("a connection");
            assert_eq!(client.tool("ask").text().await.expect("an answer"), "decline");
            let read = client.read_resource("ask:").await.expect("an answer");
            let prompt = client.prompt("ask", BTreeMap::new()).await.expect("an answer");
            for text in [mcpgen_types::to_string(&read), mcpgen_types::to_string(&prompt)] {
                assert!(text.contains("decline"), "{revision}: {text}");
            }
        }
        // A client that cannot ask its user.
        let client = server.in_process(Client::builder("test", "1")).await.expect("a connection");
        let error = client.prompt("ask", BTreeMap::new()).await.expect_err("no elicitation").to_string();
        assert!(error.contains("elicitation"), "{error}");
    }
}

#[tokio::test]
async fn rejected_input_is_the_response() {
    for is_transparent in [false, true] {
        let fail = move || async move {
            let source = ErrorObject::new(-7, "no such question").into();
            Err::<String, _>(AskFailed { is_transparent, source })
        };
        let server = Server::builder("s", "1").tool("ask", fail).prompt(Prompt::new("ask"), fail).build();
        let client = server.in_process(Client::builder("test", "1")).await.expect("a connection");
        let (tool, prompt) = (client.tool("ask").text().await, client.prompt("ask", BTreeMap::new()).await);
        for error in [tool.map(drop), prompt.map(drop)] {
            assert_eq!(error.expect_err("rejected").to_string(), "no such question (-7)", "{is_transparent}");
        }
    }
}

#[tokio::test]
async fn a_client_that_cannot_ask_learns_it() {
    let ask = |context: RequestContext| async move {
        let form = json!({ "message": "Who?", "requestedSchema": { "type": "object", "properties": {} } });
        let form = mcpgen_types::from_value::<ElicitRequestFormParams>(form).expect("params");
        Ok::<_, InputError>(context.elicit("who", form).await?.action.as_str().to_owned())
    };
    let server = Server::builder("s", "1").prompt(Prompt::new("ask"), ask).build();
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = Client::builder("test", "1").options(|options| options.local_info.revisions = vec![revision]);
        let client = server.in_process(client).await.expect("a connection");
        let error = client.prompt("ask", BTreeMap::new()).await.expect_err("no elicitation").to_string();
        assert!(error.contains("elicitation"), "{revision}: {error}");
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
