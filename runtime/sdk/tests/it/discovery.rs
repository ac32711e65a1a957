//! Server cards, registry entries and catalogs.

#![cfg(feature = "http-server")]

use mcpgen_sdk::http::server::ServeHttp;
use std::path::Path;

use mcpgen_sdk::Server;
use mcpgen_sdk::http::server::Listing;
use mcpgen_types::Revision;
use mcpgen_types::codec::Encode;
use serde_json::{Value, json};

fn server() -> Server {
    Server::builder("weather", "1.4.0").title("Weather").website("https://example.com").build()
}

fn listing() -> Listing {
    Listing::new("com.example/weather", "Forecasts for every place.")
        .remote("https://example.com/mcp")
        .repository("https://github.com/example/weather", "github")
}

fn value(document: &impl Encode) -> Value {
    mcpgen_types::to_value(document).expect("a value")
}

/// Checks that a document matches the published schema of an extension, and has these members.
fn check(extension: &str, definition: &str, document: &Value, expected: &Value) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/extensions").join(extension).join("schema.json");
    let schema = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut schema: Value = serde_json::from_str(&schema).expect("a schema");
    if let Some(members) = schema.as_object_mut().filter(|members| !members.contains_key("$ref")) {
        members.insert("$ref".to_owned(), format!("#/$defs/{definition}").into());
    }
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let problems: Vec<String> = validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert_eq!(problems, [] as [String; 0], "{document}");
    assert!(!validator.is_valid(&json!({ "name": 5 })), "the schema rejects other documents");
    for (member, value) in expected.as_object().expect("members") {
        assert_eq!(&document[member], value, "{member}");
    }
}

#[test]
fn cards_and_entries_match_the_published_schemas() {
    let card = server().card(&listing()).expect("a card");
    let revisions: Vec<&str> = Revision::ALL.iter().rev().map(|revision| revision.as_str()).collect();
    let remote = json!({
        "type": "streamable-http",
        "url": "https://example.com/mcp",
        "supportedProtocolVersions": revisions,
    });
    let common = json!({
        "name": "com.example/weather",
        "version": "1.4.0",
        "title": "Weather",
        "websiteUrl": "https://example.com",
        "description": "Forecasts for every place.",
        "repository": { "url": "https://github.com/example/weather", "source": "github" },
    });
    let card = value(&card);
    check("server-card", "ServerCard", &card, &common);
    assert_eq!(card["remotes"], json!([remote]));
    let entry = server().registry_entry(&listing()).expect("an entry");
    check("registry", "ServerDetail", &value(&entry), &common);
}

#[test]
fn values_that_do_not_match_the_schema_are_errors_with_paths() {
    let long = "a".repeat(101);
    for (listing, path) in [
        (Listing::new("weather", "Forecasts."), "/name"),
        (Listing::new("com.example/weather", long), "/description"),
        (Listing::new("com.example/weather", "Forecasts.").remote("example.com"), "/remotes/0/url"),
    ] {
        let error = server().card(&listing).expect_err("an invalid card");
        assert_eq!(error.path(), path, "{error}");
    }
}

#[cfg(feature = "http-server")]
#[tokio::test]
async fn serves_cards_and_catalogs() {
    use http_body_util::BodyExt as _;
    use mcpgen_sdk::http::server::Discovery;
    use tower::ServiceExt as _;

    let card = server().card(&listing()).expect("a card");
    let url = "https://example.com/mcp/server-card";
    let entry = json!({
        "identifier": "urn:air:example.com:weather",
        "displayName": "Weather",
        "type": "application/mcp-server-card+json",
        "url": url,
    });
    let catalog = json!({ "specVersion": "draft", "entries": [entry] });
    for (service, method, status, media_type, document) in [
        (Discovery::card(&card), "GET", 200, "application/mcp-server-card+json", value(&card)),
        (Discovery::catalog([(&card, url)]), "GET", 200, "application/json", catalog),
        (Discovery::card(&card), "POST", 405, "", Value::Null),
        (Discovery::card(&card), "OPTIONS", 204, "", Value::Null),
    ] {
        let request = http::Request::builder().method(method).uri("/").body(()).expect("a request");
        let response = service.oneshot(request).await.expect("a response");
        let header =
            |name: &str| response.headers().get(name).map_or("", |value| value.to_str().expect("text")).to_owned();
        assert_eq!((response.status().as_u16(), header("content-type")), (status, media_type.to_owned()), "{method}");
        assert_eq!(header("access-control-allow-origin"), "*");
        assert_eq!(header("cache-control").is_empty(), status != 200);
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        assert_eq!(body, document, "{method}");
    }
}
