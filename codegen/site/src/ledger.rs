//! Counts how much of an SDK is generated, is data, or is written by hand, and lists the rules of the specification
//! that no schema states.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mcpgen_model::Revision;
use mcpgen_model::fixups::FIXUPS;
use mcpgen_schema::Error;
use mcpgen_schema::text::counted;
use serde::{Deserialize, Serialize};

/// The texts that a ledger is made from. A repository may lack any of them.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The Rust files of the crates, by their paths below the root.
    pub code: BTreeMap<String, String>,
    /// The tables of data, by their paths: `schema/conversions.toml` and `schema/names.toml`.
    pub tables: BTreeMap<String, String>,
    /// The text of `tests/proof/requirements.toml`.
    pub requirements: String,
    /// The first line of a generated file begins with this text.
    pub mark: &'static str,
}

/// Which parts of an SDK are generated, are data, or are written by hand.
#[derive(Clone, Debug, Serialize)]
pub struct Ledger {
    /// The version of this format.
    pub format: u32,
    /// The code by group: `sdk`, `programs` and `generator`.
    pub totals: BTreeMap<String, Total>,
    /// The code by layer, lowest first.
    pub layers: Vec<Layer>,
    /// The data, by file.
    pub data: Vec<Table>,
    /// The rules of the specification that no schema states. Hand-written code implements them.
    pub rules: Vec<SpecRule>,
}

/// The code of a layer or a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Total {
    /// The code that `mcpgen generate` writes.
    pub generated: Code,
    /// The other code.
    pub hand_written: Code,
}

/// An amount of code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Code {
    /// The number of files.
    pub files: usize,
    /// The number of lines, without blank lines, comments and test modules.
    pub lines: usize,
}

/// The code of a layer.
#[derive(Clone, Debug, Serialize)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// `sdk`, `programs` or `generator`.
    pub group: String,
    /// What its code does.
    pub about: String,
    /// The amount of code.
    #[serde(flatten)]
    pub total: Total,
}

/// A file with data that the schemas lack.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Its path below the root.
    pub file: String,
    /// What its entries say.
    pub about: &'static str,
    /// Its entries.
    pub entries: Vec<Entry>,
}

/// An entry of a table.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its kind, if the table has several.
    pub kind: String,
    /// The revisions and extensions that it is for. Empty if it is for all.
    pub applies_to: Vec<String>,
    /// Why the data is needed.
    pub reason: String,
    /// The evidence, as a link. Empty if the reason is enough.
    pub link: String,
}

