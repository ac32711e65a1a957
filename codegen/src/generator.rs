//! Generates a Rust module from a schema, and writes or compares it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcpgen_model::conservation::conservation;
use mcpgen_model::{Contract, Mapping, MessageSet, Protocol, Revision, check_name, extend, model};
use mcpgen_schema::text::visible;
use mcpgen_schema::{Document, Error, ReadOptions};

use crate::build_script::{include_in_build, instruction};
use crate::emit::{Options, emit};
use crate::write::{Changes, sync};

/// The default Rust path of `mcpgen-types` in generated code.
pub const SUPPORT: &str = "::mcpgen_types";

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Generated {
    /// A summary per revision, then per extension, in the order of the workspace.
    pub revisions: Vec<Summary>,
    /// Files created, changed or removed.
    pub changes: Changes,
}

/// What was generated for one revision or extension.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The name of the revision or extension.
    pub revision: String,
    /// The kind of contract, such as `JSON Schema` or `OpenRPC`.
    pub contract: &'static str,
    /// The number of types.
    pub types: usize,
    /// The number of types that come from the extended revision.
    pub shared: usize,
    /// The number of methods, not counting requests that are embedded in results.
    pub methods: usize,
    /// The number of files.
    pub files: usize,
    /// The number of files that were created, changed or removed.
    pub changed: usize,
    /// Fixups that did not match.
    pub idle_fixups: Vec<&'static str>,
    /// Unions of messages whose usual name the schema already uses, each with the name it has instead.
    pub renamed_unions: Vec<(&'static str, String)>,
    /// Messages that nobody sends, because no union or other type refers to them.
    pub unsent_messages: Vec<String>,
    /// Definitions named like results that belong to no request. Not filled in for vendored schemas.
    pub unused_results: Vec<String>,
}

impl Summary {
    /// Returns what may be wrong with the schema, and how to fix it.
    pub fn warnings(&self) -> Vec<String> {
        let revision = &self.revision;
        let fixups = (!self.idle_fixups.is_empty())
            .then(|| format!("{revision}: fixups that did not match: {}", self.idle_fixups.join(", ")));
        let unsent = self.unsent_messages.iter().map(|name| {
            let unions = if name.ends_with("Notification") {
                "ClientNotification or ServerNotification"
            } else {
                "ClientRequest or ServerRequest"
            };
            let name = visible(name);
            format!("{revision}: nobody sends {name}; add a reference to it to `anyOf` of {unions}")
        });
        let unused = self.unused_results.iter().map(|name| {
            let (name, request) = (visible(name), visible(name.strip_suffix("Result").unwrap_or(name)));
            format!(
                "{revision}: no request has the result {name}; name its request {request}Request, or map the request with \
                 `result` in a mapping file"
            )
        });
        fixups.into_iter().chain(unsent).chain(unused).collect()
    }
}

/// Generates a module from a schema.
///
/// The schema counts as a draft, whatever its name: corrections of known defects (fixups) need not match.
#[derive(Clone, Debug)]
pub struct Generator {
    schema: PathBuf,
    revision: String,
    support: String,
    options: ReadOptions,
    mapping: Option<Mapping>,
    base: Option<Base>,
}

#[derive(Clone, Debug)]
struct Base {
    schema: PathBuf,
    revision: String,
}

impl Generator {
    /// Creates a generator for a schema file. Generated code calls the revision `revision`.
    pub fn new(schema: impl Into<PathBuf>, revision: impl Into<String>) -> Generator {
        Generator {
            schema: schema.into(),
            revision: revision.into(),
            support: SUPPORT.to_owned(),
            options: ReadOptions::default(),
            mapping: None,
            base: None,
        }
    }

