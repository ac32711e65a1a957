//! Tests a module that extends a legacy revision, and modules whose schemas change nothing.

use std::any::TypeId;

use mcpgen_sdk::prelude::*;
use mcpgen_sdk::transport;
use mcpgen_types::{MethodSet, v2025_11_25 as official};
use serde_json::json;

include!(concat!(env!("OUT_DIR"), "/legacy.include.rs"));
include!(concat!(env!("OUT_DIR"), "/unchanged.rs"));

#[test]
fn unchanged_schemas_have_the_types_and_messages_of_the_revision() {
    macro_rules! same {
        ($($module:ident $revision:ident)*) => {
            $(
                assert_eq!(TypeId::of::<$module::Tool>(), TypeId::of::<mcpgen_types::$revision::Tool>());
                assert_eq!(
                    TypeId::of::<$module::ClientMessage>(),
                    TypeId::of::<mcpgen_types::$revision::ClientMessage>()
                );
                assert_eq!(
                    TypeId::of::<$module::ServerNotificationMethod>(),
                    TypeId::of::<mcpgen_types::$revision::ServerNotificationMethod>()
                );
            )*
        };
    }
    for_each_revision!(same);
}

#[test]
fn unchanged_message_sets_are_those_of_the_revision() {
    assert_eq!(TypeId::of::<legacy::ClientMessage>(), TypeId::of::<official::ClientMessage>());
    assert_eq!(TypeId::of::<legacy::ClientRequestMethod>(), TypeId::of::<official::ClientRequestMethod>());
    assert_ne!(TypeId::of::<legacy::ServerMessage>(), TypeId::of::<official::ServerMessage>());
    assert_eq!(legacy::URL_ELICITATION_REQUIRED_ERROR, official::URL_ELICITATION_REQUIRED_ERROR);
    assert!(<legacy::ServerRequest as MethodSet>::METHODS.contains(&"acme/confirm"));
    assert!(<legacy::ServerRequest as MethodSet>::METHODS.contains(&"ping"));
}

#[tokio::test]
async fn servers_send_new_requests() {
    let router = Router::new().request::<legacy::CallToolRequest>(|context, params| async move {
        let question = legacy::ConfirmRequestParams::new(format!("Run {}?", params.name));
        let answer = context.peer().call::<legacy::ConfirmRequest>(question).await;
        let text = answer.map_or_else(|error| error.to_string(), |answer| answer.confirmed.to_string());
        Ok::<_, ErrorObject>(official::CallToolResult::new(vec![official::TextContent::new(text).into()]))
    });
    let server = LocalInfo::new("acme", "1").capability("tools", json!({}));
    let (here, there) = transport::duplex();
    tokio::spawn(serve((server, router), there));
    let client = Client::builder("client", "1").handlers(|router| {
        router.request::<legacy::ConfirmRequest>(|_, params| async move {
            Ok::<_, ErrorObject>(legacy::ConfirmResult::new(params.question == "Run echo?"))
        })
    });
    let client = client.connect(here.0, here.1).await.expect("connected");
    assert_eq!(client.revision(), Revision::V2025_11_25);
    let params = legacy::CallToolRequestParams::new("echo");
    let result = client.peer().call::<official::CallToolRequest>(params).await.expect("a result");
    assert_eq!(result, official::CallToolResult::new(vec![official::TextContent::new("true").into()]));
}
