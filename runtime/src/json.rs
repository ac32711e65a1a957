//! Between the types of serde and raw JSON, and members of raw objects without decoding the rest.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use mcpgen_types::{JsonObject, RawJson};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

pub(crate) fn decode<T: DeserializeOwned>(json: Option<&RawJson>) -> serde_json::Result<T> {
    match json {
        Some(json) => serde_json::from_str(&json.text()),
        None => serde_json::from_value(serde_json::Value::Null),
    }
}

pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<RawJson> {
    raw(serde_json::value::to_raw_value(value)?)
}

fn raw(text: Box<RawValue>) -> serde_json::Result<RawJson> {
    RawJson::try_from(text).map_err(serde::ser::Error::custom)
}

/// The member `params`: absent instead of null, and otherwise an object or an array, as JSON-RPC has it.
pub(crate) fn params<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Option<RawJson>> {
    let text = serde_json::value::to_raw_value(value)?;
    match text.get().bytes().next() {
        Some(b'n') => Ok(None),
        Some(b'{' | b'[') => raw(text).map(Some),
        _ => Err(serde::ser::Error::custom("params must be an object or an array")),
    }
}

/// Some members of an object, as text.
pub(crate) struct Picked<'a, const N: usize> {
    names: [&'static str; N],
    /// In the order of the names.
    pub(crate) values: [Option<&'a RawValue>; N],
    /// One of them that stands twice: said only in the end, so that the others may still be found.
    pub(crate) twice: Option<&'static str>,
    /// Whether there are other members.
    pub(crate) others: bool,
}

impl<'a, const N: usize> Picked<'a, N> {
    pub(crate) fn of(names: [&'static str; N]) -> Self {
        Self { names, values: [None; N], twice: None, others: false }
    }

    /// The members of an object; of anything else, an error.
    pub(crate) fn from(text: &'a str, names: [&'static str; N]) -> serde_json::Result<Self> {
        let mut picked = Self::of(names);
        picked.read(&mut serde_json::Deserializer::from_str(text))?;
        Ok(picked)
    }

    /// Reads an object. What was read before an error is there.
    pub(crate) fn read<D: Deserializer<'a>>(&mut self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for &mut Picked<'de, N> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(index) = map.next_key_seed(Name(&self.names))? {
            match index {
                None => {
                    self.others = true;
                    map.next_value::<IgnoredAny>()?;
                }
                Some(index) => {
                    if self.values[index].replace(map.next_value()?).is_some() {
                        self.twice = Some(self.names[index]);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The index of a key among some names.
struct Name<'n>(&'n [&'static str]);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|name| *name == key))
    }
}

/// The text of a string, borrowed unless something in it is escaped.
pub(crate) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inside = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    match inside.contains('\\') {
        false => Some(Cow::Borrowed(inside)),
        true => serde_json::from_str(raw.get()).ok().map(Cow::Owned),
    }
}

/// Where a value stands in the text that it was picked from.
pub(crate) fn place(text: &str, value: &RawValue) -> Range<usize> {
    let start = value.get().as_ptr().addr() - text.as_ptr().addr();
    start..start + value.get().len()
}

/// Changes to an object's text that leave everything else as it is.
pub(crate) struct Edit<'a> {
    text: &'a str,
    /// In no order, and none over another.
    changes: Vec<(Range<usize>, String)>,
}

impl<'a> Edit<'a> {
    /// Of the text of an object.
    pub(crate) fn of(text: &'a str) -> Self {
        Self { text, changes: Vec::new() }
    }

    /// Whether nothing is changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Another value for a member, which was picked from the same text.
    pub(crate) fn replace(&mut self, old: &'a RawValue, new: String) {
        self.changes.push((place(self.text, old), new));
    }

    /// A member that the object does not have.
    pub(crate) fn add(&mut self, name: &str, value: &str) {
        self.add_to(None, name, value);
    }

    /// A member that an object inside does not have; or the object itself.
    pub(crate) fn add_to(&mut self, inside: Option<&'a RawValue>, name: &str, value: &str) {
        let (start, text) = match inside {
            Some(object) => (place(self.text, object).start, object.get()),
            None => (self.text.len() - self.text.trim_start().len(), self.text.trim()),
        };
        let is_first =
            text[1..].trim_start().starts_with('}') && !self.changes.iter().any(|(at, _)| at.start == start + 1);
        let comma = if is_first { "" } else { "," };
        // What is added last stands first, so the comma is that of what stands after it.
        self.changes.insert(0, (start + 1..start + 1, format!("{}:{value}{comma}", serde_json::Value::from(name))));
    }

    /// Another value for a member that is there, by name.
    fn set(&mut self, name: &str, value: &str) -> serde_json::Result<()> {
        let all: std::collections::HashMap<Cow<'a, str>, &'a RawValue> = serde_json::from_str(self.text)?;
        if let Some(old) = all.get(name) {
            self.replace(old, value.to_owned());
        }
        Ok(())
    }

    /// The text with all changes.
    pub(crate) fn done(mut self) -> serde_json::Result<Option<RawJson>> {
        if self.changes.is_empty() {
            return Ok(None);
        }
        self.changes.sort_by_key(|(at, _)| at.start);
        let added: usize = self.changes.iter().map(|(_, new)| new.len()).sum();
        let mut text = String::with_capacity(self.text.len() + added);
        let mut end = 0;
        for (at, new) in &self.changes {
            text.push_str(&self.text[end..at.start]);
            text.push_str(new);
            end = at.end;
        }
        text.push_str(&self.text[end..]);
        raw(RawValue::from_string(text)?).map(Some)
    }
}

/// Params with these members of `_meta`: their names, and their values as text. What is there already stays, unless
/// `over` says that it does not.
pub(crate) fn with_meta(
    params: Option<RawJson>,
    members: &[(&str, String)],
    over: bool,
) -> Result<Option<RawJson>, String> {
    let wrong = |error: serde_json::Error| format!("params._meta: {error}");
    let text = params.as_ref().map_or(Cow::Borrowed("{}"), RawJson::text);
    let picked = Picked::from(&text, ["_meta"]).map_err(wrong)?;
    let mut edit = Edit::of(&text);
    match picked.values {
        [None] if members.is_empty() => {}
        [None] => {
            let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
            edit.add("_meta", &format!("{{{}}}", members.join(",")));
        }
        [Some(meta)] => {
            let known: JsonObject = mcpgen_types::from_str(meta.get()).map_err(|why| format!("params._meta: {why}"))?;
            let mut inside = Edit::of(meta.get());
            for (name, value) in members {
                match known.contains_key(*name) {
                    false => inside.add(name, value),
                    true if over => inside.set(name, value).map_err(wrong)?,
                    true => {}
                }
            }
            if let Some(new) = inside.done().map_err(wrong)? {
                edit.replace(meta, new.text().into_owned());
            }
        }
    }
    let edited = edit.done().map_err(wrong)?;
    Ok(edited.or(params))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn members_are_added_and_replaced_and_the_rest_stays() {
        for (text, expected) in [
            ("{}", json!({ "a": 1, "b": 2 })),
            (" { } ", json!({ "a": 1, "b": 2 })),
            (r#"{"c":{"d":[]}}"#, json!({ "a": 1, "b": 2, "c": { "d": [] } })),
            (r#"{"m":{},"o":"old"}"#, json!({ "a": 1, "b": 2, "m": { "x": 3, "y": 4 }, "o": "new" })),
            (r#"{"m":{"z": 5},"o":[{}]}"#, json!({ "a": 1, "b": 2, "m": { "x": 3, "y": 4, "z": 5 }, "o": "new" })),
        ] {
            let picked = Picked::from(text, ["m", "o"]).expect("an object");
            let mut edit = Edit::of(text);
            edit.add("a", "1");
            edit.add("b", "2");
            if let [Some(m), Some(o)] = picked.values {
                edit.add_to(Some(m), "x", "3");
                edit.add_to(Some(m), "y", "4");
                edit.replace(o, json!("new").to_string());
            }
            let done = edit.done().expect("JSON").expect("something has changed");
            assert_eq!(serde_json::from_str::<Value>(&done.text()).expect("JSON"), expected, "{text}");
        }
        assert!(Edit::of("{}").done().expect("JSON").is_none());
        assert!(Picked::from("[]", ["a"]).is_err());
        assert_eq!(Picked::from(r#"{"a":1,"a":2}"#, ["a"]).expect("an object").twice, Some("a"));
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~äß\"\\\\]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inside| {
            prop_oneof![
                prop::collection::vec(inside.clone(), 0..4).prop_map(Value::from),
                members(inside).prop_map(Value::Object),
            ]
        })
    }

    fn members(value: impl Strategy<Value = Value>) -> impl Strategy<Value = serde_json::Map<String, Value>> {
        let name = prop_oneof![Just("_meta".to_owned()), Just("a".to_owned()), "[a-c\"\\\\{}: ]{0,3}"];
        prop::collection::btree_map(name, value, 0..5).prop_map(|members| members.into_iter().collect())
    }

    /// Text of the same value, with white space and escapes as they please.
    fn written(value: &Value, pretty: bool, escaped: bool) -> String {
        let text = if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
        let text = text.expect("JSON");
        if escaped { text.replace("\"_meta\"", "\"\\u005fmeta\"").replace("\"a\"", "\"\\u0061\"") } else { text }
    }

    proptest! {
        #[test]
        fn meta_is_added_as_to_a_tree(
            params in members(json()), meta in members(json()), has_meta in any::<bool>(),
            pretty in any::<bool>(), escaped in any::<bool>(), over in any::<bool>(),
        ) {
            let mut params = params;
            if has_meta { params.insert("_meta".to_owned(), Value::Object(meta)); }
            let text = RawValue::from_string(written(&Value::Object(params.clone()), pretty, escaped)).expect("JSON");
            let raw = RawJson::try_from(text).expect("not deep");
            let added = [("a", "1".to_owned()), ("b", "{\"c\":[]}".to_owned())];
            let done = with_meta(Some(raw), &added, over);
            match params.entry("_meta").or_insert_with(|| json!({})).as_object_mut() {
                None => prop_assert!(done.is_err(), "`_meta` is no object"),
                Some(meta) => {
                    for (name, value) in &added {
                        let value: Value = serde_json::from_str(value).expect("JSON");
                        if over || !meta.contains_key(*name) { meta.insert((*name).to_owned(), value); }
                    }
                    let done = done.expect("an object").expect("params");
                    prop_assert_eq!(serde_json::from_str::<Value>(&done.text()).expect("JSON"), Value::Object(params));
                }
            }
        }
    }
}
