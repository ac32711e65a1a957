//! Tests how clients find authorization servers, and how servers name them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Json;
use axum::body::Body;
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use mcpgen_auth::client::{Grant, Manual, OAuthClient, OAuthError, OAuthOptions, RegisteredClient};
use mcpgen_auth::server::{IntrospectionVerifier, JwtVerifier, ProtectedResource, ResourceError, ResourceOptions};
use mcpgen_sdk::http::client::{Authorize, AuthorizeRequest, Challenge};
use serde_json::{Value, json};
use tower::{BoxError, ServiceExt};
use url::Url;

use crate::authorization_server::AuthorizationServer;
use crate::flow::{messages, options};

pub(crate) const RESOURCE_AT_PATH: &str = "/.well-known/oauth-protected-resource/public/mcp";
const RESOURCE_AT_ROOT: &str = "/.well-known/oauth-protected-resource";

/// A web server with some documents, which records the paths of requests.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) origin: String,
    documents: Arc<Mutex<BTreeMap<String, Value>>>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let site = Self { origin, documents: Arc::default(), log: Arc::default() };
        let served = site.clone();
        let app = axum::Router::new().fallback(move |uri: Uri| std::future::ready(served.respond(&uri)));
        tokio::spawn(async move { axum::serve(listener, app).await });
        site
    }

    fn respond(&self, uri: &Uri) -> Response {
        self.log.lock().expect("the log").push(uri.path().to_owned());
        let documents = self.documents.lock().expect("the documents");
        documents.get(uri.path()).map_or(StatusCode::NOT_FOUND.into_response(), |found| Json(found).into_response())
    }

    pub(crate) fn put(&self, path: &str, document: Value) {
        self.documents.lock().expect("the documents").insert(path.to_owned(), document);
    }

    /// Changes members of a document. `None` removes a member.
    pub(crate) fn change(&self, path: &str, members: &[(&str, Option<Value>)]) {
        let mut documents = self.documents.lock().expect("the documents");
        let document = documents.get_mut(path).and_then(Value::as_object_mut).expect("an object");
        for (name, value) in members {
            match value {
                Some(value) => document.insert((*name).to_owned(), value.clone()),
                None => document.remove(*name),
            };
        }
    }

    /// Serves the MCP server's metadata at this path.
    pub(crate) fn put_resource(&self, path: &str, issuer: &str) {
        self.put(path, json!({ "resource": self.url(), "authorization_servers": [issuer] }));
    }

    /// Serves an authorization server's metadata at this path.
    pub(crate) fn put_issuer(&self, path: &str, issuer: &str) {
        self.put(
            path,
            json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{}/authorize", self.origin),
                "token_endpoint": format!("{}/token", self.origin),
                "registration_endpoint": format!("{}/register", self.origin),
                "code_challenge_methods_supported": ["S256"],
            }),
        );
    }

    /// Returns the URL of the MCP server.
    pub(crate) fn url(&self) -> Url {
        format!("{}/public/mcp", self.origin).parse().expect("a URL")
    }

    /// Returns the paths of the requests since the last call.
    pub(crate) fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock().expect("the log"))
    }
}

/// Lets a client respond to a 401 with this `WWW-Authenticate` header.
pub(crate) async fn respond(
    client: &OAuthClient,
    url: &Url,
    challenge: Option<&str>,
    sent: Option<HeaderValue>,
) -> Result<Option<HeaderMap>, BoxError> {
    let challenge = challenge.map(|text| (WWW_AUTHENTICATE, text.parse().expect("a header value")));
    let challenge = Challenge::new(StatusCode::UNAUTHORIZED, challenge.into_iter().collect(), sent);
    client.authorize(AuthorizeRequest::new(&Method::POST, url, Some(&challenge))).await
}

/// Returns a client whose user does not log in.
fn client_of_absent_user(url: &Url) -> OAuthClient {
    let user_agent = Manual::new("http://127.0.0.1:7777/callback", |_| Err("nobody is here".into()));
    let options = OAuthOptions::new("test", Grant::AuthorizationCode(Arc::new(user_agent)));
    OAuthClient::new(url.as_str(), options).expect("a client")
}

#[tokio::test]
async fn requests_metadata_in_the_specified_order() {
    const OAUTH: &str = "/.well-known/oauth-authorization-server";
    const OPENID: &str = "/.well-known/openid-configuration";
    const OAUTH_TENANT: &str = "/.well-known/oauth-authorization-server/tenant";
    const OPENID_TENANT: &str = "/.well-known/openid-configuration/tenant";
    const TENANT_OPENID: &str = "/tenant/.well-known/openid-configuration";
    // `resource_metadata` of the challenge, the path of the issuer, and the paths that are requested. Only the last
    // path of each metadata document exists.
    type Row<'t> = (Option<&'t str>, &'t [&'t str], &'t str, &'t [&'t str]);
    let table: &[Row<'_>] = &[
        (Some("/custom"), &["/custom"], "", &[OAUTH]),
        (None, &[RESOURCE_AT_PATH], "", &[OAUTH]),
        (None, &[RESOURCE_AT_PATH, RESOURCE_AT_ROOT], "", &[OAUTH]),
        (None, &[RESOURCE_AT_PATH], "", &[OAUTH, OPENID]),
        (None, &[RESOURCE_AT_PATH], "/tenant", &[OAUTH_TENANT]),
        (None, &[RESOURCE_AT_PATH], "/tenant", &[OAUTH_TENANT, OPENID_TENANT]),
        (None, &[RESOURCE_AT_PATH], "/tenant", &[OAUTH_TENANT, OPENID_TENANT, TENANT_OPENID]),
    ];
    for (metadata, resource, tenant, issuer) in table {
        let site = Site::start().await;
        let name = format!("{}{tenant}", site.origin);
        site.put_resource(resource.last().expect("a path"), &name);
        site.put_issuer(issuer.last().expect("a path"), &name);
        // A server may respond without `WWW-Authenticate`, or without `resource_metadata`.
        let named = metadata.map(|path| format!("Bearer resource_metadata=\"{}{path}\"", site.origin));
        let challenges = if named.is_some() { vec![named] } else { vec![None, Some("Bearer scope=\"a\"".to_owned())] };
        for challenge in challenges {
            let client = client_of_absent_user(&site.url());
            let error = respond(&client, &site.url(), challenge.as_deref(), None).await.expect_err("no login");
            let expected: Vec<_> = resource.iter().chain(*issuer).copied().chain(["/register"]).collect();
            assert_eq!(site.log(), expected, "{challenge:?}: {error:?}");
        }
    }
}

