//! OpenRPC documents: methods with params by name or by position, results and errors.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use mcpgen_schema::json::pointer::escape;
use mcpgen_schema::{Dialect, Document, Error, Json};

use super::envelopes::{free_name, object, reference, structure, text};
use super::mapping::Direction;
use super::origins::Origins;
use super::reader::{Contents, ErrorCode, Message, Problems, Reader};
use crate::text::names::type_name;

const CONTAINER: &str = "definitions";

const SCHEMAS: &str = "#/components/schemas/";

/// Where methods share content descriptors.
const DESCRIPTORS: &str = "/components/contentDescriptors/";

pub(super) const OPEN_RPC: Reader = Reader { name: "OpenRPC", reads, read };

fn reads(document: &Document) -> bool {
    document.root.get("openrpc").is_some()
}

fn read(mut document: Document) -> Result<Contents, Error> {
    let root = std::mem::replace(&mut document.root, Json::Null);
    let schemas = root.pointer("/components/schemas").and_then(Json::as_object);
    let definitions = schemas.into_iter().flatten().map(|(name, schema)| (name.clone(), moved(schema)));
    let problems = Problems::of(&document, "write it as the OpenRPC specification defines it");
    let mut origins = Origins::default();
    origins.add_copy(format!("/{CONTAINER}"), "/components/schemas");
    let mut reading = Reading {
        root: &root,
        definitions: definitions.collect(),
        descriptors: HashMap::new(),
        errors: Vec::new(),
        origins,
        problems,
    };
    reading.errors();
    let messages = match root.get("methods") {
        Some(Json::Array(methods)) => {
            let methods = methods.iter().enumerate();
            methods.filter_map(|(index, method)| reading.method(&format!("/methods/{index}"), method)).collect()
        }
        _ => {
            reading.problems.add("/methods", "expected an array of methods");
            Vec::new()
        }
    };
    let Reading { definitions, errors, origins, problems, .. } = reading;
    problems.into_result()?;
    document.dialect = Dialect::Draft07;
    document.root = object([(CONTAINER, Json::Object(definitions))]);
    Ok(Contents { schema: document, messages, errors, origins })
}

struct Reading<'a> {
    root: &'a Json,
    definitions: IndexMap<String, Json>,
    descriptors: HashMap<String, String>,
    errors: Vec<ErrorCode>,
    origins: Origins,
    problems: Problems,
}

struct Descriptor<'a> {
    name: &'a str,
    schema: &'a Json,
    json: &'a Json,
    pointer: String,
}

impl Descriptor<'_> {
    fn is_required(&self) -> bool {
        self.json.get("required") == Some(&Json::Bool(true))
    }
}

impl<'a> Reading<'a> {
    fn errors(&mut self) {
        for (name, error) in self.root.pointer("/components/errors").and_then(Json::as_object).into_iter().flatten() {
            self.error(&format!("/components/errors/{}", escape(name)), name, error);
        }
    }

    /// Reads a method's errors, which are named after their messages. Shared errors are already known by their names.
    fn errors_of(&mut self, pointer: &str, method: &'a Json) {
        let Some(Json::Array(errors)) = method.get("errors") else { return };
        for (index, error) in errors.iter().enumerate().filter(|(_, error)| error.get("$ref").is_none()) {
            let is_known = code(error).is_some_and(|code| self.errors.iter().any(|it| it.code == code));
            if !is_known {
                let name = error.get("message").and_then(Json::as_str).unwrap_or_default();
                self.error(&format!("{pointer}/errors/{index}"), name, error);
            }
        }
    }

    fn error(&mut self, pointer: &str, name: &str, error: &Json) {
        let description = error.get("message").and_then(Json::as_str).map(str::to_owned);
        match code(error) {
            Some(code) => self.errors.push(ErrorCode { name: type_name(name), code, description }),
            None => self.problems.add(&format!("{pointer}/code"), "expected an integer"),
        }
    }

    fn method(&mut self, pointer: &str, method: &'a Json) -> Option<Message> {
        let (method, pointer) = self.resolved(pointer, method)?;
        let pointer = pointer.as_str();
        let Some(name) = method.get("name").and_then(Json::as_str) else {
            return self.problems.refuse(&format!("{pointer}/name"), "expected the name of a method");
        };
        let stem = type_name(name);
        let description = method.get("description").or(method.get("summary")).and_then(Json::as_str);
        self.errors_of(pointer, method);
        let params = self.params(pointer, &stem, method)?;
        let result = match method.get("result") {
            Some(result) => Some(self.result(&format!("{pointer}/result"), &stem, result)?),
            None => None,
        };
        Some(Message {
            pointer: pointer.to_owned(),
            name: format!("{stem}{}", if result.is_some() { "Request" } else { "Notification" }),
            method: name.to_owned(),
            direction: Direction::ClientToServer,
            params,
            result,
            description: description.map(str::to_owned),
        })
    }

