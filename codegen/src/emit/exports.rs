//! The names that each file exports. They are determined first, so that areas can be emitted independently.

use std::collections::{BTreeMap, BTreeSet};

use mcpgen_model::areas::{CHECKS, JSON_SCHEMA, MESSAGES};
use mcpgen_model::named_members;
use mcpgen_model::text::names::{Namespace, constant_name};
use mcpgen_model::{MessageKind, MessageSet, Protocol, Side, Tag, TypeId};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Options, ident};

/// The area of types that an extension takes from its revision. It has no file; the root re-exports them.
const SHARED: &str = "";

pub(super) struct Exports {
    pub(super) areas: BTreeMap<String, BTreeSet<String>>,
    sizes: BTreeMap<String, usize>,
    /// The area of each name, or [`SHARED`].
    homes: BTreeMap<String, String>,
    pub(super) message_names: MessageNames,
}

/// The names of items that are not types of the model. All belong to the messages area.
pub(super) struct MessageNames {
    /// The method enums with their message sets. This list and the others omit what an extension takes from its
    /// revision.
    pub(super) method_enums: Vec<(MessageSet, TypeId, String)>,
    /// Message types: sender, the unions of its requests and notifications, and the name.
    pub(super) envelopes: Vec<(Side, [TypeId; 2], String)>,
    /// Error codes by position in the model, with the names of their constants.
    pub(super) error_codes: Vec<(usize, String)>,
    /// The builders for constructors that leave out members which callers could swap.
    pub(super) builders: BTreeMap<TypeId, Builder>,
    /// Items that an extension takes from its revision, with their names there.
    pub(super) shared: BTreeMap<String, String>,
}

/// A builder that sets the members that a constructor leaves out, one after the other.
pub(super) struct Builder {
    pub(super) name: String,
    pub(super) members: Vec<usize>,
}

