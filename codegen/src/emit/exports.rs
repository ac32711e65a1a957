//! The names that the files of a revision export. They are computed from the types, so that each area can be emitted
//! independently.

use std::collections::{BTreeMap, BTreeSet};

use super::{Options, json_schema};
use crate::build::areas::{CHECKS, MESSAGES};
use crate::model::{MessageKind, MessageSet, Protocol, Side, Tag, TypeDef, TypeId};
use crate::text::names::Namespace;

/// The area of types that an extension shares with a revision. It has no file: the root re-exports them.
const SHARED: &str = "";

/// The areas of a revision, and the names that they export.
pub(super) struct Exports {
    /// The exported names of each area, sorted.
    pub(super) areas: BTreeMap<String, BTreeSet<String>>,
    /// The number of types of each area.
    sizes: BTreeMap<String, usize>,
    /// The area of each name. Names of shared types have the area [`SHARED`].
    homes: BTreeMap<String, String>,
    /// The names of items that are not types of the model.
    pub(super) message_names: MessageNames,
}

/// The names of items that are not types of the model. All of them belong to the area of messages.
pub(super) struct MessageNames {
    /// The method enums, with their message sets.
    pub(super) method_enums: Vec<(MessageSet, TypeId, String)>,
    /// The message types: the sender, the unions of its requests and of its notifications, and the name of the type.
    pub(super) envelopes: Vec<(Side, [TypeId; 2], String)>,
    /// The constants of the error codes, in the order of the model.
    pub(super) error_codes: Vec<String>,
}

impl Exports {
    pub(super) fn new(protocol: &Protocol, options: &Options) -> Self {
        let message_names = MessageNames::new(protocol);
        let own = protocol.types.iter().enumerate().filter(|(id, _)| !protocol.is_shared(*id));
        let types = own.map(|(_, def)| (def.area.as_str(), def.rust.clone()));
        let others = message_names.all().map(|name| (MESSAGES, name.clone()));
        let (mut areas, mut sizes) = (BTreeMap::<String, BTreeSet<String>>::new(), BTreeMap::new());
        let shared = protocol.types.iter().enumerate().filter(|(id, _)| protocol.is_shared(*id));
        let mut homes: BTreeMap<String, String> =
            shared.map(|(_, def)| (def.rust.clone(), SHARED.to_owned())).collect();
        for (area, name) in types.chain(others) {
            areas.entry(area.to_owned()).or_default().insert(name.clone());
            *sizes.entry(area.to_owned()).or_default() += 1;
            homes.insert(name, area.to_owned());
        }
        if options.vendored.is_some() {
            areas.insert(json_schema::AREA.to_owned(), BTreeSet::new());
        }
        if !protocol.checks.is_empty() {
            areas.insert(CHECKS.to_owned(), BTreeSet::new());
        }
        Self { areas, sizes, homes, message_names }
    }

    /// Returns the area that exports a name.
    pub(super) fn home(&self, name: &str) -> Option<&str> {
        self.homes.get(name).map(String::as_str)
    }

    /// Returns the areas, largest first.
    pub(super) fn by_size(&self) -> Vec<&str> {
        let mut areas: Vec<&str> = self.areas.keys().map(String::as_str).collect();
        areas.sort_by_key(|area| std::cmp::Reverse(self.sizes.get(*area).copied().unwrap_or_default()));
        areas
    }
}

/// Returns whether each message of a set has its method in the member `method`. If not, the messages have no JSON-RPC
/// envelope.
fn is_json_rpc(protocol: &Protocol, set: TypeId) -> bool {
    protocol.uses(set).iter().all(|id| Tag::of(&protocol.types[*id]).is_none_or(|tag| tag.member == "method"))
}

impl MessageNames {
    fn new(protocol: &Protocol) -> Self {
        let mut names = Namespace::default();
        protocol.types.iter().for_each(|def| drop(names.claim(&def.rust)));
        let is_set = |def: &TypeDef, set: MessageSet| def.name == set.definition() && def.is_message_set();
        let id = |set: MessageSet| protocol.types.iter().position(|def| is_set(def, set));
        let sets = MessageSet::ALL.into_iter().filter_map(|set| Some((set, id(set)?)));
        let method_enums =
            sets.map(|(set, id)| (set, id, names.claim(&format!("{}Method", protocol.types[id].rust)))).collect();
        let mut envelopes = Vec::new();
        for (sender, name) in [(Side::Client, "ClientMessage"), (Side::Server, "ServerMessage")] {
            let [requests, notifications] =
                [MessageKind::Request, MessageKind::Notification].map(|kind| id(MessageSet { sender, kind }));
            if let (Some(requests), Some(notifications)) = (requests, notifications)
                && [requests, notifications].iter().all(|id| is_json_rpc(protocol, *id))
            {
                envelopes.push((sender, [requests, notifications], names.claim(name)));
            }
        }
        let error_codes = protocol.error_codes.iter().map(|error| names.claim(&error.rust)).collect();
        Self { method_enums, envelopes, error_codes }
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        let method_enums = self.method_enums.iter().map(|(_, _, name)| name);
        method_enums.chain(self.envelopes.iter().map(|(_, _, name)| name)).chain(&self.error_codes)
    }
}
