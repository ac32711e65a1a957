//! Parses a pattern whose syntax is known to be valid.

use std::ops::Range;

use crate::Error;
use crate::class::{Class, Classes, Flags};

pub(crate) struct Pattern {
    pub(crate) node: Node,
    /// Inner lookarounds come first.
    pub(crate) lookarounds: Vec<Lookaround>,
    pub(crate) classes: Vec<Class>,
    pub(crate) back_references: Vec<BackReference>,
    pub(crate) groups: usize,
}

pub(crate) enum Node {
    /// A character of the class with this index.
    Class(usize),
    Assert(Assertion),
    /// An index into [`Pattern::lookarounds`].
    Lookaround(usize),
    /// An index into [`Pattern::back_references`].
    BackReference(usize),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    /// A capturing group, counting from 0.
    Group(usize, Box<Node>),
    Repeat(Box<Repeat>),
}

/// An assertion about the characters around a position.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Assertion {
    Start { multiline: bool },
    End { multiline: bool },
    Boundary { word: u32, negated: bool },
}

impl Assertion {
    pub(crate) fn is_multiline(self) -> bool {
        matches!(self, Self::Start { multiline: true } | Self::End { multiline: true })
    }
}

pub(crate) struct Repeat {
    pub(crate) node: Node,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    pub(crate) greedy: bool,
    /// The groups inside. Each iteration resets them.
    pub(crate) groups: Range<usize>,
}

pub(crate) struct Lookaround {
    pub(crate) node: Node,
    pub(crate) ahead: bool,
    pub(crate) negated: bool,
}

#[derive(Debug)]
pub(crate) struct BackReference {
    /// Several groups may share a name, but only one of them takes part in a match.
    pub(crate) groups: Vec<usize>,
    /// Matches two characters that differ only in case, if case is ignored.
    pub(crate) same: Option<regress::Regex>,
}

/// Parses a pattern that `regress` has accepted, with or without the `u` flag.
pub(crate) fn parse(source: &str, unicode: bool) -> Result<Pattern, Error> {
    let (all_groups, names) = groups(source);
    let mut parser = Parser {
        rest: source,
        unicode,
        flags: Flags::default(),
        classes: Classes::default(),
        lookarounds: Vec::new(),
        back_references: Vec::new(),
        groups: 0,
        all_groups,
        names,
    };
    let node = parser.choice()?;
    let Parser { classes, lookarounds, back_references, groups, .. } = parser;
    Ok(Pattern { node, lookarounds, classes: classes.list, back_references, groups })
}

/// Returns the number of capturing groups, and the named ones.
fn groups(source: &str) -> (usize, Vec<(&str, usize)>) {
    let (mut count, mut names, mut rest) = (0, Vec::new(), source);
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '\\' => escaped(rest),
            '[' => bracket(rest),
            _ => character.len_utf8(),
        };
        rest = &rest[length..];
        if character == '(' {
            let name = rest.strip_prefix("?<").filter(|name| !name.starts_with(['=', '!']));
            names.extend(name.and_then(|name| Some((name.split_once('>')?.0, count))));
            count += usize::from(name.is_some() || !rest.starts_with('?'));
        }
    }
    (count, names)
}

fn escaped(text: &str) -> usize {
    text.chars().take(2).map(char::len_utf8).sum()
}

fn bracket(text: &str) -> usize {
    let mut length = 0;
    while let Some(character) = text[length..].chars().next() {
        length += if character == '\\' { escaped(&text[length..]) } else { character.len_utf8() };
        if character == ']' {
            break;
        }
    }
    length
}

struct Parser<'p> {
    rest: &'p str,
    unicode: bool,
    flags: Flags,
    classes: Classes,
    lookarounds: Vec<Lookaround>,
    back_references: Vec<BackReference>,
    groups: usize,
    all_groups: usize,
    names: Vec<(&'p str, usize)>,
}

