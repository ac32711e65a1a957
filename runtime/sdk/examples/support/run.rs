//! Serves a server on standard input and output, or over HTTP with `--http ADDRESS`.

use mcpgen_sdk::Server;

/// Serves until the client disconnects or, over HTTP, until Ctrl+C.
pub(crate) async fn run(server: Server) -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => Ok(server.serve_stdio().await?),
        (Some("--http"), Some(address)) => over_http(server, &address).await,
        _ => Err("usage: [--http ADDRESS], for example --http 127.0.0.1:3000".into()),
    }
}

#[cfg(feature = "http-server")]
async fn over_http(server: Server, address: &str) -> Result<(), Box<dyn std::error::Error>> {
    use mcpgen_sdk::http::server::{EndpointOptions, ServeHttp, listen};

    let endpoint = server.http(EndpointOptions::default())?;
    let listener = std::net::TcpListener::bind(address)?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    let shutdown = async { tokio::signal::ctrl_c().await.unwrap_or(()) };
    let app = axum::Router::new().route_service("/mcp", endpoint.clone());
    Ok(listen(listener, app, &endpoint, shutdown).await?)
}

#[cfg(not(feature = "http-server"))]
async fn over_http(_: Server, _: &str) -> Result<(), Box<dyn std::error::Error>> {
    Err("built without the feature http-server".into())
}
