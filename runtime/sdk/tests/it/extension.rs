//! Extensions: what each side declares, and which messages reach their handlers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcpgen_sdk::peer::CallError;
use mcpgen_sdk::protocol::{ContextExt, PeerExt, RouterExt};
use mcpgen_sdk::{Client, ClientBuilder, Context, Extension, Router, Server, serve, transport};
use mcpgen_types::{ErrorCode, ErrorObject, Revision};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[path = "../../examples/support/countdown.rs"]
mod countdown;

use countdown::Countdown;

const IDENTIFIER: &str = "com.example/volume";

/// Sets the volume. `most` is the loudest volume of this side.
#[derive(Default)]
struct Volume {
    most: u32,
    received: Arc<AtomicUsize>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Settings {
    most: u32,
}

impl Extension for Volume {
    const IDENTIFIER: &'static str = IDENTIFIER;
    type Settings = Settings;

    fn settings(&self) -> Settings {
        Settings { most: self.most }
    }

    fn handlers(&self, router: Router) -> Router {
        let received = Arc::clone(&self.received);
        let set = |context: Context, wanted: u32| async move {
            let most = context.extension::<Volume>()?.map_or(0, |settings| settings.most);
            Ok::<_, ErrorObject>(json!({ "volume": wanted.min(most) }))
        };
        let router = router.custom_request("volume/set", move |context, params: Value| {
            set(context, params["volume"].as_u64().and_then(|volume| volume.try_into().ok()).unwrap_or(0))
        });
        router.custom_notification("notifications/volume", move |_, _: Value| {
            received.fetch_add(1, Ordering::SeqCst);
            async {}
        })
    }
}

fn volume(most: u32) -> Volume {
    Volume { most, ..Volume::default() }
}

fn client(revision: Revision) -> ClientBuilder {
    Client::builder("client", "1").revisions([revision])
}

async fn connect(server: Server, client: ClientBuilder) -> Client {
    let (here, there) = transport::duplex();
    tokio::spawn(serve(server, there));
    client.connect(here.0, here.1).await.expect("a connection")
}

async fn set(client: &Client, to: u32) -> Result<Value, CallError> {
    let result: Value =
        client.peer().custom_request("volume/set", &json!({ "volume": to })).expect("params").send().await?;
    Ok(result["volume"].clone())
}

fn error(result: Result<Value, CallError>) -> ErrorObject {
    match result {
        Err(CallError::ErrorResponse(error)) => error,
        other => panic!("not an error response: {other:?}"),
    }
}

#[tokio::test]
async fn both_sides_have_the_settings_of_the_other() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let server = Server::builder("server", "1").extension(volume(9)).build();
        let client = connect(server, client(revision).extension(volume(5))).await;
        assert_eq!(client.peer().extension::<Volume>().expect("settings"), Some(Settings { most: 9 }), "{revision}");
        assert_eq!(set(&client, 3).await.expect("a volume"), json!(3), "{revision}");
        assert_eq!(set(&client, 7).await.expect("a volume"), json!(5), "{revision}: the client's limit");
    }
}

#[tokio::test]
async fn rejects_requests_of_clients_without_the_extension() {
    let server = Server::builder("server", "1").extension(volume(9)).build();
    let modern = error(set(&connect(server.clone(), client(Revision::V2026_07_28)).await, 3).await);
    assert_eq!(modern.code, ErrorCode(-32021), "{modern}");
    let required = json!({ "requiredCapabilities": { "extensions": { IDENTIFIER: {} } } });
    assert_eq!(modern.data, Some(required.into()));
    let legacy = error(set(&connect(server, client(Revision::V2025_11_25)).await, 3).await);
    assert_eq!(legacy.code, ErrorCode::METHOD_NOT_FOUND, "{legacy}");
}

#[tokio::test]
async fn rejects_requests_if_the_server_has_not_declared_the_extension() {
    let handlers = Router::new().extension(&volume(9));
    let (here, there) = transport::duplex();
    tokio::spawn(serve((mcpgen_sdk::LocalInfo::new("server", "1"), handlers), there));
    let client = client(Revision::V2025_11_25).extension(volume(5)).connect(here.0, here.1).await.expect("connected");
    assert_eq!(client.peer().extension::<Volume>().expect("settings"), None);
    assert_eq!(error(set(&client, 3).await).code, ErrorCode::METHOD_NOT_FOUND);
}

