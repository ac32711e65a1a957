//! Changes a schema at random, determined by a seed. Some changes are those that people and tools make, and others make
//! the schema invalid.

use fastrand::Rng;
use indexmap::IndexMap;
use mcpgen_model::Json;
use mcpgen_schema::json::pointer::escape;

/// A changed schema and how it came about.
pub struct Mutant {
    /// The schema.
    pub document: Json,
    /// The changes, in order.
    pub history: Vec<String>,
}

type Path = Vec<String>;
type Mutation = fn(&mut Json, &mut Rng) -> Option<String>;

/// All kinds of changes by name. A kind that is listed twice is twice as likely.
const MUTATIONS: &[(&str, Mutation)] = &[
    ("delete", delete),
    ("duplicate", duplicate),
    ("retype", retype),
    ("rename key", rename_key),
    ("rename definition", rename_definition),
    ("rename definition", rename_definition),
    ("rename property", rename_property),
    ("rename property", rename_property),
    ("copy property under an odd name", copy_property),
    ("swap", swap),
    ("transplant", transplant),
    ("transplant schema", transplant_schema),
    ("transplant schema", transplant_schema),
    ("change keyword", change_keyword),
    ("retarget", retarget),
    ("retarget well", retarget_well),
    ("retarget well", retarget_well),
    ("insert keyword", insert_keyword),
    ("insert known keyword", insert_known_keyword),
    ("insert known keyword", insert_known_keyword),
    ("empty anyOf", empty_any_of),
    ("wrap in allOf", wrap_in_all_of),
    ("wrap in anyOf", wrap_in_any_of),
    ("wrap in oneOf", wrap_in_one_of),
    ("allow null", allow_null),
    ("remove type", remove_type),
    ("recur", recur),
    ("change values", change_values),
    ("limit", limit),
    ("close or type the rest", change_additional),
    ("require", require),
    ("describe", describe),
    ("default", change_default),
    ("boolean schema", boolean_schema),
    ("wrap in a list or map", wrap_in_container),
    ("change method", change_method),
    ("add definition", add_definition),
    ("add a check", add_check),
    ("add a check", add_check),
    ("change a check", change_check),
];

/// Names that may conflict with Rust, the prelude, std or our core, and names that are not identifiers.
const NAMES: &[&str] = &[
    "self",
    "Self",
    "super",
    "crate",
    "_",
    "__",
    "type",
    "fn",
    "match",
    "async",
    "dyn",
    "gen",
    "try",
    "abstract",
    "union",
    "static",
    "raw",
    "macro_rules",
    "true",
    "",
    " ",
    "$",
    "$ref",
    "$schema",
    "a/b",
    "a~b",
    "a.b",
    "a-b",
    "-",
    "1",
    "1a",
    "2nd",
    "ä",
    "Ünï",
    "日本",
    "🦀",
    "e\u{301}",
    "\u{202e}",
    "\0",
    "\n",
    "\"",
    "\\",
    "{}",
    "//",
    "*/",
    "'a",
    "r#type",
    "Option",
    "Vec",
    "String",
    "Box",
    "Ok",
    "Err",
    "Some",
    "None",
    "Result",
    "Error",
    "From",
    "Into",
    "TryFrom",
    "Default",
    "Clone",
    "Copy",
    "Debug",
    "PartialEq",
    "Eq",
    "Hash",
    "Ord",
    "Display",
    "FromStr",
    "Iterator",
    "ToString",
    "Send",
    "Sized",
    "Drop",
    "Fn",
    "BTreeMap",
    "HashMap",
    "f64",
    "i64",
    "u64",
    "bool",
    "str",
    "std",
    "core",
    "serde",
    "serde_json",
    "alloc",
    "Extra",
    "Number",
    "Value",
    "JsonObject",
    "Revision",
    "Request",
    "Notification",
    "Params",
    "RequestId",
    "ProgressToken",
    "ErrorCode",
    "ErrorObject",
    "KnownMembers",
    "Map",
    "MethodSet",
    "RequestSet",
    "NotificationSet",
    "TaskRequest",
    "Message",
    "ClientMessage",
    "ServerMessage",
    "ClientRequestMethod",
    "ServerNotificationMethod",
    "ResultType",
    "Json",
    "Never",
    "codec",
    "Codec",
    "Decode",
    "Encode",
    "DecodeInPlace",
    "ReadMember",
    "Cursor",
    "Unread",
    "Node",
    "Members",
    "Guard",
    "Literal",
    "Bounds",
    "Length",
    "mcpgen_core",
    "mcpgen_types",
    "json",
    "unread",
    "index",
    "blank",
    "read",
    "out",
    "value",
    "extra",
    "new",
    "decode",
    "encode",
    "members",
    "with_extra",
    "has_x",
    "method",
    "id",
    "jsonrpc",
    "params",
    "result",
    "error",
    "code",
    "_meta",
    "LIMIT",
    "MEMBERS",
    "NAMES",
    "ALL",
    "GUARDS",
    "NAME",
    "as_str",
    "get",
    "into_inner",
    "Other",
    "Object",
    "Item",
    "item",
    "Any",
    "AnyOf",
    "Array",
    "Null",
    "Boolean",
    "Integer",
    "Empty",
    "Type",
    "True",
    "False",
    "ClientRequest",
    "ServerRequest",
    "ClientNotification",
    "ServerNotification",
    "ClientResult",
    "ServerResult",
    "JSONRPCMessage",
    "JSONRPC",
    "URL",
    "ID",
    "EmptyResult",
    "Tool",
    "tools",
    "mod",
    "common",
    "messages",
    "base",
    "json_rpc",
    "json_schema",
    "main",
    "test",
    "a b",
    "aB",
    "AB",
    "A_B",
    "name\u{200b}",
    "ﬁ",
    "an_uncommonly_long_name_that_somebody_may_give_to_a_member_or_a_definition_without_a_second_thought_and_then_again",
];

