//! Describes a protocol, as text or as JSON.
//!
//! `codegen/model/schemas/inspect.schema.json` is the schema of the JSON. `version` is 1, and changes when a member is
//! removed or changes its meaning. New members may appear at any time.

use std::collections::BTreeMap;
use std::fmt;

use mcpgen_schema::Error;
use mcpgen_schema::json::Json;
use mcpgen_schema::text::{counted, visible, visible_json};
use serde::Serialize;

use crate::conservation::{Outcome, conservation};
use crate::decision::{self, Decision};
use crate::describe::{Outline, Part};
use crate::fixups::FIXUPS;
use crate::{AliasRule, Content, Message, Origin, Protocol, Shape, TypeDef, TypeId};

/// A description of a protocol: `Display` writes text for people, `Serialize` the documented JSON.
#[derive(Debug, Serialize)]
pub struct Inspection<'p> {
    version: u32,
    #[serde(skip)]
    title: String,
    revision: &'p str,
    era: &'static str,
    sha256: &'p str,
    definitions: usize,
    requests: Vec<RequestRow<'p>>,
    notifications: Vec<NotificationRow<'p>>,
    error_codes: Vec<ErrorCodeRow<'p>>,
    types: Vec<TypeRow<'p>>,
    unions: Vec<UnionRow<'p>>,
    fixups: Vec<FixupRow<'p>>,
    conservation: ConservationRow<'p>,
}

#[derive(Debug, Serialize)]
struct RequestRow<'p> {
    #[serde(flatten)]
    message: NotificationRow<'p>,
    result: String,
    task_result: Option<String>,
}

#[derive(Debug, Serialize)]
struct NotificationRow<'p> {
    method: &'p str,
    r#type: &'p str,
    senders: Vec<&'static str>,
    params: Option<String>,
    params_required: bool,
}

#[derive(Debug, Serialize)]
struct ErrorCodeRow<'p> {
    name: &'p str,
    code: i64,
    r#type: &'p str,
}

#[derive(Debug, Serialize)]
struct TypeRow<'p> {
    name: &'p str,
    rust: &'p str,
    area: &'p str,
    origin: &'static str,
    kind: &'static str,
    summary: String,
    schema_pointers: Vec<&'p str>,
}

#[derive(Debug, Serialize)]
struct UnionRow<'p> {
    name: &'p str,
    schema_pointers: Vec<&'p str>,
    variants: Vec<String>,
    overlapping: bool,
    guards: Vec<GuardRow<'p>>,
    absorbed: Vec<AbsorbedRow<'p>>,
}

#[derive(Debug, Serialize)]
struct GuardRow<'p> {
    when: Vec<ConditionRow<'p>>,
    variant: String,
}

#[derive(Debug, Serialize)]
struct ConditionRow<'p> {
    #[serde(skip)]
    words: String,
    #[serde(flatten)]
    form: ConditionKind<'p>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum ConditionKind<'p> {
    Value { path: &'p [String], any_of: &'p [Json] },
    Present { path: &'p [String] },
    Absent { path: &'p [String] },
    Type { types: Vec<&'static str> },
}

#[derive(Debug, Serialize)]
struct AbsorbedRow<'p> {
    variant: &'p str,
    by: String,
}

#[derive(Debug, Serialize)]
struct FixupRow<'p> {
    name: &'static str,
    reason: &'static str,
    link: &'static str,
    pointers: &'p [String],
}

#[derive(Debug, Serialize)]
struct ConservationRow<'p> {
    emitted: BTreeMap<&'static str, usize>,
    aliased: usize,
    absorbed: BTreeMap<&'static str, usize>,
    definitions: Vec<DefinitionRow<'p>>,
}

#[derive(Debug, Serialize)]
struct DefinitionRow<'p> {
    name: &'p str,
    rust: &'p str,
    outcome: &'static str,
    detail: Option<&'static str>,
}

