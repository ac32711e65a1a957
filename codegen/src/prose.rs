//! Our own documentation, `schema/docs/*.toml`: entries shared by all revisions, and what of a revision they cover.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde::Deserialize;

use crate::error::Error;
use crate::protocol::{Content, Origin, Protocol, Shape, TypeDef, TypeId};

/// Where the entries are, below the root.
pub const FOLDER: &str = "schema/docs";

/// All entries.
#[derive(Clone, Debug, Default)]
pub struct Book {
    types: BTreeMap<String, TypeEntry>,
    methods: BTreeMap<String, MethodEntry>,
    /// Members that mean the same wherever they stand.
    members: BTreeMap<String, Entry>,
}

/// What is said of something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Form")]
pub struct Entry {
    /// Markdown, with intra-doc links to Rust names.
    pub doc: String,
    /// The revision from which on the specification deprecates it.
    pub deprecated_since: Option<String>,
    /// What to do instead.
    pub replacement: Option<String>,
}

/// An entry is a text, or a table.
#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    Short(String),
    Long(Long),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Long {
    doc: String,
    deprecated_since: Option<String>,
    replacement: Option<String>,
}

impl From<Form> for Entry {
    fn from(form: Form) -> Self {
        let (doc, deprecated_since, replacement) = match form {
            Form::Short(doc) => (doc, None, None),
            Form::Long(Long { doc, deprecated_since, replacement }) => (doc, deprecated_since, replacement),
        };
        Self { doc: doc.trim().to_owned(), deprecated_since, replacement }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypeEntry {
    doc: String,
    deprecated_since: Option<String>,
    replacement: Option<String>,
    #[serde(default)]
    members: BTreeMap<String, Entry>,
    #[serde(default)]
    values: BTreeMap<String, Entry>,
    #[serde(default)]
    variants: BTreeMap<String, Entry>,
    /// Rust that is compiled and run, shown with the newest revision.
    example: Option<String>,
    /// What means something else in one revision.
    #[serde(default, rename = "in")]
    overrides: BTreeMap<String, Override>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Override {
    doc: Option<String>,
    #[serde(default)]
    members: BTreeMap<String, Entry>,
    #[serde(default)]
    values: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MethodEntry {
    doc: String,
    deprecated_since: Option<String>,
    replacement: Option<String>,
    #[serde(default, rename = "in")]
    overrides: BTreeMap<String, Override>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    types: BTreeMap<String, TypeEntry>,
    #[serde(default)]
    methods: BTreeMap<String, MethodEntry>,
    #[serde(default)]
    members: BTreeMap<String, Entry>,
}

/// What of a revision an entry is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A type, by its schema name.
    Type(String),
    /// A member of a type, by its wire name.
    Member(String, String),
    /// A value of an enumeration, as JSON.
    Value(String, String),
    /// A variant of a union that is no named type, by its Rust name.
    Variant(String, String),
    /// A method.
    Method(String),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Type(name) => write!(f, "{name}"),
            Place::Member(name, member) => write!(f, "{name}.{member}"),
            Place::Value(name, value) => write!(f, "{name} = {value}"),
            Place::Variant(name, variant) => write!(f, "{name}::{variant}"),
            Place::Method(method) => write!(f, "method {method}"),
        }
    }
}

/// What is said of a revision, and since when there is what.
#[derive(Clone, Debug, Default)]
pub struct Words {
    entries: HashMap<Place, Entry>,
    since: HashMap<Place, String>,
    examples: HashMap<String, String>,
}

impl Words {
    /// The entry for a place.
    pub fn of(&self, place: &Place) -> Option<&Entry> {
        self.entries.get(place)
    }

    /// How a type is used, in Rust.
    pub fn example(&self, name: &str) -> Option<&str> {
        self.examples.get(name).map(String::as_str)
    }

