//! What the guards say about as much of a value as has been read.

use crate::codec::buffer::Front;
use crate::codec::{Event, Literal, Tree};

use super::{Condition, Guard, JsonTypes};

/// What is known of a value while it is read.
pub(super) struct Seen<'a, 'e> {
    pub(super) types: JsonTypes,
    pub(super) root: Root<'a, 'e>,
    /// Nothing follows.
    pub(super) complete: bool,
}

pub(super) enum Root<'a, 'e> {
    Scalar(&'a Event<'e>),
    Array(&'a [Tree]),
    Object(&'a Front),
}

pub(super) enum Decision {
    Member(usize),
    Nobody,
    /// It depends on what has not been read yet.
    Open,
}

/// What is known of the place that a path leads to.
pub(super) enum Place<'a> {
    /// The value itself.
    Root,
    Inside(&'a Tree),
    Nothing,
    Unread,
}

impl Seen<'_, '_> {
    pub(super) fn decision(&self, guards: &[Guard]) -> Decision {
        for guard in guards {
            let mut open = false;
            let mut fits = true;
            for condition in guard.when {
                match self.holds(condition) {
                    Some(true) => {}
                    Some(false) => fits = false,
                    None => open = true,
                }
            }
            match (fits, open) {
                (true, false) => return Decision::Member(guard.member),
                (true, true) => return Decision::Open,
                (false, _) => {}
            }
        }
        Decision::Nobody
    }

    /// `None`: not known yet.
    pub(super) fn holds(&self, condition: &Condition) -> Option<bool> {
        match *condition {
            Condition::Type(types) => Some(types.contains(self.types)),
            Condition::Present { path } => self.is_present(path),
            Condition::Absent { path } => self.is_present(path).map(|present| !present),
            Condition::Value { path, any_of } => match self.place(path) {
                Place::Unread => None,
                Place::Nothing => Some(false),
                Place::Inside(tree) => Some(any_of.iter().any(|literal| literal.is_tree(tree))),
                Place::Root => self.root_is(any_of),
            },
        }
    }

    fn is_present(&self, path: &[&str]) -> Option<bool> {
        match self.place(path) {
            Place::Unread => None,
            Place::Nothing => Some(false),
            Place::Inside(_) | Place::Root => Some(true),
        }
    }

    fn root_is(&self, any_of: &[Literal]) -> Option<bool> {
        let tree = match self.root {
            Root::Scalar(event) => return Some(any_of.iter().any(|literal| literal.is(event))),
            _ if !any_of.iter().any(|literal| matches!(literal, Literal::Json(_))) => {
                return Some(false);
            }
            _ if !self.complete => return None,
            Root::Array(elements) => Tree::Array(elements.to_vec()),
            Root::Object(front) => Tree::Object(front.iter().cloned().collect()),
        };
        Some(any_of.iter().any(|literal| literal.is_tree(&tree)))
    }

    pub(super) fn place(&self, path: &[&str]) -> Place<'_> {
        let [head, rest @ ..] = path else {
            return Place::Root;
        };
        let inside = match self.root {
            Root::Scalar(_) => return Place::Nothing,
            Root::Array(elements) => match head.parse::<usize>() {
                Ok(index) => elements.get(index),
                Err(_) => return Place::Nothing,
            },
            Root::Object(front) => front.get(head),
        };
        match inside {
            Some(tree) => descend(tree, rest).map_or(Place::Nothing, Place::Inside),
            None if self.complete => Place::Nothing,
            None => Place::Unread,
        }
    }
}

fn descend<'a>(tree: &'a Tree, path: &[&str]) -> Option<&'a Tree> {
    path.iter().try_fold(tree, |tree, segment| match tree {
        Tree::Array(elements) => elements.get(segment.parse::<usize>().ok()?),
        Tree::Object(entries) => entries.iter().find(|(key, _)| key == segment).map(|(_, value)| value),
        _ => None,
    })
}
