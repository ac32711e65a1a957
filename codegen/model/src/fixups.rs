//! Fixups: corrections of mistakes in official schemas. Together with `inline`, this is the only place for exceptions.

use std::sync::LazyLock;

use mcpgen_schema::json::Json;
use mcpgen_schema::text::sha256;
use mcpgen_schema::{Document, Error, Problem};
use serde::Deserialize;

/// The contents of `fixups.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixups {
    /// Corrections of schemas.
    #[serde(rename = "fixup")]
    pub schemas: Vec<Fixup>,
    /// Corrections of capabilities.
    #[serde(rename = "capability")]
    pub capabilities: Vec<CapabilityFixup>,
}

/// Corrects a schema before it is interpreted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixup {
    /// A stable name for messages.
    pub name: String,
    /// Revisions and extensions known to have the mistake. In other schemas, such as a new revision's, the fixup
    /// applies if it matches.
    pub revisions: Vec<String>,
    /// The definition, or `*` for every definition with the expected value at the pointer.
    pub definition: String,
    /// A JSON pointer inside the definition.
    pub pointer: String,
    /// The JSON text to replace. For a long value, `sha256:` and the digest of its compact text.
    pub expects: String,
    /// The JSON text to replace it with. References to `$defs` are adapted to the document's dialect.
    pub becomes: String,
    /// Why this is a mistake.
    pub reason: String,
    /// Link to the evidence.
    pub link: String,
}

/// States the capability that a method needs, where the names in the schema do not say.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapabilityFixup {
    /// A stable name for messages.
    pub name: String,
    /// The method. Revisions without it are unaffected.
    pub method: String,
    /// The path of the capability.
    pub capability: Vec<String>,
    /// Why the capability cannot be derived.
    pub reason: String,
    /// Link to the evidence.
    pub link: String,
}

/// All corrections.
pub static FIXUPS: LazyLock<Fixups> =
    LazyLock::new(|| toml::from_str(include_str!("../fixups.toml")).expect("a test reads the file"));

/// What a fixup did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The name of the fixup.
    pub name: &'static str,
    /// Where it changed the schema. Empty if it did not match.
    pub pointers: Vec<String>,
}

impl Applied {
    /// Returns whether this revision or extension is known to have the mistake.
    pub fn is_for(&self, name: &str) -> bool {
        FIXUPS.schemas.iter().any(|fixup| fixup.name == self.name && fixup.is_for(name))
    }
}

/// Applies all fixups that match.
///
/// # Errors
/// Returns [`Error::Schema`] if a fixup for a released revision does not find the value it expects.
pub fn apply(document: &mut Document, revision: &str, released: bool) -> Result<Vec<Applied>, Error> {
    let mut applied = Vec::new();
    let mut problems = Vec::new();
    for fixup in &FIXUPS.schemas {
        let pointers = fixup.apply(document);
        if pointers.is_empty() && released {
            if !fixup.is_for(revision) {
                continue;
            }
            let pointer = match fixup.definition.as_str() {
                "*" => String::new(),
                name => format!("{}{}", document.pointer(name), fixup.pointer),
            };
            let why =
                format!("the fixup `{}` for {revision} does not find {} at this place", fixup.name, fixup.expects);
            let remedy = format!(
                "check that this is the schema of {revision}; if upstream corrected it, remove the revision from the fixup"
            );
            let definition = fixup.definition.replace('*', "");
            problems.push(Problem { definition, ..Problem::new(&document.file, pointer, why, remedy) });
        }
        applied.push(Applied { name: &fixup.name, pointers });
    }
    if problems.is_empty() { Ok(applied) } else { Err(Error::Schema(problems)) }
}

impl Fixup {
    fn is_for(&self, name: &str) -> bool {
        self.revisions.iter().any(|known| known == name)
    }

    fn apply(&self, document: &mut Document) -> Vec<String> {
        let container = document.container();
        let parse = |text: &str| Json::parse(text).expect("fixups hold JSON; a test reads them all");
        let is_expected = |found: Json| match self.expects.strip_prefix("sha256:") {
            Some(digest) => sha256(found.to_string()) == digest,
            None => found == parse(&self.expects),
        };
        let becomes = parse(&self.becomes.replace("#/$defs/", &format!("#/{container}/")));
        if becomes
            .get("$ref")
            .and_then(Json::as_str)
            .is_some_and(|target| document.root.pointer(&target[1..]).is_none())
        {
            return Vec::new();
        }
        let names: Vec<String> = match self.definition.as_str() {
            "*" => document.definitions().keys().cloned().collect(),
            name => vec![name.to_owned()],
        };
        let mut changed = Vec::new();
        for name in names {
            let pointer = format!("{}{}", document.pointer(&name), self.pointer);
            if let Some(place) = document.root.pointer_mut(&pointer)
                && is_expected(without_prose(place))
            {
                *place = keeping_prose(place, becomes.clone());
                changed.push(pointer);
            }
        }
        changed
    }
}

/// Removes descriptions. Official files have them, but vendored ones do not.
fn without_prose(json: &Json) -> Json {
    match json {
        Json::Object(members) => Json::Object(
            members.iter().filter(|(key, _)| *key != "description").map(|(k, v)| (k.clone(), v.clone())).collect(),
        ),
        other => other.clone(),
    }
}

fn keeping_prose(old: &Json, new: Json) -> Json {
    match (old.get("description"), new) {
        (Some(description), Json::Object(mut members)) => {
            members.insert("description".into(), description.clone());
            Json::Object(members)
        }
        (_, new) => new,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn fixups_are_valid() {
        let Fixups { schemas, capabilities } = &*FIXUPS;
        for fixup in schemas {
            for text in [&fixup.expects, &fixup.becomes].into_iter().filter(|text| !text.starts_with("sha256:")) {
                Json::parse(text).unwrap_or_else(|error| panic!("{}: {text}: {error}", fixup.name));
            }
        }
        let schemas = schemas.iter().map(|it| (&it.name, &it.reason, &it.link));
        let mut names = BTreeSet::new();
        for (name, reason, link) in schemas.chain(capabilities.iter().map(|it| (&it.name, &it.reason, &it.link))) {
            assert!(reason.len() > 40 && link.starts_with("https://"), "{name}");
            assert!(names.insert(name), "two fixups have the name {name}");
        }
    }
}
