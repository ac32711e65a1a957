//! Rewrites a value of one type as a value of another, in one pass over the source.

use std::hash::{BuildHasher, RandomState};

use crate::codec::{
    Cursor, Document, Encode, Guard, Length, Literal, Members, Node, Object, find_by, write, write_name,
};
use crate::{ErrorKind, Json, Revision};

use super::outcome::{ConvertError, ConvertErrorKind, Converted, Lost, LostReason, Policy};
use super::path::Path;
use super::shape::{ANY, Member, OtherValues, Others, Rule, Shape, TypeId, respelling};
use super::source::{Encoded, Tree, is_literal, is_number, number, tagged_variant, variant, variant_and_tag};

/// The text written so far, and the members lost so far.
pub(super) struct Walk {
    policy: Policy,
    revision: Revision,
    out: Vec<u8>,
    lost: Vec<Lost>,
    /// The guards of the outermost unions around the current value, and the total number of unions around it.
    guards: ([&'static [Guard]; MAX_GUARDS], usize),
    /// The number of changes to members that one of these guards may read.
    changes: usize,
}

/// The error is boxed, because a result of one word is faster to pass on.
type Written = Result<(), Box<ConvertError>>;

/// The members of an object, in source and target.
struct Objects {
    from: (&'static [Member], Others),
    to: (&'static [Member], Others),
}

struct Progress {
    /// Where the text of the target object begins.
    start: usize,
    /// Which of the target's first 64 members have been written.
    seen: u64,
    /// Where to continue searching for names, in source and target.
    next: (usize, usize),
}

impl Walk {
    #[inline]
    pub(super) fn new(policy: Policy, revision: Revision) -> Self {
        Self {
            policy,
            revision,
            out: Vec::with_capacity(256),
            lost: Vec::new(),
            guards: ([&[]; MAX_GUARDS], 0),
            changes: 0,
        }
    }

    pub(super) fn convert(mut self, node: Node<'_>, from: TypeId, to: TypeId) -> Result<Converted<Json>, ConvertError> {
        self.value(node, from, to, &Path::ROOT).map_err(|error| *error)?;
        // The encoder writes only UTF-8.
        let text = String::from_utf8(self.out).unwrap_or_default();
        Ok(Converted { value: Json::from_text(text), lost: self.lost })
    }

    #[inline]
    fn value(&mut self, node: Node<'_>, from: TypeId, to: TypeId, path: &Path<'_>) -> Written {
        if from == to || to == ANY {
            write(node, &mut self.out);
            return Ok(());
        }
        self.other_type(node, from, to, path)
    }

    /// Like [`Self::value`], for types that differ.
    fn other_type(&mut self, node: Node<'_>, from: TypeId, to: TypeId, path: &Path<'_>) -> Written {
        if let Node::Json(text) = node
            && !is_number(text)
        {
            return self.json_text(text, from, to, path);
        }
        match (Shape::of(from), Shape::of(to)) {
            (&Shape::Union(guards, variants), target) => {
                let chosen = variant_and_tag(node, guards);
                let from = chosen.and_then(|(index, _)| variants.get(index)).copied().unwrap_or(ANY);
                match (target, chosen) {
                    (&Shape::Union(guards, variants), Some((_, Some(tag)))) if !has_other_form(from, target) => {
                        let chosen = tagged_variant(tag, guards).or_else(|| variant(node, guards));
                        self.union(node, from, (guards, variants), chosen, path)
                    }
                    _ => self.value(node, from, to, path),
                }
            }
            (&Shape::Object(.., Some((rule, other))), target) if !is_spelled(rule, target) => {
                self.respelled(node, rule, other, to, path)
            }
            (_, &Shape::Union(guards, variants)) => {
                self.union(node, from, (guards, variants), variant(node, guards), path)
            }
            (source, &Shape::Object(members, others, _)) => {
                let from = match *source {
                    Shape::Object(members, others, _) => (members, others),
                    _ => (&[][..], Others::Open),
                };
                let Node::Object(object) = node else { return Err(self.mismatch(node, "object", path)) };
                self.object(object, &Objects { from, to: (members, others) }, path)
            }
            (source, &Shape::List(items, length)) => self.array(node, source, (&[], Some(items)), length, path),
            (source, &Shape::Tuple(first, rest)) => {
                let least = Length::ANY.at_least(first.len() as u64);
                let length = if rest.is_some() { least } else { least.at_most(first.len() as u64) };
                self.array(node, source, (first, rest), length, path)
            }
            (_, shape) => self.scalar(node, shape, path),
        }
    }

    fn json_text(&mut self, text: &str, from: TypeId, to: TypeId, path: &Path<'_>) -> Written {
        let document = Document::read(text).map_err(|error| self.refusal(path, error.kind().clone()))?;
        self.other_type(Tree::of(document.root()).encode(), from, to, path)
    }

    /// Rewrites an object in its other form, and converts the result.
    fn respelled(&mut self, node: Node<'_>, rule: usize, other: TypeId, to: TypeId, path: &Path<'_>) -> Written {
        let text = crate::to_string(&Encoded(node));
        let document = Document::read(text).map_err(|error| self.refusal(path, error.kind().clone()))?;
        let tree = respelling(rule).and_then(|rule| Tree::respelled(document.root(), rule));
        let Some(tree) = tree else { return self.value(node, ANY, to, path) };
        self.changes += 1;
        self.value(tree.encode(), other, to, path)
    }

    /// Converts to a union. `chosen` is the variant that the source selects. The result must select the same one.
    fn union(
        &mut self,
        node: Node<'_>,
        from: TypeId,
        (guards, variants): (&'static [Guard], &'static [TypeId]),
        chosen: Option<usize>,
        path: &Path<'_>,
    ) -> Written {
        let (outer, count) = &mut self.guards;
        if let Some(place) = outer.get_mut(*count) {
            *place = guards;
        }
        *count += 1;
        let written = self.variant(node, from, (guards, variants), chosen, path);
        self.guards.1 -= 1;
        written
    }

    fn variant(
        &mut self,
        node: Node<'_>,
        from: TypeId,
        (guards, variants): (&'static [Guard], &'static [TypeId]),
        mut chosen: Option<usize>,
        path: &Path<'_>,
    ) -> Written {
        let (start, lost, changes) = (self.out.len(), self.lost.len(), self.changes);
        // If a member that guards look at was added or dropped, the result may select another variant, so this tries
        // once more.
        for _ in 0..2 {
            let Some(to) = chosen.and_then(|index| variants.get(index)) else { break };
            self.value(node, from, *to, path)?;
            if self.changes == changes {
                return Ok(());
            }
            let written = std::str::from_utf8(&self.out[start..]).unwrap_or_default();
            let selected = Document::read(written).ok().and_then(|document| document.root().union(guards).ok());
            if selected == chosen {
                return Ok(());
            }
            self.truncate(start, lost);
            chosen = selected;
        }
        let text = crate::to_string(&Encoded(node));
        let refused = Document::read(text).map(|document| kind_of_refusal(document.root(), guards));
        Err(self.refusal(path, refused.unwrap_or_else(|error| error.kind().clone())))
    }

    #[inline(never)]
    fn object(&mut self, object: &dyn Object, objects: &Objects, path: &Path<'_>) -> Written {
        let start = self.out.len();
        let mut progress = Progress { start, seen: 0, next: (0, 0) };
        let mut refused = None;
        object.members(&mut Members::new(&mut |name, node| {
            if refused.is_none()
                && let Err(error) = self.member(name, node, objects, &mut progress, path)
            {
                refused = Some(error);
            }
        }));
        if let Some(error) = refused {
            return Err(error);
        }
        for (index, member) in objects.to.0.iter().enumerate().filter(|(_, member)| member.is_required) {
            if !progress.has(index) && (index < MASK || !has(object, member.name)) {
                self.add(member, start, path)?;
            }
        }
        self.out.extend_from_slice(if self.out.len() == start { b"{}" } else { b"}" });
        Ok(())
    }

    #[inline]
    fn member(
        &mut self,
        name: &str,
        node: Node<'_>,
        objects: &Objects,
        progress: &mut Progress,
        path: &Path<'_>,
    ) -> Written {
        let (from, to) = (objects.from.0, objects.to.0);
        let source = find(from, name, &mut progress.next.0).map(|(_, source)| source);
        let target = source.and_then(|source| find_same(to, source, &mut progress.next.1));
        let target = target.or_else(|| find(to, name, &mut progress.next.1));
        match (source, target) {
            (Some(source), Some((index, target))) if source.is_copied(target) && !progress.has(index) => {
                progress.insert(index);
                self.keep(name, node, progress.start)
            }
            (Some(source), None) if source.is_default(node) => {
                self.changed(&path.key(name));
                Ok(())
            }
            known => self.other_member((name, node), known, (objects.from.1, objects.to.1), progress, &path.key(name)),
        }
    }

    /// Writes a member that cannot be copied unchanged.
    #[inline(never)]
    fn other_member(
        &mut self,
        (name, node): (&str, Node<'_>),
        known: (Option<&'static Member>, Option<(usize, &'static Member)>),
        (from, to): (Others, Others),
        progress: &mut Progress,
        path: &Path<'_>,
    ) -> Written {
        let start = progress.start;
        let other = match from {
            Others::Typed(content) => content,
            Others::Open | Others::Closed => ANY,
        };
        match known {
            (source, Some((index, target))) => {
                if progress.has(index) {
                    return Err(self.refusal(path, ErrorKind::Duplicate));
                }
                progress.insert(index);
                let (content, rule) = source.map_or((other, None), |source| (source.content, source.rule()));
                let mark = (self.out.len(), self.lost.len());
                self.name(name, start);
                let written = match rule {
                    Some(Rule::Unwrapped) => self.unwrapped(node, content, target.content, path),
                    _ => self.value(node, content, target.content, path),
                };
                match written {
                    Err(error) if !target.is_required && self.policy != Policy::Strict => {
                        self.truncate(mark.0, mark.1);
                        self.lose(path, error.into_reason());
                        Ok(())
                    }
                    written => written,
                }
            }
            (Some(source), None) => self.undefined(source, node, to, start, path),
            (None, None) => match to {
                Others::Open => self.keep(name, node, start),
                Others::Typed(content) => {
                    self.name(name, start);
                    self.value(node, other, content, path)
                }
                Others::Closed => self.leave_out(path),
            },
        }
    }

    /// Handles a member that only the source defines, with a non-default value.
    fn undefined(&mut self, member: &Member, node: Node<'_>, others: Others, start: usize, path: &Path<'_>) -> Written {
        let is_open = matches!(others, Others::Open);
        match member.rule() {
            Some(Rule::Default(default, others)) => match others {
                OtherValues::Refused => {
                    let found = describe(node);
                    return Err(self.refusal(path, ErrorKind::Constant { expected: default.to_string(), found }));
                }
                OtherValues::Kept if is_open => return self.keep(member.name, node, start),
                OtherValues::Kept | OtherValues::Lost => {}
            },
            Some(Rule::Needed) => return Err(self.undefined_error(path)),
            Some(Rule::Kept) if is_open => return self.keep(member.name, node, start),
            _ => {}
        }
        if self.policy != Policy::KeepUnknown {
            return self.leave_out(path);
        }
        match others {
            Others::Open => self.keep(member.name, node, start)?,
            Others::Closed => return self.leave_out(path),
            Others::Typed(content) => {
                let mark = (self.out.len(), self.lost.len());
                self.name(member.name, start);
                if self.value(node, member.content, content, path).is_err() {
                    self.truncate(mark.0, mark.1);
                    return self.leave_out(path);
                }
            }
        }
        self.lost.push(Lost { path: path.pointer(), reason: LostReason::Unknown, revision: self.revision });
        Ok(())
    }

    fn keep(&mut self, name: &str, node: Node<'_>, start: usize) -> Written {
        self.name(name, start);
        write(node, &mut self.out);
        Ok(())
    }

    /// Drops a member that the target does not define.
    fn leave_out(&mut self, path: &Path<'_>) -> Written {
        if self.policy == Policy::Strict {
            return Err(self.undefined_error(path));
        }
        self.lose(path, LostReason::Undefined);
        Ok(())
    }

    /// Records that the text of a member, or of something in it, differs from the source.
    #[inline]
    fn changed(&mut self, path: &Path<'_>) {
        if self.guards.1 > 0 {
            self.changed_in_union(path);
        }
    }

    #[inline(never)]
    fn changed_in_union(&mut self, path: &Path<'_>) {
        let (outer, count) = &self.guards;
        let Some(guards) = outer.get(..*count) else {
            self.changes += 1;
            return;
        };
        let reads = |name: &str| {
            let mut conditions = guards.iter().flat_map(|guards| guards.iter()).flat_map(|guard| guard.when);
            conditions.any(|condition| condition.path().contains(&name))
        };
        if path.name().is_none_or(reads) {
            self.changes += 1;
        }
    }

    fn lose(&mut self, path: &Path<'_>, reason: LostReason) {
        self.changed(path);
        self.lost.push(Lost { path: path.pointer(), reason, revision: self.revision });
    }

    /// Adds a required member that the source lacks.
    fn add(&mut self, member: &Member, start: usize, path: &Path<'_>) -> Written {
        let path = &path.key(member.name);
        let unique;
        let constant = match Shape::of(member.content) {
            Shape::Values([constant]) => Some(*constant),
            _ => None,
        };
        let value = match (constant, member.rule()) {
            (_, Some(Rule::Given)) => return Err(self.refusal(path, ErrorKind::Missing)),
            (Some(constant), _) => constant,
            (None, Some(Rule::Default(default, _))) => default,
            (None, Some(Rule::Revision)) => Literal::Str(self.revision.as_str()),
            (None, Some(Rule::Unique)) => {
                unique = random();
                self.changed(path);
                self.name(member.name, start);
                return self.value(Node::Str(&unique), ANY, member.content, path);
            }
            (None, _) => return Err(self.refusal(path, ErrorKind::Missing)),
        };
        self.changed(path);
        self.name(member.name, start);
        self.value(value.encode(), ANY, member.content, path)
    }

    /// If the target has no lists, converts a list with a single element as if it were that element.
    fn unwrapped(&mut self, node: Node<'_>, from: TypeId, to: TypeId, path: &Path<'_>) -> Written {
        if Shape::of(to).has_arrays() {
            return self.value(node, from, to, path);
        }
        let list = match Shape::of(from) {
            Shape::Union(guards, variants) => variant(node, guards).and_then(|index| variants.get(index)),
            _ => None,
        };
        match (node, list.map_or(Shape::of(from), |list| Shape::of(*list))) {
            (Node::Array(elements), Shape::List(items, _)) if elements.len() == 1 => {
                self.changed(path);
                self.value(elements.element(0), *items, to, &path.index(0))
            }
            _ => self.value(node, from, to, path),
        }
    }

    fn array(
        &mut self,
        node: Node<'_>,
        source: &Shape,
        to: (&[TypeId], Option<TypeId>),
        length: Length,
        path: &Path<'_>,
    ) -> Written {
        let Node::Array(elements) = node else { return Err(self.mismatch(node, "array", path)) };
        if let Err(error) = length.check_length(elements.len(), "items") {
            return Err(self.refusal(path, error.kind().clone()));
        }
        let from = match *source {
            Shape::List(items, _) => (&[][..], Some(items)),
            Shape::Tuple(first, rest) => (first, rest),
            _ => (&[][..], None),
        };
        let item =
            |(first, rest): (&[TypeId], Option<TypeId>), index| first.get(index).copied().or(rest).unwrap_or(ANY);
        self.out.push(b'[');
        for index in 0..elements.len() {
            if index > 0 {
                self.out.push(b',');
            }
            self.value(elements.element(index), item(from, index), item(to, index), &path.index(index))?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn scalar(&mut self, node: Node<'_>, shape: &Shape, path: &Path<'_>) -> Written {
        let checked = match (*shape, node) {
            (Shape::Never, _) => return Err(self.refusal(path, ErrorKind::Uninhabited)),
            (Shape::Boolean, Node::Bool(_)) => Ok(()),
            (Shape::Boolean, _) => return Err(self.mismatch(node, "boolean", path)),
            (Shape::String(length), Node::Str(text)) => length.check_str(text),
            (Shape::String(_), _) => return Err(self.mismatch(node, "string", path)),
            (Shape::Integer(is_unsigned, bounds), _) => {
                let fits = |number: &crate::Number| {
                    if is_unsigned { number.as_u64().is_some() } else { number.as_i64().is_some() }
                };
                match number(node).filter(fits) {
                    Some(number) => bounds.check_number(number),
                    None => return Err(self.mismatch(node, "integer", path)),
                }
            }
            (Shape::Number(bounds), _) => match number(node) {
                Some(number) => bounds.check_number(number),
                None => return Err(self.mismatch(node, "number", path)),
            },
            (Shape::Values(values), _) if !values.iter().any(|value| is_literal(node, value)) => {
                let expected = values.iter().map(ToString::to_string).collect();
                return Err(self.refusal(path, ErrorKind::Value { expected, found: describe(node) }));
            }
            _ => Ok(()),
        };
        match checked {
            Ok(()) => {
                write(node, &mut self.out);
                Ok(())
            }
            Err(error) => Err(self.refusal(path, error.kind().clone())),
        }
    }

    /// Writes a member's name. `start` is where the object's text begins.
    fn name(&mut self, name: &str, start: usize) {
        let mark = if self.out.len() == start { b'{' } else { b',' };
        write_name(mark, name, &mut self.out);
    }

    /// Undoes everything after these positions.
    fn truncate(&mut self, out: usize, lost: usize) {
        self.out.truncate(out);
        self.lost.truncate(lost);
    }

    #[cold]
    fn refusal(&self, path: &Path<'_>, kind: ErrorKind) -> Box<ConvertError> {
        Box::new(ConvertError::new(path.pointer(), ConvertErrorKind::Value(kind), self.revision))
    }

    #[cold]
    fn undefined_error(&self, path: &Path<'_>) -> Box<ConvertError> {
        Box::new(ConvertError::new(path.pointer(), ConvertErrorKind::Undefined, self.revision))
    }

    #[cold]
    fn mismatch(&self, node: Node<'_>, expected: &'static str, path: &Path<'_>) -> Box<ConvertError> {
        self.refusal(path, ErrorKind::Type { expected: expected.into(), found: describe(node) })
    }
}

/// The number of nested unions whose guards are tracked.
const MAX_GUARDS: usize = 4;

/// The number of members that [`Progress::seen`] covers.
const MASK: usize = u64::BITS as usize;

impl Progress {
    fn has(&self, index: usize) -> bool {
        index < MASK && self.seen >> index & 1 == 1
    }

    fn insert(&mut self, index: usize) {
        if index < MASK {
            self.seen |= 1 << index;
        }
    }
}

fn has(object: &dyn Object, wanted: &str) -> bool {
    let mut found = false;
    object.members(&mut Members::new(&mut |name, _| found |= name == wanted));
    found
}

/// Returns whether a type has another form that the target needs. A union counts, because a variant may have one.
fn has_other_form(from: TypeId, target: &Shape) -> bool {
    matches!(Shape::of(from), Shape::Object(.., Some((rule, _))) if !is_spelled(*rule, target))
        || matches!(Shape::of(from), Shape::Union(..))
}

/// Returns whether a type has the member that the rule rewrites.
fn is_spelled(rule: usize, target: &Shape) -> bool {
    respelling(rule).is_none_or(|rule| target.names(rule.member))
}

/// Finds a member whose name is the same string in memory, as equal names in the tables usually are.
#[inline(always)]
fn find_same(members: &'static [Member], other: &Member, next: &mut usize) -> Option<(usize, &'static Member)> {
    let start = *next;
    let index = start + members.get(start..)?.iter().position(|member| std::ptr::eq(member.name, other.name))?;
    *next = index + 1;
    Some((index, members.get(index)?))
}

/// Finds a member by name. Starts at `next`, because members usually come in this order.
#[inline(never)]
fn find(members: &'static [Member], name: &str, next: &mut usize) -> Option<(usize, &'static Member)> {
    let index = find_by(members, *next, name.as_bytes(), |member| member.name);
    let member = members.get(index)?;
    *next = index + 1;
    Some((index, member))
}

/// Describes a value for an error: a scalar as JSON text, and an array or object by its type.
#[cold]
fn describe(node: Node<'_>) -> String {
    match node {
        Node::Array(_) => "array".to_owned(),
        Node::Object(_) => "object".to_owned(),
        node => {
            let text = crate::to_string(&Encoded(node));
            Document::read(text).map_or_else(|_| "value".to_owned(), |document| document.root().describe())
        }
    }
}

#[cold]
fn kind_of_refusal(root: Cursor<'_>, guards: &[Guard]) -> ErrorKind {
    match root.union(guards) {
        Err(error) => error.kind().clone(),
        Ok(_) => ErrorKind::NoVariant { expected: "another variant".to_owned(), found: Some(root.describe()) },
    }
}

/// Returns an identifier that is unlikely to repeat. It need not be secret, so the random keys of hash maps are good
/// enough.
fn random() -> String {
    let half = || RandomState::new().hash_one(());
    format!("{:016x}{:016x}", half(), half())
}
