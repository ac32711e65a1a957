//! Checks the layers of the runtime: a module imports only from its own layer and from lower ones.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

/// The folders of `runtime/src`, lowest layer first.
const LAYERS: &[&str] =
    &["util", "jsonrpc", "transport", "protocol", "peer", "service", "connection", "tasks", "http", "server", "client"];

#[test]
fn runtime_imports_only_from_lower_layers() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../runtime/src"));
    let files = files(root);
    assert!(files.len() > 50, "{files:?}");
    let mut upward = Vec::new();
    for file in files {
        let path = file.strip_prefix(root).expect("the file is below the root");
        let Some(layer) = path.parent().and_then(|folder| folder.iter().next()) else {
            let allowed = ["lib.rs", "compat.rs"];
            assert!(
                allowed.iter().any(|name| path == Path::new(name)),
                "{} belongs to no layer: move it into one of the folders in `LAYERS`",
                path.display()
            );
            continue;
        };
        let layer = layer.to_str().expect("an ASCII name");
        let source = fs::read_to_string(&file).expect("a readable file");
        upward.extend(upward_imports(layer, &source).into_iter().map(|import| format!("{}: {import}", path.display())));
    }
    assert!(upward.is_empty(), "imports from higher layers:\n{}", upward.join("\n"));
}

#[test]
fn finds_upward_imports() {
    let table: &[(&str, &str, &[&str])] = &[
        ("peer", "use crate::protocol::Role;", &[]),
        ("peer", "use crate::peer::outbox::Outbox;", &[]),
        ("peer", "use crate::service::router::Router;", &["crate::service"]),
        ("peer", "use crate::{jsonrpc, service};", &["crate::service"]),
        ("peer", "use crate::{jsonrpc::{errors, client}, server::{Server}};", &["crate::server"]),
        ("peer", "fn run() { loop { crate::client::connect() } }", &["crate::client"]),
        ("peer", "impl crate::server::Handler for Peer {}", &["crate::server"]),
        ("peer", "/// See [`crate::Server`].\nstruct Peer; // crate::server", &[]),
        ("peer", "use crate::Server;", &["crate::Server"]),
        ("peer", "pub(crate) use peer::Peer;", &[]),
    ];
    for (layer, source, expected) in table {
        assert_eq!(upward_imports(layer, source), *expected, "{source}");
    }
}

/// Returns the `crate::` paths in the source that lead to a higher layer, or outside all layers.
fn upward_imports(layer: &str, source: &str) -> Vec<String> {
    let height = |name: &str| LAYERS.iter().position(|layer| *layer == name);
    let own = height(layer).unwrap_or_else(|| panic!("add `{layer}` to `LAYERS`"));
    let tokens: TokenStream = source.parse().expect("Rust source");
    let mut imported = Vec::new();
    collect(tokens, &mut imported);
    imported.retain(|name| height(name).is_none_or(|height| height > own));
    imported.into_iter().map(|name| format!("crate::{name}")).collect()
}

/// Collects the first segment of each path that begins with `crate`.
fn collect(tokens: TokenStream, imported: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            collect(group.stream(), imported);
        }
        let is_crate = matches!(token, TokenTree::Ident(ident) if ident == "crate");
        let is_path = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
        if !is_crate || !is_path(index + 1) || !is_path(index + 2) {
            continue;
        }
        match tokens.get(index + 3) {
            Some(TokenTree::Ident(ident)) => imported.push(ident.to_string()),
            Some(TokenTree::Group(group)) => imported.extend(first_segments(group.stream())),
            _ => {}
        }
    }
}

/// Returns the first segments of the paths inside the braces of a `use`.
fn first_segments(tokens: TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let paths = tokens.split(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ','));
    paths.filter_map(<[TokenTree]>::first).map(ToString::to_string).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.extend(path.extension().is_some_and(|extension| extension == "rs").then_some(path)),
        }
    }
    found
}
