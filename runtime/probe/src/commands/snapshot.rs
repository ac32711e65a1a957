//! `mcpgen-probe snapshot`.

use std::fs;
use std::path::Path;

use mcpgen_types::Json;
use serde_json::Value;

use crate::cli::{Kind, SnapshotArgs};
use crate::differences::{differences, shown};
use crate::failure::Failure;
use crate::output;
use crate::requests::Lists;

pub(crate) async fn run(args: &SnapshotArgs) -> Result<(), Failure> {
    let mut lists = Lists::read(&args.connection, &Kind::ALL).await;
    let failed = lists.have_failed();
    let read = std::mem::take(&mut lists.read);
    let known: Vec<Kind> = read.iter().map(|(kind, _)| *kind).chain(lists.absent.iter().copied()).collect();
    if read.is_empty() && failed {
        return lists.into_result();
    }
    if read.is_empty() {
        let why = "the server has no tools, resources or prompts".to_owned();
        return Err(Failure::Unexpected { method: "snapshot".to_owned(), why });
    }
    let trees = |items: Vec<Json>| items.iter().map(Json::to_value).collect();
    let read = read.into_iter().map(|(kind, items)| (kind.member().to_owned(), stable(kind, trees(items))));
    let new = sorted(Value::Object(read.collect()));
    let text = output::json(&new);
    match (&args.check, &args.output) {
        (Some(path), _) => check(path, &text, &new, &known)?,
        (None, Some(path)) => fs::write(path, text).map_err(Failure::io(format!("writing {}", path.display())))?,
        (None, None) => output::print(&text)?,
    }
    lists.into_result()
}

/// Compares these lists with the snapshot in a file.
fn check(path: &Path, text: &str, new: &Value, kinds: &[Kind]) -> Result<(), Failure> {
    let file = path.display();
    let remedy = "to create it, use --output instead of --check";
    let old = fs::read_to_string(path).map_err(Failure::io(format!("reading {file} ({remedy})")))?;
    if old == text {
        return Ok(());
    }
    let old: Value = serde_json::from_str(&old)
        .map_err(|error| Failure::Usage(format!("{file} is not a snapshot: {error}; {remedy}")))?;
    let differences = differences(&old, new, kinds);
    if differences.is_empty() {
        return Ok(());
    }
    let why = format!(
        "the lists differ from {file}:\n{}\nto see whom this breaks, write them with `--output NEW`, and run `mcpgen diff \
         --tools {file} NEW`",
        shown(&differences)
    );
    Err(Failure::Unexpected { method: "snapshot".to_owned(), why })
}

/// Returns the items sorted by name, without what changes while the list stays the same.
fn stable(kind: Kind, mut items: Vec<Value>) -> Value {
    if kind == Kind::Resources {
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            item.remove("size");
            if let Some(Value::Object(annotations)) = item.get_mut("annotations") {
                annotations.remove("lastModified");
            }
        }
    }
    items.sort_by(|a, b| a[kind.key()].as_str().cmp(&b[kind.key()].as_str()));
    Value::Array(items)
}

/// Returns the value with the members of all objects in alphabetical order. `serde_json` keeps their order if another
/// crate enables its feature `preserve_order`.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(members.into_iter().map(|(name, value)| (name, sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_lists_are_equal_snapshots() {
        let list = |size: u64, time: &str| {
            vec![
                json!({ "uri": "b", "name": "x", "size": size, "annotations": { "lastModified": time, "priority": 1 } }),
                json!({ "name": "y", "uri": "a", "size": 1 }),
            ]
        };
        let expected =
            json!([{ "name": "y", "uri": "a" }, { "annotations": { "priority": 1 }, "name": "x", "uri": "b" }]);
        assert_eq!(stable(Kind::Resources, list(1, "2026-01-01T00:00:00Z")), expected);
        assert_eq!(stable(Kind::Resources, list(2, "2026-01-02T00:00:00Z")), expected);
        let text = sorted(json!({ "b": [{ "d": 1, "c": 2 }], "a": 1 })).to_string();
        assert_eq!(text, r#"{"a":1,"b":[{"c":2,"d":1}]}"#);
    }
}