/// Documentation that may end a comment, contain broken links, or break formatting.
const PROSE: &[&str] = &[
    "",
    " ",
    "*/",
    "/*",
    "//",
    "[`Foo`]",
    "[`Tool`](x)",
    "[x]: y",
    "```",
    "```\nlet x;",
    "<script>",
    "<b>",
    "`",
    "\"",
    "\\",
    "\0",
    "\n",
    "\r",
    "\u{2028}",
    "\u{202e}",
    "{}",
    "{0}",
    "#[x]",
    "# a\n\n    indented code",
    "    code",
    "* a\n  * b",
    "https://example.com/",
    "@deprecated",
    "[`",
    "`]",
    "[`]",
    "| a | b |\n|---|",
    "&amp;",
    "$ref",
    "a\t\tb",
    "🦀",
];

const VALUES: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0.0",
    "1",
    "-1",
    "1.0",
    "0.5",
    "-1.5",
    "1e308",
    "-1e308",
    "5e-324",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "1e20",
    "1e40",
    "2.0",
    "\"\"",
    "\"string\"",
    "\"number\"",
    "\"integer\"",
    "\"object\"",
    "\"array\"",
    "\"null\"",
    "\"unknown\"",
    "\"#\"",
    "[]",
    "[[]]",
    "{}",
    "[\"a\",\"a\"]",
    "[null]",
    "[1,1.0,\"1\",true,null,[],{}]",
    "[\"string\",\"null\"]",
    "[\"integer\",\"number\"]",
    "[{}]",
    "[{\"type\":\"string\"},{\"type\":\"integer\"}]",
    "{\"type\":\"string\"}",
    "{\"a\":{}}",
    "{\"a\":{\"type\":\"integer\"}}",
    "{\"\":{\"type\":\"null\"}}",
    "{\"const\":{\"a\":[1,null]}}",
    "{\"enum\":[1,\"1\",1.5,-1]}",
    "{\"not\":{}}",
    "{\"type\":\"array\",\"items\":{\"type\":\"array\",\"minItems\":2}}",
    "{\"type\":\"object\",\"additionalProperties\":false}",
    "{\"type\":[\"string\",\"integer\",\"null\"]}",
    "{\"type\":\"integer\",\"minimum\":1,\"maximum\":0}",
    "{\"type\":\"object\",\"properties\":{\"type\":{\"const\":\"x\"}},\"required\":[\"type\"]}",
    "{\"type\":\"object\",\"required\":[\"a\",\"a\",\"b\"]}",
    "{\"enum\":[\"a\",\"A\",\"a-\",\"\",\" \",\"Self\",\"1\",\"ä\"]}",
    "{\"type\":\"object\",\"properties\":{\"a\":{},\"A\":{},\"a_\":{}},\"additionalProperties\":{\"type\":\"number\"}}",
    "{\"type\":\"object\",\"properties\":{\"x\":{\"const\":null},\"y\":{\"const\":[1]},\"z\":{\"const\":1.5}},\"required\":[\"x\"]}",
    "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"array\",\"items\":{\"type\":\"string\"}},{\"type\":\"null\"}]}",
    "{\"anyOf\":[{\"type\":\"integer\",\"minimum\":5},{\"type\":\"string\",\"maxLength\":3},{\"const\":true}]}",
    "{\"type\":\"number\",\"exclusiveMinimum\":-1e308,\"maximum\":18446744073709551615}",
];

const KEYWORDS: &[&str] = &[
    "type",
    "const",
    "enum",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "title",
    "description",
    "$comment",
    "examples",
    "default",
    "deprecated",
    "readOnly",
    "format",
];

const UNKNOWN_KEYWORDS: &[&str] = &[
    "not",
    "if",
    "pattern",
    "patternProperties",
    "propertyNames",
    "dependentRequired",
    "uniqueItems",
    "multipleOf",
    "prefixItems",
    "contains",
    "$id",
    "$anchor",
    "$defs",
    "definitions",
    "$dynamicRef",
    "unevaluatedProperties",
    "minProperties",
    "x-foo",
    "",
];

