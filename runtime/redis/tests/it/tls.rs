//! Connections over TLS.

use std::net::TcpListener;

use mcpgen_cluster::testing;
use mcpgen_redis::{RedisOptions, RedisStores};

use crate::redis_server::RedisServer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connects_with_a_private_root_certificate() {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a written file");
        path.to_str().expect("UTF-8").to_owned()
    };
    let (certificate, key) = (file("certificate", cert.pem()), file("key", signing_key.serialize_pem()));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let port = port.to_string();
    let files = ["--tls-cert-file", &certificate, "--tls-key-file", &key, "--tls-ca-cert-file", &certificate];
    let arguments = [&["--tls-port", &port, "--tls-auth-clients", "no"][..], &files].concat();
    let Some(_redis) = RedisServer::start_with(&arguments).await else { return };
    let mut options = RedisOptions::new(format!("rediss://localhost:{port}/"));
    assert!(RedisStores::connect(options.clone()).await.is_err(), "the certificate is not trusted");
    options.root_certificates = Some(cert.pem().into_bytes());
    testing::change_bus(async || RedisStores::connect(options.clone()).await.expect("a connection")).await;
}