    /// Defines a method's params as an object, an array, or either of them, according to `paramStructure`.
    fn params(&mut self, pointer: &str, stem: &str, method: &'a Json) -> Option<Option<(String, bool)>> {
        let Some(Json::Array(params)) = method.get("params") else {
            return self.problems.refuse(&format!("{pointer}/params"), "expected an array of params");
        };
        if params.is_empty() {
            return Some(None);
        }
        let descriptors = params.iter().enumerate();
        let descriptors: Vec<Descriptor<'_>> = descriptors
            .map(|(index, param)| self.descriptor(&format!("{pointer}/params/{index}"), param))
            .collect::<Option<_>>()?;
        let required = descriptors.iter().any(Descriptor::is_required);
        let mut names = HashSet::new();
        for (index, param) in descriptors.iter().enumerate() {
            if !names.insert(param.name) {
                let why = format!("another param has the name {:?}", param.name);
                self.problems.add(&format!("{pointer}/params/{index}/name"), why);
            }
        }
        let structure = method.get("paramStructure").map(Json::plain);
        let name = match structure.as_deref() {
            Some("by-name") => self.by_name(&format!("{stem}Params"), &descriptors),
            Some("by-position") => self.by_position(&format!("{stem}Params"), &descriptors),
            None | Some("either") => {
                let by_name = self.by_name(&format!("{stem}ParamsByName"), &descriptors);
                let by_position = self.by_position(&format!("{stem}ParamsByPosition"), &descriptors);
                let either = [by_name, by_position].map(|name| reference(CONTAINER, &name)).into();
                self.define(&format!("{stem}Params"), object([("anyOf", Json::Array(either))]), &[])
            }
            Some(_) => {
                let why = "expected \"by-name\", \"by-position\" or \"either\"";
                return self.problems.refuse(&format!("{pointer}/paramStructure"), why);
            }
        };
        Some(Some((name, required)))
    }

    /// Returns the definition for a result. A reference leads to an existing one, any other schema gets a new one.
    fn result(&mut self, pointer: &str, stem: &str, result: &'a Json) -> Option<String> {
        let result = self.descriptor(pointer, result)?;
        let target = result.schema.get("$ref").and_then(Json::as_str).and_then(|target| target.strip_prefix(SCHEMAS));
        if let Some(name) = target.filter(|name| self.definitions.contains_key(*name)) {
            return Some(name.to_owned());
        }
        Some(self.shared(&result).unwrap_or_else(|| {
            let schema = described(result.schema, result.json);
            self.define(&format!("{stem}Result"), schema, &[(String::new(), &result.pointer)])
        }))
    }

