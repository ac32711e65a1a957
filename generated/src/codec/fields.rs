//! Decodes objects: known members into fields, and all others into `extra`.

use crate::{Error, ErrorKind, Extra, JsonObject, RequestId};

use super::cursor::equal;
use super::index::{Kind, Token};
use super::{Cursor, Decode, ElementCursors, Literal, Members};

/// A type that can be decoded in place, so that the result is never moved.
///
/// Decoding starts with a blank value, which may be invalid. Only the codec can create blank values, because only the
/// codec can create an [`Unread`].
pub trait DecodeInPlace: Decode {
    /// Whether the type has no values, and thus no blank value either.
    const IS_EMPTY: bool = false;

    /// Creates a blank value for [`read`](Self::read) to overwrite.
    fn blank(unread: Unread) -> Self;

    /// Decodes into this value, which must be blank.
    ///
    /// # Errors
    ///
    /// Returns an error if the JSON value is invalid. In this case, `self` may be invalid as well.
    fn read(&mut self, json: Cursor<'_>, unread: Unread) -> Result<(), Error>;
}

/// The members that a type has fields or constants for.
#[derive(Clone, Copy, Debug)]
pub struct MemberTable {
    /// The member names.
    pub names: &'static [&'static str],
    /// The indices of the required members.
    pub required: &'static [usize],
    /// The indices of the constant members.
    pub constants: &'static [usize],
}

impl MemberTable {
    /// Creates a table without constants.
    #[must_use]
    pub const fn new(names: &'static [&'static str], required: &'static [usize]) -> Self {
        Self { names, required, constants: &[] }
    }
}

/// A type whose fields are members of an object.
pub trait ReadMember {
    /// Decodes the member with this index.
    fn read_member(&mut self, index: usize, json: Cursor<'_>, unread: Unread) -> Result<(), Error>;

    /// Decodes a member that has no field. See [`read_other`] and [`refuse_other`].
    fn read_other(&mut self, name: Cursor<'_>, value: Cursor<'_>, unread: Unread) -> Result<(), Error>;

    /// Called once after the last member without a field, if there was any. See [`Extra::finish`].
    fn finish_others(&mut self, unread: Unread);
}

/// A container for the members in an [`Extra`].
pub trait OtherMembers: Sized {
    /// Creates an empty container, which may be invalid until [`finish`](Self::finish).
    fn blank(unread: Unread) -> Self;

    /// Adds a member. If a name occurs more than once, its last member counts.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not valid.
    fn add(&mut self, name: Cursor<'_>, value: Cursor<'_>, unread: Unread) -> Result<(), Error>;

    /// Called after the last member was added.
    fn finish(&mut self);

    /// Writes each member.
    fn write(&self, out: &mut Members<'_>);
}

/// Lets [`Cursor::read_object`] take a reference, whose vtable does not contain the code that drops the type.
impl<T: ReadMember> ReadMember for &mut T {
    fn read_member(&mut self, index: usize, json: Cursor<'_>, unread: Unread) -> Result<(), Error> {
        T::read_member(self, index, json, unread)
    }

    fn read_other(&mut self, name: Cursor<'_>, value: Cursor<'_>, unread: Unread) -> Result<(), Error> {
        T::read_other(self, name, value, unread)
    }

    fn finish_others(&mut self, unread: Unread) {
        T::finish_others(self, unread);
    }
}

/// Permission to create blank values, which only the codec can have.
#[derive(Clone, Copy, Debug)]
pub struct Unread(());

// The functions below are not inlined, so that they are compiled once, or once per member type. Otherwise, every type
// would get a copy for each of its members, including the code that drops the member.

/// Decodes a type that implements [`DecodeInPlace`].
#[inline(never)]
pub fn decode_in_place<T: DecodeInPlace>(json: Cursor<'_>) -> Result<T, Error> {
    if T::IS_EMPTY {
        return Err(json.uninhabited(Unread(())));
    }
    let mut value = T::blank(Unread(()));
    match value.read(json, Unread(())) {
        Ok(()) => Ok(value),
        Err(error) => Err(error),
    }
}

/// Stands for the blank value of a type without values. It is never called.
///
/// # Panics
///
/// Always panics.
#[cold]
pub fn no_value<T>(_: Unread) -> T {
    unreachable!("a type without values is not decoded in place")
}

impl<'a> Cursor<'a> {
    /// Creates the error for a type without values.
    #[cold]
    #[must_use]
    pub fn uninhabited(self, _: Unread) -> Error {
        self.error(ErrorKind::Uninhabited)
    }

