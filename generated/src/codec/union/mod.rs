//! Which member of a union is responsible for a value: decided by ordered guards, never tried.

mod guard;
mod refusal;
mod seen;

use std::borrow::Cow;

use crate::Error;

use super::buffer::{Front, ReplayArray, ReplayObject, filled};
use super::object::own;
use super::{ArrayAccess, Decode, Event, Literal, ObjectAccess, Slot, Tree};

pub use guard::{Condition, Guard, JsonTypes};
use seen::{Decision, Root, Seen};

impl Event<'_> {
    /// Finds the member that is responsible, and gives it the value: `build` gets its index and an
    /// event that shows the value from its beginning.
    ///
    /// Of an object or an array no more is read ahead than the guards need.
    ///
    /// # Errors
    ///
    /// [`NoMember`](crate::ErrorKind::NoMember) if no guard fits; those of `build`.
    pub fn union<T>(
        self,
        guards: &[Guard],
        mut build: impl FnMut(usize, Event<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut built = None;
        self.decide(guards, &mut |member, event| {
            built.get_or_insert(build(member, event)?);
            Ok(())
        })?;
        filled(built)
    }

    fn decide(self, guards: &[Guard], build: Build<'_>) -> Result<(), Error> {
        match self {
            Event::Array(array) => decide_array(array, guards, build),
            Event::Object(object) => decide_object(object, guards, build),
            scalar => {
                let types = JsonTypes::of(&scalar);
                let seen = Seen { types, root: Root::Scalar(&scalar), complete: true };
                match seen.decision(guards) {
                    Decision::Member(member) => build(member, scalar),
                    Decision::Nobody | Decision::Open => Err(seen.refusal(guards)),
                }
            }
        }
    }
}

type Build<'a> = &'a mut dyn FnMut(usize, Event<'_>) -> Result<(), Error>;

fn decide_object(object: &mut dyn ObjectAccess, guards: &[Guard], build: Build<'_>) -> Result<(), Error> {
    let mut ahead = Ahead { guards, front: Front::default() };
    let mut complete = false;
    loop {
        let seen = Seen { types: JsonTypes::OBJECT, root: Root::Object(&ahead.front), complete };
        match seen.decision(guards) {
            Decision::Open => complete = !ahead.read(object)?,
            Decision::Nobody => return Err(seen.refusal(guards)),
            Decision::Member(member) => {
                let live = (!complete).then_some(object);
                return build(member, Event::Object(&mut ReplayObject::new(ahead.front, live)));
            }
        }
    }
}

fn decide_array(array: &mut dyn ArrayAccess, guards: &[Guard], build: Build<'_>) -> Result<(), Error> {
    let mut elements = Vec::new();
    let mut complete = false;
    loop {
        let seen = Seen { types: JsonTypes::ARRAY, root: Root::Array(&elements), complete };
        match seen.decision(guards) {
            Decision::Open => {
                let index = elements.len();
                complete = !array.next(&mut elements).map_err(|error| error.at_index(index))?;
            }
            Decision::Nobody => return Err(seen.refusal(guards)),
            Decision::Member(member) => {
                let live = (!complete).then_some(array);
                return build(member, Event::Array(&mut ReplayArray::new(elements, live)));
            }
        }
    }
}

/// Members read ahead.
struct Ahead<'a> {
    guards: &'a [Guard],
    front: Front,
}

impl Ahead<'_> {
    /// Reads up to and with the next member that can change the decision: one that some guard looks
    /// at, and the first of its name. `false` if the object is over before.
    fn read(&mut self, object: &mut dyn ObjectAccess) -> Result<bool, Error> {
        loop {
            let mut name = Cow::Borrowed("");
            let mut head = None;
            let more = object.key(&mut |key| {
                head = heads(self.guards).find(|head| *head == key);
                name = head.map_or_else(|| own(key), Cow::Borrowed);
            })?;
            if !more {
                return Ok(false);
            }
            let mut tag = Tag { head, guards: self.guards, tree: None };
            let read = object.value(&mut tag);
            let tree = tag.tree;
            if let Err(error) = read {
                return Err(error.at_key(name));
            }
            let decides = head.is_some_and(|head| self.front.get(head).is_none());
            self.front.push((name, filled(tree)?));
            if decides {
                return Ok(true);
            }
        }
    }
}

/// The keys that guards look at.
fn heads(guards: &[Guard]) -> impl Iterator<Item = &'static str> {
    conditions(guards).filter_map(|condition| condition.path().first().copied())
}

fn conditions(guards: &[Guard]) -> impl Iterator<Item = &'static Condition> {
    guards.iter().flat_map(|guard| guard.when)
}

/// Takes a value read ahead. One that guards look for is not copied: they have it already.
struct Tag<'a> {
    head: Option<&'static str>,
    guards: &'a [Guard],
    tree: Option<Tree>,
}

impl Tag<'_> {
    fn known(&self, text: &str) -> Option<&'static str> {
        let head = self.head?;
        let values = conditions(self.guards).filter_map(|condition| match condition {
            Condition::Value { path: [only], any_of } if *only == head => Some(*any_of),
            _ => None,
        });
        values.flatten().find_map(|literal| match literal {
            Literal::Str(known) if *known == text => Some(*known),
            _ => None,
        })
    }
}

impl Slot for Tag<'_> {
    fn put(&mut self, event: Event<'_>) -> Result<(), Error> {
        let known = match &event {
            Event::Str(text) => self.known(text),
            _ => None,
        };
        self.tree = Some(match known {
            Some(known) => Tree::Text(Cow::Borrowed(known)),
            None => Tree::decode(event)?,
        });
        Ok(())
    }
}
