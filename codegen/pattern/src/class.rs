//! Character classes.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::Error;
use crate::steps::{Fuel, TooExpensive};

/// A character class, such as `a`, `.`, `\w` or `[^a-z]`.
#[derive(Debug)]
pub(crate) enum Class {
    Char(char),
    Set {
        /// A regular expression for this class alone.
        source: String,
        unicode: bool,
        /// A bit for each ASCII character.
        ascii: u128,
        /// Decides all other characters, each as a text of one character.
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

    /// Returns the code points at which membership changes, in ascending order.
    pub(crate) fn edges(&self) -> Arc<[u32]> {
        match self {
            Self::Char(own) => [u32::from(*own), u32::from(*own) + 1].into(),
            Self::Set { source, unicode, ascii, others } => {
                // Cached, because scanning all code points can take a tenth of a second.
                type Known = HashMap<(String, bool), Arc<[u32]>>;
                static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
                let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
                let key = (source.clone(), *unicode);
                Arc::clone(known.entry(key).or_insert_with(|| edges(source, *ascii, others)))
            }
        }
    }

    fn set(text: &str, unicode: bool) -> Result<Self, Error> {
        let flags = if unicode { "u" } else { "" };
        let others = regress::Regex::with_flags(text, flags).map_err(|error| Error(error.text))?;
        let members = (0..128_u8).filter(|byte| is_in(&others, char::from(*byte)));
        let ascii = members.fold(0, |bits, byte| bits | 1_u128 << byte);
        Ok(Self::Set { source: text.to_owned(), unicode, ascii, others })
    }
}

/// Code points beyond ASCII at which a range matched by `.`, `\s` or `\w` may begin or end.
const SPECIAL: [u32; 11] = [0xa0, 0x1680, 0x2000, 0x200b, 0x2028, 0x202a, 0x202f, 0x2030, 0x205f, 0x3000, 0xfeff];

fn edges(source: &str, ascii: u128, others: &regress::Regex) -> Arc<[u32]> {
    let contains = |code: u32| match char::from_u32(code) {
        Some(character) if code < 128 => ascii >> u32::from(character) & 1 == 1,
        Some(character) => is_in(others, character),
        None => false,
    };
    let mut edges = Vec::new();
    let mut last = false;
    for code in possible_edges(source) {
        // Strings contain no surrogates, so these may be treated like their neighbours.
        let is_surrogate = (0xd800..0xe000).contains(&code);
        let now = if is_surrogate { last } else { contains(code) };
        if now != last {
            edges.push(code);
        }
        last = now;
    }
    edges.into()
}

/// Returns all code points at which membership could change, in ascending order.
fn possible_edges(source: &str) -> Box<dyn Iterator<Item = u32>> {
    const END: u32 = char::MAX as u32 + 1;
    // Properties and case-insensitive classes can have edges anywhere.
    let is_plain = source.starts_with("^(?:") || source.starts_with("^(?s:");
    if !is_plain || source.contains(r"\p") || source.contains(r"\P") {
        return Box::new(0..=END);
    }
    let mut codes: BTreeSet<u32> = (0..=256).chain(SPECIAL).chain(SPECIAL.map(|code| code + 1)).collect();
    codes.insert(0xe000);
    let mut add = |code: u32| codes.extend([code, code.saturating_add(1)].iter().filter(|code| **code <= END));
    source.chars().for_each(|character| add(u32::from(character)));
    let mut high: Option<u32> = None;
    for escape in source.split(r"\u").skip(1) {
        let digits = escape.strip_prefix('{').and_then(|it| it.split_once('}')).map(|(digits, _)| digits);
        let Some(code) = digits.or(escape.get(..4)).and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
            continue;
        };
        add(code);
        if let (Some(high), 0xdc00..0xe000) = (high, code) {
            add(0x1_0000 + ((high - 0xd800) << 10) + (code - 0xdc00));
        }
        high = (0xd800..0xdc00).contains(&code).then_some(code);
    }
    Box::new(codes.into_iter())
}

fn is_in(set: &regress::Regex, character: char) -> bool {
    set.find(character.encode_utf8(&mut [0; 4])).is_some()
}

/// Flags that `(?i:…)`, `(?m:…)` and `(?s:…)` set for a part of a pattern.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) ignore_case: bool,
    pub(crate) multiline: bool,
    pub(crate) dot_all: bool,
}

#[derive(Default)]
pub(crate) struct Classes {
    pub(crate) list: Vec<Class>,
    known: HashMap<String, usize>,
}

impl Classes {
    /// Returns the index of a class. `source` is a literal character, an escape, a bracket expression or a dot.
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
