//! `mcpgen-probe read`, and contents as text.

use std::borrow::Cow;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mcpgen_types::{JsonObject, JsonRef};

use crate::cli::{Format, ReadArgs};
use crate::failure::Failure;
use crate::output::{self, DIM, plain, styled};
use crate::requests::request;

const METHOD: &str = "resources/read";

pub(crate) async fn run(args: &ReadArgs) -> Result<(), Failure> {
    let params = JsonObject::from([("uri", (&args.uri).into())]);
    let result = args.connection.run(async |client, activity| request(client, METHOD, params, activity).await).await?;
    let contents: Vec<_> = result.get("contents").into_iter().flat_map(JsonRef::elements).collect();
    if let Some(path) = &args.output {
        let unexpected = |why: &str| Failure::Unexpected { method: METHOD.to_owned(), why: why.to_owned() };
        let first = contents.first().ok_or_else(|| unexpected("the result has no contents"))?;
        let bytes = bytes(*first).ok_or_else(|| unexpected("the content has neither text nor a valid blob"))?;
        std::fs::write(path, bytes).map_err(Failure::io(format!("writing {}", path.display())))?;
    }
    match args.format {
        Format::Json => output::print_json(result.as_ref()),
        Format::Text if args.output.is_some() => Ok(()),
        Format::Text => output::print(&contents.iter().copied().map(content).collect::<String>()),
    }
}

fn bytes(content: JsonRef<'_>) -> Option<Vec<u8>> {
    match text_of(content, "text") {
        Some(text) => Some(text.into_owned().into_bytes()),
        None => BASE64_STANDARD.decode(text_of(content, "blob")?.as_bytes()).ok(),
    }
}

fn text_of<'a>(object: JsonRef<'a>, member: &str) -> Option<Cow<'a, str>> {
    object.get(member)?.as_str()
}

/// A content block or resource as text: its own text or, failing that, a line that describes it.
pub(crate) fn content(block: JsonRef<'_>) -> String {
    let resource = block.get("resource").filter(|resource| resource.is_object());
    if let Some(text) = text_of(block, "text").or_else(|| text_of(resource?, "text")) {
        let text = plain(&text);
        return if text.ends_with('\n') { text } else { format!("{text}\n") };
    }
    let inner = resource.unwrap_or(block);
    let kind = text_of(block, "type").unwrap_or("content".into());
    let data = text_of(inner, "data").or_else(|| text_of(inner, "blob"));
    let size = data.map(|data| format!("{} bytes", data.trim_end_matches('=').len() * 3 / 4).into());
    let parts = [Some(kind), text_of(inner, "mimeType"), text_of(inner, "uri"), size];
    let line = parts.into_iter().flatten().map(|part| plain(&part)).collect::<Vec<_>>().join(" ");
    format!("{}\n", styled(DIM, &format!("[{line}]")))
}