impl Builder {
    /// Returns the tokens for a member's step: the builder, the step's number and, unless it is the last, the next one.
    pub(super) fn step(&self, member: usize) -> Option<TokenStream> {
        let step = self.members.iter().position(|it| *it == member)?;
        let (name, number, next) =
            (ident(&self.name), Literal::usize_unsuffixed(step), Literal::usize_unsuffixed(step + 1));
        Some(if step + 1 == self.members.len() {
            quote!(in #name #number)
        } else {
            quote!(in #name #number then #next)
        })
    }
}

impl Exports {
    pub(super) fn new(protocol: &Protocol, options: &Options) -> Self {
        let message_names = MessageNames::new(protocol);
        let own = protocol.types.iter().enumerate().filter(|(id, _)| !protocol.is_shared(*id));
        let types = own.map(|(id, def)| (protocol.area(id), def.rust.clone()));
        let others = message_names.all().map(|name| (MESSAGES, name.clone()));
        let builders = message_names.builders.iter().map(|(id, builder)| (protocol.area(*id), builder.name.clone()));
        let (mut areas, mut sizes) = (BTreeMap::<String, BTreeSet<String>>::new(), BTreeMap::new());
        let shared = protocol.types.iter().enumerate().filter(|(id, _)| protocol.is_shared(*id));
        let mut homes: BTreeMap<String, String> =
            shared.map(|(_, def)| (def.rust.clone(), SHARED.to_owned())).collect();
        homes.extend(message_names.shared.keys().map(|name| (name.clone(), SHARED.to_owned())));
        for (area, name) in types.chain(others).chain(builders) {
            areas.entry(area.to_owned()).or_default().insert(name.clone());
            *sizes.entry(area.to_owned()).or_default() += 1;
            homes.insert(name, area.to_owned());
        }
        if options.vendored.is_some() {
            areas.insert(JSON_SCHEMA.to_owned(), BTreeSet::new());
        }
        if !protocol.checks.is_empty() {
            areas.insert(CHECKS.to_owned(), BTreeSet::new());
        }
        Self { areas, sizes, homes, message_names }
    }

    pub(super) fn home(&self, name: &str) -> Option<&str> {
        self.homes.get(name).map(String::as_str)
    }

    pub(super) fn by_size(&self) -> Vec<&str> {
        let mut areas: Vec<&str> = self.areas.keys().map(String::as_str).collect();
        areas.sort_by_key(|area| std::cmp::Reverse(self.sizes.get(*area).copied().unwrap_or_default()));
        areas
    }
}

/// Returns whether all messages of a set name their method in `method`. Otherwise, they have no JSON-RPC envelope.
fn is_json_rpc(protocol: &Protocol, set: TypeId) -> bool {
    protocol.uses(set).iter().all(|id| Tag::of(&protocol.types[*id]).is_none_or(|tag| tag.member == "method"))
}

impl MessageNames {
    fn new(protocol: &Protocol) -> Self {
        let mut names = Namespace::default();
        protocol.types.iter().for_each(|def| drop(names.claim(&def.rust)));
        let id = |set: MessageSet| protocol.types.iter().position(|def| def.message_set() == Some(set));
        let mut shared = BTreeMap::new();
        // Records shared items. Returns whether the module has to define the item itself.
        let mut is_emitted = |is_shared: bool, ours: &str, theirs: String| {
            if is_shared {
                shared.insert(ours.to_owned(), theirs);
            }
            !is_shared
        };
        let mut method_enums = Vec::new();
        for (set, id) in MessageSet::ALL.into_iter().filter_map(|set| Some((set, id(set)?))) {
            let name = names.claim(&format!("{}Method", protocol.types[id].rust));
            if is_emitted(protocol.is_shared(id), &name, format!("{}Method", set.definition())) {
                method_enums.push((set, id, name));
            }
        }
        let mut envelopes = Vec::new();
        for (sender, name) in [(Side::Client, "ClientMessage"), (Side::Server, "ServerMessage")] {
            let [requests, notifications] =
                [MessageKind::Request, MessageKind::Notification].map(|kind| id(MessageSet { sender, kind }));
            if let (Some(requests), Some(notifications)) = (requests, notifications)
                && [requests, notifications].iter().all(|id| is_json_rpc(protocol, *id))
            {
                let (types, ours) = ([requests, notifications], names.claim(name));
                if is_emitted(types.iter().all(|id| protocol.is_shared(*id)), &ours, name.to_owned()) {
                    envelopes.push((sender, types, ours));
                }
            }
        }
        let mut error_codes = Vec::new();
        for (index, error) in protocol.error_codes.iter().enumerate() {
            let (name, def) = (names.claim(&error.rust), &protocol.types[error.type_id]);
            if is_emitted(protocol.is_shared(error.type_id), &name, constant_name(&def.name)) {
                error_codes.push((index, name));
            }
        }
        let builder = |id: TypeId| {
            let members = named_members(protocol, id);
            let has_own = !members.is_empty() && !protocol.is_shared(id);
            has_own.then(|| (id, Builder { name: names.claim(&builder_name(&protocol.types[id].rust)), members }))
        };
        let builders = (0..protocol.types.len()).filter_map(builder).collect();
        Self { method_enums, envelopes, error_codes, builders, shared }
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        let method_enums = self.method_enums.iter().map(|(_, _, name)| name);
        let error_codes = self.error_codes.iter().map(|(_, name)| name);
        method_enums.chain(self.envelopes.iter().map(|(_, _, name)| name)).chain(error_codes)
    }
}

/// Names a type's builder. Programs rarely write this name, so a long one drops the last words of the type's name.
fn builder_name(rust: &str) -> String {
    const MAX: usize = 45;
    const SUFFIX: &str = "Builder";
    let mut short = rust;
    while short.len() + SUFFIX.len() > MAX
        && let Some(last) = short.rfind(char::is_uppercase).filter(|last| *last > 0)
    {
        short = &short[..last];
    }
    format!("{short}{SUFFIX}")
}
