//! Emits types with checks, including undecided unions. Checks become constants of the core's `Check` type.

use mcpgen_model::text::names::{Namespace, field_name};
use mcpgen_model::{Bound, Bounded, Check, JsonTypes, Length, Limit, Type, TypeId, Undecided};
use mcpgen_schema::Error;
use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

use super::scope::Scope;
use super::{Emitter, ident, literal, number_literal};

/// Returns a function name that is unique to the definition.
fn function_name(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric());
    let hash = name.bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let mut names = Namespace::default();
    let base = names.claim(&field_name(name));
    // Names can collide in snake case, so a hash tells them apart.
    if is_plain && name.starts_with(|c: char| c.is_ascii_uppercase()) { base } else { format!("{base}_{hash:08x}") }
}

/// Emits a check, and a `static` for each regular expression in it. The file must import `codec`.
struct CheckWriter<'p> {
    scope: &'p Scope<'p>,
    /// The path of the module that has a function with the checks of each definition.
    path: &'p TokenStream,
    statics: TokenStream,
    count: usize,
}

impl CheckWriter<'_> {
    fn pattern(&mut self, pattern: &str) -> TokenStream {
        let name = format_ident!("PATTERN_{}", self.count);
        self.count += 1;
        self.statics.extend(quote! {
            static #name: codec::Pattern = codec::Pattern::new(#pattern);
        });
        quote!(&#name)
    }

    fn list(&mut self, checks: &[Check]) -> TokenStream {
        let checks = checks.iter().map(|check| self.check(check));
        quote!(&[#(#checks),*])
    }

    fn optional(&mut self, check: Option<&Check>) -> TokenStream {
        let check = check.map(|check| self.check(check));
        self.option(check)
    }

    fn option(&self, value: Option<TokenStream>) -> TokenStream {
        match value {
            Some(value) => {
                let some = self.scope.prelude(quote!(::std::option::Option::Some));
                quote!(#some(#value))
            }
            None => self.scope.prelude(quote!(::std::option::Option::None)),
        }
    }

    fn check(&mut self, check: &Check) -> TokenStream {
        let check = match check {
            Check::Anything => quote!(Anything),
            Check::Nothing => quote!(Nothing),
            Check::All(checks) => self.combined("All", checks),
            Check::Any(checks) => self.combined("Any", checks),
            Check::One(checks) => self.combined("One", checks),
            Check::If(parts) => self.combined("If", &parts[..]),
            Check::Not(check) => self.nested("Not", check),
            Check::Names(check) => self.nested("Names", check),
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
                let (minimum, maximum) = (self.bound(bounds.min.as_ref()), self.bound(bounds.max.as_ref()));
                quote!(Bounds(codec::Bounds { minimum: #minimum, maximum: #maximum }))
            }
            Check::MultipleOf(number) => {
                let number = qualified(&number_literal(number));
                quote!(MultipleOf(#number))
            }
            Check::Length(limit) => self.limited("Length", limit),
            Check::ItemCount(limit) => self.limited("ItemCount", limit),
            Check::MemberCount(limit) => self.limited("MemberCount", limit),
            Check::Pattern(pattern) => {
                let pattern = self.pattern(pattern);
                quote!(Pattern(#pattern))
            }
            Check::Items(first, rest) => {
                let first = self.list(first);
                let rest = rest.as_deref().map(|rest| self.check(rest)).map(|rest| quote!(&#rest));
                let rest = self.option(rest);
                quote!(Items(#first, #rest))
            }
            Check::UniqueItems => quote!(UniqueItems),
            Check::Contains(check, limit) => {
                let (check, limit) = (self.check(check), self.length(limit));
                quote!(Contains(&#check, #limit))
            }
            Check::Required(names) => quote!(Required(&[#(#names),*])),
            Check::Members(members) => {
                let (mut named, mut patterns) = (TokenStream::new(), TokenStream::new());
                for (name, check) in &members.named {
                    let check = self.check(check);
                    named.extend(quote!((#name, #check),));
                }
                for (pattern, check) in &members.patterns {
                    let (pattern, check) = (self.pattern(pattern), self.check(check));
                    patterns.extend(quote!((#pattern, #check),));
                }
                let others = self.optional(members.others.as_ref());
                quote!(Members(&codec::MemberChecks {
                    named: &[#named],
                    patterns: &[#patterns],
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
                quote!(Unevaluated(&codec::Unevaluated { base: #base, members: #members, items: #items }))
            }
        };
        quote!(codec::Check::#check)
    }

    fn combined(&mut self, kind: &str, checks: &[Check]) -> TokenStream {
        let (kind, checks) = (ident(kind), self.list(checks));
        quote!(#kind(#checks))
    }

    fn nested(&mut self, kind: &str, check: &Check) -> TokenStream {
        let (kind, check) = (ident(kind), self.check(check));
        quote!(#kind(&#check))
    }

    fn limited(&self, kind: &str, limit: &Length) -> TokenStream {
        let (kind, limit) = (ident(kind), self.length(limit));
        quote!(#kind(#limit))
    }

    fn length(&self, length: &Length) -> TokenStream {
        let min = Literal::u64_unsuffixed(length.min);
        let max = length.max.map(Literal::u64_unsuffixed).map(|max| quote!(#max));
        let max = self.option(max);
        quote!(codec::Length { min: #min, max: #max })
    }

    fn bound(&self, bound: Option<&Bound>) -> TokenStream {
        let bound = bound.map(|Bound { value, exclusive }| {
            let value = qualified(&number_literal(value));
            quote!(codec::Bound { value: #value, exclusive: #exclusive })
        });
        self.option(bound)
    }
}

/// Qualifies a literal. Declarations do without, because their macros import the variants.
fn qualified(literal: &TokenStream) -> TokenStream {
    quote!(codec::Literal::#literal)
}

fn json_types(types: JsonTypes) -> TokenStream {
    let types = types.names().map(|name| format_ident!("{}", name.to_uppercase()));
    let types = types.map(|name| quote!(codec::JsonTypes::#name));
    types.reduce(|all, next| quote!(#all.union(#next))).unwrap_or_else(|| quote!(codec::JsonTypes::NONE))
}

impl Emitter<'_> {
    pub(super) fn check_definitions(&self) -> TokenStream {
        let functions = self.protocol.checks.iter().map(|(name, check)| {
            let name = ident(&function_name(name));
            let docs = format!(" The checks of a value of `{name}`.");
            let function = self.check_function(&quote!(pub(super) fn #name), check, &quote!(self));
            quote!(#[doc = #docs] #function)
        });
        quote!(#(#functions)*)
    }

    fn check_function(&self, head: &TokenStream, check: &Check, path: &TokenStream) -> TokenStream {
        let codec = self.codec();
        let mut writer = CheckWriter { scope: &self.scope, path, statics: TokenStream::new(), count: 0 };
        let check = writer.check(check);
        let statics = writer.statics;
        quote! {
            #head() -> &'static #codec::Check {
                #statics
                static CHECK: #codec::Check = #check;
                &CHECK
            }
        }
    }

    /// Emits a type with checks. If there is a limit, it becomes one of the checks.
    pub(super) fn checked(&mut self, id: TypeId, bounded: &Bounded) -> Result<TokenStream, Error> {
        let docs = self.docs.bounded(id, bounded);
        let limit = bounded.limit.as_ref().map(|limit| match (limit, &bounded.inner) {
            (Limit::Bounds(bounds), _) => Check::Bounds(bounds.clone()),
            (Limit::Length(length), Type::String) => Check::Length(length.clone()),
            (Limit::Length(length), _) => Check::ItemCount(length.clone()),
        });
        let checks: Vec<Check> = limit.into_iter().chain(bounded.checks.iter().cloned()).collect();
        let inner = self.rust_type(&bounded.inner)?;
        Ok(self.checked_type(id, &docs, (&quote!(#inner), &checks), &TokenStream::new()))
    }

    pub(super) fn undecided(&mut self, id: TypeId, undecided: &Undecided) -> Result<TokenStream, Error> {
        let (docs, codec) = (self.docs.undecided(id, undecided), self.codec());
        let mut methods = Namespace::default();
        let mut accessors = TokenStream::new();
        for variant in &undecided.alternatives {
            let target = self.rust_type(&variant.content)?;
            let method = format_ident!("{}", methods.claim(&format!("as_{}", field_name(&variant.rust))));
            let docs = format!(" Decodes the value as the alternative `{}`.", variant.rust);
            accessors.extend(quote! {
                #[doc = #docs]
                ///
                /// # Errors
                /// Returns an error if the value is not valid for the alternative.
                pub fn #method(&self) -> #codec::Result<#target> {
                    #codec::from_json(&self.0)
                }
            });
        }
        let inner = self.scope.core("Json");
        Ok(self.checked_type(id, &docs, (&inner, &undecided.checks), &accessors))
    }

    fn checked_type(
        &self,
        id: TypeId,
        docs: &TokenStream,
        (inner, checks): (&TokenStream, &[Check]),
        accessors: &TokenStream,
    ) -> TokenStream {
        let (codec, name, is_empty) = (self.codec(), ident(&self.def(id).rust), self.is_empty(id));
        let check = match checks {
            [check] => check.clone(),
            checks => Check::All(checks.to_vec()),
        };
        let checks = self.check_function(&quote!(fn checks), &check, &quote!(super::checks));
        quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub struct #name(#inner);

            impl #name {
                #accessors
                #checks
            }

            #codec::checked! { #name(#inner) #is_empty }
        }
    }
}
