//! Tests messages in which real authorization servers deviate from the specifications.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use mcpgen_auth::client::{AuthorizationRequest, Grant, OAuthClient, OAuthOptions, PendingLogin, UserAgent};
use serde_json::{Value, json};
use tower::BoxError;
use url::Url;

use crate::discovery::{RESOURCE_AT_PATH, Site, respond};
use crate::flow::messages;

const ISSUER: &str = "/.well-known/oauth-authorization-server";

/// A user who always logs in.
#[derive(Clone)]
struct Willing;

impl UserAgent for Willing {
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn PendingLogin>, BoxError>> {
        Box::pin(std::future::ready(Ok(Box::new(self.clone()) as Box<dyn PendingLogin>)))
    }
}

impl PendingLogin for Willing {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:7777/callback".to_owned()
    }

    fn log_in(self: Box<Self>, request: AuthorizationRequest) -> BoxFuture<'static, Result<Url, BoxError>> {
        let state = request.url().query_pairs().find(|(name, _)| name == "state").expect("a state").1.into_owned();
        let response = Url::parse_with_params(&self.redirect_uri(), [("code", "code"), ("state", &state)]);
        Box::pin(std::future::ready(response.map_err(Into::into)))
    }
}

/// Logs in at an authorization server after changing one of its messages. Returns the error.
async fn log_in(path: &str, changes: &[(&str, Option<Value>)]) -> Result<(), String> {
    let site = Site::start().await;
    site.put_resource(RESOURCE_AT_PATH, &site.origin);
    site.put_issuer(ISSUER, &site.origin);
    site.put("/register", json!({ "client_id": "client" }));
    site.put("/token", json!({ "access_token": "secret", "token_type": "Bearer", "expires_in": 3600 }));
    site.change(path, changes);
    let options = OAuthOptions::new("test", Grant::AuthorizationCode(Arc::new(Willing)));
    let client = OAuthClient::new(site.url().as_str(), options).expect("a client");
    match respond(&client, &site.url(), None, None).await {
        Ok(headers) => {
            assert_eq!(headers.expect("a token")["authorization"], "Bearer secret");
            Ok(())
        }
        Err(error) => Err(messages(error.as_ref()).replace(&site.origin, "")),
    }
}

#[tokio::test]
async fn accepts_what_providers_send() {
    let table: &[(&str, &str, Option<Value>)] = &[
        ("/token", "expires_in", Some("3600".into())),
        ("/token", "expires_in", Some(3600.0.into())),
        ("/token", "expires_in", Some(Value::Null)),
        ("/token", "expires_in", None),
        ("/token", "scope", Some(json!(["a", "b"]))),
        ("/token", "scope", Some(Value::Null)),
        ("/token", "refresh_token", Some(Value::Null)),
        ("/token", "token_type", Some("bearer".into())),
        ("/token", "error", Some(Value::Null)),
        ("/token", "error", Some("".into())),
        ("/register", "client_secret", Some(Value::Null)),
        ("/register", "client_secret_expires_at", Some(Value::Null)),
        ("/register", "client_secret_expires_at", Some("0".into())),
        (ISSUER, "revocation_endpoint", Some("".into())),
        (ISSUER, "jwks_uri", Some(Value::Null)),
        (ISSUER, "scopes_supported", Some("a b".into())),
        (ISSUER, "scopes_supported", Some(Value::Null)),
        (RESOURCE_AT_PATH, "scopes_supported", Some("a b".into())),
        (RESOURCE_AT_PATH, "bearer_methods_supported", Some(Value::Null)),
    ];
    for (path, member, value) in table {
        let result = log_in(path, &[(member, value.clone())]).await;
        assert_eq!(result, Ok(()), "{path}: `{member}` is {value:?}");
    }
}

/// Errors name the message's URL, the member and what was expected, but no values.
#[tokio::test]
async fn explains_what_is_not_valid() {
    let table: &[(&str, &str, Option<Value>, &str)] = &[
        ("/token", "access_token", None, "is missing"),
        ("/token", "access_token", Some(123_456_789.into()), "must be a string, but is a number"),
        ("/token", "token_type", None, "is missing"),
        ("/token", "expires_in", Some("123456789 s".into()), "must be a number of seconds, but is a string"),
        ("/token", "expires_in", Some("".into()), "must be a number of seconds, but is a string"),
        ("/token", "expires_in", Some((-123_456_789).into()), "must be a number of seconds, but is a number"),
        ("/token", "expires_in", Some(json!({})), "must be a number of seconds, but is an object"),
        ("/token", "scope", Some(123_456_789.into()), "must be an array of strings, but is a number"),
        ("/token", "refresh_token", Some(true.into()), "must be a string, but is a boolean"),
        ("/register", "client_id", None, "is missing"),
        ("/register", "client_id", Some(123_456_789.into()), "must be a string, but is a number"),
        ("/register", "client_secret", Some(json!(["123456789, expected u64"])), "must be a string, but is an array"),
        (ISSUER, "issuer", None, "is missing"),
        (ISSUER, "issuer", Some(Value::Null), "must be a string, but is null"),
        (ISSUER, "token_endpoint", Some("123456789, expected u64".into()), "must be a URL, but is another value"),
        (ISSUER, "code_challenge_methods_supported", Some("S256".into()), "must be an array, but is a string"),
        (RESOURCE_AT_PATH, "resource", Some(123_456_789.into()), "must be a string, but is a number"),
        (RESOURCE_AT_PATH, "authorization_servers", Some("123456789".into()), "must be an array, but is a string"),
    ];
    for (path, member, value, expected) in table {
        let error = log_in(path, &[(member, value.clone())]).await.expect_err(expected);
        assert_eq!(error, format!("the response of {path} is not valid: `{member}` {expected}"), "{value:?}");
    }
    let nested = log_in(RESOURCE_AT_PATH, &[("authorization_servers", Some(json!(["a", 1])))]).await;
    assert!(nested.expect_err("a number").contains("`authorization_servers[1]` must be a string, but is a number"));
}

/// GitHub sends errors with status 200.
#[tokio::test]
async fn reads_errors_in_successful_responses() {
    let changes = [("error", Some("bad_code".into())), ("error_description", Some("expired".into()))];
    let error = log_in("/token", &changes).await.expect_err("an OAuth error");
    assert_eq!(error, "the token endpoint refused the request: bad_code: expired");
}
