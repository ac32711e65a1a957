//! Reads snapshots: what a server lists, at one point in time.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use mcpgen_schema::json::{Json, without_byte_order_mark};
use mcpgen_schema::text::sha256;
use mcpgen_schema::{Error, Problem};
use serde_json::value::RawValue;

/// What a server listed at one point in time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// SHA-256 of the text, in hexadecimal digits.
    pub sha256: String,
    lists: BTreeMap<ListKind, List>,
    /// Items that were left out, entirely or in part.
    pub malformed: Vec<Malformed>,
}

/// One of the lists that a server can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "camelCase")]
pub enum ListKind {
    /// The result of `tools/list`.
    Tools,
    /// The result of `resources/list`.
    Resources,
    /// The result of `resources/templates/list`.
    ResourceTemplates,
    /// The result of `prompts/list`.
    Prompts,
}

/// The items of one list.
#[derive(Clone, Debug)]
pub struct List {
    /// JSON pointer into the snapshot.
    pub pointer: String,
    /// The items by name or URI.
    pub items: IndexMap<String, Item>,
}

/// A tool, resource, resource template or prompt.
#[derive(Clone, Debug)]
pub struct Item {
    /// JSON pointer into the snapshot.
    pub pointer: String,
    /// All members of the item.
    pub members: IndexMap<String, Json>,
}

impl ListKind {
    /// All kinds of list.
    pub const ALL: [ListKind; 4] =
        [ListKind::Tools, ListKind::Resources, ListKind::ResourceTemplates, ListKind::Prompts];

    /// Returns the name of the list in a result.
    pub fn member(self) -> &'static str {
        self.into()
    }

    /// Returns what to call one item in messages.
    pub fn item(self) -> &'static str {
        match self {
            ListKind::Tools => "tool",
            ListKind::Resources => "resource",
            ListKind::ResourceTemplates => "resource template",
            ListKind::Prompts => "prompt",
        }
    }

    /// Returns the member that identifies an item.
    pub fn key(self) -> &'static str {
        match self {
            ListKind::Tools | ListKind::Prompts => "name",
            ListKind::Resources => "uri",
            ListKind::ResourceTemplates => "uriTemplate",
        }
    }
}

impl Snapshot {
    /// Parses a snapshot: a result of `tools/list`, a JSON-RPC response with one, an array of tools, or an object with
    /// any of `tools`, `resources`, `resourceTemplates` and `prompts`. Error messages call it `file`.
    ///
    /// # Errors
    /// Returns [`Error::Json`], or [`Error::Schema`] with all malformed items and duplicate names.
    pub fn parse(file: impl Into<String>, bytes: &[u8]) -> Result<Snapshot, Error> {
        let file = file.into();
        let root = Json::read(&file, bytes)?;
        let snapshot = Snapshot::read(Reader::new(file), root, bytes)?;
        match snapshot.malformed.is_empty() {
            true => Ok(snapshot),
            false => Err(Error::Schema(problems(snapshot.malformed))),
        }
    }

    /// Like [`Snapshot::parse`], but drops malformed members, and whole items if they are useless without them. If some
    /// tools make the text unreadable as JSON, reads only the other tools.
    ///
    /// # Errors
    /// Returns [`Error::Json`], or [`Error::Schema`] if there are no lists, or one is incomplete or not an array.
    pub fn parse_leniently(file: &str, bytes: &[u8]) -> Result<Snapshot, Error> {
        let mut reader = Reader::new(file.to_owned());
        let root = match Json::read(file, bytes) {
            Ok(root) => root,
            Err(error) => reader.tools_one_by_one(bytes).ok_or(error)?,
        };
        Snapshot::read(reader, root, bytes)
    }

    fn read(mut reader: Reader, root: Json, bytes: &[u8]) -> Result<Snapshot, Error> {
        let lists = reader.lists(root);
        match reader.problems.is_empty() {
            true => Ok(Snapshot { sha256: sha256(bytes), lists, malformed: reader.malformed }),
            false => {
                reader.problems.extend(problems(reader.malformed));
                Err(Error::Schema(reader.problems))
            }
        }
    }

    /// Returns a list, or `None` if the snapshot does not have it.
    pub fn list(&self, kind: ListKind) -> Option<&List> {
        self.lists.get(&kind)
    }
}

impl Item {
    /// Returns a member of the item.
    pub fn get(&self, member: &str) -> Option<&Json> {
        self.members.get(member)
    }

