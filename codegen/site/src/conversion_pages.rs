//! What a conversion from one revision to another does with each method and each type.

use std::collections::BTreeMap;

use mcpgen_diff::html::{Page, escape};
use mcpgen_model::conversions::{Action, Conversions, Node, ObjectNode, OtherValues, Others, Rules};
use mcpgen_model::{Json, Protocol};

use crate::frame::{code, link, section, table};
use crate::links::{pair, type_page};

pub(crate) struct ConversionPages<'c> {
    pub(crate) models: &'c [Protocol],
    pub(crate) conversions: &'c Conversions,
    pub(crate) rules: &'c Rules,
}

/// What a conversion does with the values of a type.
enum Outcome {
    /// It copies them.
    Same,
    /// It changes them, as these sentences in HTML explain.
    Differs(Vec<String>),
    /// The target has no such type.
    Missing,
}

impl ConversionPages<'_> {
    /// Writes the matrix of all conversions.
    pub(crate) fn index(&self) -> Page {
        let mut columns = vec!["From"];
        columns.extend(self.models.iter().map(|protocol| protocol.revision.as_str()));
        let rows = self.models.iter().enumerate().map(|(from, old)| {
            let cells = self.models.iter().enumerate().map(|(to, new)| {
                if from == to {
                    return String::new();
                }
                let all = self.outcomes(from, to);
                let differ = all.values().filter(|it| matches!(it, Outcome::Differs(_))).count();
                let missing = all.values().filter(|it| matches!(it, Outcome::Missing)).count();
                let words = format!("{differ} types differ, {missing} missing");
                link(&format!("../{}", pair("conversions", &old.revision, &new.revision)), &words)
            });
            std::iter::once(escape(&old.revision)).chain(cells).collect()
        });
        let main = format!(
            "<p>Handlers see the types of one revision; peers speak another. The conversions between them are derived from the \
             schemas, and from the rules in <code>schema/conversions.toml</code> where the schemas do not say. Each cell \
             links to the conversion from the revision of its row to that of its column.</p>\n{}",
            table("Conversions", &columns, rows)
        );
        let header = "<h1>Conversions between revisions</h1>\n".to_owned();
        Page { title: "Conversions".into(), header, navigation: Vec::new(), main, script: "" }
    }

    /// Writes the page about a conversion.
    pub(crate) fn page(&self, from: usize, to: usize) -> Page {
        let (old, new) = (&self.models[from].revision, &self.models[to].revision);
        let outcomes = self.outcomes(from, to);
        let types = outcomes.iter().filter_map(|(name, outcome)| {
            let Outcome::Differs(sentences) = outcome else { return None };
            let items: Vec<String> = sentences.iter().map(|sentence| format!("<li>{sentence}</li>")).collect();
            Some(vec![type_link(name), format!("<ul>{}</ul>", items.concat())])
        });
        let list = |wanted: &dyn Fn(&Outcome) -> bool| {
            let names: Vec<String> =
                outcomes.iter().filter(|(_, outcome)| wanted(outcome)).map(|(name, _)| type_link(name)).collect();
            if names.is_empty() { "<p>No types.</p>\n".to_owned() } else { format!("<p>{}</p>\n", names.join(", ")) }
        };
        let back = link(&format!("../{}", pair("conversions", new, old)), "the other direction");
        let sections = [
            ("methods", "Methods", self.methods(from, to)),
            ("types", "Types that differ", table("Types that differ", &["Type", "What happens"], types)),
            ("same", "Types that are copied", list(&|it| matches!(it, Outcome::Same))),
            ("missing", "Types that the target lacks", list(&|it| matches!(it, Outcome::Missing))),
        ];
        Page {
            title: format!("{old} to {new}"),
            header: format!(
                "<h1>Conversion from {} to {}</h1>\n<p class=\"quiet\">By default, optional members that the target does \
                 not define are left out and listed as lost. See also {back}.</p>\n",
                escape(old),
                escape(new)
            ),
            navigation: sections.iter().map(|(id, title, _)| ((*id).to_owned(), (*title).to_owned())).collect(),
            main: sections.iter().map(|(id, title, body)| section(id, title, body)).collect(),
            script: "",
        }
    }

    fn methods(&self, from: usize, to: usize) -> String {
        let part = |old: usize, new: usize| if old == new { "copied" } else { "converted" }.to_owned();
        let rows = self.conversions.methods.iter().filter_map(|(name, row)| {
            let (params, result) = row[from]?;
            let (request, outcome) = (self.models[from].messages().find(|it| it.method == name), row[to]);
            let is_request = request.is_some_and(|message| message.request.is_some());
            Some(match outcome {
                None => vec![code(name), "the target has no such method".to_owned(), String::new()],
                Some((new_params, new_result)) => {
                    let result = if is_request { part(result, new_result) } else { String::new() };
                    vec![code(name), part(params, new_params), result]
                }
            })
        });
        table("Methods", &["Method", "Params", "Result"], rows)
    }

    fn outcomes(&self, from: usize, to: usize) -> BTreeMap<&str, Outcome> {
        let outcome = |(name, row): (&'_ String, &Vec<Option<usize>>)| {
            let old = row[from]?;
            let new =
                row[to].or_else(|| self.renamed(name).and_then(|name| self.conversions.definitions.get(name)?[to]));
            Some(match new {
                None => Outcome::Missing,
                Some(new) if new == old => Outcome::Same,
                Some(new) => Outcome::Differs(self.differences(old, new)),
            })
        };
        let all = self.conversions.definitions.iter();
        all.filter_map(|(name, row)| Some((name.as_str(), outcome((name, row))?))).collect()
    }

    /// Returns the other name of a definition that was renamed.
    fn renamed(&self, name: &str) -> Option<&str> {
        let rules = self.rules.renamed.iter();
        rules
            .filter_map(|rule| match name {
                _ if name == rule.from => Some(rule.to.as_str()),
                _ if name == rule.to => Some(rule.from.as_str()),
                _ => None,
            })
            .next()
    }

    fn differences(&self, old: usize, new: usize) -> Vec<String> {
        let classes = &self.conversions.classes;
        let found = match (&classes[old], &classes[new]) {
            (Node::Object(old), Node::Object(new)) => self.members(old, new),
            (Node::Values(old), Node::Values(new)) => values(old, new),
            (Node::Union(_, old), Node::Union(_, new)) => {
                let kept = old.iter().filter(|variant| new.contains(variant)).count();
                vec![format!("{kept} of {} variants are copied; the others are converted or refused", old.len())]
            }
            (_, Node::Union(..)) => vec!["the value becomes the variant that accepts it, or is refused".to_owned()],
            (Node::Union(..), _) => vec!["the variant is converted, if the target accepts it".to_owned()],
            (old, new) => vec![format!("the value is checked: {}, was {}", kind(new), kind(old))],
        };
        if found.is_empty() { vec!["only the types of members differ".to_owned()] } else { found }
    }

    fn members(&self, old: &ObjectNode, new: &ObjectNode) -> Vec<String> {
        let mut sentences = Vec::new();
        for member in &old.members {
            let name = code(&member.name);
            let Some(target) = new.members.iter().find(|it| it.name == member.name) else {
                let rule = member.rule.map(|rule| &self.rules.members[rule].action);
                sentences.push(format!("{name} {}", left_out(rule, new.others)));
                continue;
            };
            if target.content != member.content {
                let unwrapped = member.rule.is_some_and(|it| self.rules.members[it].action == Action::Unwrapped);
                let how = if unwrapped { "a list with one element becomes the element" } else { "is converted" };
                sentences.push(format!("{name} {how}"));
            }
            if target.required && !member.required {
                sentences.push(format!("{name} becomes required: {}", self.added(target.rule, target.content)));
            }
        }
        for member in &new.members {
            if member.required && old.members.iter().all(|it| it.name != member.name) {
                sentences.push(format!("{} is new: {}", code(&member.name), self.added(member.rule, member.content)));
            }
        }
        if old.respelled != new.respelled {
            sentences.push("the object may be written in its other form".to_owned());
        }
        sentences
    }

    /// Describes the value that a conversion gives to a member that the target requires.
    fn added(&self, rule: Option<usize>, content: usize) -> String {
        match (rule.map(|rule| &self.rules.members[rule].action), &self.conversions.classes[content]) {
            (Some(Action::Default { value, .. }), _) => format!("it is set to {}", code(&value.to_string())),
            (Some(Action::Revision), _) => "it is set to the name of the target revision".to_owned(),
            (Some(Action::Unique), _) => "it is set to a random identifier".to_owned(),
            (Some(Action::Given), _) => "without it, the conversion fails".to_owned(),
            (_, Node::Values(values)) if values.len() == 1 => format!("it is set to {}", code(&values[0].to_string())),
            _ => "without it, the conversion fails".to_owned(),
        }
    }
}

