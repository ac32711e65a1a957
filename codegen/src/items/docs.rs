//! What the documentation says: the schema's own words if it has any, otherwise the facts.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::quote;

use super::Options;
use crate::protocol::{
    AliasRule, Bounded, Content, Limit, Member, Origin, Protocol, Rest, Side, Struct, TypeId, Union, Value,
};

/// Writes documentation comments.
pub struct Docs<'a> {
    protocol: &'a Protocol,
    options: &'a Options,
    users: BTreeMap<TypeId, Vec<TypeId>>,
}

/// Users named in a type's documentation.
const NAMED_USERS: usize = 6;

impl<'a> Docs<'a> {
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
        Docs { protocol, options, users }
    }

    pub(super) fn definition(&self, id: TypeId) -> TokenStream {
        self.type_docs(id, &[])
    }

    pub(super) fn alias(&self, id: TypeId, rule: &AliasRule) -> TokenStream {
        match rule {
            AliasRule::Plain => self.type_docs(id, &[]),
            AliasRule::AnyJson => self.type_docs(id, &["The schema accepts every JSON value here.".to_owned()]),
            AliasRule::Absorbed(members) => {
                let members: Vec<String> = members.iter().map(|member| format!("`{member}`")).collect();
                self.type_docs(
                    id,
                    &[format!(
                        "In the schema a union, of which this type accepts all that the others accept: {}. \
                     Which of them a value is follows from the request that it answers.",
                        members.join(", ")
                    )],
                )
            }
        }
    }

    pub(super) fn union(&self, id: TypeId, union: &Union) -> TokenStream {
        let mut lines = Vec::new();
        if union.messages.is_none() {
            let mut text = String::from("Which one a value is:\n");
            for guard in &union.decision.guards {
                let when: Vec<String> = guard.when.iter().map(|condition| escape(&condition.to_string())).collect();
                let when = if when.is_empty() { "otherwise".to_owned() } else { when.join(", and ") };
                text.push_str(&format!("\n* {when}: `{}`", union.variants[guard.member].rust));
            }
            lines.push(text);
        }
        if !union.absorbed.is_empty() {
            let absorbed = union.absorbed.iter().map(|(member, by)| format!("`{member}` (within `{by}`)"));
            lines.push(format!(
                "Left out, as another member accepts all of it: {}.",
                absorbed.collect::<Vec<_>>().join(", ")
            ));
        }
        self.type_docs(id, &lines)
    }

    pub(super) fn bounded(&self, id: TypeId, bounded: &Bounded) -> TokenStream {
        let limit = match &bounded.limit {
            Limit::Bounds(bounds) => {
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
            Limit::Length(length) => {
                let min = (length.min > 0).then(|| format!("at least {}", length.min));
                let max = length.max.map(|max| format!("at most {max}"));
                format!("of a length of {}", min.into_iter().chain(max).collect::<Vec<_>>().join(" and "))
            }
        };
        self.type_docs(id, &[format!("Checked when it is made: {limit}.")])
    }

    /// Summary, then facts, then links: the order of every type's documentation.
    fn type_docs(&self, id: TypeId, facts: &[String]) -> TokenStream {
        let def = &self.protocol.types[id];
        let mut paragraphs = vec![match &def.description {
            Some(description) if !description.trim().is_empty() => escape(description),
            _ => self.summary(id),
        }];
        paragraphs.extend(facts.iter().cloned());
        if def.deprecated {
            paragraphs.push("Deprecated by the schema.".to_owned());
        }
        if let Some(users) = self.users.get(&id).filter(|users| !users.is_empty()) {
            let named = users.iter().take(NAMED_USERS).map(|user| format!("[`{}`]", self.protocol.types[*user].rust));
            let more = users.len().saturating_sub(NAMED_USERS);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            paragraphs.push(format!("Used by {}{more}.", named.collect::<Vec<_>>().join(", ")));
        }
        if self.options.vendored.is_some() && def.origin == Origin::Definition {
            let (revision, anchor) = (&self.options.revision, def.name.to_lowercase());
            paragraphs.push(format!(
                "Specification: [`{}`](https://modelcontextprotocol.io/specification/{revision}/schema#{anchor})",
                def.name
            ));
        }
        lines(&paragraphs.join("\n\n"))
    }

    fn summary(&self, id: TypeId) -> String {
        let def = &self.protocol.types[id];
        let protocol = self.protocol;
        if let Some(request) = protocol.requests.iter().find(|request| request.type_id == id) {
            return format!("The `{}` request, {}.", request.method, sent_by(&request.senders));
        }
        if let Some(notification) = protocol.notifications.iter().find(|notification| notification.type_id == id) {
            return format!("The `{}` notification, {}.", notification.method, sent_by(&notification.senders));
        }
        let is = |content: &crate::protocol::Type| content.by_value() == Some(id);
        if let Some(request) =
            protocol.requests.iter().find(|r| r.params.as_ref().is_some_and(|params| is(&params.content)))
        {
            return format!("The parameters of [`{}`] (`{}`).", protocol.types[request.type_id].rust, request.method);
        }
        if let Some(request) = protocol.requests.iter().find(|request| is(&request.result)) {
            return format!("The result of [`{}`] (`{}`).", protocol.types[request.type_id].rust, request.method);
        }
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

    pub(super) fn member(&self, member: &Member) -> TokenStream {
        let presence = if member.required { "required" } else { "optional" };
        let mut text = match &member.description {
            Some(description) if !description.trim().is_empty() => {
                format!("{}\n\n{}, {presence}.", escape(description), code(&member.wire))
            }
            _ => format!("{}, {presence}.", code(&member.wire)),
        };
        if let Some(default) = &member.default {
            text.push_str(&format!(" Default: {}.", code(&default.to_string())));
        }
        if member.deprecated {
            text.push_str(" Deprecated by the schema.");
        }
        lines(&text)
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

    pub(super) fn variant(&self, union: &Union, index: usize) -> TokenStream {
        let variant = &union.variants[index];
        match variant.content.by_value().map(|id| &self.protocol.types[id]) {
            Some(def) => lines(&format!("[`{}`]", def.rust)),
            None => lines(&format!("{}.", self.protocol.describe(&variant.content))),
        }
    }

    pub(super) fn value(&self, value: &Value) -> TokenStream {
        lines(&code(&value.json.to_string()))
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