    /// Returns a prompt's arguments by name, with their pointers.
    pub fn prompt_arguments(&self) -> IndexMap<&str, (String, &Json)> {
        let Some(Json::Array(items)) = self.get("arguments") else { return IndexMap::new() };
        let named = items.iter().enumerate().filter_map(|(at, argument)| {
            let name = argument.get("name")?.as_str()?;
            Some((name, (format!("{}/arguments/{at}", self.pointer), argument)))
        });
        named.collect()
    }

    /// Returns the path within the item if the member at the pointer may be dropped.
    fn optional_path<'p>(&self, pointer: &'p str) -> Option<&'p str> {
        let path = pointer.strip_prefix(&self.pointer)?.strip_prefix('/')?;
        OPTIONAL.contains(&path.split('/').next()?).then_some(path)
    }

    /// Removes the member at a path. Array items stay, so that the indexes of later items do not change.
    fn remove(&mut self, path: &str) {
        let (parents, name) = path.rsplit_once('/').map_or((None, path), |(parents, name)| (Some(parents), name));
        let mut members = Some(&mut self.members);
        for parent in parents.into_iter().flat_map(|parents| parents.split('/')) {
            members = members.and_then(|members| match members.get_mut(parent) {
                Some(Json::Object(members)) => Some(members),
                _ => None,
            });
        }
        members.and_then(|members| members.shift_remove(name));
    }
}

/// An item that was dropped, entirely or in part.
#[derive(Clone, Debug)]
pub struct Malformed {
    /// The list it belongs to.
    pub kind: ListKind,
    /// The item's name, or its JSON pointer if it has none.
    pub name: String,
    /// Whether the item is still listed, without its malformed members.
    pub is_kept: bool,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

/// Members without which an item is still useful.
const OPTIONAL: [&str; 7] =
    ["title", "description", "mimeType", "annotations", "execution", "outputSchema", "arguments"];

impl Malformed {
    /// Returns a note per problem, which says what is left out.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let item = self.kind.item();
        let left_out =
            if self.is_kept { "the member is left out".to_owned() } else { format!("the {item} is left out") };
        let note = move |Problem { file, pointer, why, .. }: &Problem| {
            format!("{file}#{pointer}: {item} `{}`: {why}; {left_out}", self.name)
        };
        self.problems.iter().map(note)
    }
}

/// Returns the problems of all items. Each begins with the item's name.
pub fn problems(malformed: Vec<Malformed>) -> Vec<Problem> {
    let named = malformed.into_iter().flat_map(|Malformed { kind, name, problems, .. }| {
        problems
            .into_iter()
            .map(move |problem| Problem { why: format!("{} `{name}`: {}", kind.item(), problem.why), ..problem })
    });
    named.collect()
}

struct Reader {
    file: String,
    /// The problems of the lists, and of the item that is being read.
    problems: Vec<Problem>,
    malformed: Vec<Malformed>,
    /// The tools that are not readable as JSON: index, name and reason.
    unreadable: BTreeMap<usize, (Option<String>, String)>,
}

impl Reader {
    fn new(file: String) -> Reader {
        Reader { file, problems: Vec::new(), malformed: Vec::new(), unreadable: BTreeMap::new() }
    }

    /// Reads tools one by one from a text that is not readable as a whole, for example because of the number `1e999`.
    /// Returns `None` if the tools are not the reason.
    fn tools_one_by_one(&mut self, bytes: &[u8]) -> Option<Json> {
        let text = std::str::from_utf8(without_byte_order_mark(bytes)).ok()?;
        let members = |text| serde_json::from_str::<IndexMap<String, &RawValue>>(text);
        let response = members(text).unwrap_or_default();
        let result = response.get("result").map(|result| members(result.get())).transpose().ok()?;
        let lists = result.as_ref().unwrap_or(&response);
        let tools = lists.get("tools").map_or(text, |tools| tools.get());
        let tools: Vec<&RawValue> = serde_json::from_str(tools).ok()?;
        let mut items = Vec::new();
        for (at, tool) in tools.into_iter().enumerate() {
            items.push(Json::parse(tool.get()).unwrap_or_else(|error| {
                let name = members(tool.get()).ok().and_then(|all| serde_json::from_str(all.get("name")?.get()).ok());
                let why = error.to_string();
                // The position is relative to the tool, so it would mislead.
                let why = why.split(" at line ").next().unwrap_or_default().to_owned();
                self.unreadable.insert(at, (name, why));
                Json::Null
            }));
        }
        if self.unreadable.is_empty() {
            return None;
        }
        let mut root = Json::Array(items);
        if !lists.is_empty() {
            let cursor = lists.get("nextCursor").map(|cursor| Json::parse(cursor.get())).transpose().ok()?;
            let cursor = cursor.map(|cursor| ("nextCursor".to_owned(), cursor));
            root = Json::Object(cursor.into_iter().chain([("tools".to_owned(), root)]).collect());
        }
        Some(match result {
            Some(_) => Json::Object(IndexMap::from([("result".to_owned(), root)])),
            None => root,
        })
    }

