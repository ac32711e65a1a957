//! Names types and variants. Definitions keep their names. Inline types are named after the member in which they occur.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use mcpgen_schema::Error;

use crate::inline::NAMES;
use crate::text::names::{Namespace, field_name, type_name};
use crate::{MessageKind, MessageSet, Origin, Shape, Type, TypeDef, TypeId, Undecided, Union, Variant};

/// Names all types and variants. `given` renames inline types, by their generated name.
pub(super) fn with_names(
    mut types: Vec<TypeDef>,
    occurrences: &[Vec<Occurrence>],
    given: &BTreeMap<String, String>,
) -> Result<Vec<TypeDef>, Error> {
    let mut names = Namespace::default();
    for reserved in ["ClientMessage", "ServerMessage"] {
        names.claim(reserved);
    }
    let has_name = |def: &&TypeDef| !matches!(def.origin, Origin::Inline(_));
    let claimed = names.claim_all(types.iter().filter(has_name).map(|def| (def.name.as_str(), type_name(&def.name))));
    types.iter_mut().filter(|def| has_name(&&**def)).zip(claimed).for_each(|(def, rust)| def.rust = rust);
    let mut unused = given.clone();
    let mut wanted: IndexMap<TypeId, String> = IndexMap::new();
    for (id, occurrences) in occurrences.iter().enumerate().filter(|(_, occurrences)| !occurrences.is_empty()) {
        wanted.insert(id, short_name(&types, id, occurrences).unwrap_or_else(|| occurrences[0].long_name()));
    }
    // A type gets its short name only if no other type wants that name.
    let mut demand: BTreeMap<&str, usize> = BTreeMap::new();
    wanted.values().for_each(|name| *demand.entry(name).or_default() += 1);
    let places: Vec<String> =
        wanted.keys().map(|id| format!("{}.{}", occurrences[*id][0].parent, occurrences[*id][0].label)).collect();
    let free: Vec<String> = wanted
        .iter()
        .map(|(id, name)| match names.is_free(name) && demand[name.as_str()] == 1 {
            true => name.clone(),
            false => occurrences[*id][0].long_name(),
        })
        .collect();
    let generated = names.claim_all(places.iter().map(String::as_str).zip(free));
    for (id, generated) in wanted.keys().zip(generated) {
        types[*id].rust = match unused.remove(&generated) {
            None => generated,
            Some(given) if type_name(&given) == given && names.is_free(&given) => names.claim(&given),
            Some(given) => {
                let why = format!("`{generated}` cannot be named `{given}`, which is taken or not the name of a type");
                return Err(Error::Usage(format!("{NAMES}: {why}")));
            }
        };
        let def = &mut types[*id];
        def.name.clone_from(&def.rust);
    }
    match unused.keys().next() {
        Some(name) => Err(Error::Usage(format!("{NAMES}: there is no inline type `{name}`"))),
        None => {
            name_variants(&mut types);
            Ok(types)
        }
    }
}

/// Returns a name without the parent's: the member's name if several parents have it, or `AOrB` for a union of two
/// definitions.
fn short_name(types: &[TypeDef], id: TypeId, occurrences: &[Occurrence]) -> Option<String> {
    if let Shape::Union(Union { variants, .. }) = &types[id].shape
        && let [Variant { content: Type::Named(a), .. }, Variant { content: Type::Named(b), .. }] = variants.as_slice()
        && [a, b].iter().all(|id| matches!(types[**id].origin, Origin::Definition))
    {
        return Some(either(&types[*a].rust, &types[*b].rust));
    }
    let parents: BTreeSet<&str> = occurrences.iter().map(|occurrence| occurrence.parent.as_str()).collect();
    let same_label = occurrences.iter().all(|occurrence| occurrence.label == occurrences[0].label);
    (parents.len() > 1 && same_label && !GENERIC_LABELS.contains(&occurrences[0].label.as_str()))
        .then(|| type_name(&field_name(&occurrences[0].label)))
}

