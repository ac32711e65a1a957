//! The pages of the quickstarts.

use mcpgen_diff::html::{Page, escape};
use mcpgen_model::{Protocol, Side};

use crate::frame::{code, link, section, table};
use crate::links::model;
use crate::quickstart::{DEPENDENCIES, quickstarts};

/// Writes the list of the quickstarts, with the methods of each revision.
pub(crate) fn index(models: &[Protocol]) -> Page {
    let rows = models.iter().rev().map(|protocol| {
        let sent_by = |side: Side| {
            let methods = protocol.requests.iter().filter(|request| request.senders.contains(&side));
            methods.map(|request| code(&request.method)).collect::<Vec<_>>().join(", ")
        };
        let name = link(&format!("../{}", model("quickstarts", &protocol.revision)), &escape(&protocol.revision));
        vec![name, sent_by(Side::Client), sent_by(Side::Server)]
    });
    let main = format!(
        "<p>A server and a client in the types of each revision. They are generated from the model, and a test runs each client \
         against its server. Applications usually need no types of a revision: see the {}.</p>\n{}",
        link("../guide/index.html", "guide"),
        table("Quickstarts", &["Revision", "Requests of clients", "Requests of servers"], rows)
    );
    let header = "<h1>Quickstarts</h1>\n".to_owned();
    Page { title: "Quickstarts".into(), header, navigation: Vec::new(), main, script: "" }
}

/// Writes the page with the programs of a revision.
pub(crate) fn page(protocol: &Protocol) -> Page {
    let block = |text: &str| format!("<pre class=\"code\" tabindex=\"0\"><code>{}</code></pre>\n", escape(text));
    let [server, client] = quickstarts(protocol);
    let sections = [
        ("dependencies", "Dependencies", block(DEPENDENCIES)),
        ("server", "A server", block(&server.program)),
        ("client", "A client", block(&client.program)),
    ];
    let types = link(&format!("../{}", model("revisions", &protocol.revision)), "all of its types and methods");
    Page {
        title: format!("Quickstarts of {}", protocol.revision),
        header: format!(
            "<h1>Quickstarts of {}</h1>\n<p class=\"quiet\">See also {types}.</p>\n",
            escape(&protocol.revision)
        ),
        navigation: sections.iter().map(|(id, title, _)| ((*id).to_owned(), (*title).to_owned())).collect(),
        main: sections.iter().map(|(id, title, body)| section(id, title, body)).collect(),
        script: "",
    }
}
