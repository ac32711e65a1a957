//! Any serde `Deserializer` as a reader of events.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::sync::OnceLock;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as ForeignError, MapAccess, SeqAccess, Visitor};

use crate::Number;
use crate::error::{Error, ErrorKind, split_position};

use super::buffer::filled;
use super::{ArrayAccess, Decode, Event, MAX_DEPTH, ObjectAccess, Slot, Tree};

/// Reads one value with any `Deserializer` that describes itself.
///
/// # Errors
///
/// The deserializer's; ours is in its message, word for word.
pub fn deserialize<'de, T: Decode, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let context = Context::new(Source::Foreign);
    let mut slot = None;
    let read = read(&context, &mut slot, deserializer).and_then(|()| filled(slot));
    read.map_err(|error| {
        let error = error.with_type_name(T::NAME);
        match (error.kind(), error.line(), error.column()) {
            (ErrorKind::Json { .. }, ..) => D::Error::custom(error),
            // The position came out of this deserializer's words, and so it goes back in.
            (_, Some(line), Some(column)) => D::Error::custom(format_args!("{error} at line {line} column {column}")),
            _ => D::Error::custom(error),
        }
    })
}

/// Reads one value from JSON text, of which nothing may be left over.
pub(crate) fn parse(text: &str, slot: &mut dyn Slot) -> Result<(), Error> {
    let context = Context::new(Source::Text);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    read(&context, slot, &mut deserializer)?;
    deserializer.end().map_err(|error| Error::foreign(&error.to_string()))
}

/// Reads one value from a tree of `serde_json`'s.
pub(super) fn walk(value: &serde_json::Value, slot: &mut dyn Slot) -> Result<(), Error> {
    read(&Context::new(Source::Value), slot, value)
}

fn read<'de, D: Deserializer<'de>>(context: &Context, slot: &mut dyn Slot, deserializer: D) -> Result<(), Error> {
    Seed { slot, context }.deserialize(deserializer).map_err(|error| context.recover(&error))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Text,
    Value,
    Foreign,
}

/// What all levels of one document share.
struct Context {
    source: Source,
    depth: Cell<u32>,
    /// Our error, while a dummy stands for it: serde's error types cannot carry it.
    error: Cell<Option<Error>>,
    /// Numbers come as maps.
    arbitrary_precision: bool,
}

impl Context {
    fn new(source: Source) -> Self {
        Self { source, depth: Cell::new(0), error: Cell::new(None), arbitrary_precision: arbitrary_precision() }
    }

    /// Puts our error aside and gives a dummy.
    #[cold]
    fn stash<E: ForeignError>(&self, error: Error) -> E {
        self.error.set(Some(error));
        E::custom("")
    }

    /// Our error if there is one, with the position that the dummy got on its way; otherwise the
    /// deserializer's own.
    #[cold]
    fn recover(&self, error: &dyn fmt::Display) -> Error {
        let words = error.to_string();
        match self.error.take() {
            Some(error) => error.at_position(split_position(&words).1),
            None => Error::foreign(&words),
        }
    }

    fn enter(&self) -> Result<(), Error> {
        let depth = self.depth.get() + 1;
        if depth > MAX_DEPTH {
            return Err(Error::new(ErrorKind::Depth));
        }
        self.depth.set(depth);
        Ok(())
    }

    fn leave(&self) {
        self.depth.set(self.depth.get() - 1);
    }
}

/// Gives the one value that a deserializer is asked for to a slot.
struct Seed<'a> {
    slot: &'a mut dyn Slot,
    context: &'a Context,
}

