//! The files of a revision, dealt to threads: tokens cannot go from one thread to another, and so each makes its own.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::thread;

use crate::error::Error;
use crate::items::{self, Options};
use crate::protocol::Protocol;
use crate::{area, files};

/// The areas that one thread writes. What it does not write it knows by name.
pub(crate) enum Share {
    All,
    Of(BTreeSet<String>),
}

impl Share {
    pub(crate) fn has(&self, area: &str) -> bool {
        match self {
            Self::All => true,
            Self::Of(areas) => areas.contains(area),
        }
    }
}

/// The module of all areas. Its name is that of its file.
pub(crate) const ROOT: &str = "mod";

/// Deals the areas so that all threads have about as many types.
fn deal(protocol: &Protocol, threads: usize) -> Vec<Share> {
    let mut weights = BTreeMap::from([(ROOT, 1), (area::MESSAGES, 1), (items::JSON_SCHEMA_AREA, 1)]);
    for def in &protocol.types {
        *weights.entry(&def.area).or_insert(0) += 1;
    }
    let mut weights: Vec<(&str, usize)> = weights.into_iter().collect();
    weights.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    let mut hands = vec![(0, BTreeSet::new()); threads.clamp(1, weights.len())];
    for (area, weight) in weights {
        if let Some((total, areas)) = hands.iter_mut().min_by_key(|(total, _)| *total) {
            *total += weight;
            areas.insert(area.to_owned());
        }
    }
    hands.into_iter().map(|(_, areas)| Share::Of(areas)).collect()
}

/// Writes a revision on so many threads. The text does not depend on how many.
pub(crate) fn emit(protocol: &Protocol, options: &Options, threads: usize) -> Result<BTreeMap<String, String>, Error> {
    let write = |share: &Share| files::some(protocol, items::some(protocol, options, share)?, options, share);
    if threads < 2 {
        return write(&Share::All);
    }
    let shares = deal(protocol, threads);
    thread::scope(|scope| {
        let threads: Vec<_> = shares.iter().map(|share| scope.spawn(|| write(share))).collect();
        let mut files = BTreeMap::new();
        for thread in threads {
            // A panic is as much a defect here as in one thread.
            files.extend(thread.join().unwrap_or_else(|cause| resume_unwind(cause))?);
        }
        Ok(files)
    })
}

/// How many threads can run at the same time.
pub(crate) fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{Workspace, schema_path};

    #[test]
    fn the_text_does_not_depend_on_the_threads() {
        let workspace = Workspace::open(None).expect("the project's own");
        for (row, protocol) in workspace.revisions.iter().zip(workspace.models().expect("models")) {
            let options = Options {
                revision: row.name.clone(),
                support: "crate".to_owned(),
                command: "test".to_owned(),
                source: schema_path(&row.name),
                vendored: Some(row.module()),
            };
            let [alone, together] = [1, 3].map(|threads| emit(&protocol, &options, threads).expect("code"));
            assert_eq!(alone, together, "{}", row.name);
        }
    }
}
