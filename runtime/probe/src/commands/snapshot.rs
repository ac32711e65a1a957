//! `mcpgen-probe snapshot`.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use mcpgen_types::{Json, JsonObject, JsonRef};

use crate::cli::{Kind, SnapshotArgs};
use crate::differences::{differences, shown};
use crate::failure::Failure;
use crate::output::{self, Order};
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
    let read = read.into_iter().map(|(kind, items)| (kind.member(), stable(kind, items)));
    let new = Json::from(read.collect::<JsonObject>());
    let text = output::json(new.as_ref(), Order::Alphabetical);
    match (&args.check, &args.output) {
        (Some(path), _) => check(path, &text, &new, &known)?,
        (None, Some(path)) => fs::write(path, text).map_err(Failure::io(format!("writing {}", path.display())))?,
        (None, None) => output::print(&text)?,
    }
    lists.into_result()
}

fn check(path: &Path, text: &str, new: &Json, kinds: &[Kind]) -> Result<(), Failure> {
    let file = path.display();
    let remedy = "to create it, use --output instead of --check";
    let old = fs::read_to_string(path).map_err(Failure::io(format!("reading {file} ({remedy})")))?;
    if old == text {
        return Ok(());
    }
    let old = Json::parse(old).map_err(|error| {
        Failure::Usage(format!("{file} is not a snapshot, because it is not JSON: {error}; {remedy}"))
    })?;
    let differences = differences(old.as_ref(), new.as_ref(), kinds);
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

/// Sorts items by name, and removes what may change while the list stays the same.
fn stable(kind: Kind, items: Vec<Json>) -> Json {
    let items = items.into_iter().map(|item| if kind == Kind::Resources { without_changes(&item) } else { item });
    let key = |item: &Json| item.get(kind.key()).and_then(JsonRef::as_str).map(Cow::into_owned);
    let mut keyed: Vec<_> = items.map(|item| (key(&item), item)).collect();
    keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
    keyed.into_iter().map(|(_, item)| item).collect()
}

/// Removes a resource's size and the time of its last change.
fn without_changes(resource: &Json) -> Json {
    let Ok(mut resource) = JsonObject::try_from(resource.as_ref()) else { return resource.clone() };
    resource.remove("size");
    if let Some(mut annotations) = resource.get("annotations").and_then(|known| JsonObject::try_from(known).ok())
        && annotations.remove("lastModified").is_some()
    {
        resource.insert("annotations", annotations);
    }
    resource.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_lists_are_equal_snapshots() {
        let list = |size: u64, time: &str| {
            vec![
                json!({ "uri": "b", "name": "x", "size": size, "annotations": { "lastModified": time, "priority": 1 } }).into(),
                json!({ "name": "y", "uri": "a", "size": 1 }).into(),
                json!("not an object").into(),
            ]
        };
        let expected = json!([
            "not an object", { "name": "y", "uri": "a" }, { "annotations": { "priority": 1 }, "name": "x", "uri": "b" }
        ]);
        assert_eq!(stable(Kind::Resources, list(1, "2026-01-01T00:00:00Z")), expected);
        assert_eq!(stable(Kind::Resources, list(2, "2026-01-02T00:00:00Z")), expected);
    }
}
