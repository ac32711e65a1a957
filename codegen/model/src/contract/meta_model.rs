//! The Language Server Protocol's `metaModel.json`: requests, notifications, and types that are not JSON Schema.

use indexmap::IndexMap;
use mcpgen_schema::json::pointer::escape;
use mcpgen_schema::{Dialect, Document, Error, Json};

use super::envelopes::{free_name, object, reference, structure, text};
use super::mapping::Direction;
use super::origins::Origins;
use super::reader::{Contents, ErrorCode, Message, Problems, Reader};
use crate::text::names::type_name;

const CONTAINER: &str = "$defs";

/// Limits the number of structures that a structure inherits from.
const MAX_INHERITED: usize = 100;

/// Limits the members of all structures, including inherited ones. LSP 3.17 has 956.
const MAX_MEMBERS: usize = 100_000;

pub(super) const META_MODEL: Reader = Reader { name: "LSP metaModel", reads, read };

fn reads(document: &Document) -> bool {
    let is_list = |key: &&&str| matches!(document.root.get(key), Some(Json::Array(_)));
    ["requests", "notifications", "structures"].iter().filter(is_list).count() > 1
}

fn read(mut document: Document) -> Result<Contents, Error> {
    let root = std::mem::replace(&mut document.root, Json::Null);
    let items = |key: &'static str| match root.get(key) {
        Some(Json::Array(items)) => items.as_slice(),
        _ => &[],
    };
    let structures = items("structures").iter().filter_map(|it| Some((it.get("name")?.as_str()?, it))).collect();
    let remedy = "write it as metaModel.schema.json of the Language Server Protocol defines it";
    let problems = Problems::of(&document, remedy);
    let (definitions, origins) = (IndexMap::new(), Origins::default());
    let mut reading = Reading { structures, definitions, members: 0, origins, problems };
    for key in ["structures", "enumerations", "typeAliases"] {
        for (index, item) in items(key).iter().enumerate() {
            let pointer = format!("/{key}/{index}");
            let schema = match key {
                "structures" => reading.structure(&pointer, item),
                "enumerations" => reading.enumeration(&pointer, item),
                _ => reading.part(&pointer, item, "type"),
            };
            let (Some(name), Some(schema)) = (reading.text(&pointer, item, "name"), schema) else { continue };
            if reading.definitions.insert(name.to_owned(), documented(schema, item)).is_some() {
                reading.problems.add(&format!("{pointer}/name"), format!("another type has the name {name:?}"));
            }
            reading.origins.add(definition(name), pointer);
        }
    }
    let mut messages = Vec::new();
    for (key, is_request) in [("requests", true), ("notifications", false)] {
        for (index, item) in items(key).iter().enumerate() {
            messages.extend(reading.message(&format!("/{key}/{index}"), item, is_request));
        }
    }
    let errors = items("enumerations").iter().filter(|it| is_error_codes(it)).flat_map(error_codes).collect();
    let Reading { definitions, origins, problems, .. } = reading;
    problems.into_result()?;
    document.dialect = Dialect::Draft202012;
    document.root = object([(CONTAINER, Json::Object(definitions))]);
    Ok(Contents { schema: document, messages, errors, origins })
}

struct Reading<'a> {
    structures: IndexMap<&'a str, &'a Json>,
    definitions: IndexMap<String, Json>,
    members: usize,
    origins: Origins,
    problems: Problems,
}