    fn by_name(&mut self, name: &str, params: &[Descriptor<'a>]) -> String {
        let properties = params.iter().map(|it| (it.name.to_owned(), self.param(it))).collect();
        let required: Vec<&str> = params.iter().filter(|it| it.is_required()).map(|it| it.name).collect();
        let schema = structure(Json::Object(properties), &required, None);
        let origins = params.iter().map(|it| (format!("/properties/{}", escape(it.name)), &*it.pointer));
        self.define(name, schema, &origins.collect::<Vec<_>>())
    }

    fn by_position(&mut self, name: &str, params: &[Descriptor<'a>]) -> String {
        let required = params.iter().rposition(Descriptor::is_required).map_or(0, |last| last + 1);
        let schema = object([
            ("type", text("array")),
            ("items", Json::Array(params.iter().map(|it| self.param(it)).collect())),
            ("additionalItems", Json::Bool(false)),
            ("minItems", Json::Number(required.into())),
        ]);
        let origins = params.iter().enumerate().map(|(index, it)| (format!("/items/{index}"), &*it.pointer));
        self.define(name, schema, &origins.collect::<Vec<_>>())
    }

    fn param(&mut self, param: &Descriptor<'a>) -> Json {
        let is_reference = param.schema.get("$ref").is_some();
        match if is_reference { None } else { self.shared(param) } {
            Some(name) => reference(CONTAINER, &name),
            // If the schema is a reference, the param's own documentation stays beside it.
            None => described(param.schema, param.json),
        }
    }

    fn shared(&mut self, descriptor: &Descriptor<'a>) -> Option<String> {
        let name = descriptor.pointer.strip_prefix(DESCRIPTORS)?.strip_suffix("/schema")?;
        if !self.descriptors.contains_key(&descriptor.pointer) {
            let schema = described(descriptor.schema, descriptor.json);
            let name = self.define(&type_name(name), schema, &[(String::new(), &descriptor.pointer)]);
            self.descriptors.insert(descriptor.pointer.clone(), name);
        }
        self.descriptors.get(&descriptor.pointer).cloned()
    }

    /// Adds a definition. `origins` says which of its parts are copied, and from where in the document.
    fn define(&mut self, name: &str, schema: Json, origins: &[(String, &str)]) -> String {
        let name = free_name(&self.definitions, name);
        for (part, pointer) in origins {
            self.origins.add_copy(format!("/{CONTAINER}/{}{part}", escape(&name)), *pointer);
        }
        self.definitions.insert(name.clone(), schema);
        name
    }

    fn descriptor(&mut self, pointer: &str, json: &'a Json) -> Option<Descriptor<'a>> {
        let (json, pointer) = self.resolved(pointer, json)?;
        if json.get("required").is_some_and(|required| !matches!(required, Json::Bool(_))) {
            self.problems.add(&format!("{pointer}/required"), "expected true or false");
        }
        match (json.get("name").and_then(Json::as_str), json.get("schema")) {
            (Some(name), Some(schema)) => Some(Descriptor { name, schema, json, pointer: format!("{pointer}/schema") }),
            _ => self.problems.refuse(&pointer, "expected a content descriptor with a `name` and a `schema`"),
        }
    }

    /// Follows references. Returns the target and its pointer.
    fn resolved(&mut self, pointer: &str, json: &'a Json) -> Option<(&'a Json, String)> {
        let (mut found, mut place, mut seen) = (json, pointer, HashSet::new());
        while let Some(target) = found.get("$ref") {
            let next = target.as_str().and_then(|target| target.strip_prefix('#'));
            let next = next.and_then(|target| Some((self.root.pointer(target)?, target)));
            match next.filter(|_| seen.insert(target.key())) {
                Some(next) => (found, place) = next,
                None => {
                    let why = format!("{target} leads to nothing in this document, or to itself");
                    return self.problems.refuse(&format!("{pointer}/$ref"), why);
                }
            }
        }
        Some((found, place.to_owned()))
    }
}

fn code(error: &Json) -> Option<i64> {
    error.get("code")?.as_i64()
}

/// Returns the schema of a param or result, documented by its descriptor.
fn described(schema: &Json, descriptor: &Json) -> Json {
    let mut schema = moved(schema);
    let documentation = descriptor.get("description").or(descriptor.get("summary"));
    if let (Json::Object(members), Some(documentation)) = (&mut schema, documentation) {
        members.entry("description".to_owned()).or_insert_with(|| documentation.clone());
    }
    schema
}

/// Makes references point to the new definitions. Accepts a content descriptor in place of a schema, which is a common
/// mistake.
fn moved(schema: &Json) -> Json {
    match schema {
        Json::Object(members) => match members.get("schema") {
            Some(inner @ Json::Object(_)) if members.keys().all(|key| DESCRIPTOR.contains(&key.as_str())) => {
                moved(inner)
            }
            _ => Json::Object(
                members.iter().filter_map(|(key, value)| Some((key.clone(), keyword(key, value)?))).collect(),
            ),
        },
        Json::Array(items) => Json::Array(items.iter().map(moved).collect()),
        other => other.clone(),
    }
}

const DESCRIPTOR: [&str; 7] = ["name", "title", "summary", "description", "required", "deprecated", "schema"];

/// Returns the rewritten value of a keyword, or `None` for members of a content descriptor.
fn keyword(key: &str, value: &Json) -> Option<Json> {
    match (key, value) {
        ("name", Json::String(_)) => None,
        ("$ref", Json::String(target)) => Some(text(&target.replacen(SCHEMAS, &format!("#/{CONTAINER}/"), 1))),
        ("const" | "default" | "enum" | "example" | "examples", value) => Some(value.clone()),
        ("definitions" | "dependencies" | "patternProperties" | "properties", Json::Object(schemas)) => {
            Some(Json::Object(schemas.iter().map(|(name, schema)| (name.clone(), moved(schema))).collect()))
        }
        (_, value) => Some(moved(value)),
    }
}