#[tokio::test]
async fn rejects_settings_of_another_type() {
    let server = Server::builder("server", "1").extension(volume(9)).build();
    let wrong = client(Revision::V2026_07_28).options(|options| {
        options.local_info.capabilities.insert("extensions", json!({ IDENTIFIER: { "most": "loud" } }));
    });
    let error = error(set(&connect(server, wrong).await, 3).await);
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    assert!(error.message.contains(IDENTIFIER), "{error}");
}

#[tokio::test]
async fn ignores_notifications_of_peers_without_the_extension() {
    for (has_extension, expected) in [(true, 1), (false, 0)] {
        let extension = volume(9);
        let received = Arc::clone(&extension.received);
        let server = Server::builder("server", "1").extension(extension).build();
        let client = client(Revision::V2025_11_25);
        let client = if has_extension { client.extension(volume(5)) } else { client };
        let client = connect(server, client).await;
        client.peer().custom_notify("notifications/volume", &json!({})).await.expect("sent");
        // The server handles messages in order, so it has handled the notification before it responds.
        client.peer().raw_request("ping", None).send().await.expect("a response");
        assert_eq!(received.load(Ordering::SeqCst), expected, "with the extension: {has_extension}");
    }
}

#[tokio::test]
async fn modern_notifications_reach_their_handlers_unless_they_declare_otherwise() {
    const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    let extension = volume(9);
    let received = Arc::clone(&extension.received);
    let server = Server::builder("server", "1").extension(extension).build();
    let client = connect(server, client(Revision::V2026_07_28)).await;
    for (declared, expected) in [
        (None, 1),
        (Some(json!({ "extensions": { IDENTIFIER: { "most": 1 } } })), 2),
        (Some(json!({ "extensions": {} })), 2),
        (Some(json!({})), 2),
    ] {
        let params = match &declared {
            None => json!({}),
            Some(declared) => json!({ "_meta": { CAPABILITIES: declared } }),
        };
        client.peer().custom_notify("notifications/volume", &params).await.expect("sent");
        // The server handles messages in order, so it has handled the notification before it responds.
        client.peer().raw_request("server/discover", None).send().await.expect("a response");
        assert_eq!(received.load(Ordering::SeqCst), expected, "{declared:?}");
    }
}

#[tokio::test]
async fn ignores_modern_notifications_if_the_server_has_not_declared_the_extension() {
    let extension = volume(9);
    let received = Arc::clone(&extension.received);
    let (here, there) = transport::duplex();
    tokio::spawn(serve((mcpgen_sdk::LocalInfo::new("server", "1"), Router::new().extension(&extension)), there));
    let client = client(Revision::V2026_07_28).connect(here.0, here.1).await.expect("connected");
    client.peer().custom_notify("notifications/volume", &json!({})).await.expect("sent");
    client.peer().raw_request("server/discover", None).send().await.expect("a response");
    assert_eq!(received.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_example_negotiates_its_settings_and_notifies_the_client() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let server = Server::builder("server", "1").extension(Countdown::Server { max: 4 }).build();
        let (sender, mut steps) = tokio::sync::mpsc::unbounded_channel();
        let on_step = Arc::new(move |left| sender.send(left).expect("a receiver"));
        let client = connect(server, client(revision).extension(Countdown::Client { max: 3, on_step })).await;
        assert_eq!(client.peer().extension::<Countdown>().expect("settings"), Some(countdown::Settings { max: 4 }));
        assert_eq!(Countdown::start(client.peer(), 2).await.expect("steps"), 2, "{revision}");
        assert_eq!(Countdown::start(client.peer(), 9).await.expect("steps"), 3, "{revision}: the client's limit");
        for left in [1, 0, 2, 1, 0] {
            assert_eq!(steps.recv().await, Some(left), "{revision}");
        }
    }
}
