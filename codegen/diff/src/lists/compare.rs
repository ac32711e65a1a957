//! Compares two snapshots.

use std::collections::HashMap;
use std::rc::Rc;

use indexmap::IndexMap;
use mcpgen_model::snapshot::{Item, List, ListKind, Malformed, Snapshot};
use mcpgen_schema::json::Json;
use mcpgen_schema::json::pointer::escape;
use mcpgen_schema::text::{counted, sha256};

use crate::lists::annotations::text_change;
use crate::lists::found::{Found, excerpt};
use crate::lists::hints;
use crate::lists::renames::{Named, renamed};
use crate::lists::schemas::{Part, SchemaPair};
use crate::lists::trust;
use crate::models::{Axis, Diff, Effort, Evidence, Finding, Place, Rule, Senders};

/// The maximum number of notes about malformed items. A malicious file can have millions.
const MOST_NOTES: usize = 50;

/// If more resources, templates or prompts than this are removed or added, one finding covers all of them, and names at
/// most `MOST_NAMED`.
const MOST_SEPARATE: usize = 20;
const MOST_NAMED: usize = 5;

/// Compares two snapshots of a server's lists.
pub fn compare(old: &Snapshot, new: &Snapshot) -> Diff {
    let mut comparison = Comparison::default();
    for kind in ListKind::ALL {
        match (old.list(kind), new.list(kind)) {
            (Some(old), Some(new)) => comparison.lists(kind, old, new),
            (Some(_), None) => comparison.only_in("old", kind),
            (None, Some(_)) => comparison.only_in("new", kind),
            (None, None) => {}
        }
    }
    let Comparison { mut findings, mut notes, effort } = comparison;
    notes.extend(effort.note());
    let mut left_out: Vec<String> =
        [old, new].into_iter().flat_map(|side| &side.malformed).flat_map(Malformed::notes).collect();
    if left_out.len() > MOST_NOTES {
        let more = left_out.split_off(MOST_NOTES).len() as u64;
        left_out.push(format!("{} of malformed items", counted(more, "other problems")));
    }
    notes.extend(left_out);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdicts.worst(&Axis::LISTS)));
    Diff { findings, types: Vec::new(), notes }
}

#[derive(Default)]
struct Comparison {
    findings: Vec<Finding>,
    notes: Vec<String>,
    effort: Rc<Effort>,
}

/// The JSON pointers of an item in the old and in the new snapshot.
type Places<'i> = (Option<&'i str>, Option<&'i str>);

/// The members of an item that have rules of their own. `metadata-changed` reports all others.
const COMPARED: [&str; 11] = [
    "name",
    "uri",
    "uriTemplate",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "execution",
    "mimeType",
    "arguments",
    // Not compared, because it changes with the contents of a resource.
    "size",
];
const HINTS: [&str; 5] = ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

impl Comparison {
    fn only_in(&mut self, side: &str, kind: ListKind) {
        self.notes.push(format!("only the {side} snapshot has `{}`, so they are not compared", kind.member()));
    }

    fn lists(&mut self, kind: ListKind, old: &List, new: &List) {
        let (added_rule, removed_rule) = rules_of(kind);
        let mut added: IndexMap<&str, &Item> = IndexMap::new();
        for (key, after) in &new.items {
            match old.items.get(key) {
                Some(before) => self.items(kind, key, before, after),
                None => drop(added.insert(key, after)),
            }
        }
        let removed = old.items.iter().filter(|(key, _)| !new.items.contains_key(*key));
        let mut removed: Vec<Named<'_>> = removed.map(|(key, item)| (&**key, item)).collect();
        let renamed = match kind {
            ListKind::Tools => renamed(&removed, &added.iter().map(|(key, item)| (*key, *item)).collect::<Vec<_>>()),
            _ => HashMap::new(),
        };
        // Each tool matters, because programs call it by name. Resources and prompts can be a server's data, which
        // changes in bulk.
        let are_many = |count: usize| kind != ListKind::Tools && count > MOST_SEPARATE;
        if are_many(removed.len()) {
            let names: Vec<&str> = removed.iter().map(|(key, _)| *key).collect();
            self.find_all(removed_rule, kind, &names, "were removed", (Some(&old.pointer), Some(&new.pointer)));
            removed.clear();
        }
        for (key, before) in removed {
            let renamed = renamed.get(key).and_then(|name| added.shift_remove_entry(name));
            let key = &*excerpt(key);
            match renamed {
                Some((name, after)) => {
                    let name = &*excerpt(name);
                    let message = format!("the tool `{key}` was renamed to `{name}`");
                    let places = (Some(&*before.pointer), Some(&*after.pointer));
                    self.find(Rule::ToolRenamed, key, name, message, places);
                    self.items(kind, name, before, after);
                }
                None => {
                    // The new snapshot does not have the item, so the finding points to its list.
                    let message = format!("the {} `{key}` was removed", kind.item());
                    self.find(removed_rule, key, "", message, (Some(&before.pointer), Some(&new.pointer)));
                }
            }
        }
        let are_grouped = are_many(added.len());
        if are_grouped {
            let names: Vec<&str> = added.keys().copied().collect();
            self.find_all(added_rule, kind, &names, "are new", (None, Some(&new.pointer)));
        }
        for (key, after) in added {
            let key = &*excerpt(key);
            if are_grouped {
                self.trust(key, None, after);
                continue;
            }
            let message = format!("the {} `{key}` is new", kind.item());
            self.find(added_rule, key, "", message, (None, Some(&after.pointer)));
            self.trust(key, None, after);
        }
    }

