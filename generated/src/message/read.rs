//! Telling messages apart while they are read, in one pass.
//!
//! Once the method says which type the message's body has, the rest of the members goes straight into
//! it, `jsonrpc` and `id` being taken out on the way. Only what stands before `method` is buffered.

use std::borrow::Cow;
use std::{array, iter, vec};

use crate::codec::{Constant, Entries, Entry, Event, Literal, ObjectAccess, Slot, Tree, filled};
use crate::{
    Declares, Error, ErrorId, ErrorKind, ErrorMessage, ErrorObject, Extra, Message, NotificationMessage,
    NotificationSet, RawJson, RequestId, RequestMessage, RequestSet, ResponseMessage,
};

/// Reads one message; the body of a request or a notification goes to `body`.
pub(super) fn read(event: Event<'_>, body: &mut dyn Body) -> Result<Outcome, Error> {
    let Event::Object(object) = event else {
        return Err(event.mismatch("object"));
    };
    let mut envelope = Envelope::default();
    loop {
        let mut name = None;
        let mut unknown = Cow::Borrowed("");
        let more = object.key(&mut |key| {
            name = Name::of(&key);
            unknown = name.map_or_else(|| Cow::Owned(key.into_owned()), |name| Cow::Borrowed(name.as_str()));
        })?;
        if !more {
            return envelope.finish(body);
        }
        match name {
            Some(name) => envelope.read(name, object, body)?,
            None => envelope.buffer(unknown, object)?,
        }
        if let Some((kind, found)) = envelope.kind()? {
            return envelope.stream(kind, found, Some(object), body);
        }
    }
}

/// What was read.
pub(super) enum Outcome {
    Request(RequestId),
    Notification,
    Response(ResponseMessage),
    Error(ErrorMessage),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Request,
    Notification,
}

/// The place for a request or a notification, whatever their types. The id of a request is not its affair.
pub(super) trait Body {
    fn find(&self, kind: Kind, method: &str) -> Option<Found>;
    fn decode(&mut self, kind: Kind, found: Found, event: Event<'_>) -> Result<(), Error>;
}

/// Where the message stays, without a copy on the way.
pub(super) struct Typed<R, N>(pub(super) Option<Message<R, N>>);

impl<R: RequestSet, N: NotificationSet> Body for Typed<R, N> {
    fn find(&self, kind: Kind, method: &str) -> Option<Found> {
        let all = match kind {
            Kind::Request => R::DECLARES,
            Kind::Notification => N::DECLARES,
        };
        let member = all.iter().position(|declares| declares.method == method)?;
        Some(Found { member, declares: &all[member] })
    }

    fn decode(&mut self, kind: Kind, found: Found, event: Event<'_>) -> Result<(), Error> {
        match kind {
            Kind::Request => {
                let request = R::of_method(found.member, event)?;
                // The id is known in the end.
                self.0.get_or_insert(Message::Request(RequestMessage { id: RequestId::Integer(0), request }));
            }
            Kind::Notification => {
                let notification = N::of_method(found.member, event)?;
                self.0.get_or_insert(Message::Notification(NotificationMessage { notification }));
            }
        }
        Ok(())
    }
}

/// What a direction has by the name of a method.
#[derive(Clone, Copy)]
pub(super) struct Found {
    member: usize,
    declares: &'static Declares,
}

/// The members that JSON-RPC names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
}

impl Name {
    fn of(key: &str) -> Option<Self> {
        Some(match key {
            "jsonrpc" => Self::Jsonrpc,
            "id" => Self::Id,
            "method" => Self::Method,
            "params" => Self::Params,
            "result" => Self::Result,
            "error" => Self::Error,
            _ => return None,
        })
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Jsonrpc => "jsonrpc",
            Self::Id => "id",
            Self::Method => "method",
            Self::Params => "params",
            Self::Result => "result",
            Self::Error => "error",
        }
    }

    fn excludes(self) -> &'static [Self] {
        match self {
            Self::Method => &[Self::Result, Self::Error],
            Self::Result => &[Self::Method, Self::Error],
            Self::Error => &[Self::Method, Self::Result],
            Self::Jsonrpc | Self::Id | Self::Params => &[],
        }
    }
}

