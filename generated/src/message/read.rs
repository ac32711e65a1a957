//! Telling messages apart while they are read, in one pass.
//!
//! Once the method says which type the message's body has, the rest of the members goes straight into
//! it, `jsonrpc` and `id` being taken out on the way. Only what stands before `method` is buffered.

use std::borrow::Cow;
use std::vec;

use crate::codec::{Constant, Entries, Event, Literal, ObjectAccess, Slot, Tree, filled};
use crate::{
    Declares, Error, ErrorId, ErrorKind, ErrorMessage, ErrorObject, Extra, NotificationSet, RawJson, RequestId,
    RequestSet, ResponseMessage,
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
            Some(name) => envelope.read(name, object)?,
            None => envelope.buffer(unknown, object)?,
        }
        if let Some(kind) = envelope.kind(body)? {
            return envelope.stream(kind, Some(object), body);
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

/// The place for a request or a notification, whatever their types.
pub(super) trait Body {
    fn declares(&self, kind: Kind, method: &str) -> Option<Declares>;
    fn decode(&mut self, kind: Kind, event: Event<'_>) -> Result<(), Error>;
}

pub(super) struct Typed<R, N> {
    pub(super) request: Option<R>,
    pub(super) notification: Option<N>,
}

impl<R, N> Default for Typed<R, N> {
    fn default() -> Self {
        Self { request: None, notification: None }
    }
}

impl<R: RequestSet, N: NotificationSet> Body for Typed<R, N> {
    fn declares(&self, kind: Kind, method: &str) -> Option<Declares> {
        match kind {
            Kind::Request => R::declares(method),
            Kind::Notification => N::declares(method),
        }
    }

    fn decode(&mut self, kind: Kind, event: Event<'_>) -> Result<(), Error> {
        match kind {
            Kind::Request => self.request.put(event),
            Kind::Notification => self.notification.put(event),
        }
    }
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
    method: Option<String>,
    result: Option<RawJson>,
    error: Option<ErrorObject>,
    /// `params`, and members that JSON-RPC does not name.
    rest: Entries,
}

impl Envelope {
    fn read(&mut self, name: Name, object: &mut dyn ObjectAccess) -> Result<(), Error> {
        self.admit(name)?;
        let read = match name {
            Name::Params => return self.buffer(Cow::Borrowed(name.as_str()), object),
            Name::Jsonrpc => object.value(&mut Constant::new(Literal::Str("2.0"))),
            Name::Id => self.read_id(object),
            Name::Method => object.value(&mut self.method),
            Name::Error => object.value(&mut self.error),
            Name::Result => object.raw().and_then(|raw| match raw.type_name() {
                "object" => {
                    self.result = Some(raw);
                    Ok(())
                }
                found => Err(Error::new(ErrorKind::Type { expected: "object".into(), found: found.to_owned() })),
            }),
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
    fn kind(&self, body: &dyn Body) -> Result<Option<Kind>, Error> {
        let Some(method) = &self.method else {
            return Ok(None);
        };
        match self.id {
            ErrorId::Id(_) => self.known(Kind::Request, body).map(Some),
            ErrorId::Null => Err(null_id()),
            ErrorId::Absent => {
                let request = body.declares(Kind::Request, method).is_some();
                let notification = body.declares(Kind::Notification, method).is_some();
                Ok(match (request, notification) {
                    (true, false) => Some(Kind::Request),
                    (false, true) => Some(Kind::Notification),
                    _ => None,
                })
            }
        }
    }

    fn known(&self, kind: Kind, body: &dyn Body) -> Result<Kind, Error> {
        let method = self.method.clone().unwrap_or_default();
        match body.declares(kind, &method) {
            Some(_) => Ok(kind),
            None => Err(unknown_method(method, kind)),
        }
    }

    /// All members are read.
    fn finish(self, body: &mut dyn Body) -> Result<Outcome, Error> {
        if self.method.is_some() {
            let kind = self.known(Kind::Notification, body)?;
            return self.stream(kind, None, body);
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
        mut self,
        kind: Kind,
        live: Option<&mut dyn ObjectAccess>,
        body: &mut dyn Body,
    ) -> Result<Outcome, Error> {
        let method = self.method.clone().unwrap_or_default();
        let declares = body.declares(kind, &method).unwrap_or_default();
        // The method first, because it is the tag of the body's union.
        let mut front = vec![(Cow::Borrowed("method"), Tree::Text(Cow::Owned(method)))];
        if declares.jsonrpc && self.has(Name::Jsonrpc) {
            front.push((Cow::Borrowed("jsonrpc"), version()));
        }
        if let (true, ErrorId::Id(id)) = (declares.id, &self.id) {
            front.push((Cow::Borrowed("id"), tree(id)));
        }
        front.append(&mut self.rest);
        let front = front.into_iter();
        let mut members = BodyMembers { envelope: &mut self, kind, declares, front, value: None, live };
        body.decode(kind, Event::Object(&mut members))?;
        self.insist(Name::Jsonrpc)?;
        match (kind, self.id) {
            (Kind::Notification, _) => Ok(Outcome::Notification),
            (Kind::Request, ErrorId::Id(id)) => Ok(Outcome::Request(id)),
            (Kind::Request, _) => Err(Error::missing("id")),
        }
    }
}

fn null_id() -> Error {
    Event::Null.mismatch("string or integer").at_key("id")
}

fn unknown_method(method: String, kind: Kind) -> Error {
    Error::new(ErrorKind::UnknownMethod { method, request: kind == Kind::Request }).at_key("method")
}

fn version() -> Tree {
    Tree::Text(Cow::Borrowed("2.0"))
}

fn tree(id: &RequestId) -> Tree {
    match id {
        RequestId::String(text) => Tree::Text(Cow::Owned(text.clone())),
        RequestId::Integer(integer) => Tree::Number((*integer).into()),
    }
}

/// The message's members as its body sees them: those of the envelope only if its type declares them.
struct BodyMembers<'a, 'l> {
    envelope: &'a mut Envelope,
    kind: Kind,
    declares: Declares,
    front: vec::IntoIter<(Cow<'static, str>, Tree)>,
    /// The value of the last key, if it is read already.
    value: Option<Tree>,
    live: Option<&'l mut dyn ObjectAccess>,
}

impl ObjectAccess for BodyMembers<'_, '_> {
    fn key(&mut self, matcher: &mut dyn FnMut(Cow<'_, str>)) -> Result<bool, Error> {
        if let Some((key, value)) = self.front.next() {
            self.value = Some(value);
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
                    self.value = Some(self.envelope.intercept(name, live, self.kind)?);
                    if self.declares.shows(Some(name)) {
                        return Ok(true);
                    }
                    self.value = None;
                }
                _ => return Ok(true),
            }
        }
    }

    fn value(&mut self, slot: &mut dyn Slot) -> Result<(), Error> {
        match (self.value.take(), self.live.as_deref_mut()) {
            (Some(tree), _) => tree.replay(slot),
            (None, Some(live)) => live.value(slot),
            (None, None) => filled(None),
        }
    }

    fn raw(&mut self) -> Result<RawJson, Error> {
        match (self.value.take(), self.live.as_deref_mut()) {
            (Some(tree), _) => Ok(RawJson::from_tree(tree)),
            (None, Some(live)) => live.raw(),
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
    /// Reads a member of the envelope that comes after the method, and gives its value.
    fn intercept(&mut self, name: Name, live: &mut dyn ObjectAccess, kind: Kind) -> Result<Tree, Error> {
        if name == Name::Jsonrpc {
            live.value(&mut Constant::new(Literal::Str("2.0"))).map_err(|error| error.at_key("jsonrpc"))?;
            return Ok(version());
        }
        self.read_id(live).map_err(|error| error.at_key("id"))?;
        match (&self.id, kind) {
            (ErrorId::Id(id), Kind::Request) => Ok(tree(id)),
            (ErrorId::Id(_), Kind::Notification) => {
                Err(unknown_method(self.method.clone().unwrap_or_default(), Kind::Request))
            }
            _ => Err(null_id()),
        }
    }
}
