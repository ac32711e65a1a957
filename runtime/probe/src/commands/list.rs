//! `mcpgen-probe list`.

use serde_json::{Map, Value};

use crate::cli::{Format, Kind, ListArgs};
use crate::failure::Failure;
use crate::output::{self, BOLD, DIM, plain, styled};
use crate::requests;

/// The columns between a name and its description.
const GAP: usize = 2;
/// Longer names do not widen the column.
const LONGEST_NAME: usize = 40;

pub(crate) async fn run(args: &ListArgs) -> Result<(), Failure> {
    let kinds: Vec<Kind> =
        Kind::ALL.into_iter().filter(|kind| args.only.is_empty() || args.only.contains(kind)).collect();
    let lists = args
        .connection
        .run(async |client, activity| {
            let mut lists = Vec::new();
            for kind in kinds {
                match requests::list(client, kind, activity).await? {
                    Some(items) => lists.push((kind, items)),
                    // The user asked for this list.
                    None if !args.only.is_empty() => {
                        let why = format!("the server has no {}", kind.title());
                        return Err(Failure::Unexpected { method: kind.method().to_owned(), why });
                    }
                    None => {}
                }
            }
            Ok(lists)
        })
        .await?;
    match args.format {
        Format::Json => {
            let lists: Map<String, Value> =
                lists.into_iter().map(|(kind, items)| (kind.member().to_owned(), items.into())).collect();
            output::print_json(&lists.into())
        }
        Format::Text => output::print(&text(&lists, output::columns())),
    }
}

/// Returns the lists as text. Lines end at the edge of a terminal with this number of columns.
fn text(lists: &[(Kind, Vec<Value>)], columns: Option<usize>) -> String {
    let mut text = String::new();
    for (kind, items) in lists {
        text.push_str(&format!("{} ({})\n", styled(BOLD, kind.title()), items.len()));
        let name = |item: &Value| plain(item[kind.key()].as_str().unwrap_or("?")).replace('\n', " ");
        let width = items.iter().map(|item| name(item).chars().count()).filter(|len| *len <= LONGEST_NAME).max();
        for item in items {
            let description = item["description"].as_str().or(item["title"].as_str()).unwrap_or_default();
            let line = plain(description.trim().lines().next().unwrap_or_default());
            let indented = "  ".len() + name(item).chars().count().max(width.unwrap_or(0)) + GAP;
            let line = match columns {
                Some(columns) => console::truncate_str(&line, columns.saturating_sub(indented), "…"),
                None => line.as_str().into(),
            };
            let padded = format!("{:width$}{:GAP$}{}", name(item), "", styled(DIM, &line), width = width.unwrap_or(0));
            text.push_str(&format!("  {}", if line.is_empty() { name(item) } else { padded }));
            text.push('\n');
        }
    }
    if lists.is_empty() { "the server has no lists\n".to_owned() } else { text }
}
