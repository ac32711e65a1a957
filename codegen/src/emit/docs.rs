//! Writes doc comments: our documentation from `schema/docs`, or else the schema's, followed by facts.

use heck::ToLowerCamelCase as _;
use mcpgen_model::text::foreign::{code, line, prose};
use mcpgen_model::text::markdown::{is_prose, links};
use mcpgen_model::{
    AliasRule, Bounded, DocEntry, DocTarget, Limit, Member, Origin, Protocol, Request, Shape, Side, Tuple, Type,
    TypeId, Undecided, Union, Value,
};
use proc_macro2::TokenStream;
use quote::quote;

use super::Options;
use super::comments::Comments;

pub(super) struct DocWriter<'a> {
    protocol: &'a Protocol,
    options: &'a Options,
    users: Vec<Vec<TypeId>>,
    pub(super) comments: Comments,
}

/// A type's documentation names this many of the types that use it, or one more if that completes the list.
const NAMED_USERS: usize = 6;

const CHECKED: &str = "Checked against the schema when it is created.";

impl<'a> DocWriter<'a> {
    pub(super) fn new(protocol: &'a Protocol, options: &'a Options) -> Self {
        DocWriter { protocol, options, users: protocol.types.users(), comments: Comments::default() }
    }

    pub(super) fn definition(&self, id: TypeId) -> TokenStream {
        self.type_docs(id, &[])
    }

    pub(super) fn alias(&self, id: TypeId, rule: &AliasRule) -> TokenStream {
        match rule {
            AliasRule::Plain => self.type_docs(id, &[]),
            AliasRule::AnyJson => self.type_docs(id, &["The schema accepts every JSON value here.".to_owned()]),
            AliasRule::Absorbed(variants) => {
                let variants: Vec<String> = variants.iter().map(|variant| code(variant)).collect();
                let fact = format!(
                    "In the schema, this is a union. This type accepts everything that the other variants accept: {}. \
                     The method of the request determines the variant of a result.",
                    variants.join(", ")
                );
                self.type_docs(id, &[fact])
            }
        }
    }

    pub(super) fn union(&self, id: TypeId, union: &Union) -> TokenStream {
        let mut lines = Vec::new();
        if union.messages.is_none() {
            let mut text = String::from("The first condition that holds selects the variant:\n");
            for guard in &union.decision.guards {
                let when: Vec<String> = guard.when.iter().map(|condition| line(&condition.to_string())).collect();
                let when = if when.is_empty() { "otherwise".to_owned() } else { when.join(", and ") };
                text.push_str(&format!("\n* {when}: `{}`", union.variants[guard.variant].rust));
            }
            lines.push(text);
        }
        if !union.absorbed.is_empty() {
            let absorbed = union.absorbed.iter().map(|(variant, by)| format!("{} (by {})", code(variant), code(by)));
            lines.push(format!(
                "Omitted variants, which another variant accepts: {}.",
                absorbed.collect::<Vec<_>>().join(", ")
            ));
        }
        self.type_docs(id, &lines)
    }

    pub(super) fn bounded(&self, id: TypeId, bounded: &Bounded) -> TokenStream {
        let limit = match &bounded.limit {
            None => return self.type_docs(id, &[CHECKED.to_owned()]),
            Some(Limit::Bounds(bounds)) => format!("the value is {bounds}"),
            Some(Limit::Length(length)) => {
                let min = (length.min > 0).then(|| format!("at least {}", length.min));
                let max = length.max.map(|max| format!("at most {max}"));
                format!("the length is {}", min.into_iter().chain(max).collect::<Vec<_>>().join(" and "))
            }
        };
        let mut facts = vec![format!("The constructor checks that {limit}.")];
        facts.extend((!bounded.checks.is_empty()).then(|| CHECKED.to_owned()));
        self.type_docs(id, &facts)
    }

    pub(super) fn tuple(&self, id: TypeId, tuple: &Tuple) -> TokenStream {
        let first: Vec<String> = tuple.first.iter().map(|item| self.describe(&item.content)).collect();
        let rest = tuple.rest.as_ref().map(|rest| format!("; the others: {}", self.describe(rest)));
        self.type_docs(id, &[format!("An array. Its items: {}{}.", first.join(", "), rest.unwrap_or_default())])
    }

