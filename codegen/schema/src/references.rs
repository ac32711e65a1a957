//! Finds the definitions of a document, and the definition that each `$ref` refers to.

use std::collections::{BTreeMap, HashMap, HashSet};

use indexmap::IndexMap;

use crate::dialect::{CONTAINERS, Dialect, subschemas};
use crate::document::{Document, is_type};
use crate::json::Json;
use crate::json::pointer::{escape, tokens};
use crate::uri::{percent_decoded, resolve, split_fragment};

/// The definitions of a document.
pub struct References<'d> {
    /// The definitions by name: the entries of `definitions` and `$defs`, the root if it is a type, and all other
    /// targets of references.
    pub definitions: IndexMap<String, Definition<'d>>,
    /// The target of each `$ref`, by the pointer of the schema that contains it.
    targets: HashMap<String, Result<String, Unresolved>>,
}

/// A definition and its location.
pub struct Definition<'d> {
    /// Its JSON pointer.
    pub pointer: String,
    /// Its schema.
    pub json: &'d Json,
}

/// The problem of a reference without a target.
#[derive(Clone, Debug)]
pub struct Unresolved {
    /// The reason.
    pub why: String,
    /// What the author can do.
    pub remedy: String,
}

/// The identifiers, references and definitions in a document.
#[derive(Default)]
struct Index {
    /// The pointers of schemas with `$id`, by URI.
    resources: HashMap<String, String>,
    /// The pointers of schemas with an anchor, by URI and fragment.
    anchors: HashMap<String, String>,
    /// The `$ref`s: the pointer of the schema, the text, and the base URI.
    refs: Vec<(String, String, String)>,
    /// The pointers of the entries of `definitions` and `$defs`, by depth.
    entries: BTreeMap<usize, Vec<String>>,
    /// The base URI of each visited schema, by pointer.
    bases: HashMap<String, String>,
    /// The pointers of schemas below the root with `$schema`, which were once separate documents.
    embedded: HashSet<String>,
}

impl<'d> References<'d> {
    /// Finds all definitions and references.
    pub fn of(document: &'d Document) -> References<'d> {
        let mut index = Index::of(document);
        let mut references = References { definitions: IndexMap::new(), targets: HashMap::new() };
        let mut names = HashMap::new();
        let root_name = document.root_name();
        let entries: Vec<String> = index.entries.values().flatten().cloned().collect();
        if is_type(&document.root) || index.refs.iter().any(|(_, text, _)| text == "#") {
            // If a definition has the name of the root, the root gets another name.
            let is_taken = |name: &str| entries.iter().any(|entry| tokens(entry).nth(1).as_deref() == Some(name));
            let name = if is_taken(&root_name) { format!("{root_name}Document") } else { root_name };
            references.add(document, String::new(), name, &mut names);
        }
        for pointer in entries {
            let name = references.name_of(&pointer, &names);
            references.add(document, pointer, name, &mut names);
        }
        let mut done = 0;
        while done < index.refs.len() {
            let (pointer, text, base) = index.refs[done].clone();
            done += 1;
            let target = index.target(document, &pointer, &text, &base);
            let target = target.map(|target| {
                if !index.bases.contains_key(&target)
                    && let Some(json) = document.root.pointer(&target)
                {
                    index.walk(json, target.clone(), &base, document.dialect);
                }
                if !names.contains_key(&target) {
                    let name = references.name_of(&target, &names);
                    references.add(document, target.clone(), name, &mut names);
                }
                names[&target].clone()
            });
            references.targets.insert(pointer, target);
        }
        references
    }

    /// Returns the definition that the `$ref` of a schema refers to.
    pub fn target(&self, pointer: &str) -> Option<&Result<String, Unresolved>> {
        self.targets.get(pointer)
    }

    fn add(&mut self, document: &'d Document, pointer: String, name: String, names: &mut HashMap<String, String>) {
        if let Some(json) = document.root.pointer(&pointer) {
            names.insert(pointer.clone(), name.clone());
            self.definitions.insert(name, Definition { pointer, json });
        }
    }

    /// Returns a unique name for a new definition: its key, or else the path from the nearest definition around it.
    fn name_of(&self, pointer: &str, names: &HashMap<String, String>) -> String {
        let all: Vec<String> = tokens(pointer).collect();
        let is_entry = all.len() >= 2 && CONTAINERS.contains(&all[all.len() - 2].as_str());
        let last = all.last().cloned().unwrap_or_default();
        let mut name = last;
        if !is_entry || self.definitions.contains_key(&name) {
            let mut ends = pointer.match_indices('/').map(|(end, _)| &pointer[..end]);
            let parent = ends.rfind(|end| names.contains_key(*end)).unwrap_or_default();
            let path: Vec<String> = tokens(&pointer[parent.len()..])
                .filter(|token| token != "properties" && !CONTAINERS.contains(&token.as_str()))
                .collect();
            let parent = names.get(parent).map_or("", String::as_str);
            name = [parent, &path.join(".")].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
        }
        let mut unique = name.clone();
        let mut number = 2;
        while self.definitions.contains_key(&unique) {
            unique = format!("{name}{number}");
            number += 1;
        }
        unique
    }
}

/// A document that a reference leads to, and that is not part of the one with the reference.
pub(crate) struct MissingDocument {
    /// Its URI.
    pub uri: String,
    /// The reference.
    pub reference: String,
    /// The base URI of the reference.
    pub base: String,
}

/// Returns the documents that references lead to, and that are not part of this one.
pub(crate) fn missing_documents(document: &Document) -> Vec<MissingDocument> {
    let index = Index::of(document);
    let missing = index.refs.iter().filter_map(|(_, reference, base)| {
        let resolved = resolve(base, reference);
        let uri = split_fragment(&resolved).0.to_owned();
        let is_missing = !index.resources.contains_key(&uri);
        is_missing.then(|| MissingDocument { uri, reference: reference.clone(), base: base.clone() })
    });
    missing.collect()
}

impl Index {
    fn of(document: &Document) -> Self {
        let mut index = Self::default();
        index.resources.insert(String::new(), String::new());
        index.walk(&document.root, String::new(), "", document.dialect);
        index
    }

