//! `mcpgen-probe list`.

use mcpgen_sdk::protocol::header_params;
use mcpgen_types::{Json, JsonObject, JsonRef};

use crate::cli::{Format, Kind, ListArgs};
use crate::failure::Failure;
use crate::output::{self, BOLD, DIM, YELLOW, plain, quoted, styled};
use crate::requests::Lists;

/// Columns between a name and its description.
const GAP: usize = 2;
/// Longer names do not widen the column.
const LONGEST_NAME: usize = 40;

pub(crate) async fn run(args: &ListArgs) -> Result<(), Failure> {
    let kinds: Vec<Kind> =
        Kind::ALL.into_iter().filter(|kind| args.only.is_empty() || args.only.contains(kind)).collect();
    let mut lists = Lists::read(&args.connection, &kinds).await;
    if !args.only.is_empty() {
        lists.require_all();
    }
    let read = std::mem::take(&mut lists.read);
    match args.format {
        // There is nothing to show.
        _ if read.is_empty() && lists.have_failed() => {}
        Format::Json => {
            // The JSON is exactly the server's, so hidden tools are not marked in it.
            let tools = read.iter().filter(|(kind, _)| *kind == Kind::Tools).flat_map(|(_, tools)| tools);
            for (tool, why) in tools.filter_map(|tool| Some((tool, hidden_over_http(tool)?))) {
                let name = tool.get(Kind::Tools.key()).and_then(JsonRef::as_str).unwrap_or_default();
                output::warning(&format!("tool {}: {why}", quoted(&name)));
            }
            let read: JsonObject =
                read.into_iter().map(|(kind, items)| (kind.member(), items.into_iter().collect::<Json>())).collect();
            output::print_json(read.as_ref())?;
        }
        Format::Text => output::print(&text(&read, output::columns()))?,
    }
    lists.into_result()
}

/// If clients over HTTP must ignore a tool, returns why: a header cannot repeat one of its arguments.
fn hidden_over_http(tool: &Json) -> Option<String> {
    let headers = tool.read(|tool| tool.get("inputSchema").map(header_params::headers));
    let why = headers.ok()??.err()?;
    Some(format!("hidden from clients over HTTP: {why}"))
}

/// Lines end at the edge of a terminal with this many columns.
fn text(lists: &[(Kind, Vec<Json>)], columns: Option<usize>) -> String {
    let mut text = String::new();
    for (kind, items) in lists {
        text.push_str(&format!("{} ({})\n", styled(BOLD, kind.title()), items.len()));
        let member = |item: &Json, name: &str| Some(item.get(name)?.as_str()?.into_owned());
        let name = |item: &Json| plain(&member(item, kind.key()).unwrap_or("?".to_owned())).replace('\n', " ");
        let width = items.iter().map(|item| name(item).chars().count()).filter(|len| *len <= LONGEST_NAME).max();
        for item in items {
            let description = member(item, "description").or_else(|| member(item, "title")).unwrap_or_default();
            let line = plain(description.trim().lines().next().unwrap_or_default());
            let indented = "  ".len() + name(item).chars().count().max(width.unwrap_or(0)) + GAP;
            let line = match columns {
                Some(columns) => console::truncate_str(&line, columns.saturating_sub(indented), "…"),
                None => line.as_str().into(),
            };
            let padded = format!("{:width$}{:GAP$}{}", name(item), "", styled(DIM, &line), width = width.unwrap_or(0));
            text.push_str(&format!("  {}", if line.is_empty() { name(item) } else { padded }));
            text.push('\n');
            if *kind == Kind::Tools
                && let Some(why) = hidden_over_http(item)
            {
                text.push_str(&format!("      {}\n", styled(YELLOW, &plain(&why))));
            }
        }
    }
    if lists.is_empty() { "the server has no lists\n".to_owned() } else { text }
}