/// Describes a protocol.
///
/// # Errors
/// Returns [`Error::Schema`] if a definition has no type, which is a bug in mcpgen.
pub fn inspect(protocol: &Protocol) -> Result<Inspection<'_>, Error> {
    let outcomes = conservation(protocol)?;
    let requests = protocol.messages().filter_map(|message| {
        let request = message.request?;
        Some(RequestRow {
            message: row(protocol, message),
            result: protocol.describe(&request.result),
            task_result: request.task_result.as_ref().map(|content| protocol.describe(content)),
        })
    });
    let notifications = protocol.messages().filter(|message| message.request.is_none());
    let error_codes = protocol.error_codes.iter().map(|error| ErrorCodeRow {
        name: &error.rust,
        code: error.code,
        r#type: &protocol.types[error.type_id].name,
    });
    // A fixup that does not match matters only where the mistake is known.
    let fixups = protocol.fixups.iter().filter(|it| !it.pointers.is_empty() || it.is_for(&protocol.revision));
    let fixups = fixups.map(|applied| {
        let known = FIXUPS.schemas.iter().find(|fixup| fixup.name == applied.name);
        FixupRow {
            name: applied.name,
            reason: known.map_or("", |fixup| &fixup.reason),
            link: known.map_or("", |fixup| &fixup.link),
            pointers: &applied.pointers,
        }
    });
    Ok(Inspection {
        version: 1,
        title: protocol.title(),
        revision: &protocol.revision,
        era: protocol.era.as_str(),
        sha256: &protocol.sha256,
        definitions: protocol.facts.len(),
        requests: requests.collect(),
        notifications: notifications.map(|message| row(protocol, message)).collect(),
        error_codes: error_codes.collect(),
        types: (0..protocol.types.len()).map(|id| entry(protocol, id)).collect(),
        unions: protocol.types.iter().filter_map(|def| union(protocol, def)).collect(),
        fixups: fixups.collect(),
        conservation: conservation_row(protocol, &outcomes),
    })
}

fn row<'p>(protocol: &'p Protocol, message: Message<'p>) -> NotificationRow<'p> {
    NotificationRow {
        method: message.method,
        r#type: &protocol.types[message.type_id].name,
        senders: message.senders.iter().map(|side| side.as_str()).collect(),
        params: message.params.map(|params| protocol.describe(&params.content)),
        params_required: message.params.is_some_and(|params| params.required),
    }
}

fn entry(protocol: &Protocol, id: TypeId) -> TypeRow<'_> {
    let def = &protocol.types[id];
    TypeRow {
        name: &def.name,
        rust: &def.rust,
        area: protocol.area(id),
        origin: match &def.origin {
            Origin::Definition => "definition",
            Origin::Inline(_) => "inline",
            Origin::Absent => "absent",
        },
        kind: def.shape.kind(),
        summary: summary(protocol, &def.shape),
        schema_pointers: pointers(def),
    }
}

fn pointers(def: &TypeDef) -> Vec<&str> {
    match &def.origin {
        Origin::Definition => vec![&def.pointer],
        Origin::Inline(pointers) => pointers.iter().map(String::as_str).collect(),
        Origin::Absent => Vec::new(),
    }
}

fn summary(protocol: &Protocol, shape: &Shape) -> String {
    let Outline { words, parts, notes } = protocol.outline(shape);
    let parts = parts.into_iter().map(|part| match part {
        Part::Member(member) => {
            let optional = if member.required { "" } else { "?" };
            let content = match &member.content {
                Content::Constant(value) => value.to_string(),
                Content::Value(content) => protocol.describe(content),
            };
            format!("{}{optional}: {content}", member.wire)
        }
        Part::Value(value) => value.to_string(),
        Part::Type(_, content) => protocol.describe(content),
        Part::Others(content) => format!("others: {}", protocol.describe(content)),
    });
    let parts = parts.collect::<Vec<_>>().join(", ");
    let text = if matches!(shape, Shape::Struct(_)) { format!("{{{parts}}}") } else { format!("{words} {parts}") };
    let text = std::iter::once(text.trim().to_owned()).chain(notes);
    text.collect::<Vec<_>>().join("; ")
}