    /// Generates only what the schema adds to, or changes in, a revision of `mcpgen-types`. `schema` is the official
    /// schema of that revision, with or without prose, and `revision` its name, such as `2026-07-28`.
    ///
    /// Unchanged definitions become re-exports of the revision's types. A definition is unchanged if the revision has
    /// one with the same name that accepts the same documents in the same way, everything it refers to is unchanged
    /// and, for a request, so is its result. Prose does not count. The crate needs the feature of `mcpgen-types` for
    /// the revision, such as `v2026_07_28`.
    ///
    /// All messages, new ones included, have the revision as their `VERSION`, so that routers serve them on connections
    /// of that revision.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), mcpgen::Error> {
    /// mcpgen::Generator::new("schema.json", "my-revision")
    ///     .extending("2026-07-28.json", "2026-07-28")
    ///     .build_script("protocol")?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn extending(self, schema: impl Into<PathBuf>, revision: impl Into<String>) -> Generator {
        Generator { base: Some(Base { schema: schema.into(), revision: revision.into() }), ..self }
    }

    /// Sets the Rust path of `mcpgen-types` in generated code. Defaults to `::mcpgen_types`.
    #[must_use]
    pub fn support(self, path: impl Into<String>) -> Generator {
        Generator { support: path.into(), ..self }
    }

    /// Sets how to read the schema, for example its dialect or the name of its root type.
    #[must_use]
    pub fn read_options(self, options: ReadOptions) -> Generator {
        Generator { options, ..self }
    }

    /// Adds messages that the schema does not list.
    #[must_use]
    pub fn mapping(self, mapping: Mapping) -> Generator {
        Generator { mapping: Some(mapping), ..self }
    }

    /// Writes the module to the folder `out`: `mod.rs` and a file per area. Removes outdated files of an earlier run.
    ///
    /// # Errors
    /// Returns the problems of the schema, [`Error::Io`], or [`Error::Usage`] if a name is invalid or a file in the way
    /// was not written by mcpgen.
    pub fn write_to(&self, out: impl AsRef<Path>) -> Result<Generated, Error> {
        Ok(self.sync(out.as_ref(), false)?.0)
    }

    /// Writes the module below `OUT_DIR`. Use this in a build script, and include the result with
    /// `include!(concat!(env!("OUT_DIR"), "/NAME.include.rs"));`. Cargo runs the script again when an input changes.
    ///
    /// # Errors
    /// Fails like [`Generator::write_to`], and with [`Error::Usage`] outside a build script.
    pub fn build_script(&self, name: &str) -> Result<Generated, Error> {
        let mapping = self.mapping.iter().map(|mapping| mapping.file.clone());
        let base = self.base.iter().map(|base| base.schema.display().to_string());
        let inputs = [self.schema.display().to_string()].into_iter().chain(mapping).chain(base);
        let generated = include_in_build(name, |out| {
            let (generated, files) = self.sync(&out, false)?;
            let files = files.iter().map(|file| file.display().to_string());
            Ok((generated, inputs.chain(files).collect()))
        })?;
        #[expect(clippy::print_stdout, reason = "cargo reads instructions from the output of a build script")]
        for warning in generated.revisions.iter().flat_map(Summary::warnings) {
            println!("{}", instruction("warning", &warning));
        }
        Ok(generated)
    }

    /// Returns the changes that [`Generator::write_to`] would make, without making them.
    ///
    /// # Errors
    /// Fails like [`Generator::write_to`].
    pub fn compare_with(&self, out: impl AsRef<Path>) -> Result<Generated, Error> {
        Ok(self.sync(out.as_ref(), true)?.0)
    }

    /// Writes the module, or with `check` only compares it. Also returns the referenced files that were read.
    fn sync(&self, out: &Path, check: bool) -> Result<(Generated, Vec<PathBuf>), Error> {
        check_name(&self.revision)?;
        let (protocol, files_read) = self.model()?;
        conservation(&protocol)?;
        let files = emit(&protocol, &self.options())?;
        let changes = sync(out, &files, check)?;
        let unused_results = protocol.unused_results().into_iter().map(str::to_owned).collect();
        let changed = changes.changes.len();
        let summary = Summary { changed, unused_results, ..summary(&protocol, files.len()) };
        Ok((Generated { revisions: vec![summary], changes }, files_read))
    }

    fn model(&self) -> Result<(Protocol, Vec<PathBuf>), Error> {
        let document = Document::read_with(&self.schema, &self.options)?;
        let files = document.files.clone();
        let contract = Contract { document, mapping: self.mapping.clone(), names: BTreeMap::new() };
        let mut protocol = model(contract, &self.revision, false)?;
        // A fixup that does not match is worth a warning only if the revision is known to need it.
        let revision = self.base.as_ref().map_or(&self.revision, |base| &base.revision);
        protocol.fixups.retain(|applied| !applied.pointers.is_empty() || applied.is_for(revision));
        if let Some(Base { schema, revision }) = &self.base {
            check_name(revision)?;
            // Read as released: a fixup that does not match is an error, because it reveals another schema.
            let base = model(Document::read(schema)?, revision, true)?;
            protocol = extend(protocol, &base, Revision::module_of(revision), None);
        }
        Ok((protocol, files))
    }

    fn options(&self) -> Options {
        // The output must not depend on where the schema is.
        let source = self.schema.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
        let mut command = format!("mcpgen generate --schema {source} --revision {} --out DIR", self.revision);
        if self.support != SUPPORT {
            command.push_str(&format!(" --support {}", self.support));
        }
        if let Some(dialect) = self.options.dialect {
            command.push_str(&format!(" --dialect {dialect}"));
        }
        for annotation in &self.options.annotations {
            command.push_str(&format!(" --annotation {annotation}"));
        }
        if self.options.schema_folder.is_some() {
            command.push_str(" --schema-folder DIR");
        }
        if let Some(name) = &self.options.root_name {
            command.push_str(&format!(" --root-name {name}"));
        }
        if let Some(mapping) = &self.mapping {
            command.push_str(&format!(" --protocol {}", mapping.file_name()));
        }
        if let Some(Base { schema, revision }) = &self.base {
            let file = schema.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            command.push_str(&format!(" --extends {revision}={file}"));
        }
        Options { support: self.support.clone(), command, source, vendored: None }
    }
}

pub(crate) fn summary(protocol: &Protocol, files: usize) -> Summary {
    // Without message sets, senders are unknown. With them, a request without a sender is an embedded one.
    let has_senders = protocol.types.has_message_sets();
    let requests = protocol.requests.iter().filter(|request| !has_senders || !request.senders.is_empty()).count();
    let renamed = MessageSet::ALL.into_iter().filter_map(|set| {
        let union = protocol.types.iter().find(|def| def.message_set() == Some(set))?;
        (union.name != set.definition()).then(|| (set.definition(), union.rust.clone()))
    });
    let idle = protocol.fixups.iter().filter(|fixup| fixup.pointers.is_empty());
    Summary {
        revision: protocol.revision.clone(),
        contract: protocol.contract,
        types: protocol.types.len(),
        shared: protocol.extends.as_ref().map_or(0, |extends| extends.shared.len()),
        methods: requests + protocol.notifications.len(),
        files,
        changed: 0,
        idle_fixups: idle.map(|fixup| fixup.name).collect(),
        renamed_unions: renamed.collect(),
        unsent_messages: protocol.unsent_messages().into_iter().map(str::to_owned).collect(),
        unused_results: Vec::new(),
    }
}
