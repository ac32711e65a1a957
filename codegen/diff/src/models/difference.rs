//! Differences between two values, and their locations.

use mcpgen_model::text::names;
use mcpgen_model::{Check, JsonTypes, Member, MemberChecks, MessageKind, Origin, Protocol, Type, TypeDef, TypeId};
use mcpgen_schema::json::Json;
use mcpgen_schema::json::pointer::escape;

use crate::models::evidence::{Aim, Judged};
use crate::models::finding::Place;
use crate::models::rules::{self, Rule};

/// A difference whose senders are not known yet.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    pub(super) rule: &'static Rule,
    pub(super) subject: String,
    pub(super) detail: String,
    pub(super) message: String,
    pub(super) old: Option<Place>,
    pub(super) new: Option<Place>,
    /// The values that differ. `None` if messages or definitions differ.
    pub(super) values: Option<(Type, Type)>,
    /// What a witness should show.
    pub(super) aim: Option<Aim>,
    /// Whether it is only compatible because nobody sends members that an open object says nothing about.
    pub(super) is_convention: bool,
    /// The verdicts from old to new and from new to old, if they are known.
    pub(super) known: Option<Box<[Judged; 2]>>,
}

/// The location of a comparison.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// The subject, in names of the schema.
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
    pub(super) silent: Vec<&'static Rule>,
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
            (false, true) => self.add(site, &rules::DEPRECATED, "", format!("{} is deprecated", site.subject)),
            (true, false) => {
                self.add(site, &rules::UNDEPRECATED, "", format!("{} is no longer deprecated", site.subject))
            }
            _ => {}
        }
        if let (Some(before), Some(after)) = descriptions
            && before != after
        {
            self.add(site, &rules::DOCUMENTATION_CHANGED, "", format!("the description of {} changed", site.subject));
        }
    }

    pub(super) fn add(&mut self, site: &Site, rule: &'static Rule, detail: &str, message: String) {
        self.differences.push(site.difference(rule, detail, message));
    }

    /// Adds a difference with what its witness should show.
    pub(super) fn aimed(&mut self, site: &Site, rule: &'static Rule, detail: &str, message: String, aim: Aim) {
        self.differences.push(Difference { aim: Some(aim), ..site.difference(rule, detail, message) });
    }
}

impl Site {
    pub(super) fn nowhere() -> Site {
        Site { subject: String::new(), old: None, new: None, message: None, values: None, member: None }
    }

    pub(super) fn difference(&self, rule: &'static Rule, detail: &str, message: String) -> Difference {
        let Site { subject, old, new, values, .. } = self.clone();
        let (detail, aim, is_convention, known) = (detail.to_owned(), None, false, None);
        Difference { rule, subject, detail, message, old, new, values, aim, is_convention, known }
    }

    /// Returns an aim at a value.
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
        let subject = format!("{}{name}", self.subject);
        Site {
            subject,
            old: inside(&self.old),
            new: inside(&self.new),
            message: None,
            values: self.values.clone(),
            member: self.member.clone(),
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
            message: self.message,
            values: self.values.clone(),
            member: Some(member.wire.clone()),
        }
    }
}