/// Describes how a union is decided. If one variant accepts all that the others accept, the union is an alias of it,
/// and it is always selected.
fn union<'p>(protocol: &'p Protocol, def: &'p TypeDef) -> Option<UnionRow<'p>> {
    let (variants, overlapping, guards, absorbed) = match &def.shape {
        Shape::Union(union) => {
            let variants: Vec<String> =
                union.variants.iter().map(|variant| protocol.describe(&variant.content)).collect();
            let absorbed = union.absorbed.iter().map(|(variant, by)| AbsorbedRow { variant, by: by.clone() }).collect();
            let guards = guards(&union.decision, &variants);
            (variants, union.decision.overlapping, guards, absorbed)
        }
        Shape::Alias(content, AliasRule::Absorbed(others)) => {
            let variant = protocol.describe(content);
            let absorbed = others.iter().map(|other| AbsorbedRow { variant: other, by: variant.clone() }).collect();
            (vec![variant.clone()], true, vec![GuardRow { when: Vec::new(), variant }], absorbed)
        }
        _ => return None,
    };
    Some(UnionRow { name: &def.name, schema_pointers: pointers(def), variants, overlapping, guards, absorbed })
}

fn guards<'p>(decision: &'p Decision, variants: &[String]) -> Vec<GuardRow<'p>> {
    let condition = |condition: &'p decision::Condition| ConditionRow {
        words: condition.to_string(),
        form: match condition {
            decision::Condition::Value(path, any_of) => ConditionKind::Value { path, any_of },
            decision::Condition::Present(path) => ConditionKind::Present { path },
            decision::Condition::Absent(path) => ConditionKind::Absent { path },
            decision::Condition::Type(types) => ConditionKind::Type { types: types.names().collect() },
        },
    };
    let guard = |guard: &'p decision::Guard| GuardRow {
        when: guard.when.iter().map(condition).collect(),
        variant: variants[guard.variant].clone(),
    };
    decision.guards.iter().map(guard).collect()
}

fn conservation_row<'p>(protocol: &'p Protocol, outcomes: &BTreeMap<Outcome, usize>) -> ConservationRow<'p> {
    let count = |outcome: &str| {
        let of_it = outcomes.iter().filter(|(known, _)| known.as_str() == outcome);
        of_it.map(|(known, count)| (known.detail().unwrap_or_default(), *count)).collect::<BTreeMap<_, _>>()
    };
    let definitions = protocol.types.iter().filter(|def| def.origin == Origin::Definition).map(|def| {
        let outcome = Outcome::of(&def.shape);
        DefinitionRow { name: &def.name, rust: &def.rust, outcome: outcome.as_str(), detail: outcome.detail() }
    });
    ConservationRow {
        emitted: count("emitted"),
        aliased: count("aliased").values().sum(),
        absorbed: count("absorbed"),
        definitions: definitions.collect(),
    }
}