    fn lists(&mut self, root: Json) -> BTreeMap<ListKind, List> {
        let (base, root) = match root {
            Json::Object(mut members) if members.contains_key("jsonrpc") || members.contains_key("result") => {
                match members.swap_remove("result") {
                    Some(result) => ("/result", result),
                    None => {
                        let remedy = "store a response to `tools/list` with a result";
                        self.problem("", "the response has no result", remedy);
                        return BTreeMap::new();
                    }
                }
            }
            other => ("", other),
        };
        let mut lists = BTreeMap::new();
        match root {
            Json::Array(items) => {
                lists.insert(ListKind::Tools, self.list(ListKind::Tools, base.to_owned(), items));
            }
            Json::Object(mut members) => {
                if members.get("nextCursor").is_some_and(|cursor| !matches!(cursor, Json::Null)) {
                    let remedy = "request the other pages, and store all items in one list";
                    self.problem(&format!("{base}/nextCursor"), "the list continues on another page", remedy);
                }
                for kind in ListKind::ALL {
                    let pointer = format!("{base}/{}", kind.member());
                    match members.swap_remove(kind.member()) {
                        None => {}
                        Some(Json::Array(items)) => drop(lists.insert(kind, self.list(kind, pointer, items))),
                        Some(other) => {
                            self.unexpected(&pointer, "an array", &other, &format!("list the {}s here", kind.item()));
                        }
                    }
                }
                if lists.is_empty() && self.problems.is_empty() {
                    self.problem(base, "the object has no list", FORMS);
                }
            }
            other => self.unexpected(base, "lists", &other, FORMS),
        }
        lists
    }

    fn list(&mut self, kind: ListKind, pointer: String, all: Vec<Json>) -> List {
        let mut items: IndexMap<String, Item> = IndexMap::new();
        for (at, json) in all.into_iter().enumerate() {
            let (place, first) = (format!("{pointer}/{at}"), self.problems.len());
            let (mut name, mut read) = (json.get(kind.key()).and_then(Json::as_str).map(str::to_owned), None);
            match self.unreadable.remove(&at) {
                Some((named, why)) => {
                    name = named;
                    self.problem(&place, format!("not readable as JSON: {why}"), "correct or remove the tool");
                }
                None => read = self.item(kind, &place, json, &items),
            }
            let problems = self.problems.split_off(first);
            let kept = read.and_then(|(key, mut item)| {
                let paths: Option<Vec<&str>> = problems.iter().map(|it| item.optional_path(&it.pointer)).collect();
                paths?.into_iter().for_each(|path| item.remove(path));
                Some((key, item))
            });
            if !problems.is_empty() {
                let (name, is_kept) = (name.unwrap_or(place), kept.is_some());
                self.malformed.push(Malformed { kind, name, is_kept, problems });
            }
            items.extend(kept);
        }
        List { pointer, items }
    }

    /// Reads an item. Returns it with the value of the member that identifies it, which must differ from those of
    /// `others`.
    fn item(
        &mut self,
        kind: ListKind,
        place: &str,
        json: Json,
        others: &IndexMap<String, Item>,
    ) -> Option<(String, Item)> {
        let Json::Object(members) = json else {
            let remedy = format!("write an object with a `{}`", kind.key());
            self.unexpected(place, &format!("a {}", kind.item()), &json, &remedy);
            return None;
        };
        let item = Item { pointer: place.to_owned(), members };
        let key = self.text(&item, kind.key(), true)?;
        self.members(kind, &item);
        if let Some(first) = others.get(&key) {
            let why = format!("{} has the same `{}`, {key:?}", first.pointer, kind.key());
            let remedy = format!("remove or rename one of the {}s", kind.item());
            self.problem(&format!("{}/{}", item.pointer, kind.key()), why, &remedy);
        }
        Some((key, item))
    }

    fn members(&mut self, kind: ListKind, item: &Item) {
        for name in ["title", "description", "mimeType"] {
            self.text(item, name, false);
        }
        self.object(item, "annotations");
        match kind {
            ListKind::Tools => {
                self.hints(item);
                self.schema(item, "inputSchema", true);
                self.schema(item, "outputSchema", false);
            }
            ListKind::Prompts => self.arguments(item),
            ListKind::Resources | ListKind::ResourceTemplates => drop(self.text(item, "name", true)),
        }
    }

