//! Classes of characters.

use std::collections::HashMap;

use crate::Error;
use crate::steps::{Fuel, TooExpensive};

/// A class of characters, such as `a`, `.`, `\w` or `[^a-z]`.
#[derive(Debug)]
pub(crate) enum Class {
    Char(char),
    Set {
        /// A bit for each ASCII character.
        ascii: u128,
        /// Matches texts of one character.
        others: regress::Regex,
    },
}

/// How many steps it costs to ask `regress` about a character.
pub(crate) const COST: usize = 8;

impl Class {
    pub(crate) fn contains(&self, character: char, fuel: &mut Fuel) -> Result<bool, TooExpensive> {
        match self {
            Self::Char(own) => Ok(*own == character),
            Self::Set { ascii, .. } if character.is_ascii() => Ok(ascii >> u32::from(character) & 1 == 1),
            Self::Set { others, .. } => {
                fuel.burn(COST)?;
                Ok(is_in(others, character))
            }
        }
    }

    fn set(text: &str, unicode: bool) -> Result<Self, Error> {
        let flags = if unicode { "u" } else { "" };
        let others = regress::Regex::with_flags(text, flags).map_err(|error| Error(error.text))?;
        let members = (0..128_u8).filter(|byte| is_in(&others, char::from(*byte)));
        let ascii = members.fold(0, |bits, byte| bits | 1_u128 << byte);
        Ok(Self::Set { ascii, others })
    }
}

fn is_in(set: &regress::Regex, character: char) -> bool {
    set.find(character.encode_utf8(&mut [0; 4])).is_some()
}

/// The flags that `(?i:…)`, `(?m:…)` and `(?s:…)` set for a part of a pattern.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) ignore_case: bool,
    pub(crate) multiline: bool,
    pub(crate) dot_all: bool,
}

/// The classes of a pattern, each once.
#[derive(Default)]
pub(crate) struct Classes {
    pub(crate) list: Vec<Class>,
    known: HashMap<String, usize>,
}

impl Classes {
    /// Returns the index of a class, whose source is a literal character, an escape, a bracket or a dot.
    pub(crate) fn index(&mut self, source: &str, flags: Flags, unicode: bool) -> Result<usize, Error> {
        let flags = match (flags.ignore_case, flags.dot_all) {
            (false, false) => "",
            (true, false) => "i",
            (false, true) => "s",
            (true, true) => "is",
        };
        let text = format!("^(?{flags}:{source})$");
        if let Some(known) = self.known.get(&text) {
            return Ok(*known);
        }
        let mut characters = source.chars();
        let class = match (characters.next(), characters.next()) {
            (Some(character), None) if character != '.' && flags.is_empty() => Class::Char(character),
            _ => Class::set(&text, unicode)?,
        };
        self.list.push(class);
        self.known.insert(text, self.list.len() - 1);
        Ok(self.list.len() - 1)
    }
}