/// Applies one to four changes to a schema or to a self-contained part of it.
pub fn mutate(schema: &Json, seed: u64) -> Mutant {
    let mut rng = Rng::with_seed(seed);
    let mut mutant = Mutant { document: schema.clone(), history: Vec::new() };
    // A part is faster to process than the whole schema, and changes are more likely to matter.
    if rng.u8(0..4) > 0 {
        mutant.history.push(excerpt(&mut mutant.document, &mut rng));
    }
    for _ in 0..rng.usize(1..=4) {
        mutant.change(&mut rng);
    }
    mutant
}

/// Returns a self-contained part of a schema, before and after one or two changes.
pub fn step(schema: &Json, seed: u64) -> (Json, Mutant) {
    let mut rng = Rng::with_seed(seed);
    let mut mutant = Mutant { document: schema.clone(), history: Vec::new() };
    mutant.history.push(excerpt(&mut mutant.document, &mut rng));
    // The official schemas have few checks, so some steps begin with one.
    if rng.u8(0..3) == 0
        && let Some(detail) = add_check(&mut mutant.document, &mut rng)
    {
        mutant.history.push(format!("began with a check: {detail}"));
    }
    let before = mutant.document.clone();
    for _ in 0..rng.usize(1..=2) {
        mutant.change(&mut rng);
    }
    (before, mutant)
}

impl Mutant {
    fn change(&mut self, rng: &mut Rng) {
        let (name, mutation) = MUTATIONS[rng.usize(0..MUTATIONS.len())];
        if let Some(detail) = mutation(&mut self.document, rng) {
            self.history.push(format!("{name}: {detail}"));
        }
    }
}

/// Keeps only a few definitions and those that they refer to.
fn excerpt(document: &mut Json, rng: &mut Rng) -> String {
    let (container, names) = definitions(document);
    let wanted: Vec<String> = (0..rng.usize(1..=6)).map(|_| names[rng.usize(0..names.len())].clone()).collect();
    let mut kept: IndexMap<String, Json> = IndexMap::new();
    let mut pending = wanted.clone();
    while let Some(name) = pending.pop() {
        let Some(schema) = document.get(&container).and_then(|all| all.get(&name)).cloned() else { continue };
        if kept.contains_key(&name) {
            continue;
        }
        let mut references = Vec::new();
        references_in(&schema, &mut references);
        pending.extend(references.iter().filter_map(|target| target.rsplit('/').next()).map(str::to_owned));
        kept.insert(name, schema);
    }
    let order: Vec<String> = names.iter().filter(|name| kept.contains_key(*name)).cloned().collect();
    let kept = order.into_iter().filter_map(|name| kept.get(&name).cloned().map(|schema| (name, schema))).collect();
    if let Json::Object(members) = document {
        members.insert(container, Json::Object(kept));
    }
    format!("keep only {}", wanted.join(", "))
}

fn references_in(json: &Json, found: &mut Vec<String>) {
    match json {
        Json::Object(members) => {
            for (key, value) in members {
                match value {
                    Json::String(target) if key == "$ref" => found.push(target.clone()),
                    value => references_in(value, found),
                }
            }
        }
        Json::Array(items) => items.iter().for_each(|item| references_in(item, found)),
        _ => {}
    }
}

/// Returns the keyword that contains the definitions, and their names.
fn definitions(document: &Json) -> (String, Vec<String>) {
    let container = if document.get("$defs").is_some() { "$defs" } else { "definitions" };
    let names = document.get(container).and_then(Json::as_object).map(|all| all.keys().cloned().collect());
    (container.to_owned(), names.unwrap_or_default())
}

fn paths(document: &Json, wanted: impl Fn(&Path, &Json) -> bool) -> Vec<Path> {
    fn walk(json: &Json, path: &mut Path, wanted: &dyn Fn(&Path, &Json) -> bool, found: &mut Vec<Path>) {
        if wanted(path, json) {
            found.push(path.clone());
        }
        let children: Vec<(String, &Json)> = match json {
            Json::Object(members) => members.iter().map(|(name, value)| (name.clone(), value)).collect(),
            Json::Array(items) => items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect(),
            _ => return,
        };
        for (step, child) in children {
            path.push(step);
            walk(child, path, wanted, found);
            path.pop();
        }
    }
    let mut found = Vec::new();
    walk(document, &mut Path::new(), &wanted, &mut found);
    found
}

fn pointer(path: &[String]) -> String {
    path.iter().map(|step| format!("/{}", escape(step))).collect()
}

fn any_node(document: &Json, rng: &mut Rng) -> Option<Path> {
    choose(paths(document, |path, _| path.len() >= 2), rng)
}

/// Chooses a schema: a definition, or a schema inside another one.
fn schema_node(document: &Json, rng: &mut Rng) -> Option<Path> {
    schema_that(document, rng, |_| true)
}

fn schema_that(document: &Json, rng: &mut Rng, wanted: impl Fn(&IndexMap<String, Json>) -> bool) -> Option<Path> {
    let found = paths(document, |path, json| is_schema(path) && json.as_object().is_some_and(&wanted));
    choose(found, rng)
}