    fn walk(&mut self, json: &Json, pointer: String, base: &str, dialect: Dialect) {
        let mut stack = vec![(json, pointer, base.to_owned())];
        let mut visited = HashSet::new();
        while let Some((json, pointer, mut base)) = stack.pop() {
            if self.bases.contains_key(&pointer) || !visited.insert(pointer.clone()) {
                continue;
            }
            let text = |key: &str| json.get(key).and_then(Json::as_str);
            let is_only_ref = dialect.ignores_beside_ref() && text("$ref").is_some();
            if let Some(id) = text(dialect.id()).filter(|_| !is_only_ref) {
                let resolved = resolve(&base, id);
                let (uri, fragment) = split_fragment(&resolved);
                match id.starts_with('#') && !fragment.is_empty() {
                    true => drop(self.anchors.insert(resolved.clone(), pointer.clone())),
                    false => {
                        self.resources.entry(uri.to_owned()).or_insert_with(|| pointer.clone());
                        base = uri.to_owned();
                    }
                }
            }
            if !is_only_ref && dialect >= Dialect::Draft201909 {
                for anchor in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
                    self.anchors.entry(format!("{base}#{anchor}")).or_insert_with(|| pointer.clone());
                }
            }
            if !pointer.is_empty() && text("$schema").is_some() {
                self.embedded.insert(pointer.clone());
            }
            if let Some(reference) = text("$ref") {
                self.refs.push((pointer.clone(), reference.to_owned(), base.clone()));
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
            self.bases.insert(pointer, base);
            stack.extend(below.into_iter().rev());
        }
    }

    /// Returns the pointer of the schema that a reference refers to.
    fn target(&self, document: &Document, from: &str, text: &str, base: &str) -> Result<String, Unresolved> {
        let resolved = resolve(base, text);
        let (uri, fragment) = split_fragment(&resolved);
        let Some(resource) = self.resources.get(uri) else {
            let container = document.dialect.container();
            let (why, remedy) = match document.refused.get(uri) {
                Some(why) => (
                    format!("{} leads to a file that cannot be added: {why}", quoted(text)),
                    format!("change the file, or copy its definitions to \"#/{container}\""),
                ),
                None => (
                    format!("{} is not a reference to a definition of this document", quoted(text)),
                    match uri.is_empty() {
                        true => format!("write \"#/{container}/NAME\""),
                        false => format!(
                            "put the file into the folder of the schema, name its folder with `--schema-folder`, or write \
                             \"#/{container}/NAME\""
                        ),
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

    /// Returns the target relative to the nearest schema around the reference that has `$schema`. Exporters copy such
    /// documents without adapting their references.
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
