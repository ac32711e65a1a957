//! Reads `schema/names.toml`: inline schemas that are copies of a definition, and names for inline types.
//!
//! ```toml
//! [apps]                                # the extension
//! reason = "…"
//! link = "https://…"
//! [apps.objects]                        # each inline object with exactly these members is the definition
//! Icon = ["src", "mimeType", "sizes", "theme"]
//! ImageContent = ["type=image", "data"] # `type` is a constant
//! [apps.unions]                         # each union of exactly these definitions is the definition
//! ContentBlock = ["TextContent", "ImageContent"]
//! [apps.places]                         # the schema at this JSON pointer below the definitions is the definition
//! "McpUiHostStyles/properties/variables" = "McpUiStyles"
//! [apps.names]                          # the name of an inline type
//! McpUiHostContextToolInfo = "McpUiToolInfo"
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use indexmap::IndexMap;
use mcpgen_schema::json::Json;
use mcpgen_schema::{Document, Error};
use serde::Deserialize;

/// Path of the file, relative to the root.
pub const NAMES: &str = "schema/names.toml";

/// The table for one extension or revision.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InlineSchemas {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    link: String,
    #[serde(default)]
    objects: BTreeMap<String, BTreeSet<String>>,
    #[serde(default)]
    unions: BTreeMap<String, BTreeSet<String>>,
    #[serde(default)]
    places: BTreeMap<String, String>,
    /// New names for inline types, by their generated names.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
}

impl InlineSchemas {
    /// Reads all tables, by extension or revision. A missing file means no tables.
    ///
    /// # Errors
    /// Returns [`Error::Io`], or [`Error::Usage`] if the file is malformed or lacks a reason.
    pub fn read(root: &Path) -> Result<BTreeMap<String, InlineSchemas>, Error> {
        let path = root.join(NAMES);
        let text = Error::unless_missing(std::fs::read_to_string(&path), &path)?.unwrap_or_default();
        let all: BTreeMap<String, InlineSchemas> =
            toml::from_str(&text).map_err(|error| Error::Usage(format!("{}: {error}", path.display())))?;
        for (name, inline) in &all {
            if inline.replaces() && (inline.reason.is_empty() || !inline.link.starts_with("https://")) {
                let why = "say in `reason` why the schema repeats definitions, and link to the evidence in `link`";
                return Err(Error::Usage(format!("{NAMES}: {name}: {why}")));
            }
        }
        Ok(all)
    }

    /// Returns whether any rule replaces inline schemas.
    pub fn replaces(&self) -> bool {
        !(self.objects.is_empty() && self.unions.is_empty() && self.places.is_empty())
    }

    /// Replaces inline schemas with references to the definitions they copy. Takes missing definitions from `core`.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if a rule matches nothing or its definition does not exist.
    pub fn apply(&self, document: &mut Document, core: &Document) -> Result<(), Error> {
        let container = document.container();
        let mut rewriting = Rewriting { rules: self, container, used: BTreeSet::new() };
        if let Some(Json::Object(definitions)) = document.root.pointer_mut(&format!("/{container}")) {
            definitions.iter_mut().for_each(|(name, definition)| rewriting.definition(name, definition));
        }
        let used = rewriting.used;
        for (place, definition) in &self.places {
            let pointer = format!("/{container}/{place}");
            let schema = document.root.pointer_mut(&pointer).ok_or_else(|| unmatched(&document.file, place))?;
            *schema = reference(container, definition);
        }
        if let Some(unused) = self.objects.keys().chain(self.unions.keys()).find(|name| !used.contains(*name)) {
            return Err(unmatched(&document.file, unused));
        }
        for name in used.iter().chain(self.places.values()) {
            add(name, document, core);
            if !document.definitions().contains_key(name) {
                let file = &document.file;
                return Err(Error::Usage(format!(
                    "{NAMES}: neither {file} nor the revision has the definition `{name}`"
                )));
            }
        }
        Ok(())
    }
}

fn unmatched(file: &str, rule: &str) -> Error {
    Error::Usage(format!("{NAMES}: no inline schema of {file} matches the rule `{rule}`; correct or remove it"))
}

