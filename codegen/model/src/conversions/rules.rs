//! Reads `schema/conversions.toml`: how to convert where the schemas alone do not say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcpgen_schema::Error;
use mcpgen_schema::json::Json;
use serde::Deserialize;

/// Path of the file, relative to the root.
pub const PATH: &str = "schema/conversions.toml";

/// All rules. The generated table lists the member rules in the same order.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Definitions that changed their name.
    pub renamed: Vec<Renamed>,
    /// Members that one of two revisions lacks.
    pub members: Vec<MemberRule>,
    /// Objects written differently in other revisions.
    pub respelled: Vec<Respelled>,
}

/// A definition that a later revision calls something else.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Renamed {
    name: String,
    pub from: String,
    pub to: String,
    reason: String,
    link: String,
}

/// A rule for a member of certain types.
#[derive(Clone, Debug)]
pub struct MemberRule {
    pub name: String,
    pub action: Action,
    members: Vec<String>,
    types: Vec<String>,
}

/// What to do with a member that one of two revisions lacks.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A revision without the member behaves as if it had this value.
    Default {
        /// That value.
        value: Json,
        /// What to do with any other value.
        others: OtherValues,
    },
    /// Set the member to the name of the target revision.
    Revision,
    /// Set the member to a random identifier.
    Unique,
    /// Keep the member, even though the target does not define it.
    Kept,
    /// Fail instead of dropping the member.
    Needed,
    /// Fail if the required constant is missing, because a value without it means something else.
    Given,
    /// Replace a list of one element by that element.
    Unwrapped,
}

/// What to do with a non-default value if the target lacks the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherValues {
    /// Drop it, and report the loss.
    Lost,
    /// Fail the conversion.
    Refused,
    /// Keep it.
    Kept,
}

