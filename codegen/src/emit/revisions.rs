//! Writes `generated/src/revisions.rs`: a list of all revisions, whether compiled in or not, and their modules.

use mcpgen_model::{Era, Protocol, Revision, Rule, Status};
use mcpgen_schema::Error;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::emit::comments::Comments;
use crate::emit::file::{render, repository_header};

pub(crate) fn file(revisions: &[Revision], models: &[Protocol], has_extensions: bool) -> Result<String, Error> {
    let header = repository_header("schema/revisions.toml");
    let extensions = has_extensions.then(|| {
        quote!(
            pub mod ext;
        )
    });
    render("revisions.rs", &header, tokens(revisions, models, extensions), &Comments::default())
}

fn tokens(revisions: &[Revision], models: &[Protocol], extensions: Option<TokenStream>) -> TokenStream {
    let modules = revisions.iter().map(|revision| {
        let module = format_ident!("{}", revision.module());
        let feature = module.to_string();
        quote! {
            #[cfg(feature = #feature)]
            #[allow(deprecated, reason = "deprecated items remain")]
            pub mod #module;
        }
    });
    let constants: Vec<_> =
        revisions.iter().map(|revision| format_ident!("{}", revision.module().to_uppercase())).collect();
    let definitions = revisions.iter().zip(&constants).enumerate().map(|(index, (revision, constant))| {
        let (name, legacy) = (&revision.name, revision.era == Era::Legacy);
        let docs = format!(" Revision `{name}`.");
        quote!(#[doc = #docs] pub const #constant: Self = Self { name: #name, legacy: #legacy, index: Some(#index) };)
    });
    let names_of = |has: fn(&Protocol) -> bool| -> Vec<_> {
        revisions.iter().zip(models).filter(|(_, protocol)| has(protocol)).map(|(revision, _)| &revision.name).collect()
    };
    let with_batches = names_of(Protocol::has_batches);
    let with_optional_error_id = names_of(Protocol::has_optional_error_id);
    let rules = Rule::ALL.into_iter().map(|rule| {
        let (name, docs) = rule.method();
        let (name, docs) = (format_ident!("{name}"), docs.map(|line| format!(" {line}")));
        let of = revisions.iter().filter(|revision| revision.rules.contains(&rule)).map(|revision| &revision.name);
        quote! {
            #(#[doc = #docs])*
            #[must_use]
            pub fn #name(self) -> bool {
                const REVISIONS: &[&str] = &[#(#of),*];
                REVISIONS.contains(&self.name)
            }
        }
    });
    let latest =
        revisions.iter().rposition(|revision| revision.status == Status::Released).or(revisions.len().checked_sub(1));
    let latest = latest.map(|latest| {
        let constant = &constants[latest];
        quote! {
            /// The latest released revision.
            pub const LATEST: Self = Self::#constant;
        }
    });
    let digests = models.iter().map(Protocol::digest);
    let names = revisions.iter().map(|revision| &revision.name);
    let features = revisions.iter().map(|revision| revision.module());
    let names_again = names.clone();
    quote! {
        mod methods;

        #(#modules)*

        #extensions

        /// A revision of the Model Context Protocol, whether its types are compiled in or not.
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct Revision {
            /// The position in [`Revision::ALL`]. The first member, because it is compared fastest.
            index: Option<usize>,
            name: &'static str,
            legacy: bool,
        }

        impl Revision {
            #(#definitions)*

            /// All revisions that this version of the crate knows, oldest first.
            pub const ALL: &'static [Self] = &[#(Self::#constants),*];

            #latest

            /// Returns the revision of a message, such as that of [`Request::VERSION`]. If this
            /// crate does not know the version, the revision is new and has no handshake.
            #[must_use]
            pub const fn of(version: crate::Version) -> Self {
                let name = version.as_str();
                let mut index = 0;
                while index < Self::ALL.len() {
                    if crate::codec::is_equal(Self::ALL[index].name, name) {
                        return Self::ALL[index];
                    }
                    index += 1;
                }
                Self { index: None, name, legacy: false }
            }

            /// Returns the version of the revision's messages.
            #[must_use]
            pub const fn version(self) -> crate::Version {
                crate::Version::new(self.name)
            }

            /// Returns the name on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                self.name
            }

            /// Returns whether connections of this revision begin with `initialize`. `false` for a custom revision.
            #[must_use]
            pub const fn is_legacy(self) -> bool {
                self.legacy
            }

            /// Returns whether the revision defines batches: messages in an array. `false` for a custom revision.
            #[must_use]
            pub fn has_batches(self) -> bool {
                [#(#with_batches),*].contains(&self.name)
            }

            /// Returns whether an error response has no `id` if the ID of the request is unknown. Otherwise it is
            /// `null`, as in JSON-RPC. `false` for a custom revision.
            #[must_use]
            pub fn has_optional_error_id(self) -> bool {
                [#(#with_optional_error_id),*].contains(&self.name)
            }

            #(#rules)*

            /// Returns whether a digest is the SHA-256 of the definitions in the revision's schema, without their
            /// prose. A generated module that extends the revision checks this when it is compiled. `false` for a
            /// custom revision.
            #[must_use]
            pub const fn has_schema(self, digest: &str) -> bool {
                const DIGESTS: &[&str] = &[#(#digests),*];
                match self.index {
                    Some(index) => crate::codec::is_equal(DIGESTS[index], digest),
                    None => false,
                }
            }

            /// Returns the methods of the revision, in no particular order. Empty for a custom revision.
            #[must_use]
            pub fn methods(self) -> &'static [crate::MethodSpec] {
                self.method_table().map_or(&[], |methods| methods.specs)
            }

            /// Returns the facts about a method of the revision.
            #[must_use]
            pub fn method(self, method: &str) -> Option<&'static crate::MethodSpec> {
                self.method_table()?.get(method)
            }

            fn method_table(self) -> Option<&'static crate::method_spec::MethodTable> {
                static TABLES: &[&crate::method_spec::MethodTable] = &[#(&crate::methods::#constants),*];
                TABLES.get(self.index?).copied()
            }

            /// Returns whether the types of this revision are compiled in: whether its feature is enabled.
            #[must_use]
            pub fn is_compiled_in(self) -> bool {
                const FEATURES: &[(&str, bool)] = &[#((#names, cfg!(feature = #features))),*];
                FEATURES.contains(&(self.name, true))
            }
        }

        /// Orders revisions by name, which is a date.
        impl Ord for Revision {
            fn cmp(&self, other: &Self) -> ::std::cmp::Ordering {
                self.name.cmp(other.name)
            }
        }

        impl PartialOrd for Revision {
            fn partial_cmp(&self, other: &Self) -> Option<::std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl ::std::fmt::Debug for Revision {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, "Revision({})", self.name)
            }
        }

        impl ::std::fmt::Display for Revision {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name)
            }
        }

        impl ::std::str::FromStr for Revision {
            type Err = crate::Error;

            fn from_str(text: &str) -> Result<Self, crate::Error> {
                const NAMES: &[&str] = &[#(#names_again),*];
                crate::codec::variant(text, NAMES).map(|index| Self::ALL[index])
            }
        }
    }
}