impl Seed<'_> {
    fn put<E: ForeignError>(self, event: Event<'_>) -> Result<(), E> {
        self.slot.put(event).map_err(|error| self.context.stash(error))
    }

    fn put_container<E: ForeignError>(self, event: Event<'_>) -> Result<(), E> {
        let context = self.context;
        context.enter().map_err(|error| context.stash(error))?;
        let put = self.slot.put(event);
        context.leave();
        put.map_err(|error| context.stash(error))
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: ForeignError>(self) -> Result<(), E> {
        self.put(Event::Null)
    }

    fn visit_none<E: ForeignError>(self) -> Result<(), E> {
        self.put(Event::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E: ForeignError>(self, value: bool) -> Result<(), E> {
        self.put(Event::Bool(value))
    }

    fn visit_u64<E: ForeignError>(self, integer: u64) -> Result<(), E> {
        self.put(Event::Unsigned(integer))
    }

    fn visit_i64<E: ForeignError>(self, integer: i64) -> Result<(), E> {
        self.put(Event::Signed(integer))
    }

    fn visit_u128<E: ForeignError>(self, integer: u128) -> Result<(), E> {
        match u64::try_from(integer) {
            Ok(integer) => self.visit_u64(integer),
            Err(_) => self.visit_f64(integer as f64),
        }
    }

    fn visit_i128<E: ForeignError>(self, integer: i128) -> Result<(), E> {
        match (u64::try_from(integer), i64::try_from(integer)) {
            (Ok(integer), _) => self.visit_u64(integer),
            (_, Ok(integer)) => self.visit_i64(integer),
            _ => self.visit_f64(integer as f64),
        }
    }

    fn visit_f64<E: ForeignError>(self, float: f64) -> Result<(), E> {
        if float.is_finite() {
            return self.put(Event::Float(float));
        }
        Err(self.context.stash(Error::foreign(&crate::NotFinite.to_string())))
    }

    fn visit_str<E: ForeignError>(self, text: &str) -> Result<(), E> {
        self.put(Event::Str(text))
    }

    fn visit_string<E: ForeignError>(self, text: String) -> Result<(), E> {
        self.put(Event::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<(), A::Error> {
        let context = self.context;
        self.put_container(Event::Array(&mut SerdeArray { access, context }))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let context = self.context;
        let mut first = None;
        if context.arbitrary_precision {
            match first_member(&mut access, context)? {
                First::Number(number) => return self.put(number.event()),
                First::Member(member) => first = member,
            }
        }
        self.put_container(Event::Object(&mut SerdeObject { access, context, first, value: None }))
    }
}

struct SerdeArray<'c, A> {
    access: A,
    context: &'c Context,
}

impl<'de, A: SeqAccess<'de>> ArrayAccess for SerdeArray<'_, A> {
    fn next(&mut self, slot: &mut dyn Slot) -> Result<bool, Error> {
        let context = self.context;
        match self.access.next_element_seed(Seed { slot, context }) {
            Ok(element) => Ok(element.is_some()),
            Err(error) => Err(context.recover(&error)),
        }
    }
}

struct SerdeObject<'c, A> {
    access: A,
    context: &'c Context,
    /// A member read before it was known that it is one; see [`first_member`].
    first: Option<Member>,
    value: Option<Tree>,
}

/// A key, and its value if that was read as well.
struct Member(String, Option<Tree>);

impl<'de, A: MapAccess<'de>> ObjectAccess for SerdeObject<'_, A> {
    fn key(&mut self, matcher: &mut dyn FnMut(Cow<'_, str>)) -> Result<bool, Error> {
        if let Some(Member(key, value)) = self.first.take() {
            self.value = value;
            matcher(Cow::Owned(key));
            return Ok(true);
        }
        match self.access.next_key_seed(KeySeed(matcher)) {
            Ok(key) => Ok(key.is_some()),
            Err(error) => Err(self.context.recover(&error)),
        }
    }

    fn value(&mut self, slot: &mut dyn Slot) -> Result<(), Error> {
        let context = self.context;
        match self.value.take() {
            Some(tree) => tree.replay(slot),
            None => self.access.next_value_seed(Seed { slot, context }).map_err(|error| context.recover(&error)),
        }
    }
}

/// Shows one key to a matcher.
struct KeySeed<'a>(&'a mut dyn FnMut(Cow<'_, str>));

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeySeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string as the key")
    }

    fn visit_str<E: ForeignError>(self, text: &str) -> Result<(), E> {
        (self.0)(Cow::Borrowed(text));
        Ok(())
    }

    fn visit_string<E: ForeignError>(self, text: String) -> Result<(), E> {
        (self.0)(Cow::Owned(text));
        Ok(())
    }
}

/// The key of the map that a number comes as, if serde_json's `arbitrary_precision` is on.
const NUMBER_KEY: &str = "$serde_json::private::Number";

/// Whether somebody has switched on serde_json's `arbitrary_precision`; asked once, with a number that
/// is no small integer, because these come as ever.
fn arbitrary_precision() -> bool {
    struct Probe;

    impl<'de> Visitor<'de> for Probe {
        type Value = bool;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number")
        }

        fn visit_f64<E: ForeignError>(self, _: f64) -> Result<bool, E> {
            Ok(false)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<bool, A::Error> {
            while access.next_entry::<String, String>()?.is_some() {}
            Ok(true)
        }
    }

    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| serde_json::Deserializer::from_str("1.5").deserialize_any(Probe).unwrap_or(false))
}

enum First {
    Number(Number),
    Member(Option<Member>),
}

/// Reads the first key, and if it is that of a number the value too, and tells numbers from objects.
///
/// An object of somebody's own may begin with the same key. From text and from a `Value` its string
/// comes borrowed, that of a number owned; of other deserializers nothing is known, and what looks
/// like a number is one.
fn first_member<'de, A: MapAccess<'de>>(access: &mut A, context: &Context) -> Result<First, A::Error> {
    let mut name = None;
    let mut keep = |key: Cow<'_, str>| name = Some(key.into_owned());
    access.next_key_seed(KeySeed(&mut keep))?;
    let Some(name) = name else {
        return Ok(First::Member(None));
    };
    if name != NUMBER_KEY {
        return Ok(First::Member(Some(Member(name, None))));
    }
    let mut slot = NumberText { tree: None, number: None, exact: context.source != Source::Foreign };
    let seed = Seed { slot: &mut slot, context };
    access.next_value_seed(seed)?;
    Ok(match slot.number {
        Some(number) => First::Number(number),
        None => First::Member(Some(Member(name, slot.tree))),
    })
}

struct NumberText {
    tree: Option<Tree>,
    number: Option<Number>,
    exact: bool,
}

impl Slot for NumberText {
    fn put(&mut self, event: Event<'_>) -> Result<(), Error> {
        let text = match &event {
            Event::String(text) => text.as_str(),
            Event::Str(text) if !self.exact => text,
            _ => "",
        };
        if !Number::is_json(text) {
            self.tree = Some(Tree::decode(event)?);
            return Ok(());
        }
        self.number = Number::parse(text);
        match self.number {
            Some(_) => Ok(()),
            None => Err(Error::foreign("number out of range")),
        }
    }
}
