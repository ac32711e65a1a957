//! A page per type: what it is in each revision, and what changed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mcpgen_diff::html::{Page, code_spans, escape};
use mcpgen_model::{Content, DocTarget, Outline, Part, Protocol, Type, TypeDef, TypeId};

use crate::comparisons::Comparison;
use crate::frame::{ABSENT, badge, code, link, section, table};
use crate::links::{model, type_page};
use crate::markdown;

/// The types of all revisions by their names in the schema, with their IDs in each revision.
pub(crate) type TypesByName<'p> = BTreeMap<&'p str, Vec<Option<TypeId>>>;

pub(crate) fn types_by_name(models: &[Protocol]) -> TypesByName<'_> {
    let mut types = TypesByName::new();
    for (index, protocol) in models.iter().enumerate() {
        for (id, def) in protocol.types.iter().enumerate() {
            let row = types.entry(&def.name).or_insert_with(|| vec![None; models.len()]);
            // Definitions come before inline types.
            row[index].get_or_insert(id);
        }
    }
    types
}

pub(crate) struct TypePages<'p> {
    pub(crate) models: &'p [Protocol],
    pub(crate) types: &'p TypesByName<'p>,
    pub(crate) comparisons: &'p [Comparison<'p>],
    /// The types that use each type, for each revision.
    pub(crate) users: Vec<Vec<Vec<TypeId>>>,
}