/// What was read so far.
#[derive(Default)]
struct Envelope {
    seen: [bool; 6],
    id: ErrorId,
    method: Option<Method>,
    result: Option<RawJson>,
    error: Option<ErrorObject>,
    /// `params`, and members that JSON-RPC does not name.
    rest: Entries,
}

/// A method, and what the direction has by that name.
struct Method {
    name: Cow<'static, str>,
    request: Option<Found>,
    notification: Option<Found>,
}

impl Method {
    #[cold]
    fn unknown(&self, kind: Kind) -> Error {
        let (method, request) = (self.name.clone().into_owned(), kind == Kind::Request);
        Error::new(ErrorKind::UnknownMethod { method, request }).at_key("method")
    }
}

/// The place of a method. A name that is known is not copied.
struct MethodSlot<'a> {
    method: &'a mut Option<Method>,
    body: &'a dyn Body,
}

impl Slot for MethodSlot<'_> {
    fn put(&mut self, event: Event<'_>) -> Result<(), Error> {
        let text = match &event {
            Event::Str(text) => text,
            Event::String(text) => text.as_str(),
            other => return Err(other.mismatch("string")),
        };
        let request = self.body.find(Kind::Request, text);
        let notification = self.body.find(Kind::Notification, text);
        let known = request.or(notification).map(|found| Cow::Borrowed(found.declares.method));
        let name = known.unwrap_or_else(|| Cow::Owned((*text).to_owned()));
        *self.method = Some(Method { name, request, notification });
        Ok(())
    }
}

impl Envelope {
    fn read(&mut self, name: Name, object: &mut dyn ObjectAccess, body: &dyn Body) -> Result<(), Error> {
        self.admit(name)?;
        let read = match name {
            Name::Params => return self.buffer(Cow::Borrowed(name.as_str()), object),
            Name::Jsonrpc => object.value(&mut Constant::new(VERSION)),
            Name::Id => self.read_id(object),
            Name::Method => object.value(&mut MethodSlot { method: &mut self.method, body }),
            Name::Error => object.value(&mut self.error),
            Name::Result => self.read_result(object),
        };
        read.map_err(|error| error.at_key(name.as_str()))
    }

    /// Each member once, and none beside one that excludes it.
    fn admit(&mut self, name: Name) -> Result<(), Error> {
        let conflict = name.excludes().iter().find(|other| self.has(**other));
        let kind = match conflict {
            Some(other) => ErrorKind::Conflict { with: other.as_str() },
            None if self.has(name) => ErrorKind::Duplicate,
            None => {
                self.seen[name as usize] = true;
                return Ok(());
            }
        };
        Err(Error::new(kind).at_key(name.as_str()))
    }

    fn has(&self, name: Name) -> bool {
        self.seen[name as usize]
    }

    fn read_id(&mut self, object: &mut dyn ObjectAccess) -> Result<(), Error> {
        let mut slot: Option<Option<RequestId>> = None;
        object.value(&mut slot)?;
        self.id = filled(slot)?.map_or(ErrorId::Null, ErrorId::Id);
        Ok(())
    }

    fn read_result(&mut self, object: &mut dyn ObjectAccess) -> Result<(), Error> {
        let mut slot = None;
        object.value(&mut slot)?;
        let result: RawJson = filled(slot)?;
        match result.type_name() {
            "object" => {
                self.result = Some(result);
                Ok(())
            }
            found => Err(Error::new(ErrorKind::Type { expected: "object".into(), found: found.to_owned() })),
        }
    }

