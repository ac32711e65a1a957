//! Builds message sets: unions of all requests or notifications that one side sends, decided by `method` alone.

use std::collections::BTreeMap;

use mcpgen_schema::Problem;
use mcpgen_schema::json::Json;
use mcpgen_schema::json::pointer::tokens;
use mcpgen_schema::normal::{Kind, Note, Schema};

use crate::build::builder::{Builder, type_def};
use crate::build::labels::{constant, readable};
use crate::build::names::Occurrence;
use crate::contract::MappedMessage;
use crate::text::names::{message_name, type_name};
use crate::{Condition, Guard, MessageKind, MessageSet, Origin, Shape, Tag, Type, TypeId, Union, Variant};

impl Builder<'_> {
    /// Returns whether a definition that is named like a message set really is one. Other protocols may use such a name
    /// for any type.
    pub(super) fn is_message_set(&self, schema: &Schema) -> bool {
        let mut variants = Vec::new();
        self.flatten(schema, &mut variants);
        variants.is_empty() || variants.iter().any(|variant| self.method_of(variant).is_some())
    }

    pub(super) fn messages(&mut self, schema: &Schema, messages: Option<MessageSet>, at: &Occurrence) -> Shape {
        let mut variants = Vec::new();
        self.flatten(schema, &mut variants);
        let mut union = Union { messages, ..Union::default() };
        let mut methods = BTreeMap::new();
        for variant in variants {
            let Some(method) = self.method_of(&variant) else {
                let why = format!("`{}` has no required member `method` with a constant text", readable(&variant));
                let remedy = "add a required member `method` with `{\"const\": \"…\"}`";
                self.problem(at, &variant.note.pointer, &why, remedy);
                continue;
            };
            let content = match self.copied_definition(&variant) {
                Some(id) => Type::Named(id),
                None => self.content(&variant, &at.below(&type_name(&method))),
            };
            match methods.insert(method.clone(), content.clone()) {
                Some(known) if known != content => {
                    let why = format!("two messages of one direction have the method {method:?}");
                    self.problem(at, &variant.note.pointer, &why, "use a different method for each message");
                    continue;
                }
                Some(_) => continue,
                None => {}
            }
            union.add_message(vec![Condition::Value(vec!["method".into()], vec![Json::String(method)])], content);
        }
        Shape::Union(union)
    }

    /// Collects the variants of a schema, and those of nested unions and of unions that it refers to.
    fn flatten(&self, schema: &Schema, variants: &mut Vec<Schema>) {
        match &schema.kind {
            Kind::Union(inner) => inner.iter().for_each(|variant| self.flatten(variant, variants)),
            Kind::Ref(name) => match &self.algebra.target(name).kind {
                Kind::Union(_) | Kind::Ref(_) => self.flatten(self.algebra.target(name), variants),
                _ => variants.push(schema.clone()),
            },
            Kind::Never => {}
            _ => variants.push(schema.clone()),
        }
    }

    fn method_of(&self, schema: &Schema) -> Option<String> {
        let Kind::Object(object) = &self.algebra.follow(schema)?.kind else { return None };
        let method = object.properties.get("method").filter(|property| property.required)?;
        constant(self.algebra.follow(&method.schema)?)?.as_str().map(str::to_owned)
    }

    fn copied_definition(&self, schema: &Schema) -> Option<TypeId> {
        let Kind::Object(_) = &schema.kind else { return None };
        let directions = MessageSet::ALL.map(MessageSet::definition);
        let definitions = self.normalised.definitions.iter();
        let mut copies = definitions.filter(|(name, other)| !directions.contains(&name.as_str()) && *other == schema);
        copies.next().map(|(name, _)| self.names[name])
    }

    /// Adds the message sets that the schema does not define. Does nothing if neither schema nor mapping states
    /// directions.
    pub(super) fn absent_directions(&mut self) {
        let mapping = self.mapping;
        let is_mapped = mapping.is_some_and(|it| it.messages.iter().any(|it| it.entry.direction.is_some()));
        if !is_mapped && !MessageSet::ALL.into_iter().any(|set| self.defines(set)) {
            return;
        }
        for messages in MessageSet::ALL {
            if self.defines(messages) {
                continue;
            }
            let Some(union) = self.mapped(messages) else { continue };
            let name = message_name(messages.definition(), |name| self.names.contains_key(name));
            let mut def = type_def(&name, Origin::Absent, &Note::default());
            def.shape = Shape::Union(union);
            self.names.insert(def.name.clone(), self.types.len());
            self.types.push(def);
            self.occurrences.push(Vec::new());
        }
    }

    fn defines(&self, set: MessageSet) -> bool {
        self.types.iter().any(|def| def.message_set() == Some(set))
    }

    /// Builds a message set from the mapping. Returns `None` if a message does not name its method in a constant, or if
    /// two messages have the same method.
    fn mapped(&self, messages: MessageSet) -> Option<Union> {
        let mut union = Union { messages: Some(messages), ..Union::default() };
        let mapping = self.mapping;
        for MappedMessage { is_request, entry } in mapping.into_iter().flat_map(|mapping| &mapping.messages) {
            let is_sent = entry.direction.is_some_and(|it| it.senders().contains(&messages.sender));
            if !is_sent || *is_request != (messages.kind == MessageKind::Request) {
                continue;
            }
            let id = *self.names.get(&entry.definition)?;
            let tag = Tag::of(&self.types[id])?;
            let when = vec![Condition::Value(vec![tag.member.to_owned()], vec![Json::String(tag.method.to_owned())])];
            if union.decision.guards.iter().any(|guard| guard.when == when) {
                return None;
            }
            union.add_message(when, Type::Named(id));
        }
        Some(union)
    }

    fn problem(&mut self, at: &Occurrence, pointer: &str, why: &str, remedy: &str) {
        // The problem may be in a definition other than the union's.
        let definition = tokens(pointer).nth(1).unwrap_or_else(|| at.definition.clone());
        let problem = Problem::new(&self.normalised.file, pointer, why, remedy);
        self.problems.push(Problem { definition, ..problem });
    }
}

impl Union {
    /// Adds a message. Its variant gets a name later.
    fn add_message(&mut self, when: Vec<Condition>, content: Type) {
        self.decision.guards.push(Guard { when, variant: self.variants.len() });
        self.variants.push(Variant { rust: String::new(), content, boxed: false });
    }
}
