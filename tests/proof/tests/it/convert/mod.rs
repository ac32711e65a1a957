//! Converts random documents between all revisions and judges the results independently.

mod explain;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use explain::{is_needed, unexplained, without_identifiers};
use mcpgen::Workspace;
use mcpgen_diff::{Verdict, diff};
use mcpgen_model::Json;
use mcpgen_proof::decisions::REVISIONS;
use mcpgen_proof::instances::{Instances, member_names};
use mcpgen_proof::judge::{Judge, definitions_keyword, fixed_up, within_limits};
use mcpgen_proof::registry::Entry;
use mcpgen_proof::settings::setting;
use mcpgen_proof::{json_equal, schema};
use mcpgen_types::Revision;
use mcpgen_types::convert::{Conversion, ConvertError, Lost, LostReason, Policy};
use serde_json::{Value, json};

struct Side {
    revision: Revision,
    judge: Judge,
    instances: Instances,
    definitions: BTreeSet<String>,
    /// Requests (`true`) and notifications (`false`), whose definitions may omit the members of the envelope.
    messages: BTreeMap<String, bool>,
}

/// The definitions that `diff` calls compatible, by the indices of the revisions that documents are converted from and
/// to.
type Compatible = BTreeMap<(usize, usize), BTreeSet<String>>;

#[derive(Debug, Default)]
struct Counts {
    documents: u64,
    converted: u64,
    complete: u64,
    failed: u64,
    compatible: u64,
}

fn sides() -> Vec<Side> {
    let schemas: Vec<Value> = REVISIONS.iter().map(|revision| fixed_up(revision, &schema(revision))).collect();
    let names: BTreeSet<String> = schemas.iter().flat_map(member_names).collect();
    let workspace = workspace();
    let side = |(revision, fixed): (&&str, &Value)| {
        let protocol = workspace.model(revision).unwrap_or_else(|error| panic!("{error}"));
        let requests = protocol.requests.iter().map(|it| (it.type_id, true));
        let messages = requests.chain(protocol.notifications.iter().map(|it| (it.type_id, false)));
        let messages = messages.map(|(id, is_request)| (protocol.types[id].name.clone(), is_request));
        let definitions = fixed[definitions_keyword(fixed)].as_object().expect("a schema has definitions");
        let bases = definitions.iter().filter(|(_, schema)| is_base(schema)).map(|(name, _)| (name.clone(), true));
        let unions = UNIONS.iter().map(|(name, is_request)| ((*name).to_owned(), *is_request));
        Side {
            revision: revision.parse().expect("a known revision"),
            judge: Judge::for_revision(revision, &schema(revision)),
            instances: Instances::new(fixed, 22).reserving(names.clone()),
            definitions: definitions.keys().cloned().collect(),
            messages: bases.chain(unions).chain(messages).collect(),
        }
    };
    REVISIONS.iter().zip(&schemas).map(side).collect()
}

const UNIONS: [(&str, bool); 4] =
    [("ClientRequest", true), ("ServerRequest", true), ("ClientNotification", false), ("ServerNotification", false)];

/// Returns whether a definition is the common base of messages, whose method is not a constant.
fn is_base(schema: &Value) -> bool {
    let required = schema["required"].as_array().is_some_and(|names| names.contains(&json!("method")));
    required && schema["properties"]["method"].as_object().is_some_and(|method| !method.contains_key("const"))
}

fn workspace() -> Workspace {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Workspace::open(Some(&root)).unwrap_or_else(|error| panic!("{error}"))
}

fn compatible() -> Compatible {
    let workspace = workspace();
    let models: Vec<_> = REVISIONS.iter().map(|revision| workspace.model(revision).expect("a valid schema")).collect();
    let mut compatible = Compatible::new();
    for old in 0..models.len() {
        for new in old + 1..models.len() {
            for ty in diff(&models[old], &models[new]).types {
                if ty.old_to_new == Verdict::Compatible {
                    compatible.entry((old, new)).or_default().insert(ty.name.clone());
                }
                if ty.new_to_old == Verdict::Compatible {
                    compatible.entry((new, old)).or_default().insert(ty.name.clone());
                }
            }
        }
    }
    compatible
}

