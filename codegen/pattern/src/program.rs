//! Compiles a pattern to instructions.

use crate::Error;
use crate::class::Class;
use crate::parse::{Assertion, BackReference, Node, Pattern, Repeat};
use crate::steps::{Fuel, TooExpensive};

#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) ops: Vec<Op>,
    pub(crate) lookarounds: Vec<Lookaround>,
    pub(crate) classes: Vec<Class>,
    pub(crate) back_references: Vec<BackReference>,
    pub(crate) has_back_references: bool,
    /// The number of slots: two for each group, and one for each repetition.
    pub(crate) slots: usize,
    /// Whether a match can only begin at the start of the text.
    pub(crate) is_anchored: bool,
}

#[derive(Debug)]
pub(crate) struct Lookaround {
    pub(crate) ops: Vec<Op>,
    pub(crate) ahead: bool,
    pub(crate) negated: bool,
}

/// An instruction. Continues with the next one unless stated otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Match,
    /// Consumes a character of the class.
    Class(u32),
    Assert(Assertion),
    Lookaround(u32),
    BackReference(u32),
    /// Tries the first target, then the second.
    Split(u32, u32),
    Jump(u32),
    /// Stores the position in a slot.
    Save(u32),
    /// Clears a range of slots.
    Clear(u32, u32),
    /// Fails if the position is still the one in the slot, because an iteration has to consume something.
    Progress(u32),
}

const MAX_OPS: usize = 32_768;

impl Program {
    pub(crate) fn new(pattern: Pattern) -> Result<Self, Error> {
        let has_back_references = !pattern.back_references.is_empty();
        let mut compiler =
            Compiler { ops: Vec::new(), before: 0, backwards: false, has_back_references, slots: 2 * pattern.groups };
        let mut lookarounds = Vec::with_capacity(pattern.lookarounds.len());
        for it in &pattern.lookarounds {
            // The simulation finds all positions of a lookahead in one pass from the end. Backtracking tries it at a
            // single position.
            let backwards = it.ahead != has_back_references;
            let ops = compiler.compile(&it.node, backwards)?;
            lookarounds.push(Lookaround { ops, ahead: it.ahead, negated: it.negated });
        }
        let ops = compiler.compile(&pattern.node, false)?;
        let is_anchored = matches!(ops[0], Op::Assert(Assertion::Start { multiline: false }));
        let Pattern { classes, back_references, .. } = pattern;
        Ok(Self { ops, lookarounds, classes, back_references, has_back_references, slots: compiler.slots, is_anchored })
    }

    /// Returns whether an assertion holds between two characters.
    pub(crate) fn holds(
        &self,
        assertion: Assertion,
        (before, after): (Option<char>, Option<char>),
        fuel: &mut Fuel,
    ) -> Result<bool, TooExpensive> {
        let is_edge = |side: Option<char>, multiline| {
            side.is_none_or(|it| multiline && matches!(it, '\n' | '\r' | '\u{2028}' | '\u{2029}'))
        };
        match assertion {
            Assertion::Start { multiline } => Ok(is_edge(before, multiline)),
            Assertion::End { multiline } => Ok(is_edge(after, multiline)),
            Assertion::Boundary { word, negated } => {
                let mut is_word = |side: Option<char>| match side {
                    Some(character) => self.classes[word as usize].contains(character, fuel),
                    None => Ok(false),
                };
                Ok((is_word(before)? != is_word(after)?) != negated)
            }
        }
    }
}

struct Compiler {
    ops: Vec<Op>,
    before: usize,
    backwards: bool,
    has_back_references: bool,
    slots: usize,
}

#[expect(clippy::cast_possible_truncation, reason = "the number of instructions is limited")]
impl Compiler {
    fn compile(&mut self, node: &Node, backwards: bool) -> Result<Vec<Op>, Error> {
        self.backwards = backwards;
        self.node(node)?;
        self.push(Op::Match)?;
        self.before += self.ops.len();
        Ok(std::mem::take(&mut self.ops))
    }