impl<'p> Parser<'p> {
    fn choice(&mut self) -> Result<Node, Error> {
        let mut branches = vec![self.sequence()?];
        while self.skip("|") {
            branches.push(self.sequence()?);
        }
        Ok(if branches.len() == 1 { branches.remove(0) } else { Node::Choice(branches) })
    }

    fn sequence(&mut self) -> Result<Node, Error> {
        let mut nodes = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            let first = self.groups;
            let node = self.term()?;
            nodes.push(match self.quantifier() {
                None => node,
                Some((min, max)) => {
                    let greedy = !self.skip("?");
                    Node::Repeat(Box::new(Repeat { node, min, max, greedy, groups: first..self.groups }))
                }
            });
        }
        Ok(Node::Sequence(nodes))
    }

    fn term(&mut self) -> Result<Node, Error> {
        let flags = self.flags;
        for (begin, ahead, negated) in
            [("(?=", true, false), ("(?!", true, true), ("(?<=", false, false), ("(?<!", false, true)]
        {
            if self.skip(begin) {
                let node = self.group(flags)?;
                self.lookarounds.push(Lookaround { node, ahead, negated });
                return Ok(Node::Lookaround(self.lookarounds.len() - 1));
            }
        }
        if self.skip("^") {
            return Ok(Node::Assert(Assertion::Start { multiline: flags.multiline }));
        }
        if self.skip("$") {
            return Ok(Node::Assert(Assertion::End { multiline: flags.multiline }));
        }
        for (text, negated) in [(r"\b", false), (r"\B", true)] {
            if self.skip(text) {
                // For `\w`, ignoring case only matters in Unicode mode, where `ſ` equals `s`.
                let flags = Flags { ignore_case: flags.ignore_case && self.unicode, ..flags };
                let word = self.classes.index(r"\w", flags, self.unicode)?;
                return Ok(Node::Assert(Assertion::Boundary { word: word as u32, negated }));
            }
        }
        if self.rest.starts_with("(?") && !self.rest.starts_with("(?<") {
            let (modifiers, rest) = self.rest[2..].split_once(':').ok_or_else(unsupported)?;
            self.rest = rest;
            return self.group(modified(flags, modifiers));
        }
        if self.skip("(") {
            if self.skip("?<") {
                self.rest = self.rest.split_once('>').ok_or_else(unsupported)?.1;
            }
            let index = self.groups;
            self.groups += 1;
            return Ok(Node::Group(index, Box::new(self.group(flags)?)));
        }
        match self.rest.chars().next() {
            Some('\\') => self.escape(),
            Some('[') => self.class(bracket(self.rest)),
            Some(character) => self.class(character.len_utf8()),
            None => Err(unsupported()),
        }
    }

    /// Parses the content of a group and its closing parenthesis.
    fn group(&mut self, flags: Flags) -> Result<Node, Error> {
        let outer = std::mem::replace(&mut self.flags, flags);
        let node = self.choice()?;
        self.flags = outer;
        if self.skip(")") { Ok(node) } else { Err(unsupported()) }
    }

    fn class(&mut self, length: usize) -> Result<Node, Error> {
        let (source, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.classes.index(source, self.flags, self.unicode).map(Node::Class)
    }

    fn escape(&mut self) -> Result<Node, Error> {
        let after = self.rest.get(1..).unwrap_or_default();
        match after.chars().next() {
            Some('1'..='9') => {
                let digits = after.len() - after.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
                match after[..digits].parse::<usize>() {
                    Ok(group) if group <= self.all_groups => {
                        self.rest = &after[digits..];
                        self.back_reference(vec![group - 1])
                    }
                    _ => self.class(1 + octal(after).max(1)),
                }
            }
            Some('k') if self.unicode || !self.names.is_empty() => {
                let name = after.strip_prefix("k<").and_then(|text| text.split_once('>'));
                let (name, rest) = name.ok_or_else(unsupported)?;
                self.rest = rest;
                let groups = self.names.iter().filter(|(known, _)| *known == name);
                let groups: Vec<usize> = groups.map(|(_, group)| *group).collect();
                if groups.is_empty() { Err(unsupported()) } else { self.back_reference(groups) }
            }
            Some('0') if !self.unicode => self.class(1 + octal(after)),
            Some('c') => match after[1..].starts_with(|letter: char| letter.is_ascii_alphabetic()) {
                true => self.class(3),
                // Without the `u` flag, a backslash followed by a literal `c`.
                false => {
                    self.rest = after;
                    self.classes.index(r"\\", self.flags, self.unicode).map(Node::Class)
                }
            },
            Some('x') => self.class(2 + if hex(&after[1..], 2) { 2 } else { 0 }),
            Some('u') => self.class(1 + unicode_escape(after)),
            Some('p' | 'P') if self.unicode => self.class(after.find('}').ok_or_else(unsupported)? + 2),
            Some(_) => self.class(escaped(self.rest)),
            None => Err(unsupported()),
        }
    }

    fn back_reference(&mut self, groups: Vec<usize>) -> Result<Node, Error> {
        let flags = if self.unicode { "isu" } else { "is" };
        let same = self.flags.ignore_case.then(|| regress::Regex::with_flags(r"^(.)\1$", flags));
        let same = same.transpose().map_err(|error| Error(error.text))?;
        self.back_references.push(BackReference { groups, same });
        Ok(Node::BackReference(self.back_references.len() - 1))
    }

    fn quantifier(&mut self) -> Option<(u32, Option<u32>)> {
        for (text, min, max) in [("*", 0, None), ("+", 1, None), ("?", 0, Some(1))] {
            if self.skip(text) {
                return Some((min, max));
            }
        }
        let (bounds, rest) = self.rest.strip_prefix('{')?.split_once('}')?;
        let quantifier = match bounds.split_once(',') {
            None => (number(bounds)?, Some(number(bounds)?)),
            Some((min, "")) => (number(min)?, None),
            Some((min, max)) => (number(min)?, Some(number(max)?)),
        };
        self.rest = rest;
        Some(quantifier)
    }

    fn skip(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

/// Returns the flags in effect inside `(?modifiers:…)`.
fn modified(mut flags: Flags, modifiers: &str) -> Flags {
    let mut value = true;
    for modifier in modifiers.chars() {
        match modifier {
            'i' => flags.ignore_case = value,
            'm' => flags.multiline = value,
            's' => flags.dot_all = value,
            _ => value = false,
        }
    }
    flags
}

/// Returns the length of an octal escape, which cannot exceed `\377`.
fn octal(text: &str) -> usize {
    let most = if text.starts_with(['0', '1', '2', '3']) { 3 } else { 2 };
    text.bytes().take(most).take_while(|byte| matches!(byte, b'0'..=b'7')).count()
}

/// Returns the length of `u` and its digits. A surrogate pair counts as one escape.
fn unicode_escape(text: &str) -> usize {
    let digits = &text[1..];
    if let Some((code, _)) = digits.strip_prefix('{').and_then(|code| code.split_once('}'))
        && u32::from_str_radix(code, 16).is_ok_and(|code| code <= u32::from(char::MAX))
    {
        return code.len() + 3;
    }
    if !hex(digits, 4) {
        return 1;
    }
    let is_surrogate = |digits: &str, kinds: [u8; 4]| {
        digits.to_ascii_lowercase().starts_with('d') && kinds.contains(&digits.as_bytes()[1].to_ascii_lowercase())
    };
    let second = digits[4..].strip_prefix("\\u").filter(|second| hex(second, 4));
    match second {
        Some(second) if is_surrogate(digits, *b"89ab") && is_surrogate(second, *b"cdef") => 11,
        _ => 5,
    }
}

fn hex(text: &str, count: usize) -> bool {
    text.as_bytes().get(..count).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

fn number(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u32::MAX))
}

fn unsupported() -> Error {
    Error("the pattern is not supported".to_owned())
}
