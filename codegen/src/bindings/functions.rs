//! Writes the root module of bindings, with a function for each tool.

use mcpgen_model::text::foreign::{code, prose};
use mcpgen_schema::Error;
use mcpgen_schema::json::Json;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::tool::{SchemaBinding, ToolBinding};
use crate::emit::comments::Comments;
use crate::emit::file::render;
use crate::emit::ident;

pub(super) fn root(header: &str, source: &str, tools: &[ToolBinding<'_>]) -> Result<String, Error> {
    let title = format!(" Functions for the tools in {}.", code(source));
    let typed =
        || tools.iter().flat_map(|tool| [&tool.arguments].into_iter().chain(&tool.result)).filter(|it| it.rust.is_ok());
    let modules = typed().map(|schema| {
        let module = format_ident!("{}", schema.module);
        quote!(pub mod #module;)
    });
    let exports = typed().filter_map(|schema| {
        let (module, rust) = (format_ident!("{}", schema.module), ident(schema.rust.as_ref().ok()?));
        let exported = ident(&schema.exported);
        Some(if rust == exported {
            quote!(pub use self::#module::#rust;)
        } else {
            quote!(pub use self::#module::#rust as #exported;)
        })
    });
    let comments = Comments::default();
    let functions = tools.iter().map(|tool| function(tool, &comments));
    let content = tools.iter().any(|tool| tool.result.is_none()).then(|| {
        quote!(
            use mcpgen_types::v2026_07_28::CallToolResult;
        )
    });
    let json = tools.iter().any(|tool| tool.arguments.rust.is_err()).then(|| {
        quote!(
            use mcpgen_types::JsonObject;
        )
    });
    let tokens = quote! {
        #![doc = #title]
        #![doc = ""]
        #![doc = " Each function calls a tool on a client. It fails with [`CallError`] if the call or the tool fails."]
        #![allow(clippy::doc_lazy_continuation, clippy::doc_overindented_list_items, reason = "the server's own prose")]
        #![allow(dead_code, unused_imports, reason = "few crates call all tools")]
        #(#modules)*
        use mcpgen_sdk::Client;
        use mcpgen_sdk::peer::CallError;
        use mcpgen_sdk::router::RequestService;
        #json
        #content
        #(#exports)*
        #(#functions)*
    };
    render("mod.rs", header, tokens, &comments)
}

fn function(tool: &ToolBinding<'_>, comments: &Comments) -> TokenStream {
    let (name, function) = (tool.tool, ident(&tool.function));
    let arguments = match &tool.arguments.rust {
        Ok(_) => type_of(&tool.arguments),
        Err(_) => quote!(JsonObject),
    };
    let (method, result) = match &tool.result {
        None => (quote!(successful), quote!(CallToolResult)),
        Some(schema) if schema.rust.is_ok() => (quote!(structured), type_of(schema)),
        Some(_) => (quote!(structured), quote!(mcpgen_types::Json)),
    };
    let docs = comments.emit(&docs(tool));
    quote! {
        #docs
        pub async fn #function<S: RequestService>(
            client: &Client<S>,
            arguments: &#arguments,
        ) -> Result<#result, CallError> {
            client.tool(#name).arguments(arguments).#method().await
        }
    }
}

fn type_of(schema: &SchemaBinding) -> TokenStream {
    let name = ident(&schema.exported);
    quote!(#name)
}

fn docs(tool: &ToolBinding<'_>) -> String {
    let text = |member: &str| tool.item.get(member).and_then(Json::as_str).map(str::trim).filter(|it| !it.is_empty());
    let mut paragraphs = vec![format!("Calls the tool {}.", code(tool.tool))];
    paragraphs.extend(text("description").or(text("title")).map(prose));
    let hint = |name: &str| tool.item.get("annotations").and_then(|it| it.get(name)) == Some(&Json::Bool(true));
    let hints = [
        ("readOnlyHint", "does not change its environment"),
        ("destructiveHint", "may delete or overwrite"),
        ("idempotentHint", "may be called again with the same arguments without further effect"),
        ("openWorldHint", "interacts with external systems"),
    ];
    let hints: Vec<&str> = hints.iter().filter(|(name, _)| hint(name)).map(|(_, text)| *text).collect();
    if !hints.is_empty() {
        paragraphs.push(format!("According to the server, the tool {}.", hints.join(", ")));
    }
    if tool.item.get("execution").and_then(|it| it.get("taskSupport")).and_then(Json::as_str) == Some("required") {
        paragraphs.push("The tool runs as a task. Dropping the call cancels the task.".to_owned());
    }
    let json = [Some(&tool.arguments), tool.result.as_ref()].into_iter().flatten().filter(|it| it.rust.is_err());
    let json =
        json.map(|schema| format!("In this function, {} JSON: mcpgen cannot read the schema.", schema.subject()));
    paragraphs.extend(json);
    paragraphs.push("# Errors".to_owned());
    paragraphs.push("Returns an error if the call fails, if the tool fails, or if its result is invalid.".to_owned());
    paragraphs.join("\n\n")
}
