//! Explains rules.

use textwrap::WordSplitter;

use crate::models::{Axis, Rule, RuleVerdicts, SchemaVerdicts, Senders, Verdict};
use crate::suggest::did_you_mean;

/// Explains a rule, for a terminal.
pub fn text(rule: Rule) -> String {
    let wrapping = textwrap::Options::new(100)
        .word_splitter(WordSplitter::NoHyphenation)
        .initial_indent("  ")
        .subsequent_indent("  ");
    let mut text = format!("{}\n\n{}\n\n", rule.id(), textwrap::fill(rule.meaning(), &wrapping));
    match rule.verdicts() {
        RuleVerdicts::Lists(lists) => text.push_str(&format!(
            "  remembered list: {}\n  stored workflow: {}\n  trust: {}\n",
            lists.remembered_list, lists.stored_workflow, lists.trust
        )),
        RuleVerdicts::Trust { trust } => text.push_str(&format!("  trust: {trust}\n")),
        RuleVerdicts::Schemas(verdicts) => {
            let (one, other) = ("old client, new server", "new client, old server");
            text.push_str(&format!("  {:14}  {one:22}  {other}\n", "sender"));
            for (sender, [old_client, new_client]) in table(verdicts) {
                text.push_str(&format!("  {sender:14}  {old_client:22}  {new_client}\n"));
            }
            text.push_str(&format!("\n  Rust API: {}\n", verdicts.rust_api));
        }
    }
    for (side, example) in examples(rule) {
        let indented: String = example.lines().map(|line| format!("  {line}\n")).collect();
        text.push_str(&format!("\nExample, {side}:\n{indented}"));
    }
    text
}

/// Explains a rule, in Markdown.
pub fn markdown(rule: Rule) -> String {
    let mut text = format!("{}\n\n", rule.meaning());
    match rule.verdicts() {
        RuleVerdicts::Lists(lists) => text.push_str(&format!(
            "| remembered list | stored workflow | trust |\n|---|---|---|\n| {} | {} | {} |\n",
            lists.remembered_list, lists.stored_workflow, lists.trust
        )),
        RuleVerdicts::Trust { trust } => text.push_str(&format!("| trust |\n|---|\n| {trust} |\n")),
        RuleVerdicts::Schemas(verdicts) => {
            text.push_str("| sender | old client, new server | new client, old server |\n|---|---|---|\n");
            for (sender, [old_client, new_client]) in table(verdicts) {
                text.push_str(&format!("| {sender} | {old_client} | {new_client} |\n"));
            }
            text.push_str(&format!("\nRust API: {}\n", verdicts.rust_api));
        }
    }
    for (side, example) in examples(rule) {
        text.push_str(&format!("\nExample, {side}:\n\n```json\n{example}\n```\n"));
    }
    text
}

/// Lists all rules, one per line.
pub fn list(rules: &[Rule]) -> String {
    let width = rules.iter().map(|rule| rule.id().len()).max().unwrap_or(0);
    rules.iter().map(|rule| format!("{:width$}  {}\n", rule.id(), summary(*rule))).collect()
}

/// Returns the first sentence of a rule's meaning.
pub fn summary(rule: Rule) -> &'static str {
    rule.meaning().split_once(". ").map_or(rule.meaning(), |(first, _)| first).trim_end_matches('.')
}

/// Returns the message for an unknown rule.
pub fn unknown(id: &str, rules: &[Rule]) -> String {
    let hint = did_you_mean(id, rules.iter().map(|rule| rule.id())).map_or(String::new(), |hint| format!("{hint} "));
    format!("there is no rule {id:?}; {hint}`mcpgen explain` lists all rules")
}

/// Returns the verdicts on the two axes of messages, by sender.
fn table(SchemaVerdicts { old_to_new, new_to_old, rust_api }: SchemaVerdicts) -> [(&'static str, [Verdict; 2]); 3] {
    let client = Senders { client: true, server: false };
    let server = Senders { client: false, server: true };
    [("client", client), ("server", server), ("both", Senders::BOTH)].map(|(sender, senders)| {
        (sender, Axis::WIRE.map(|axis| senders.verdicts(old_to_new, new_to_old, rust_api).on(axis)))
    })
}

fn examples(rule: Rule) -> impl Iterator<Item = (&'static str, String)> {
    ["old", "new"].into_iter().zip(rule.example().map(|example| example.to_pretty().trim_end().to_owned()))
}
