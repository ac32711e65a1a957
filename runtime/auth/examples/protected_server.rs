//! A server that accepts only access tokens of an issuer.
//!
//! ```sh
//! cargo run --features server --example protected_server -- https://login.example.com
//! ```

use mcpgen_auth::server::{Identity, JwtVerifier, ProtectedResource, ResourceOptions, ScopePolicy};
use mcpgen_sdk::http::server::{EndpointOptions, ServeHttp};
use mcpgen_sdk::{Context, Server};
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use tower::Layer;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let issuer = std::env::args().nth(1).ok_or("usage: protected_server ISSUER")?;
    let url = "http://127.0.0.1:3000/mcp";
    let mut options = ResourceOptions::new(url, &issuer);
    options.scopes = ScopePolicy::default().for_tool("delete", ["mcp:write"]);
    let resource = ProtectedResource::new(options, JwtVerifier::new(&issuer, url)?)?;

    let tool = |name: &str| Tool::new(name, ToolInputSchema::new());
    let server = Server::builder("protected-server", "1.0.0")
        .tool(tool("greet"), |context: Context| async move {
            let user = Identity::of(&context).map_or("nobody", |identity| &identity.subject);
            format!("hello, {user}")
        })
        .tool(tool("delete"), || async { "deleted" })
        .build();
    let endpoint = resource.layer(server.http(EndpointOptions::default())?);
    let mut app = axum::Router::new().route_service("/mcp", endpoint);
    for path in resource.metadata_paths() {
        app = app.route_service(&path, resource.metadata_service());
    }
    println!("serving {url}");
    axum::serve(tokio::net::TcpListener::bind("127.0.0.1:3000").await?, app).await?;
    Ok(())
}
