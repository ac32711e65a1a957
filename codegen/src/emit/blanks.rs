//! Blank values: placeholders that fields hold until decoding overwrites them.

use mcpgen_model::{Bounded, Protocol, Shape, Type, TypeId, Union, Variant};

pub(super) struct Blanks {
    /// The order in which types were found to have a value. `None` if a type has no value, and thus no blank either.
    rank: Vec<Option<usize>>,
    /// Whether a type's blank contains a box, which must be dropped.
    allocates: Vec<bool>,
}

impl Blanks {
    pub(super) fn new(protocol: &Protocol) -> Self {
        let count = protocol.types.len();
        let mut blanks = Self { rank: protocol.inhabited(), allocates: vec![false; count] };
        let mut order: Vec<TypeId> = (0..count).filter(|id| blanks.has_type(*id)).collect();
        order.sort_by_key(|id| blanks.rank[*id]);
        for id in order {
            blanks.allocates[id] = blanks.shape_allocates(id, &protocol.types[id].shape);
        }
        blanks
    }

    fn shape_allocates(&self, id: TypeId, shape: &Shape) -> bool {
        match shape {
            Shape::Struct(body) => body.members.iter().any(|member| {
                let allocates = |content| member.boxed || self.allocates(content);
                member.required && member.value().is_some_and(allocates)
            }),
            Shape::Union(union) => {
                self.variant(id, union).is_some_and(|variant| variant.boxed || self.allocates(&variant.content))
            }
            Shape::Bounded(Bounded { inner, .. }) | Shape::Alias(inner, _) | Shape::Newtype(inner) => {
                self.allocates(inner)
            }
            Shape::Tuple(tuple) => tuple.first.iter().any(|item| item.boxed || self.allocates(&item.content)),
            Shape::Enum(_) | Shape::OpenEnum(_) | Shape::Core(_) | Shape::Never | Shape::Undecided(_) => false,
        }
    }

    fn allocates(&self, content: &Type) -> bool {
        matches!(content, Type::Named(id) if self.allocates[*id])
    }

    pub(super) fn allocates_type(&self, id: TypeId) -> bool {
        self.allocates[id]
    }

    pub(super) fn has(&self, content: &Type) -> bool {
        match content {
            Type::Named(id) => self.rank[*id].is_some(),
            Type::Never => false,
            _ => true,
        }
    }

    pub(super) fn has_type(&self, id: TypeId) -> bool {
        self.rank[id].is_some()
    }

    /// Returns the variant for a union's blank. To avoid endless recursion, its content must have a lower rank than
    /// the union. Prefers variants that do not allocate.
    pub(super) fn variant<'u>(&self, id: TypeId, union: &'u Union) -> Option<&'u Variant> {
        let rank = |variant: &Variant| match &variant.content {
            Type::Named(id) => self.rank[*id],
            _ => None,
        };
        let variants = union.variants.iter().filter(|variant| self.has(&variant.content));
        variants
            .filter(|variant| rank(variant) < self.rank[id])
            .min_by_key(|variant| (variant.boxed || self.allocates(&variant.content), rank(variant)))
    }
}
