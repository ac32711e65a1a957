//! Finds a document's definitions, and the definition behind each `$ref`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use indexmap::IndexMap;

use crate::dialect::{CONTAINERS, Dialect, subschemas};
use crate::document::{Document, is_type};
use crate::json::Json;
use crate::json::pointer::{escape, tokens};
use crate::keywords::is_keyword;
use crate::metaschemas::Metaschema;
use crate::uri::{percent_decoded, resolve, split_fragment};

pub(crate) struct References<'d> {
    /// Everything that gets a name: entries of `definitions` and `$defs`, the root if it is a type, and any other
    /// target of a reference.
    pub definitions: IndexMap<String, Definition<'d>>,
    /// Resolved references, by the pointer of the keyword.
    targets: HashMap<String, Result<String, Unresolved>>,
}

pub(crate) struct Definition<'d> {
    pub pointer: String,
    pub json: &'d Json,
}

#[derive(Clone, Debug)]
pub(crate) struct Unresolved {
    pub why: String,
    pub remedy: String,
}

#[derive(Clone)]
struct Reference {
    pointer: String,
    keyword: &'static str,
    text: String,
    base: String,
}

#[derive(Default)]
struct Index {
    /// The pointers of schemas with `$id`, by URI.
    resources: HashMap<String, String>,
    /// The pointers of schemas with an anchor, by URI and fragment.
    anchors: HashMap<String, String>,
    /// The pointers of schemas with `$dynamicAnchor`, by name. `$recursiveAnchor` counts as the empty name.
    dynamic_anchors: HashMap<String, HashSet<String>>,
    refs: Vec<Reference>,
    /// The pointers of definitions, by depth.
    entries: BTreeMap<usize, Vec<String>>,
    visited: HashSet<String>,
    /// The pointers of nested schemas with their own `$schema`. They were separate documents once.
    embedded: HashSet<String>,
}