    /// The first revision that has it.
    pub fn since(&self, place: &Place) -> Option<&str> {
        self.since.get(place).map(String::as_str)
    }
}

impl Book {
    /// The entries below a root; none if there is no folder of them.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Usage`] if a file is not understood, or says something that another one says.
    pub fn read(root: &Path) -> Result<Book, Error> {
        let folder = root.join(FOLDER);
        let mut book = Book::default();
        if !folder.is_dir() {
            return Ok(book);
        }
        let entries = std::fs::read_dir(&folder).map_err(Error::io("reading", &folder))?;
        let mut paths = Vec::new();
        for entry in entries {
            paths.push(entry.map_err(Error::io("reading", &folder))?.path());
        }
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        paths.sort();
        for path in paths {
            let text = std::fs::read_to_string(&path).map_err(Error::io("reading", &path))?;
            let wrong = |why: String| Error::Usage(format!("{}: {why}", path.display()));
            let file: File = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
            let File { types, methods, members } = file;
            merge(&mut book.types, types).map_err(|key| wrong(format!("there is another entry for the type {key}")))?;
            merge(&mut book.methods, methods).map_err(|key| wrong(format!("there is another entry for {key}")))?;
            merge(&mut book.members, members)
                .map_err(|key| wrong(format!("there is another shared entry for {key}")))?;
        }
        Ok(book)
    }

    /// Gives a revision what is said of it, and marks what is deprecated in it.
    pub fn apply(&self, protocol: &mut Protocol) {
        let mut words = Words::default();
        let mut deprecated = Vec::new();
        for place in places(protocol) {
            let Some(entry) = self.entry(protocol, &place) else { continue };
            let is_deprecated = entry.deprecated_since.as_ref().is_some_and(|since| *since <= protocol.revision);
            let entry = match is_deprecated {
                true => entry,
                false => Entry { deprecated_since: None, replacement: None, ..entry },
            };
            if is_deprecated {
                deprecated.push(place.clone());
            }
            words.entries.insert(place, entry);
        }
        for def in &mut protocol.types {
            def.deprecated |= deprecated.contains(&Place::Type(def.name.clone()));
            if let Shape::Struct(body) = &mut def.shape {
                for member in &mut body.members {
                    member.deprecated |= deprecated.contains(&Place::Member(def.name.clone(), member.wire.clone()));
                }
            }
        }
        protocol.words = words;
    }

    /// Shows the examples with a revision: they are written for one.
    pub fn exemplify(&self, protocol: &mut Protocol) {
        for def in &protocol.types {
            if let Some(example) = self.types.get(&def.name).and_then(|entry| entry.example.as_ref()) {
                protocol.words.examples.insert(def.name.clone(), example.trim().to_owned());
            }
        }
    }

    fn entry(&self, protocol: &Protocol, place: &Place) -> Option<Entry> {
        match place {
            Place::Type(name) => {
                let entry = self.types.get(name)?;
                let over = entry.overrides.get(&protocol.revision);
                Some(whole(&entry.doc, over, entry.deprecated_since.as_ref(), entry.replacement.as_ref()))
            }
            Place::Method(method) => {
                let entry = self.methods.get(method)?;
                let over = entry.overrides.get(&protocol.revision);
                Some(whole(&entry.doc, over, entry.deprecated_since.as_ref(), entry.replacement.as_ref()))
            }
            Place::Member(name, member) => {
                let own = self.types.get(name).and_then(|entry| {
                    let over = entry.overrides.get(&protocol.revision).and_then(|over| over.members.get(member));
                    over.or(entry.members.get(member))
                });
                own.or(self.members.get(member)).cloned()
            }
            Place::Value(name, value) => {
                let entry = self.types.get(name)?;
                let over = entry.overrides.get(&protocol.revision).and_then(|over| over.values.get(value));
                over.or(entry.values.get(value)).cloned()
            }
            Place::Variant(name, variant) => self.types.get(name)?.variants.get(variant).cloned(),
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        let inner: usize =
            self.types.values().map(|entry| 1 + entry.members.len() + entry.values.len() + entry.variants.len()).sum();
        inner + self.methods.len() + self.members.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What of these revisions nothing is said of, with the revisions.
    pub fn missing<'p>(&self, protocols: &'p [Protocol]) -> BTreeMap<Place, Vec<&'p str>> {
        let mut missing: BTreeMap<Place, Vec<&str>> = BTreeMap::new();
        for protocol in protocols {
            for place in places(protocol) {
                if !speaks_for_itself(protocol, &place) && self.entry(protocol, &place).is_none() {
                    missing.entry(place).or_default().push(&protocol.revision);
                }
            }
        }
        missing
    }