impl<'a> Reading<'a> {
    fn text(&mut self, pointer: &str, json: &'a Json, key: &str) -> Option<&'a str> {
        let found = json.get(key).and_then(Json::as_str);
        if found.is_none() {
            self.problems.add(&format!("{pointer}/{key}"), "expected a text");
        }
        found
    }

    fn message(&mut self, pointer: &str, item: &'a Json, is_request: bool) -> Option<Message> {
        let method = self.text(pointer, item, "method")?;
        let direction = match self.text(pointer, item, "messageDirection")? {
            "clientToServer" => Direction::ClientToServer,
            "serverToClient" => Direction::ServerToClient,
            "both" => Direction::Both,
            other => {
                let why = format!("expected clientToServer, serverToClient or both, found {other:?}");
                return self.problems.refuse(&format!("{pointer}/messageDirection"), why);
            }
        };
        let stem = type_name(method);
        let params = item.get("params").map(|params| self.named(&format!("{pointer}/params"), &stem, "Params", params));
        let result = match item.get("result") {
            Some(result) => self.named(&format!("{pointer}/result"), &stem, "Result", result),
            None => {
                is_request.then(|| self.define(pointer, &format!("{stem}Result"), object([("type", text("null"))])))
            }
        };
        let name = item.get("typeName").and_then(Json::as_str).map(str::to_owned);
        let kind = if is_request { "Request" } else { "Notification" };
        if !is_request && result.is_some() {
            self.problems.add(&format!("{pointer}/result"), "a notification has no result");
        }
        Some(Message {
            pointer: pointer.to_owned(),
            name: name.unwrap_or_else(|| format!("{stem}{kind}")),
            method: method.to_owned(),
            direction,
            params: params.flatten().map(|params| (params, true)),
            result,
            description: documentation(item),
        })
    }

    /// Returns the definition for a type. A reference leads to an existing one, any other type gets a new one.
    fn named(&mut self, pointer: &str, stem: &str, suffix: &str, json: &'a Json) -> Option<String> {
        if let (Some("reference"), Some(name)) =
            (json.get("kind").and_then(Json::as_str), json.get("name").and_then(Json::as_str))
        {
            return Some(name.to_owned());
        }
        let schema = match json {
            // These are positional params, which no LSP method has.
            Json::Array(items) => self.tuple(pointer, items)?,
            json => self.schema(pointer, json)?,
        };
        Some(self.define(pointer, &format!("{stem}{suffix}"), schema))
    }

    fn define(&mut self, pointer: &str, name: &str, schema: Json) -> String {
        let name = free_name(&self.definitions, name);
        self.origins.add(definition(&name), pointer);
        self.definitions.insert(name.clone(), schema);
        name
    }

    fn structure(&mut self, pointer: &str, item: &'a Json) -> Option<Json> {
        if self.members > MAX_MEMBERS {
            return None;
        }
        let mut members = IndexMap::new();
        self.members(pointer, item, &mut members, &mut Vec::new());
        self.members += members.len();
        if self.members > MAX_MEMBERS {
            let why = format!("all structures together have more than {MAX_MEMBERS} members");
            self.problems.add_with(pointer, why, "inherit less");
            return None;
        }
        if let Some(name) = item.get("name").and_then(Json::as_str) {
            for (member, (pointer, _)) in &members {
                let place = format!("{}/properties/{}", definition(name), escape(member));
                self.origins.add(place, format!("{pointer}/type"));
            }
        }
        Some(self.object(members))
    }

    fn object(&mut self, members: IndexMap<&'a str, (String, &'a Json)>) -> Json {
        let (mut properties, mut required) = (IndexMap::new(), Vec::new());
        for (name, (pointer, member)) in members {
            let Some(schema) = self.part(&pointer, member, "type") else { continue };
            if member.get("optional") != Some(&Json::Bool(true)) {
                required.push(name);
            }
            properties.insert(name.to_owned(), documented(schema, member));
        }
        structure(Json::Object(properties), &required, None)
    }

