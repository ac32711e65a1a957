//! Divides the characters into groups, whose members no pattern or word list can tell apart.

use std::collections::{BTreeSet, HashMap};

use super::Language;
use crate::program::Op;

pub(super) struct Alphabet {
    /// The code point ranges of each group. The most readable group comes first.
    groups: Vec<Vec<(u32, u32)>>,
}

/// Where the line terminators start and stop.
const LINE_ENDS: [u32; 6] = [0xa, 0xb, 0xd, 0xe, 0x2028, 0x202a];

/// Code points that make an example readable, best first.
const READABLE: [(u32, u32); 4] = [(0x61, 0x7b), (0x41, 0x5b), (0x30, 0x3a), (0x21, 0x7f)];

impl Alphabet {
    pub(super) fn of(language: &Language) -> Self {
        let mut edges = BTreeSet::from([0, 0xd800, 0xe000, u32::from(char::MAX) + 1]);
        let (mut classes, mut letters) = (Vec::new(), BTreeSet::new());
        language.visit(&mut |part| match part {
            Language::Matching(regex) => {
                classes.extend(regex.0.classes.iter().map(|class| class.edges()));
                if regex.0.ops.iter().any(|op| matches!(op, Op::Assert(assertion) if assertion.is_multiline())) {
                    classes.push(LINE_ENDS.into());
                }
            }
            Language::Words(words) => letters.extend(words.iter().flat_map(|word| word.chars().map(u32::from))),
            _ => {}
        });
        edges.extend(classes.iter().flat_map(|edges| edges.iter().copied()));
        edges.extend(letters.iter().flat_map(|letter| [*letter, letter + 1]));
        // A group is identified by the classes that contain it and, for a letter of a word list, by that letter.
        let mut groups: HashMap<(Vec<bool>, Option<u32>), usize> = HashMap::new();
        let mut ranges: Vec<Vec<(u32, u32)>> = Vec::new();
        let starts: Vec<u32> = edges.into_iter().collect();
        for pair in starts.windows(2) {
            let (start, end) = (pair[0], pair[1]);
            if start == 0xd800 || end > u32::from(char::MAX) + 1 {
                continue;
            }
            let is_in = |edges: &[u32]| edges.partition_point(|edge| *edge <= start) % 2 == 1;
            let key = (classes.iter().map(|edges| is_in(edges)).collect(), letters.get(&start).copied());
            let group = *groups.entry(key).or_insert(ranges.len());
            if group == ranges.len() {
                ranges.push(Vec::new());
            }
            ranges[group].push((start, end));
        }
        ranges.sort_by_cached_key(|ranges| {
            let first = characters(ranges).next().map_or(0, u32::from);
            let is_in = |range: &(u32, u32)| (range.0..range.1).contains(&first);
            (READABLE.iter().position(is_in).unwrap_or(READABLE.len()), first)
        });
        Self { groups: ranges }
    }

    /// Returns one character per group.
    pub(super) fn representatives(&self) -> Vec<char> {
        self.groups.iter().filter_map(|ranges| characters(ranges).next()).collect()
    }

    /// Returns the characters of a group, readable ones first.
    pub(super) fn characters(&self, group: usize) -> impl Iterator<Item = char> {
        characters(&self.groups[group])
    }
}

fn characters(ranges: &[(u32, u32)]) -> impl Iterator<Item = char> {
    let cut = move |(from, to): (u32, u32)| ranges.iter().flat_map(move |range| range.0.max(from)..range.1.min(to));
    let readable = READABLE[..3].iter().flat_map(move |range| cut(*range));
    let is_readable = |code: &u32| READABLE[..3].iter().any(|range| (range.0..range.1).contains(code));
    let marks = cut(READABLE[3]).filter(move |code| !is_readable(code));
    let spaces = cut((0x20, 0x21)).chain(cut((0x9, 0xe)));
    let others = cut((0x80, u32::MAX)).chain(cut((0, 0x9))).chain(cut((0xe, 0x20))).chain(cut((0x7f, 0x80)));
    readable.chain(marks).chain(spaces).chain(others).filter_map(char::from_u32)
}