    /// Decodes an object into the fields of a type.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Type`] if the value is not an object, [`ErrorKind::Duplicate`] if a known member occurs
    /// twice, [`ErrorKind::Missing`] if a required member is absent, and the errors of the members.
    pub fn read_object(
        self,
        table: &'static MemberTable,
        fields: &mut dyn ReadMember,
        unread: Unread,
    ) -> Result<(), Error> {
        let MemberTable { names, required, constants } = table;
        let members = self.known_members(names)?;
        let (mut seen, mut has_others) = (Seen::default(), false);
        for (index, name, value) in members {
            if let Some(known) = names.get(index) {
                if !seen.insert(index) {
                    return Err(value.error(ErrorKind::Duplicate));
                }
                // These constants were checked with the envelope.
                if !(self.is_body && matches!(*known, "jsonrpc" | "method") && constants.contains(&index)) {
                    fields.read_member(index, value, unread)?;
                }
            } else if !self.is_body || !name.is_of_envelope() {
                fields.read_other(name, value, unread)?;
                has_others = true;
            }
        }
        if has_others {
            fields.finish_others(unread);
        }
        match required.iter().find(|index| !seen.contains(**index)) {
            None => Ok(()),
            Some(absent) => Err(self.missing(names.get(*absent).copied().unwrap_or_default())),
        }
    }