    /// Collects the members of a structure, with their pointers. Members of the structure itself override inherited
    /// ones.
    fn members(
        &mut self,
        pointer: &str,
        item: &'a Json,
        members: &mut IndexMap<&'a str, (String, &'a Json)>,
        inherited: &mut Vec<&'a str>,
    ) {
        for key in ["extends", "mixins"] {
            let Some(Json::Array(parents)) = item.get(key) else { continue };
            for (index, parent) in parents.iter().enumerate() {
                let here = format!("{pointer}/{key}/{index}");
                let Some(name) = self.text(&here, parent, "name") else { continue };
                match self.structures.get_full(name) {
                    Some(_) if inherited.contains(&name) => {}
                    Some((index, _, &parent)) if inherited.len() < MAX_INHERITED => {
                        inherited.push(name);
                        self.members(&format!("/structures/{index}"), parent, members, inherited);
                    }
                    Some(_) => {
                        let why = format!("it inherits from more than {MAX_INHERITED} structures");
                        self.problems.add_with(&here, why, "merge structures");
                        return;
                    }
                    None => self.problems.add(&here, format!("there is no structure {name:?}")),
                }
            }
        }
        let Some(Json::Array(own)) = item.get("properties") else { return };
        for (index, member) in own.iter().enumerate() {
            let here = format!("{pointer}/properties/{index}");
            if let Some(name) = self.text(&here, member, "name") {
                members.insert(name, (here, member));
            }
        }
    }

    /// Returns the schema of an enumeration. If it supports custom values, any value of the base type is valid.
    fn enumeration(&mut self, pointer: &str, item: &'a Json) -> Option<Json> {
        let base = self.part(pointer, item, "type")?;
        let Some(Json::Array(values)) = item.get("values") else {
            return self.problems.refuse(&format!("{pointer}/values"), "expected an array of values");
        };
        let (mut names, mut known) = (Vec::new(), Vec::new());
        for (index, entry) in values.iter().enumerate() {
            let here = format!("{pointer}/values/{index}");
            if let (Some(name), Some(value)) = (self.text(&here, entry, "name"), self.value(&here, entry)) {
                names.push(text(name));
                known.push(value.clone());
            }
        }
        let is_open = item.get("supportsCustomValues") == Some(&Json::Bool(true));
        Some(match (is_open, base) {
            (false, _) => object([("enum", Json::Array(known)), ("x-enum-varnames", Json::Array(names))]),
            (true, Json::Object(mut base)) => {
                base.insert("_enum".to_owned(), Json::Array(known));
                Json::Object(base)
            }
            (true, base) => base,
        })
    }

    fn schema(&mut self, pointer: &str, json: &'a Json) -> Option<Json> {
        let kind = json.get("kind").and_then(Json::as_str).unwrap_or_default();
        match kind {
            "" if json.get("name").is_some() => self.base(pointer, json),
            "base" => self.base(pointer, json),
            "reference" => Some(reference(CONTAINER, self.text(pointer, json, "name")?)),
            "array" => {
                let element = self.part(pointer, json, "element")?;
                Some(object([("type", text("array")), ("items", element)]))
            }
            "map" => {
                let (key, value) = (self.part(pointer, json, "key")?, self.part(pointer, json, "value")?);
                let value = ("additionalProperties", value);
                Some(match key.get("type").and_then(Json::as_str) {
                    Some("integer") => {
                        let digits = object([("pattern", text("^-?[0-9]+$"))]);
                        object([("type", text("object")), ("propertyNames", digits), value])
                    }
                    Some(_) => object([("type", text("object")), value]),
                    None => object([("type", text("object")), ("propertyNames", key), value]),
                })
            }
            "or" | "and" | "tuple" => {
                let Some(Json::Array(items)) = json.get("items") else {
                    return self.problems.refuse(&format!("{pointer}/items"), "expected an array of types");
                };
                let pointer = format!("{pointer}/items");
                match kind {
                    "or" => Some(object([("anyOf", Json::Array(self.parts(&pointer, items)?))])),
                    "and" => Some(object([("allOf", Json::Array(self.parts(&pointer, items)?))])),
                    _ => self.tuple(&pointer, items),
                }
            }
            "literal" => {
                let mut members = IndexMap::new();
                let value = self.value(pointer, json)?;
                self.members(&format!("{pointer}/value"), value, &mut members, &mut Vec::new());
                Some(self.object(members))
            }
            "stringLiteral" | "integerLiteral" | "booleanLiteral" => {
                Some(object([("const", self.value(pointer, json)?.clone())]))
            }
            "" => self.problems.refuse(pointer, "expected a type"),
            other => self.problems.refuse(&format!("{pointer}/kind"), format!("{other:?} is not a kind of type")),
        }
    }

    fn value(&mut self, pointer: &str, json: &'a Json) -> Option<&'a Json> {
        let found = json.get("value");
        if found.is_none() {
            self.problems.add(&format!("{pointer}/value"), "expected a value");
        }
        found
    }

    fn part(&mut self, pointer: &str, json: &'a Json, key: &str) -> Option<Json> {
        self.schema(&format!("{pointer}/{key}"), json.get(key).unwrap_or(&Json::Null))
    }

    fn parts(&mut self, pointer: &str, items: &'a [Json]) -> Option<Vec<Json>> {
        let items = items.iter().enumerate();
        items.map(|(index, item)| self.schema(&format!("{pointer}/{index}"), item)).collect()
    }

    fn tuple(&mut self, pointer: &str, items: &'a [Json]) -> Option<Json> {
        let items = self.parts(pointer, items)?;
        let count = Json::Number(items.len().into());
        Some(object([
            ("type", text("array")),
            ("prefixItems", Json::Array(items)),
            ("minItems", count.clone()),
            ("maxItems", count),
        ]))
    }

    fn base(&mut self, pointer: &str, json: &'a Json) -> Option<Json> {
        Some(match self.text(pointer, json, "name")? {
            "string" | "URI" | "DocumentUri" | "RegExp" => object([("type", text("string"))]),
            // The 32-bit range is not enforced, so that these are plain integers in Rust.
            "integer" => object([("type", text("integer"))]),
            "uinteger" => object([("type", text("integer")), ("minimum", Json::Number(0.into()))]),
            "decimal" => object([("type", text("number"))]),
            "boolean" => object([("type", text("boolean"))]),
            "null" => object([("type", text("null"))]),
            other => {
                return self.problems.refuse(&format!("{pointer}/name"), format!("{other:?} is not a base type"));
            }
        })
    }
}