    fn buffer(&mut self, name: Cow<'static, str>, object: &mut dyn ObjectAccess) -> Result<(), Error> {
        let mut tree = None;
        match object.value(&mut tree) {
            Ok(()) => self.rest.push((name, filled(tree)?)),
            Err(error) => return Err(error.at_key(name)),
        }
        Ok(())
    }

    /// What the message is, as soon as that is certain. `id` may come last, so it is what the method
    /// is; unless it is both, or neither, and then `id` decides in the end.
    fn kind(&self) -> Result<Option<(Kind, Found)>, Error> {
        let Some(method) = &self.method else {
            return Ok(None);
        };
        match (&self.id, method.request, method.notification) {
            (ErrorId::Id(_), Some(found), _) => Ok(Some((Kind::Request, found))),
            (ErrorId::Id(_), None, _) => Err(method.unknown(Kind::Request)),
            (ErrorId::Null, ..) => Err(null_id()),
            (ErrorId::Absent, Some(found), None) => Ok(Some((Kind::Request, found))),
            (ErrorId::Absent, None, Some(found)) => Ok(Some((Kind::Notification, found))),
            (ErrorId::Absent, ..) => Ok(None),
        }
    }

    /// All members are read.
    fn finish(mut self, body: &mut dyn Body) -> Result<Outcome, Error> {
        if let Some(method) = &self.method {
            let found = method.notification.ok_or_else(|| method.unknown(Kind::Notification))?;
            return self.stream(Kind::Notification, found, None, body);
        }
        match (&self.result, &self.error) {
            (None, None) => Err(Error::new(ErrorKind::NoMember {
                expected: "a member `method`, `result` or `error`".to_owned(),
                found: Some("none".to_owned()),
            })),
            _ => {
                self.insist(Name::Jsonrpc)?;
                self.answer()
            }
        }
    }

    fn answer(self) -> Result<Outcome, Error> {
        if let Some(error) = self.error {
            return Ok(Outcome::Error(ErrorMessage { id: self.id, error, extra: Extra::from_entries(self.rest) }));
        }
        let id = match self.id {
            ErrorId::Id(id) => id,
            ErrorId::Null => return Err(null_id()),
            ErrorId::Absent => return Err(Error::missing("id")),
        };
        let result = filled(self.result)?;
        Ok(Outcome::Response(ResponseMessage { id, result, extra: Extra::from_entries(self.rest) }))
    }

    fn insist(&self, name: Name) -> Result<(), Error> {
        if self.has(name) { Ok(()) } else { Err(Error::missing(name.as_str())) }
    }

    /// Decodes the body from what is buffered and from what follows.
    fn stream(
        &mut self,
        kind: Kind,
        found: Found,
        live: Option<&mut dyn ObjectAccess>,
        body: &mut dyn Body,
    ) -> Result<Outcome, Error> {
        let declares = found.declares;
        // The method first, in case that it is the tag of the body's union.
        let jsonrpc = declares.jsonrpc && self.has(Name::Jsonrpc);
        let id = declares.id && matches!(self.id, ErrorId::Id(_));
        let named = [Some(Name::Method), jsonrpc.then_some(Name::Jsonrpc), id.then_some(Name::Id)];
        let front = named.into_iter().flatten();
        let rest = std::mem::take(&mut self.rest).into_iter();
        let mut members = BodyMembers { envelope: self, kind, declares, front, rest, held: None, live };
        body.decode(kind, found, Event::Object(&mut members))?;
        self.insist(Name::Jsonrpc)?;
        match (kind, std::mem::take(&mut self.id)) {
            (Kind::Notification, _) => Ok(Outcome::Notification),
            (Kind::Request, ErrorId::Id(id)) => Ok(Outcome::Request(id)),
            (Kind::Request, _) => Err(Error::missing("id")),
        }
    }
}

const VERSION: Literal = Literal::Str("2.0");

#[cold]
fn null_id() -> Error {
    Event::Null.mismatch("string or integer").at_key("id")
}

