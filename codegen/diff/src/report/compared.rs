//! Reads two schemas or snapshots, and compares them.

use mcpgen_model::snapshot::Snapshot;
use mcpgen_model::{Contract, JSON_SCHEMA, Mapping, Protocol, Status, model};
use mcpgen_schema::{Document, Error, ReadOptions};

use crate::models::{Axis, Diff, Rule};
use crate::report::source::{Locator, Source};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Subject {
    /// Two schemas of a protocol.
    Schemas,
    /// Two schemas without messages.
    #[strum(serialize = "schemas")]
    Documents,
    /// Two snapshots of a server's lists.
    Lists,
}

/// The two sides of a comparison.
#[derive(Debug)]
pub struct Compared {
    /// The old schema or snapshot.
    pub old: Source,
    /// The new schema or snapshot.
    pub new: Source,
    /// The models of both sides.
    pub models: Models,
}

/// The models of the two compared texts, old before new.
#[derive(Debug)]
pub enum Models {
    /// Two schemas.
    Schemas(Box<[Protocol; 2]>),
    /// Two snapshots of a server's lists.
    Lists([Snapshot; 2]),
}

impl Compared {
    /// Reads both sides. `mapping` lists messages that the schemas do not list, and `vendored` reads a revision by its
    /// name, with our documentation or without it.
    ///
    /// # Errors
    /// [`Error::Usage`] if a name is malformed or unknown, and the errors of [`Source::read`], of `vendored`, of the
    /// schemas and of [`Snapshot::parse_leniently`].
    pub fn read(
        subject: Subject,
        (old, new): (&str, &str),
        mapping: Option<&Mapping>,
        vendored: impl Fn(&str, bool) -> Result<(Source, Protocol), Error>,
    ) -> Result<Compared, Error> {
        if (old, new) == ("-", "-") {
            return Err(Error::Usage("OLD and NEW cannot both be standard input; read one of them from a file".into()));
        }
        match subject {
            Subject::Schemas | Subject::Documents => {
                // Only vendored revisions have our documentation. If only one side had it, the
                // documented deprecations would count as differences.
                let are_documented = is_revision(old)? && is_revision(new)?;
                let read = |name| match is_revision(name)? {
                    true => vendored(name, are_documented),
                    false => draft(Source::read(name)?, mapping),
                };
                let ((old, before), (new, after)) = (read(old)?, read(new)?);
                if let Some(mapping) = mapping {
                    check_mapping(mapping, [&before, &after])?;
                }
                Ok(Compared { old, new, models: Models::Schemas(Box::new([before, after])) })
            }
            Subject::Lists => {
                let (old, new) = (Source::read(old)?, Source::read(new)?);
                let snapshot = |source: &Source| Snapshot::parse_leniently(source.name(), source.text.as_bytes());
                let models = Models::Lists([snapshot(&old)?, snapshot(&new)?]);
                Ok(Compared { old, new, models })
            }
        }
    }

    /// Compares the models of both sides.
    pub fn diff(&self) -> Diff {
        match &self.models {
            Models::Schemas(protocols) => crate::models::diff(&protocols[0], &protocols[1]),
            Models::Lists([old, new]) => crate::lists::diff(old, new),
        }
    }

    /// Returns what is compared.
    pub fn subject(&self) -> Subject {
        match &self.models {
            Models::Schemas(protocols) if protocols.iter().all(|it| it.messages().next().is_none()) => {
                Subject::Documents
            }
            Models::Schemas(_) => Subject::Schemas,
            Models::Lists(_) => Subject::Lists,
        }
    }
}

impl Subject {
    /// Returns the name in reports.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the axes of a comparison of this kind.
    pub fn axes(self) -> &'static [Axis] {
        match self {
            Subject::Schemas => &Axis::SCHEMAS,
            Subject::Documents => &Axis::DOCUMENTS,
            Subject::Lists => &Axis::LISTS_AND_TRUST,
        }
    }

    /// Returns the axes that decide severities by default.
    pub fn default_axes(self) -> &'static [Axis] {
        match self {
            Subject::Schemas => &Axis::WIRE,
            Subject::Documents => &Axis::DOCUMENTS[..2],
            Subject::Lists => &Axis::LISTS,
        }
    }

    /// Returns the rules of a comparison of this kind. Rules for schemas also apply to the schemas of tools.
    pub fn rules(self) -> Vec<Rule> {
        let of_lists = |is: bool| Rule::ALL.iter().copied().filter(move |rule| rule.is_of_lists() == is);
        match self {
            Subject::Schemas | Subject::Documents => of_lists(false).collect(),
            Subject::Lists => of_lists(true).chain(of_lists(false)).collect(),
        }
    }

    /// Returns the heading for the verdicts on types or items.
    pub(super) fn items(self) -> &'static str {
        match self {
            Subject::Schemas | Subject::Documents => "Types",
            Subject::Lists => "Items",
        }
    }

    /// Returns the title of a report.
    pub(super) fn title(self) -> &'static str {
        match self {
            Subject::Schemas | Subject::Documents => "Schema diff",
            Subject::Lists => "Tool list diff",
        }
    }
}

fn is_revision(name: &str) -> Result<bool, Error> {
    Ok(matches!(Locator::of(name)?, Locator::Revision(_)))
}

/// Checks that each message of a mapping is defined in at least one of the schemas.
fn check_mapping(mapping: &Mapping, protocols: [&Protocol; 2]) -> Result<(), Error> {
    let is_defined = |name: &str| protocols.iter().any(|it| it.contract != JSON_SCHEMA || it.find(name).is_some());
    match mapping.definitions().find(|name| !is_defined(name)) {
        None => Ok(()),
        Some(name) => Err(Error::Usage(format!("{}: neither schema has the definition `{name}`", mapping.file))),
    }
}

/// Reads the model of a schema that is not vendored. It is treated as a draft: fixups that do not match are not errors.
/// A mapping may list messages that only one of the schemas has.
fn draft(source: Source, mapping: Option<&Mapping>) -> Result<(Source, Protocol), Error> {
    let folder = match Locator::of(&source.label)? {
        Locator::File(path) => path.parent().map(ToOwned::to_owned),
        _ => None,
    };
    let options = ReadOptions { folder, ..ReadOptions::default() };
    let mut document = Document::parse_with(source.name(), source.text.as_bytes(), &options)?;
    // By default, the root type is named after the file. The names of the two files may differ.
    document.set_root_name("Root");
    let mapping = mapping.map(|mapping| mapping.of_definitions(&document));
    let contract = Contract { mapping, ..Contract::from(document) };
    let protocol = model(contract, Status::Draft.as_str(), false)?;
    // This digest includes the files that references lead to.
    Ok((Source { sha256: protocol.sha256.clone(), ..source }, protocol))
}
