//! Reads and edits `_meta`, and finds a request's target.

use std::borrow::Cow;

use mcpgen_runtime::jsonrpc::json::{Edit, Picked};
use mcpgen_types::codec::Cursor;
use mcpgen_types::{Error, Json, JsonObject};

use super::methods::subject_member;

/// Returns `_meta` of params. Empty if absent or not an object.
#[must_use]
pub fn read(params: Option<&Json>) -> JsonObject {
    let meta = params.and_then(|params| params.get("_meta")?.decode().ok());
    meta.unwrap_or_default()
}

/// Returns the target of a request: the name of a tool or prompt, or the URI of a resource.
#[must_use]
pub fn subject(method: &str, params: Option<&Json>) -> Option<String> {
    let name = subject_member(method)?;
    params?.get(name)?.as_str().map(Cow::into_owned)
}

/// Adds members to `_meta` of params, each as a name and JSON text. An existing member is replaced if `over` is true,
/// and kept otherwise.
///
/// # Errors
///
/// Fails if the params or their `_meta` are not an object.
pub fn with_meta(params: Option<Json>, members: &[(&str, String)], over: bool) -> Result<Option<Json>, Error> {
    let add = |params: Cursor<'_>| {
        add_meta(params, members, over).map_err(|error| error.located_from(params).at_key("params"))
    };
    let edited = match &params {
        Some(params) => params.read(add),
        None => Json::from(&JsonObject::new()).read(add),
    };
    Ok(edited??.or(params))
}

fn add_meta(params: Cursor<'_>, members: &[(&str, String)], over: bool) -> Result<Option<Json>, Error> {
    let mut edit = Edit::of(params);
    match Picked::from(params, &["_meta"])?.values {
        [None] if members.is_empty() => {}
        [None] => {
            let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
            edit.add("_meta", &format!("{{{}}}", members.join(",")));
        }
        [Some(meta)] => {
            let mut inside = Edit::of(meta);
            let known: Vec<_> = meta.members()?.map(|(name, _)| name.as_str()).collect();
            for (name, value) in members {
                match known.iter().any(|known| known.as_deref() == Some(*name)) {
                    false => inside.add(name, value),
                    true if over => inside.set(name, value),
                    true => {}
                }
            }
            if let Some(new) = inside.done()? {
                edit.replace(meta, new.into_text());
            }
        }
    }
    edit.done()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

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

    /// Encodes a value, optionally with white space and escaped names.
    fn written(value: &Value, pretty: bool, escaped: bool) -> String {
        let text = if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
        let text = text.expect("JSON");
        if escaped { text.replace("\"_meta\"", "\"\\u005fmeta\"").replace("\"a\"", "\"\\u0061\"") } else { text }
    }

    proptest! {
        #[test]
        fn with_meta_matches_an_edit_of_the_value(
            params in members(json()), meta in members(json()), has_meta in any::<bool>(),
            pretty in any::<bool>(), escaped in any::<bool>(), over in any::<bool>(),
        ) {
            let mut params = params;
            if has_meta { params.insert("_meta".to_owned(), Value::Object(meta)); }
            let raw = Json::parse(written(&Value::Object(params.clone()), pretty, escaped)).expect("JSON");
            let added = [("a", "1".to_owned()), ("b", "{\"c\":[]}".to_owned())];
            let done = with_meta(Some(raw), &added, over);
            match params.entry("_meta").or_insert_with(|| json!({})).as_object_mut() {
                None => prop_assert!(done.is_err(), "`_meta` is not an object"),
                Some(meta) => {
                    for (name, value) in &added {
                        let value: Value = serde_json::from_str(value).expect("JSON");
                        if over || !meta.contains_key(*name) { meta.insert((*name).to_owned(), value); }
                    }
                    let done = done.expect("an object").expect("params");
                    prop_assert_eq!(serde_json::from_str::<Value>(done.text()).expect("JSON"), Value::Object(params));
                }
            }
        }
    }
}