    /// What is said of nothing that there is.
    pub fn stale(&self, protocols: &[Protocol]) -> Vec<String> {
        let all: BTreeSet<Place> = protocols.iter().flat_map(places).collect();
        let has = |place: Place| all.contains(&place);
        let revisions: BTreeSet<&str> = protocols.iter().map(|protocol| protocol.revision.as_str()).collect();
        let names: BTreeSet<&str> =
            protocols.iter().flat_map(|protocol| &protocol.types).map(|def| def.rust.as_str()).collect();
        let mut stale = Vec::new();
        let check = |what: &str, entry: &Entry, stale: &mut Vec<String>| {
            stale.extend(
                links(&entry.doc)
                    .chain(entry.replacement.iter().flat_map(|text| links(text)))
                    .filter(|link| !names.contains(link))
                    .map(|link| format!("{what}: links to `{link}`, which no revision has")),
            );
            let since = entry.deprecated_since.as_deref();
            stale.extend(
                since
                    .filter(|since| !revisions.contains(since))
                    .map(|since| format!("{what}: deprecated since {since}, which is no revision")),
            );
        };
        for (name, entry) in &self.types {
            let said = [Place::Type(name.clone())]
                .into_iter()
                .chain(entry.members.keys().map(|member| Place::Member(name.clone(), member.clone())))
                .chain(entry.values.keys().map(|value| Place::Value(name.clone(), value.clone())))
                .chain(entry.variants.keys().map(|variant| Place::Variant(name.clone(), variant.clone())));
            stale.extend(said.filter(|place| !has(place.clone())).map(|place| place.to_string()));
            let entire = whole(&entry.doc, None, entry.deprecated_since.as_ref(), entry.replacement.as_ref());
            check(name, &entire, &mut stale);
            let inner = entry.members.iter().chain(&entry.values).chain(&entry.variants);
            inner.for_each(|(key, inner)| check(&format!("{name}.{key}"), inner, &mut stale));
            for (revision, over) in &entry.overrides {
                let of = protocols.iter().find(|protocol| protocol.revision == *revision);
                let known: BTreeSet<Place> = of.map(|protocol| places(protocol).collect()).unwrap_or_default();
                let said = [Place::Type(name.clone())]
                    .into_iter()
                    .chain(over.members.keys().map(|member| Place::Member(name.clone(), member.clone())))
                    .chain(over.values.keys().map(|value| Place::Value(name.clone(), value.clone())));
                let unknown = said.filter(|place| !known.contains(place));
                stale.extend(unknown.map(|place| format!("{place} in {revision}")));
                let doc = over.doc.iter().map(|doc| Entry { doc: doc.clone(), ..Entry::default() });
                let inner = over.members.values().chain(over.values.values()).cloned().chain(doc);
                inner.for_each(|inner| check(&format!("{name} in {revision}"), &inner, &mut stale));
            }
        }
        for (method, entry) in &self.methods {
            let place = Place::Method(method.clone());
            stale.extend((!has(place.clone())).then(|| place.to_string()));
            stale.extend(
                entry
                    .overrides
                    .keys()
                    .filter(|revision| !revisions.contains(revision.as_str()))
                    .map(|revision| format!("{place} in {revision}")),
            );
            let entire = whole(&entry.doc, None, entry.deprecated_since.as_ref(), entry.replacement.as_ref());
            check(&place.to_string(), &entire, &mut stale);
        }
        let members: BTreeSet<&str> = all
            .iter()
            .filter_map(|place| match place {
                Place::Member(_, member) => Some(member.as_str()),
                _ => None,
            })
            .collect();
        for (member, entry) in &self.members {
            stale.extend((!members.contains(member.as_str())).then(|| format!("shared member {member}")));
            check(&format!("shared member {member}"), entry, &mut stale);
        }
        stale
    }
}

/// What is said of a whole type or method, in a revision that may say something else.
fn whole(doc: &str, over: Option<&Override>, since: Option<&String>, replacement: Option<&String>) -> Entry {
    let doc = over.and_then(|over| over.doc.as_deref()).unwrap_or(doc);
    Entry { doc: doc.trim().to_owned(), deprecated_since: since.cloned(), replacement: replacement.cloned() }
}

/// Says since which revision there is what, of revisions from the oldest on.
pub fn date(protocols: &mut [Protocol]) {
    let mut since: HashMap<Place, String> = HashMap::new();
    for protocol in protocols {
        for place in places(protocol).collect::<Vec<_>>() {
            let first = since.entry(place.clone()).or_insert_with(|| protocol.revision.clone());
            protocol.words.since.insert(place, first.clone());
        }
    }
}

/// The names that a text links to.
pub(crate) fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("[`").skip(1).filter_map(|rest| rest.split_once("`]").map(|(name, _)| name))
}

