//! Questions to the user: the answers are checked, several can be asked at once, and types can be forms.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpgen_sdk::connection::Limits;
use mcpgen_sdk::server::{RequestContext, ToolError};
use mcpgen_sdk::{Client, ClientBuilder, Server, serve, transport};
use mcpgen_types::v2026_07_28::{
    ElicitRequestFormParams, ElicitRequestParams, ElicitResult, ElicitResultAction, Tool, ToolInputSchema,
};
use mcpgen_types::{JsonObject, Revision};
use serde_json::{Value, json};

/// The revisions with elicitation.
const REVISIONS: [Revision; 3] = [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28];

fn form(properties: Value, required: &[&str]) -> ElicitRequestParams {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let form = json!({ "message": "?", "requestedSchema": schema });
    mcpgen_types::from_value::<ElicitRequestFormParams>(form).expect("params").into()
}

fn answer(content: Value) -> ElicitResult {
    mcpgen_types::from_value(json!({ "action": "accept", "content": content })).expect("a result")
}

async fn connect(server: &Server, client: ClientBuilder, revision: Revision) -> Client {
    let (here, there) = transport::duplex();
    let server = server.clone();
    tokio::spawn(async move { serve(server, there).await });
    let client = client.revisions([revision]);
    client.connect(here.0, here.1).await.unwrap_or_else(|error| panic!("{revision}: {error}"))
}

/// Calls the only tool, and returns whether it failed and the text of its result.
async fn call(client: &Client) -> (bool, String) {
    let result = client.call_tool("ask", JsonObject::new()).await.expect("a result");
    let text = mcpgen_types::to_value(&result).expect("JSON")["content"][0]["text"].clone();
    (result.is_error == Some(true), text.as_str().unwrap_or_default().to_owned())
}

