//! Lists everything that can be documented.

use crate::{DocTarget, Origin, Protocol, Shape, TypeDef};

pub(super) fn targets(protocol: &Protocol) -> impl Iterator<Item = DocTarget> {
    let methods = protocol.messages().map(|message| DocTarget::Method(message.method.to_owned()));
    let types: Vec<DocTarget> = protocol.types.iter().flat_map(in_type).collect();
    let module = protocol.extends.iter().map(|_| DocTarget::Module);
    module.chain(types).chain(methods)
}

fn in_type(def: &TypeDef) -> Vec<DocTarget> {
    let name = || def.name.clone();
    let inner: Vec<DocTarget> = match &def.shape {
        Shape::Struct(body) => {
            let fields = body.members.iter().filter(|member| member.value().is_some());
            fields.map(|member| DocTarget::Member(name(), member.wire.clone())).collect()
        }
        Shape::Enum(values) | Shape::OpenEnum(values) => {
            values.iter().map(|value| DocTarget::Value(name(), value.json.plain())).collect()
        }
        Shape::Union(union) => {
            let unnamed = union.variants.iter().filter(|variant| variant.content.by_value().is_none());
            unnamed.map(|variant| DocTarget::Variant(name(), variant.rust.clone())).collect()
        }
        _ => Vec::new(),
    };
    std::iter::once(DocTarget::Type(name())).chain(inner).collect()
}

/// Returns whether an item belongs to a type that an extension shares with its revision. The revision's entries
/// document it.
pub(super) fn is_shared(protocol: &Protocol, target: &DocTarget) -> bool {
    if protocol.extends.is_none() {
        return false;
    }
    let name = match target {
        DocTarget::Type(name)
        | DocTarget::Member(name, _)
        | DocTarget::Value(name, _)
        | DocTarget::Variant(name, _) => name,
        DocTarget::Module => return false,
        DocTarget::Method(method) => {
            let message = protocol.messages().find(|message| message.method == method);
            return message.is_some_and(|message| protocol.is_shared(message.type_id));
        }
    };
    protocol.types.named(name).is_some_and(|id| protocol.is_shared(id))
}

/// Returns whether the generator documents an item by itself: a message type, a whole response, or a message set
/// that the schema does not define.
pub(super) fn needs_no_entry(protocol: &Protocol, target: &DocTarget) -> bool {
    let DocTarget::Type(name) = target else { return false };
    protocol.types.named(name).is_some_and(|id| {
        let is_absent = protocol.types[id].origin == Origin::Absent;
        is_absent || protocol.method_of(id).is_some() || protocol.result_in_response(id).is_some()
    })
}
