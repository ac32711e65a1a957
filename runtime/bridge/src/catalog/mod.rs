//! What several servers of a client list, under the names and URIs that the client sees.
//!
//! `names` chooses these, and `uris` replaces URIs in results. `kind` defines the kinds of items, `lists` holds the
//! lists of all servers, `page` returns their pages, and `memory` is the budget. `params` reads which item is meant.

mod kind;
mod lists;
mod memory;
mod names;
mod page;
mod params;
mod uris;

use std::collections::{HashMap, HashSet};
use std::mem::size_of;
use std::sync::Arc;

use mcpgen_types::{JsonObject, JsonRef};

pub use self::kind::Kind;
pub use self::lists::Lists;
use self::memory::Held;
pub use self::memory::Memory;
pub use self::names::Prefix;
use self::names::Uris;
pub use self::params::unambiguous;
pub use self::uris::{normal_forms, replace_uris};

/// The items of a server's list. Clients with equal lists share them.
#[derive(Debug)]
pub struct Items {
    /// The items, in the order of the server.
    pub items: Vec<JsonObject>,
    _held: Held,
}

impl Items {
    /// Creates a list of items. Returns `None` if the budget has too few bytes left.
    #[must_use]
    pub fn new(items: Vec<JsonObject>, memory: &Arc<Memory>) -> Option<Arc<Self>> {
        let bytes = items.iter().map(|item| size_of::<JsonObject>() + item.text().len()).sum();
        Some(Arc::new(Self { items, _held: memory.take(bytes)? }))
    }
}

/// What is known about one server's list of one kind.
#[derive(Clone, Debug, Default)]
pub struct ServerList {
    /// The items, as the server lists them. `None` until the list is read.
    pub items: Option<Arc<Items>>,
    /// Why the list could not be read the last time, although the server is connected.
    pub failure: Option<Arc<str>>,
    /// Whether the server is connected. If it is not, its items are remembered, so that the names of other items stay
    /// the same.
    pub is_available: bool,
    /// What differs from the pinned items, by name.
    pub findings: HashMap<String, Arc<str>>,
    /// How many times the list has changed.
    pub changes: u64,
    /// The number of changes when the list was last read. `None` until it is read.
    pub read_at: Option<u64>,
}

/// The lists of all servers.
#[derive(Debug, Default)]
pub struct Catalog {
    entries: [Vec<Entry>; 4],
    /// The positions of entries, by the name or URI that clients see.
    positions: [HashMap<String, usize>; 4],
    uris: Uris,
    _held: Option<Held>,
}

/// An item of a server.
#[derive(Debug)]
pub struct Entry {
    /// The position of its server.
    pub server: usize,
    /// Its own name or URI.
    pub key: String,
    /// The name or URI that clients see.
    pub seen: String,
    /// The list that has the item, and its position there.
    list: Arc<Items>,
    at: usize,
    /// Whether its server is connected.
    pub is_available: bool,
    /// What differs from the pinned item.
    pub finding: Option<Arc<str>>,
}

impl Entry {
    /// Returns the item as the server lists it.
    #[must_use]
    pub fn item(&self) -> &JsonObject {
        &self.list.items[self.at]
    }
}

fn text(item: &JsonObject, name: &str) -> Option<String> {
    item.get(name).and_then(JsonRef::as_str).map(Into::into)
}