impl Inspection<'_> {
    /// Returns the documented JSON, indented.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a report is text, numbers and JSON");
        text.push('\n');
        visible_json(text)
    }

    fn messages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |methods: &mut dyn Iterator<Item = &str>| methods.map(str::len).max().unwrap_or(0);
        heading(f, "Requests", self.requests.len())?;
        let columns = width(&mut self.requests.iter().map(|request| request.message.method));
        for RequestRow { message, result, task_result } in &self.requests {
            let (method, result) = (visible(message.method), visible(result));
            write!(f, "  {:8} {method:columns$}  {message} -> {result}", direction(&message.senders))?;
            match task_result {
                Some(task) => writeln!(f, " or, as a task, {}", visible(task))?,
                None => writeln!(f)?,
            }
        }
        heading(f, "Notifications", self.notifications.len())?;
        let columns = width(&mut self.notifications.iter().map(|notification| notification.method));
        for message in &self.notifications {
            writeln!(f, "  {:8} {:columns$}  {message}", direction(&message.senders), visible(message.method))?;
        }
        heading(f, "Error codes", self.error_codes.len())?;
        self.error_codes
            .iter()
            .try_for_each(|error| writeln!(f, "  {} {} ({})", error.code, error.name, visible(error.r#type)))
    }

    fn types(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        heading(f, "Types", self.types.len())?;
        let mut areas: BTreeMap<&str, Vec<&TypeRow<'_>>> = BTreeMap::new();
        for entry in &self.types {
            areas.entry(entry.area).or_default().push(entry);
        }
        for (area, entries) in areas {
            writeln!(f, "  {area} ({})", entries.len())?;
            for TypeRow { name, rust, origin, kind, summary, .. } in entries {
                let rust = if name == rust { String::new() } else { format!(" as {rust}") };
                let origin = if *origin == "definition" { String::new() } else { format!("{origin} ") };
                writeln!(f, "    {}{rust}: {origin}{kind}: {}", visible(name), visible(summary))?;
            }
        }
        Ok(())
    }

    fn unions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        heading(f, "Unions", self.unions.len())?;
        for union in &self.unions {
            let overlapping = if union.overlapping { " (variants overlap)" } else { "" };
            writeln!(f, "  {}{overlapping}", visible(union.name))?;
            for guard in &union.guards {
                writeln!(f, "    {guard}")?;
            }
            for AbsorbedRow { variant, by } in &union.absorbed {
                writeln!(f, "    {} is absorbed by {}", visible(variant), visible(by))?;
            }
        }
        Ok(())
    }

    fn fixups(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.fixups.is_empty() {
            heading(f, "Fixups", self.fixups.len())?;
        }
        for fixup in &self.fixups {
            writeln!(f, "  {}: {}", fixup.name, fixup.reason)?;
            match fixup.pointers {
                [] => writeln!(f, "    did not match")?,
                pointers => pointers.iter().try_for_each(|pointer| writeln!(f, "    at {}", visible(pointer)))?,
            }
        }
        Ok(())
    }

    fn conservation(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        heading(f, "Definitions", self.definitions)?;
        let ConservationRow { emitted, aliased, absorbed, definitions } = &self.conservation;
        let mut line = |outcome: &str, detail: &str, count: usize| {
            let label = if detail.is_empty() { outcome.to_owned() } else { format!("{outcome} ({detail})") };
            write!(f, "  {label:26} {count:4}")?;
            let of_it =
                definitions.iter().filter(|def| def.outcome == outcome && def.detail.unwrap_or_default() == detail);
            let names: Vec<&str> = of_it.map(|def| def.name).collect();
            writeln!(f, "  {}", visible(&names.join(", ")))
        };
        emitted.iter().try_for_each(|(kind, count)| line("emitted", kind, *count))?;
        line("aliased", "", *aliased)?;
        absorbed.iter().try_for_each(|(rule, count)| line("absorbed", rule, *count))?;
        writeln!(f, "  {:26} {:4}", "total", self.definitions)
    }
}

impl fmt::Display for Inspection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", visible(&self.title))?;
        writeln!(f, "sha256 {}", self.sha256)?;
        let (definitions, types) = (self.definitions as u64, self.types.len() as u64);
        writeln!(f, "{}, {}", counted(definitions, "definitions"), counted(types, "types"))?;
        self.messages(f)?;
        self.types(f)?;
        self.unions(f)?;
        self.fixups(f)?;
        self.conservation(f)
    }
}

impl fmt::Display for NotificationRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.params {
            Some(params) if self.params_required => write!(f, "({})", visible(params)),
            Some(params) => write!(f, "({}?)", visible(params)),
            None => write!(f, "()"),
        }
    }
}

impl fmt::Display for GuardRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when: Vec<&str> = self.when.iter().map(|condition| condition.words.as_str()).collect();
        let when = if when.is_empty() { "otherwise".to_owned() } else { when.join(" and ") };
        write!(f, "{} -> {}", visible(&when), visible(&self.variant))
    }
}

fn heading(f: &mut fmt::Formatter<'_>, title: &str, count: usize) -> fmt::Result {
    writeln!(f, "\n{title} ({count})")
}

fn direction(senders: &[&str]) -> &'static str {
    match senders {
        [] => "embedded",
        ["client"] => "client",
        ["server"] => "server",
        _ => "both",
    }
}