impl<'d> References<'d> {
    pub(crate) fn of(document: &'d Document) -> References<'d> {
        let index = Index::of(document);
        let mut references = References { definitions: IndexMap::new(), targets: HashMap::new() };
        let mut names = HashMap::new();
        let root_name = document.root_name();
        let (groups, entries): (Vec<String>, Vec<String>) =
            index.entries.values().flatten().cloned().partition(|entry| has_no_keyword(document, entry));
        let targets: Vec<_> = index.refs.iter().map(|it| index.static_target(document, it)).collect();
        if is_type(&document.root) || targets.iter().any(|target| target.as_ref().is_ok_and(String::is_empty)) {
            // If a definition has the same name, the root gets another name.
            let is_taken = |name: &str| entries.iter().any(|entry| tokens(entry).nth(1).as_deref() == Some(name));
            let name = if is_taken(&root_name) { format!("{root_name}Document") } else { root_name };
            references.add(document, String::new(), name, &mut names);
        }
        for pointer in entries {
            references.add_unnamed(document, &pointer, &mut names);
        }
        for (reference, target) in index.refs.iter().zip(targets) {
            let target = target.map(|target| {
                references.add_unnamed(document, &target, &mut names);
                names[&target].clone()
            });
            references.targets.insert(format!("{}/{}", reference.pointer, reference.keyword), target);
        }
        let named: BTreeSet<String> = names.keys().cloned().collect();
        for group in groups {
            let below = format!("{group}/");
            let has_targets = named.range(below.clone()..).next().is_some_and(|target| target.starts_with(&below));
            if !has_targets && !group.ends_with("/~1~1") {
                references.add_unnamed(document, &group, &mut names);
            }
        }
        references
    }

    pub(crate) fn target(&self, pointer: &str, keyword: &str) -> Option<&Result<String, Unresolved>> {
        self.targets.get(&format!("{pointer}/{keyword}"))
    }

    fn add_unnamed(&mut self, document: &'d Document, pointer: &str, names: &mut HashMap<String, String>) {
        if !names.contains_key(pointer) {
            let name = self.name_of(pointer, names);
            self.add(document, pointer.to_owned(), name, names);
        }
    }

    fn add(&mut self, document: &'d Document, pointer: String, name: String, names: &mut HashMap<String, String>) {
        if let Some(json) = document.root.pointer(&pointer) {
            names.insert(pointer.clone(), name.clone());
            self.definitions.insert(name, Definition { pointer, json });
        }
    }

    /// Returns a unique name for a definition: its key, or its path from the nearest named definition.
    fn name_of(&self, pointer: &str, names: &HashMap<String, String>) -> String {
        let all: Vec<String> = tokens(pointer).collect();
        let is_entry = all.len() >= 2 && CONTAINERS.contains(&all[all.len() - 2].as_str());
        let mut name = all.last().cloned().unwrap_or_default();
        if !is_entry || self.definitions.contains_key(&name) {
            let mut ends = pointer.match_indices('/').map(|(end, _)| &pointer[..end]);
            let parent = ends.rfind(|end| names.contains_key(*end)).unwrap_or_default();
            let path: Vec<String> = tokens(&pointer[parent.len()..])
                .filter(|token| token != "properties" && !CONTAINERS.contains(&token.as_str()))
                .collect();
            let parent = names.get(parent).map_or("", String::as_str);
            name = [parent, &path.join(".")].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
        }
        free_name(&self.definitions, name)
    }
}

/// Returns the wanted name, with a number appended if it is taken.
pub(crate) fn free_name<T>(definitions: &IndexMap<String, T>, wanted: String) -> String {
    let numbered = (2_usize..).map(|number| format!("{wanted}{number}"));
    let mut names = std::iter::once(wanted.clone()).chain(numbered);
    names.find(|name| !definitions.contains_key(name)).unwrap_or(wanted)
}

/// A referenced document that is not part of this one.
pub(crate) struct MissingDocument {
    pub uri: String,
    /// The text of the reference.
    pub reference: String,
    /// The base URI of the reference.
    pub base: String,
}

/// Returns the referenced documents that are not part of this one.
pub(crate) fn missing_documents(document: &Document) -> Vec<MissingDocument> {
    // This test is cheap. Building the index takes much longer.
    if !may_leave_document(&document.root) {
        return Vec::new();
    }
    let index = Index::of(document);
    let missing = index.refs.iter().filter_map(|Reference { text, base, .. }| {
        let uri = document_uri(base, text);
        let is_missing = !index.resources.contains_key(&uri);
        is_missing.then(|| MissingDocument { uri, reference: text.clone(), base: base.clone() })
    });
    missing.collect()
}

fn may_leave_document(json: &Json) -> bool {
    match json {
        Json::Object(members) => members.iter().any(|(key, value)| match value {
            Json::String(text) => {
                ["$ref", "$dynamicRef", "$recursiveRef"].contains(&key.as_str()) && !text.starts_with('#')
            }
            value => may_leave_document(value),
        }),
        Json::Array(items) => items.iter().any(may_leave_document),
        _ => false,
    }
}

pub(crate) fn has_dynamic_anchor(document: &Document, name: &str) -> bool {
    Index::of(document).dynamic_anchors.contains_key(name)
}

fn document_uri(base: &str, reference: &str) -> String {
    split_fragment(&resolve(base, reference)).0.to_owned()
}

/// Returns whether a definition may in fact be a group of definitions, or a comment.
fn has_no_keyword(document: &Document, entry: &str) -> bool {
    let members = document.root.pointer(entry).and_then(Json::as_object);
    members.is_some_and(|members| !members.is_empty() && !members.keys().any(|key| is_keyword(key)))
}

impl Index {
    fn of(document: &Document) -> Self {
        let mut index = Self::default();
        index.resources.insert(String::new(), String::new());
        index.walk(&document.root, String::new(), "", document);
        let mut done = 0;
        while let Some(reference) = index.refs.get(done).cloned() {
            done += 1;
            // A reference can point to a place where no keyword expects a schema.
            if let Ok(target) = index.target(document, &reference)
                && !index.visited.contains(&target)
                && let Some(json) = document.root.pointer(&target)
            {
                let base = document_uri(&reference.base, &reference.text);
                index.walk(json, target, &base, document);
            }
        }
        index
    }