    fn push(&mut self, op: Op) -> Result<(), Error> {
        if self.before + self.ops.len() >= MAX_OPS {
            return Err(Error(format!("the pattern has more than {MAX_OPS} states; use fewer or smaller repetitions")));
        }
        self.ops.push(op);
        Ok(())
    }

    fn here(&self) -> u32 {
        self.ops.len() as u32
    }

    fn node(&mut self, node: &Node) -> Result<(), Error> {
        match node {
            Node::Class(index) => self.push(Op::Class(*index as u32)),
            Node::Assert(assertion) => self.push(Op::Assert(*assertion)),
            Node::Lookaround(index) => self.push(Op::Lookaround(*index as u32)),
            Node::BackReference(index) => self.push(Op::BackReference(*index as u32)),
            Node::Sequence(nodes) if self.backwards => nodes.iter().rev().try_for_each(|node| self.node(node)),
            Node::Sequence(nodes) => nodes.iter().try_for_each(|node| self.node(node)),
            Node::Choice(branches) => self.choice(branches),
            Node::Group(_, node) if !self.has_back_references => self.node(node),
            Node::Group(index, node) => {
                let (start, end) = (2 * *index as u32, 2 * *index as u32 + 1);
                let (first, second) = if self.backwards { (end, start) } else { (start, end) };
                self.push(Op::Save(first))?;
                self.node(node)?;
                self.push(Op::Save(second))
            }
            Node::Repeat(repeat) => self.repeat(repeat),
        }
    }

    fn choice(&mut self, branches: &[Node]) -> Result<(), Error> {
        let mut jumps = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            if index + 1 == branches.len() {
                self.node(branch)?;
                break;
            }
            let split = self.ops.len();
            self.push(Op::Split(self.here() + 1, 0))?;
            self.node(branch)?;
            jumps.push(self.ops.len());
            self.push(Op::Jump(0))?;
            self.ops[split] = Op::Split(split as u32 + 1, self.here());
        }
        let end = self.here();
        jumps.into_iter().for_each(|jump| self.ops[jump] = Op::Jump(end));
        Ok(())
    }

    /// Unrolls repetitions, so that a state is just an instruction, without a counter.
    fn repeat(&mut self, repeat: &Repeat) -> Result<(), Error> {
        for _ in 0..repeat.min {
            let before = self.ops.len();
            self.iteration(repeat, None)?;
            if self.ops.len() == before {
                break;
            }
        }
        let slot = self.slots as u32;
        self.slots += 1;
        let mut splits = Vec::new();
        let more = repeat.max.map_or(1, |max| max.saturating_sub(repeat.min));
        for _ in 0..more {
            splits.push(self.ops.len());
            self.push(Op::Split(0, 0))?;
            self.iteration(repeat, Some(slot))?;
        }
        if let (None, Some(split)) = (repeat.max, splits.first()) {
            self.push(Op::Jump(*split as u32))?;
        }
        let end = self.here();
        for split in splits {
            let next = split as u32 + 1;
            self.ops[split] = if repeat.greedy { Op::Split(next, end) } else { Op::Split(end, next) };
        }
        Ok(())
    }

    /// Compiles one iteration. An optional one has a slot, in which it saves where it begins.
    fn iteration(&mut self, repeat: &Repeat, slot: Option<u32>) -> Result<(), Error> {
        let slot = slot.filter(|_| self.has_back_references);
        if self.has_back_references && !repeat.groups.is_empty() {
            self.push(Op::Clear(2 * repeat.groups.start as u32, 2 * repeat.groups.end as u32))?;
        }
        if let Some(slot) = slot {
            self.push(Op::Save(slot))?;
        }
        self.node(&repeat.node)?;
        slot.map_or(Ok(()), |slot| self.push(Op::Progress(slot)))
    }
}
