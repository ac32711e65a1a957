//! Writes `generated/src/ext/mod.rs`, with a module for each extension.

use mcpgen_model::Extension;
use mcpgen_schema::Error;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::emit::comments::Comments;
use crate::emit::file::{render, repository_header};

pub(crate) fn file(extensions: &[Extension]) -> Result<String, Error> {
    render("ext/mod.rs", &repository_header("schema/extensions.toml"), tokens(extensions), &Comments::default())
}

fn tokens(extensions: &[Extension]) -> TokenStream {
    let modules = extensions.iter().map(|extension| {
        let (module, feature) = (format_ident!("{}", extension.module), &extension.feature);
        quote! {
            #[cfg(feature = #feature)]
            #[allow(deprecated, reason = "deprecated items remain")]
            #[allow(clippy::module_inception, reason = "an area may have the name of its extension")]
            pub mod #module;
        }
    });
    quote! {
        #![doc = " Types of extensions of the protocol, and of formats that belong to it."]
        #![doc = ""]
        #![doc = " Each module has a feature. A type whose definition is equal to that of a revision is the revision's type."]
        #(#modules)*
    }
}
