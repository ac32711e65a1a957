//! Differences between two values, and their locations.

use mcpgen_model::text::names;
use mcpgen_model::{Check, JsonTypes, Member, MemberChecks, MessageKind, Origin, Protocol, Type, TypeDef, TypeId};
use mcpgen_schema::json::Json;
use mcpgen_schema::json::pointer::escape;

use crate::models::evidence::{Aim, Answer, Version};
use crate::models::finding::Place;
use crate::models::rules::Rule;

/// A difference whose senders are not known yet.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    pub(super) rule: Rule,
    pub(super) subject: String,
    pub(super) detail: String,
    pub(super) message: String,
    pub(super) old: Option<Place>,
    pub(super) new: Option<Place>,
    /// The types of the values that differ. `None` if messages or definitions differ.
    pub(super) values: Option<(Type, Type)>,
    /// The documents among which a witness is sought.
    pub(super) aim: Option<Aim>,
    /// The reader for which the difference is compatible only by convention: nobody sends members that an open object
    /// says nothing about.
    pub(super) by_convention: Option<Version>,
    /// The verdicts from old to new and from new to old, if they are already known.
    pub(super) known: Option<Box<[Answer; 2]>>,
}

/// The location of a comparison.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    /// What is compared, by its name in the schema, such as `CallToolResult.content`.
    pub(super) subject: String,
    pub(super) old: Option<Place>,
    pub(super) new: Option<Place>,
    /// The kind of message, if the value is a whole message. Schemas may omit its envelope.
    pub(super) message: Option<MessageKind>,
    /// The compared values, or the objects around them.
    pub(super) values: Option<(Type, Type)>,
    /// The member of these objects that is compared.
    pub(super) member: Option<String>,
}

/// The result of comparing two values, without the named types in them.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub(super) differences: Vec<Difference>,
    /// The rules of differences that another rule already reports. They still affect the verdicts.
    pub(super) silent: Vec<Rule>,
    /// Pairs of named types to compare.
    pub(super) children: Vec<(TypeId, TypeId, Site)>,
}

/// Returns the place of a type.
pub(super) fn place(protocol: &Protocol, id: TypeId) -> Place {
    let TypeDef { pointer, rust, .. } = &protocol.types[id];
    Place { pointer: pointer.clone(), rust: Some(rust.clone()) }
}

/// Returns the name of the definition that a type expression refers to.
pub(super) fn definition<'p>(protocol: &'p Protocol, content: &Type) -> Option<&'p str> {
    match content {
        Type::Named(id) if protocol.types[*id].origin == Origin::Definition => Some(&protocol.types[*id].name),
        _ => None,
    }
}

impl Outcome {
    /// Compares the annotations of a type or a member.
    pub(super) fn remarks(
        &mut self,
        site: &Site,
        deprecated: (bool, bool),
        descriptions: (Option<&String>, Option<&String>),
    ) {
        match deprecated {
            (false, true) => drop(self.add(site, Rule::Deprecated, "is deprecated")),
            (true, false) => drop(self.add(site, Rule::Undeprecated, "is no longer deprecated")),
            _ => {}
        }
        if let (Some(before), Some(after)) = descriptions
            && before != after
        {
            self.say(site, Rule::DocumentationChanged, format!("the description of {} changed", site.subject));
        }
    }

    /// Compares the Rust names of items that have the same name in both schemas. `part` names an enum value of the
    /// item, or is empty.
    pub(super) fn rust_name(&mut self, site: &Site, part: &str, old: &str, new: &str) {
        if old != new {
            let of = if part.is_empty() { String::new() } else { format!("{part} of ") };
            let message = format!("{of}{} is `{new}` in Rust instead of `{old}`", site.subject);
            self.say(site, Rule::RustNameChanged, message).detail = part.to_owned();
        }
    }

    /// Adds a difference. The words follow the subject in the message.
    pub(super) fn add(&mut self, site: &Site, rule: Rule, words: &str) -> &mut Difference {
        self.say(site, rule, format!("{} {words}", site.subject))
    }

    /// Adds a difference with a message.
    pub(super) fn say(&mut self, site: &Site, rule: Rule, message: String) -> &mut Difference {
        self.differences.push(site.difference(rule, message));
        let last = self.differences.len() - 1;
        &mut self.differences[last]
    }
}

impl Site {
    pub(super) fn of(subject: &str, [old, new]: [Option<Place>; 2]) -> Site {
        Site { subject: subject.to_owned(), old, new, ..Site::default() }
    }

    pub(super) fn difference(&self, rule: Rule, message: String) -> Difference {
        let Site { subject, old, new, values, .. } = self.clone();
        let (detail, aim, by_convention, known) = (String::new(), None, None, None);
        Difference { rule, subject, detail, message, old, new, values, aim, by_convention, known }
    }

    /// Returns the aim for documents that have this value here.
    pub(super) fn aim(&self, value: &Json) -> Aim {
        let value = Check::Values(vec![value.clone()]);
        Aim::Accepted(match &self.member {
            None => value,
            Some(name) => Check::All(vec![
                Check::Type(JsonTypes::OBJECT),
                Check::Required(vec![name.clone()]),
                Check::Members(Box::new(MemberChecks {
                    named: vec![(name.clone(), value)],
                    ..MemberChecks::default()
                })),
            ]),
        })
    }

    /// Returns the site of a nested value that has no name in Rust.
    pub(super) fn below(&self, name: &str, pointer: &str) -> Site {
        let inside = |place: &Option<Place>| {
            place.as_ref().map(|it| Place { pointer: format!("{}{pointer}", it.pointer), rust: it.rust.clone() })
        };
        Site {
            subject: format!("{}{name}", self.subject),
            old: inside(&self.old),
            new: inside(&self.new),
            message: None,
            ..self.clone()
        }
    }

    pub(super) fn member(&self, member: &Member, old: Option<&Member>, new: Option<&Member>) -> Site {
        let inside = |place: &Option<Place>, there: Option<&Member>| {
            let place = place.as_ref()?;
            Some(match there {
                None => place.clone(),
                Some(there) => Place {
                    pointer: format!("{}/properties/{}", place.pointer, escape(&there.wire)),
                    rust: place.rust.as_ref().map(|it| format!("{it}::{}", names::escape(&there.rust))),
                },
            })
        };
        Site {
            subject: format!("{}.{}", self.subject, member.wire),
            old: inside(&self.old, old),
            new: inside(&self.new, new),
            member: Some(member.wire.clone()),
            ..self.clone()
        }
    }
}