fn is_schema(path: &Path) -> bool {
    let step = |back: usize| path.len().checked_sub(back).and_then(|at| path.get(at)).map_or("", String::as_str);
    path.len() == 2
        || (path.len() > 2
            && (["items", "additionalProperties"].contains(&step(1))
                || ["properties", "anyOf", "oneOf", "allOf"].contains(&step(2))))
}

fn choose<T>(mut from: Vec<T>, rng: &mut Rng) -> Option<T> {
    (!from.is_empty()).then(|| from.swap_remove(rng.usize(0..from.len())))
}

fn at<'a>(document: &'a mut Json, path: &[String]) -> Option<&'a mut Json> {
    path.iter().try_fold(document, |here, step| match here {
        Json::Object(members) => members.get_mut(step),
        Json::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        _ => None,
    })
}

fn object_at<'a>(document: &'a mut Json, path: &[String]) -> Option<&'a mut IndexMap<String, Json>> {
    match at(document, path)? {
        Json::Object(members) => Some(members),
        _ => None,
    }
}

fn name(rng: &mut Rng) -> String {
    NAMES[rng.usize(0..NAMES.len())].to_owned()
}

fn value(rng: &mut Rng) -> Json {
    json(VALUES[rng.usize(0..VALUES.len())])
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn reference(document: &Json, name: &str) -> Json {
    let (container, _) = definitions(document);
    Json::String(format!("#/{container}/{}", escape(name)))
}

fn reference_schema(document: &Json, name: &str) -> Json {
    Json::Object([("$ref".to_owned(), reference(document, name))].into_iter().collect())
}

fn some_definition(document: &Json, rng: &mut Rng) -> Option<String> {
    choose(definitions(document).1, rng)
}

/// Removes the node at a path and returns it. The root cannot be removed.
fn cut(document: &mut Json, path: &[String]) -> Option<Json> {
    let (last, parent) = path.split_last()?;
    match at(document, parent)? {
        Json::Object(members) => members.shift_remove(last),
        Json::Array(items) => Some(items.remove(last.parse::<usize>().ok()?)),
        _ => None,
    }
}

/// Renames a member, keeping its position. Returns `None` if the new name exists already.
fn rename_member(members: &mut IndexMap<String, Json>, old: &str, new: &str) -> Option<()> {
    if members.contains_key(new) {
        return None;
    }
    let renamed = std::mem::take(members)
        .into_iter()
        .map(|(name, value)| (if name == old { new.to_owned() } else { name }, value));
    *members = renamed.collect();
    Some(())
}

fn delete(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = any_node(document, rng)?;
    cut(document, &path)?;
    Some(pointer(&path))
}

fn duplicate(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = any_node(document, rng)?;
    let copy = at(document, &path)?.clone();
    let (_, parent) = path.split_last()?;
    match at(document, parent)? {
        Json::Object(members) => {
            let new = name(rng);
            members.insert(new.clone(), copy);
            Some(format!("{} as {new:?}", pointer(&path)))
        }
        Json::Array(items) => {
            items.push(copy);
            Some(pointer(&path))
        }
        _ => None,
    }
}

const TYPE_VALUES: &[&str] = &[
    "\"string\"",
    "\"integer\"",
    "\"number\"",
    "\"boolean\"",
    "\"null\"",
    "\"array\"",
    "\"object\"",
    "[\"string\",\"null\"]",
    "[\"string\",\"integer\"]",
    "[\"object\",\"array\"]",
    "[\"integer\",\"number\",\"null\"]",
    "[\"object\",\"null\"]",
    "[\"array\"]",
    "[\"null\",\"boolean\",\"number\",\"string\",\"array\",\"object\"]",
    "[]",
    "\"any\"",
    "[\"string\",\"string\"]",
];

fn retype(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = schema_that(document, rng, |keywords| keywords.contains_key("type"))?;
    let text = TYPE_VALUES[rng.usize(0..TYPE_VALUES.len())];
    object_at(document, &path)?.insert("type".into(), json(text));
    Some(format!("{} to {text}", pointer(&path)))
}

fn rename_key(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path =
        choose(paths(document, |path, json| !path.is_empty() && json.as_object().is_some_and(|m| !m.is_empty())), rng)?;
    let new = name(rng);
    let members = object_at(document, &path)?;
    let old = choose(members.keys().cloned().collect(), rng)?;
    rename_member(members, &old, &new)?;
    Some(format!("{old:?} to {new:?} in {}", pointer(&path)))
}

/// Renames a definition and all references to it, so that the schema remains as valid as before.
fn rename_definition(document: &mut Json, rng: &mut Rng) -> Option<String> {
    fn redirect(json: &mut Json, old: &Json, new: &Json) {
        match json {
            Json::Object(members) => {
                for (key, value) in members {
                    if key == "$ref" && value == old {
                        *value = new.clone();
                    } else {
                        redirect(value, old, new);
                    }
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| redirect(item, old, new)),
            _ => {}
        }
    }
    let old = some_definition(document, rng)?;
    let mut new = name(rng);
    if rng.u8(0..4) == 0 {
        // Use the name of another definition in lowercase, or add a suffix that may conflict.
        let other = some_definition(document, rng)?;
        new = match rng.u8(0..5) {
            0 => other.to_lowercase(),
            1 => format!("{old}Request"),
            2 => format!("{old}Result"),
            3 => format!("{old}Method"),
            _ => format!("{other}_"),
        };
    }
    let (container, _) = definitions(document);
    rename_member(object_at(document, &[container])?, &old, &new)?;
    let (from, to) = (reference(document, &old), reference(document, &new));
    redirect(document, &from, &to);
    Some(format!("{old:?} to {new:?}"))
}

fn with_properties(document: &Json, rng: &mut Rng) -> Option<Path> {
    schema_that(document, rng, |keywords| {
        keywords.get("properties").and_then(Json::as_object).is_some_and(|p| !p.is_empty())
    })
}

fn rename_property(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = with_properties(document, rng)?;
    let new = name(rng);
    let keywords = object_at(document, &path)?;
    let Some(Json::Object(properties)) = keywords.get_mut("properties") else { return None };
    let old = choose(properties.keys().cloned().collect(), rng)?;
    rename_member(properties, &old, &new)?;
    if let Some(Json::Array(required)) = keywords.get_mut("required") {
        required
            .iter_mut()
            .filter(|name| name.as_str() == Some(&old))
            .for_each(|name| *name = Json::String(new.clone()));
    }
    Some(format!("{old:?} to {new:?} in {}", pointer(&path)))
}

fn copy_property(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = with_properties(document, rng)?;
    let odd = name(rng);
    let keywords = object_at(document, &path)?;
    let Some(Json::Object(properties)) = keywords.get_mut("properties") else { return None };
    let old = choose(properties.keys().cloned().collect(), rng)?;
    let new = match rng.u8(0..4) {
        0 => format!("{old}_"),
        1 => format!("with_{old}"),
        2 => old.to_uppercase(),
        _ => odd,
    };
    let copy = properties.get(&old)?.clone();
    properties.insert(new.clone(), copy);
    Some(format!("{old:?} as {new:?} in {}", pointer(&path)))
}

fn swap(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let (a, b) = if rng.bool() {
        (any_node(document, rng)?, any_node(document, rng)?)
    } else {
        (schema_node(document, rng)?, schema_node(document, rng)?)
    };
    if a.starts_with(&b) || b.starts_with(&a) {
        return None;
    }
    let (left, right) = (at(document, &a)?.clone(), at(document, &b)?.clone());
    *at(document, &a)? = right;
    *at(document, &b)? = left;
    Some(format!("{} and {}", pointer(&a), pointer(&b)))
}

fn transplant(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let (from, to) = (any_node(document, rng)?, any_node(document, rng)?);
    let graft = at(document, &from)?.clone();
    *at(document, &to)? = graft;
    Some(format!("{} to {}", pointer(&from), pointer(&to)))
}

fn transplant_schema(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let (from, to) = (schema_node(document, rng)?, schema_node(document, rng)?);
    let graft = at(document, &from)?.clone();
    *at(document, &to)? = graft;
    Some(format!("{} to {}", pointer(&from), pointer(&to)))
}

fn change_keyword(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = schema_node(document, rng)?;
    let new = value(rng);
    let keywords = object_at(document, &path)?;
    let keyword = choose(keywords.keys().cloned().collect(), rng)?;
    keywords.insert(keyword.clone(), new.clone());
    Some(format!("{}/{keyword} to {new}", pointer(&path)))
}

fn retarget(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = schema_that(document, rng, |keywords| keywords.contains_key("$ref"))?;
    let odd = [
        "#",
        "",
        "#/",
        "#/$defs",
        "#/$defs/",
        "#/definitions/Nothing",
        "https://example.com/x",
        "Tool",
        "#/$defs/Tool/properties/name",
    ];
    let target = odd[rng.usize(0..odd.len())];
    object_at(document, &path)?.insert("$ref".into(), Json::String(target.to_owned()));
    Some(format!("{} to {target:?}", pointer(&path)))
}

fn retarget_well(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = schema_that(document, rng, |keywords| keywords.contains_key("$ref"))?;
    let target = some_definition(document, rng)?;
    let reference = reference(document, &target);
    object_at(document, &path)?.insert("$ref".into(), reference);
    Some(format!("{} to {target}", pointer(&path)))
}

fn insert_keyword(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = schema_node(document, rng)?;
    let keyword = UNKNOWN_KEYWORDS[rng.usize(0..UNKNOWN_KEYWORDS.len())];
    let new = value(rng);
    object_at(document, &path)?.insert(keyword.to_owned(), new.clone());
    Some(format!("{keyword}: {new} in {}", pointer(&path)))
}

fn insert_known_keyword(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = schema_node(document, rng)?;
    let keyword = KEYWORDS[rng.usize(0..KEYWORDS.len())];
    // In most cases, choose a value that is valid for the keyword.
    let new = match keyword {
        _ if rng.u8(0..5) == 0 => value(rng),
        "type" => json(TYPE_VALUES[rng.usize(0..TYPE_VALUES.len())]),
        "enum" | "examples" => Json::Array((0..rng.usize(0..4)).map(|_| value(rng)).collect()),
        "anyOf" | "oneOf" | "allOf" => Json::Array((0..rng.usize(1..4)).map(|_| some_schema(document, rng)).collect()),
        "items" | "additionalProperties" => some_schema(document, rng),
        "properties" => Json::Object((0..rng.usize(0..4)).map(|_| (name(rng), some_schema(document, rng))).collect()),
        "required" => Json::Array((0..rng.usize(0..3)).map(|_| Json::String(name(rng))).collect()),
        "minLength" | "maxLength" | "minItems" | "maxItems" => Json::Number(rng.u32(0..4).into()),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => Json::Number(rng.i32(-3..4).into()),
        "$ref" => reference(document, &some_definition(document, rng)?),
        "title" | "description" | "$comment" | "format" => Json::String(name(rng)),
        "deprecated" | "readOnly" => Json::Bool(rng.bool()),
        _ => value(rng),
    };
    object_at(document, &path)?.insert(keyword.to_owned(), new.clone());
    Some(format!("{keyword}: {new} in {}", pointer(&path)))
}

/// Returns a schema: a fixed one, a reference, or a copy from the document.
fn some_schema(document: &Json, rng: &mut Rng) -> Json {
    const SCHEMAS: &[&str] = &[
        "true",
        "false",
        "{}",
        "{\"type\":\"string\"}",
        "{\"type\":\"null\"}",
        "{\"type\":\"integer\",\"minimum\":0}",
        "{\"type\":\"number\",\"maximum\":1}",
        "{\"type\":\"string\",\"minLength\":1}",
        "{\"type\":\"array\",\"maxItems\":2}",
        "{\"type\":\"object\"}",
        "{\"const\":1}",
        "{\"const\":\"x\"}",
        "{\"const\":null}",
        "{\"enum\":[\"a\",\"b\"]}",
        "{\"enum\":[1,null]}",
        "{\"type\":[\"string\",\"null\"]}",
        "{\"type\":\"object\",\"properties\":{\"kind\":{\"const\":\"a\"}},\"required\":[\"kind\"]}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"additionalProperties\":false}",
        "{\"enum\":[]}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":[\"integer\",\"null\"]}},\"additionalProperties\":{\"type\":\"array\"}}",
    ];
    match rng.u8(0..3) {
        0 => json(SCHEMAS[rng.usize(0..SCHEMAS.len())]),
        1 => some_definition(document, rng).map_or(Json::Bool(true), |name| reference_schema(document, &name)),
        _ => {
            let path = schema_node(document, rng);
            path.and_then(|path| document.pointer(&pointer(&path)).cloned()).unwrap_or(Json::Bool(true))
        }
    }
}

fn empty_any_of(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = schema_node(document, rng)?;
    object_at(document, &path)?.insert("anyOf".into(), Json::Array(Vec::new()));
    Some(pointer(&path))
}

fn wrap(document: &mut Json, rng: &mut Rng, keyword: &str) -> Option<String> {
    let path = schema_node(document, rng)?;
    let beside: Vec<Json> = (0..rng.usize(0..3)).map(|_| some_schema(document, rng)).collect();
    let here = at(document, &path)?;
    let members = std::iter::once(here.clone()).chain(beside.iter().cloned()).collect();
    *here = Json::Object([(keyword.to_owned(), Json::Array(members))].into_iter().collect());
    Some(format!("{} with {}", pointer(&path), Json::Array(beside)))
}

fn wrap_in_all_of(document: &mut Json, rng: &mut Rng) -> Option<String> {
    wrap(document, rng, "allOf")
}

fn wrap_in_any_of(document: &mut Json, rng: &mut Rng) -> Option<String> {
    wrap(document, rng, "anyOf")
}

fn wrap_in_one_of(document: &mut Json, rng: &mut Rng) -> Option<String> {
    wrap(document, rng, "oneOf")
}

fn allow_null(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = schema_that(document, rng, |keywords| keywords.contains_key("type"))?;
    let keywords = object_at(document, &path)?;
    let types = match keywords.get("type")?.clone() {
        Json::Array(mut types) => {
            types.push(Json::String("null".into()));
            types
        }
        one => vec![one, Json::String("null".into())],
    };
    keywords.insert("type".into(), Json::Array(types));
    Some(pointer(&path))
}

fn remove_type(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = schema_that(document, rng, |keywords| keywords.contains_key("type"))?;
    object_at(document, &path)?.shift_remove("type");
    Some(pointer(&path))
}

/// Replaces a schema with a reference to the definition that contains it.
fn recur(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = choose(paths(document, |path, _| path.len() > 2 && is_schema(path)), rng)?;
    let back = reference_schema(document, &path[1]);
    *at(document, &path)? = back;
    Some(pointer(&path))
}

fn change_values(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = schema_that(document, rng, |keywords| keywords.contains_key("const") || keywords.contains_key("enum"))?;
    let scalar = |rng: &mut Rng| if rng.bool() { Json::String(name(rng)) } else { value(rng) };
    let (one, some) = (scalar(rng), Json::Array((0..rng.usize(1..6)).map(|_| scalar(rng)).collect()));
    let keywords = object_at(document, &path)?;
    if rng.bool() {
        // The new values may have any type.
        keywords.shift_remove("type");
    }
    let (keyword, new) = if keywords.contains_key("const") { ("const", one) } else { ("enum", some) };
    keywords.insert(keyword.to_owned(), new.clone());
    Some(format!("{} to {new}", pointer(&path)))
}

fn limit(document: &mut Json, rng: &mut Rng) -> Option<String> {
    const NUMBERS: &[&str] = &[
        "0",
        "1",
        "-1",
        "0.5",
        "-0.5",
        "1.0",
        "3",
        "100",
        "1e308",
        "-1e308",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "18446744073709551615",
        "1e20",
        "-1e20",
        "9007199254740993",
        "5e-324",
        "-0.0",
    ];
    let path = schema_that(document, rng, |keywords| {
        matches!(keywords.get("type").and_then(Json::as_str), Some("string" | "integer" | "number" | "array"))
    })?;
    let keywords = object_at(document, &path)?;
    let of_type: &[&str] = match keywords.get("type").and_then(Json::as_str)? {
        "string" => &["minLength", "maxLength"],
        "array" => &["minItems", "maxItems"],
        _ => &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
    };
    let mut detail = pointer(&path);
    for _ in 0..rng.usize(1..3) {
        let (keyword, text) = (of_type[rng.usize(0..of_type.len())], NUMBERS[rng.usize(0..NUMBERS.len())]);
        keywords.insert(keyword.to_owned(), json(text));
        detail.push_str(&format!(" {keyword} {text}"));
    }
    Some(detail)
}

fn change_additional(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = schema_that(document, rng, |keywords| keywords.get("type").and_then(Json::as_str) == Some("object"))?;
    let new = if rng.bool() { Json::Bool(false) } else { some_schema(document, rng) };
    object_at(document, &path)?.insert("additionalProperties".into(), new.clone());
    Some(format!("{new} in {}", pointer(&path)))
}

fn require(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = with_properties(document, rng)?;
    let odd = name(rng);
    let keywords = object_at(document, &path)?;
    let known: Vec<String> = keywords.get("properties").and_then(Json::as_object)?.keys().cloned().collect();
    let new = if rng.u8(0..4) == 0 { odd } else { choose(known, rng)? };
    match keywords.get_mut("required") {
        Some(Json::Array(required)) => required.push(Json::String(new.clone())),
        _ => drop(keywords.insert("required".into(), Json::Array(vec![Json::String(new.clone())]))),
    }
    Some(format!("{new:?} in {}", pointer(&path)))
}

fn describe(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = schema_node(document, rng)?;
    let text = PROSE[rng.usize(0..PROSE.len())];
    let keywords = object_at(document, &path)?;
    keywords.insert("description".into(), Json::String(text.to_owned()));
    if rng.u8(0..4) == 0 {
        keywords.insert("deprecated".into(), Json::Bool(true));
    }
    Some(format!("{} as {text:?}", pointer(&path)))
}

fn change_default(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = schema_node(document, rng)?;
    let new = match document.pointer(&pointer(&path))?.get("enum") {
        Some(Json::Array(values)) if !values.is_empty() => values[0].clone(),
        _ if rng.bool() => Json::String(name(rng)),
        _ => value(rng),
    };
    object_at(document, &path)?.insert("default".into(), new.clone());
    Some(format!("{new} in {}", pointer(&path)))
}

fn boolean_schema(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = choose(paths(document, |path, _| is_schema(path)), rng)?;
    let new = Json::Bool(rng.bool());
    *at(document, &path)? = new.clone();
    Some(format!("{} is {new}", pointer(&path)))
}

fn wrap_in_container(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let path = choose(paths(document, |path, _| is_schema(path)), rng)?;
    let here = at(document, &path)?;
    let (kind, keyword) = if rng.bool() { ("array", "items") } else { ("object", "additionalProperties") };
    let keywords = [("type".to_owned(), Json::String(kind.to_owned())), (keyword.to_owned(), here.clone())];
    *here = Json::Object(keywords.into_iter().collect());
    Some(format!("{} in {kind}", pointer(&path)))
}

fn change_method(document: &mut Json, rng: &mut Rng) -> Option<String> {
    const METHODS: &[&str] = &[
        "",
        "/",
        "a/",
        "/a",
        "mod/x",
        "common/x",
        "messages/x",
        "base/x",
        "json_rpc/x",
        "json_schema/x",
        "self/x",
        "super/x",
        "type/x",
        "Tools/call",
        "tools/call",
        "tool/s",
        "notifications/",
        "notifications/x",
        "notifications/mod/x",
        "ä/x",
        "1/x",
        "a b/c d",
        "lib/x",
        "main/x",
        "std/x",
        "core/x",
        "codec/x",
        "a//b",
        "../x",
        "con/x",
        "initialize",
        "ping",
        "$/x",
        "\"/x",
        "\n/x",
        "result/x",
        "crate/x",
        "Self/x",
        "_/x",
        "__/x",
        "super_/x",
        "roots_/x",
        "r#type/x",
    ];
    let path = schema_that(document, rng, |keywords| {
        keywords.get("properties").and_then(|all| all.get("method")).and_then(|method| method.get("const")).is_some()
    })?;
    let method = METHODS[rng.usize(0..METHODS.len())];
    let place: Path = path.iter().cloned().chain(["properties".into(), "method".into()]).collect();
    object_at(document, &place)?.insert("const".into(), Json::String(method.to_owned()));
    Some(format!("{} to {method:?}", pointer(&path)))
}

fn add_definition(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let (container, _) = definitions(document);
    let (new, schema) = (name(rng), if rng.bool() { some_schema(document, rng) } else { value(rng) });
    object_at(document, &[container])?.insert(new.clone(), schema.clone());
    Some(format!("{new:?}: {schema}"))
}

/// Keywords for checks and for less common shapes, by the JSON type that they restrict.
const CHECKS: &[(&str, &[&str])] = &[
    (
        "string",
        &[
            "{\"pattern\":\"^[a-z]+$\"}",
            "{\"pattern\":\"^[a-z]{1,8}$\"}",
            "{\"pattern\":\"a|b\"}",
            "{\"not\":{\"const\":\"a\"}}",
            "{\"_enum\":[\"a\",\"b\"]}",
            "{\"if\":{\"minLength\":3},\"then\":{\"pattern\":\"^x\"}}",
        ],
    ),
    ("number", &["{\"multipleOf\":0.5}", "{\"multipleOf\":3}", "{\"not\":{\"minimum\":5}}"]),
    ("integer", &["{\"multipleOf\":2}", "{\"multipleOf\":4}", "{\"not\":{\"const\":0}}"]),
    (
        "array",
        &[
            "{\"uniqueItems\":true}",
            "{\"contains\":{\"type\":\"string\"}}",
            "{\"contains\":{\"type\":\"object\"},\"minContains\":0,\"maxContains\":2}",
            "{\"prefixItems\":[{\"type\":\"string\"},true],\"minItems\":2}",
            "{\"prefixItems\":[{\"type\":\"string\"},{\"type\":\"integer\"}],\"minItems\":2,\"items\":false}",
            "{\"prefixItems\":[{\"type\":\"string\"}]}",
            "{\"unevaluatedItems\":false}",
        ],
    ),
    (
        "object",
        &[
            "{\"minProperties\":1}",
            "{\"maxProperties\":4}",
            "{\"propertyNames\":{\"pattern\":\"^[a-zA-Z_]+$\"}}",
            "{\"propertyNames\":{\"maxLength\":20}}",
            "{\"patternProperties\":{\"^x-\":{\"type\":\"string\"}}}",
            "{\"patternProperties\":{\"^x-\":{\"type\":\"integer\"}}}",
            "{\"patternProperties\":{\"^[a-c]\":true},\"additionalProperties\":false}",
            "{\"patternProperties\":{\"^x\":{\"type\":\"string\"},\"y$\":{\"minLength\":1}}}",
            "{\"dependentRequired\":{\"_meta\":[\"a\"]}}",
            "{\"dependentSchemas\":{\"_meta\":{\"maxProperties\":3}}}",
            "{\"if\":{\"required\":[\"_meta\"]},\"then\":{\"maxProperties\":3},\"else\":{\"minProperties\":1}}",
            "{\"not\":{\"required\":[\"a\"]}}",
            "{\"unevaluatedProperties\":false}",
        ],
    ),
];

/// Adds keywords from [`CHECKS`] that apply to the type of a schema.
fn add_check(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let checks = |keywords: &IndexMap<String, Json>| {
        let of_type = keywords.get("type").and_then(Json::as_str);
        CHECKS.iter().find(|(name, _)| Some(*name) == of_type).map(|(_, checks)| *checks)
    };
    let path = schema_that(document, rng, |keywords| checks(keywords).is_some())?;
    let keywords = object_at(document, &path)?;
    let checks = checks(keywords)?;
    let text = checks[rng.usize(0..checks.len())];
    keywords.extend(json(text).as_object().cloned().unwrap_or_default());
    Some(format!("{text} in {}", pointer(&path)))
}

/// Replaces the value of a keyword with another value that [`CHECKS`] has for it.
fn change_check(document: &mut Json, rng: &mut Rng) -> Option<String> {
    let all: Vec<IndexMap<String, Json>> = CHECKS
        .iter()
        .flat_map(|(_, checks)| checks.iter())
        .filter_map(|text| json(text).as_object().cloned())
        .collect();
    let is_known = |key: &String| key != "items" && key != "minItems" && all.iter().any(|it| it.contains_key(key));
    let path = schema_that(document, rng, |keywords| keywords.keys().any(is_known))?;
    let keywords = object_at(document, &path)?;
    let keyword = choose(keywords.keys().filter(|key| is_known(key)).cloned().collect(), rng)?;
    let value = choose(all.iter().filter_map(|it| it.get(&keyword).cloned()).collect(), rng)?;
    keywords.insert(keyword.clone(), value.clone());
    Some(format!("{keyword} to {value} in {}", pointer(&path)))
}
