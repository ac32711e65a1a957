//! Runs a program with backreferences by backtracking.

use crate::class::COST;
use crate::parse::BackReference;
use crate::program::{Op, Program};
use crate::steps::{Fuel, TooExpensive};

pub(crate) fn is_match(program: &Program, text: &str, fuel: &mut Fuel) -> Result<bool, TooExpensive> {
    let starts = text.char_indices().map(|(start, _)| start).chain([text.len()]);
    let mut run = Run { program, text, slots: Vec::new(), fuel };
    for start in starts.take(if program.is_anchored { 1 } else { usize::MAX }) {
        run.fuel.burn(program.slots)?;
        run.slots = vec![NONE; program.slots];
        if run.attempt(&program.ops, start, false)? {
            return Ok(true);
        }
    }
    Ok(false)
}

const NONE: usize = usize::MAX;

/// The maximum length of the undo list, which bounds the memory.
const MAX_UNDO: usize = 1_000_000;

enum Undo {
    /// Continue at another instruction and position.
    Try(u32, usize),
    /// Restore a slot, then keep undoing.
    Restore(u32, usize),
}

struct Run<'r> {
    program: &'r Program,
    text: &'r str,
    slots: Vec<usize>,
    fuel: &'r mut Fuel,
}

impl Run<'_> {
    /// Returns whether a match begins at `start`. On failure, the slots are unchanged.
    fn attempt(&mut self, ops: &[Op], start: usize, backwards: bool) -> Result<bool, TooExpensive> {
        let (mut state, mut place, mut undo) = (0_u32, start, Vec::new());
        loop {
            self.fuel.burn(1)?;
            if undo.len() > MAX_UNDO {
                return Err(TooExpensive);
            }
            let holds = match ops[state as usize] {
                Op::Match => return Ok(true),
                Op::Split(first, second) => {
                    undo.push(Undo::Try(second, place));
                    state = first;
                    continue;
                }
                Op::Jump(target) => {
                    state = target;
                    continue;
                }
                Op::Class(index) => match self.neighbour(place, backwards) {
                    Some(character) if self.program.classes[index as usize].contains(character, self.fuel)? => {
                        place = moved(place, character.len_utf8(), backwards);
                        true
                    }
                    _ => false,
                },
                Op::Assert(assertion) => {
                    let neighbours = (self.neighbour(place, true), self.neighbour(place, false));
                    self.program.holds(assertion, neighbours, self.fuel)?
                }
                Op::Save(slot) => {
                    self.set(slot, place, &mut undo);
                    true
                }
                Op::Clear(first, end) => {
                    self.fuel.burn((end - first) as usize)?;
                    (first..end).for_each(|slot| self.set(slot, NONE, &mut undo));
                    true
                }
                Op::Progress(slot) => self.slots[slot as usize] != place,
                Op::BackReference(index) => match self.after_repeated(index, place, backwards)? {
                    Some(end) => {
                        place = end;
                        true
                    }
                    None => false,
                },
                Op::Lookaround(index) => self.lookaround(index, place, &mut undo)?,
            };
            if holds {
                state += 1;
                continue;
            }
            loop {
                match undo.pop() {
                    None => return Ok(false),
                    Some(Undo::Restore(slot, position)) => self.slots[slot as usize] = position,
                    Some(Undo::Try(other, there)) => {
                        (state, place) = (other, there);
                        break;
                    }
                }
            }
        }
    }

    /// A positive lookaround keeps what its groups captured. A negative one does not.
    fn lookaround(&mut self, index: u32, place: usize, undo: &mut Vec<Undo>) -> Result<bool, TooExpensive> {
        let program = self.program;
        let lookaround = &program.lookarounds[index as usize];
        self.fuel.burn(self.slots.len())?;
        let slots = self.slots.clone();
        let is_match = self.attempt(&lookaround.ops, place, !lookaround.ahead)?;
        if lookaround.negated {
            self.slots = slots;
            return Ok(!is_match);
        }
        let changed = (0_u32..).zip(slots).filter(|(slot, before)| self.slots[*slot as usize] != *before);
        undo.extend(changed.map(|(slot, before)| Undo::Restore(slot, before)));
        Ok(is_match)
    }

    /// Matches what the group captured once more, and returns the position after it. A group that took no part in the
    /// match counts as empty.
    fn after_repeated(&mut self, index: u32, start: usize, backwards: bool) -> Result<Option<usize>, TooExpensive> {
        let BackReference { groups, same } = &self.program.back_references[index as usize];
        let captured = groups.iter().find_map(|group| self.text.get(self.slots[2 * group]..self.slots[2 * group + 1]));
        let (mut characters, mut place) = (captured.unwrap_or_default().chars(), start);
        while let Some(expected) = if backwards { characters.next_back() } else { characters.next() } {
            self.fuel.burn(if same.is_some() { COST } else { 1 })?;
            let Some(found) = self.neighbour(place, backwards) else { return Ok(None) };
            let is_same = |same: &regress::Regex| same.find(&String::from_iter([expected, found])).is_some();
            if expected != found && !same.as_ref().is_some_and(is_same) {
                return Ok(None);
            }
            place = moved(place, found.len_utf8(), backwards);
        }
        Ok(Some(place))
    }

    fn set(&mut self, slot: u32, position: usize, undo: &mut Vec<Undo>) {
        let before = std::mem::replace(&mut self.slots[slot as usize], position);
        undo.push(Undo::Restore(slot, before));
    }

    fn neighbour(&self, place: usize, backwards: bool) -> Option<char> {
        let (before, after) = self.text.split_at(place);
        if backwards { before.chars().next_back() } else { after.chars().next() }
    }
}

fn moved(place: usize, length: usize, backwards: bool) -> usize {
    if backwards { place - length } else { place + length }
}
