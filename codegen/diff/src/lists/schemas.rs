//! Compares the schemas of the arguments or the results of a tool.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use mcpgen_model::{Origin, Protocol, Status, TypeId, model};
use mcpgen_schema::Error;
use mcpgen_schema::json::Json;
use mcpgen_schema::json::integer;
use mcpgen_schema::{Dialect, Document, ReadOptions, checks, is_keyword, pointers_exceed};

use crate::lists::annotations::{self, Annotation, AnnotationKind, text_change};
use crate::models::{
    Axis, Effort, Evidence, Finding, ListVerdicts, MAX_SAFE_INTEGER, Place, Rule, Senders, Verdict, Version, Witness,
    compare_checks, compare_types,
};

/// A schema of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The schema of the arguments, which the client sends.
    Arguments,
    /// The schema of the result, which the server sends.
    Result,
}

/// The maximum total size of the JSON pointers of all schemas inside a schema. Findings contain these pointers, and the
/// names in them.
const MAX_POINTERS: usize = 4 * 1024 * 1024;

/// The model of a schema, and the type at its root.
type Model = (Protocol, TypeId);

/// The models of two schemas, and the unknown keywords in them.
type Models = (Model, Model, BTreeSet<String>);

/// Two schemas of one tool, with their pointers in the snapshots.
#[derive(Clone, Debug)]
pub(super) struct SchemaPair<'s> {
    pub(super) effort: &'s Rc<Effort>,
    pub(super) tool: &'s str,
    pub(super) part: Part,
    pub(super) old: (&'s Json, String),
    pub(super) new: (&'s Json, String),
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Arguments => "arguments",
            Part::Result => "result",
        }
    }

    pub(super) fn senders(self) -> Senders {
        Senders { client: self == Part::Arguments, server: self == Part::Result }
    }
}

