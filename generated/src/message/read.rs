//! Determines the kind of a message from its members.

use crate::codec::{self, Cursor, Decode, Literal, Place};
use crate::{Error, ErrorId, ErrorKind, ErrorMessage, ErrorObject, Extra, RequestId, ResponseMessage};

/// The members of a message that JSON-RPC defines.
pub(super) struct Envelope<'a> {
    json: Cursor<'a>,
    /// Where the members in [`NAMES`] are.
    members: [Option<Place>; NAMES.len()],
    has_others: bool,
}

const NAMES: &[&str] = &["jsonrpc", "id", "method", "params", "result", "error"];
const JSONRPC: usize = 0;
const ID: usize = 1;
const METHOD: usize = 2;
const PARAMS: usize = 3;
const RESULT: usize = 4;
const ERROR: usize = 5;

/// The kind of a message, with the index of its method.
pub(super) enum Kind {
    Request(usize),
    Notification(usize),
    Response,
    Error,
}

impl<'a> Envelope<'a> {
    pub(super) fn read(json: Cursor<'a>) -> Result<Self, Error> {
        let mut envelope = Self { json, members: [None; NAMES.len()], has_others: false };
        for (index, _, value) in json.known_members(NAMES)? {
            match envelope.members.get_mut(index) {
                None => envelope.has_others = true,
                Some(Some(_)) => return Err(value.error(ErrorKind::Duplicate)),
                Some(member) => *member = Some(value.place()),
            }
        }
        envelope.check_kinds()?;
        Ok(envelope)
    }

    fn member(&self, index: usize) -> Option<Cursor<'a>> {
        self.members[index].map(|place| self.json.at(place))
    }

    fn check_kinds(&self) -> Result<(), Error> {
        let present = [METHOD, RESULT, ERROR].into_iter().filter(|index| self.members[*index].is_some());
        if present.count() > 1 { Err(self.conflict()) } else { Ok(()) }
    }

    /// Creates the error for two conflicting members. The error is at the second member and names the first.
    #[cold]
    fn conflict(&self) -> Error {
        let of_kind = [METHOD, RESULT, ERROR].into_iter().filter_map(|index| Some((self.member(index)?, NAMES[index])));
        let start = |(member, _): &(Cursor<'_>, &str)| member.place();
        let (Some((_, first)), Some((second, _))) = (of_kind.clone().min_by_key(start), of_kind.max_by_key(start))
        else {
            return self.json.missing("method");
        };
        second.error(ErrorKind::Conflict { with: first })
    }

    pub(super) fn kind(&self, requests: &[&str], notifications: &[&str]) -> Result<Kind, Error> {
        self.check_version()?;
        let Some(method) = self.member(METHOD) else {
            return match (self.member(RESULT), self.member(ERROR)) {
                (Some(_), _) => Ok(Kind::Response),
                (_, Some(_)) => Ok(Kind::Error),
                _ => Err(self.json.error(ErrorKind::NoVariant {
                    expected: "a member `method`, `result` or `error`".to_owned(),
                    found: Some("none".to_owned()),
                })),
            };
        };
        let Some(name) = method.as_str() else { return Err(method.mismatch("string")) };
        let of = |names: &[&str]| names.iter().position(|known| *known == name);
        let unknown = |request| method.error(ErrorKind::UnknownMethod { method: name.to_string(), request });
        match self.member(ID) {
            Some(id) if id.is_null() => Err(id.mismatch("string or integer")),
            Some(_) => of(requests).map(Kind::Request).ok_or_else(|| unknown(true)),
            None => match (of(notifications), of(requests)) {
                (Some(method), _) => Ok(Kind::Notification(method)),
                (None, Some(_)) => Err(self.json.missing("id")),
                (None, None) => Err(unknown(false)),
            },
        }
    }

    fn check_version(&self) -> Result<(), Error> {
        const VERSION: Literal = Literal::Str("2.0");
        match self.member(JSONRPC) {
            Some(version) => version.read_constant(&VERSION),
            None => Err(self.json.missing("jsonrpc")),
        }
    }

    pub(super) fn id(&self) -> Result<RequestId, Error> {
        match self.member(ID) {
            Some(id) => RequestId::decode(id),
            None => Err(self.json.missing("id")),
        }
    }

    pub(super) fn response<T: Decode>(&self, is_object: bool) -> Result<ResponseMessage<T>, Error> {
        let id = self.id()?;
        match self.member(RESULT) {
            Some(result) if is_object && !result.is_object() => Err(result.mismatch("object")),
            Some(result) => Ok(ResponseMessage { id, result: T::decode(result)?, extra: self.extra()? }),
            None => Err(self.json.missing("result")),
        }
    }

    pub(super) fn error(&self) -> Result<ErrorMessage, Error> {
        let id = match self.member(ID) {
            None => ErrorId::Absent,
            Some(id) if id.is_null() => ErrorId::Null,
            Some(id) => ErrorId::Id(RequestId::decode(id)?),
        };
        match self.member(ERROR) {
            Some(error) => Ok(ErrorMessage { id, error: ErrorObject::decode(error)?, extra: self.extra()? }),
            None => Err(self.json.missing("error")),
        }
    }

    /// Returns the members of a response that JSON-RPC does not define. They include `params`, which has no meaning in
    /// a response.
    fn extra<T>(&self) -> Result<Extra<T>, Error> {
        if !self.has_others && self.members[PARAMS].is_none() {
            return Ok(Extra::default());
        }
        codec::decode_others(self.json, &["jsonrpc", "id", "result", "error"])
    }
}
