//! Runs a program without backreferences in linear time, following all paths at once.

use crate::program::{Op, Program};
use crate::steps::{Fuel, TooExpensive};

pub(crate) fn is_match(program: &Program, text: &str, fuel: &mut Fuel) -> Result<bool, TooExpensive> {
    let mut run = Run { program, text, places: Vec::with_capacity(program.lookarounds.len()) };
    for lookaround in &program.lookarounds {
        let mut places = Places(vec![0; text.len() / 64 + 1]);
        run.search(&lookaround.ops, Search { backwards: lookaround.ahead, is_anchored: false }, fuel, |place| {
            places.insert(place);
            true
        })?;
        run.places.push(places);
    }
    let mut is_found = false;
    run.search(&program.ops, Search { backwards: false, is_anchored: program.is_anchored }, fuel, |_| {
        is_found = true;
        false
    })?;
    Ok(is_found)
}

/// Positions in a text, one bit per byte.
struct Places(Vec<u64>);

impl Places {
    fn insert(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    fn contains(&self, place: usize) -> bool {
        self.0[place / 64] >> (place % 64) & 1 == 1
    }
}

#[derive(Clone, Copy)]
struct Search {
    backwards: bool,
    is_anchored: bool,
}

struct Run<'r> {
    program: &'r Program,
    text: &'r str,
    places: Vec<Places>,
}

impl Run<'_> {
    /// Begins matches everywhere, or only at the start if anchored. Calls `found` at each end until it returns `false`.
    fn search(
        &self,
        ops: &[Op],
        search: Search,
        fuel: &mut Fuel,
        mut found: impl FnMut(usize) -> bool,
    ) -> Result<(), TooExpensive> {
        let mut place = if search.backwards { self.text.len() } else { 0 };
        // The states visited at this position, those still to visit, and those that wait for a character.
        let (mut visited, mut pending, mut waiting) = (vec![usize::MAX; ops.len()], vec![0_u32], Vec::new());
        fuel.burn(ops.len() / 16)?;
        loop {
            let (before, after) = self.text.split_at(place);
            let neighbours = (before.chars().next_back(), after.chars().next());
            let mut is_match = false;
            while let Some(state) = pending.pop() {
                fuel.burn(1)?;
                if std::mem::replace(&mut visited[state as usize], place) == place {
                    continue;
                }
                let holds = match ops[state as usize] {
                    Op::Match => {
                        is_match = true;
                        false
                    }
                    Op::Class(_) => {
                        waiting.push(state);
                        false
                    }
                    Op::Split(first, second) => {
                        pending.extend([first, second]);
                        false
                    }
                    Op::Jump(target) => {
                        pending.push(target);
                        false
                    }
                    Op::Assert(assertion) => self.program.holds(assertion, neighbours, fuel)?,
                    Op::Lookaround(index) => {
                        let index = index as usize;
                        self.places[index].contains(place) != self.program.lookarounds[index].negated
                    }
                    // Only programs with backreferences have these.
                    Op::BackReference(_) | Op::Save(_) | Op::Clear(..) | Op::Progress(_) => true,
                };
                if holds {
                    pending.push(state + 1);
                }
            }
            if is_match && !found(place) {
                return Ok(());
            }
            let next = if search.backwards { neighbours.0 } else { neighbours.1 };
            let Some(character) = next else { return Ok(()) };
            for state in waiting.drain(..) {
                fuel.burn(1)?;
                if let Op::Class(index) = ops[state as usize]
                    && self.program.classes[index as usize].contains(character, fuel)?
                {
                    pending.push(state + 1);
                }
            }
            match search.is_anchored {
                true if pending.is_empty() => return Ok(()),
                true => {}
                false => pending.push(0),
            }
            let length = character.len_utf8();
            place = if search.backwards { place - length } else { place + length };
        }
    }
}
