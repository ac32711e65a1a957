//! Emits the items of an area, with absolute paths.

use mcpgen_model::areas::{CHECKS, MESSAGES};
use mcpgen_model::{Protocol, Shape, TypeDef, TypeId};
use mcpgen_schema::Error;
use proc_macro2::TokenStream;
use quote::quote;

use super::blanks::Blanks;
use super::docs::DocWriter;
use super::exports::Exports;
use super::rust_type::Resolver;
use super::{Options, json_schema};

/// Emits items. Each kind of shape has its own file.
pub(crate) struct Emitter<'a> {
    pub(super) protocol: &'a Protocol,
    pub(super) options: &'a Options,
    pub(super) docs: DocWriter<'a>,
    pub(super) resolver: Resolver,
    pub(super) blanks: Blanks,
    /// All types. Inline types come directly after the type that contains them.
    order: Vec<TypeId>,
}

/// A Rust item.
pub(super) struct Item {
    /// The type, if it implements serde's traits.
    pub(super) serde: Option<String>,
    /// The code.
    pub(super) tokens: TokenStream,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(protocol: &'a Protocol, options: &'a Options) -> Result<Self, Error> {
        let mut order: Vec<TypeId> = (0..protocol.types.len()).collect();
        // The pointer of an inline type begins with that of the type that contains it.
        order.sort_by(|a, b| protocol.types[*a].pointer.cmp(&protocol.types[*b].pointer).then(a.cmp(b)));
        let (docs, resolver) = (DocWriter::new(protocol, options), Resolver::new(protocol)?);
        Ok(Emitter { protocol, options, docs, resolver, blanks: Blanks::new(protocol), order })
    }

    /// Emits the items of an area.
    pub(super) fn area(&mut self, area: &str, exports: &Exports) -> Result<Vec<Item>, Error> {
        let protocol = self.protocol;
        let is_here = |id: &TypeId| protocol.area(*id) == area && !protocol.is_shared(*id);
        let ids: Vec<TypeId> = self.order.iter().copied().filter(is_here).collect();
        let mut items = ids.into_iter().map(|id| self.item(id)).collect::<Result<Vec<_>, _>>()?;
        if area == MESSAGES {
            let messages = self.messages(&exports.message_names).into_iter();
            items.extend(messages.map(|tokens| Item { serde: None, tokens }));
        }
        if area == json_schema::AREA {
            items.push(Item { serde: None, tokens: json_schema::tokens(protocol) });
        }
        if area == CHECKS {
            items.push(Item { serde: None, tokens: self.check_definitions() });
        }
        Ok(items)
    }

    fn item(&mut self, id: TypeId) -> Result<Item, Error> {
        let def = &self.protocol.types[id];
        let mut tokens = match &def.shape {
            Shape::Struct(body) => self.structure(id, body)?,
            Shape::Union(union) => self.union(id, union)?,
            Shape::Tuple(tuple) => self.tuple(id, tuple)?,
            Shape::Enum(values) => self.enumeration(id, values),
            Shape::OpenEnum(values) => self.open_enumeration(id, values),
            Shape::Bounded(bounded) => self.bounded(id, bounded)?,
            Shape::Undecided(undecided) => self.undecided(id, undecided)?,
            Shape::Alias(target, rule) => self.alias(id, target, rule)?,
            Shape::Newtype(inner) => self.newtype(id, inner)?,
            Shape::Core(core) => self.core_type(id, *core),
            Shape::Never => self.never(id),
        };
        tokens.extend(self.method_impl(id)?);
        let needs_serde = !matches!(def.shape, Shape::Alias(..) | Shape::Core(_));
        Ok(Item { serde: needs_serde.then(|| def.rust.clone()), tokens })
    }

    /// Returns the keyword that marks a type without values in its declaration.
    pub(super) fn is_empty(&self, id: TypeId) -> Option<TokenStream> {
        (!self.blanks.has_type(id)).then(|| quote!(is_empty true))
    }

    pub(super) fn def(&self, id: TypeId) -> &TypeDef {
        &self.protocol.types[id]
    }
}
