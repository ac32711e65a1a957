//! A rule, explained.

use crate::diff::{Rule, Travel, Verdict};
use crate::json::Json;

/// Everything about a rule, for a terminal.
pub fn text(rule: &Rule) -> String {
    let mut text = format!("{}\n\n{}\n\n", rule.id, wrapped(rule.meaning, 2));
    text.push_str(&format!("  {:14}  {:22}  {}\n", "sender", "old client, new server", "new client, old server"));
    for (sender, [old_client, new_client]) in table(rule) {
        text.push_str(&format!("  {sender:14}  {old_client:22}  {new_client}\n"));
    }
    text.push_str(&format!("\n  Rust API: {}\n", rule.rust_api));
    for (side, example) in examples(rule) {
        let indented: String = example.lines().map(|line| format!("  {line}\n")).collect();
        text.push_str(&format!("\nExample, {side}:\n{indented}"));
    }
    text
}

/// Everything about a rule, in Markdown.
pub fn markdown(rule: &Rule) -> String {
    let mut text =
        format!("{}\n\n| sender | old client, new server | new client, old server |\n|---|---|---|\n", rule.meaning);
    for (sender, [old_client, new_client]) in table(rule) {
        text.push_str(&format!("| {sender} | {old_client} | {new_client} |\n"));
    }
    text.push_str(&format!("\nRust API: {}\n", rule.rust_api));
    for (side, example) in examples(rule) {
        text.push_str(&format!("\nExample, {side}:\n\n```json\n{example}\n```\n"));
    }
    text
}

/// All rules, a line each.
pub fn list(rules: &[Rule]) -> String {
    let width = rules.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    rules.iter().map(|rule| format!("{:width$}  {}\n", rule.id, summary(rule))).collect()
}

/// The first sentence of a rule's meaning.
pub fn summary(rule: &Rule) -> &'static str {
    rule.meaning.split_once(". ").map_or(rule.meaning, |(first, _)| first).trim_end_matches('.')
}

/// What to say to a name that no rule has.
pub fn unknown(id: &str, rules: &[Rule]) -> String {
    let mut near: Vec<(f64, &str)> = rules.iter().map(|rule| (strsim::jaro_winkler(id, rule.id), rule.id)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    // Below that, names have no more than letters in common.
    let near: Vec<String> =
        near.iter().take(3).filter(|(likeness, _)| *likeness > 0.75).map(|(_, id)| format!("`{id}`")).collect();
    let hint = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(" or ")) };
    format!("there is no rule {id:?}; {hint}`mcpgen explain` lists all")
}

/// For each sender: the verdicts on the two axes of messages.
fn table(rule: &Rule) -> [(&'static str, [Verdict; 2]); 3] {
    let client = Travel { client: true, server: false };
    let server = Travel { client: false, server: true };
    [("client", client), ("server", server), ("both", Travel::BOTH)].map(|(sender, travel)| {
        let verdicts = travel.verdicts(rule.old_to_new, rule.new_to_old, rule.rust_api);
        (sender, [verdicts.old_client_new_server, verdicts.new_client_old_server])
    })
}

fn examples(rule: &Rule) -> Vec<(&'static str, String)> {
    let example = Json::parse(rule.example).ok();
    let side = |side: &'static str| {
        let json = example.as_ref()?.get(side)?;
        Some((side, json.to_pretty().trim_end().to_owned()))
    };
    [side("old"), side("new")].into_iter().flatten().collect()
}

/// The text in lines of at most 100 columns, each behind this many spaces.
fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = vec![" ".repeat(indent)];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        let gap = usize::from(line.len() > indent);
        if line.len() + gap + word.len() > 100 && gap == 1 {
            lines.push(format!("{}{word}", " ".repeat(indent)));
        } else {
            line.push_str(&" ".repeat(gap));
            line.push_str(word);
        }
    }
    lines.join("\n")
}