    fn hints(&mut self, item: &Item) {
        for name in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            if let Some(hint) = item.get("annotations").and_then(|annotations| annotations.get(name))
                && !matches!(hint, Json::Bool(_))
            {
                let pointer = format!("{}/annotations/{name}", item.pointer);
                self.unexpected(&pointer, "a boolean", hint, "write true or false");
            }
        }
        self.object(item, "execution");
        let support = item.get("execution").and_then(|execution| execution.get("taskSupport"));
        if let Some(support) = support
            && !["forbidden", "optional", "required"].map(Some).contains(&support.as_str())
        {
            let why = format!("{support} is not a value of `taskSupport`");
            let pointer = format!("{}/execution/taskSupport", item.pointer);
            self.problem(&pointer, why, "write \"forbidden\", \"optional\" or \"required\"");
        }
    }

    fn schema(&mut self, item: &Item, name: &str, is_input: bool) {
        let pointer = format!("{}/{name}", item.pointer);
        match item.get(name) {
            Some(Json::Object(keywords)) if is_input => match keywords.get("type") {
                Some(Json::String(name)) if name != "object" => {
                    let why = format!("the arguments of a tool must be an object, not {name:?}");
                    self.problem(&format!("{pointer}/type"), why, "write \"type\": \"object\"");
                }
                _ => {}
            },
            Some(Json::Object(_)) => {}
            Some(Json::Bool(_)) if !is_input => {}
            Some(other) => {
                let remedy = "write a JSON Schema, such as {\"type\": \"object\"}";
                self.unexpected(&pointer, "a schema (an object)", other, remedy);
            }
            None if is_input => {
                let why = "the tool has no `inputSchema`";
                self.problem(&item.pointer, why, "add it; a tool without arguments has {\"type\": \"object\"}");
            }
            None => {}
        }
    }

    fn arguments(&mut self, item: &Item) {
        let all = match item.get("arguments") {
            None => return,
            Some(Json::Array(all)) => all,
            Some(other) => {
                let pointer = format!("{}/arguments", item.pointer);
                return self.unexpected(&pointer, "an array", other, "list the arguments of the prompt");
            }
        };
        let mut names = Vec::new();
        for (at, argument) in all.iter().enumerate() {
            let pointer = format!("{}/arguments/{at}", item.pointer);
            match argument.get("name").and_then(Json::as_str) {
                None => self.problem(&pointer, "the argument has no `name`", "write an object with a `name`"),
                Some(name) if names.contains(&name) => {
                    self.problem(&pointer, format!("the prompt has two arguments {name:?}"), "remove or rename one");
                }
                Some(name) => names.push(name),
            }
            if argument.get("required").is_some_and(|required| !matches!(required, Json::Bool(_))) {
                self.problem(&format!("{pointer}/required"), "expected a boolean", "write true or false");
            }
        }
    }

    fn object(&mut self, item: &Item, name: &str) {
        if let Some(other) = item.get(name)
            && other.as_object().is_none()
        {
            let pointer = format!("{}/{name}", item.pointer);
            self.unexpected(&pointer, "an object", other, "write an object, or leave it out");
        }
    }

    fn text(&mut self, item: &Item, name: &str, required: bool) -> Option<String> {
        let pointer = format!("{}/{name}", item.pointer);
        match item.get(name) {
            Some(Json::String(text)) if required && text.is_empty() => {
                self.problem(&pointer, format!("the `{name}` is empty"), "write a text");
                None
            }
            Some(Json::String(text)) => Some(text.clone()),
            Some(other) => {
                self.unexpected(&pointer, "a string", other, "write a string");
                None
            }
            None if required => {
                self.problem(&item.pointer, format!("`{name}` is missing"), &format!("add a `{name}`"));
                None
            }
            None => None,
        }
    }

    fn unexpected(&mut self, pointer: &str, expected: &str, found: &Json, remedy: &str) {
        self.problem(pointer, format!("expected {expected}, found {}", found.type_name()), remedy);
    }

    fn problem(&mut self, pointer: &str, why: impl Into<String>, remedy: &str) {
        self.problems.push(Problem::new(&self.file, pointer, why, remedy));
    }
}

const FORMS: &str = "store a result of `tools/list`, a response with one, an array of tools, or an object with `tools`, \
                     `resources`, `resourceTemplates` or `prompts`";