/// The message's members as its body sees them: those of the envelope only if its type declares them.
struct BodyMembers<'a, 'l> {
    envelope: &'a mut Envelope,
    kind: Kind,
    declares: &'static Declares,
    front: iter::Flatten<array::IntoIter<Option<Name>, 3>>,
    rest: vec::IntoIter<Entry>,
    /// The value of the last key, if it is read already.
    held: Option<Held>,
    live: Option<&'l mut dyn ObjectAccess>,
}

enum Held {
    /// The envelope has it.
    Named(Name),
    Tree(Tree),
}

impl ObjectAccess for BodyMembers<'_, '_> {
    fn key(&mut self, matcher: &mut dyn FnMut(Cow<'_, str>)) -> Result<bool, Error> {
        if let Some(name) = self.front.next() {
            self.held = Some(Held::Named(name));
            matcher(Cow::Borrowed(name.as_str()));
            return Ok(true);
        }
        if let Some((key, tree)) = self.rest.next() {
            self.held = Some(Held::Tree(tree));
            matcher(key);
            return Ok(true);
        }
        let Some(live) = self.live.as_deref_mut() else {
            return Ok(false);
        };
        loop {
            let mut name = None;
            let more = live.key(&mut |key| {
                name = Name::of(&key);
                if self.declares.shows(name) {
                    matcher(key);
                }
            })?;
            let Some(name) = name else { return Ok(more) };
            self.envelope.admit(name)?;
            match name {
                Name::Jsonrpc | Name::Id => {
                    self.envelope.intercept(name, live, self.kind)?;
                    if self.declares.shows(Some(name)) {
                        self.held = Some(Held::Named(name));
                        return Ok(true);
                    }
                }
                _ => return Ok(true),
            }
        }
    }

    fn value(&mut self, slot: &mut dyn Slot) -> Result<(), Error> {
        match (self.held.take(), self.live.as_deref_mut()) {
            (Some(Held::Named(name)), _) => self.envelope.put(name, slot),
            (Some(Held::Tree(tree)), _) => tree.replay(slot),
            (None, Some(live)) => live.value(slot),
            (None, None) => filled(None),
        }
    }
}

impl Declares {
    /// Whether the body sees the member.
    fn shows(self, name: Option<Name>) -> bool {
        match name {
            None | Some(Name::Params) => true,
            Some(Name::Jsonrpc) => self.jsonrpc,
            Some(Name::Id) => self.id,
            // Twice the method, or beside it a member that it excludes.
            Some(Name::Method | Name::Result | Name::Error) => false,
        }
    }
}

impl Envelope {
    /// Reads a member of the envelope that comes after the method.
    fn intercept(&mut self, name: Name, live: &mut dyn ObjectAccess, kind: Kind) -> Result<(), Error> {
        if name == Name::Jsonrpc {
            return live.value(&mut Constant::new(VERSION)).map_err(|error| error.at_key("jsonrpc"));
        }
        self.read_id(live).map_err(|error| error.at_key("id"))?;
        match (&self.id, kind, &self.method) {
            (ErrorId::Id(_), Kind::Request, _) => Ok(()),
            (ErrorId::Id(_), Kind::Notification, Some(method)) => Err(method.unknown(Kind::Request)),
            _ => Err(null_id()),
        }
    }

    /// Gives a member that is read already to a slot.
    fn put(&self, name: Name, slot: &mut dyn Slot) -> Result<(), Error> {
        match (name, &self.id, &self.method) {
            (Name::Jsonrpc, ..) => slot.put(Event::Str("2.0")),
            (Name::Id, ErrorId::Id(RequestId::String(text)), _) => slot.put(Event::Str(text)),
            (Name::Id, ErrorId::Id(RequestId::Integer(integer)), _) => slot.put(Event::Signed(*integer)),
            (Name::Method, _, Some(method)) => slot.put(Event::Str(&method.name)),
            _ => filled(None),
        }
    }
}
