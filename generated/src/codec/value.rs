//! `serde_json`'s own values.

use serde_json::{Map, Value};

use crate::{Error, JsonObject};

use super::{Decode, Event, Tree, filled};

/// Of a key that stands twice, the last value stays.
impl Decode for Value {
    const NAME: &'static str = "JSON value";

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        Ok(match event {
            Event::Null => Self::Null,
            Event::Bool(value) => Self::Bool(value),
            Event::Unsigned(integer) => Self::from(integer),
            Event::Signed(integer) => Self::from(integer),
            Event::Float(float) => Self::from(float),
            Event::Str(text) => Self::String(text.to_owned()),
            Event::String(text) => Self::String(text),
            Event::Array(_) => Self::Array(Vec::decode(event)?),
            Event::Object(_) => Self::Object(Map::decode(event)?),
        })
    }
}

impl Decode for JsonObject {
    const NAME: &'static str = "object";

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        let Event::Object(object) = event else {
            return Err(event.mismatch("object"));
        };
        let mut members = Self::new();
        loop {
            let mut name = String::new();
            if !object.key(&mut |key| name = key.into_owned())? {
                return Ok(members);
            }
            let mut value = None;
            match object.value(&mut value) {
                Ok(()) => members.insert(name, filled(value)?),
                Err(error) => return Err(error.at_key(name)),
            };
        }
    }
}

impl From<Tree> for Value {
    fn from(tree: Tree) -> Self {
        match tree {
            Tree::Null => Self::Null,
            Tree::Bool(value) => Self::Bool(value),
            Tree::Number(number) => number.into(),
            Tree::Text(text) => Self::String(text.into_owned()),
            Tree::Array(elements) => elements.into_iter().map(Self::from).collect(),
            Tree::Object(entries) => {
                let mut object = JsonObject::new();
                for (key, value) in entries {
                    object.insert(key.into_owned(), value.into());
                }
                Self::Object(object)
            }
        }
    }
}
