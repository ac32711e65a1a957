//! Resource limits per owner.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

/// What is counted per owner.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Requests,
    Notifications,
    Streams,
    Sessions,
    BodyBytes,
    MessageBytes,
    SessionBytes,
}

const KINDS: usize = 7;

/// Usage per owner. Owners that use nothing are not stored.
#[derive(Debug, Default)]
pub(super) struct Quotas(Mutex<HashMap<Arc<str>, [usize; KINDS]>>);

impl Quotas {
    /// Takes a part of an owner's quota. Returns `None` if that would exceed the limit.
    pub(super) fn take(self: &Arc<Self>, owner: &Arc<str>, kind: Kind, amount: usize, limit: usize) -> Option<Quota> {
        let mut quota = Quota { quotas: Arc::clone(self), owner: Arc::clone(owner), kind, amount: 0 };
        quota.grow(amount, limit).then_some(quota)
    }

    /// Adds to an owner's usage. Returns `false`, and adds nothing, if that would exceed the limit.
    pub(super) fn add(&self, owner: &Arc<str>, kind: Kind, amount: usize, limit: usize) -> bool {
        let mut used = self.used();
        let before = used.get(owner).map_or(0, |used| used[kind as usize]);
        let fits = before.saturating_add(amount) <= limit;
        if fits && amount > 0 {
            used.entry(Arc::clone(owner)).or_default()[kind as usize] += amount;
        }
        fits
    }

    pub(super) fn remove(&self, owner: &Arc<str>, kind: Kind, amount: usize) {
        let mut used = self.used();
        if let Some(counts) = used.get_mut(owner) {
            let count = &mut counts[kind as usize];
            *count = count.saturating_sub(amount);
            if counts.iter().all(|count| *count == 0) {
                used.remove(owner);
            }
        }
    }

    pub(super) fn of(&self, owner: &Arc<str>, kind: Kind) -> usize {
        self.used().get(owner).map_or(0, |used| used[kind as usize])
    }

    fn used(&self) -> MutexGuard<'_, HashMap<Arc<str>, [usize; KINDS]>> {
        self.0.lock()
    }
}

/// Part of an owner's quota, released on drop.
#[derive(Debug)]
pub(super) struct Quota {
    quotas: Arc<Quotas>,
    owner: Arc<str>,
    kind: Kind,
    amount: usize,
}

impl Quota {
    /// Takes more of the quota. Returns `false`, and takes nothing, if that would exceed the limit.
    pub(super) fn grow(&mut self, more: usize, limit: usize) -> bool {
        let fits = self.quotas.add(&self.owner, self.kind, more, limit);
        if fits {
            self.amount += more;
        }
        fits
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        self.quotas.remove(&self.owner, self.kind, self.amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_owner_and_kind_and_stores_only_owners_in_use() {
        let quotas = Arc::<Quotas>::default();
        let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
        let take = |owner, kind, amount| quotas.take(owner, kind, amount, 3);
        let mut first = take(&ann, Kind::Requests, 2).expect("within the limit");
        assert!(take(&ann, Kind::Requests, 2).is_none());
        assert!(take(&ann, Kind::Sessions, 2).is_some());
        assert!(take(&bob, Kind::Requests, 3).is_some());
        assert!(first.grow(1, 3) && !first.grow(1, 3));
        assert_eq!(quotas.used().len(), 1, "bob has released everything");
        drop(first);
        assert!(quotas.used().is_empty());
    }
}