/// A rule of the specification that no schema states.
#[derive(Clone, Debug, Serialize)]
pub struct SpecRule {
    /// The page of the specification.
    pub page: String,
    /// The rule, in our own words.
    pub text: String,
    /// Where to read it.
    pub link: String,
    /// The number of tests that verify it.
    pub tests: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayerFile {
    layer: Vec<LayerRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayerRow {
    name: String,
    group: String,
    about: String,
    paths: Vec<String>,
}

#[derive(Deserialize)]
struct RequirementFile {
    #[serde(default)]
    requirement: Vec<Requirement>,
}

#[derive(Deserialize)]
struct Requirement {
    page: String,
    text: String,
    /// Whether the schema says it as well.
    #[serde(default)]
    in_schema: bool,
    tests: Vec<String>,
}

/// The file that defines the layers, relative to the root.
const LAYERS: &str = "codegen/site/ledger.toml";

/// Counts the code, the data and the rules.
///
/// # Errors
/// [`Error::Usage`] if a file of code belongs to no layer, or if a table is malformed.
pub fn ledger(sources: &Sources, revisions: &[Revision]) -> Result<Ledger, Error> {
    let usage = |file: &str, why: &dyn std::fmt::Display| Error::Usage(format!("{file}: {why}"));
    let LayerFile { layer: rows } =
        toml::from_str(include_str!("../ledger.toml")).map_err(|error| usage(LAYERS, &error))?;
    let mut layers: Vec<Layer> = rows
        .iter()
        .map(|LayerRow { name, group, about, .. }| Layer {
            name: name.clone(),
            group: group.clone(),
            about: about.clone(),
            total: Total::default(),
        })
        .collect();
    for (path, text) in &sources.code {
        let length = |row: &LayerRow| row.paths.iter().filter(|it| path.starts_with(*it)).map(String::len).max();
        let found = rows.iter().enumerate().filter_map(|(at, row)| Some((length(row)?, at))).max();
        let Some((_, at)) = found else {
            return Err(usage(LAYERS, &format!("{path} belongs to no layer; add it to one")));
        };
        layers[at].total.add(text, sources.mark);
    }
    let mut totals: BTreeMap<String, Total> = BTreeMap::new();
    for layer in &layers {
        totals.entry(layer.group.clone()).or_default().sum(layer.total);
    }
    let mut data = vec![rules_of(revisions)];
    data.extend(sources.tables.iter().map(|(file, text)| table(file, text)).collect::<Result<Vec<_>, _>>()?);
    data.push(fixups());
    let RequirementFile { requirement } =
        toml::from_str(&sources.requirements).map_err(|error| usage("requirements.toml", &error))?;
    let in_no_schema = requirement.into_iter().filter(|requirement| !requirement.in_schema);
    let rules = in_no_schema.map(|Requirement { page, text, tests, .. }| SpecRule {
        link: specification(&page),
        page,
        text,
        tests: tests.len(),
    });
    Ok(Ledger { format: 1, totals, layers, data, rules: rules.collect() })
}

impl Total {
    fn add(&mut self, text: &str, mark: &str) {
        let code = if text.starts_with(mark) { &mut self.generated } else { &mut self.hand_written };
        code.files += 1;
        code.lines += lines(text);
    }

    fn sum(&mut self, other: Total) {
        for (sum, part) in [(&mut self.generated, other.generated), (&mut self.hand_written, other.hand_written)] {
            sum.files += part.files;
            sum.lines += part.lines;
        }
    }

    /// Returns the percentage of lines that are generated.
    pub fn generated_percent(&self) -> usize {
        let all = self.generated.lines + self.hand_written.lines;
        (100 * self.generated.lines + all / 2).checked_div(all).unwrap_or_default()
    }
}

/// Counts the lines of code. By our convention, the test module is the last item of a file.
fn lines(text: &str) -> usize {
    let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

fn rules_of(revisions: &[Revision]) -> Table {
    let mut entries: Vec<Entry> = Vec::new();
    let mut add = |kind: &str, name: &str, reason: String, revision: &str| match entries
        .iter_mut()
        .find(|entry| entry.kind == kind && entry.name == name)
    {
        Some(entry) => entry.applies_to.push(revision.to_owned()),
        None => entries.push(Entry {
            name: name.to_owned(),
            kind: kind.to_owned(),
            applies_to: vec![revision.to_owned()],
            reason,
            link: String::new(),
        }),
    };
    for revision in revisions {
        add("era", revision.era.as_str(), "How connections begin, which no schema says.".into(), &revision.name);
        for rule in &revision.rules {
            let (method, lines) = rule.method();
            let sentence = lines.join(" ");
            let sentence = sentence.trim_start_matches("Returns whether ").split(". ").next().unwrap_or_default();
            let mut reason = sentence.to_owned() + ".";
            reason[..1].make_ascii_uppercase();
            add("rule", method, reason, &revision.name);
        }
    }
    Table {
        file: "schema/revisions.toml".into(),
        about: "Facts of the specification that no schema contains.",
        entries,
    }
}

fn fixups() -> Table {
    let schemas = FIXUPS.schemas.iter().map(|fixup| Entry {
        name: fixup.name.clone(),
        kind: "schema".into(),
        applies_to: fixup.revisions.clone(),
        reason: fixup.reason.clone(),
        link: fixup.link.clone(),
    });
    let capabilities = FIXUPS.capabilities.iter().map(|fixup| Entry {
        name: fixup.name.clone(),
        kind: "capability".into(),
        applies_to: Vec::new(),
        reason: fixup.reason.clone(),
        link: fixup.link.clone(),
    });
    Table {
        file: "codegen/model/fixups.toml".into(),
        about: "Corrections of defects in official schemas.",
        entries: schemas.chain(capabilities).collect(),
    }
}

/// Reads a table whose entries have a reason and a link.
fn table(file: &str, text: &str) -> Result<Table, Error> {
    let parsed: toml::Table = text.parse().map_err(|error| Error::Usage(format!("{file}: {error}")))?;
    let mut entries = Vec::new();
    for (key, value) in parsed {
        match value {
            toml::Value::Array(rows) => {
                entries.extend(rows.iter().filter_map(toml::Value::as_table).map(|row| Entry {
                    name: string(row, "name"),
                    kind: key.clone(),
                    applies_to: Vec::new(),
                    reason: string(row, "reason"),
                    link: string(row, "link"),
                }))
            }
            toml::Value::Table(row) => {
                let has_reason = row.contains_key("reason");
                let names = row.get("names").and_then(toml::Value::as_table).map_or(0, toml::Table::len);
                let renamed =
                    format!("{} of inline types, which the schema does not name.", counted(names as u64, "names"));
                let reason = if has_reason { string(&row, "reason") } else { renamed };
                let kind = if has_reason { "repeated definitions" } else { "names" }.to_owned();
                let applies_to = vec![key.clone()];
                entries.push(Entry { name: key, kind, applies_to, reason, link: string(&row, "link") });
            }
            _ => {}
        }
    }
    let about = match file.ends_with("conversions.toml") {
        true => "What a conversion does where the schemas do not say.",
        false => "Inline schemas that repeat a definition, and names of inline types.",
    };
    Ok(Table { file: file.to_owned(), about, entries })
}

fn string(row: &toml::Table, key: &str) -> String {
    let text = row.get(key).and_then(toml::Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the address of a page of the specification, or of its repository.
fn specification(page: &str) -> String {
    let name = page.strip_suffix(".mdx").unwrap_or(page);
    let name = name.strip_suffix("/index").unwrap_or(name);
    if let Some(docs) = name.strip_prefix("../docs/") {
        return format!("https://modelcontextprotocol.io/docs/{docs}");
    }
    match name.split_once('/') {
        Some((repository, _)) if repository.starts_with("ext-") => {
            let path = page.split_once('/').map_or(page, |(_, path)| path);
            format!("https://github.com/modelcontextprotocol/{repository}/blob/main/{path}")
        }
        _ => format!("https://modelcontextprotocol.io/specification/{name}"),
    }
}

impl Ledger {
    /// Writes the ledger as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a ledger is plain data") + "\n"
    }

    /// Writes the ledger as text.
    pub fn to_text(&self) -> String {
        let mut text = format!("{:<14} {:>10} {:>12} {:>10}\n", "layer", "generated", "hand-written", "generated");
        let mut row = |name: &str, total: &Total| {
            let (generated, written) = (total.generated.lines, total.hand_written.lines);
            let _ = writeln!(text, "{name:<14} {generated:>10} {written:>12} {:>8} %", total.generated_percent());
        };
        for (group, total) in self.totals.iter().rev() {
            self.layers.iter().filter(|layer| layer.group == *group).for_each(|layer| row(&layer.name, &layer.total));
            row(&format!("all of {group}"), total);
        }
        text.push_str("\nLines of code, without blank lines, comments and tests.\n");
        for Table { file, about, entries } in &self.data {
            let _ = writeln!(text, "\n{file}: {} {about}", counted(entries.len() as u64, "entries."));
            for Entry { name, kind, applies_to, reason, .. } in entries {
                let revisions =
                    if applies_to.is_empty() { String::new() } else { format!(" ({})", applies_to.join(", ")) };
                let _ = writeln!(text, "  {kind} {name}{revisions}: {reason}");
            }
        }
        let rules = counted(self.rules.len() as u64, "rules");
        let _ = writeln!(text, "\n{rules} of the specification that no schema states:");
        let mut page = "";
        for rule in &self.rules {
            if rule.page != page {
                page = &rule.page;
                let _ = writeln!(text, "  {page}");
            }
            let _ = writeln!(text, "    {}", rule.text);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Sources {
        let code = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Sources { code, mark: "// @generated", ..Sources::default() }
    }

    #[test]
    fn counts_by_layer() {
        let ledger = ledger(
            &sources(&[
                ("generated/src/v2025_11_25/tools.rs", "// @generated by mcpgen\n\n/// A tool.\npub struct Tool;\n"),
                (
                    "generated/src/codec/mod.rs",
                    "//! Text.\nfn a() {\n}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n",
                ),
                ("generated/src/codec/evaluate/checks.rs", "// @generated by mcpgen\nfn c() {}\n"),
            ]),
            &[],
        )
        .expect("a ledger");
        let total = |name: &str| ledger.layers.iter().find(|layer| layer.name == name).expect("the layer").total;
        let code = |files, lines| Code { files, lines };
        assert_eq!(total("types"), Total { generated: code(1, 1), hand_written: code(0, 0) });
        assert_eq!(total("codec"), Total { generated: code(1, 1), hand_written: code(1, 2) });
        assert_eq!(ledger.totals["sdk"], Total { generated: code(2, 2), hand_written: code(1, 2) });
        assert_eq!(ledger.totals["sdk"].generated_percent(), 50);
    }

    #[test]
    fn refuses_a_file_without_a_layer() {
        for path in ["generated/src/new.rs", "runtime/mcp/src/new.rs", "runtime/new/src/lib.rs"] {
            let error = ledger(&sources(&[(path, "")]), &[]).expect_err("no layer").to_string();
            assert!(error.contains(path), "{error}");
        }
    }

    #[test]
    fn every_entry_of_a_table_has_a_reason() {
        let text = "[[default]]\nname = \"a\"\nreason = \"b\\n  c\"\nlink = \"https://example.org\"\n[apps.names]\nA = \"B\"\n";
        let table = table("schema/conversions.toml", text).expect("a table");
        let entries: Vec<_> =
            table.entries.iter().map(|it| (it.name.as_str(), it.kind.as_str(), it.reason.as_str())).collect();
        let names = "1 name of inline types, which the schema does not name.";
        assert_eq!(entries, [("a", "default", "b c"), ("apps", "names", names)]);
        assert!(fixups().entries.iter().all(|entry| !entry.reason.is_empty() && entry.link.starts_with("https://")));
    }

    #[test]
    fn links_to_the_specification() {
        for (page, expected) in [
            ("2025-11-25/basic/index.mdx", "https://modelcontextprotocol.io/specification/2025-11-25/basic"),
            ("../docs/tutorials/x.mdx", "https://modelcontextprotocol.io/docs/tutorials/x"),
            (
                "ext-skills/specification/skills.mdx",
                "https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/skills.mdx",
            ),
        ] {
            assert_eq!(specification(page), expected);
        }
    }
}
