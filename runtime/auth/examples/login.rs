//! Logs in to a server and lists its tools.
//!
//! ```sh
//! cargo run --example login -- https://mcp.example.com/mcp
//! ```

use std::sync::Arc;

use mcpgen_auth::client::{Grant, Loopback, OAuthClient, OAuthOptions};
use mcpgen_auth::store::FileStore;
use mcpgen_sdk::Client;
use mcpgen_sdk::http::client::{ClientOptions, ConnectHttp};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("usage: login URL")?;
    let user_agent = Loopback::new(|url| {
        println!("Open this page to log in:\n{url}");
        Ok(())
    });
    let mut options = OAuthOptions::new("Example", Grant::AuthorizationCode(Arc::new(user_agent)));
    options.store = Arc::new(FileStore::new(std::env::temp_dir().join("mcpgen-login-example.json")));
    let oauth = OAuthClient::new(&url, options)?;
    let options = ClientOptions::default().with_authorization(Arc::new(oauth));
    let client = Client::builder("login-example", "1.0.0").connect_http(&url, options).await?;
    for tool in client.tools().await?.iter() {
        println!("{}", tool.name);
    }
    client.close().await?;
    Ok(())
}
