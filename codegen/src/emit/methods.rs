//! Writes `generated/src/methods.rs`: the methods of all revisions, whether compiled in or not.

use mcpgen_model::method_facts::{MethodFacts, Path, method_facts};
use mcpgen_model::{Protocol, Revision, Side};
use mcpgen_schema::Error;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::emit::comments::Comments;
use crate::emit::file::{render, repository_header};

pub(crate) fn file(revisions: &[Revision], models: &[Protocol]) -> Result<String, Error> {
    let header = repository_header("the schemas");
    let tables = revisions.iter().zip(models).map(|(revision, protocol)| {
        let constant = format_ident!("{}", revision.module().to_uppercase());
        let docs = format!(" The methods of revision `{}`, by length and name.", revision.name);
        let rows = method_facts(protocol).into_iter().map(row);
        quote!(#[doc = #docs] pub(crate) static #constant: MethodTable = MethodTable::new(&[#(#rows),*]);)
    });
    let tokens = quote!(use crate::method_spec::{MethodSpec, MethodTable}; #(#tables)*);
    render("methods.rs", &header, tokens, &Comments::default())
}

/// Emits a row, leaving out members that have their default values.
fn row(facts: MethodFacts) -> TokenStream {
    let MethodFacts { method, is_request, senders, capability, subject, free_form_params, free_form_result, .. } =
        &facts;
    let flag = |name: &str, value: bool| {
        let name = format_ident!("{name}");
        value.then(|| quote!(#name: true,))
    };
    let flags = [
        flag("sent_by_client", senders.contains(&Side::Client)),
        flag("sent_by_server", senders.contains(&Side::Server)),
        flag("may_run_as_task", facts.may_run_as_task),
        flag("cacheable", facts.cacheable),
        flag("may_require_input", facts.may_require_input),
    ];
    let flags = flags.into_iter().flatten();
    let capability = (!capability.is_empty()).then(|| quote!(capability: &[#(#capability),*],));
    let subject = subject.map(|subject| quote!(subject: Some(#subject),));
    let paths = |name: &str, paths: &[Path]| {
        let name = format_ident!("{name}");
        (!paths.is_empty()).then(|| quote!(#name: &[#(&[#(#paths),*]),*],))
    };
    let free_form = [paths("free_form_params", free_form_params), paths("free_form_result", free_form_result)];
    let free_form = free_form.into_iter().flatten();
    let kind = if *is_request { format_ident!("request") } else { format_ident!("notification") };
    quote!(MethodSpec { #(#flags)* #capability #subject #(#free_form)* ..MethodSpec::#kind(#method) })
}
