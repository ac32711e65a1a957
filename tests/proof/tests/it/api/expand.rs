//! Expands the part of `macro_rules!` that our macros use: a single arm with fragments and repetitions.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream, Parser};

pub(crate) struct Macro {
    matcher: Vec<Part>,
    body: Vec<Part>,
}

enum Part {
    Token(TokenTree),
    Group(Delimiter, Vec<Part>),
    /// `$name:fragment`, or `$name` in a body.
    Variable(String, String),
    Repeat(Vec<Part>, Option<String>),
}

#[derive(Clone)]
enum Bound {
    One(TokenStream),
    Many(Vec<Bindings>),
}

type Bindings = BTreeMap<String, Bound>;

impl Macro {
    /// Parses the tokens of a `macro_rules!` definition. Returns `None` if it has more than one arm.
    pub(crate) fn new(tokens: TokenStream) -> Option<Macro> {
        let groups: Vec<Group> = tokens
            .into_iter()
            .filter_map(|token| match token {
                TokenTree::Group(group) => Some(group),
                _ => None,
            })
            .collect();
        match groups.as_slice() {
            [matcher, body] => Some(Macro { matcher: parts(matcher.stream()), body: parts(body.stream()) }),
            _ => None,
        }
    }

    /// Expands a call. Returns `None` if the call does not match.
    pub(crate) fn expand(&self, input: TokenStream) -> Option<TokenStream> {
        let tokens: Vec<TokenTree> = input.into_iter().collect();
        let (bindings, used) = matches(&self.matcher, &tokens)?;
        (used == tokens.len()).then(|| transcribe(&self.body, &[&bindings]))
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: &str) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if wanted.contains(punct.as_char()))
}

fn parts(tokens: TokenStream) -> Vec<Part> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let (mut parts_found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        match (&tokens[at], tokens.get(at + 1)) {
            (token, Some(TokenTree::Group(group))) if is_punct(Some(token), "$") => {
                let separated = !is_punct(tokens.get(at + 2), "*+?");
                let separator = separated.then(|| tokens.get(at + 2).map(ToString::to_string)).flatten();
                parts_found.push(Part::Repeat(parts(group.stream()), separator));
                at += if separated { 4 } else { 3 };
            }
            (token, Some(TokenTree::Ident(name))) if is_punct(Some(token), "$") && name == "crate" => {
                parts_found.push(Part::Token(TokenTree::Ident(Ident::new("crate", Span::call_site()))));
                at += 2;
            }
            (token, Some(TokenTree::Ident(name))) if is_punct(Some(token), "$") => {
                let fragment = match tokens.get(at + 3) {
                    Some(TokenTree::Ident(fragment)) if is_punct(tokens.get(at + 2), ":") => Some(fragment.to_string()),
                    _ => None,
                };
                // In a macro's body, a type or a trait can follow the colon, as in `$name: impl Into<T>` and
                // `$type: Into<T>`.
                let is_fragment = |name: &String| name != "impl" && name.starts_with(char::is_lowercase);
                let fragment = fragment.filter(is_fragment);
                at += if fragment.is_some() { 4 } else { 2 };
                parts_found.push(Part::Variable(name.to_string(), fragment.unwrap_or_default()));
            }
            (TokenTree::Group(group), _) => {
                parts_found.push(Part::Group(group.delimiter(), parts(group.stream())));
                at += 1;
            }
            (token, _) => {
                parts_found.push(Part::Token(token.clone()));
                at += 1;
            }
        }
    }
    parts_found
}

/// Returns the bindings, and the number of tokens that the pattern matched.
fn matches(pattern: &[Part], input: &[TokenTree]) -> Option<(Bindings, usize)> {
    let (mut bindings, mut at) = (Bindings::new(), 0);
    for part in pattern {
        match part {
            Part::Token(token) => {
                (input.get(at)?.to_string() == token.to_string()).then_some(())?;
                at += 1;
            }
            Part::Group(delimiter, inner) => {
                let TokenTree::Group(group) = input.get(at)? else { return None };
                let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
                let (found, used) = matches(inner, &tokens)?;
                (group.delimiter() == *delimiter && used == tokens.len()).then_some(())?;
                bindings.extend(found);
                at += 1;
            }
            Part::Variable(name, fragment) => {
                let taken = fragment_length(fragment, &input[at..])?;
                bindings.insert(name.clone(), Bound::One(input[at..at + taken].iter().cloned().collect()));
                at += taken;
            }
            Part::Repeat(inner, separator) => {
                let mut rounds = Vec::new();
                while let Some((found, used)) = matches(inner, &input[at..]).filter(|(_, used)| *used > 0) {
                    rounds.push(found);
                    at += used;
                    match separator {
                        Some(separator) if input.get(at).is_some_and(|token| token.to_string() == *separator) => {
                            at += 1
                        }
                        Some(_) => break,
                        None => {}
                    }
                }
                for name in names(inner) {
                    bindings.insert(name, Bound::Many(rounds.clone()));
                }
            }
        }
    }
    Some((bindings, at))
}

fn names(parts: &[Part]) -> Vec<String> {
    parts
        .iter()
        .flat_map(|part| match part {
            Part::Token(_) => Vec::new(),
            Part::Group(_, inner) | Part::Repeat(inner, _) => names(inner),
            Part::Variable(name, _) => vec![name.clone()],
        })
        .collect()
}

fn fragment_length(fragment: &str, input: &[TokenTree]) -> Option<usize> {
    fn prefix<T: Parse>(input: &[TokenTree]) -> Option<usize> {
        let parse = |stream: ParseStream<'_>| {
            stream.parse::<T>()?;
            stream.parse::<TokenStream>()
        };
        let rest = parse.parse2(input.iter().cloned().collect()).ok()?;
        Some(input.len() - rest.into_iter().count())
    }
    match fragment {
        "ty" => prefix::<syn::Type>(input),
        "expr" => prefix::<syn::Expr>(input),
        "path" => prefix::<syn::Path>(input),
        "meta" => prefix::<syn::Meta>(input),
        "literal" => prefix::<syn::Lit>(input),
        "ident" => matches!(input.first()?, TokenTree::Ident(_)).then_some(1),
        _ => (!input.is_empty()).then_some(1),
    }
}

fn transcribe(body: &[Part], scopes: &[&Bindings]) -> TokenStream {
    let find = |name: &str| scopes.iter().rev().find_map(|scope| scope.get(name));
    let mut out = TokenStream::new();
    for part in body {
        match part {
            Part::Token(token) => out.extend([token.clone()]),
            Part::Group(delimiter, inner) => {
                out.extend([TokenTree::Group(Group::new(*delimiter, transcribe(inner, scopes)))]);
            }
            Part::Variable(name, _) => {
                if let Some(Bound::One(tokens)) = find(name) {
                    out.extend(tokens.clone());
                }
            }
            Part::Repeat(inner, separator) => {
                let rounds = names(inner).iter().find_map(|name| match find(name) {
                    Some(Bound::Many(rounds)) => Some(rounds.clone()),
                    _ => None,
                });
                for (index, round) in rounds.unwrap_or_default().iter().enumerate() {
                    if let Some(separator) = separator.as_ref().filter(|_| index > 0) {
                        out.extend(separator.parse::<TokenStream>().unwrap_or_default());
                    }
                    let scopes: Vec<&Bindings> = scopes.iter().copied().chain([round]).collect();
                    out.extend(transcribe(inner, &scopes));
                }
            }
        }
    }
    out
}