fn definition(name: &str) -> String {
    format!("/{CONTAINER}/{}", escape(name))
}

/// Returns the documentation of an item, including the version that introduced it.
fn documentation(item: &Json) -> Option<String> {
    let of = |key| item.get(key).and_then(Json::as_str);
    let documentation = of("documentation").unwrap_or_default();
    // The documentation often repeats `since`.
    let since = of("since").filter(|_| !documentation.contains("@since")).map(|since| format!("Since {since}."));
    let proposed = item.get("proposed") == Some(&Json::Bool(true)) && !documentation.contains("@proposed");
    let proposed = proposed.then(|| "Proposed: it may change.".to_owned());
    let written = (!documentation.is_empty()).then(|| documentation.to_owned());
    let paragraphs: Vec<String> = [written, since, proposed].into_iter().flatten().collect();
    (!paragraphs.is_empty()).then(|| paragraphs.join("\n\n"))
}

fn documented(schema: Json, item: &Json) -> Json {
    let Json::Object(mut members) = schema else { return schema };
    if let Some(documentation) = documentation(item) {
        members.insert("description".to_owned(), text(&documentation));
    }
    if item.get("deprecated").is_some() {
        members.insert("deprecated".to_owned(), Json::Bool(true));
    }
    Json::Object(members)
}

fn is_error_codes(enumeration: &Json) -> bool {
    enumeration.get("name").and_then(Json::as_str).is_some_and(|name| name.ends_with("ErrorCodes"))
}

fn error_codes(enumeration: &Json) -> Vec<ErrorCode> {
    let Some(Json::Array(values)) = enumeration.get("values") else { return Vec::new() };
    let errors = values.iter().filter_map(|value| {
        let description = value.get("documentation").and_then(Json::as_str).map(str::to_owned);
        Some(ErrorCode {
            name: value.get("name")?.as_str()?.to_owned(),
            code: value.get("value")?.as_i64()?,
            description,
        })
    });
    errors.collect()
}
