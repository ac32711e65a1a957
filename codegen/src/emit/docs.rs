//! What the documentation says: the schema's own words if it has any, otherwise the facts.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::quote;

use super::Options;
use crate::model::{
    AliasRule, Bounded, Content, DocEntry, DocTarget, Limit, Member, Origin, Protocol, Rest, Shape, Side, Struct,
    TypeId, Undecided, Union, Value,
};
use crate::text::markdown::links;

/// Writes documentation comments.
pub(super) struct DocWriter<'a> {
    protocol: &'a Protocol,
    options: &'a Options,
    users: BTreeMap<TypeId, Vec<TypeId>>,
}

/// Users named in a type's documentation.
const NAMED_USERS: usize = 6;

/// What the documentation says of types with checks.
const CHECKED: &str = "Checked against the schema when it is created.";

impl<'a> DocWriter<'a> {
    pub(super) fn new(protocol: &'a Protocol, options: &'a Options) -> Self {
        let mut users: BTreeMap<TypeId, Vec<TypeId>> = BTreeMap::new();
        for user in 0..protocol.types.len() {
            for used in protocol.uses(user) {
                let known = users.entry(used).or_default();
                if used != user && !known.contains(&user) {
                    known.push(user);
                }
            }
        }
        DocWriter { protocol, options, users }
    }

    pub(super) fn definition(&self, id: TypeId) -> TokenStream {
        self.type_docs(id, &[])
    }

    pub(super) fn alias(&self, id: TypeId, rule: &AliasRule) -> TokenStream {
        match rule {
            AliasRule::Plain => self.type_docs(id, &[]),
            AliasRule::AnyJson => self.type_docs(id, &["The schema accepts every JSON value here.".to_owned()]),
            AliasRule::Absorbed(variants) => {
                let variants: Vec<String> = variants.iter().map(|variant| format!("`{variant}`")).collect();
                self.type_docs(
                    id,
                    &[format!(
                        "In the schema a union, of which this type accepts all that the others accept: {}. \
                     Which of them a value is follows from the request that it answers.",
                        variants.join(", ")
                    )],
                )
            }
        }
    }

    pub(super) fn union(&self, id: TypeId, union: &Union) -> TokenStream {
        let mut lines = Vec::new();
        if union.messages.is_some() {
            lines.push(self.methods(union));
        } else {
            let mut text = String::from("Which one a value is:\n");
            for guard in &union.decision.guards {
                let when: Vec<String> = guard.when.iter().map(|condition| escape(&condition.to_string())).collect();
                let when = if when.is_empty() { "otherwise".to_owned() } else { when.join(", and ") };
                text.push_str(&format!("\n* {when}: `{}`", union.variants[guard.variant].rust));
            }
            lines.push(text);
        }
        if !union.absorbed.is_empty() {
            let absorbed = union.absorbed.iter().map(|(variant, by)| format!("`{variant}` (within `{by}`)"));
            lines.push(format!(
                "Left out, as another variant accepts all of it: {}.",
                absorbed.collect::<Vec<_>>().join(", ")
            ));
        }
        self.type_docs(id, &lines)
    }

    /// The methods of a direction, as a table.
    fn methods(&self, union: &Union) -> String {
        let mut table = String::from("| method | message | |\n|---|---|---|");
        for id in union.variants.iter().filter_map(|variant| variant.content.by_value()) {
            let method = self.protocol.method_of(id).unwrap_or_default();
            let gist = self.gist(id).unwrap_or_default().replace('|', "\\|");
            table.push_str(&format!("\n| `{method}` | [`{}`] | {gist} |", self.protocol.types[id].rust));
        }
        table
    }

    pub(super) fn bounded(&self, id: TypeId, bounded: &Bounded) -> TokenStream {
        let limit = match &bounded.limit {
            None => return self.type_docs(id, &[CHECKED.to_owned()]),
            Some(Limit::Bounds(bounds)) => {
                let min = bounds
                    .min
                    .as_ref()
                    .map(|b| format!("{} {}", if b.exclusive { "more than" } else { "at least" }, b.value));
                let max = bounds
                    .max
                    .as_ref()
                    .map(|b| format!("{} {}", if b.exclusive { "less than" } else { "at most" }, b.value));
                min.into_iter().chain(max).collect::<Vec<_>>().join(" and ")
            }
            Some(Limit::Length(length)) => {
                let min = (length.min > 0).then(|| format!("at least {}", length.min));
                let max = length.max.map(|max| format!("at most {max}"));
                format!("of a length of {}", min.into_iter().chain(max).collect::<Vec<_>>().join(" and "))
            }
        };
        let mut facts = vec![format!("Checked when it is made: {limit}.")];
        facts.extend((!bounded.checks.is_empty()).then(|| CHECKED.to_owned()));
        self.type_docs(id, &facts)
    }

