//! Decides which members a constructor takes by name rather than by position.

use crate::protocol::Protocol;
use crate::types::{Member, Shape, Type, TypeId};

/// Returns the indexes of members that the constructor does not take by position. Of adjacent members with the same
/// primitive type, these are all but the first: callers could swap them without the compiler noticing.
pub fn named_members(protocol: &Protocol, id: TypeId) -> Vec<usize> {
    let def = &protocol.types[id];
    let Shape::Struct(body) = &def.shape else { return Vec::new() };
    if body.is_json_schema() || protocol.docs.positional.contains(&def.name) {
        return Vec::new();
    }
    let (mut named, mut before) = (Vec::new(), None);
    for (index, member) in body.members.iter().enumerate().filter(|(_, member)| is_argument(member)) {
        let primitive = member.value().map(|content| protocol.follow(content)).filter(|content| is_primitive(content));
        if primitive.is_some() && primitive == before {
            named.push(index);
        }
        before = primitive;
    }
    named
}

fn is_argument(member: &Member) -> bool {
    member.required && member.value().is_some() && member.default.is_none()
}

fn is_primitive(content: &Type) -> bool {
    matches!(content, Type::String | Type::Number | Type::Boolean | Type::Signed | Type::Unsigned)
}