#[tokio::test]
async fn refuses_metadata_of_another_issuer() {
    for (named, found) in [
        ("{}", "https://honest.example"),
        ("{}", "{}/"),
        ("{}/", "{}"),
        ("{}/tenant", "{}"),
        ("{}/tenant", "{}/Tenant"),
        ("{}/tenant", ""),
    ] {
        let site = Site::start().await;
        let [named, found] = [named, found].map(|issuer| issuer.replace("{}", &site.origin));
        site.put_resource(RESOURCE_AT_PATH, &named);
        let tenant = named.strip_prefix(&site.origin).expect("the origin").trim_end_matches('/');
        site.put_issuer(&format!("/.well-known/oauth-authorization-server{tenant}"), &found);
        let client = client_of_absent_user(&site.url());
        let error = respond(&client, &site.url(), None, None).await.expect_err("another issuer");
        let text = messages(error.as_ref());
        assert!(text.contains(&format!("`{named}` has the issuer `{found}`")), "{named} {found}: {text}");
        assert_eq!(site.log().len(), 2, "nothing of the metadata is used");
    }
}

#[tokio::test]
async fn uses_other_credentials_with_another_authorization_server() {
    let (site, first, second) =
        (Site::start().await, AuthorizationServer::start(300).await, AuthorizationServer::start(300).await);
    let client = OAuthClient::new(site.url().as_str(), options()).expect("a client");
    let mut sent = None;
    // The registration with the first server is reused, but its tokens are not.
    let new: &[_] = &["register", "authorize ", "authorization_code"];
    for (issuer, other, expected) in
        [(&first, &second, new), (&second, &first, new), (&first, &second, &["authorize ", "authorization_code"])]
    {
        site.put_resource(RESOURCE_AT_PATH, issuer.issuer());
        let headers = respond(&client, &site.url(), None, sent).await.expect("a login").expect("a token");
        assert_eq!(issuer.log(), expected);
        assert!(other.log().is_empty());
        // At first, the server accepts the token.
        client.on_response(&site.url(), &HeaderMap::new());
        sent = headers.get("authorization").cloned();
    }
}

/// A wrong configuration is reported at the start, not with the first request.
#[tokio::test]
async fn refuses_issuers_that_are_no_urls() {
    const URL: &str = "https://mcp.example/mcp";
    for issuer in
        ["", "login", "login.example.com", "urn:login", "https://", "https://as.example/?a=b", "https://as.example#a"]
    {
        let error = JwtVerifier::new(issuer, URL).map(drop).expect_err(issuer).to_string();
        assert_eq!(
            error,
            format!("`{issuer}` is not the URL of an issuer; write one such as `https://login.example.com`")
        );
        let endpoint = "https://as.example/introspect".parse().expect("a URL");
        let verifier = IntrospectionVerifier::new(issuer, endpoint, "mcp", &"s".into(), URL);
        assert_eq!(verifier.map(drop).expect_err(issuer).to_string(), error);
        let verifier = JwtVerifier::new("https://as.example", URL).expect("a verifier");
        let error = ProtectedResource::new(ResourceOptions::new(URL, issuer), verifier).expect_err(issuer);
        assert_eq!(error, ResourceError::Issuer(issuer.to_owned()));
        let mut options = OAuthOptions::new("client", Grant::ClientCredentials);
        options.client = Some(RegisteredClient::with_secret(issuer, "id", "secret"));
        let error = OAuthClient::new(URL, options).map(drop).expect_err(issuer);
        assert!(matches!(&error, OAuthError::Issuer(found) if found == issuer), "{error}");
    }
}

#[tokio::test]
async fn serves_metadata_with_the_authorization_servers() {
    const ISSUER: &str = "https://as.example";
    for (url, paths) in [
        ("https://mcp.example/public/mcp", &[RESOURCE_AT_PATH, RESOURCE_AT_ROOT][..]),
        ("https://mcp.example", &[RESOURCE_AT_ROOT]),
    ] {
        let verifier = || JwtVerifier::new(ISSUER, url).expect("a verifier");
        let mut options = ResourceOptions::new(url, ISSUER);
        let resource = ProtectedResource::new(options.clone(), verifier()).expect("a resource");
        assert_eq!(resource.metadata_paths(), paths);
        let request = Request::get(paths[0]).body(Body::empty()).expect("a request");
        let response = resource.metadata_service().oneshot(request).await.expect("a response");
        let body = axum::body::to_bytes(Body::new(response.into_body()), 10_000).await.expect("a body");
        let metadata: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(metadata["resource"], url);
        assert_eq!(metadata["authorization_servers"], json!([ISSUER]));

        options.authorization_servers.clear();
        let error = ProtectedResource::new(options, verifier()).expect_err("no authorization server");
        assert_eq!(error, ResourceError::NoAuthorizationServer);
    }
}