    /// Like [`read_object`](Self::read_object), but checks the members of an object without decoding them. `check`
    /// takes the index and the value of each known member.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`read_object`](Self::read_object) and of `check`.
    pub fn check_object(
        self,
        table: &'static MemberTable,
        check: fn(usize, Cursor<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        struct Checked(fn(usize, Cursor<'_>) -> Result<(), Error>);

        impl ReadMember for Checked {
            fn read_member(&mut self, index: usize, json: Cursor<'_>, _: Unread) -> Result<(), Error> {
                self.0(index, json)
            }

            fn read_other(&mut self, _: Cursor<'_>, _: Cursor<'_>, _: Unread) -> Result<(), Error> {
                Ok(())
            }

            fn finish_others(&mut self, _: Unread) {}
        }

        self.read_object(table, &mut Checked(check), Unread(()))
    }

    /// Returns an iterator over the members of an object. Each item is the index of the name in `names` (`names.len()`
    /// if it is unknown), the name and the value.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Type`] if the value is not an object.
    #[inline(always)]
    pub fn known_members(
        self,
        names: &'static [&'static str],
    ) -> Result<impl Iterator<Item = (usize, Cursor<'a>, Cursor<'a>)>, Error> {
        let mut next = 0;
        Ok(self.members()?.map(move |(name, value)| {
            let index = name.find_in(names, next);
            if index < names.len() {
                next = index + 1;
            }
            (index, name, value)
        }))
    }

    #[inline(always)]
    pub(super) fn find_in(self, names: &[&str], next: usize) -> usize {
        let name = self.token();
        match name.kind() {
            Kind::Plain => find(names, next, self.document.bytes(name)),
            _ => self.find_escaped(names, name),
        }
    }

    #[cold]
    fn find_escaped(self, names: &[&str], name: Token) -> usize {
        let name = super::cursor::unescaped(self.document.slice(name));
        find(names, 0, name.as_bytes())
    }

    /// Checks that the value equals `literal`.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Constant`] if it does not.
    #[inline(never)]
    pub fn read_constant(self, literal: &Literal) -> Result<(), Error> {
        if literal.is(self) {
            return Ok(());
        }
        Err(self.error(ErrorKind::Constant { expected: literal.to_string(), found: self.describe() }))
    }

    /// Checks that the value equals `literal`, and records that the member is present.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Constant`] if it does not.
    pub fn read_optional_constant(self, literal: &Literal, is_present: &mut bool) -> Result<(), Error> {
        *is_present = true;
        self.read_constant(literal)
    }
}

/// Creates an object from constant members.
#[must_use]
pub fn constant_members(members: &[(&str, &Literal)]) -> JsonObject {
    members.iter().map(|(name, value)| (name, (*value).into())).collect()
}

/// Decodes an optional member into its field, which must be `None`.
#[inline(never)]
pub fn read_optional<T: DecodeInPlace>(json: Cursor<'_>, field: &mut Option<T>, unread: Unread) -> Result<(), Error> {
    if T::IS_EMPTY {
        return Err(json.uninhabited(unread));
    }
    set(field, Some(T::blank(unread)));
    match field {
        Some(value) => value.read(json, unread),
        None => Ok(()),
    }
}

/// Sets a value without dropping the old one, which must be blank. Memory that the old value owns would leak.
#[inline]
pub fn set<T>(place: &mut T, value: T) {
    std::mem::forget(std::mem::replace(place, value));
}

/// Sets an ID field whose type is not `RequestId`. The old ID stays if the type does not accept the new one.
pub fn set_id<T: Decode>(field: &mut T, id: &RequestId) {
    if let Ok(id) = crate::to_value(id).and_then(crate::from_value) {
        *field = id;
    }
}

/// Decodes a value elsewhere, and replaces the blank value with it.
#[doc(hidden)]
#[inline]
pub fn replace<T: Decode>(place: &mut T, json: Cursor<'_>) -> Result<(), Error> {
    match T::decode(json) {
        Ok(value) => {
            *place = value;
            Ok(())
        }
        Err(error) => Err(error),
    }
}

#[inline(never)]
pub(super) fn read_elements<T: DecodeInPlace>(
    json: Cursor<'_>,
    elements: &mut Vec<T>,
    unread: Unread,
) -> Result<(), Error> {
    read_items(json.elements()?, elements, unread)
}

#[inline]
pub(super) fn read_items<T: DecodeInPlace>(
    all: ElementCursors<'_>,
    elements: &mut Vec<T>,
    unread: Unread,
) -> Result<(), Error> {
    elements.reserve_exact(all.clone().count());
    for element in all {
        if T::IS_EMPTY {
            return Err(element.uninhabited(unread));
        }
        elements.push(T::blank(unread));
        if let Some(last) = elements.last_mut() {
            last.read(element, unread)?;
        }
    }
    Ok(())
}

/// Adds a member that has no field.
///
/// # Errors
///
/// Returns an error if the value is not valid.
#[inline]
pub fn read_other<T, M: OtherMembers>(
    extra: &mut Extra<T, M>,
    name: Cursor<'_>,
    value: Cursor<'_>,
    unread: Unread,
) -> Result<(), Error> {
    extra.add(name, value, unread)
}

#[inline(never)]
pub(crate) fn add_member<M: OtherMembers>(
    members: &mut Option<Box<M>>,
    name: Cursor<'_>,
    value: Cursor<'_>,
    unread: Unread,
) -> Result<(), Error> {
    members.get_or_insert_with(|| Box::new(M::blank(unread))).add(name, value, unread)
}

#[inline(never)]
pub(crate) fn finish_members<M: OtherMembers>(members: &mut Option<Box<M>>) {
    if let Some(members) = members {
        members.finish();
    }
}

/// Collects the members whose names are not in `known`.
pub(crate) fn decode_others<T>(object: Cursor<'_>, known: &[&str]) -> Result<Extra<T>, Error> {
    let mut extra = Extra::default();
    for (name, value) in object.members()?.filter(|(name, _)| name.find_in(known, 0) == known.len()) {
        read_other(&mut extra, name, value, Unread(()))?;
    }
    extra.finish(Unread(()));
    Ok(extra)
}

/// Rejects a member that has no field, like `additionalProperties: false`.
///
/// # Errors
///
/// Returns [`ErrorKind::Unexpected`].
#[cold]
pub fn refuse_other(value: Cursor<'_>, _: Unread) -> Result<(), Error> {
    Err(value.error(ErrorKind::Unexpected))
}

/// Appends a member to a text: `mark` (`{` or `,`), the name and the value. Also reserves room for the closing brace,
/// because `push` may double the capacity.
#[inline]
pub(crate) fn push_member(text: &mut String, mark: char, name: Cursor<'_>, value: Cursor<'_>) {
    if name.document.is_compact() {
        let member = name.range().start..value.range().end;
        text.reserve(member.len() + 2);
        text.push(mark);
        text.push_str(name.document.text.get(member).unwrap_or_default());
    } else {
        text.push(mark);
        text.push_str(&name.compact_text());
        text.push(':');
        text.push_str(&value.compact_text());
    }
}

/// Returns the index of `name` in `names`, or `names.len()` if it is not there.
#[inline(always)]
pub(super) fn find(names: &[&str], next: usize, name: &[u8]) -> usize {
    find_by(names, next, name, |known| known)
}

/// Returns the index of the member with this name, or `members.len()` if no member has it. Begins at `next`:
/// documents mostly list members in the order of `members`, so that one comparison is usually enough.
#[inline(always)]
pub(crate) fn find_by<M>(members: &[M], next: usize, name: &[u8], name_of: impl Fn(&M) -> &str) -> usize {
    let mut at = next;
    for _ in 0..members.len() {
        at = if at < members.len() { at } else { 0 };
        if members.get(at).is_some_and(|known| equal(name_of(known).as_bytes(), name)) {
            return at;
        }
        at += 1;
    }
    members.len()
}

/// The indices of the members read so far. Fastest for types with at most 64 members.
#[derive(Default)]
struct Seen {
    first: u64,
    more: Vec<usize>,
}

impl Seen {
    #[inline(always)]
    fn insert(&mut self, index: usize) -> bool {
        let is_new = !self.contains(index);
        if index < 64 {
            self.first |= 1 << index;
        } else {
            self.more.push(index);
        }
        is_new
    }

    #[inline(always)]
    fn contains(&self, index: usize) -> bool {
        if index < 64 { self.first & 1 << index != 0 } else { self.more.contains(&index) }
    }
}