impl TypePages<'_> {
    /// Writes the page about a type.
    pub(crate) fn page(&self, name: &str, places: &[Option<TypeId>]) -> Page {
        let revisions: Vec<(usize, &Protocol, Option<&TypeDef>)> = self
            .models
            .iter()
            .zip(places)
            .enumerate()
            .map(|(index, (protocol, id))| (index, protocol, id.map(|id| &protocol.types[id])))
            .collect();
        let newest = revisions.iter().rev().find_map(|(index, protocol, def)| Some((*index, *protocol, (*def)?)));
        let mut header = format!("<h1>{}</h1>\n", escape(name));
        let mut sections = Vec::new();
        if let Some((index, protocol, def)) = newest {
            header.push_str(&self.header(&revisions, def));
            let entry = protocol.docs.of(&DocTarget::Type(def.name.clone()));
            let mut about = entry.map_or(String::new(), |entry| markdown::documentation(&entry.doc));
            if let Some(json) = protocol.docs.json(&def.name) {
                let _ = writeln!(about, "<pre class=\"code\" tabindex=\"0\"><code>{}</code></pre>", escape(json));
            }
            let users = places[index].map(|id| self.users[index][id].as_slice()).unwrap_or_default();
            let users: Vec<String> = users.iter().map(|id| self.named(protocol, *id)).collect();
            if !users.is_empty() {
                let _ = writeln!(about, "<p>Used by {} in {}.</p>", users.join(", "), escape(&protocol.revision));
            }
            sections.push(("about", "About", format!("<div class=\"prose\">\n{about}</div>\n")));
        }
        sections.push(("revisions", "By revision", self.by_revision(name, &revisions)));
        let changes = self.changes(name);
        if !changes.is_empty() {
            sections.push(("changes", "Changes", changes));
        }
        Page {
            title: name.to_owned(),
            header,
            navigation: sections.iter().map(|(id, title, _)| ((*id).to_owned(), (*title).to_owned())).collect(),
            main: sections.iter().map(|(id, title, body)| section(id, title, body)).collect(),
            script: "",
        }
    }

    fn header(&self, revisions: &[(usize, &Protocol, Option<&TypeDef>)], def: &TypeDef) -> String {
        let links: Vec<String> = revisions
            .iter()
            .filter_map(|(_, protocol, def)| {
                let target = format!("../{}#t-{}", model("revisions", &protocol.revision), (*def)?.rust);
                Some(link(&target, &escape(&protocol.revision)))
            })
            .collect();
        let rust = if def.rust == def.name { String::new() } else { format!(", in Rust {}", code(&def.rust)) };
        let deprecated = if def.deprecated { format!(" {}", badge("dangerous", "deprecated")) } else { String::new() };
        format!("<p class=\"quiet\">In {}{rust}.{deprecated}</p>\n", links.join(", "))
    }

    /// Writes a table with a column per revision. A cell that differs from the one before it is marked.
    fn by_revision(&self, name: &str, revisions: &[(usize, &Protocol, Option<&TypeDef>)]) -> String {
        let mut rows: Vec<(String, Vec<Option<String>>)> = Vec::new();
        for (index, protocol, def) in revisions {
            for (key, cell) in def.iter().flat_map(|def| self.facts(protocol, def)) {
                let row = match rows.iter().position(|(known, _)| *known == key) {
                    Some(row) => row,
                    None => {
                        rows.push((key, vec![None; revisions.len()]));
                        rows.len() - 1
                    }
                };
                rows[row].1[*index] = Some(cell);
            }
        }
        let mut columns = vec!["Part"];
        columns.extend(revisions.iter().map(|(_, protocol, _)| protocol.revision.as_str()));
        let first = revisions.iter().position(|(.., def)| def.is_some()).unwrap_or_default();
        let rows = rows.into_iter().map(|(key, cells)| {
            let shown = cells.iter().enumerate().map(|(at, cell)| {
                let text = cell.clone().unwrap_or_else(|| ABSENT.to_owned());
                let differs = at > first && cells[at - 1] != *cell;
                if differs { format!("<span class=\"changed\">{text}</span>") } else { text }
            });
            std::iter::once(key).chain(shown).collect()
        });
        let table = table(&format!("{name} by revision"), &columns, rows);
        format!("<p>A coloured cell differs from the revision before it.</p>\n{table}")
    }

    /// Returns the parts of a type, each with a key that is the same in all revisions.
    fn facts(&self, protocol: &Protocol, def: &TypeDef) -> Vec<(String, String)> {
        let Outline { words, parts, notes } = protocol.outline(&def.shape);
        let mut facts = Vec::new();
        let words: Vec<String> = std::iter::once(words).chain(notes).filter(|it| !it.is_empty()).collect();
        if !words.is_empty() {
            facts.push(("kind".to_owned(), escape(&words.join("; "))));
        }
        for (index, part) in parts.into_iter().enumerate() {
            facts.push(match part {
                Part::Member(member) => {
                    let content = match &member.content {
                        Content::Constant(value) => format!("always {}", code(&value.to_string())),
                        Content::Value(content) => self.expression(protocol, content),
                    };
                    let presence = if member.required { "required" } else { "optional" };
                    (code(&member.wire), format!("{content}, {presence}"))
                }
                Part::Value(value) => (code(&value.to_string()), "present".to_owned()),
                Part::Type(_, content) if index == 0 && words.is_empty() => {
                    ("content".to_owned(), self.expression(protocol, content))
                }
                Part::Type(_, content) => (self.expression(protocol, content), "present".to_owned()),
                Part::Others(content) => ("others".to_owned(), self.expression(protocol, content)),
            });
        }
        if facts.is_empty() {
            facts.push(("kind".to_owned(), "an object without members of its own".to_owned()));
        }
        facts
    }

    /// Describes a type expression, with links to the pages of named types.
    fn expression(&self, protocol: &Protocol, content: &Type) -> String {
        match content {
            Type::Named(id) => self.named(protocol, *id),
            Type::List(inner) => format!("list of {}", self.expression(protocol, inner)),
            Type::Map(inner) => format!("map of {}", self.expression(protocol, inner)),
            Type::Nullable(inner) => format!("{} or null", self.expression(protocol, inner)),
            other => escape(&protocol.describe(other)),
        }
    }

    fn named(&self, protocol: &Protocol, id: TypeId) -> String {
        let name = &protocol.types[id].name;
        if self.types.contains_key(name.as_str()) {
            link(&format!("../{}", type_page(name)), &code(name))
        } else {
            code(name)
        }
    }

    /// Writes what changed in the type and in its members, from each revision to the next.
    fn changes(&self, name: &str) -> String {
        let is_inside = |subject: &str| {
            let rest = subject.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let mut text = String::new();
        for (old, new) in self.models.iter().zip(self.models.iter().skip(1)) {
            let is_step = |it: &&Comparison<'_>| it.old == old.revision && it.new == new.revision;
            let Some(step) = self.comparisons.iter().find(is_step) else { continue };
            let found: Vec<_> = step.messages.iter().filter(|(subject, ..)| is_inside(subject)).collect();
            if found.is_empty() {
                continue;
            }
            let _ = writeln!(text, "<h3>{} to {}</h3>\n<ul>", escape(step.old), escape(step.new));
            for (_, verdict, message, anchor) in found {
                let target = format!("../{}#{anchor}", step.address());
                let report = link(&target, "report");
                let badge = badge(verdict.as_str(), verdict.as_str());
                let _ = writeln!(text, "<li>{badge} {} ({report})</li>", code_spans(message));
            }
            text.push_str("</ul>\n");
        }
        text
    }
}