    fn walk(&mut self, json: &Json, pointer: String, base: &str, document: &Document) {
        let dialect = document.dialect;
        let mut stack = vec![(json, pointer, base.to_owned())];
        while let Some((json, pointer, mut base)) = stack.pop() {
            if !self.visited.insert(pointer.clone()) {
                continue;
            }
            let text = |key: &str| json.get(key).and_then(Json::as_str);
            let is_only_ref = dialect.ignores_beside_ref() && text("$ref").is_some();
            if let Some(uri) = document.added.get(&pointer) {
                // References resolve to this URI, even if the document's own `$id` spells it differently.
                self.resources.entry(uri.clone()).or_insert_with(|| pointer.clone());
                base.clone_from(uri);
            }
            if let Some(id) = text(dialect.id()).filter(|_| !is_only_ref) {
                let resolved = resolve(&base, id);
                let (uri, fragment) = split_fragment(&resolved);
                match id.starts_with('#') && !fragment.is_empty() {
                    true => drop(self.anchors.insert(resolved.clone(), pointer.clone())),
                    false => {
                        self.resources.entry(uri.to_owned()).or_insert_with(|| pointer.clone());
                        if !document.added.contains_key(&pointer) {
                            base = uri.to_owned();
                        }
                    }
                }
            }
            if dialect == Dialect::Draft202012
                && let Some(name) = text("$dynamicAnchor")
            {
                self.dynamic_anchors.entry(name.to_owned()).or_default().insert(pointer.clone());
            }
            if dialect == Dialect::Draft201909 && json.get("$recursiveAnchor") == Some(&Json::Bool(true)) {
                self.dynamic_anchors.entry(String::new()).or_default().insert(pointer.clone());
            }
            if !is_only_ref && dialect >= Dialect::Draft201909 {
                for anchor in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
                    self.anchors.entry(format!("{base}#{anchor}")).or_insert_with(|| pointer.clone());
                }
            }
            if !pointer.is_empty() && text("$schema").is_some() {
                self.embedded.insert(pointer.clone());
            }
            for &keyword in dialect.references() {
                if let Some(text) = text(keyword).map(str::to_owned) {
                    self.refs.push(Reference { pointer: pointer.clone(), keyword, text, base: base.clone() });
                }
            }
            let mut below = Vec::new();
            for (suffix, schema) in subschemas(json) {
                let is_entry = CONTAINERS.iter().any(|container| suffix.starts_with(&format!("/{container}/")));
                let place = format!("{pointer}{suffix}");
                if is_entry {
                    let depth = place.matches('/').count();
                    self.entries.entry(depth).or_default().push(place.clone());
                }
                if is_entry || !is_only_ref {
                    below.push((schema, place, base.clone()));
                }
            }
            stack.extend(below.into_iter().rev());
        }
    }

    /// Returns the pointer that a reference leads to, unless it depends on the path taken to the reference (dynamic
    /// scope).
    fn static_target(&self, document: &Document, reference: &Reference) -> Result<String, Unresolved> {
        let target = self.target(document, reference)?;
        let Reference { keyword, text, .. } = reference;
        let (anchor, name) = match *keyword {
            "$dynamicRef" => ("$dynamicAnchor", percent_decoded(split_fragment(text).1)),
            "$recursiveRef" => ("$recursiveAnchor", "".into()),
            _ => return Ok(target),
        };
        if *keyword == "$recursiveRef" && text != "#" {
            let why = format!("{} is not \"#\"", quoted(text));
            return Err(Unresolved { why, remedy: "write \"#\", or use `$ref`".to_owned() });
        }
        match self.dynamic_anchors.get(&*name) {
            Some(anchors) if anchors.contains(&target) && anchors.len() > 1 => {
                let why = format!(
                    "{} can lead to any of {} schemas with this `{anchor}`, depending on where it is reached from",
                    quoted(text),
                    anchors.len()
                );
                Err(Unresolved { why, remedy: "refer to one of them with `$ref`".to_owned() })
            }
            _ => Ok(target),
        }
    }

