//! The first page of the site, and the lists of revisions and extensions.

use mcpgen_diff::html::{Page, escape};
use mcpgen_model::{DocTarget, Protocol};

use crate::contents::Site;
use crate::frame::{badge, code, link, section, table};
use crate::history::{Step, steps};
use crate::ledger::Total;
use crate::links::{model, to_root};
use crate::markdown;

pub(crate) fn page(site: &Site<'_>) -> Page {
    let newest = site.models.last();
    let name = newest.map_or("", |protocol| protocol.revision.as_str());
    let percent = site.ledger.totals.get("sdk").map_or(0, Total::generated_percent);
    let cards = [
        ("compare/index.html", "Compare two revisions", "Who breaks, with a document that shows it.".to_owned()),
        ("conversions/index.html", "Conversions", "What each value becomes in another revision.".to_owned()),
        ("quickstarts/index.html", "Quickstarts", "A server and a client in the types of each revision.".to_owned()),
        ("guide/index.html", "Guide", "Servers, clients, hosts, and what production needs.".to_owned()),
        ("benchmarks.html", "Benchmarks", "Speed, memory and compile times, compared with other crates.".to_owned()),
        ("ledger.html", "Ledger", format!("{percent} % of a working SDK is generated. What the rest is, and why.")),
    ];
    let cards: String = cards
        .iter()
        .filter(|(target, ..)| site.has(target))
        .map(|(target, title, about)| format!("<li>{}<p>{}</p></li>\n", link(target, title), escape(about)))
        .collect();
    let main = [
        section("revisions", "Revisions", &revision_table(site, "index.html")),
        section("more", "More", &format!("<ul class=\"cards\">\n{cards}</ul>\n")),
        section("extensions", "Extensions", &extension_table(site, "index.html")),
    ];
    Page {
        title: "mcpgen: the Model Context Protocol from its schemas".into(),
        header: format!(
            "<h1>The Model Context Protocol, from its schemas</h1>\n<p class=\"lead\">mcpgen generates Rust types, dispatch and \
             conversions from the official schemas. These pages show what it reads from them: every type and method of \
             every revision up to {}, and how they changed.</p>\n",
            escape(name)
        ),
        navigation: Vec::new(),
        main: main.concat(),
        script: "",
    }
}

/// Writes the list of revisions, with what each of them changed.
pub(crate) fn revisions(site: &Site<'_>) -> Page {
    let address = "revisions/index.html";
    let header = "<h1>Revisions</h1>\n".to_owned();
    let main = revision_table(site, address);
    Page { title: "Revisions".into(), header, navigation: Vec::new(), main, script: "" }
}

pub(crate) fn extensions(site: &Site<'_>) -> Page {
    let header = "<h1>Extensions and companion formats</h1>\n".to_owned();
    let main = extension_table(site, "extensions/index.html");
    Page { title: "Extensions".into(), header, navigation: Vec::new(), main, script: "" }
}

fn revision_table(site: &Site<'_>, address: &str) -> String {
    let root = to_root(address);
    let steps = steps(site.models);
    let rows =
        site.models.iter().zip(&steps).zip(site.revisions).enumerate().rev().map(|(at, ((protocol, step), row))| {
            let name = link(&format!("{root}{}", model("revisions", &protocol.revision)), &escape(&protocol.revision));
            let status = row.status.as_str();
            vec![
                format!("{name} {}", badge("plain", status)),
                protocol.era.as_str().to_owned(),
                protocol.messages().count().to_string(),
                protocol.types.len().to_string(),
                if at == 0 { "the first revision".to_owned() } else { change(step) },
            ]
        });
    let table =
        table("Revisions", &["Revision", "Connections", "Methods", "Types", "Changes since the previous one"], rows);
    format!(
        "{table}<p>In a legacy revision, a connection begins with <code>initialize</code>. In a modern one, each request stands \
         alone.</p>\n"
    )
}

fn change(step: &Step) -> String {
    let methods = |names: &[String]| names.iter().map(|name| code(name)).collect::<Vec<_>>().join(", ");
    let mut parts = Vec::new();
    if !step.methods.added.is_empty() {
        parts.push(format!("new: {}", methods(&step.methods.added)));
    }
    if !step.methods.removed.is_empty() {
        parts.push(format!("removed: {}", methods(&step.methods.removed)));
    }
    let (added, removed) = (step.types.added.len(), step.types.removed.len());
    parts.push(format!("types: {added} new, {removed} removed"));
    parts.join("; ")
}

fn extension_table(site: &Site<'_>, address: &str) -> String {
    let root = to_root(address);
    let rows = site.extensions.iter().zip(site.extension_models).map(|(row, protocol)| {
        let name = link(&format!("{root}{}", model("extensions", &row.name)), &escape(&row.name));
        let own = (0..protocol.types.len()).filter(|id| !protocol.is_shared(*id)).count();
        vec![name, escape(&row.version), escape(&row.core), own.to_string(), about(protocol)]
    });
    table("Extensions", &["Extension", "Version", "For", "Own types", "About"], rows)
}

/// Returns the first paragraph about an extension.
fn about(protocol: &Protocol) -> String {
    let entry = protocol.docs.of(&DocTarget::Module);
    let first = entry.map_or("", |entry| entry.doc.split("\n\n").next().unwrap_or_default());
    markdown::documentation(first)
}