impl Side {
    /// Returns a document as it is sent, or `None` if the sample is not valid.
    fn document(&self, definition: &str, index: u64) -> Option<Value> {
        let mut document = self.instances.valid(definition, index);
        let is_request = self.messages.get(definition).copied();
        if let (Some(is_request), Some(members)) = (is_request, document.as_object_mut()) {
            members.entry("jsonrpc").or_insert_with(|| json!("2.0"));
            if is_request {
                members.entry("id").or_insert_with(|| json!(1));
            }
        }
        (within_limits(&document) && self.judge.accepts(definition, &document)).then_some(document)
    }
}

struct Step<'a> {
    definition: &'a str,
    from: &'a Side,
    to: &'a Side,
}

type Outcome = Result<(Value, Vec<Lost>), ConvertError>;

impl Step<'_> {
    fn conversion(&self) -> Conversion {
        let found = Conversion::of_definition(self.definition, self.from.revision, self.to.revision);
        found.unwrap_or_else(|| panic!("{}: no conversion", self.definition))
    }

    fn apply(&self, document: &Value, policy: Policy) -> Outcome {
        let source = mcpgen_types::Json::parse(document.to_string()).expect("a document is JSON");
        let converted = self.conversion().apply(&source, policy)?;
        // `serde_json::Value` gives serde_json's private keys a special meaning. The generator's JSON does not.
        let value = Json::parse(converted.value.text()).expect("the result is JSON");
        Ok((serde_json::to_value(value).expect("JSON converts to a value"), converted.lost))
    }

    /// Checks one document with all policies. Returns what is wrong.
    fn check(&self, document: &Value, is_compatible: bool, counts: &mut Counts) -> Result<(), String> {
        counts.documents += 1;
        let strict = self.apply(document, Policy::Strict);
        let omitted = self.apply(document, Policy::Omit);
        let kept = self.apply(document, Policy::KeepUnknown);
        self.check_outcome(document, &omitted).map_err(|error| format!("Omit: {error}"))?;
        self.check_outcome(document, &kept).map_err(|error| format!("KeepUnknown: {error}"))?;
        check_strict(&strict, &omitted)?;
        if is_compatible {
            counts.compatible += 1;
            check_compatible(document, &omitted, &kept)?;
        }
        match &omitted {
            Err(_) => counts.failed += 1,
            Ok((value, lost)) => {
                counts.converted += 1;
                if lost.is_empty() {
                    counts.complete += 1;
                    self.check_return(document, value).map_err(|error| format!("Omit: {error}"))?;
                }
            }
        }
        match &kept {
            Ok((value, lost)) if lost.iter().all(|lost| lost.reason == LostReason::Unknown) => {
                self.check_return(document, value).map_err(|error| format!("KeepUnknown: {error}"))
            }
            _ => Ok(()),
        }
    }

    fn check_outcome(&self, document: &Value, outcome: &Outcome) -> Result<(), String> {
        match outcome {
            Err(error) => match document.pointer(error.path()).or_else(|| parent(document, error.path())) {
                Some(_) => Ok(()),
                None => Err(format!("{error}: the document has nothing at this path")),
            },
            Ok((value, lost)) => {
                if let Some(lost) = lost.iter().find(|lost| document.pointer(&lost.path).is_none()) {
                    return Err(format!("{lost}: the document has nothing at this path"));
                }
                if !self.to.judge.accepts(self.definition, value) {
                    let objections = self.to.judge.objections(self.definition, value);
                    return Err(format!("the judge rejects {value}:\n{objections}"));
                }
                let entry = Entry::find(self.to.revision.as_str(), self.definition);
                if let Some(Err(error)) = entry.map(|entry| entry.recode(value)) {
                    return Err(format!("the decoder rejects {value}: {error}"));
                }
                let removed: Vec<&str> = lost
                    .iter()
                    .filter(|lost| lost.reason != LostReason::Unknown)
                    .map(|lost| lost.path.as_str())
                    .collect();
                match unexplained(document, &removed, value) {
                    None => Ok(()),
                    Some(difference) => Err(format!("{difference}\nfound {value}\nlost {lost:?}")),
                }
            }
        }
    }

    fn check_return(&self, document: &Value, converted: &Value) -> Result<(), String> {
        let back = Step { definition: self.definition, from: self.to, to: self.from };
        let (value, _) = back.apply(converted, Policy::Omit).map_err(|error| format!("the way back fails: {error}"))?;
        match unexplained(document, &[], &value) {
            None => Ok(()),
            Some(difference) => Err(format!("the way back: {difference}\nthere {converted}\nback {value}")),
        }
    }
}