impl SchemaPair<'_> {
    /// Finds all differences.
    pub(super) fn compare(&self) -> Vec<Finding> {
        if self.old.0 == self.new.0 {
            return Vec::new();
        }
        if [self.old.0, self.new.0].into_iter().any(|schema| pointers_exceed(schema, MAX_POINTERS)) {
            let what = format!("the schemas of the {} cannot be compared", self.part.name());
            return vec![self.not_compared(what, "too many schemas are nested below long names".to_owned())];
        }
        let (old, new) = (self.prepared(self.old.0), self.prepared(self.new.0));
        let annotations = annotations::compare(&old, &new);
        let mut found: Vec<Finding> =
            annotations.iter().filter(|it| it.kind != AnnotationKind::Default).map(|it| self.annotation(it)).collect();
        if annotations::assertions(&old) != annotations::assertions(&new) {
            let whole = self.models(&old, &new).map(|models| (models, Vec::new()));
            match whole.or_else(|| self.models_without_others(&old, &new)) {
                Some(((was, is, unknown), changed)) => {
                    found.extend(self.compare_models(&was, &is));
                    if !changed.is_empty() {
                        let what = format!("references to other documents changed at {}", changed.join(", "));
                        found.push(self.not_compared(what, "these documents are not read".to_owned()));
                    } else if values_of(&old, &unknown) != values_of(&new, &unknown) {
                        let words: Vec<String> = unknown.iter().map(|keyword| format!("`{keyword}`")).collect();
                        let what = format!("the schemas of the {} differ in unknown keywords", self.part.name());
                        found.push(self.not_compared(what, format!("no dialect says what {} means", words.join(", "))));
                    }
                }
                None => {
                    let defaults = annotations.iter().filter(|it| it.kind == AnnotationKind::Default);
                    found.extend(defaults.map(|it| self.annotation(it)));
                    found.extend(self.as_a_whole(&old, &new));
                }
            }
        }
        if found.is_empty() && ends_of_doubles(&old) == ends_of_doubles(&new) {
            // The schemas may still differ in documents that, by convention, nobody sends.
            let whole = self.as_a_whole(&old, &new);
            found.extend(whole.filter(|it| it.evidence == Evidence::Convention));
        }
        if found.is_empty() {
            found.push(self.rewritten(&old, &new));
        }
        found
    }

    /// Adds what the protocol implies: arguments are an object.
    fn prepared(&self, schema: &Json) -> Json {
        let mut schema = schema.clone();
        if let (Part::Arguments, Json::Object(keywords)) = (self.part, &mut schema) {
            keywords.entry("type".to_owned()).or_insert_with(|| Json::String("object".into()));
        }
        schema
    }

    /// Returns the models of both schemas without their references to other documents, and the pointers of those
    /// references that changed. The documents themselves are not read: one counts as unchanged if the reference to it
    /// is.
    fn models_without_others(&self, old: &Json, new: &Json) -> Option<(Models, Vec<String>)> {
        let (was, is) = (others(old), others(new));
        let (mut old, mut new) = (old.clone(), new.clone());
        let mut changed = Vec::new();
        for pointer in was.keys().chain(is.keys()).collect::<BTreeSet<_>>() {
            let is_changed = was.get(pointer) != is.get(pointer);
            for schema in [&mut old, &mut new].into_iter().filter_map(|schema| schema.pointer_mut(pointer)) {
                match schema {
                    Json::Object(keywords) if !is_changed => drop(keywords.shift_remove("$ref")),
                    schema => *schema = Json::Bool(true),
                }
            }
            if is_changed {
                changed.push(pointer.clone());
            }
        }
        Some((self.models(&old, &new)?, changed))
    }

    /// Returns the models of both schemas, and the unknown keywords in them, which count as annotations.
    fn models(&self, old: &Json, new: &Json) -> Option<Models> {
        let none = BTreeSet::new();
        if let (Ok(old), Ok(new)) = (self.model(old, &none), self.model(new, &none)) {
            return Some((old, new, none));
        }
        let unknown = self.unknown(old, new);
        Some((self.model(old, &unknown).ok()?, self.model(new, &unknown).ok()?, unknown))
    }

    fn unknown(&self, old: &Json, new: &Json) -> BTreeSet<String> {
        let mut unknown = BTreeSet::new();
        for schema in [old, new] {
            if let Err(Error::Schema(problems)) = self.model(schema, &unknown) {
                let keywords = problems.into_iter().map(|problem| problem.keyword);
                unknown.extend(keywords.filter(|keyword| !keyword.is_empty() && !is_keyword(keyword)));
            }
        }
        unknown
    }

    fn document(&self, schema: &Json, unknown: &BTreeSet<String>) -> Result<Document, Error> {
        // A schema without keywords, or only with annotations, accepts everything.
        let schema = match annotations::assertions(schema) {
            Json::Object(keywords) if keywords.is_empty() => Json::Bool(true),
            _ => schema.clone(),
        };
        let declared = schema.get("$schema").is_some();
        let options = ReadOptions {
            // In MCP, a schema without `$schema` uses the dialect 2020-12.
            dialect: (!declared).then_some(Dialect::Draft202012),
            root_name: Some(self.part.name().to_owned()),
            annotations: unknown.iter().cloned().collect(),
            ..ReadOptions::default()
        };
        Document::of(self.tool.to_owned(), schema, String::new(), &options)
    }

    fn model(&self, schema: &Json, unknown: &BTreeSet<String>) -> Result<Model, Error> {
        let document = self.document(schema, unknown)?;
        let protocol = model(document, Status::Draft.as_str(), false)?;
        let root = protocol.types.iter().position(|def| def.pointer.is_empty() && def.origin == Origin::Definition);
        let missing = || Error::Usage(format!("the schema of `{}` has no type at its root", self.tool));
        root.map(|root| (protocol, root)).ok_or_else(missing)
    }

    fn compare_models(&self, old: &Model, new: &Model) -> Vec<Finding> {
        let found = compare_types((&old.0, old.1), (&new.0, new.1), self.part.senders(), self.effort);
        // `annotations` compares the texts. Only one side sends the values, so the rules for the other direction do not
        // apply.
        let other_direction = match self.part {
            Part::Arguments => "-by-old",
            Part::Result => "-by-new",
        };
        let applies = |it: &Finding| it.rule != Rule::DocumentationChanged && !it.rule.id().ends_with(other_direction);
        found.into_iter().filter(applies).map(|it| self.adapted(it)).collect()
    }

    /// Turns a finding about a schema into one about the tool.
    fn adapted(&self, finding: Finding) -> Finding {
        let rule = if self.part == Part::Arguments { finding.rule.of_arguments() } else { finding.rule };
        // Clients of the old list call the new server.
        let verdict = finding.verdicts.on(Axis::OldClientNewServer);
        let message = format!("{}: {}", self.tool, finding.message);
        let below = |place: Option<Place>, base: &str| {
            place.map(|place| Place { pointer: format!("{base}{}", place.pointer), rust: None })
        };
        // A rule calls a difference breaking if it can break calls; the evidence shows whether this one does.
        let shown = |by_rule: Verdict| if by_rule == Verdict::Breaking { verdict } else { by_rule };
        let by_rule = rule.on_lists().unwrap_or(ListVerdicts::BREAKING);
        let (remembered_list, stored_workflow) = (shown(by_rule.remembered_list), shown(by_rule.stored_workflow));
        let lists = ListVerdicts { remembered_list, stored_workflow, ..by_rule };
        let is_read = |witness: &Witness| witness.reader == self.reader();
        Finding {
            evidence: match verdict {
                Verdict::Breaking => Evidence::Witness,
                Verdict::Compatible if finding.by_convention.contains(&self.reader()) => Evidence::Convention,
                Verdict::Compatible => Evidence::Proof,
                _ => Evidence::None,
            },
            witnesses: finding.witnesses.into_iter().filter(is_read).collect(),
            undecided: finding.undecided.filter(|_| verdict == Verdict::Unknown),
            old: below(finding.old, &self.old.1),
            new: below(finding.new, &self.new.1),
            ..self.finding(rule, lists, &finding.subject, finding.detail, message)
        }
    }

    fn annotation(&self, annotation: &Annotation) -> Finding {
        let Annotation { kind, keyword, path, pointer, old, new } = annotation;
        let rule = match (kind, self.part) {
            (AnnotationKind::Text, Part::Arguments) => Rule::ArgumentDescriptionChanged,
            (AnnotationKind::Text, Part::Result) => Rule::ResultDescriptionChanged,
            (AnnotationKind::Format, _) => Rule::FormatChanged,
            (AnnotationKind::Default, _) => Rule::ArgumentDefaultChanged,
        };
        let subject = match path.strip_prefix('#') {
            Some(definition) => definition.to_owned(),
            None => format!("{}{path}", self.part.name()),
        };
        let what = match (kind, old, new) {
            (AnnotationKind::Text, old, new) => text_change(old.as_ref(), new.as_ref()),
            _ => {
                let words = |side: &Option<Json>| side.as_ref().map_or("none".to_owned(), Json::to_string);
                format!("is {} instead of {}", words(new), words(old))
            }
        };
        let message = format!("{}: the {keyword} of {subject} {what}", self.tool);
        let place = |base: &str, has: bool| {
            let keyword = if has { format!("/{keyword}") } else { String::new() };
            Some(Place { pointer: format!("{base}{pointer}{keyword}"), rust: None })
        };
        let detail = if pointer.is_empty() { keyword.clone() } else { format!("{pointer} {keyword}") };
        Finding {
            old: place(&self.old.1, old.is_some()),
            new: place(&self.new.1, new.is_some()),
            ..self.own(rule, &subject, detail, message)
        }
    }

    /// Compares schemas that have no models.
    fn as_a_whole(&self, old: &Json, new: &Json) -> Option<Finding> {
        let (unknown, name) = (self.unknown(old, new), self.part.name());
        let read = |schema: &Json| checks(&self.document(schema, &unknown)?);
        match (read(old), read(new)) {
            (Ok(old), Ok(new)) => {
                compare_checks(old, new, self.part.senders(), name, self.effort).map(|found| self.adapted(found))
            }
            (Err(error), _) | (_, Err(error)) => {
                let why = match error {
                    Error::Schema(problems) => problems.into_iter().map(|it| it.why).next().unwrap_or_default(),
                    error => error.to_string(),
                };
                Some(self.not_compared(format!("the schemas of the {name} cannot be compared"), why))
            }
        }
    }

    fn not_compared(&self, what: String, why: String) -> Finding {
        let message = format!("{}: {what}", self.tool);
        let finding = self.own(Rule::SchemaNotCompared, self.part.name(), String::new(), message);
        Finding { undecided: Some(why), ..finding }
    }

    /// Returns the version that reads this part when an old client calls the new server.
    fn reader(&self) -> Version {
        match self.part {
            Part::Arguments => Version::New,
            Part::Result => Version::Old,
        }
    }

    /// Creates the finding for schemas that differ although no rule found a difference: they accept the same values, at
    /// least up to 2^53 - 1.
    fn rewritten(&self, old: &Json, new: &Json) -> Finding {
        let subject = self.part.name();
        let is_exact = ends_of_doubles(old) == ends_of_doubles(new);
        let (rule, what) = match (annotations::texts(old) == annotations::texts(new), self.part) {
            (true, _) if is_exact => (Rule::SchemaRewritten, "was rewritten, but accepts the same values"),
            (true, _) => (Rule::SchemaRewritten, "was rewritten, but accepts the same values up to 2^53 - 1"),
            (false, Part::Arguments) => (Rule::ArgumentDescriptionChanged, "was rewritten, with other texts"),
            (false, Part::Result) => (Rule::ResultDescriptionChanged, "was rewritten, with other texts"),
        };
        let message = format!("{}: the schema of the {subject} {what}", self.tool);
        let finding = self.own(rule, subject, String::new(), message);
        if is_exact { finding } else { Finding { evidence: Evidence::Convention, ..finding } }
    }

    /// Creates a finding by a rule for lists. It points to the roots of the schemas.
    fn own(&self, rule: Rule, subject: &str, detail: String, message: String) -> Finding {
        self.finding(rule, rule.on_lists().unwrap_or(ListVerdicts::BREAKING), subject, detail, message)
    }

    fn finding(&self, rule: Rule, lists: ListVerdicts, subject: &str, detail: String, message: String) -> Finding {
        let place = |pointer: &String| Some(Place { pointer: pointer.clone(), rust: None });
        Finding {
            rule,
            senders: self.part.senders(),
            verdicts: lists.into(),
            evidence: Evidence::of(rule, lists),
            witnesses: Vec::new(),
            by_convention: Vec::new(),
            undecided: None,
            items: Vec::new(),
            subject: format!("{}.{subject}", self.tool),
            detail,
            message,
            old: place(&self.old.1),
            new: place(&self.new.1),
        }
    }
}

