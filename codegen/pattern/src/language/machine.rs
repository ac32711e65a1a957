//! Automata that read a text character by character, to decide whether it belongs to one set.

use std::collections::{BTreeSet, HashMap};

use super::{Language, Undecided};
use crate::parse::Assertion;
use crate::program::{Op, Program};
use crate::steps::{Fuel, TooExpensive};

/// An automaton. States are numbers, and 0 is the start.
pub(super) enum Machine<'l> {
    Pattern(Box<Pattern<'l>>),
    /// The state is the length. It stops growing once a longer text makes no difference.
    Length {
        min: u64,
        max: Option<u64>,
    },
    /// The state is a prefix of a word.
    Words {
        prefixes: Vec<&'l str>,
        words: BTreeSet<&'l str>,
    },
}

/// The state once no word starts with the text.
const NO_PREFIX: u32 = u32::MAX;

impl<'l> Machine<'l> {
    pub(super) fn new(part: &'l Language, fuel: &mut Fuel) -> Result<Self, Undecided> {
        Ok(match part {
            Language::Matching(regex) => Self::Pattern(Box::new(Pattern::new(&regex.0, fuel)?)),
            Language::Length { min, max } => Self::Length { min: *min, max: *max },
            Language::Words(words) => {
                let prefixes = words
                    .iter()
                    .flat_map(|word| word.char_indices().map(|(end, _)| &word[..end]).chain([word.as_str()]));
                let prefixes: BTreeSet<&str> = prefixes.chain([""]).collect();
                Self::Words {
                    prefixes: prefixes.into_iter().collect(),
                    words: words.iter().map(String::as_str).collect(),
                }
            }
            Language::All(_) | Language::Any(_) | Language::Not(_) => return Err(Undecided::Unsupported),
        })
    }

    pub(super) fn accepts(&self, state: u32) -> bool {
        match self {
            Self::Pattern(pattern) => pattern.states[state as usize].accepts,
            Self::Length { min, max } => u64::from(state) >= *min && max.is_none_or(|max| u64::from(state) <= max),
            Self::Words { prefixes, words } => prefixes.get(state as usize).is_some_and(|it| words.contains(it)),
        }
    }

    pub(super) fn next(&mut self, state: u32, character: char, fuel: &mut Fuel) -> Result<u32, TooExpensive> {
        match self {
            Self::Pattern(pattern) => pattern.next(state, character, fuel),
            Self::Length { min, max } => {
                let last = max.map_or(*min, |max| max.max(*min).saturating_add(1));
                Ok(state.saturating_add(u32::from(u64::from(state) < last)))
            }
            Self::Words { prefixes, .. } => {
                let Some(prefix) = prefixes.get(state as usize) else { return Ok(NO_PREFIX) };
                let longer = format!("{prefix}{character}");
                let found = prefixes.binary_search(&longer.as_str());
                Ok(found.ok().and_then(|state| u32::try_from(state).ok()).unwrap_or(NO_PREFIX))
            }
        }
    }
}

/// A deterministic automaton whose states are created when they are first reached.
pub(super) struct Pattern<'l> {
    program: &'l Program,
    /// Whether an assertion looks at the preceding character, and not only at whether there is one.
    looks_behind: bool,
    states: Vec<State>,
    known: HashMap<Key, u32>,
}

struct State {
    key: Key,
    accepts: bool,
}

/// `None` once a match is found, because the rest of the text cannot change that.
type Key = Option<(BTreeSet<u32>, Option<char>)>;

impl<'l> Pattern<'l> {
    fn new(program: &'l Program, fuel: &mut Fuel) -> Result<Self, Undecided> {
        if program.has_back_references || !program.lookarounds.is_empty() {
            return Err(Undecided::Unsupported);
        }
        let looks_behind = program
            .ops
            .iter()
            .any(|op| matches!(op, Op::Assert(Assertion::Boundary { .. } | Assertion::Start { multiline: true })));
        let mut pattern = Self { program, looks_behind, states: Vec::new(), known: HashMap::new() };
        pattern.state(Some((BTreeSet::new(), None)), fuel)?;
        Ok(pattern)
    }

    fn state(&mut self, key: Key, fuel: &mut Fuel) -> Result<u32, TooExpensive> {
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let accepts = match &key {
            None => true,
            Some((places, before)) => self.reach(places, (*before, None), fuel)?.is_none(),
        };
        let state = u32::try_from(self.states.len()).map_err(|_| TooExpensive)?;
        self.states.push(State { key: key.clone(), accepts });
        self.known.insert(key, state);
        Ok(state)
    }

    fn next(&mut self, state: u32, character: char, fuel: &mut Fuel) -> Result<u32, TooExpensive> {
        let Some((places, before)) = &self.states[state as usize].key else { return Ok(state) };
        let key = match self.reach(places, (*before, Some(character)), fuel)? {
            None => None,
            Some(waiting) => {
                let mut places = BTreeSet::new();
                for (place, class) in waiting {
                    if self.program.classes[class as usize].contains(character, fuel)? {
                        places.insert(place + 1);
                    }
                }
                Some((places, Some(if self.looks_behind { character } else { 'a' })))
            }
        };
        self.state(key, fuel)
    }

    /// Returns the instructions that wait for a character, each with its class, or `None` on a match. Also begins a
    /// match here.
    fn reach(
        &self,
        places: &BTreeSet<u32>,
        sides: (Option<char>, Option<char>),
        fuel: &mut Fuel,
    ) -> Result<Option<Vec<(u32, u32)>>, TooExpensive> {
        let mut waiting = Vec::new();
        let mut seen = BTreeSet::new();
        let mut stack: Vec<u32> = places.iter().copied().chain([0]).collect();
        while let Some(place) = stack.pop() {
            if !seen.insert(place) {
                continue;
            }
            fuel.burn(1)?;
            match self.program.ops[place as usize] {
                Op::Match => return Ok(None),
                Op::Class(class) => waiting.push((place, class)),
                Op::Assert(assertion) if !self.program.holds(assertion, sides, fuel)? => {}
                Op::Split(first, second) => stack.extend([first, second]),
                Op::Jump(target) => stack.push(target),
                _ => stack.push(place + 1),
            }
        }
        Ok(Some(waiting))
    }
}