/// Joins two names: `TextResourceContents` and `BlobResourceContents` become `TextOrBlobResourceContents`.
fn either(a: &str, b: &str) -> String {
    let (a_words, b_words) = (words(a), words(b));
    let most = a_words.len().min(b_words.len()) - 1;
    let head = a_words.iter().zip(&b_words).take(most).take_while(|(a, b)| a == b).count();
    let tail = a_words.iter().rev().zip(b_words.iter().rev()).take(most - head).take_while(|(a, b)| a == b).count();
    let middle = |words: &[&str]| words[head..words.len() - tail].concat();
    let (head_text, tail_text) = (a_words[..head].concat(), a_words[a_words.len() - tail..].concat());
    format!("{head_text}{}Or{}{tail_text}", middle(&a_words), middle(&b_words))
}

pub(super) fn words(name: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = name.char_indices().filter(|(_, c)| c.is_uppercase()).map(|(at, _)| at).collect();
    if starts.first() != Some(&0) {
        starts.insert(0, 0);
    }
    starts
        .iter()
        .enumerate()
        .map(|(i, &start)| &name[start..starts.get(i + 1).copied().unwrap_or(name.len())])
        .collect()
}

/// Names variants after their content. Messages lose the suffixes `Request`, `Notification` and `Message`.
fn name_variants(types: &mut [TypeDef]) {
    for id in 0..types.len() {
        let messages = types[id].message_set();
        let suffix = match messages {
            Some(MessageSet { kind: MessageKind::Request, .. }) => "Request",
            Some(MessageSet { kind: MessageKind::Notification, .. }) => "Notification",
            None => "",
        };
        let wanted = types[id].shape.variants().iter().map(|variant| {
            let name = content_name(types, &variant.content, &variant.rust);
            let bare = name.strip_suffix("Message").filter(|bare| messages.is_some() && bare.ends_with(suffix));
            let bare = bare.unwrap_or(&name);
            bare.strip_suffix(suffix).filter(|short| !short.is_empty()).unwrap_or(bare).to_owned()
        });
        let wanted: Vec<String> = wanted.collect();
        let named = Namespace::default().claim_all(wanted.iter().map(|name| (name.as_str(), type_name(name))));
        if let Shape::Union(Union { variants, .. }) | Shape::Undecided(Undecided { alternatives: variants, .. }) =
            &mut types[id].shape
        {
            variants.iter_mut().zip(named).for_each(|(variant, name)| variant.rust = name);
        }
    }
}

fn content_name(types: &[TypeDef], content: &Type, label: &str) -> String {
    match content {
        Type::Named(id) if matches!(types[*id].origin, Origin::Inline(_)) && !label.is_empty() => label.to_owned(),
        Type::Named(id) => types[*id].rust.clone(),
        Type::List(inner) => match &**inner {
            Type::Named(id) => format!("{}Array", types[*id].rust),
            inner => format!("{}Array", content_name(types, inner, "")),
        },
        Type::Map(_) | Type::Object => "Object".to_owned(),
        Type::Nullable(inner) => content_name(types, inner, label),
        Type::Any => "Any".to_owned(),
        Type::Never => "Never".to_owned(),
        Type::Null => "Null".to_owned(),
        Type::Boolean => "Boolean".to_owned(),
        Type::String => "String".to_owned(),
        Type::Signed | Type::Unsigned => "Integer".to_owned(),
        Type::Number => "Number".to_owned(),
    }
}

/// Where an inline type occurs: its parent's name, and its label there.
#[derive(Clone)]
pub(super) struct Occurrence {
    pub definition: String,
    pub parent: String,
    pub label: String,
    pub pointer: String,
    /// Whether the type stays separate from equal types elsewhere.
    pub own: bool,
}

impl Occurrence {
    pub(super) fn below(&self, label: &str) -> Occurrence {
        let parent = if self.label.is_empty() { self.parent.clone() } else { self.long_name() };
        let (definition, pointer) = (self.definition.clone(), self.pointer.clone());
        Occurrence { definition, parent, label: label.to_owned(), pointer, own: false }
    }

    pub(super) fn long_name(&self) -> String {
        let (parent, label) = (type_name(&self.parent), type_name(&field_name(&self.label)));
        format!("{}{}", parent.trim_end_matches('_'), label.trim_end_matches('_'))
    }
}

/// Labels that say nothing about a type.
pub(super) const GENERIC_LABELS: &[&str] = &["Item", "Value", ""];
