//! Types with checks, including undecided unions. Checks are emitted as constants of the core's `Check`.

use mcpgen_model::text::names::{Namespace, field_name};
use mcpgen_model::{Bound, Bounded, Check, JsonTypes, Length, Limit, Protocol, Type, TypeId, Undecided};
use mcpgen_schema::Error;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{Emitter, ident, literal, number_literal};

/// Emits the function `checks`, which returns the checks of a type.
pub(super) fn checks_function(checks: &[Check]) -> TokenStream {
    let check = match checks {
        [check] => check.clone(),
        checks => Check::All(checks.to_vec()),
    };
    function(&quote!(fn checks), &check, &quote!(super::checks))
}

/// Emits a function for each definition that checks refer to.
fn definitions(protocol: &Protocol) -> TokenStream {
    let functions = protocol.checks.iter().map(|(name, check)| {
        let name = ident(&function_name(name));
        let docs = format!(" The checks of a value of `{name}`.");
        let function = function(&quote!(pub(super) fn #name), check, &quote!(self));
        quote!(#[doc = #docs] #function)
    });
    quote!(#(#functions)*)
}

/// Returns the name of the function for a definition. Different definitions get different names.
fn function_name(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric());
    let hash = name.bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let mut names = Namespace::default();
    let base = names.claim(&field_name(name));
    // Other names can become equal in snake case, so a hash distinguishes them.
    if is_plain && name.starts_with(|c: char| c.is_ascii_uppercase()) { base } else { format!("{base}_{hash:08x}") }
}

fn function(head: &TokenStream, check: &Check, path: &TokenStream) -> TokenStream {
    let mut patterns = Patterns { path, statics: TokenStream::new(), count: 0 };
    let check = patterns.check(check);
    let statics = patterns.statics;
    quote! {
        #head() -> &'static ::mcpgen_core::codec::Check {
            #statics
            static CHECK: ::mcpgen_core::codec::Check = #check;
            &CHECK
        }
    }
}

/// Emits a check, and a `static` for each regular expression in it.
struct Patterns<'p> {
    /// The path of the functions for definitions.
    path: &'p TokenStream,
    statics: TokenStream,
    count: usize,
}

impl Patterns<'_> {
    fn pattern(&mut self, pattern: &str) -> TokenStream {
        let name = format_ident!("PATTERN_{}", self.count);
        self.count += 1;
        self.statics.extend(quote! {
            static #name: ::mcpgen_core::codec::Pattern = ::mcpgen_core::codec::Pattern::new(#pattern);
        });
        quote!(&#name)
    }

    fn list(&mut self, checks: &[Check]) -> TokenStream {
        let checks = checks.iter().map(|check| self.check(check));
        quote!(&[#(#checks),*])
    }

    fn optional(&mut self, check: Option<&Check>) -> TokenStream {
        match check {
            Some(check) => {
                let check = self.check(check);
                quote!(::std::option::Option::Some(#check))
            }
            None => quote!(::std::option::Option::None),
        }
    }

    fn check(&mut self, check: &Check) -> TokenStream {
        let check = match check {
            Check::Anything => quote!(Anything),
            Check::Nothing => quote!(Nothing),
            Check::All(checks) => {
                let checks = self.list(checks);
                quote!(All(#checks))
            }
            Check::Any(checks) => {
                let checks = self.list(checks);
                quote!(Any(#checks))
            }
            Check::One(checks) => {
                let checks = self.list(checks);
                quote!(One(#checks))
            }
            Check::Not(check) => {
                let check = self.check(check);
                quote!(Not(&#check))
            }
            Check::If(parts) => {
                let parts = self.list(&parts[..]);
                quote!(If(#parts))
            }
            Check::Definition(name) => {
                let (path, name) = (self.path, ident(&function_name(name)));
                quote!(Definition(#path::#name))
            }
            Check::Type(types) => {
                let types = json_types(*types);
                quote!(Type(#types))
            }
            Check::Values(values) => {
                let values = values.iter().map(|value| qualified(&literal(value)));
                quote!(Values(&[#(#values),*]))
            }
            Check::Bounds(bounds) => {
                let (minimum, maximum) = (bound(bounds.min.as_ref()), bound(bounds.max.as_ref()));
                quote!(Bounds(::mcpgen_core::codec::Bounds { minimum: #minimum, maximum: #maximum }))
            }
            Check::MultipleOf(number) => {
                let number = qualified(&number_literal(number));
                quote!(MultipleOf(#number))
            }
            Check::Length(limit) => {
                let limit = length(limit);
                quote!(Length(#limit))
            }
            Check::Pattern(pattern) => {
                let pattern = self.pattern(pattern);
                quote!(Pattern(#pattern))
            }
            Check::ItemCount(limit) => {
                let limit = length(limit);
                quote!(ItemCount(#limit))
            }
            Check::Items(first, rest) => {
                let first = self.list(first);
                match rest {
                    Some(rest) => {
                        let rest = self.check(rest);
                        quote!(Items(#first, ::std::option::Option::Some(&#rest)))
                    }
                    None => quote!(Items(#first, ::std::option::Option::None)),
                }
            }
            Check::UniqueItems => quote!(UniqueItems),
            Check::Contains(check, limit) => {
                let (check, limit) = (self.check(check), length(limit));
                quote!(Contains(&#check, #limit))
            }
            Check::MemberCount(limit) => {
                let limit = length(limit);
                quote!(MemberCount(#limit))
            }
            Check::Required(names) => quote!(Required(&[#(#names),*])),
            Check::Names(check) => {
                let check = self.check(check);
                quote!(Names(&#check))
            }
            Check::Members(members) => {
                let named: Vec<TokenStream> = members
                    .named
                    .iter()
                    .map(|(name, check)| {
                        let check = self.check(check);
                        quote!((#name, #check))
                    })
                    .collect();
                let patterns: Vec<TokenStream> = members
                    .patterns
                    .iter()
                    .map(|(pattern, check)| {
                        let (pattern, check) = (self.pattern(pattern), self.check(check));
                        quote!((#pattern, #check))
                    })
                    .collect();
                let others = self.optional(members.others.as_ref());
                quote!(Members(&::mcpgen_core::codec::MemberChecks {
                    named: &[#(#named),*],
                    patterns: &[#(#patterns),*],
                    others: #others,
                }))
            }
            Check::IfPresent(name, check) => {
                let check = self.check(check);
                quote!(IfPresent(#name, &#check))
            }
            Check::Unevaluated(it) => {
                let base = self.check(&it.base);
                let (members, items) = (self.optional(it.members.as_ref()), self.optional(it.items.as_ref()));
                quote!(Unevaluated(&::mcpgen_core::codec::Unevaluated { base: #base, members: #members, items: #items }))
            }
        };
        quote!(::mcpgen_core::codec::Check::#check)
    }
}

/// Adds the path to a literal. In declarations, literals have no path because the macros import the variants.
fn qualified(literal: &TokenStream) -> TokenStream {
    quote!(::mcpgen_core::codec::Literal::#literal)
}

fn length(length: &Length) -> TokenStream {
    let min = proc_macro2::Literal::u64_unsuffixed(length.min);
    let max = match length.max.map(proc_macro2::Literal::u64_unsuffixed) {
        Some(max) => quote!(::std::option::Option::Some(#max)),
        None => quote!(::std::option::Option::None),
    };
    quote!(::mcpgen_core::codec::Length { min: #min, max: #max })
}

fn json_types(types: JsonTypes) -> TokenStream {
    let types = types.names().map(|name| format_ident!("{}", name.to_uppercase()));
    let types = types.map(|name| quote!(::mcpgen_core::codec::JsonTypes::#name));
    types.reduce(|all, next| quote!(#all.union(#next))).unwrap_or_else(|| quote!(::mcpgen_core::codec::JsonTypes::NONE))
}

fn bound(bound: Option<&Bound>) -> TokenStream {
    match bound {
        None => quote!(::std::option::Option::None),
        Some(Bound { value, exclusive }) => {
            let value = qualified(&number_literal(value));
            quote!(::std::option::Option::Some(::mcpgen_core::codec::Bound { value: #value, exclusive: #exclusive }))
        }
    }
}

impl Emitter<'_> {
    /// Emits the definitions that checks refer to.
    pub(super) fn check_definitions(&self) -> TokenStream {
        definitions(self.protocol)
    }

    /// Emits a value with checks, which include its limit.
    pub(super) fn checked(&mut self, id: TypeId, bounded: &Bounded) -> Result<TokenStream, Error> {
        let docs = self.docs.bounded(id, bounded);
        let limit = bounded.limit.as_ref().map(|limit| match (limit, &bounded.inner) {
            (Limit::Bounds(bounds), _) => Check::Bounds(bounds.clone()),
            (Limit::Length(length), Type::String) => Check::Length(length.clone()),
            (Limit::Length(length), _) => Check::ItemCount(length.clone()),
        });
        let checks: Vec<Check> = limit.into_iter().chain(bounded.checks.iter().cloned()).collect();
        let inner = self.resolver.resolve(&bounded.inner)?;
        Ok(self.checked_type(id, &docs, (&quote!(#inner), &checks), &TokenStream::new()))
    }

    pub(super) fn undecided(&mut self, id: TypeId, undecided: &Undecided) -> Result<TokenStream, Error> {
        let docs = self.docs.undecided(id, undecided);
        let mut methods = Namespace::default();
        let mut accessors = TokenStream::new();
        for variant in &undecided.alternatives {
            let target = self.resolver.resolve(&variant.content)?;
            let method = format_ident!("{}", methods.claim(&format!("as_{}", field_name(&variant.rust))));
            let docs = format!(" Decodes the value as the alternative `{}`.", variant.rust);
            accessors.extend(quote! {
                #[doc = #docs]
                ///
                /// # Errors
                ///
                /// Returns an error if the value is not valid for the alternative.
                pub fn #method(&self) -> ::mcpgen_core::codec::Result<#target> {
                    ::mcpgen_core::codec::from_json(&self.0)
                }
            });
        }
        let inner = quote!(::mcpgen_core::Json);
        Ok(self.checked_type(id, &docs, (&inner, &undecided.checks), &accessors))
    }

    fn checked_type(
        &self,
        id: TypeId,
        docs: &TokenStream,
        (inner, checks): (&TokenStream, &[Check]),
        accessors: &TokenStream,
    ) -> TokenStream {
        let (name, is_empty) = (ident(&self.def(id).rust), self.is_empty(id));
        let checks = checks_function(checks);
        quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub struct #name(#inner);

            impl #name {
                #accessors
                #checks
            }

            mcpgen_core::codec::checked! { #name(#inner) #is_empty }
        }
    }
}