fn left_out(rule: Option<&Action>, others: Others) -> String {
    let is_open = others == Others::Open;
    match rule {
        Some(Action::Default { value, others }) => {
            let value = code(&value.to_string());
            match others {
                OtherValues::Refused => format!("is left out if it is {value}; any other value is refused"),
                OtherValues::Kept if is_open => format!("is left out if it is {value}; any other value stays"),
                OtherValues::Kept | OtherValues::Lost => {
                    format!("is left out if it is {value}; any other value is lost")
                }
            }
        }
        Some(Action::Needed) => "has no counterpart: the conversion fails".to_owned(),
        Some(Action::Kept) if is_open => "stays".to_owned(),
        _ => "is left out, and listed as lost".to_owned(),
    }
}

fn values(old: &[Json], new: &[Json]) -> Vec<String> {
    let refused: Vec<String> =
        old.iter().filter(|value| !new.contains(value)).map(|value| code(&value.to_string())).collect();
    match refused.is_empty() {
        true => vec!["all values are copied; the target has more".to_owned()],
        false => vec![format!("refused: {}", refused.join(", "))],
    }
}

fn kind(node: &Node) -> &'static str {
    match node {
        Node::Any => "any JSON",
        Node::Never => "nothing",
        Node::Boolean => "a boolean",
        Node::String(_) => "a string",
        Node::Integer { .. } => "an integer",
        Node::Number(_) => "a number",
        Node::Values(_) => "one of certain values",
        Node::List(..) => "an array",
        Node::Tuple(..) => "an array of certain types",
        Node::Object(_) => "an object",
        Node::Union(..) => "one of several types",
    }
}

fn type_link(name: &str) -> String {
    link(&format!("../{}", type_page(name)), &code(name))
}