/// Copies a definition and everything it refers to, unless already present.
fn add(name: &str, document: &mut Document, core: &Document) {
    let (container, from) = (document.container(), core.container());
    let Some(definition) = core.definitions().get(name) else { return };
    if document.definitions().contains_key(name) {
        return;
    }
    let (mut definition, mut targets) = (definition.clone(), Vec::new());
    visit(&mut definition, &mut |schema| {
        if let Some(Json::String(target)) = schema.pointer_mut("/$ref")
            && let Some(name) = target.strip_prefix(&format!("#/{from}/"))
        {
            targets.push(name.to_owned());
            *target = format!("#/{container}/{name}");
        }
    });
    if let Some(Json::Object(definitions)) = document.root.pointer_mut(&format!("/{container}")) {
        definitions.insert(name.to_owned(), definition);
    }
    targets.iter().for_each(|name| add(name, document, core));
}

struct Rewriting<'a> {
    rules: &'a InlineSchemas,
    container: &'static str,
    used: BTreeSet<String>,
}

impl Rewriting<'_> {
    /// Rewrites the inline schemas of a definition, innermost first. Keeps the definition itself, even if it equals
    /// another.
    fn definition(&mut self, name: &str, definition: &mut Json) {
        visit_below(definition, &mut |schema| {
            if let Some(target) = self.definition_of(schema).filter(|target| *target != name) {
                *schema = reference(self.container, target);
                self.used.insert(target.to_owned());
            }
        });
        remove_unused(definition);
    }

    fn definition_of(&self, schema: &Json) -> Option<&str> {
        let rules = self.rules;
        if let Some(properties) = schema.get("properties").and_then(Json::as_object) {
            let has = |member: &String| match member.split_once('=') {
                Some((name, constant)) => {
                    properties.get(name).and_then(|it| it.get("const")).and_then(Json::as_str) == Some(constant)
                }
                None => properties.contains_key(member),
            };
            let is_same = |members: &BTreeSet<String>| members.len() == properties.len() && members.iter().all(has);
            return rules.objects.iter().find(|(_, members)| is_same(members)).map(|(name, _)| name.as_str());
        }
        let Some(Json::Array(variants)) = schema.get("anyOf") else { return None };
        let prefix = format!("#/{}/", self.container);
        let target = |variant: &Json| variant.get("$ref")?.as_str()?.strip_prefix(&prefix).map(str::to_owned);
        let targets: BTreeSet<String> = variants.iter().map(target).collect::<Option<_>>()?;
        rules.unions.iter().find(|(_, members)| **members == targets).map(|(name, _)| name.as_str())
    }
}

/// Removes a definition's local definitions once nothing refers to any of them.
fn remove_unused(definition: &mut Json) {
    let Json::Object(members) = definition else { return };
    for container in ["$defs", "definitions"] {
        let Some(inner) = members.shift_remove(container) else { continue };
        let prefix = format!("#/{container}/");
        let names: Vec<String> = inner.as_object().into_iter().flat_map(IndexMap::keys).cloned().collect();
        let mut is_used = false;
        visit(&mut Json::Object(members.clone()), &mut |schema| {
            let target = schema.get("$ref").and_then(Json::as_str).and_then(|target| target.strip_prefix(&prefix));
            is_used |= target.is_some_and(|target| names.iter().any(|name| name == target));
        });
        if is_used {
            members.insert(container.to_owned(), inner);
        }
    }
}

fn reference(container: &str, name: &str) -> Json {
    Json::Object(IndexMap::from([("$ref".to_owned(), Json::String(format!("#/{container}/{name}")))]))
}

/// Visits a value and everything in it, innermost first.
fn visit(json: &mut Json, change: &mut dyn FnMut(&mut Json)) {
    visit_below(json, change);
    change(json);
}

fn visit_below(json: &mut Json, change: &mut dyn FnMut(&mut Json)) {
    match json {
        Json::Array(items) => items.iter_mut().for_each(|item| visit(item, change)),
        Json::Object(members) => members.values_mut().for_each(|value| visit(value, change)),
        _ => {}
    }
}