    pub(super) fn open_enumeration(&self, id: TypeId) -> TokenStream {
        self.type_docs(id, &["The schema lists known values, and accepts every string.".to_owned()])
    }

    pub(super) fn matching(&self, pattern: &str) -> TokenStream {
        self.comments.emit(&format!("Members whose names match {}.", code(pattern)))
    }

    pub(super) fn undecided(&self, id: TypeId, undecided: &Undecided) -> TokenStream {
        let names: Vec<String> = undecided.alternatives.iter().map(|variant| self.describe(&variant.content)).collect();
        let fact = format!(
            "JSON that is valid for one of several alternatives: {}. A value can be valid for more than one.",
            names.join(", ")
        );
        self.type_docs(id, &[fact])
    }

    /// Writes a type's documentation: the text, facts about the shape, a footer, and an example.
    fn type_docs(&self, id: TypeId, facts: &[String]) -> TokenStream {
        let def = &self.protocol.types[id];
        let entry = self.entry_of(id);
        let mut footer = Vec::new();
        let mut paragraphs = match (entry, &def.description) {
            (Some(entry), _) => {
                footer.extend(self.role(id));
                vec![self.linked(&entry.doc)]
            }
            (None, Some(description)) if !description.trim().is_empty() => vec![prose(description)],
            _ => vec![self.summary(id)],
        };
        paragraphs.extend(facts.iter().cloned());
        paragraphs.extend(self.protocol.docs.json(&def.name).map(|json| format!("```json\n{json}\n```")));
        footer.extend(self.constants(id));
        let (docs, target) = (&self.protocol.docs, DocTarget::Type(def.name.clone()));
        footer.extend(lifetime(docs.since(&target), docs.until(&target)));
        let deprecation = entry.map(|entry| self.deprecation(entry)).unwrap_or_default();
        if def.deprecated && deprecation.is_empty() {
            footer.push("Deprecated by the schema.".to_owned());
        }
        footer.extend(self.users(id));
        let has_page = self.options.vendored.is_some() && self.protocol.extends.is_none();
        if has_page && def.origin == Origin::Definition {
            let (revision, anchor) = (&self.protocol.revision, def.name.to_lowercase());
            footer.push(format!(
                "[Specification](https://modelcontextprotocol.io/specification/{revision}/schema#{anchor})"
            ));
        }
        paragraphs.extend((!footer.is_empty()).then(|| footer.join(" ")));
        let example = self.protocol.docs.example(&def.name);
        paragraphs.extend(example.map(|example| format!("# Example\n\n```\n{example}\n```")));
        let text = self.comments.emit(&paragraphs.join("\n\n"));
        quote!(#text #deprecation)
    }

    fn users(&self, id: TypeId) -> Option<String> {
        // The documentation of the type's role already names its request.
        let request = self.request(id).map(|(_, request)| request.type_id);
        let is_message = self.protocol.message(id).is_some();
        let sends = |user: TypeId| self.protocol.types[user].is_message_set();
        let is_new = |user: &TypeId| request != Some(*user) && !(is_message && sends(*user));
        let users: Vec<TypeId> = self.users[id].iter().copied().filter(is_new).collect();
        if users.is_empty() {
            return None;
        }
        // "And 1 more" would be as long as the name.
        let count = if users.len() == NAMED_USERS + 1 { users.len() } else { NAMED_USERS };
        let named = users.iter().take(count).map(|user| format!("[`{}`]", self.protocol.types[*user].rust));
        let more = users.len().saturating_sub(count);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Some(format!("Used by {}{more}.", named.collect::<Vec<_>>().join(", ")))
    }

    /// Returns our documentation of a type, or of its method if it is a message.
    fn entry_of(&self, id: TypeId) -> Option<&DocEntry> {
        let words = &self.protocol.docs;
        let own = words.of(&DocTarget::Type(self.protocol.types[id].name.clone()));
        own.or_else(|| words.of(&DocTarget::Method(self.protocol.method_of(id)?.to_owned())))
    }

    pub(super) fn gist(&self, id: TypeId) -> Option<String> {
        let first = self.entry_of(id)?.doc.split("\n\n").next().unwrap_or_default();
        let first = first.split_inclusive(". ").next().unwrap_or_default();
        Some(self.linked(first.trim()).replace('\n', " "))
    }

    /// Removes links to types that this revision does not have.
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

    fn deprecation(&self, entry: &DocEntry) -> TokenStream {
        let Some(since) = &entry.deprecated_since else { return TokenStream::new() };
        let replacement = entry.replacement.as_ref().map(|text| format!(": {}", text.replace(['[', ']', '`'], "")));
        let note = format!("since revision {since}{}", replacement.unwrap_or_default());
        quote!(#[deprecated(note = #note)])
    }

    fn constants(&self, id: TypeId) -> Option<String> {
        let Shape::Struct(body) = &self.protocol.types[id].shape else { return None };
        // A message's role already names its method.
        let is_message = self.protocol.message(id).is_some();
        let shown = body.members.iter().filter(|member| member.required && !(is_message && member.wire == "method"));
        let constants = shown.filter_map(|member| Some((&member.wire, member.constant()?.to_string())));
        let constants = constants.map(|(wire, value)| format!("{} is {}", code(wire), code(&value)));
        let constants: Vec<String> = constants.collect();
        (!constants.is_empty()).then(|| format!("In JSON, {}.", constants.join(" and ")))
    }

    /// Describes a type expression. The result may contain names from the schema, so it is escaped.
    fn describe(&self, content: &Type) -> String {
        line(&self.protocol.describe(content))
    }

    fn summary(&self, id: TypeId) -> String {
        match &self.protocol.types[id].shape {
            Shape::Union(Union { messages: Some(set), variants, .. }) if !variants.is_empty() => {
                format!("The {}s that a {} sends.", set.kind.as_str(), set.sender.as_str())
            }
            _ => self.role(id).unwrap_or_else(|| self.origin(id)),
        }
    }

    fn role(&self, id: TypeId) -> Option<String> {
        let protocol = self.protocol;
        if let Some(message) = protocol.message(id) {
            let (kind, by) = (message.kind().as_str(), self.sent_by(message.senders));
            return Some(format!("The {} {kind}{by}.", code(message.method)));
        }
        if let Some((part, request)) = self.request(id) {
            let rust = &protocol.types[request.type_id].rust;
            return Some(format!("The {part} of [`{rust}`] ({}).", code(&request.method)));
        }
        let result = protocol.result_in_response(id)?;
        Some(format!("A complete response with a [`{}`].", protocol.types[result].rust))
    }

    fn request(&self, id: TypeId) -> Option<(&'static str, &'a Request)> {
        let find = |is_it: &dyn Fn(&Request) -> bool| self.protocol.requests.iter().find(|request| is_it(request));
        let has = |content: &Type| content.by_value() == Some(id);
        let by_params = find(&|request| request.params.as_ref().is_some_and(|params| has(&params.content)));
        let by_result = || find(&|request| has(&request.result)).map(|request| ("result", request));
        by_params.map(|request| ("parameters", request)).or_else(by_result)
    }

    fn sent_by(&self, senders: &[Side]) -> String {
        match senders {
            // The schema does not say who sends what.
            [] if !self.protocol.types.has_message_sets() => String::new(),
            [] => ", sent inside another message".to_owned(),
            [one] => format!(", sent by the {}", one.as_str()),
            _ => ", sent by either side".to_owned(),
        }
    }

    fn origin(&self, id: TypeId) -> String {
        let (def, protocol) = (&self.protocol.types[id], self.protocol);
        match &def.origin {
            Origin::Definition => format!("The definition {} of the schema.", code(&def.name)),
            Origin::Absent => format!("{}, which has no variants in this revision.", code(&def.name)),
            Origin::Inline(pointers) => match self.users[id].first() {
                Some(user) => {
                    let rust = &protocol.types[*user].rust;
                    format!("A value in [`{rust}`], at {} in the schema.", code(&pointers[0]))
                }
                None => format!("A value at {} in the schema.", code(&pointers[0])),
            },
        }
    }

    pub(super) fn member(&self, id: TypeId, member: &Member) -> TokenStream {
        let docs = &self.protocol.docs;
        let name = &self.protocol.types[id].name;
        let place = DocTarget::Member(name.clone(), member.wire.clone());
        let entry = docs.of(&place);
        let mut facts: Vec<String> = self.signature_facts(member).into_iter().collect();
        let owner = DocTarget::Type(name.clone());
        let since = docs.since(&place).filter(|since| docs.since(&owner) != Some(since));
        let until = docs.until(&place).filter(|until| docs.until(&owner) != Some(until));
        facts.extend(lifetime(since, until));
        let deprecation = entry.map(|entry| self.deprecation(entry)).unwrap_or_default();
        facts.extend(member.default.as_ref().map(|default| format!("Default: {}.", code(&default.to_string()))));
        if member.deprecated && deprecation.is_empty() {
            facts.push("Deprecated by the schema.".to_owned());
        }
        let facts = facts.join(" ");
        let text = match (entry, &member.description) {
            (Some(entry), _) => {
                let ours = self.linked(&entry.doc);
                // After a list or table, a space would make the facts a part of its last entry.
                let gap = if is_prose(&ours) { " " } else { "\n\n" };
                format!("{ours}{gap}{facts}")
            }
            (None, Some(description)) if !description.trim().is_empty() => {
                format!("{}\n\n{facts}", prose(description))
            }
            _ => format!("The member {}. {facts}", code(&member.wire)),
        };
        let text = self.comments.emit(text.trim_end());
        quote!(#text #deprecation)
    }

    /// Mentions what a signature does not show: a different name in JSON, and `null`.
    fn signature_facts(&self, member: &Member) -> Option<String> {
        let wire = code(&member.wire);
        let content = member.value().map(|content| self.protocol.follow(content));
        let is_nullable = matches!(content, Some(Type::Nullable(_)));
        match (member.required, is_nullable) {
            (true, true) => Some(format!("The member {wire} is required. `None` is `null`.")),
            (false, true) => Some(format!("The member {wire} is optional. `Some(None)` is `null`.")),
            _ => (member.rust.to_lower_camel_case() != member.wire).then(|| format!("In JSON, it is {wire}.")),
        }
    }

    pub(super) fn member_deprecation(&self, id: TypeId, member: &Member) -> Option<TokenStream> {
        let place = DocTarget::Member(self.protocol.types[id].name.clone(), member.wire.clone());
        self.protocol.docs.of(&place).map(|entry| self.deprecation(entry))
    }

    pub(super) fn message(&self, method: &str, id: TypeId) -> TokenStream {
        self.titled(&format!("{} ([`{}`])", code(method), self.protocol.types[id].rust), id)
    }

    fn titled(&self, title: &str, id: TypeId) -> TokenStream {
        let gist = self.gist(id).map_or_else(String::new, |gist| format!(": {gist}"));
        self.comments.emit(&format!("{title}{gist}"))
    }

    pub(super) fn variant(&self, id: TypeId, union: &Union, index: usize) -> TokenStream {
        let variant = &union.variants[index];
        if let Some(content) = variant.content.by_value() {
            return match self.protocol.method_of(content).filter(|_| union.messages.is_some()) {
                Some(method) => self.message(method, content),
                None => self.titled(&format!("[`{}`]", self.protocol.types[content].rust), content),
            };
        }
        let place = DocTarget::Variant(self.protocol.types[id].name.clone(), variant.rust.clone());
        let described = format!("{}.", self.describe(&variant.content));
        match self.protocol.docs.of(&place) {
            Some(entry) => self.comments.emit(&format!("{}\n\nType: {described}", self.linked(&entry.doc))),
            None => self.comments.emit(&described),
        }
    }

    pub(super) fn value(&self, id: TypeId, value: &Value) -> TokenStream {
        let place = DocTarget::Value(self.protocol.types[id].name.clone(), value.json.plain());
        let wire = code(&value.json.to_string());
        match self.protocol.docs.of(&place) {
            Some(entry) => {
                let (text, deprecation) = (self.linked(&entry.doc), self.deprecation(entry));
                let text = self.comments.emit(&format!("{wire}: {text}"));
                quote!(#text #deprecation)
            }
            None => self.comments.emit(&wire),
        }
    }
}

fn lifetime(since: Option<&str>, until: Option<&str>) -> Option<String> {
    match (since, until) {
        (None, None) => None,
        (Some(since), None) => Some(format!("Since revision {since}.")),
        (None, Some(until)) => Some(format!("Until revision {until}.")),
        (Some(since), Some(until)) if since == until => Some(format!("Only in revision {since}.")),
        (Some(since), Some(until)) => Some(format!("Revisions {since} to {until}.")),
    }
}
