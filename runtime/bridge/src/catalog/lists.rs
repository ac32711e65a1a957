//! The lists of all servers of a client, as far as the client has asked for them.

use std::sync::Arc;

use parking_lot::Mutex;

use super::{Catalog, Kind, Memory, Prefix, ServerList};

/// The lists of all servers of a client, and the catalog of them.
#[derive(Debug)]
pub struct Lists {
    servers: Vec<String>,
    prefix: Prefix,
    memory: Arc<Memory>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    of_kind: [Vec<ServerList>; 4],
    catalog: Arc<Catalog>,
}

impl Lists {
    /// Creates the lists of servers with these names. `known` returns what is known about a server's list.
    pub fn new(
        servers: &[String],
        prefix: Prefix,
        memory: &Arc<Memory>,
        known: impl Fn(Kind, usize) -> ServerList,
    ) -> Self {
        let of_kind = Kind::ALL.map(|kind| (0..servers.len()).map(|server| known(kind, server)).collect());
        let state = Mutex::new(State { of_kind, ..State::default() });
        let lists = Self { servers: servers.to_owned(), prefix, memory: Arc::clone(memory), state };
        lists.rebuild();
        lists
    }

    /// Returns a server's list of this kind.
    #[must_use]
    pub fn get(&self, kind: Kind, server: usize) -> ServerList {
        self.state.lock().of_kind[kind as usize][server].clone()
    }

    /// Returns whether a server's list has not changed since it was read.
    #[must_use]
    pub fn is_current(&self, kind: Kind, server: usize) -> bool {
        let list = &self.state.lock().of_kind[kind as usize][server];
        list.read_at == Some(list.changes)
    }

    /// Returns whether the client has asked for lists of a kind.
    #[must_use]
    pub fn is_known(&self, kind: Kind) -> bool {
        self.state.lock().of_kind[kind as usize].iter().any(|list| list.read_at.is_some())
    }

    /// Changes what is known about a server's list. The catalog stays the same until it is built again.
    pub fn update(&self, kind: Kind, server: usize, update: impl FnOnce(&mut ServerList)) {
        update(&mut self.state.lock().of_kind[kind as usize][server]);
    }

    /// Returns the catalog as it was last built.
    #[must_use]
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.state.lock().catalog)
    }

    /// Builds the catalog again, and returns it.
    pub fn rebuild(&self) -> Arc<Catalog> {
        let mut state = self.state.lock();
        state.catalog = Arc::new(Catalog::new(&self.servers, &state.of_kind, self.prefix, &self.memory));
        Arc::clone(&state.catalog)
    }
}