    /// Adds one finding about many items of a list. The detail of the finding identifies the items.
    fn find_all(&mut self, rule: Rule, kind: ListKind, names: &[&str], words: &str, places: Places<'_>) {
        let count = counted(names.len() as u64, &format!("{}s", kind.item()));
        let first: Vec<String> = names.iter().take(MOST_NAMED).map(|name| format!("`{}`", excerpt(name))).collect();
        let message = format!("{count} {words}, such as {}", first.join(", "));
        let mut sorted = names.to_vec();
        sorted.sort_unstable();
        let detail = sha256(sorted.join("\0"));
        self.find(rule, kind.member(), &detail[..16], message, places);
        if let Some(found) = self.findings.last_mut() {
            found.items = names.iter().map(|name| excerpt(name).into_owned()).collect();
        }
    }

    fn items(&mut self, kind: ListKind, key: &str, old: &Item, new: &Item) {
        if old.members == new.members {
            return;
        }
        let at: Places<'_> = (Some(&old.pointer), Some(&new.pointer));
        let key = &*excerpt(key);
        self.texts(kind, key, old, new);
        self.trust(key, Some(old), new);
        match kind {
            ListKind::Tools => self.tools(key, old, new),
            ListKind::Prompts => self.prompts(key, old, new),
            ListKind::Resources | ListKind::ResourceTemplates => {
                let (before, after) = (old.get("mimeType"), new.get("mimeType"));
                if before != after {
                    let words = |side: Option<&Json>| side.map_or("none".to_owned(), Json::plain);
                    let (before, after) = (words(before), words(after));
                    let (before, after) = (excerpt(&before), excerpt(&after));
                    let message = format!("{key}: the MIME type is {after} instead of {before}");
                    self.find(Rule::ResourceTypeChanged, key, &after, message, at);
                }
                if old.get("name") != new.get("name") {
                    self.find(Rule::TitleChanged, key, "name", format!("{key}: the name changed"), at);
                }
            }
        }
        let mut names: Vec<&String> = new.members.keys().chain(old.members.keys()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names.into_iter().filter(|name| !COMPARED.contains(&name.as_str())) {
            let others = |item: &Item| match (name.as_str(), item.get(name)) {
                // Hints have rules of their own, and `lastModified` changes with the contents.
                ("annotations", Some(Json::Object(all))) => {
                    let is_other = |(name, _): &(&String, &Json)| {
                        name.as_str() != "lastModified" && (kind != ListKind::Tools || !HINTS.contains(&name.as_str()))
                    };
                    let others: IndexMap<String, Json> =
                        all.iter().filter(is_other).map(|(name, value)| (name.clone(), value.clone())).collect();
                    (!others.is_empty()).then_some(Json::Object(others))
                }
                (_, value) => value.cloned(),
            };
            if others(old) != others(new) {
                let name = excerpt(name);
                self.find(Rule::MetadataChanged, key, &name, format!("{key}: `{name}` changed"), at);
            }
        }
    }

    fn trust(&mut self, key: &str, old: Option<&Item>, new: &Item) {
        for Found { rule, member, path, detail, words } in trust::compare(old, new) {
            let (was, is) = (old.map(|old| member_or_item(old, &member)), member_or_item(new, &member));
            let subject = if path.is_empty() { "it" } else { path.trim_start_matches('.') };
            let message = format!("{key}: {subject} {words}");
            self.find(rule, &format!("{key}{path}"), &detail, message, (was.as_deref(), Some(&is)));
        }
    }

    /// Compares the texts of an item.
    fn texts(&mut self, kind: ListKind, key: &str, old: &Item, new: &Item) {
        let texts: [(Rule, &str); 2] = [(Rule::DescriptionChanged, "description"), (Rule::TitleChanged, "title")];
        for (rule, name) in texts {
            let (before, after) = (old.get(name), new.get(name));
            if before != after {
                let what = text_change(before, after);
                let message = format!("{key}: the {name} of the {} {what}", kind.item());
                let old = member_or_item(old, name);
                let new = member_or_item(new, name);
                self.find(rule, key, "", message, (Some(&old), Some(&new)));
            }
        }
        let hint = |item: &Item| item.get("annotations").and_then(|all| all.get("title")).cloned();
        if kind == ListKind::Tools && hint(old) != hint(new) {
            let message = format!("{key}: the title in the annotations changed");
            self.find(Rule::TitleChanged, key, "annotations", message, (Some(&old.pointer), Some(&new.pointer)));
        }
    }

    fn tools(&mut self, name: &str, old: &Item, new: &Item) {
        for (member, found) in
            [("annotations", hints::compare(old, new)), ("execution", hints::compare_task_support(old, new))]
        {
            let (before, after) = (member_or_item(old, member), member_or_item(new, member));
            for (rule, detail, words) in found {
                self.find(rule, name, detail, format!("the tool `{name}` {words}"), (Some(&before), Some(&after)));
            }
        }
        self.schemas(name, Part::Arguments, "inputSchema", old, new);
        let (before, after) = (member_or_item(old, "outputSchema"), member_or_item(new, "outputSchema"));
        match (old.get("outputSchema"), new.get("outputSchema")) {
            (Some(_), Some(_)) => self.schemas(name, Part::Result, "outputSchema", old, new),
            (None, Some(_)) => {
                let message = format!("the tool `{name}` has an output schema");
                self.find(Rule::ResultSchemaAdded, name, "", message, (Some(&before), Some(&after)));
            }
            (Some(_), None) => {
                let message = format!("the tool `{name}` no longer has an output schema");
                self.find(Rule::ResultSchemaRemoved, name, "", message, (Some(&before), Some(&after)));
            }
            (None, None) => {}
        }
    }

    fn schemas(&mut self, tool: &str, part: Part, member: &str, old: &Item, new: &Item) {
        if let (Some(before), Some(after)) = (old.get(member), new.get(member)) {
            let pointer = |item: &Item| format!("{}/{member}", item.pointer);
            let pair = SchemaPair {
                effort: &self.effort,
                tool,
                part,
                old: (before, pointer(old)),
                new: (after, pointer(new)),
            };
            self.findings.extend(pair.compare());
        }
    }

    fn prompts(&mut self, prompt: &str, old: &Item, new: &Item) {
        let (olds, news) = (old.prompt_arguments(), new.prompt_arguments());
        let is_required = |argument: &Json| argument.get("required") == Some(&Json::Bool(true));
        for (full, (place, after)) in &news {
            let name = excerpt(full);
            let subject = format!("{prompt}.{name}");
            let places = (olds.get(full).map_or(&*old.pointer, |(place, _)| place), &**place);
            let places: Places<'_> = (Some(places.0), Some(places.1));
            let Some((_, before)) = olds.get(full) else {
                let (rule, words) = match is_required(after) {
                    true => (Rule::ArgumentAddedRequired, "new and required"),
                    false => (Rule::ArgumentAddedOptional, "new"),
                };
                self.find(rule, &subject, "", format!("{prompt}: the argument `{name}` is {words}"), places);
                continue;
            };
            let change: Option<(Rule, &str)> = match (is_required(before), is_required(after)) {
                (false, true) => Some((Rule::ArgumentBecameRequired, "is required")),
                (true, false) => Some((Rule::ArgumentBecameOptional, "may be absent")),
                _ => None,
            };
            if let Some((rule, words)) = change {
                self.find(rule, &subject, "", format!("{prompt}: the argument `{name}` {words}"), places);
            }
            for text in ["description", "title"].into_iter().filter(|text| before.get(text) != after.get(text)) {
                let message = format!("{prompt}: the {text} of the argument `{name}` changed");
                self.find(Rule::ArgumentDescriptionChanged, &subject, text, message, places);
            }
        }
        for (name, (place, _)) in olds.iter().filter(|(name, _)| !news.contains_key(*name)) {
            let name = excerpt(name);
            let message = format!("{prompt}: the argument `{name}` was removed");
            let places: Places<'_> = (Some(place), Some(&new.pointer));
            self.find(Rule::ArgumentRemoved, &format!("{prompt}.{name}"), "", message, places);
        }
    }

    fn find(&mut self, rule: Rule, subject: &str, detail: &str, message: String, places: Places<'_>) {
        let place = |pointer: Option<&str>| pointer.map(|it| Place { pointer: it.to_owned(), rust: None });
        let Some(lists) = rule.on_lists() else { return };
        self.findings.push(Finding {
            rule,
            senders: Senders::default(),
            verdicts: lists.into(),
            evidence: Evidence::of(rule, lists),
            witnesses: Vec::new(),
            by_convention: Vec::new(),
            undecided: None,
            items: Vec::new(),
            subject: subject.to_owned(),
            detail: detail.to_owned(),
            message,
            old: place(places.0),
            new: place(places.1),
        });
    }
}

fn member_or_item(item: &Item, member: &str) -> String {
    match item.get(member) {
        Some(_) => format!("{}/{}", item.pointer, escape(member)),
        None => item.pointer.clone(),
    }
}

/// Returns the rules for an added and for a removed item.
fn rules_of(kind: ListKind) -> (Rule, Rule) {
    match kind {
        ListKind::Tools => (Rule::ToolAdded, Rule::ToolRemoved),
        ListKind::Resources => (Rule::ResourceAdded, Rule::ResourceRemoved),
        ListKind::ResourceTemplates => (Rule::ResourceTemplateAdded, Rule::ResourceTemplateRemoved),
        ListKind::Prompts => (Rule::PromptAdded, Rule::PromptRemoved),
    }
}