    pub(super) fn undecided(&self, id: TypeId, undecided: &Undecided) -> TokenStream {
        let names: Vec<String> =
            undecided.alternatives.iter().map(|variant| self.protocol.describe(&variant.content)).collect();
        let fact = format!(
            "JSON that is valid for one of several alternatives: {}. A value can be valid for more than one.",
            names.join(", ")
        );
        self.type_docs(id, &[fact])
    }

    /// Our words, then facts, then links: the order of every type's documentation.
    fn type_docs(&self, id: TypeId, facts: &[String]) -> TokenStream {
        let def = &self.protocol.types[id];
        let entry = self.entry_of(id);
        let mut paragraphs = match (entry, &def.description) {
            (Some(entry), _) => {
                let ours = self.linked(&entry.doc);
                std::iter::once(ours).chain(self.role(id)).collect()
            }
            (None, Some(description)) if !description.trim().is_empty() => vec![escape(description)],
            _ => vec![self.summary(id)],
        };
        paragraphs.extend(facts.iter().cloned());
        paragraphs.extend(self.constants(id));
        let since = self.protocol.docs.since(&DocTarget::Type(def.name.clone()));
        paragraphs.extend(since.map(|since| format!("Since revision {since}.")));
        let deprecation = entry.map(|entry| self.deprecation(entry)).unwrap_or_default();
        if def.deprecated && deprecation.is_empty() {
            paragraphs.push("Deprecated by the schema.".to_owned());
        }
        if let Some(users) = self.users.get(&id).filter(|users| !users.is_empty()) {
            let named = users.iter().take(NAMED_USERS).map(|user| format!("[`{}`]", self.protocol.types[*user].rust));
            let more = users.len().saturating_sub(NAMED_USERS);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            paragraphs.push(format!("Used by {}{more}.", named.collect::<Vec<_>>().join(", ")));
        }
        if self.options.vendored.is_some() && def.origin == Origin::Definition {
            let (revision, anchor) = (&self.protocol.revision, def.name.to_lowercase());
            paragraphs.push(format!(
                "Specification: [`{}`](https://modelcontextprotocol.io/specification/{revision}/schema#{anchor})",
                def.name
            ));
        }
        let example = self.protocol.docs.example(&def.name);
        paragraphs.extend(example.map(|example| format!("# Example\n\n```\n{example}\n```")));
        let text = lines(&paragraphs.join("\n\n"));
        quote!(#text #deprecation)
    }

    /// What is said of a type: of one that is a method as a whole, what is said of the method.
    fn entry_of(&self, id: TypeId) -> Option<&DocEntry> {
        let words = &self.protocol.docs;
        let own = words.of(&DocTarget::Type(self.protocol.types[id].name.clone()));
        own.or_else(|| words.of(&DocTarget::Method(self.protocol.method_of(id)?.to_owned())))
    }

    /// The first sentence of what is said of a type.
    pub(super) fn gist(&self, id: TypeId) -> Option<String> {
        let first = self.entry_of(id)?.doc.split("\n\n").next().unwrap_or_default();
        let first = first.split_inclusive(". ").next().unwrap_or_default();
        Some(self.linked(first.trim()).replace('\n', " "))
    }

    /// Links to what this revision does not have are no links.
    fn linked(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let names: Vec<String> = links(&text).map(str::to_owned).collect();
        for name in names {
            if !self.protocol.types.iter().any(|def| def.rust == name) {
                text = text.replace(&format!("[`{name}`]"), &format!("`{name}`"));
            }
        }
        text
    }

    /// What tells the compiler that something is deprecated.
    fn deprecation(&self, entry: &DocEntry) -> TokenStream {
        let Some(since) = &entry.deprecated_since else { return TokenStream::new() };
        let replacement = entry.replacement.as_ref().map(|text| format!(": {}", text.replace(['[', ']', '`'], "")));
        let note = format!("since revision {since}{}", replacement.unwrap_or_default());
        quote!(#[deprecated(note = #note)])
    }

    /// Members that are always the same, and so are no fields.
    fn constants(&self, id: TypeId) -> Option<String> {
        let Shape::Struct(body) = &self.protocol.types[id].shape else { return None };
        let constants = body.members.iter().filter(|member| member.required);
        let constants: Vec<String> = constants
            .filter_map(|member| match &member.content {
                Content::Constant(value) => Some(format!("{} is {}", code(&member.wire), code(&value.to_string()))),
                Content::Value(_) => None,
            })
            .collect();
        (!constants.is_empty()).then(|| format!("On the wire, {}.", constants.join(", ")))
    }

    fn summary(&self, id: TypeId) -> String {
        self.role(id).unwrap_or_else(|| self.origin(id))
    }

    /// What a type is to a method.
    fn role(&self, id: TypeId) -> Option<String> {
        let protocol = self.protocol;
        if let Some(request) = protocol.requests.iter().find(|request| request.type_id == id) {
            return Some(format!("The `{}` request, {}.", request.method, sent_by(&request.senders)));
        }
        if let Some(notification) = protocol.notifications.iter().find(|notification| notification.type_id == id) {
            return Some(format!("The `{}` notification, {}.", notification.method, sent_by(&notification.senders)));
        }
        let is = |content: &crate::model::Type| content.by_value() == Some(id);
        if let Some(request) =
            protocol.requests.iter().find(|r| r.params.as_ref().is_some_and(|params| is(&params.content)))
        {
            let rust = &protocol.types[request.type_id].rust;
            return Some(format!("The parameters of [`{rust}`] (`{}`).", request.method));
        }
        if let Some(request) = protocol.requests.iter().find(|request| is(&request.result)) {
            return Some(format!("The result of [`{}`] (`{}`).", protocol.types[request.type_id].rust, request.method));
        }
        let result = protocol.result_in_response(id)?;
        Some(format!("A whole response that carries a [`{}`].", protocol.types[result].rust))
    }

    fn origin(&self, id: TypeId) -> String {
        let (def, protocol) = (&self.protocol.types[id], self.protocol);
        match &def.origin {
            Origin::Definition => format!("`{}` of the schema.", def.name),
            Origin::Absent => format!("`{}`, of which this revision has none.", def.name),
            Origin::Inline(pointers) => match self.users.get(&id).and_then(|users| users.first()) {
                Some(user) => {
                    format!("A value inside [`{}`], at `{}` of the schema.", protocol.types[*user].rust, pointers[0])
                }
                None => format!("A value at `{}` of the schema.", pointers[0]),
            },
        }
    }

    pub(super) fn member(&self, id: TypeId, member: &Member) -> TokenStream {
        let presence = if member.required { "required" } else { "optional" };
        let words = &self.protocol.docs;
        let name = &self.protocol.types[id].name;
        let place = DocTarget::Member(name.clone(), member.wire.clone());
        let entry = words.of(&place);
        let mut text = match (entry, &member.description) {
            (Some(entry), _) => format!("{}\n\n{}, {presence}.", self.linked(&entry.doc), code(&member.wire)),
            (None, Some(description)) if !description.trim().is_empty() => {
                format!("{}\n\n{}, {presence}.", escape(description), code(&member.wire))
            }
            _ => format!("{}, {presence}.", code(&member.wire)),
        };
        let since = words.since(&place).filter(|since| words.since(&DocTarget::Type(name.clone())) != Some(since));
        if let Some(since) = since {
            text.push_str(&format!(" Since revision {since}."));
        }
        let deprecation = entry.map(|entry| self.deprecation(entry)).unwrap_or_default();
        if let Some(default) = &member.default {
            text.push_str(&format!(" Default: {}.", code(&default.to_string())));
        }
        if member.deprecated && deprecation.is_empty() {
            text.push_str(" Deprecated by the schema.");
        }
        let text = lines(&text);
        quote!(#text #deprecation)
    }

    /// What a setter says.
    pub(super) fn setter(&self, id: TypeId, member: &Member) -> TokenStream {
        let place = DocTarget::Member(self.protocol.types[id].name.clone(), member.wire.clone());
        let deprecation = self.protocol.docs.of(&place).map(|entry| self.deprecation(entry));
        let text = lines(&format!("Sets {}.", code(&member.wire)));
        quote!(#text #deprecation)
    }

    pub(super) fn extra(&self, rest: &Rest) -> TokenStream {
        match rest {
            Rest::Typed(_) => lines("All other members."),
            _ => lines("Members that the schema does not name, kept as they came."),
        }
    }

    pub(super) fn constructor(&self, id: TypeId, body: &Struct) -> TokenStream {
        let has_defaults = body
            .members
            .iter()
            .any(|member| member.required && member.default.is_some() && matches!(member.content, Content::Value(_)));
        let defaults = if has_defaults { " and the defaults of the schema" } else { "" };
        lines(&format!("A `{}` of the members that it requires{defaults}.", self.protocol.types[id].rust))
    }

    pub(super) fn variant(&self, id: TypeId, union: &Union, index: usize) -> TokenStream {
        let variant = &union.variants[index];
        if let Some(content) = variant.content.by_value() {
            let link = format!("[`{}`]", self.protocol.types[content].rust);
            return lines(&self.gist(content).map_or_else(|| link.clone(), |gist| format!("{link}: {gist}")));
        }
        let place = DocTarget::Variant(self.protocol.types[id].name.clone(), variant.rust.clone());
        let described = format!("{}.", self.protocol.describe(&variant.content));
        match self.protocol.docs.of(&place) {
            Some(entry) => lines(&format!("{}\n\nA {described}", self.linked(&entry.doc))),
            None => lines(&described),
        }
    }

    pub(super) fn value(&self, id: TypeId, value: &Value) -> TokenStream {
        let place = DocTarget::Value(self.protocol.types[id].name.clone(), value.json.plain());
        let wire = code(&value.json.to_string());
        match self.protocol.docs.of(&place) {
            Some(entry) => {
                let (text, deprecation) = (self.linked(&entry.doc), self.deprecation(entry));
                let text = lines(&format!("{text}\n\n{wire}"));
                quote!(#text #deprecation)
            }
            None => lines(&wire),
        }
    }
}

fn sent_by(senders: &[Side]) -> String {
    match senders {
        [] => "which travels inside another message".to_owned(),
        [one] => format!("sent by the {}", one.as_str()),
        _ => "sent by either side".to_owned(),
    }
}

/// A code span of any text.
pub(super) fn code(text: &str) -> String {
    if !text.contains('`') {
        return format!("`{text}`");
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let mark = "`".repeat(longest + 1);
    format!("{mark} {text} {mark}")
}

/// Prose is Markdown to rustdoc: what would be a link, a tag or a Rust example there is shown as it is.
fn escape(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\t', "    ");
    let (mut out, mut fence) = (Vec::new(), String::new());
    for line in text.lines() {
        let bare = line.trim();
        let mark: String = bare.chars().take_while(|c| bare.starts_with(*c) && "`~".contains(*c)).collect();
        let is_fence = mark.len() >= 3 && !bare[mark.len()..].contains('`');
        if !fence.is_empty() && is_fence && mark == bare && mark.starts_with(&fence) {
            out.push(std::mem::take(&mut fence));
        } else if !fence.is_empty() {
            out.push(line.to_owned());
        } else if is_fence {
            out.push(format!("{mark}text"));
            fence = mark;
        } else {
            // Four spaces would make it an example.
            let indent = line.len() - line.trim_start().len();
            out.push(format!("{}{}", " ".repeat(indent.min(3)), escape_line(bare)));
        }
    }
    out.extend((!fence.is_empty()).then_some(fence));
    out.join("\n")
}

fn escape_line(line: &str) -> String {
    let ticks = line.matches('`').count();
    if ticks % 2 == 1 || line.contains("``") {
        return escape_words(line);
    }
    let pieces = line.split('`').enumerate();
    let pieces = pieces.map(|(index, piece)| if index % 2 == 0 { escape_words(piece) } else { piece.to_owned() });
    pieces.collect::<Vec<_>>().join("`")
}

/// Addresses become links.
fn escape_words(text: &str) -> String {
    let escaped = text.replace('[', "\\[").replace(']', "\\]").replace('<', "\\<").replace('>', "\\>");
    let mut out = String::with_capacity(escaped.len());
    for piece in escaped.split_inclusive(char::is_whitespace) {
        let start = ["https://", "http://"].iter().filter_map(|scheme| piece.find(scheme)).min();
        let Some(start) = start else {
            out.push_str(piece);
            continue;
        };
        let (before, rest) = piece.split_at(start);
        let end = rest.find(|c: char| c.is_whitespace() || "\\<>()`\"".contains(c)).unwrap_or(rest.len());
        let address = rest[..end].trim_end_matches(['.', ',', ';', ':', '*', '_']);
        out.push_str(&format!("{before}<{address}>{}", &rest[address.len()..]));
    }
    out
}

fn lines(text: &str) -> TokenStream {
    let lines = text.lines().map(|line| if line.is_empty() { String::new() } else { format!(" {}", line.trim_end()) });
    quote!(#(#[doc = #lines])*)
}
