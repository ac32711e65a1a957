//! Emits the module of a revision: `mod.rs`, and a file per area.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use mcpgen_model::areas::JSON_SCHEMA;
use mcpgen_model::text::foreign::{cell, code};
use mcpgen_model::text::names;
use mcpgen_model::{DocTarget, Extends, Extension, Message, Protocol, Side};
use mcpgen_schema::Error;
use mcpgen_schema::text::counted;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::comments::Comments;
use super::emitter::Emitter;
use super::exports::Exports;
use super::file::{area_file, header, render};
use super::parallel::in_parallel;
use super::{Options, ident};

/// Emits the module of a revision. Returns the files by name.
///
/// # Errors
/// Returns [`Error::Usage`] if `options.support` is not a path, or [`Error::Defect`].
pub fn emit(protocol: &Protocol, options: &Options) -> Result<BTreeMap<String, String>, Error> {
    emit_on(threads(), protocol, options, None)
}

/// Like [`emit`], on this many threads, which does not affect the result. `title` documents the module if the schema is
/// not a protocol.
pub(crate) fn emit_on(
    threads: usize,
    protocol: &Protocol,
    options: &Options,
    title: Option<&str>,
) -> Result<BTreeMap<String, String>, Error> {
    let exports = Exports::new(protocol, options);
    let header = header(&options.source, &protocol.sha256, &options.command);
    let areas = exports.by_size();
    let next = AtomicUsize::new(0);
    // Tokens are not `Send`, so each thread also formats its areas.
    let emit_areas = || -> Result<Vec<(String, String)>, Error> {
        let support = options.support_path()?;
        let (mut emitter, mut files) = (Emitter::new(protocol, options, &exports, &support)?, Vec::new());
        while let Some(area) = areas.get(next.fetch_add(1, Ordering::Relaxed)) {
            let items = emitter.area(area)?;
            files.push((format!("{area}.rs"), area_file(items, &emitter.scope, &emitter.docs.comments, &header)?));
        }
        Ok(files)
    };
    let lines = title.map_or_else(|| documentation(protocol, options), |title| vec![format!(" {title}")]);
    let root = root(&lines, protocol, &exports, options)?;
    let mut files = BTreeMap::from([("mod.rs".to_owned(), render("mod.rs", &header, root, &Comments::default())?)]);
    let threads: Vec<usize> = (0..threads.min(areas.len())).collect();
    for emitted in in_parallel(&threads, |_| emit_areas()) {
        files.extend(emitted?);
    }
    Ok(files)
}

pub(crate) fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

fn documentation(protocol: &Protocol, options: &Options) -> Vec<String> {
    let counts = format!(
        " {}, {}, {}.",
        counted(protocol.facts.len() as u64, "definitions"),
        counted(protocol.requests.len() as u64, "requests"),
        counted(protocol.notifications.len() as u64, "notifications")
    );
    let mut lines = Vec::new();
    if let Some(entry) = protocol.docs.of(&DocTarget::Module) {
        lines.extend(entry.doc.lines().map(|line| if line.is_empty() { String::new() } else { format!(" {line}") }));
        lines.push(String::new());
    }
    let title = if let Some(extends) = &protocol.extends {
        extension_title(protocol, extends)
    } else if protocol.types.has_message_sets() {
        format!(" Revision `{}` of the Model Context Protocol ({} era).", protocol.revision, protocol.era.as_str())
    } else {
        format!(" Revision `{}` of the schema {}.", protocol.revision, code(&options.source))
    };
    lines.extend([title, String::new(), counts]);
    lines.extend(map(protocol));
    lines
}