/// Everything that something may be said of.
fn places(protocol: &Protocol) -> impl Iterator<Item = Place> {
    let methods = protocol.requests.iter().map(|request| &request.method);
    let methods = methods.chain(protocol.notifications.iter().map(|notification| &notification.method));
    let of_type = |def: &TypeDef| -> Vec<Place> {
        let name = || def.name.clone();
        let inner: Vec<Place> = match &def.shape {
            Shape::Struct(body) => {
                let fields = body.members.iter().filter(|member| matches!(member.content, Content::Value(_)));
                fields.map(|member| Place::Member(name(), member.wire.clone())).collect()
            }
            Shape::Enum(values) => values.iter().map(|value| Place::Value(name(), plain(&value.json))).collect(),
            Shape::Union(union) => {
                let unnamed = union.variants.iter().filter(|variant| variant.content.by_value().is_none());
                unnamed.map(|variant| Place::Variant(name(), variant.rust.clone())).collect()
            }
            _ => Vec::new(),
        };
        std::iter::once(Place::Type(name())).chain(inner).collect()
    };
    let types: Vec<Place> = protocol.types.iter().flat_map(of_type).collect();
    types.into_iter().chain(methods.map(|method| Place::Method(method.clone())))
}

/// A value as an entry names it.
pub(crate) fn plain(json: &crate::json::Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

/// What the generator has words for: a type that is a method as a whole, a whole response, or a direction without messages.
fn speaks_for_itself(protocol: &Protocol, place: &Place) -> bool {
    let Place::Type(name) = place else { return false };
    let id = protocol.types.iter().position(|def| def.name == *name);
    id.is_some_and(|id| {
        let is_absent = protocol.types[id].origin == Origin::Absent;
        is_absent || method_of(protocol, id).is_some() || answered_by(protocol, id).is_some()
    })
}

/// The method that a type is, as a whole.
pub(crate) fn method_of(protocol: &Protocol, id: TypeId) -> Option<&str> {
    let request = protocol.requests.iter().find(|request| request.type_id == id).map(|request| &request.method);
    let notification = || protocol.notifications.iter().find(|it| it.type_id == id).map(|it| &it.method);
    request.or_else(notification).map(String::as_str)
}

/// The result that a whole response carries.
pub(crate) fn answered_by(protocol: &Protocol, id: TypeId) -> Option<TypeId> {
    let def = &protocol.types[id];
    if def.origin != Origin::Definition {
        return None;
    }
    let result = def.name.strip_suffix("Response").filter(|result| result.ends_with("Result"))?;
    protocol.types.iter().position(|def| def.name == result)
}

fn merge<T>(into: &mut BTreeMap<String, T>, from: BTreeMap<String, T>) -> Result<(), String> {
    for (key, value) in from {
        if into.insert(key.clone(), value).is_some() {
            return Err(key);
        }
    }
    Ok(())
}
