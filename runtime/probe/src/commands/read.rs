//! `mcpgen-probe read`, and contents as text.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mcpgen_types::JsonObject;
use serde_json::Value;

use crate::cli::{Format, ReadArgs};
use crate::failure::Failure;
use crate::output::{self, DIM, plain, styled};
use crate::requests::request;

const METHOD: &str = "resources/read";

pub(crate) async fn run(args: &ReadArgs) -> Result<(), Failure> {
    let params = JsonObject::from([("uri", (&args.uri).into())]);
    let result = args.connection.run(async |client, activity| request(client, METHOD, params, activity).await).await?;
    let contents = result.get("contents").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if let Some(path) = &args.output {
        let unexpected = |why: &str| Failure::Unexpected { method: METHOD.to_owned(), why: why.to_owned() };
        let first = contents.first().ok_or_else(|| unexpected("the result has no contents"))?;
        let bytes = bytes(first).ok_or_else(|| unexpected("the content has neither text nor a valid blob"))?;
        std::fs::write(path, bytes).map_err(Failure::io(format!("writing {}", path.display())))?;
    }
    match args.format {
        Format::Json => output::print_json(&result),
        Format::Text if args.output.is_some() => Ok(()),
        Format::Text => output::print(&contents.iter().map(content).collect::<String>()),
    }
}

fn bytes(content: &Value) -> Option<Vec<u8>> {
    match content["text"].as_str() {
        Some(text) => Some(text.as_bytes().to_vec()),
        None => BASE64_STANDARD.decode(content["blob"].as_str()?).ok(),
    }
}

/// Returns a content block, or the contents of a resource, as text: its text, or else a line that describes it.
pub(crate) fn content(block: &Value) -> String {
    if let Some(text) = block["text"].as_str().or(block["resource"]["text"].as_str()) {
        let text = plain(text);
        return if text.ends_with('\n') { text } else { format!("{text}\n") };
    }
    let inner = if block["resource"].is_object() { &block["resource"] } else { block };
    let kind = block["type"].as_str().unwrap_or("content");
    let data = inner["data"].as_str().or(inner["blob"].as_str());
    let size = data.map(|data| format!("{} bytes", data.trim_end_matches('=').len() * 3 / 4));
    let parts = [Some(kind), inner["mimeType"].as_str(), inner["uri"].as_str(), size.as_deref()];
    let line = parts.into_iter().flatten().map(plain).collect::<Vec<_>>().join(" ");
    format!("{}\n", styled(DIM, &format!("[{line}]")))
}
