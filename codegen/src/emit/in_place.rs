//! Decoding in place.

use proc_macro2::TokenStream;
use quote::quote;

use super::{Emitter, binding, ident};
use crate::model::TypeId;

impl Emitter<'_> {
    /// The implementation of `DecodeInPlace`. Without a blank value, the type has no values at all.
    pub(super) fn in_place(&self, id: TypeId, blank: Option<TokenStream>, read: TokenStream) -> TokenStream {
        let name = ident(&self.def(id).rust);
        let blank = blank.filter(|_| self.blanks.has_type(id));
        let is_empty = blank.is_none().then(|| {
            quote!(
                const IS_EMPTY: bool = true;
            )
        });
        let (blank, read) = match blank {
            Some(blank) => (blank, read),
            None => (
                quote!(::mcpgen_core::codec::no_value(unread)),
                quote!(::std::result::Result::Err(json.uninhabited(unread))),
            ),
        };
        let (blank_unread, read_unread) = (binding("unread", &blank), binding("unread", &read));
        quote! {
            impl ::mcpgen_core::codec::DecodeInPlace for #name {
                #is_empty
                #[inline]
                fn blank(#blank_unread: ::mcpgen_core::codec::Unread) -> Self {
                    #blank
                }
                fn read(
                    &mut self,
                    json: ::mcpgen_core::codec::Cursor<'_>,
                    #read_unread: ::mcpgen_core::codec::Unread,
                ) -> ::mcpgen_core::codec::Result<()> {
                    #read
                }
            }
        }
    }

    /// The same for a type that is decoded as a whole.
    pub(super) fn replaced_in_place(&self, id: TypeId, blank: TokenStream) -> TokenStream {
        let decode = quote!(::mcpgen_core::codec::Decode::decode(json)?);
        let replace = if self.blanks.allocates_type(id) {
            quote!(*self = #decode;)
        } else {
            quote!(::mcpgen_core::codec::set(self, #decode);)
        };
        let read = quote! {
            #replace
            ::std::result::Result::Ok(())
        };
        self.in_place(id, Some(blank), read)
    }
}
