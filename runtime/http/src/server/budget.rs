//! Memory budgets for the whole endpoint, with a share for each owner.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::StatusCode;
use mcpgen_runtime::transport::MessageBudget;

use super::quota::{Kind, Quotas};
use super::refusal::Refusal;

/// How much memory messages or sessions may take, in bytes.
#[derive(Debug)]
pub(super) struct Budget {
    /// The [`EndpointOptions`](super::EndpointOptions) field that sets the budget.
    option: &'static str,
    total: usize,
    per_owner: usize,
    used: AtomicUsize,
    kind: Kind,
    quotas: Arc<Quotas>,
}

/// Part of a budget, released on drop.
#[derive(Debug)]
pub(super) struct Charge {
    budget: Arc<Budget>,
    owner: Option<Arc<str>>,
    bytes: AtomicUsize,
}

/// Why a charge does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exceeded {
    /// The charge alone is larger than the budget or its owner's share.
    Alone(usize),
    Owner,
    Total,
}

impl Budget {
    /// Creates a budget of `total` bytes, of which each owner gets a quarter.
    pub(super) fn new(option: &'static str, total: usize, kind: Kind, quotas: &Arc<Quotas>) -> Arc<Self> {
        let (per_owner, used, quotas) = (total / 4, AtomicUsize::new(0), Arc::clone(quotas));
        Arc::new(Self { option, total, per_owner, used, kind, quotas })
    }

    pub(super) fn charge(self: &Arc<Self>, owner: Option<&Arc<str>>, bytes: usize) -> Result<Charge, Exceeded> {
        if bytes > owner.map_or(self.total, |_| self.per_owner) {
            return Err(Exceeded::Alone(bytes));
        }
        if let Some(owner) = owner
            && !self.quotas.add(owner, self.kind, bytes, self.per_owner)
        {
            return Err(Exceeded::Owner);
        }
        // On failure, dropping this releases the owner's share.
        let charge = Charge { budget: Arc::clone(self), owner: owner.cloned(), bytes: AtomicUsize::new(bytes) };
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > self.total { Err(Exceeded::Total) } else { Ok(charge) }
    }

    /// Charges memory that is already in use, even if that exceeds the budget.
    pub(super) fn charge_existing(self: &Arc<Self>, owner: Option<&Arc<str>>, bytes: usize) -> Charge {
        let charge = Charge { budget: Arc::clone(self), owner: owner.cloned(), bytes: AtomicUsize::new(0) };
        charge.add(bytes);
        charge
    }

    /// Returns why the budget has no room for more, or `None` if it has.
    pub(super) fn exceeded(&self, owner: Option<&Arc<str>>) -> Option<Exceeded> {
        if self.used.load(Ordering::Relaxed) > self.total {
            return Some(Exceeded::Total);
        }
        let is_over = owner.is_some_and(|owner| self.quotas.of(owner, self.kind) > self.per_owner);
        is_over.then_some(Exceeded::Owner)
    }

    pub(super) fn refusal(&self, exceeded: Exceeded) -> Refusal {
        let Self { option, total, per_owner, .. } = self;
        match exceeded {
            Exceeded::Alone(bytes) => Refusal::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!(
                    "the message takes {bytes} bytes of memory, more than `EndpointOptions::{option}` allows ({total}, \
                     and {per_owner} for one owner)"
                ),
            ),
            Exceeded::Owner => Refusal::busy(format!(
                "this owner uses its share of the memory, {per_owner} bytes (a quarter of `EndpointOptions::{option}`)"
            )),
            Exceeded::Total => {
                Refusal::busy(format!("the memory is used up, {total} bytes (`EndpointOptions::{option}`)"))
            }
        }
    }
}

impl Charge {
    /// Adds memory that is already in use. May exceed the budget: only new requests can be refused.
    pub(super) fn add(&self, bytes: usize) {
        let Self { budget, owner, .. } = self;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        budget.used.fetch_add(bytes, Ordering::Relaxed);
        if let Some(owner) = owner {
            budget.quotas.add(owner, budget.kind, bytes, usize::MAX);
        }
    }

    pub(super) fn remove(&self, bytes: usize) {
        let Self { budget, owner, .. } = self;
        let less = |held: usize| Some(held.saturating_sub(bytes));
        let held = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).unwrap_or_else(|held| held);
        let removed = bytes.min(held);
        budget.used.fetch_sub(removed, Ordering::Relaxed);
        if let Some(owner) = owner {
            budget.quotas.remove(owner, budget.kind, removed);
        }
    }

    pub(super) fn is_exceeded(&self) -> bool {
        self.budget.exceeded(self.owner.as_ref()).is_some()
    }
}

impl MessageBudget for Charge {
    fn take(&self, bytes: usize) -> bool {
        self.add(bytes);
        let own = self.bytes.load(Ordering::Relaxed);
        let of_all = match self.budget.exceeded(self.owner.as_ref()) {
            None | Some(Exceeded::Alone(_)) => return true,
            Some(Exceeded::Owner) => {
                self.owner.as_ref().map_or(0, |owner| self.budget.quotas.of(owner, self.budget.kind))
            }
            Some(Exceeded::Total) => self.budget.used.load(Ordering::Relaxed),
        };
        let fits = of_all <= own;
        if !fits {
            self.remove(bytes);
        }
        fits
    }

    fn release(&self, bytes: usize) {
        self.remove(bytes);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.remove(usize::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_the_total_and_the_share_of_each_owner() {
        let quotas = Arc::default();
        let budget = Budget::new("option", 100, Kind::MessageBytes, &quotas);
        let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
        let charge = |owner, bytes| budget.charge(owner, bytes);
        assert_eq!(charge(None, 101).err(), Some(Exceeded::Alone(101)));
        assert_eq!(charge(Some(&ann), 26).err(), Some(Exceeded::Alone(26)));
        let of_ann = charge(Some(&ann), 20).expect("within her share");
        assert_eq!(charge(Some(&ann), 6).err(), Some(Exceeded::Owner));
        let anyone = charge(None, 70).expect("within the total");
        assert_eq!(charge(Some(&bob), 11).err(), Some(Exceeded::Total));
        assert!(charge(Some(&bob), 10).is_ok(), "what was refused is not counted");
        assert_eq!((budget.exceeded(None), of_ann.is_exceeded()), (None, false));
        of_ann.add(6);
        assert_eq!((budget.exceeded(None), budget.exceeded(Some(&ann))), (None, Some(Exceeded::Owner)));
        of_ann.add(10);
        assert_eq!((budget.exceeded(None), anyone.is_exceeded()), (Some(Exceeded::Total), true));
        of_ann.remove(16);
        let second = charge(Some(&ann), 3).expect("within her share");
        assert!(!of_ann.take(3), "exceeds the share of the owner");
        assert!(!anyone.take(8), "exceeds the total");
        assert!(of_ann.take(2));
        of_ann.release(2);
        drop(second);
        assert!(of_ann.take(6), "nothing else takes her share");
        of_ann.release(6);
        assert_eq!(budget.exceeded(Some(&ann)), None);
        drop((of_ann, anyone));
        assert_eq!((budget.used.load(Ordering::Relaxed), quotas.of(&ann, Kind::MessageBytes)), (0, 0));
    }
}
