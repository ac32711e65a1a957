//! Runs the committed fuzz corpus on the stable toolchain, as part of every test run, and writes the initial seeds.

#[path = "../../../../generated/tests/json/cases.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with another test")]
mod cases;

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcpgen_proof::Proof;
use mcpgen_proof::decisions::REVISIONS;
use mcpgen_proof::fuzz::{Target, name_of, run, run_dispatch, run_edited, run_json, target_of, targets};
use mcpgen_proof::judge::{definitions_keyword, subschemas};
use serde_json::Value;

type Run = fn(&[u8]);

/// The targets of `tests/fuzz`. Each has a corpus folder of the same name.
const FUZZED: [(&str, Run); 4] =
    [("decode", run), ("dispatch", run_dispatch), ("edit", run_edited), ("json", run_json)];

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = fuzz_folder().join("corpus").join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("a readable folder entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn corpus_reproduces_no_failures() {
    for (folder, run) in FUZZED {
        let files = files(folder);
        assert!(files.len() > 50, "{folder} has only {} files", files.len());
        let failed = files.iter().filter(|(name, data)| {
            let panics = catch_unwind(AssertUnwindSafe(|| run(data))).is_err();
            if panics {
                eprintln!("the panic above is from {folder}/{name}");
            }
            panics
        });
        let failed: Vec<_> = failed.map(|(name, _)| name).collect();
        assert!(failed.is_empty(), "{folder}: {failed:?}");
    }
}

/// The corpus contains a document for every member of every union, and for every kind of message.
#[test]
fn corpus_covers_all_goals() {
    let documents: Vec<(*const Target, Value)> = files("decode")
        .iter()
        .filter_map(|(_, data)| target_of(data))
        .filter_map(|(target, text)| Some((std::ptr::from_ref(target), serde_json::from_slice(text).ok()?)))
        .collect();
    let goals = goals();
    assert!(goals.len() > 200, "only {} goals", goals.len());
    let uncovered = goals.iter().filter(|goal| {
        let of_target = documents.iter().filter(|(target, _)| std::ptr::eq(*target, goal.target()));
        !of_target.into_iter().any(|(_, document)| goal.is_covered_by(document))
    });
    let uncovered: Vec<_> = uncovered.map(|goal| &goal.name).collect();
    assert!(
        uncovered.is_empty(),
        "the corpus lacks documents, write the seeds again (cargo test -p mcpgen-proof corpus -- --ignored): \
         {uncovered:?}"
    );
}

/// Something that the corpus should contain a document for.
struct Goal {
    /// A name such as `2025-11-25-ContentBlock-TextContent`.
    name: String,
    /// The index of the target that accepts it.
    target: usize,
    proof: Arc<Proof>,
    content: Content,
}

/// What a document must contain to cover a goal.
enum Content {
    /// A value of this definition, at any depth.
    Definition(String),
    /// A message with this member, and with an ID (`true`) or without (`false`).
    Message(&'static str, bool),
}

impl Goal {
    fn target(&self) -> &'static Target {
        &targets()[self.target]
    }

    fn is_covered_by(&self, document: &Value) -> bool {
        let has = |name: &str| document.get(name).is_some();
        let fits = match &self.content {
            Content::Message(member, id) => has(member) && has("id") == *id,
            Content::Definition(name) => anywhere(document, &|value| self.proof.judge.accepts(name, value)),
        };
        fits && self.target().accepts(document)
    }

    /// Tries up to 220 documents. Returns the shortest of the first 20 that cover the goal, or `None` if none does.
    fn seed(&self) -> Option<String> {
        let own = (0..200).map(|index| self.target().instance(0, index));
        let of_member = (0..20).filter_map(|index| match &self.content {
            Content::Definition(name) => Some(self.proof.instances.valid(name, index)),
            Content::Message(..) => None,
        });
        let documents = of_member.chain(own).filter(|document| self.is_covered_by(document));
        documents.take(20).map(|document| document.to_string()).min_by_key(String::len)
    }
}

fn anywhere(value: &Value, holds: &dyn Fn(&Value) -> bool) -> bool {
    let inside = match value {
        Value::Array(items) => items.iter().any(|item| anywhere(item, holds)),
        Value::Object(members) => members.values().any(|member| anywhere(member, holds)),
        _ => false,
    };
    inside || holds(value)
}

/// Returns a goal for each union member in each definition, and for each kind of message.
fn goals() -> Vec<Goal> {
    let mut goals = Vec::new();
    for (index, target) in targets().iter().enumerate() {
        let (revision, definition) = (target.entry.revision, target.entry.definition);
        let proof = Proof::of(revision);
        let mut goal = |name: &str, content| {
            let name = format!("{revision}-{definition}-{name}");
            goals.push(Goal { name, target: index, proof: Arc::clone(&proof), content });
        };
        let Some(side) = target.side else {
            for member in members(revision, definition) {
                goal(&member, Content::Definition(member.clone()));
            }
            continue;
        };
        let declared = |kind| proof.instances.definitions().contains(&format!("{side}{kind}").as_str());
        if declared("Request") {
            goal("request", Content::Message("method", true));
        }
        if declared("Notification") {
            goal("notification", Content::Message("method", false));
        }
        goal("response", Content::Message("result", true));
        goal("error", Content::Message("error", true));
    }
    goals
}

