//! The model of one revision of a protocol.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use mcpgen_schema::check::Check;
use mcpgen_schema::json::Json;
use mcpgen_schema::text::sha256;
use serde::{Serialize, Serializer};

use crate::documentation::Docs;
use crate::extension::Extends;
use crate::fixups::Applied;
use crate::messages::{ErrorCode, Message, Notification, Request, Tag};
use crate::revision::{Era, Status, schema_path};
use crate::types::{Origin, Shape, Struct, Type, TypeDef, TypeId, Types};

/// One revision of a protocol, or an extension.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// The name of the revision.
    pub revision: String,
    /// The kind of contract it was read from, such as `OpenRPC`.
    pub contract: &'static str,
    /// The schema file, as named in messages.
    pub file: String,
    /// SHA-256 of the schema file, in hexadecimal digits.
    pub sha256: String,
    /// How connections begin.
    pub era: Era,
    /// All types.
    pub types: Types,
    /// The area of each type, which becomes a file.
    pub areas: Vec<String>,
    /// All requests of both sides, in the order of the message sets. Embedded requests come last.
    pub requests: Vec<Request>,
    /// All notifications, in the order of the message sets.
    pub notifications: Vec<Notification>,
    /// The error codes that the schema defines.
    pub error_codes: Vec<ErrorCode>,
    /// The definitions that checks refer to.
    pub checks: IndexMap<String, Check>,
    /// What each fixup did.
    pub fixups: Vec<Applied>,
    /// The definitions as JSON without prose, for `JsonSchema` impls.
    pub facts: IndexMap<String, Json>,
    /// Our documentation.
    pub docs: Docs,
    /// For an extension, the revision it builds on.
    pub extends: Option<Extends>,
}

impl Protocol {
    /// Returns a title: name and era of a revision, or file and kind of another contract.
    pub fn title(&self) -> String {
        let draft = Status::Draft.as_str();
        if self.revision == draft && self.file != schema_path(draft) {
            format!("{}, {}", self.file.rsplit(['/', '\\']).next().unwrap_or_default(), self.contract)
        } else {
            format!("MCP {} ({})", self.revision, self.era.as_str())
        }
    }

    /// Returns the type with this name in the schema. Inline types do not count.
    pub fn find(&self, name: &str) -> Option<&TypeDef> {
        self.types.iter().find(|def| def.name == name && !matches!(def.origin, Origin::Inline(_)))
    }

    /// Returns whether an extension takes this type from its revision.
    pub fn is_shared(&self, id: TypeId) -> bool {
        self.extends.as_ref().is_some_and(|extends| extends.shared.contains_key(&id))
    }

    /// Returns the SHA-256 of the definitions without prose, in hexadecimal digits. The order of members does not
    /// matter.
    pub fn digest(&self) -> String {
        let facts: BTreeMap<&String, Sorted<'_>> = self.facts.iter().map(|(name, json)| (name, Sorted(json))).collect();
        sha256(serde_json::to_string(&facts).expect("JSON always serializes"))
    }

    /// Returns the area of a type.
    pub fn area(&self, id: TypeId) -> &str {
        &self.areas[id]
    }

    /// Follows aliases.
    pub fn follow<'a>(&'a self, content: &'a Type) -> &'a Type {
        self.types.follow(content)
    }

    /// Returns the struct behind a type expression, looking through aliases and checks.
    pub fn as_struct(&self, content: &Type) -> Option<&Struct> {
        self.types.as_struct(content)
    }

    /// Returns the types that a type refers to directly.
    pub fn uses(&self, id: TypeId) -> Vec<TypeId> {
        self.types.uses(id)
    }

    /// Returns whether every result is an object.
    pub fn results_are_objects(&self) -> bool {
        self.requests.iter().all(|request| self.is_object(&request.result, 0))
    }

    fn is_object(&self, content: &Type, depth: usize) -> bool {
        const MAX_DEPTH: usize = 16;
        match self.follow(content) {
            Type::Object | Type::Map(_) => true,
            Type::Named(id) if depth < MAX_DEPTH => match &self.types[*id].shape {
                Shape::Struct(_) => true,
                Shape::Union(union) => union.variants.iter().all(|it| self.is_object(&it.content, depth + 1)),
                Shape::Undecided(union) => union.alternatives.iter().all(|it| self.is_object(&it.content, depth + 1)),
                Shape::Bounded(bounded) => self.is_object(&bounded.inner, depth + 1),
                Shape::Newtype(inner) => self.is_object(inner, depth + 1),
                _ => false,
            },
            _ => false,
        }
    }

