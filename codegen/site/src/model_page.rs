//! The page of one model: its methods, its types with their users, and the first revision that has each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use mcpgen_diff::html::{Page, code_spans, escape};
use mcpgen_model::{
    Content, DocTarget, Member, Message, Outline, Part, Protocol, Rest, Shape, Struct, Type, TypeDef, TypeId,
};
use mcpgen_schema::text::counted;

use crate::history::{self, Changes};
use crate::links::type_page;

/// Describes a protocol on a self-contained page, which makes no requests. `revisions` has all revisions, oldest first,
/// or is empty.
pub fn model_page(protocol: &Protocol, revisions: &[Protocol]) -> String {
    page(protocol, revisions, false).render()
}

/// Writes the parts of the page. With `has_history`, types link to their pages.
pub(crate) fn page(protocol: &Protocol, revisions: &[Protocol], has_history: bool) -> Page {
    let site = ModelPage { protocol, revisions, has_history, users: users(protocol) };
    let mut main = String::new();
    let mut navigation = Vec::new();
    if !revisions.is_empty() {
        navigation.push(("timeline".to_owned(), "Timeline".to_owned()));
        site.timeline(&mut main);
    }
    navigation.push(("methods".to_owned(), "Methods".to_owned()));
    site.methods(&mut main);
    site.types(&mut main, &mut navigation);
    let title = protocol.title();
    let header = format!(
        "<h1>{}</h1>\n<p class=\"quiet\">{}, {}, {}. SHA-256 of the schema: <code>{}</code></p>\n",
        escape(&title),
        counted(protocol.requests.len() as u64, "requests"),
        counted(protocol.notifications.len() as u64, "notifications"),
        counted(protocol.types.len() as u64, "types"),
        escape(&protocol.sha256),
    );
    Page { title, header, navigation, main, script: SCRIPT }
}

const SCRIPT: &str = include_str!("../assets/types.js");