/// Returns the definitions that are members of unions in this one.
fn members(revision: &str, definition: &str) -> BTreeSet<String> {
    let schema = mcpgen_proof::schema(revision);
    let schema = &schema[definitions_keyword(&schema)][definition];
    let mut names = BTreeSet::new();
    for pointer in subschemas(schema) {
        let members = schema.pointer(&pointer).and_then(|union| union.get("anyOf")).and_then(Value::as_array);
        let references = members.into_iter().flatten().filter_map(|member| member.get("$ref")?.as_str());
        names.extend(references.filter_map(|reference| reference.rsplit('/').next()).map(str::to_owned));
    }
    names
}

/// Writes the initial corpus of the fuzzers: a document for every goal, a few edits, and a dictionary.
///
/// Run it with `cargo test -p mcpgen-proof corpus -- --ignored`.
#[test]
#[ignore = "writes files"]
fn write_seeds() -> std::io::Result<()> {
    let corpus = fuzz_folder().join("corpus");
    for (folder, _) in FUZZED {
        fs::create_dir_all(corpus.join(folder))?;
    }
    for (index, goal) in goals().iter().enumerate() {
        let seed = goal.seed().unwrap_or_else(|| panic!("no instance for {}", goal.name));
        let name = name_of(goal.target);
        fs::write(corpus.join("decode").join(&goal.name), [&name[..], seed.as_bytes()].concat())?;
        if index % 3 == 0 {
            let edits = (0..3).map(|turn| index * 4 + turn).flat_map(|edit| [edit, edit * 7, edit * 31, edit * 5]);
            let edits: Vec<u8> = edits.map(|number| (number % 256) as u8).collect();
            let data = [&name[..], &[0, (index % 256) as u8], &edits].concat();
            fs::write(corpus.join("edit").join(&goal.name), data)?;
        }
    }
    for (index, messages) in dispatched().iter().enumerate() {
        for (receiver, name) in [(b'0', "server"), (b'1', "session"), (b'2', "client")] {
            let data = [&[receiver], messages.as_bytes()].concat();
            fs::write(corpus.join("dispatch").join(format!("{name}-{index:02}")), data)?;
        }
    }
    for case in cases::CASES.iter().step_by(5) {
        fs::write(corpus.join("json").join(case.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-")), case.text)?;
    }
    fs::write(fuzz_folder().join("words.dict"), dictionary())
}

/// Returns lines of messages that reach handlers, or are rejected before they do.
fn dispatched() -> Vec<String> {
    const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let values = [
        "1",
        r#"{"a":[1.5,"x"]}"#,
        r#"{"$serde_json::private::RawValue":"[1]"}"#,
        r#"{"\u0024serde_json::private::Number":"1"}"#,
    ];
    let around = [
        r#"{"jsonrpc":"2.0","id":1,"method":"custom","params":{"any":VALUE,META}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"custom","params":{"any":VALUE}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"typed","arguments":{"any":VALUE},META}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"by_hand","arguments":{"any":VALUE}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/custom","params":{"any":VALUE}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":VALUE}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[],"structuredContent":VALUE}}"#,
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no","data":VALUE}}"#,
    ];
    let each = around.iter().flat_map(|text| values.map(|value| text.replace("VALUE", value)));
    let several = [
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"custom","params":[1]}]"#,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{META}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{\"toolsListChanged\":true},META}}",
        "not JSON\n{}\n[]\n5\n{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
    ];
    each.chain(several.map(str::to_owned)).map(|text| text.replace("META", META)).collect()
}

/// Returns a libFuzzer dictionary of the member names and constants of all schemas, and the keys that serde_json
/// reserves.
fn dictionary() -> String {
    let reserved =
        ["$serde_json::private::Number", "$serde_json::private::RawValue", "\\u0024serde_json::private::RawValue"];
    let mut words = BTreeSet::from(reserved.map(str::to_owned));
    for revision in REVISIONS {
        let schema = mcpgen_proof::schema(revision);
        for pointer in subschemas(&schema) {
            let Some(schema) = schema.pointer(&pointer) else { continue };
            let names = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(|named| named.keys());
            words.extend(names.cloned());
            let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
            let values = values.chain(schema.get("const"));
            words.extend(values.filter_map(Value::as_str).map(str::to_owned));
        }
    }
    words.iter().map(|word| format!("\"\\\"{}\\\"\"\n", word.replace('\\', "\\\\"))).collect()
}
