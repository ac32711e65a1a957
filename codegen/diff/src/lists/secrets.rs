//! Finds secrets that are now required.

use std::collections::{BTreeMap, HashSet};

use mcpgen_model::snapshot::Item;
use mcpgen_schema::json::Json;

use crate::lists::found::{Found, Step, path_text};
use crate::models::Rule;

/// Words in the names of secrets, written without separators.
const SECRETS: &str = "
    password; passwd; passphrase; secret; apikey; accesskey; privatekey; credential; credentials; authorization; bearer
";

/// Words that stand beside `token` in names of things that are not secret, such as pages and currencies.
const NO_TOKENS: &str = "
    page; next; continuation; progress; sync; count; max; min; limit; address; id; symbol; type; name
";

pub(super) fn listed(words: &'static str) -> impl Iterator<Item = &'static str> {
    words.split(';').map(str::trim)
}

/// Compares what two versions of an item require. A new item has no old version.
pub(super) fn compare(old: Option<&Item>, new: &Item) -> Vec<Found> {
    let was = old.map(Required::of).unwrap_or_default().members;
    let is = Required::of(new).members.into_iter();
    // A secret that one alternative required may now be required by all of them.
    let gained = is.filter(|(path, new)| new.is_secret && was.get(path).is_none_or(|old| new.always && !old.always));
    let member = if new.get("inputSchema").is_some() { "inputSchema" } else { "arguments" };
    let found = |path: &[Step<'_>]| Found {
        rule: Rule::SecretRequired,
        member: member.to_owned(),
        path: path_text(path),
        detail: String::new(),
        words: "is a secret that is now required".to_owned(),
    };
    gained.map(|(path, _)| found(&path)).collect()
}

#[derive(Clone, Copy, Debug, Default)]
struct Demand {
    is_secret: bool,
    /// Whether the member is always required, not only in one of several alternatives.
    always: bool,
}

/// The members that an item requires.
#[derive(Default)]
struct Required<'s> {
    members: BTreeMap<Vec<Step<'s>>, Demand>,
    /// The definitions already found, with whether they always apply or only in an alternative.
    seen: HashSet<(&'s str, bool)>,
    /// The definitions still to visit.
    next: Vec<(&'s str, bool)>,
}

impl<'s> Required<'s> {
    fn of(item: &'s Item) -> Required<'s> {
        let mut required = Required::default();
        for (name, (_, argument)) in item.prompt_arguments() {
            if argument.get("required") == Some(&Json::Bool(true)) {
                let demand = Demand { is_secret: is_secret(name, None), always: true };
                required.members.insert(vec![Step::Member(name)], demand);
            }
        }
        let Some(root) = item.get("inputSchema") else { return required };
        required.schema(root, root, &mut vec![Step::Member("arguments")], true);
        while let Some((address, always)) = required.next.pop() {
            if let Some(definition) = resolve(root, address) {
                let name = address.rsplit('/').next().unwrap_or(address);
                required.schema(root, definition, &mut vec![Step::Member("arguments"), Step::Definition(name)], always);
            }
        }
        required
    }

    fn schema(&mut self, root: &'s Json, schema: &'s Json, path: &mut Vec<Step<'s>>, always: bool) {
        let Json::Object(keywords) = schema else { return };
        let properties = keywords.get("properties");
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("required", Json::Array(names)) => {
                    for name in names.iter().filter_map(Json::as_str) {
                        let content = properties.and_then(|all| all.get(name)).map(|schema| target(root, schema));
                        self.demand(path, name, is_secret(name, content), always);
                    }
                }
                ("$ref", Json::String(address)) if address != "#" && self.seen.insert((address, always)) => {
                    self.next.push((address, always));
                }
                ("properties" | "patternProperties", Json::Object(named)) => {
                    for (name, schema) in named {
                        self.below(root, schema, path, Step::Member(name), always);
                    }
                }
                ("items" | "contains", Json::Object(_)) => self.below(root, value, path, Step::Items, always),
                ("items" | "prefixItems", Json::Array(items)) => {
                    items.iter().for_each(|item| self.below(root, item, path, Step::Items, always));
                }
                ("additionalProperties", schema) => self.below(root, schema, path, Step::Others, always),
                ("allOf", Json::Array(all)) => all.iter().for_each(|it| self.schema(root, it, path, always)),
                ("anyOf" | "oneOf", Json::Array(any)) => any.iter().for_each(|it| self.schema(root, it, path, false)),
                ("dependentSchemas", Json::Object(named)) => {
                    named.values().for_each(|it| self.schema(root, it, path, false));
                }
                ("then" | "else", schema) => self.schema(root, schema, path, false),
                // `not` and `if` require nothing.
                _ => {}
            }
        }
    }

    fn below(&mut self, root: &'s Json, schema: &'s Json, path: &mut Vec<Step<'s>>, step: Step<'s>, always: bool) {
        path.push(step);
        self.schema(root, schema, path, always);
        path.pop();
    }

    fn demand(&mut self, path: &[Step<'s>], name: &'s str, is_secret: bool, always: bool) {
        let path = path.iter().copied().chain([Step::Member(name)]).collect();
        let demand = self.members.entry(path).or_default();
        *demand = Demand { is_secret: demand.is_secret || is_secret, always: demand.always || always };
    }
}

/// The maximum length of a chain of references.
const MOST_REFERENCES: usize = 8;

/// Returns the schema that a schema refers to, or itself.
fn target<'s>(root: &'s Json, mut schema: &'s Json) -> &'s Json {
    for _ in 0..MOST_REFERENCES {
        let address = schema.get("$ref").and_then(Json::as_str);
        match address.and_then(|address| resolve(root, address)) {
            Some(next) => schema = next,
            None => break,
        }
    }
    schema
}

fn resolve<'s>(root: &'s Json, address: &str) -> Option<&'s Json> {
    root.pointer(address.strip_prefix('#')?)
}

/// Returns whether the name or the schema of a member says that it is a secret.
fn is_secret(name: &str, schema: Option<&Json>) -> bool {
    let keyword = |name: &str| schema.and_then(|schema| schema.get(name));
    if keyword("writeOnly") == Some(&Json::Bool(true)) || keyword("format").and_then(Json::as_str) == Some("password") {
        return true;
    }
    let words = words(name);
    let pairs = words.windows(2).map(|pair| pair.concat());
    let is_listed = words.iter().cloned().chain(pairs).any(|word| listed(SECRETS).any(|it| it == word));
    let is_token = words.iter().any(|word| word == "token");
    is_listed || (is_token && !words.iter().any(|word| listed(NO_TOKENS).any(|it| it == word)))
}

/// Splits a name, such as `apiKey` or `API_KEY`, into its words, in lowercase.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if let (true, Some(last)) = (c.is_alphanumeric(), words.last_mut()) {
            last.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}