impl Catalog {
    /// Creates a catalog of the lists of each kind and each server.
    #[must_use]
    pub fn new(servers: &[String], lists: &[Vec<ServerList>; 4], prefix: Prefix, memory: &Arc<Memory>) -> Self {
        let mut catalog = Self::default();
        for kind in Kind::ALL {
            let mut known = HashSet::new();
            let entries = lists[kind as usize].iter().enumerate().flat_map(|(server, list)| {
                let items = list.items.iter().flat_map(|list| list.items.iter().enumerate().map(move |it| (list, it)));
                let entry = |(of, (at, item)): (&Arc<Items>, (usize, &JsonObject))| {
                    let key = text(item, kind.key())?;
                    let (finding, is_available) = (list.findings.get(&key).cloned(), list.is_available);
                    Some(Entry { server, key, seen: String::new(), list: Arc::clone(of), at, is_available, finding })
                };
                items.filter_map(entry).collect::<Vec<_>>()
            });
            // A server may list an item twice. The first one counts.
            catalog.entries[kind as usize] =
                entries.filter(|entry| known.insert((entry.server, entry.key.clone()))).collect();
        }
        let items = |kind: Kind| -> Vec<names::Item<'_>> {
            catalog.entries[kind as usize].iter().map(|entry| (entry.server, &*entry.key)).collect()
        };
        let uris = Uris::new(servers, &items(Kind::Resource), &items(Kind::Template), prefix);
        let seen = Kind::ALL.map(|kind| match kind {
            Kind::Tool | Kind::Prompt => names::names(servers, &items(kind), prefix),
            _ => {
                let owner = |key: &str| match kind {
                    Kind::Template => uris.template_owner(key),
                    _ => uris.owner(key),
                };
                let seen = |(server, key): &names::Item<'_>| match owner(key) == Some(*server) {
                    true => (*key).to_owned(),
                    false => names::prefixed_uri(&servers[*server], key),
                };
                items(kind).iter().map(seen).collect()
            }
        });
        for (kind, seen) in Kind::ALL.into_iter().zip(seen) {
            for (entry, seen) in catalog.entries[kind as usize].iter_mut().zip(seen) {
                entry.seen = seen;
            }
            let positions = catalog.entries[kind as usize].iter().enumerate();
            catalog.positions[kind as usize] = positions.map(|(at, entry)| (entry.seen.clone(), at)).collect();
        }
        catalog.uris = uris;
        // Each name is in an entry, in the positions and, if it is a URI, among the URIs.
        let entries = catalog.entries.iter().flatten();
        let bytes = entries.map(|entry| 2 * size_of::<Entry>() + 3 * (entry.key.len() + entry.seen.len())).sum();
        catalog._held = Some(memory.take_always(bytes));
        catalog
    }

    /// Returns the items of a kind, ordered by server and then as each server lists them.
    #[must_use]
    pub fn entries(&self, kind: Kind) -> &[Entry] {
        &self.entries[kind as usize]
    }

    /// Returns the position of an item, by the name or URI that clients see.
    #[must_use]
    pub fn position(&self, kind: Kind, seen: &str) -> Option<usize> {
        self.positions[kind as usize].get(seen).copied()
    }

    /// Returns an item by the name that clients see, or by its own name with the prefix of its server.
    #[must_use]
    pub fn find(&self, servers: &[String], kind: Kind, seen: &str) -> Option<&Entry> {
        let entries = self.entries(kind);
        if let Some(position) = self.position(kind, seen) {
            return entries.get(position);
        }
        let (server, key) = kind.split_prefix(servers, seen)?;
        entries.iter().find(|entry| entry.server == server && entry.key == key)
    }

    /// Returns the server of a resource, and the URI that the server has for it, even if the server does not list it.
    #[must_use]
    pub fn resource(&self, servers: &[String], seen: &str) -> Option<(usize, String)> {
        // A server that lists a URI with another server's prefix must not get requests meant for that server.
        match names::split_uri_prefix(servers, seen).filter(|_| servers.len() > 1 || !self.uris.is_listed(seen)) {
            Some((server, uri)) => Some((server, uri.to_owned())),
            None => Some((self.uris.owner(seen)?, seen.to_owned())),
        }
    }

    /// Returns the URI under which clients see a resource of a server.
    #[must_use]
    pub fn seen_uri(&self, servers: &[String], server: usize, uri: &str) -> String {
        match self.uris.owner(uri) == Some(server) {
            true => uri.to_owned(),
            false => names::prefixed_uri(&servers[server], uri),
        }
    }
}