fn server<F>(ask: impl Fn(RequestContext) -> F + Send + Sync + 'static) -> Server
where
    F: Future<Output = Result<String, ToolError>> + Send + 'static,
{
    let tool = Tool::new("ask", ToolInputSchema::new());
    Server::builder("server", "1").tool(tool, move |context: RequestContext| ask(context)).build()
}

#[tokio::test]
async fn answers_match_the_form() {
    let server = server(|context| async move {
        let answer = context.elicit("k", form(json!({ "name": { "type": "string" } }), &["name"])).await?;
        Ok(mcpgen_types::to_string(&answer.content))
    });
    for revision in REVISIONS {
        for (content, expected) in [
            (json!({ "name": "ann" }), Ok(r#"{"name":"ann"}"#)),
            (json!({}), Err("name: the required field is missing")),
            (json!({ "name": 5 }), Err("name: expected string, found number")),
        ] {
            let client = Client::builder("client", "1").on_elicitation(move |_, _| {
                let answer = answer(content.clone());
                async { Ok(answer) }
            });
            let (failed, text) = call(&connect(&server, client, revision).await).await;
            assert_eq!(failed, expected.is_err(), "{revision}: {text}");
            assert!(text.contains(expected.unwrap_or_else(|why| why)), "{revision}: {text}");
        }
        let client = Client::builder("client", "1")
            .on_elicitation(|_, _| async { Ok(ElicitResult::new(ElicitResultAction::Decline)) });
        assert_eq!(call(&connect(&server, client, revision).await).await, (false, "null".to_owned()), "{revision}");
    }
}

#[tokio::test]
async fn asks_several_questions_in_one_round() {
    let runs = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&runs);
    let server = server(move |context| {
        *counted.lock().expect("no panic") += 1;
        async move {
            let field = || json!({ "x": { "type": "integer" } });
            let questions = [("a".to_owned(), form(field(), &["x"])), ("b".to_owned(), form(field(), &["x"]))];
            let answers = context.elicit_all(questions).await?;
            Ok(answers.iter().map(|answer| mcpgen_types::to_string(&answer.content)).collect())
        }
    });
    for revision in REVISIONS {
        *runs.lock().expect("no panic") = 0;
        let asked = Mutex::new(0);
        let client = Client::builder("client", "1").on_elicitation(move |_, _| {
            let mut asked = asked.lock().expect("no panic");
            *asked += 1;
            let answer = answer(json!({ "x": *asked }));
            async { Ok(answer) }
        });
        let answered = call(&connect(&server, client, revision).await).await;
        assert_eq!(answered, (false, r#"{"x":1}{"x":2}"#.to_owned()), "{revision}");
        // The first round of 2026-07-28 requests both inputs, and the second one has them.
        assert_eq!(*runs.lock().expect("no panic"), if revision.is_legacy() { 1 } else { 2 }, "{revision}");
    }
}

#[tokio::test]
async fn each_question_needs_its_own_key() {
    for revision in REVISIONS {
        let server = server(|context| async move {
            context.elicit("k", form(json!({}), &[])).await?;
            context.elicit("k", form(json!({}), &[])).await?;
            Ok("done".to_owned())
        });
        let client = Client::builder("client", "1").on_elicitation(|_, _| async { Ok(answer(json!({}))) });
        let (failed, text) = call(&connect(&server, client, revision).await).await;
        assert!(failed && text.contains("is used for two questions"), "{revision}: {text}");
    }
}

/// In legacy revisions, the call has no response while the server waits for the user.
#[tokio::test(start_paused = true)]
async fn calls_do_not_time_out_while_the_user_answers() {
    let limit = Duration::from_secs(60);
    for (revision, thinks, works, is_in_time) in [
        (Revision::V2025_11_25, 600, 59, true),
        (Revision::V2025_11_25, 600, 61, false),
        (Revision::V2025_11_25, 0, 61, false),
        (Revision::V2026_07_28, 600, 59, true),
        (Revision::V2026_07_28, 600, 61, false),
    ] {
        let server = server(move |context| async move {
            context.elicit("k", form(json!({}), &[])).await?;
            tokio::time::sleep(Duration::from_secs(works)).await;
            Ok("done".to_owned())
        });
        let client = Client::builder("client", "1")
            .limits(Limits::default().with_idle_timeout(Some(limit)))
            .on_elicitation(move |_, _| async move {
                tokio::time::sleep(Duration::from_secs(thinks)).await;
                Ok(answer(json!({})))
            });
        // Only the client has the limit: a server waits for the user in any case.
        let client = connect(&server, client, revision).await;
        let called = client.call_tool("ask", JsonObject::new()).await;
        assert_eq!(called.is_ok(), is_in_time, "{revision} {thinks} {works}: {called:?}");
    }
}

mod typed {
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Size {
        Small,
        /// For two people.
        Large,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    enum Extra {
        Cheese,
        Olives,
    }

    /// An order.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "the test prints it")]
    struct Order {
        /// The name on the box.
        name: String,
        #[schemars(range(min = 1, max = 9))]
        count: u8,
        size: Size,
        extras: Vec<Extra>,
        note: Option<String>,
        size_of_drink: Option<Size>,
        #[serde(default)]
        is_gift: bool,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "it cannot be a form")]
    struct Nested {
        inner: Order,
    }

    #[tokio::test]
    async fn types_are_forms() {
        let server =
            server(
                |context| async move { Ok(format!("{:?}", context.elicit_as::<Order>("order", "Your order?").await?)) },
            );
        let full = json!({
            "name": "ann", "count": 2, "size": "large", "extras": ["Olives"], "note": "hot", "size_of_drink": "small",
        });
        let least = json!({ "name": "ann", "count": 1, "size": "small", "extras": [] });
        for revision in REVISIONS {
            for (content, expected) in [
                (
                    Some(full.clone()),
                    "Some(Order { name: \"ann\", count: 2, size: Large, extras: [Olives], note: Some(\"hot\")",
                ),
                (Some(least.clone()), "note: None, size_of_drink: None, is_gift: false"),
                (Some(json!({ "name": "ann", "count": 10 })), "the required field is missing"),
                (None, "None"),
            ] {
                let client = Client::builder("client", "1").on_elicitation(move |_, params| {
                    assert!(matches!(params, ElicitRequestParams::ElicitRequestFormParams(_)), "{params:?}");
                    let answer = content.clone().map_or_else(|| ElicitResult::new(ElicitResultAction::Cancel), answer);
                    async { Ok(answer) }
                });
                let (_, text) = call(&connect(&server, client, revision).await).await;
                // Lists of options were added in 2025-11-25.
                let is_supported = revision >= Revision::V2025_11_25;
                assert!(text.contains(expected) || !is_supported, "{revision}: {text}");
            }
        }
    }

    #[tokio::test]
    async fn types_that_are_no_forms_are_rejected() {
        let server = server(|context| async move {
            Ok(format!("{:?}", context.elicit_as::<Nested>("order", "Your order?").await?))
        });
        let client = Client::builder("client", "1")
            .on_elicitation(|_, _| async { Ok(ElicitResult::new(ElicitResultAction::Cancel)) });
        let (failed, text) = call(&connect(&server, client, Revision::V2026_07_28).await).await;
        assert!(failed && text.contains("Nested cannot be a form"), "{text}");
    }
}