struct ModelPage<'p> {
    protocol: &'p Protocol,
    revisions: &'p [Protocol],
    has_history: bool,
    /// The types and methods that use each type.
    users: Vec<BTreeSet<User<'p>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum User<'p> {
    Method(&'p str),
    Type(&'p str),
}

fn users(protocol: &Protocol) -> Vec<BTreeSet<User<'_>>> {
    let types = protocol.types.users().into_iter();
    let types = types.map(|users| users.into_iter().map(|id| User::Type(&protocol.types[id].rust)).collect());
    let mut users: Vec<BTreeSet<User<'_>>> = types.collect();
    for message in protocol.messages() {
        let mut add = |id: TypeId| {
            users[id].insert(User::Method(message.method));
        };
        add(message.type_id);
        message.contents().for_each(|content| content.visit(&mut add));
    }
    users
}

impl ModelPage<'_> {
    fn timeline(&self, text: &mut String) {
        text.push_str(
            "<section aria-labelledby=\"timeline\">\n<h2 id=\"timeline\">Timeline</h2>\n<ol class=\"timeline\">\n",
        );
        for (at, step) in history::steps(self.revisions).iter().enumerate() {
            let current = if step.revision == self.protocol.revision { ", this page" } else { "" };
            let _ = writeln!(text, "<li><strong>{}</strong>{current}", escape(&step.revision));
            if at == 0 {
                let (methods, types) = (step.methods.added.len(), step.types.added.len());
                let (methods, types) = (counted(methods as u64, "methods"), counted(types as u64, "types"));
                let _ = writeln!(text, "<p>{methods}, {types}</p></li>");
                continue;
            }
            text.push_str("<ul>\n");
            for (name, changes, prefix) in [("methods", &step.methods, "m-"), ("types", &step.types, "t-")] {
                self.changes(text, name, changes, prefix);
            }
            text.push_str("</ul></li>\n");
        }
        text.push_str("</ol>\n</section>\n");
    }

    fn changes(&self, text: &mut String, what: &str, changes: &Changes, prefix: &str) {
        for (words, names) in [("added", &changes.added), ("removed", &changes.removed)] {
            if names.is_empty() {
                continue;
            }
            let count = counted(names.len() as u64, what);
            let links: Vec<String> = names.iter().map(|name| self.mention(name, prefix)).collect();
            let _ = writeln!(
                text,
                "<li><details><summary>{count} {words}</summary><p>{}</p></details></li>",
                links.join(", ")
            );
        }
    }

    /// Links a name if this revision has it.
    fn mention(&self, name: &str, prefix: &str) -> String {
        let target = match prefix {
            "m-" => self.protocol.messages().any(|message| message.method == name).then(|| name.to_owned()),
            _ => self.protocol.find(name).map(|def| def.rust.clone()),
        };
        let code = format!("<code>{}</code>", escape(name));
        target.map_or(code.clone(), |target| format!("<a href=\"#{prefix}{}\">{code}</a>", escape(&target)))
    }

    fn methods(&self, text: &mut String) {
        text.push_str("<section aria-labelledby=\"methods\">\n<h2 id=\"methods\">Methods</h2>\n");
        if self.protocol.messages().next().is_none() {
            text.push_str("<p>The schema has no methods.</p>\n</section>\n");
            return;
        }
        begin_table(text, &["Method", "Kind", "Sent by", "Params", "Result", "Since"]);
        self.protocol.messages().for_each(|message| self.method(text, message));
        text.push_str("</tbody>\n</table>\n</section>\n");
    }

    fn method(&self, text: &mut String, message: Message<'_>) {
        let Message { method: name, senders, params, request, .. } = message;
        let mut result = request.map_or_else(String::new, |request| self.expression(&request.result));
        if let Some(task) = request.and_then(|request| request.task_result.as_ref()) {
            let _ = write!(result, ", or {} for a task", self.expression(task));
        }
        let embedded = if request.is_some() && senders.is_empty() { "embedded " } else { "" };
        let kind = message.kind().as_str();
        let senders: Vec<&str> = senders.iter().map(|side| side.as_str()).collect();
        let params = params.map(|params| {
            let optional = if params.required { "" } else { " (optional)" };
            format!("{}{optional}", self.expression(&params.content))
        });
        let id = escape(name);
        let doc = self.doc(&DocTarget::Method(name.to_owned()));
        let _ = writeln!(
            text,
            "<tr><th scope=\"row\" id=\"m-{id}\"><code>{id}</code>{doc}</th><td>{embedded}{kind}</td><td>{}</td><td>{}</td>\
             <td>{result}</td><td class=\"since\">{}</td></tr>",
            senders.join(", "),
            params.unwrap_or_default(),
            escape(history::method_since(self.revisions, name).unwrap_or_default()),
        );
    }

    fn types(&self, text: &mut String, navigation: &mut Vec<(String, String)>) {
        text.push_str("<section aria-labelledby=\"types\">\n<h2 id=\"types\">Types</h2>\n");
        text.push_str("<form class=\"filter\" hidden><label>Search <input type=\"search\" name=\"search\"></label>");
        text.push_str("<output id=\"shown\"></output></form>\n</section>\n");
        navigation.push(("types".to_owned(), "Types".to_owned()));
        let mut areas: BTreeMap<&str, Vec<TypeId>> = BTreeMap::new();
        for id in 0..self.protocol.types.len() {
            areas.entry(self.protocol.area(id)).or_default().push(id);
        }
        for (area, mut ids) in areas {
            ids.sort_by_key(|id| &self.protocol.types[*id].rust);
            let name = escape(area);
            let _ = writeln!(text, "<section aria-labelledby=\"a-{name}\">\n<h2 id=\"a-{name}\">Area {name}</h2>");
            navigation.push((format!("a-{area}"), area.to_owned()));
            ids.into_iter().for_each(|id| self.definition(text, id, &self.protocol.types[id]));
            text.push_str("</section>\n");
        }
    }

    fn definition(&self, text: &mut String, id: TypeId, def: &TypeDef) {
        let name = escape(&def.rust);
        let search = format!("{} {} {}", def.name, def.rust, self.protocol.area(id)).to_lowercase();
        let _ = write!(text, "<article id=\"t-{name}\" data-text=\"{}\">\n<header><h3>{name}</h3>", escape(&search));
        if def.deprecated {
            text.push_str("<span class=\"badge dangerous\">deprecated</span>");
        }
        if let Some(since) = history::type_since(self.revisions, &def.name) {
            let _ = write!(text, "<span class=\"quiet\">since {}</span>", escape(since));
        }
        if self.has_history {
            let page = escape(&type_page(&def.name));
            let _ = write!(text, "<a href=\"../{page}\" aria-label=\"History of {name}\">history</a>");
        }
        let _ =
            writeln!(text, "<a class=\"permalink\" href=\"#t-{name}\" aria-label=\"Link to {name}\">#</a></header>");
        text.push_str(&self.doc(&DocTarget::Type(def.name.clone())));
        self.shape(text, def);
        let users: Vec<String> = self.users[id].iter().map(|user| user.link()).collect();
        if !users.is_empty() {
            let _ = writeln!(text, "<p class=\"quiet\">Used by {}</p>", users.join(", "));
        }
        text.push_str("</article>\n");
    }

    fn shape(&self, text: &mut String, def: &TypeDef) {
        let Outline { words, parts, notes } = self.protocol.outline(&def.shape);
        let words = match &def.shape {
            Shape::Struct(Struct { rest: Rest::Open, .. }) => "other members are allowed".to_owned(),
            Shape::Alias(..) | Shape::Newtype(_) => "the same as".to_owned(),
            _ => words,
        };
        // Why a union is undecided matters only to people who generate code.
        let notes = if matches!(def.shape, Shape::Undecided(_)) { Vec::new() } else { notes };
        match &def.shape {
            Shape::Struct(Struct { members, .. }) if !members.is_empty() => self.members(text, def, members),
            _ => {}
        }
        let parts = parts.into_iter().filter_map(|part| match part {
            Part::Member(_) => None,
            Part::Value(value) => Some(format!("<code>{}</code>", escape(&value.to_string()))),
            Part::Type(_, content) => Some(self.expression(content)),
            Part::Others(content) => Some(format!("others: {}", self.expression(content))),
        });
        let text_of_parts = format!("{words} {}", parts.collect::<Vec<_>>().join(", "));
        let notes = notes.iter().map(|note| escape(note));
        let lines = std::iter::once(text_of_parts.trim().to_owned()).chain(notes);
        let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
        if !lines.is_empty() {
            let _ = writeln!(text, "<p class=\"sentence\">{}.</p>", lines.join("; "));
        }
    }

    fn members(&self, text: &mut String, def: &TypeDef, members: &[Member]) {
        begin_table(text, &["Member", "Type", "Presence", "Since"]);
        for member in members {
            let content = match &member.content {
                Content::Constant(value) => format!("always <code>{}</code>", escape(&value.to_string())),
                Content::Value(content) => self.expression(content),
            };
            let presence = if member.required { "required" } else { "optional" };
            let doc = self.doc(&DocTarget::Member(def.name.clone(), member.wire.clone()));
            let _ = writeln!(
                text,
                "<tr><th scope=\"row\"><code>{}</code></th><td>{content}{doc}</td><td>{presence}</td><td class=\"since\">{}</td></tr>",
                escape(&member.wire),
                escape(history::member_since(self.revisions, &def.name, &member.wire).unwrap_or_default()),
            );
        }
        text.push_str("</tbody>\n</table>\n");
    }

    /// Describes a type expression, linking named types.
    fn expression(&self, content: &Type) -> String {
        match content {
            Type::Named(id) => {
                let name = escape(&self.protocol.types[*id].rust);
                format!("<a href=\"#t-{name}\"><code>{name}</code></a>")
            }
            Type::List(inner) => format!("list of {}", self.expression(inner)),
            Type::Map(inner) => format!("map of {}", self.expression(inner)),
            Type::Nullable(inner) => format!("{} or null", self.expression(inner)),
            other => escape(&self.protocol.describe(other)),
        }
    }

    fn doc(&self, target: &DocTarget) -> String {
        let entry = self.protocol.docs.of(target);
        let first = entry.map(|entry| entry.doc.split("\n\n").next().unwrap_or_default());
        first.map_or(String::new(), |first| format!("<p>{}</p>\n", code_spans(first)))
    }
}

fn begin_table(text: &mut String, columns: &[&str]) {
    let columns: String = columns.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    let _ = write!(text, "<table>\n<thead><tr>{columns}</tr></thead>\n<tbody>\n");
}

impl User<'_> {
    fn link(self) -> String {
        let (prefix, name) = match self {
            User::Method(name) => ("m-", escape(name)),
            User::Type(name) => ("t-", escape(name)),
        };
        format!("<a href=\"#{prefix}{name}\"><code>{name}</code></a>")
    }
}
