//! The names under which clients see the tools and prompts of several servers, and the URIs of their resources.
//!
//! A name that only one server has stays as it is. If several servers have it, each gets its server's name as a prefix:
//! `files__read`. A URI that several servers have gets its server's name before its scheme: `files+file:///notes`. The
//! forms with a prefix always work, and no name depends on the order in which servers connect. A name or URI that
//! begins with another server's prefix gets its own, too: what begins with a server's prefix belongs to that server.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound::{Included, Unbounded};

/// Which names of tools and prompts, and which URIs, get the name of their server as a prefix, as in `files__read`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefix {
    /// Those that several servers have.
    #[default]
    Clash,
    /// All. Use this if servers do not trust each other: then no server can take the name of another's tool, or the URI
    /// of another's resource.
    Always,
}

/// What separates the name of a server from that of a tool or prompt. Names of servers do not contain it.
const SEPARATOR: &str = "__";

/// An item: the position of its server, and its own name.
pub(super) type Item<'n> = (usize, &'n str);

/// Returns the name of an item with its server's name as a prefix.
pub(super) fn prefixed(server: &str, name: &str) -> String {
    format!("{server}{SEPARATOR}{name}")
}

/// Returns the position of the server and the item's own name, if the name has a prefix.
pub(super) fn split_prefix<'n>(servers: &[String], name: &'n str) -> Option<(usize, &'n str)> {
    let (server, own) = name.split_once(SEPARATOR)?;
    Some((servers.iter().position(|known| known == server)?, own))
}

/// Returns the name that clients see for each item.
pub(super) fn names(servers: &[String], items: &[Item<'_>], prefix: Prefix) -> Vec<String> {
    let mut owners: HashMap<&str, BTreeSet<usize>> = HashMap::new();
    for (server, name) in items {
        owners.entry(name).or_default().insert(*server);
    }
    let needs_prefix = |name: &str, owners: &BTreeSet<usize>| {
        let is_foreign = split_prefix(servers, name).is_some_and(|(server, _)| !owners.contains(&server));
        prefix == Prefix::Always || owners.len() > 1 || is_foreign
    };
    let with_owners = owners.iter().filter(|(name, owners)| needs_prefix(name, owners));
    let mut queue: Vec<&str> = with_owners.map(|(name, _)| *name).collect();
    let mut with_prefix: HashSet<&str> = queue.iter().copied().collect();
    // A server may have a tool whose name looks like one with a prefix. Then that tool gets a prefix, too.
    while let Some(name) = queue.pop() {
        let seen = owners[name].iter().map(|server| prefixed(&servers[*server], name));
        let taken = seen.filter_map(|seen| owners.get_key_value(&*seen).map(|(name, _)| *name));
        queue.extend(taken.filter(|name| with_prefix.insert(name)));
    }
    let name = |(server, name): &Item<'_>| match with_prefix.contains(name) {
        true => prefixed(&servers[*server], name),
        false => (*name).to_owned(),
    };
    items.iter().map(name).collect()
}

/// Returns a URI, or a URI template, with its server's name as a prefix.
pub(super) fn prefixed_uri(server: &str, uri: &str) -> String {
    format!("{server}+{uri}")
}

/// Returns the position of the server and the resource's own URI, if the URI has a prefix.
pub(super) fn split_uri_prefix<'n>(servers: &[String], uri: &'n str) -> Option<Item<'n>> {
    let (server, own) = uri.split_once('+')?;
    Some((servers.iter().position(|known| known == server)?, own))
}

/// Whether one server or several have a URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    One(usize),
    Several,
}

/// The URIs and URI templates of all servers.
#[derive(Debug, Default)]
pub(super) struct Uris {
    /// The servers, if there are several. A URI that begins with the prefix of one of them belongs to no other.
    reserved: Vec<String>,
    prefix: Prefix,
    uris: HashMap<String, Owner>,
    templates: HashMap<String, Owner>,
    /// The part of each template before its first variable.
    template_starts: BTreeMap<String, Owner>,
    /// The only server with resources.
    only: Option<Owner>,
}

impl Owner {
    fn and(self, server: usize) -> Self {
        if self == Self::One(server) { self } else { Self::Several }
    }
}

/// Returns the entry with the longest key that a text begins with.
fn longest_start<'m, T>(map: &'m BTreeMap<String, T>, text: &str) -> Option<&'m T> {
    // A key that is a prefix of `text` is also a prefix of what `text` shares with any key sorted between the two.
    let mut end = text;
    loop {
        let (key, value) = map.range::<str, _>((Unbounded, Included(end))).next_back()?;
        if text.starts_with(&**key) {
            return Some(value);
        }
        let common = end.char_indices().zip(key.chars()).find(|((_, a), b)| a != b).map(|((at, _), _)| at);
        end = &end[..common.unwrap_or(end.len().min(key.len()))];
    }
}

