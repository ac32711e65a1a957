//! Published servers behind one gateway.

#[path = "../../../probe/tests/support/servers.rs"]
mod servers;

use mcpgen_gateway::{Config, ServerConfig};
use mcpgen_types::JsonObject;
use serde_json::json;

use crate::support::{ERAS, client, connect, gateway, in_time, tool_names};

/// The folder with the lock file of the published servers, relative to this package.
const SERVERS: &str = "../probe/tests/servers";

/// In each era, one tool of each server is listed and called.
#[tokio::test]
async fn serves_published_servers() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("note.txt"), "a note").expect("written");
    let root = folder.path().canonicalize().expect("a path");
    let root = root.to_str().expect("UTF-8");
    let mut config = Config::default();
    for (name, arguments) in [("everything", vec![]), ("filesystem", vec![root]), ("memory", vec![])] {
        let Some(command) = servers::command(name, &arguments) else { return };
        config.servers.insert(name.to_owned(), ServerConfig::of_command(&command[0], &command[1..]));
    }
    let gateway = gateway(config);
    for revision in ERAS {
        let client = connect(&gateway, client(revision)).await;
        let names = tool_names(&client).await;
        let note = format!("{root}/note.txt");
        for (tool, arguments, expected) in [
            ("echo", json!({ "message": "hello" }), "hello"),
            ("read_text_file", json!({ "path": note }), "a note"),
            ("read_graph", json!({}), "entities"),
        ] {
            assert!(names.contains(&tool.to_owned()), "{revision}: {names:?}");
            let arguments: JsonObject = mcpgen_types::from_value(arguments).expect("an object");
            let result = in_time(client.call_tool(tool, arguments)).await.expect(tool);
            let result = mcpgen_types::to_string(&result);
            assert!(result.contains(expected), "{revision} {tool}: {result}");
        }
        assert!(!in_time(client.resources()).await.expect("resources").is_empty());
        assert!(!in_time(client.prompts()).await.expect("prompts").is_empty());
    }
}