/// A type that is written in another form for revisions that lack its `member`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Respelled {
    pub name: String,
    #[serde(rename = "type")]
    pub(super) definition: String,
    /// A member that holds a list of objects.
    pub member: String,
    /// For each member of those objects: the member of the other form that lists its values.
    pub columns: BTreeMap<String, String>,
    /// The definition of the other form, in the same revision.
    #[serde(rename = "as")]
    pub(super) other: String,
    reason: String,
    link: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    renamed: Vec<Renamed>,
    #[serde(default)]
    default: Vec<DefaultRow>,
    #[serde(default)]
    kept: Vec<MembersRow>,
    #[serde(default)]
    needed: Vec<MembersRow>,
    #[serde(default)]
    given: Vec<MembersRow>,
    #[serde(default)]
    unwrapped: Vec<UnwrappedRow>,
    #[serde(default)]
    respelled: Vec<Respelled>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DefaultRow {
    name: String,
    member: String,
    types: Vec<String>,
    value: Option<serde_json::Value>,
    fill: Option<Fill>,
    #[serde(default)]
    only: bool,
    #[serde(default)]
    kept: bool,
    reason: String,
    link: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Fill {
    Revision,
    Unique,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MembersRow {
    name: String,
    members: Vec<String>,
    types: Vec<String>,
    reason: String,
    link: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnwrappedRow {
    name: String,
    member: String,
    types: Vec<String>,
    reason: String,
    link: String,
}

impl Rules {
    /// Reads the rules below a root. A missing file means no rules.
    ///
    /// # Errors
    /// Returns [`Error::Io`], or [`Error::Usage`] if the file is malformed.
    pub fn read(root: &Path) -> Result<Rules, Error> {
        let path = root.join(PATH);
        let text = Error::unless_missing(std::fs::read_to_string(&path), &path)?;
        text.map_or_else(|| Ok(Rules::default()), |text| Rules::parse(&text))
    }

    fn parse(text: &str) -> Result<Rules, Error> {
        let file: File = toml::from_str(text).map_err(usage)?;
        file.check()?;
        let mut members = Vec::new();
        for row in file.default {
            let action = row.action()?;
            members.push(MemberRule { name: row.name, action, members: vec![row.member], types: row.types });
        }
        for (rows, action) in [(file.kept, Action::Kept), (file.needed, Action::Needed), (file.given, Action::Given)] {
            members.extend(rows.into_iter().map(|row| MemberRule {
                name: row.name,
                action: action.clone(),
                members: row.members,
                types: row.types,
            }));
        }
        members.extend(file.unwrapped.into_iter().map(|row| MemberRule {
            name: row.name,
            action: Action::Unwrapped,
            members: vec![row.member],
            types: row.types,
        }));
        Ok(Rules { renamed: file.renamed, members, respelled: file.respelled })
    }

    pub(super) fn member(&self, owner: &str, member: &str) -> Option<usize> {
        self.members.iter().position(|rule| {
            rule.members.iter().any(|name| name == member) && rule.types.iter().any(|pattern| matches(pattern, owner))
        })
    }

    /// Returns the value that a conversion adds for a member that the source revision lacks.
    pub fn new_value(&self, owner: &str, member: &str, revision: &str) -> Option<Json> {
        match &self.members.get(self.member(owner, member)?)?.action {
            Action::Default { value, .. } => Some(value.clone()),
            Action::Revision => Some(Json::String(revision.to_owned())),
            _ => None,
        }
    }

    /// Returns whether a member is kept even in revisions that do not define it.
    pub fn keeps(&self, owner: &str, member: &str) -> bool {
        self.member(owner, member).is_some_and(|rule| self.members[rule].action == Action::Kept)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let renamed = self.renamed.iter().map(|rule| rule.name.as_str());
        let members = self.members.iter().map(|rule| rule.name.as_str());
        renamed.chain(members).chain(self.respelled.iter().map(|rule| rule.name.as_str()))
    }
}

impl Renamed {
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl DefaultRow {
    fn action(&self) -> Result<Action, Error> {
        match (&self.value, &self.fill) {
            (Some(value), None) => {
                let value = Json::parse(&value.to_string()).map_err(|error| usage(error.to_string()))?;
                let others = match (self.only, self.kept) {
                    (false, false) => OtherValues::Lost,
                    (true, false) => OtherValues::Refused,
                    (false, true) => OtherValues::Kept,
                    (true, true) => return Err(usage(format!("the rule `{}` has both `only` and `kept`", self.name))),
                };
                Ok(Action::Default { value, others })
            }
            (None, Some(Fill::Revision)) => Ok(Action::Revision),
            (None, Some(Fill::Unique)) => Ok(Action::Unique),
            _ => Err(usage(format!("the rule `{}` needs either `value` or `fill`", self.name))),
        }
    }
}

impl File {
    /// Checks that names are unique, and that each rule has a reason and a link.
    fn check(&self) -> Result<(), Error> {
        let renamed = self.renamed.iter().map(|it| (&it.name, &it.reason, &it.link));
        let default = self.default.iter().map(|it| (&it.name, &it.reason, &it.link));
        let rows = self.kept.iter().chain(&self.needed).chain(&self.given);
        let rows = rows.map(|it| (&it.name, &it.reason, &it.link));
        let unwrapped = self.unwrapped.iter().map(|it| (&it.name, &it.reason, &it.link));
        let respelled = self.respelled.iter().map(|it| (&it.name, &it.reason, &it.link));
        let mut seen = BTreeSet::new();
        for (name, reason, link) in renamed.chain(default).chain(rows).chain(unwrapped).chain(respelled) {
            if !seen.insert(name) {
                return Err(usage(format!("two rules have the name `{name}`")));
            }
            if reason.len() < 40 || !link.starts_with("https://") {
                return Err(usage(format!("the rule `{name}` needs a reason and a link")));
            }
        }
        Ok(())
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_prefix('*').map_or(pattern == name, |suffix| name.ends_with(suffix))
}

pub(super) fn usage(why: impl std::fmt::Display) -> Error {
    Error::Usage(format!("{PATH}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = r#"
        [[default]]
        name = "cache"
        member = "ttlMs"
        types = ["*Result"]
        value = 0
        reason = "Revisions without the member do not let clients cache a result."
        link = "https://example.org"
    "#;

    #[test]
    fn finds_the_rule_of_a_member() {
        let rules = Rules::parse(RULE).expect("a valid file");
        assert_eq!(rules.member("ListToolsResult", "ttlMs"), Some(0));
        assert_eq!(rules.member("Result", "ttlMs"), Some(0));
        assert_eq!(rules.member("Tool", "ttlMs"), None);
        assert_eq!(rules.member("Result", "ttl"), None);
    }

    #[test]
    fn rejects_malformed_rules() {
        for (from, to) in [
            ("value = 0", ""),
            ("value = 0", "value = 0\nfill = \"unique\""),
            ("value = 0", "values = 0"),
            ("https", "http"),
            ("Revisions without the member do not let clients cache a result.", "It is so."),
        ] {
            assert!(Rules::parse(&RULE.replace(from, to)).is_err(), "{to}");
        }
        assert!(Rules::parse(&format!("{RULE}{RULE}")).is_err(), "two rules with the same name");
    }
}