impl Uris {
    /// Indexes the resources and the resource templates of all servers.
    pub(super) fn new(servers: &[String], resources: &[Item<'_>], templates: &[Item<'_>], prefix: Prefix) -> Self {
        let reserved = if servers.len() > 1 { servers.to_owned() } else { Vec::new() };
        let mut uris = Self { reserved, prefix, ..Self::default() };
        let new = |server: &usize| Owner::One(*server);
        for (server, uri) in resources {
            let owner = uris.uris.entry((*uri).to_owned()).or_insert(new(server));
            *owner = owner.and(*server);
        }
        for (server, template) in templates {
            let owner = uris.templates.entry((*template).to_owned()).or_insert(new(server));
            *owner = owner.and(*server);
            let start = template.split('{').next().unwrap_or_default();
            let owner = uris.template_starts.entry(start.to_owned()).or_insert(new(server));
            *owner = owner.and(*server);
        }
        let all = resources.iter().chain(templates).map(|(server, _)| *server);
        let with_resources: BTreeSet<usize> = if servers.len() == 1 { [0].into() } else { all.collect() };
        uris.only = match with_resources.iter().collect::<Vec<_>>()[..] {
            [only] => Some(Owner::One(*only)),
            _ => None,
        };
        uris
    }

    /// Returns whether a server lists a resource with this URI.
    pub(super) fn is_listed(&self, uri: &str) -> bool {
        self.uris.contains_key(uri)
    }

    /// Returns whether a URI or template may belong to a server although it lacks that server's prefix.
    fn is_free(&self, uri: &str) -> bool {
        self.prefix == Prefix::Clash && split_uri_prefix(&self.reserved, uri).is_none()
    }

    /// Returns the server that has a URI without a prefix. `None` if no server or several servers have it.
    pub(super) fn owner(&self, uri: &str) -> Option<usize> {
        if !self.is_free(uri) {
            return None;
        }
        let by_template = || longest_start(&self.template_starts, uri).copied();
        match self.uris.get(uri).copied().or_else(by_template).or(self.only) {
            Some(Owner::One(server)) => Some(server),
            _ => None,
        }
    }

    /// Returns the server that has a URI template without a prefix.
    pub(super) fn template_owner(&self, template: &str) -> Option<usize> {
        match self.templates.get(template).copied().or(self.only).filter(|_| self.is_free(template)) {
            Some(Owner::One(server)) => Some(server),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers() -> Vec<String> {
        ["a", "b", "c"].map(str::to_owned).into()
    }

    #[test]
    fn prefixes_names_that_clash() {
        for (items, expected) in [
            (vec![(0, "read"), (1, "write")], vec!["read", "write"]),
            (vec![(0, "read"), (1, "read"), (2, "write")], vec!["a__read", "b__read", "write"]),
            // A server lists a name twice.
            (vec![(0, "read"), (0, "read")], vec!["read", "read"]),
            // A server takes the name that another would get.
            (vec![(0, "x"), (1, "x"), (2, "a__x")], vec!["a__x", "b__x", "c__a__x"]),
            (vec![(0, "a__x"), (1, "x")], vec!["a__x", "x"]),
            // A server takes a name that another has not listed yet.
            (vec![(0, "b__x"), (1, "y")], vec!["a__b__x", "y"]),
            // Names with prefixes take each other.
            (vec![(0, "x"), (1, "x"), (0, "a__x"), (0, "a__a__x")], vec!["a__x", "b__x", "a__a__x", "a__a__a__x"]),
        ] {
            assert_eq!(names(&servers(), &items, Prefix::Clash), expected, "{items:?}");
        }
        assert_eq!(names(&servers(), &[(0, "read"), (1, "x")], Prefix::Always), ["a__read", "b__x"]);
    }

    #[test]
    fn splits_prefixes() {
        assert_eq!(split_prefix(&servers(), "c__a__x"), Some((2, "a__x")));
        assert_eq!(split_prefix(&servers(), "d__x"), None);
        assert_eq!(split_uri_prefix(&servers(), "b+git+ssh://x"), Some((1, "git+ssh://x")));
        assert_eq!(split_uri_prefix(&servers(), "git+ssh://x"), None);
    }

    #[test]
    fn finds_the_owners_of_uris() {
        let templates = [(0, "file:///{path}"), (1, "file:///notes/{name}"), (1, "db://{x}"), (2, "db://{y}")];
        let resources = [(0, "file:///a"), (1, "file:///a"), (2, "file:///notes/b"), (0, "b+file:///c")];
        let uris = Uris::new(&servers(), &resources, &templates, Prefix::Clash);
        for (uri, owner) in [
            ("file:///a", None),
            ("file:///c", Some(0)),
            ("file:///notes/b", Some(2)),
            ("file:///notes/c", Some(1)),
            ("db://x", None),
            ("file:///note", Some(0)),
            ("other://x", None),
            ("b+file:///c", None),
        ] {
            assert_eq!(uris.owner(uri), owner, "{uri}");
        }
        assert_eq!(uris.template_owner("db://{y}"), Some(2));
        for (count, resources, prefix, owner) in [
            (3, vec![(1, "file:///a")], Prefix::Clash, Some(1)),
            (1, vec![], Prefix::Clash, Some(0)),
            (2, vec![], Prefix::Clash, None),
            (3, vec![(1, "file:///a")], Prefix::Always, None),
        ] {
            let uris = Uris::new(&servers()[..count], &resources, &[], prefix);
            assert_eq!(uris.owner("other://x"), owner, "{count} {resources:?}");
        }
    }
}