    /// Returns the pointer that a reference leads to, ignoring dynamic scope.
    fn target(&self, document: &Document, reference: &Reference) -> Result<String, Unresolved> {
        let Reference { pointer: from, text, base, .. } = reference;
        let resolved = resolve(base, text);
        let (uri, fragment) = split_fragment(&resolved);
        let Some(resource) = self.resources.get(uri) else {
            let container = document.dialect.container();
            let (why, remedy) = match document.refused.get(uri) {
                Some(why) => match Metaschema::of_uri(uri) {
                    Some(metaschema) => (
                        format!("{} leads to a metaschema, but {why}", quoted(text)),
                        match metaschema.dynamic_anchor() {
                            Some(name) if !name.is_empty() => format!("rename the `$dynamicAnchor` {}", quoted(name)),
                            _ => "remove `$recursiveAnchor`".to_owned(),
                        },
                    ),
                    None => (
                        format!("{} leads to a file that cannot be added: {why}", quoted(text)),
                        format!("change the file, or copy its definitions to \"#/{container}\""),
                    ),
                },
                None => (
                    format!("{} is not a reference to a definition of this document", quoted(text)),
                    match uri.rsplit('/').next() {
                        Some(name) if !name.is_empty() => format!(
                            "write \"#/{container}/NAME\", or save the document as {} in a folder, and name that with \
                             `--schema-folder`",
                            quoted(&if name.ends_with(".json") { name.to_owned() } else { format!("{name}.json") })
                        ),
                        _ => format!("write \"#/{container}/NAME\""),
                    },
                ),
            };
            return Err(Unresolved { why, remedy });
        };
        let fragment = percent_decoded(fragment);
        let found = if fragment.is_empty() || fragment.starts_with('/') {
            let pointer: String = tokens(&fragment).map(|token| format!("/{}", escape(&token))).collect();
            let pointer = format!("{resource}{pointer}");
            document.root.pointer(&pointer).map(|_| pointer)
        } else {
            self.anchors.get(&format!("{uri}#{fragment}")).cloned()
        };
        let found = found.or_else(|| self.embedded_target(document, from, text));
        found.ok_or_else(|| {
            let name = tokens(&fragment).last().unwrap_or_else(|| fragment.to_string());
            let why = format!("there is no definition `{name}`{}", self.nearest(&name));
            Unresolved { why, remedy: "define it, or correct the reference".to_owned() }
        })
    }

    /// Resolves a pointer relative to the nearest enclosing schema with `$schema`. Exporters embed such documents
    /// without adapting their references.
    fn embedded_target(&self, document: &Document, from: &str, text: &str) -> Option<String> {
        let pointer = percent_decoded(text.strip_prefix('#').filter(|pointer| pointer.starts_with('/'))?);
        let mut around: Vec<&str> = from.match_indices('/').map(|(end, _)| &from[..end]).chain([from]).collect();
        around.reverse();
        let targets = around.into_iter().filter(|place| self.embedded.contains(*place));
        let mut targets = targets.map(|place| format!("{place}{pointer}"));
        targets.find(|target| document.root.pointer(target).is_some())
    }

    fn nearest(&self, name: &str) -> String {
        let lower = name.to_lowercase();
        let mut names = self.entries.values().flatten().filter_map(|entry| tokens(entry).last());
        names
            .find(|known| known.to_lowercase() == lower && known != name)
            .map_or(String::new(), |known| format!(" (there is `{known}`)"))
    }
}

fn quoted(text: &str) -> String {
    Json::String(text.to_owned()).to_string()
}