fn root(lines: &[String], protocol: &Protocol, exports: &Exports, options: &Options) -> Result<TokenStream, Error> {
    let support = options.support_path()?;
    let shared = shared(protocol, exports, &support);
    let modules = exports.areas.iter().map(|(area, exported)| {
        let module = syn::Ident::new(area, proc_macro2::Span::call_site());
        let names = exported.iter().map(|name| format_ident!("{}", names::escape(name)));
        let gate = (area == JSON_SCHEMA).then(|| quote!(#[cfg(feature = "schemars")]));
        let exports = (!exported.is_empty()).then(|| quote!(pub use self::#module::{#(#names),*};));
        (quote!(#gate mod #module;), exports)
    });
    let (modules, exports): (Vec<_>, Vec<_>) = modules.unzip();
    // Clippy may reject the layout of prose that we did not write.
    let layout = options.vendored.is_none().then(|| {
        quote! {
            #![allow(clippy::doc_lazy_continuation, clippy::doc_overindented_list_items, reason = "the schema's own prose")]
            #![allow(clippy::module_inception, reason = "the name of an area can be that of the module")]
            #![allow(dead_code, unused_imports, reason = "few crates use all types")]
        }
    });
    let extends = protocol.extends.as_ref().filter(|_| options.vendored.is_none());
    // The file that declares a vendored module has this attribute.
    let deprecated = extends.map(|_| quote!(#![allow(deprecated, reason = "deprecated items remain")]));
    let has_schema = extends.map(|extends| has_schema(extends, &support));
    Ok(quote! {
        #(#![doc = #lines])*
        #layout
        #deprecated
        #(#modules)*
        #(#exports)*
        #shared
        #has_schema
    })
}

/// Returns a check, made when the module is compiled, that `mcpgen-types` was generated from the schema that this
/// module extends.
fn has_schema(extends: &Extends, support: &syn::Path) -> TokenStream {
    let Extends { revision, module, digest, .. } = extends;
    let constant = format_ident!("{}", module.to_uppercase());
    let why = format!(
        "this module extends another schema than the one of revision {revision} in mcpgen-types; generate it again with the \
         official schema of {revision}"
    );
    quote!(
        const _: () = assert!(#support::Revision::#constant.has_schema(#digest), #why);
    )
}

fn extension_title(protocol: &Protocol, extends: &Extends) -> String {
    let (name, revision) = (&protocol.revision, &extends.revision);
    let version = extends.version.as_ref().map_or_else(String::new, |version| match version.get(..12) {
        Some(short) if Extension::is_commit(version) => format!(", commit {}", code(short)),
        _ => format!(", version {}", code(version)),
    });
    if extends.shared.is_empty() {
        return format!(" The schema `{name}`{version}.");
    }
    format!(" The schema `{name}`{version}. It shares types with revision `{revision}`.")
}

/// Re-exports the types that an extension takes from its revision, and the items belonging to them.
fn shared(protocol: &Protocol, exports: &Exports, support: &syn::Path) -> Option<TokenStream> {
    let extends = protocol.extends.as_ref().filter(|extends| !extends.shared.is_empty())?;
    let module = format_ident!("{}", extends.module);
    let types = extends.shared.iter().map(|(id, theirs)| (&protocol.types[*id].rust, theirs));
    let names: BTreeMap<&String, &String> = types.chain(&exports.message_names.shared).collect();
    let names = names.into_iter().map(|(ours, theirs)| {
        let (name, alias) = (ident(theirs), ident(ours));
        if ours == theirs { quote!(#name) } else { quote!(#name as #alias) }
    });
    Some(quote!(#[doc(inline)] pub use #support::#module::{#(#names),*};))
}

fn map(protocol: &Protocol) -> Vec<String> {
    let mut areas: BTreeMap<&str, [Vec<String>; 2]> = BTreeMap::new();
    for Message { method, type_id, senders, .. } in protocol.messages() {
        if protocol.is_shared(type_id) {
            continue;
        }
        let def = &protocol.types[type_id];
        let link = format!("[{}](self::{})", cell(method), names::escape(&def.rust));
        let cells = areas.entry(protocol.area(type_id)).or_default();
        for (cell, side) in cells.iter_mut().zip([Side::Client, Side::Server]) {
            // Embedded requests are in the server's results.
            let is_inside = senders.is_empty() && side == Side::Server;
            if senders.contains(&side) || is_inside {
                cell.push(if is_inside { format!("{link} (in a result)") } else { link.clone() });
            }
        }
    }
    // Without message sets, senders are unknown.
    if areas.is_empty() || !protocol.types.has_message_sets() {
        return Vec::new();
    }
    let head = ["", " | area | a client sends | a server sends |", " |---|---|---|"].map(str::to_owned);
    let rows = areas
        .into_iter()
        .map(|(area, [client, server])| format!(" | `{area}` | {} | {} |", client.join(", "), server.join(", ")));
    head.into_iter().chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendored::Workspace;
    use mcpgen_model::schema_path;

    #[test]
    fn text_does_not_depend_on_threads() {
        let workspace = Workspace::open(None).expect("the project's own");
        for (row, protocol) in workspace.revisions.iter().zip(workspace.models().expect("models")) {
            let options = Options {
                support: "crate".to_owned(),
                command: "test".to_owned(),
                source: schema_path(&row.name),
                vendored: Some(row.module()),
            };
            let [alone, together] = [1, 3].map(|threads| emit_on(threads, &protocol, &options, None).expect("code"));
            assert_eq!(alone, together, "{}", row.name);
        }
    }
}