    /// Returns whether the schema allows batches: several messages in one array.
    pub fn has_batches(&self) -> bool {
        self.types.iter().any(|def| def.name == "JSONRPCBatchRequest")
    }

    /// Returns whether an error response may omit `id`, for a request whose ID is unknown.
    pub fn has_optional_error_id(&self) -> bool {
        let response =
            self.types.iter().find(|def| matches!(def.name.as_str(), "JSONRPCError" | "JSONRPCErrorResponse"));
        response.is_some_and(|def| match &def.shape {
            Shape::Struct(error) => error.members.iter().any(|it| it.wire == "id" && !it.required),
            _ => false,
        })
    }

    /// Returns messages that nobody sends: they are in no message set and in no other type. Empty if the schema has no
    /// message sets.
    pub fn unsent_messages(&self) -> Vec<&str> {
        if !self.types.has_message_sets() {
            return Vec::new();
        }
        let contained: BTreeSet<TypeId> = (0..self.types.len()).flat_map(|id| self.uses(id)).collect();
        let unsent =
            self.types.iter().enumerate().filter(|(id, def)| {
                def.origin == Origin::Definition && Tag::of(def).is_some() && !contained.contains(id)
            });
        unsent.map(|(_, def)| def.name.as_str()).collect()
    }

    /// Returns definitions that are named like results but belong to no request and no other type. Empty if every
    /// request has a separate result.
    pub fn unused_results(&self) -> Vec<&str> {
        let results = self.requests.iter().flat_map(|request| [Some(&request.result), request.task_result.as_ref()]);
        let results: BTreeSet<TypeId> = results.flatten().filter_map(named).collect();
        let is_missing = |request: &Request| match named(&request.result) {
            None => matches!(request.result, Type::Object),
            Some(id) => self.types[id].name == "EmptyResult",
        };
        if !self.requests.iter().any(|request| !self.is_shared(request.type_id) && is_missing(request)) {
            return Vec::new();
        }
        let used: BTreeSet<TypeId> = (0..self.types.len()).flat_map(|id| self.uses(id)).collect();
        let unused = self.types.iter().enumerate().filter(|(id, def)| {
            let is_named_so = def.name.strip_suffix("Result").is_some_and(|stem| !stem.is_empty() && stem != "Empty");
            let is_object = def.origin == Origin::Definition && matches!(def.shape, Shape::Struct(_));
            is_named_so && is_object && !self.is_shared(*id) && !used.contains(id) && !results.contains(id)
        });
        unused.map(|(_, def)| def.name.as_str()).collect()
    }

    /// Returns the method of a message type.
    pub fn method_of(&self, id: TypeId) -> Option<&str> {
        Some(self.message(id)?.method)
    }

    /// Returns the request or notification with this type.
    pub fn message(&self, id: TypeId) -> Option<Message<'_>> {
        self.messages().find(|message| message.type_id == id)
    }

    /// Returns all requests, then all notifications.
    pub fn messages(&self) -> impl Iterator<Item = Message<'_>> {
        let requests = self.requests.iter().map(|it| {
            let Request { method, type_id, senders, params, .. } = it;
            Message { method, type_id: *type_id, senders, params: params.as_ref(), request: Some(it) }
        });
        let notifications = self.notifications.iter().map(|Notification { method, type_id, senders, params }| {
            Message { method, type_id: *type_id, senders, params: params.as_ref(), request: None }
        });
        requests.chain(notifications)
    }

    /// Returns the result in a response type (`XResultResponse`).
    pub fn result_in_response(&self, id: TypeId) -> Option<TypeId> {
        let def = &self.types[id];
        if def.origin != Origin::Definition {
            return None;
        }
        let result = def.name.strip_suffix("Response").filter(|result| result.ends_with("Result"))?;
        self.types.named(result)
    }
}

fn named(content: &Type) -> Option<TypeId> {
    match content {
        Type::Named(id) => Some(*id),
        _ => None,
    }
}

struct Sorted<'j>(&'j Json);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Json::Object(members) => {
                let members: BTreeMap<_, _> = members.iter().map(|(name, json)| (name, Sorted(json))).collect();
                members.serialize(serializer)
            }
            Json::Array(items) => serializer.collect_seq(items.iter().map(Sorted)),
            other => other.serialize(serializer),
        }
    }
}