fn parent<'d>(document: &'d Value, path: &str) -> Option<&'d Value> {
    document.pointer(path.rsplit_once('/')?.0)
}

/// Checks that the strict conversion succeeds if nothing is lost, and only then.
fn check_strict(strict: &Outcome, omitted: &Outcome) -> Result<(), String> {
    match (strict, omitted) {
        (Ok((_, lost)), _) if !lost.is_empty() => Err(format!("Strict loses {lost:?}")),
        (Ok((strict, _)), Ok((omitted, lost)))
            if lost.is_empty() && json_equal(&without_identifiers(strict), &without_identifiers(omitted)) =>
        {
            Ok(())
        }
        (Err(_), Ok((_, lost))) if !lost.is_empty() => Ok(()),
        (Err(_), Err(_)) => Ok(()),
        (strict, omitted) => Err(format!("Strict returns {strict:?}, but Omit returns {omitted:?}")),
    }
}

/// Checks that a compatible step fails only where a rule refuses to leave out a member, and loses only members that the
/// target does not define but accepts as unknown members.
fn check_compatible(document: &Value, omitted: &Outcome, kept: &Outcome) -> Result<(), String> {
    match omitted {
        Err(error) if is_needed(error.path()) => return Ok(()),
        Err(error) => return Err(format!("the step is compatible, but fails: {error}")),
        Ok((_, lost)) => {
            if let Some(lost) = lost.iter().find(|lost| lost.reason != LostReason::Undefined) {
                return Err(format!("the step is compatible, but loses {lost}"));
            }
        }
    }
    match kept {
        Ok((value, _)) if json_equal(document, value) => Ok(()),
        Ok((value, _)) => unexplained(document, &[], value).map_or(Ok(()), Err),
        Err(error) => Err(format!("the step is compatible, but fails: {error}")),
    }
}

fn check_definition(
    (sides, from, definition): (&[Side], usize, &str),
    compatible: &Compatible,
    instances: u64,
    counts: &mut Counts,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let targets = (0..sides.len()).filter(|to| *to != from && sides[*to].definitions.contains(definition));
    let targets: Vec<usize> = targets.collect();
    for index in 0..instances {
        let Some(document) = sides[from].document(definition, index) else { continue };
        for to in &targets {
            let step = Step { definition, from: &sides[from], to: &sides[*to] };
            let is_compatible = compatible.get(&(from, *to)).is_some_and(|names| names.contains(definition));
            if let Err(error) = step.check(&document, is_compatible, counts) {
                let (from, to) = (REVISIONS[from], REVISIONS[*to]);
                wrong.push(format!("{definition} {index}, {from} -> {to}: {document}\n{error}"));
            }
        }
        if wrong.len() > 3 {
            break;
        }
    }
    wrong
}

/// `MCPGEN_CONVERT_INSTANCES` is the number of documents for each definition of each revision.
#[test]
fn converted_documents_are_valid_and_complete_except_for_listed_losses() {
    let instances = setting("MCPGEN_CONVERT_INSTANCES", 12, 12);
    let (sides, compatible, start) = (sides(), compatible(), Instant::now());
    let work: Vec<(usize, &str)> = (0..sides.len())
        .flat_map(|from| sides[from].definitions.iter().map(move |definition| (from, definition.as_str())))
        .collect();
    let next = AtomicUsize::new(0);
    let run = || {
        let (mut counts, mut wrong) = (Counts::default(), Vec::new());
        while let Some((from, definition)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.extend(check_definition((&sides, *from, definition), &compatible, instances, &mut counts));
        }
        (counts, wrong)
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no check panics")).collect::<Vec<_>>()
    });
    let (mut total, mut wrong) = (Counts::default(), Vec::new());
    for (counts, more) in results {
        total.documents += counts.documents;
        total.converted += counts.converted;
        total.complete += counts.complete;
        total.failed += counts.failed;
        total.compatible += counts.compatible;
        wrong.extend(more);
    }
    println!("{total:?} in {:?}", start.elapsed());
    wrong.truncate(40);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(total.complete > 10 * instances && total.failed > 10 * instances, "{total:?}");
    assert!(total.compatible > 100 * instances, "{total:?}");
}
