//! A revision of the protocol.

use indexmap::IndexMap;

use crate::json::Json;
use crate::model::docs::Docs;
use crate::model::messages::{ErrorCode, Notification, Request};
use crate::model::revision::Era;
use crate::model::types::{Origin, Shape, Struct, Type, TypeDef, TypeId};
use crate::schema::fixups::Applied;

/// A revision of the protocol.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// The revision's name.
    pub revision: String,
    /// The schema file, as the caller named it.
    pub file: String,
    /// SHA-256 of the schema file, in hex.
    pub sha256: String,
    /// Whether a connection begins with `initialize`.
    pub era: Era,
    /// Every type: the schema's definitions in its order, then the types found inside them.
    pub types: Vec<TypeDef>,
    /// Every request, whoever sends it, in the order of the direction unions; then the embedded ones.
    pub requests: Vec<Request>,
    /// Every notification, in the order of the direction unions.
    pub notifications: Vec<Notification>,
    /// Error codes that the schema states.
    pub error_codes: Vec<ErrorCode>,
    /// What became of the fixups that were tried.
    pub fixups: Vec<Applied>,
    /// The definitions as JSON facts, for `JsonSchema` impls.
    pub facts: IndexMap<String, Json>,
    /// Our documentation of the revision.
    pub docs: Docs,
}

impl Protocol {
    /// The type with this schema name.
    pub fn find(&self, name: &str) -> Option<&TypeDef> {
        self.types.iter().find(|def| def.name == name && !matches!(def.origin, Origin::Inline(_)))
    }

    /// What a type expression is once aliases are followed.
    pub fn follow<'a>(&'a self, mut content: &'a Type) -> &'a Type {
        for _ in 0..=self.types.len() {
            match content {
                Type::Named(id) => match &self.types[*id].shape {
                    Shape::Alias(target, _) => content = target,
                    _ => return content,
                },
                _ => return content,
            }
        }
        content
    }

    /// The struct that a type expression denotes, aliases followed.
    pub fn as_struct(&self, content: &Type) -> Option<&Struct> {
        match self.follow(content) {
            Type::Named(id) => match &self.types[*id].shape {
                Shape::Struct(body) => Some(body),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the schema defines batches: several messages in an array.
    pub fn has_batches(&self) -> bool {
        self.types.iter().any(|def| def.name == "JSONRPCBatchRequest")
    }

    /// The types that a type names directly.
    pub fn uses(&self, id: TypeId) -> Vec<TypeId> {
        let mut used = Vec::new();
        self.types[id].shape.visit(&mut |content| content.visit(&mut |id| used.push(id)));
        used
    }

    /// The method of a request or notification, by its type.
    pub fn method_of(&self, id: TypeId) -> Option<&str> {
        let request = self.requests.iter().find(|request| request.type_id == id).map(|request| &request.method);
        let notification = || self.notifications.iter().find(|it| it.type_id == id).map(|it| &it.method);
        request.or_else(notification).map(String::as_str)
    }

    /// The result that a whole response (`XResultResponse`) carries.
    pub fn result_in_response(&self, id: TypeId) -> Option<TypeId> {
        let def = &self.types[id];
        if def.origin != Origin::Definition {
            return None;
        }
        let result = def.name.strip_suffix("Response").filter(|result| result.ends_with("Result"))?;
        self.types.iter().position(|def| def.name == result)
    }
}