/// Returns the addresses of other documents to which subschemas refer, by the pointer of the subschema.
fn others(schema: &Json) -> BTreeMap<String, Json> {
    let subschemas = annotations::subschemas(schema).into_iter();
    let references =
        subschemas.filter_map(|(pointer, subschema)| Some((pointer, subschema.keywords.get("$ref")?.clone())));
    references.filter(|(_, address)| address.as_str().is_some_and(|address| !address.starts_with('#'))).collect()
}

/// Returns the limits at ±(2^53 - 1), which count as no limits, by the pointer of the schema and the keyword.
fn ends_of_doubles(schema: &Json) -> BTreeSet<(String, &'static str)> {
    let limits = ["minimum", "maximum"];
    let is_end =
        |limit: &Json| matches!(limit, Json::Number(it) if integer(it).is_some_and(|it| it.abs() == MAX_SAFE_INTEGER));
    let subschemas = annotations::subschemas(schema).into_iter();
    let ends = subschemas.flat_map(|(pointer, subschema)| {
        let ends = limits.into_iter().filter(|limit| subschema.keywords.get(*limit).is_some_and(is_end));
        ends.map(|limit| (pointer.clone(), limit)).collect::<Vec<_>>()
    });
    ends.collect()
}

/// Returns the values of some keywords, in document order.
fn values_of<'s>(schema: &'s Json, keywords: &BTreeSet<String>) -> Vec<(&'s str, &'s Json)> {
    match schema {
        Json::Object(members) => {
            let pairs = members.iter().flat_map(|(name, value)| {
                let own = keywords.contains(name).then_some((name.as_str(), value));
                own.into_iter().chain(values_of(value, keywords))
            });
            pairs.collect()
        }
        Json::Array(items) => items.iter().flat_map(|item| values_of(item, keywords)).collect(),
        _ => Vec::new(),
    }
}
